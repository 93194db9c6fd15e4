#include "push.h"

/* With very many queries, nearly each step from a value to a row waits for memory: the table of
 * strings, the string, the table of lists, the list, its postings, their owners or their clauses,
 * templates and rows. So each step is taken for all values of a document before the next one, which
 * asks for all of that memory at once. */

/* What a value is looked up for. */
enum { STRING_GUARD = 1, STRING_LIST = 2, NUMBER_GUARD = 4, NUMBER_LIST = 8 };

enum { SHORT = 16 }; /* postings of a list; more are next to each other anyway */

PX_IN_TUNED int32_t wanted_of(const px_registry *r, int32_t slot)
{
    uint8_t flags = r->slot_flags[slot];
    const px_values *values = flags & PX_MORE ? r->values[slot] : NULL;
    return (flags & PX_GUARD_STRINGS ? STRING_GUARD : 0) | (flags & PX_GUARD_NUMBERS ? NUMBER_GUARD : 0) |
           (values != NULL && values->equal[0] ? STRING_LIST : 0) |
           (values != NULL && values->equal[1] ? NUMBER_LIST : 0);
}

PX_IN_TUNED int gather(px_machine *m)
{
    const px_registry *r = m->registry;
    size_t count = 0;
    if (px_grow(&m->ahead, &m->ahead_room, m->found_count + 1, sizeof *m->ahead) != PX_OK ||
        px_grow(&m->reached, &m->reached_room, 2 * m->found_count + 1, sizeof *m->reached) != PX_OK)
        return PX_MEMORY;
    for (size_t i = 0; i < m->heavy_count; i++) {
        int32_t slot = m->heavy[i], wanted = wanted_of(r, slot);
        for (int32_t f = wanted ? m->first[slot] : -1; f >= 0; f = m->found[f].next)
            m->ahead[count++] = (px_ahead){0, m->found[f].node, slot, m->found[f].anchor, wanted};
    }
    m->ahead_count = count;
    return PX_OK;
}

/* Makes values, and loads what is needed to find out which strings they are. */
PX_IN_TUNED int hash_values(px_machine *m)
{
    const px_strings *strings = &m->registry->strings;
    for (size_t i = 0; i < m->ahead_count; i++) {
        px_ahead *a = &m->ahead[i];
        const px_value *value = px_value_of(&m->document, a->node);
        if (value == NULL)
            return PX_MEMORY;
        if (!(a->wanted & (STRING_GUARD | STRING_LIST)))
            continue;
        a->hash = px_strings_hash(strings, value->at, value->length);
        PX_PREFETCH(&strings->slots[a->hash & strings->mask]);
    }
    for (size_t i = 0; i < m->ahead_count; i++) {
        uint32_t number = strings->slots[m->ahead[i].hash & strings->mask];
        if (number)
            PX_PREFETCH(&strings->items[number - 1].hash);
    }
    return PX_OK;
}

PX_IN_TUNED void reach(px_machine *m, const px_ahead *a, int kind, int32_t constant)
{
    const px_map *lists = &m->registry->lists;
    uint64_t key = px_key(a->slot << 2 | kind, constant);
    if (lists->slots != NULL)
        PX_PREFETCH(&lists->slots[px_map_place(lists, key)]);
    m->reached[m->reached_count++] = (px_reached){key, a->anchor};
}

/* Finds out which constants values equal, and sets guards. */
PX_IN_TUNED int find_constants(px_machine *m)
{
    const px_registry *r = m->registry;
    m->reached_count = 0;
    px_guards_begin(m);
    for (size_t i = 0; i < m->ahead_count; i++) {
        const px_ahead *a = &m->ahead[i];
        px_value *value = &m->document.values[a->node];
        if (a->wanted & (STRING_GUARD | STRING_LIST)) {
            if (value->string == PX_UNKNOWN)
                value->string = px_strings_find(&r->strings, value->at, value->length, a->hash);
            if (value->string >= 0 && a->wanted & STRING_LIST)
                reach(m, a, PX_LIST_STRING, value->string);
            if (value->string >= 0 && a->wanted & STRING_GUARD)
                px_guard_set(m, a->slot, (uint32_t)value->string, 1);
        }
        if (!(a->wanted & (NUMBER_GUARD | NUMBER_LIST)))
            continue;
        double number;
        uint64_t bits;
        if (px_value_number(&m->document, a->node, &number) != PX_OK)
            return PX_MEMORY;
        int32_t constant = a->wanted & NUMBER_LIST ? px_number_find(r, number) : -1;
        if (constant >= 0)
            reach(m, a, PX_LIST_NUMBER, constant);
        if (a->wanted & NUMBER_GUARD && px_number_bits(number, &bits))
            px_guard_set(m, a->slot, bits, 0);
    }
    return PX_OK;
}

/* From keys to lists. */
PX_IN_TUNED void find_lists(px_machine *m)
{
    const px_registry *r = m->registry;
    size_t count = 0;
    for (size_t i = 0; i < m->reached_count; i++) {
        const uint64_t *at = px_map_get(&r->lists, m->reached[i].list);
        if (at == NULL)
            continue;
        m->reached[count++] = (px_reached){*at, m->reached[i].anchor};
        PX_PREFETCH(&r->pool[*at]);
    }
    m->reached_count = count;
    for (size_t i = 0; i < count; i++) {
        PX_PREFETCH(px_items(&r->pool[m->reached[i].list]));
        PX_PREFETCH(px_guards(&r->pool[m->reached[i].list]));
    }
}

/* Takes the postings of short lists that the guards let pass, and loads what they name. A pair that
 * holds is sure. */
PX_IN_TUNED int take_postings(px_machine *m, int *rows)
{
    const px_registry *r = m->registry;
    size_t count = 0, many = 0;
    *rows = 0;
    for (size_t i = 0; i < m->reached_count; i++) {
        px_list *list = &r->pool[m->reached[i].list];
        int32_t anchor = m->reached[i].anchor;
        if (list->count > SHORT || m->crowded) {
            m->reached[many++] = m->reached[i];
            continue;
        }
        const px_item *items = px_items(list);
        const uint32_t *guards = px_guards(list);
        m->figures.candidates += list->count;
        if (px_grow(&m->posted, &m->posted_room, count + SHORT, sizeof *m->posted) != PX_OK)
            return PX_MEMORY;
        for (uint32_t k = 0; k < list->count; k++) {
            px_item item = items[k];
            if (item.clause <= PX_PAIR ? !px_pair_holds(m, item.clause, guards[k], anchor)
                                       : !px_guard_passes(m, guards[k]))
                continue;
            if (item.clause < 0) {
                item.clause = PX_SURE;
                if (item.row < 0)
                    PX_PREFETCH(&r->crowds[~item.row]);
            } else {
                *rows = 1;
                PX_PREFETCH(&r->clauses[item.clause]);
                PX_PREFETCH(&m->prepared[item.clause]);
            }
            m->posted[count++] = (px_posted){item, anchor};
        }
    }
    m->reached_count = many;
    m->posted_count = count;
    return PX_OK;
}

PX_IN_TUNED void look_at_crowd(const px_crowd *crowd)
{
    enum { LINE = 16, MOST_LINES = 16 }; /* owners in a line of the cache */
    for (uint32_t i = 0; i < crowd->count && i < LINE * MOST_LINES; i += LINE)
        PX_PREFETCH(crowd->owners + i);
}

/* Loads what postings lead to; `rows`: some of them to rows. */
PX_IN_TUNED void look_behind(const px_machine *m, int rows)
{
    const px_registry *r = m->registry;
    for (size_t i = 0; i < m->posted_count; i++) {
        px_item item = m->posted[i].item;
        if (item.clause >= 0)
            PX_PREFETCH(&r->templates[r->clauses[item.clause].template_]);
        else if (item.row < 0)
            look_at_crowd(&r->crowds[~item.row]);
    }
    for (size_t i = 0; rows && i < m->posted_count; i++) {
        px_item item = m->posted[i].item;
        if (item.clause < 0)
            continue;
        const px_clause *c = &r->clauses[item.clause];
        const px_template *t = &r->templates[c->template_];
        PX_PREFETCH(t->cells + (size_t)item.row * (size_t)t->width);
        PX_PREFETCH(t->owner + item.row);
        PX_PREFETCH(t->words + (c->checks ? c->checks : c->path));
        PX_PREFETCH(t->words + (c->checks ? c->checks : c->path) + 16);
    }
    for (size_t i = 0; rows && i < m->posted_count; i++) {
        px_item item = m->posted[i].item;
        if (item.clause >= 0)
            PX_PREFETCH(&r->owners[r->templates[r->clauses[item.clause].template_].owner[item.row]]);
    }
}

PX_TUNED
int px_look_ahead(px_machine *m)
{
    if (gather(m) != PX_OK || hash_values(m) != PX_OK || find_constants(m) != PX_OK)
        return PX_MEMORY;
    find_lists(m);
    int rows;
    if (take_postings(m, &rows) != PX_OK)
        return PX_MEMORY;
    look_behind(m, rows);
    return PX_OK;
}
