#include "push.h"

#if defined(__SSE2__) && defined(__GNUC__) && !defined(CHUNKTOOL_PLAIN)
#include <emmintrin.h>
#endif

static int add_result(px_results *results, int select, int32_t unit, int32_t query, int64_t value,
                      int32_t number)
{
    size_t n = results->count + 1;
    if (px_grow(&results->unit, &results->unit_room, n, sizeof *results->unit) != PX_OK ||
        px_grow(&results->query, &results->query_room, n, sizeof *results->query) != PX_OK)
        return PX_MEMORY;
    results->unit[results->count] = unit;
    results->query[results->count] = query;
    if (select != PX_SELECT_DOC) {
        if (px_grow(&results->value, &results->value_room, n, sizeof *results->value) != PX_OK)
            return PX_MEMORY;
        results->value[results->count] = value;
    }
    if (select == PX_SELECT_NODES) {
        if (px_grow(&results->number, &results->number_room, n, sizeof *results->number) != PX_OK)
            return PX_MEMORY;
        results->number[results->count] = number;
    }
    results->count++;
    return PX_OK;
}

static int add_node(px_machine *m, int32_t unit, int32_t owner, int32_t node)
{
    const px_document *d = &m->document;
    int64_t kind = PX_IS_ELEMENT, row = node;
    int32_t number = 0;
    if (node >= d->text_end) {
        int32_t leaf = px_leaf_of(d, node);
        kind = d->in.leaf_kind[leaf] == PX_LEAF_COMMENT ? PX_IS_COMMENT : PX_IS_INSTRUCTION;
        row = (uint32_t)d->in.leaf_parent[leaf], number = d->in.leaf_number[leaf];
    } else if (node >= d->in.rows + d->in.attributes) {
        const px_text *text = &d->texts[node - d->in.rows - d->in.attributes];
        kind = PX_IS_TEXT, row = text->row, number = text->number;
    } else if (node >= d->in.rows) {
        kind = PX_IS_ATTRIBUTE, row = d->in.attribute_row[node - d->in.rows];
        number = d->in.attribute_number[node - d->in.rows];
    }
    return add_result(&m->results, m->select, unit, owner, kind << 32 | row, number);
}

int px_select_query(px_machine *m, int32_t owner)
{
    const px_registry *r = m->registry;
    px_document *d = &m->document;
    const px_template *t = &r->templates[r->owners[owner].template_];
    px_account_fresh(m, t->cells + (size_t)r->owners[owner].row * (size_t)t->width, t->steps);
    int64_t before = d->budget;
    d->set_count = 0;
    for (int32_t c = t->clause; c >= 0; c = r->clauses[c].next) {
        const int32_t *path = t->words + r->clauses[c].path;
        int code = px_select(&m->context, r->clauses[c].condition ? path + 3 : path, -1);
        m->figures.steps += (uint64_t)(before - d->budget);
        before = d->budget;
        if (code < 0)
            return -code;
    }
    if (r->clauses[t->clause].next >= 0)
        px_sort_set(d, 0);
    if (d->set_count && d->set[0] < 0) /* the document node is no result */
        memmove(d->set, d->set + 1, --d->set_count * sizeof *d->set);
    int32_t last = d->set_count ? d->set[d->set_count - 1] : 0;
    return last < d->in.rows ? PX_OK : -px_sort_by_place(d, 0);
}

/* Adds the value of a query that is a number or a text. */
static int add_value(px_machine *m, int32_t unit, int32_t owner, const px_template *t, const int32_t *words)
{
    px_values_made *v = &m->values;
    px_account_fresh(m, t->cells + (size_t)m->registry->owners[owner].row * (size_t)t->width, t->steps);
    int64_t value = (int64_t)v->used;
    px_bytes at;
    size_t length = 0;
    double number;
    int code = words[0] == PX_RESULT ? px_number(&m->context, words + 2, -1, &number)
                                     : px_text_bytes(&m->context, words + 2, -1, &at, &length);
    if (code < 0)
        return -code;
    if (words[0] == PX_RESULT) {
        memcpy(&value, &number, sizeof value);
        return add_result(&v->rows, PX_SELECT_NODES, unit, owner, value, -1);
    }
    if (length > INT32_MAX)
        return PX_COSTLY;
    if (px_grow(&v->bytes, &v->room, v->used + length + 1, 1) != PX_OK)
        return PX_MEMORY;
    memcpy(v->bytes + v->used, at, length);
    v->used += length;
    return add_result(&v->rows, PX_SELECT_NODES, unit, owner, value, (int32_t)length);
}

static int add_selected(px_machine *m, int32_t unit, int32_t owner)
{
    const px_registry *r = m->registry;
    px_document *d = &m->document;
    const px_template *t = &r->templates[r->owners[owner].template_];
    m->figures.matches++;
    const int32_t *words = t->words + r->clauses[t->clause].path;
    int is_condition = r->clauses[t->clause].condition && words[0] != PX_SELECTED;
    if (is_condition && (words[0] == PX_RESULT || words[0] == PX_RESULT_TEXT))
        return add_value(m, unit, owner, t, words);
    if (is_condition)
        return add_result(&m->results, m->select, unit, owner, 1, 0);
    int code = px_select_query(m, owner);
    if (code == PX_OK && m->select == PX_SELECT_COUNT)
        return add_result(&m->results, m->select, unit, owner, (int64_t)d->set_count, 0);
    for (size_t i = 0; i < d->set_count && code == PX_OK; i++)
        code = add_node(m, unit, owner, d->set[i]);
    return code;
}

/* The same; a query that takes too many steps may match. */
static int add_match(px_machine *m, int32_t unit, int32_t owner)
{
    int code = add_selected(m, unit, owner);
    if (PX_LIKELY(code != PX_COSTLY))
        return code;
    px_set_add(&m->maybe, owner);
    px_note_overrun(m);
    return PX_OK;
}

/* Adds the owners of one word of a set, with what they select. */
static int add_matches(px_machine *m, int32_t unit, int32_t first, uint64_t bits)
{
    int code = PX_OK;
    for (; bits && code == PX_OK; bits &= bits - 1)
        code = add_match(m, unit, first + px_lowest_bit(bits));
    return code;
}

/* The words of a part of a set that are not 0, of 64, as bits. */
static uint64_t marked_words(const uint8_t *marks)
{
    uint64_t words = 0;
#if defined(__SSE2__) && defined(__GNUC__) && !defined(CHUNKTOOL_PLAIN)
    for (int i = 0; i < 64; i += 16)
        words |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(marks + i))) << i;
#else
    for (int i = 0; i < 64; i++)
        words |= (uint64_t)(marks[i] / PX_MARK) << i;
#endif
    return words;
}

/* Moves the owners of 64 words of a set to the column of queries. Most words have one bit or two, which
 * are added without a branch. */
PX_IN_TUNED void move_owners(px_results *results, int32_t first, uint64_t *bits, uint64_t words)
{
    int32_t *query = results->query + results->count;
    for (; words; words &= words - 1) {
        int i = px_lowest_bit(words);
        uint64_t word = bits[i];
        int32_t base = first + i * 64;
        bits[i] = 0;
        query[0] = base + px_lowest_bit(word);
        word &= word - 1;
        query[1] = base + px_lowest_bit(word | (uint64_t)1 << 63);
        query += 1 + (word != 0);
        for (word &= word - 1; PX_UNLIKELY(word != 0); word &= word - 1)
            *query++ = base + px_lowest_bit(word);
    }
    results->count = (size_t)(query - results->query);
}

/* Adds what the owners of 64 words of a set select, and empties these. */
static int move_matches(px_machine *m, int32_t unit, int32_t first, uint64_t *bits, uint64_t words)
{
    int code = PX_OK;
    for (; words; words &= words - 1) {
        int i = px_lowest_bit(words);
        if (code == PX_OK)
            code = add_matches(m, unit, first + i * 64, bits[i]);
        bits[i] = 0;
    }
    return code;
}

/* Empties 64 words of a set, from `at` on, as `take_set` does. */
PX_IN_TUNED int take_words(px_machine *m, px_set *set, size_t at, px_results *results, int selected, int32_t unit)
{
    uint64_t words = marked_words(set->marks + at);
    int code = PX_OK;
    if (words == 0)
        return PX_OK;
    memset(set->marks + at, 0, 64);
    if (results != NULL && !selected)
        code = px_grow(&results->query, &results->query_room, results->count + 64 * 64 + 1, sizeof *results->query);
    if (results != NULL && code == PX_OK && selected)
        return move_matches(m, unit, (int32_t)(at * 64), set->bits + at, words);
    if (results != NULL && code == PX_OK)
        move_owners(results, (int32_t)(at * 64), set->bits + at, words);
    else
        memset(set->bits + at, 0, 64 * sizeof *set->bits);
    return code;
}

/* Empties a set; with `results`, its owners are added to them before, and with `selected` what they
 * select. */
PX_TUNED
static int take_set(px_machine *m, px_set *set, px_results *results, int selected, int32_t unit)
{
    int code = PX_OK;
    for (; set->parts; set->parts &= set->parts - 1) {
        size_t first = (size_t)px_lowest_bit(set->parts) << (set->shift - 6);
        size_t end = first + ((size_t)1 << (set->shift - 6));
        for (size_t at = first; at < end && at + 64 <= set->mark_room; at += 64) {
            int taken = take_words(m, set, at, code == PX_OK ? results : NULL, selected, unit);
            code = code == PX_OK ? taken : code;
        }
    }
    return code;
}

/* Fills in the document of rows that have only a query, from `first` on. */
static int name_unit(px_results *results, size_t first, int32_t unit)
{
    if (px_grow(&results->unit, &results->unit_room, results->count, sizeof *results->unit) != PX_OK)
        return PX_MEMORY;
    for (size_t i = first; i < results->count; i++)
        results->unit[i] = unit;
    return PX_OK;
}

/* Adds owners that are ascending to the column of queries. */
static int add_known(px_results *results, const px_shape *known)
{
    size_t n = results->count + known->owner_count;
    if (px_grow(&results->query, &results->query_room, n, sizeof *results->query) != PX_OK)
        return PX_MEMORY;
    if (known->owner_count)
        memcpy(results->query + results->count, known->owners, known->owner_count * sizeof *known->owners);
    results->count = n;
    return PX_OK;
}

int px_add_results(px_machine *m, int32_t unit, const px_shape *known)
{
    size_t results = m->results.count, candidates = m->candidates.count, values = m->values.rows.count, used = m->values.used;
    int selected = m->select != PX_SELECT_DOC, only = known != NULL && !selected && m->hits.parts == 0;
    for (size_t i = 0; known != NULL && !only && i < known->owner_count; i++)
        px_set_add(&m->hits, known->owners[i]);
    int code = only ? add_known(&m->results, known) : take_set(m, &m->hits, &m->results, selected, unit);
    if (!selected)
        m->figures.matches += m->results.count - results;
    if (code == PX_OK)
        code = take_set(m, &m->maybe, &m->candidates, 0, unit);
    if (code == PX_OK)
        code = name_unit(&m->candidates, candidates, unit);
    if (code != PX_OK) {
        m->results.count = results;
        m->candidates.count = candidates;
        m->values.rows.count = values;
        m->values.used = used;
        px_drop_matches(m);
    }
    return code;
}

int px_keep_matches(px_machine *m)
{
    px_results kept = {0};
    int code = take_set(m, &m->hits, &kept, 0, 0);
    if (code == PX_OK) {
        for (size_t i = 0; i < kept.count; i++)
            px_set_add(&m->hits, kept.query[i]);
        px_shapes_keep(m, kept.query, kept.count);
    }
    free(kept.query);
    return code;
}

void px_drop_matches(px_machine *m)
{
    (void)take_set(m, &m->hits, NULL, 0, 0);
    (void)take_set(m, &m->maybe, NULL, 0, 0);
}
