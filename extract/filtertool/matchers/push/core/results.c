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

/* Adds the owners of one word of a set to columns that have no values. */
static int add_word(px_results *results, int32_t unit, int32_t first, uint64_t bits)
{
    size_t n = results->count;
    if (px_grow(&results->unit, &results->unit_room, n + 64, sizeof *results->unit) != PX_OK ||
        px_grow(&results->query, &results->query_room, n + 64, sizeof *results->query) != PX_OK)
        return PX_MEMORY;
    for (; bits; bits &= bits - 1, n++) {
        results->unit[n] = unit;
        results->query[n] = first + px_lowest_bit(bits);
    }
    results->count = n;
    return PX_OK;
}

/* Adds the owners of one word of a set. */
static int add_owners(px_machine *m, px_set *set, size_t word, int32_t unit)
{
    int32_t first = (int32_t)(word * 64);
    uint64_t bits = set->bits[word];
    if (set == &m->maybe || m->select == PX_SELECT_DOC)
        return add_word(set == &m->maybe ? &m->candidates : &m->results, unit, first, bits);
    int code = PX_OK;
    for (; bits && code == PX_OK; bits &= bits - 1)
        code = add_match(m, unit, first + px_lowest_bit(bits));
    return code;
}

static int add_set(px_machine *m, px_set *set, int32_t unit)
{
    int code = PX_OK;
    for (size_t i = 0; i < set->top_room; i++)
        for (uint64_t tops = set->tops[i]; tops; tops &= tops - 1) {
            size_t at = i * 64 + (size_t)px_lowest_bit(tops);
            for (uint64_t words = set->words[at]; words && code == PX_OK; words &= words - 1)
                code = add_owners(m, set, at * 64 + (size_t)px_lowest_bit(words), unit);
        }
    return code;
}

static void clear_set(px_set *set)
{
    for (size_t i = 0; i < set->top_room; i++)
        for (; set->tops[i]; set->tops[i] &= set->tops[i] - 1) {
            size_t at = i * 64 + (size_t)px_lowest_bit(set->tops[i]);
            for (; set->words[at]; set->words[at] &= set->words[at] - 1)
                set->bits[at * 64 + (size_t)px_lowest_bit(set->words[at])] = 0;
        }
}

int px_add_results(px_machine *m, int32_t unit)
{
    size_t results = m->results.count, candidates = m->candidates.count;
    int code = add_set(m, &m->hits, unit);
    if (m->select == PX_SELECT_DOC)
        m->figures.matches += m->results.count - results;
    if (code == PX_OK)
        code = add_set(m, &m->maybe, unit);
    if (code != PX_OK) {
        m->results.count = results;
        m->candidates.count = candidates;
    }
    px_drop_matches(m);
    return code;
}

void px_drop_matches(px_machine *m)
{
    clear_set(&m->hits);
    clear_set(&m->maybe);
}
