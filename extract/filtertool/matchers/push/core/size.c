#include "push.h"

/* How much memory a registry and a machine have, and what a machine gives back. What the allocator needs for
 * itself is left out. */

static size_t map_bytes(const px_map *map) { return map->slots == NULL ? 0 : (map->mask + 1) * sizeof *map->slots; }

static size_t list_bytes(const px_list *list)
{
    return list->room * (sizeof *list->at.many + (list->guarded ? sizeof(uint32_t) : 0));
}

static size_t strings_bytes(const px_strings *s)
{
    size_t bytes = s->room * sizeof *s->items + (s->mask + 1) * sizeof *s->slots;
    for (size_t i = 0; i < s->count; i++)
        bytes += s->items[i].uses && s->items[i].length > PX_NEAR_BYTES ? s->items[i].length : 0;
    return bytes;
}

static size_t sorted_bytes(const px_sorted *s)
{
    return s->room * (sizeof *s->blocks + sizeof *s->counts) + s->count * px_sorted_block();
}

static size_t parts_bytes(const px_parts *p)
{
    size_t filter = p->bits == NULL ? 0 : (size_t)1 << (64 - p->shift - 3);
    return p->count * sizeof *p->parts + p->fresh_room * sizeof *p->fresh + filter;
}

static size_t values_bytes(const px_values *v)
{
    size_t bytes = sizeof *v + list_bytes(&v->general);
    for (int i = 0; i < 4; i++)
        bytes += sorted_bytes(&v->ranges[i]);
    for (int i = 0; i < 2; i++)
        bytes += parts_bytes(&v->parts[i]);
    return bytes;
}

static size_t template_bytes(const px_template *t)
{
    size_t width = t->width ? (size_t)t->width : 1, posts = t->posts ? (size_t)t->posts : 1;
    return t->row_room * (width * sizeof *t->cells + posts * sizeof *t->place + sizeof *t->owner);
}

size_t px_registry_memory(const px_registry *r)
{
    size_t bytes = sizeof *r + strings_bytes(&r->strings);
    bytes += map_bytes(&r->number_ids) + map_bytes(&r->edges) + map_bytes(&r->lists);
    bytes += r->number_room * sizeof *r->numbers + r->node_room * sizeof *r->nodes;
    bytes += r->slot_room * (sizeof *r->slot_node + sizeof *r->slot_uses + sizeof *r->slot_heavy +
                             sizeof *r->slot_flags + sizeof *r->simple + sizeof *r->values);
    for (size_t i = 0; i < r->slot_count; i++)
        bytes += list_bytes(&r->simple[i]) + (r->values[i] == NULL ? 0 : values_bytes(r->values[i]));
    bytes += r->pool_room * sizeof *r->pool;
    for (size_t i = 0; i < r->pool_count; i++)
        bytes += list_bytes(&r->pool[i]);
    bytes += r->clause_room * sizeof *r->clauses + r->template_room * sizeof *r->templates;
    for (size_t i = 0; i < r->template_count; i++)
        if (r->templates[i].words != NULL)
            bytes += template_bytes(&r->templates[i]);
    return bytes + r->owner_room * sizeof *r->owners + (r->same_mask + 1) * sizeof *r->same;
}

static size_t results_bytes(const px_results *results)
{
    return results->unit_room * sizeof *results->unit + results->query_room * sizeof *results->query +
           results->value_room * sizeof *results->value + results->number_room * sizeof *results->number;
}

static size_t set_bytes(const px_set *set) { return set->bit_room * sizeof *set->bits + set->mark_room; }

static size_t states_bytes(const px_states *s)
{
    size_t bytes = s->room * sizeof *s->items + map_bytes(&s->steps) + map_bytes(&s->by_hash);
    bytes += (s->near_room + s->far_room) * sizeof *s->near;
    for (size_t i = 0; i < s->count; i++)
        bytes += s->items[i].bytes;
    return bytes;
}

size_t px_machine_memory(const px_machine *m)
{
    const px_document *d = &m->document;
    size_t bytes = sizeof *m + states_bytes(&m->states) + px_document_arena(d);
    bytes += (d->last_room + d->depth_room + d->attribute_room + d->text_first_room + d->leaf_room + d->set_room) *
             sizeof(int32_t);
    bytes += d->known_size * sizeof *d->known + d->noted_room * sizeof *d->noted;
    bytes += d->text_room * sizeof *d->texts + d->value_room * sizeof *d->values;
    bytes += d->whole_room * sizeof *d->whole_at + d->made_room + px_truths_memory(d);
    bytes += (d->other_room + d->by_name_room + d->name_room) * sizeof(int32_t) + map_bytes(&m->spent);
    bytes += (m->state_room + m->rank_room + m->open_room + m->first_room + m->last_room) * sizeof(int32_t);
    bytes += (m->presence_room + m->present_room + m->heavy_room) * sizeof(int32_t);
    bytes += (m->bit_room + m->mask_room + m->anchor_room + m->visited_room) * sizeof(uint64_t);
    bytes += m->seen_room * sizeof *m->seen + m->arrival_room * sizeof *m->arrivals;
    bytes += m->ahead_room * sizeof *m->ahead + m->reached_room * sizeof *m->reached;
    bytes += m->posted_room * sizeof *m->posted + m->bindings.room * sizeof *m->bindings.items;
    bytes += m->found_room * sizeof *m->found + m->prepared_room * sizeof *m->prepared;
    bytes += m->at_anchor_room * sizeof *m->at_anchors + m->ordered_room * sizeof *m->ordered;
    bytes += m->operand_room * sizeof *m->operands + m->test_room * sizeof *m->tests;
    bytes += (m->node_room + m->chosen_room) * sizeof(int32_t);
    bytes += set_bytes(&m->hits) + set_bytes(&m->maybe) + m->shapes.bytes;
    bytes += m->shapes.word_room * sizeof *m->shapes.words + m->shapes.room * sizeof *m->shapes.items;
    return bytes + results_bytes(&m->results) + results_bytes(&m->candidates) + results_bytes(&m->values.rows) + m->values.room;
}

/* -- giving back */

enum { MOST_KEPT = 1 << 24 }; /* bytes of one array */

static void give_back(void *array_of_pointer, size_t *room, size_t size)
{
    void *array;
    if (*room * size <= MOST_KEPT)
        return;
    memcpy(&array, array_of_pointer, sizeof array);
    free(array);
    array = NULL;
    memcpy(array_of_pointer, &array, sizeof array);
    *room = 0;
}

#define GIVE_BACK(array, room) give_back(&(array), &(room), sizeof *(array))

static void give_back_document(px_document *d)
{
    GIVE_BACK(d->last, d->last_room);
    GIVE_BACK(d->depth, d->depth_room);
    GIVE_BACK(d->attribute_first, d->attribute_room);
    GIVE_BACK(d->text_first, d->text_first_room);
    GIVE_BACK(d->leaf_first, d->leaf_room);
    GIVE_BACK(d->whole_at, d->whole_room);
    GIVE_BACK(d->texts, d->text_room);
    GIVE_BACK(d->others, d->other_room);
    GIVE_BACK(d->values, d->value_room);
    GIVE_BACK(d->set, d->set_room);
    GIVE_BACK(d->made, d->made_room);
    GIVE_BACK(d->by_name, d->by_name_room);
    GIVE_BACK(d->name_first, d->name_room);
    GIVE_BACK(d->noted, d->noted_room);
    if (px_truths_memory(d) > MOST_KEPT)
        px_truths_free(d);
    if (px_document_arena(d) > MOST_KEPT)
        px_document_forget(d);
    px_forget_known(d); /* nothing is known of a list that is gone */
}

void px_give_back(px_machine *m)
{
    give_back_document(&m->document);
    GIVE_BACK(m->state, m->state_room);
    GIVE_BACK(m->rank, m->rank_room);
    GIVE_BACK(m->bit, m->bit_room);
    GIVE_BACK(m->seen, m->seen_room);
    GIVE_BACK(m->anchors, m->anchor_room);
    GIVE_BACK(m->arrivals, m->arrival_room);
    GIVE_BACK(m->found, m->found_room);
    GIVE_BACK(m->at_anchors, m->at_anchor_room);
    GIVE_BACK(m->operands, m->operand_room);
    GIVE_BACK(m->tests, m->test_room);
    GIVE_BACK(m->nodes, m->node_room);
    GIVE_BACK(m->ahead, m->ahead_room);
    GIVE_BACK(m->reached, m->reached_room);
    GIVE_BACK(m->posted, m->posted_room);
    GIVE_BACK(m->bindings.items, m->bindings.room);
    GIVE_BACK(m->shapes.words, m->shapes.word_room);
}
