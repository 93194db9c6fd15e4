#include "push.h"

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

typedef struct {
    int64_t place;
    int32_t node;
} px_placed;

static int by_place(const void *a, const void *b)
{
    int64_t x = ((const px_placed *)a)->place, y = ((const px_placed *)b)->place;
    return (x > y) - (x < y);
}

static int add_node(px_machine *m, int32_t unit, int32_t owner, int32_t node)
{
    const px_document *d = &m->document;
    int64_t kind = PX_IS_ELEMENT, row = node;
    int32_t number = 0;
    if (node >= d->in.rows + d->in.attributes) {
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
    m->context.cells = t->cells + (size_t)r->owners[owner].row * (size_t)t->width;
    d->set_count = 0;
    for (int32_t c = t->clause; c >= 0; c = r->clauses[c].next) {
        int code = px_select(&m->context, t->words + r->clauses[c].path, -1);
        if (code < 0)
            return -code;
    }
    int32_t last = d->set_count ? d->set[d->set_count - 1] : 0;
    if (r->clauses[t->clause].next < 0 && last < d->in.rows)
        return PX_OK;
    px_placed *placed = malloc((d->set_count + 1) * sizeof *placed);
    if (placed == NULL)
        return PX_MEMORY;
    for (size_t i = 0; i < d->set_count; i++)
        placed[i] = (px_placed){px_place_of(d, d->set[i]), d->set[i]};
    qsort(placed, d->set_count, sizeof *placed, by_place);
    size_t count = 0;
    for (size_t i = 0; i < d->set_count; i++)
        if (count == 0 || d->set[count - 1] != placed[i].node)
            d->set[count++] = placed[i].node;
    d->set_count = count;
    free(placed);
    return PX_OK;
}

static int add_match(px_machine *m, int32_t unit, int32_t owner)
{
    const px_registry *r = m->registry;
    px_document *d = &m->document;
    const px_template *t = &r->templates[r->owners[owner].template_];
    m->figures.matches++;
    if (r->clauses[t->clause].condition)
        return add_result(&m->results, m->select, unit, owner, 1, 0);
    int code = px_select_query(m, owner);
    if (code == PX_OK && m->select == PX_SELECT_COUNT)
        return add_result(&m->results, m->select, unit, owner, (int64_t)d->set_count, 0);
    for (size_t i = 0; i < d->set_count && code == PX_OK; i++)
        code = add_node(m, unit, owner, d->set[i]);
    return code;
}

/* Adds the owners of one word of a set, with what they select. */
static int add_matches(px_machine *m, int32_t unit, int32_t first, uint64_t bits)
{
    int code = PX_OK;
    for (; bits && code == PX_OK; bits &= bits - 1)
        code = add_match(m, unit, first + px_lowest_bit(bits));
    return code;
}

/* The next byte that is not 0, from `at` on; `end` if there is none. */
static size_t next_marked(const uint8_t *bytes, size_t at, size_t end)
{
    for (uint64_t eight = 0; at + 8 <= end && eight == 0; at += eight ? 0 : 8)
        memcpy(&eight, bytes + at, sizeof eight);
    while (at < end && !bytes[at])
        at++;
    return at;
}

enum { LINES = 1 << (PX_TOP_BITS - PX_LINE_BITS), WORDS = LINES * PX_LINE };

/* The words of a part of a set that are not 0. Which ones cannot be foreseen: so there is no branch. */
static int32_t marked_words(const px_set *set, size_t top, int32_t words[WORDS + 1])
{
    const uint64_t *bits = set->bits + top * WORDS;
    int32_t count = 0;
    for (size_t at = top * LINES, end = at + LINES; (at = next_marked(set->lines, at, end)) < end; at++) {
        int32_t word = (int32_t)(at % LINES) * PX_LINE;
        for (int i = 0; i < PX_LINE; i++, word++) {
            words[count] = word;
            count += bits[word] != 0;
        }
    }
    return count;
}

/* Adds the owners of a part of a set to the column of queries. Most words have one bit or two, which
 * are added without a branch. */
static int add_owners(px_results *results, int32_t first, const uint64_t *bits, const int32_t *words, int32_t count)
{
    size_t n = results->count;
    if (px_grow(&results->query, &results->query_room, n + WORDS * 64 + 2, sizeof *results->query) != PX_OK)
        return PX_MEMORY;
    int32_t *query = results->query + n;
    for (int32_t i = 0; i < count; i++) {
        uint64_t word = bits[words[i]];
        int32_t base = first + words[i] * 64;
        query[0] = base + px_lowest_bit(word);
        word &= word - 1;
        query[1] = base + px_lowest_bit(word | (uint64_t)1 << 63);
        query += 1 + (word != 0);
        for (word &= word - 1; PX_UNLIKELY(word != 0); word &= word - 1)
            *query++ = base + px_lowest_bit(word);
    }
    results->count = (size_t)(query - results->query);
    return PX_OK;
}

/* Empties a set; with `results`, its owners are added to them before. */
static int take_set(px_machine *m, px_set *set, px_results *results, int32_t unit)
{
    int code = PX_OK, plain = results == &m->candidates || m->select == PX_SELECT_DOC;
    int32_t words[WORDS + 1];
    for (size_t top = 0; (top = next_marked(set->tops, top, set->top_room)) < set->top_room; top++) {
        uint64_t *bits = set->bits + top * WORDS;
        int32_t first = (int32_t)(top << PX_TOP_BITS), count = marked_words(set, top, words);
        if (results != NULL && plain && code == PX_OK)
            code = add_owners(results, first, bits, words, count);
        for (int32_t i = 0; results != NULL && !plain && i < count && code == PX_OK; i++)
            code = add_matches(m, unit, first + words[i] * 64, bits[words[i]]);
        for (int32_t i = 0; i < count; i++)
            bits[words[i]] = 0;
        memset(set->lines + top * LINES, 0, LINES);
        set->tops[top] = 0;
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

int px_add_results(px_machine *m, int32_t unit)
{
    size_t results = m->results.count, candidates = m->candidates.count;
    int code = take_set(m, &m->hits, &m->results, unit);
    if (m->select == PX_SELECT_DOC) {
        m->figures.matches += m->results.count - results;
        code = code == PX_OK ? name_unit(&m->results, results, unit) : code;
    }
    if (code == PX_OK)
        code = take_set(m, &m->maybe, &m->candidates, unit);
    if (code == PX_OK)
        code = name_unit(&m->candidates, candidates, unit);
    if (code != PX_OK) {
        m->results.count = results;
        m->candidates.count = candidates;
        px_drop_matches(m);
    }
    return code;
}

void px_drop_matches(px_machine *m)
{
    (void)take_set(m, &m->hits, NULL, 0);
    (void)take_set(m, &m->maybe, NULL, 0);
}
