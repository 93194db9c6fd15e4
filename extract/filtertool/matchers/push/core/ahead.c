#include "push.h"

/* With very many queries, nearly each step from a value to a row waits for memory: the table of
 * strings, the string, the table of lists, the list, its postings, their clauses, templates and
 * rows. So each step is taken for all values of a document before the next one, which asks for all
 * of that memory at once. Nothing here decides anything but `px_set_guards`. */

enum { AT_ONCE = 256, FEW = 4 };

static size_t gather(px_machine *m)
{
    const px_registry *r = m->registry;
    size_t count = 0;
    for (size_t i = 0; i < m->heavy_count; i++) {
        int32_t slot = m->heavy[i];
        uint8_t flags = r->slot_flags[slot];
        if (!(flags & PX_GUARD_STRINGS) && (!(flags & PX_MORE) || r->values[slot]->equal[0] == 0))
            continue;
        for (int32_t f = m->first[slot]; f >= 0; f = m->found[f].next) {
            if (px_grow(&m->ahead, &m->ahead_room, count + 1, sizeof *m->ahead) != PX_OK)
                return count;
            m->ahead[count++] = (px_ahead){0, m->found[f].node, slot};
        }
    }
    return count;
}

static void look_at_crowd(const px_crowd *crowd)
{
    enum { LINE = 16, MOST_LINES = 8 }; /* owners in a line of the cache */
    for (uint32_t i = 0; i < crowd->count && i < LINE * MOST_LINES; i += LINE)
        PX_PREFETCH(crowd->owners + i);
}

/* From postings on. */
static void look_behind(px_machine *m, const px_item *items, uint32_t count)
{
    const px_registry *r = m->registry;
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].clause >= 0) {
            PX_PREFETCH(&r->clauses[items[i].clause]);
            PX_PREFETCH(&m->prepared[items[i].clause]);
        } else if (items[i].row < 0) {
            PX_PREFETCH(&r->crowds[~items[i].row]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].clause >= 0)
            PX_PREFETCH(&r->templates[r->clauses[items[i].clause].template_]);
        else if (items[i].row < 0)
            look_at_crowd(&r->crowds[~items[i].row]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].clause < 0)
            continue;
        const px_clause *c = &r->clauses[items[i].clause];
        const px_template *t = &r->templates[c->template_];
        PX_PREFETCH(t->cells + (size_t)items[i].row * (size_t)t->width);
        PX_PREFETCH(t->owner + items[i].row);
        PX_PREFETCH(t->words + (c->checks ? c->checks : c->path));
        PX_PREFETCH(t->words + (c->checks ? c->checks : c->path) + 16);
    }
    for (uint32_t i = 0; i < count; i++)
        if (items[i].clause >= 0)
            PX_PREFETCH(&r->owners[r->templates[r->clauses[items[i].clause].template_].owner[items[i].row]]);
}

/* Finds the strings that values are. */
static int find_strings(px_machine *m, size_t count)
{
    const px_strings *strings = &m->registry->strings;
    px_ahead *ahead = m->ahead;
    for (size_t i = 0; i < count; i++) {
        const px_value *value = px_value_of(&m->document, ahead[i].node);
        if (value == NULL)
            return PX_MEMORY;
        ahead[i].hash = px_strings_hash(strings, value->at, value->length);
        PX_PREFETCH(&strings->slots[ahead[i].hash & strings->mask]);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t number = strings->slots[ahead[i].hash & strings->mask];
        if (number)
            PX_PREFETCH(&strings->items[number - 1]);
    }
    for (size_t i = 0; i < count; i++) {
        px_value *value = &m->document.values[ahead[i].node];
        if (value->string == PX_UNKNOWN)
            value->string = px_strings_find(strings, value->at, value->length, ahead[i].hash);
    }
    return PX_OK;
}

/* Loads what the strings lead to. */
static void look_at_lists(px_machine *m, size_t count)
{
    const px_registry *r = m->registry;
    px_ahead *ahead = m->ahead;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t string = m->document.values[ahead[i].node].string;
        if (string < 0)
            continue;
        uint64_t key = px_key(ahead[i].slot << 2 | PX_LIST_STRING, string);
        PX_PREFETCH(&r->lists.slots[px_map_place(&r->lists, key)]);
        ahead[kept++] = (px_ahead){key, ahead[i].node, ahead[i].slot};
    }
    for (count = kept, kept = 0; kept < count; kept++) {
        const uint64_t *at = px_map_get(&r->lists, ahead[kept].hash);
        ahead[kept].hash = at == NULL ? UINT64_MAX : *at;
        if (at != NULL)
            PX_PREFETCH(&r->pool[*at]);
    }
    for (size_t i = 0; i < count; i++)
        if (ahead[i].hash != UINT64_MAX) {
            PX_PREFETCH(px_items(&r->pool[ahead[i].hash]));
            PX_PREFETCH(px_guards(&r->pool[ahead[i].hash]));
        }
    px_item items[AT_ONCE];
    uint32_t some = 0;
    for (size_t i = 0; i < count && some < AT_ONCE; i++) {
        px_list *list = ahead[i].hash == UINT64_MAX ? NULL : &r->pool[ahead[i].hash];
        for (uint32_t k = 0; list != NULL && k < list->count && some < AT_ONCE; k++) {
            items[some] = px_items(list)[k];
            some += (uint32_t)px_guard_passes(m, px_guards(list)[k]);
        }
    }
    look_behind(m, items, some);
}

int px_look_ahead(px_machine *m)
{
    size_t count = gather(m);
    if (count >= FEW && find_strings(m, count) != PX_OK)
        return PX_MEMORY;
    int code = px_set_guards(m);
    if (count >= FEW && code == PX_OK)
        look_at_lists(m, count);
    return code;
}
