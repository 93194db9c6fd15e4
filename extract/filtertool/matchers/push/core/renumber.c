#include "push.h"

/* Slots that documents have together get numbers next to each other, so that what is stored by slot
 * is found in few cache lines. */

/* New numbers for all slots: those of `order` first. NULL: no memory. */
static int32_t *new_numbers(const px_registry *r, const int32_t *order, size_t count)
{
    int32_t *to = malloc((r->slot_count + 1) * sizeof *to), next = 0;
    if (to == NULL)
        return NULL;
    memset(to, 255, (r->slot_count + 1) * sizeof *to);
    for (size_t i = 0; i < count; i++)
        if (to[order[i]] < 0)
            to[order[i]] = next++;
    for (size_t i = 0; i < r->slot_count; i++)
        if (to[i] < 0)
            to[i] = next++;
    return to;
}

static void renumber_words(px_registry *r, px_template *t, const int32_t *to)
{
    for (int32_t i = 1; i <= t->words[0]; i++)
        t->words[i] = to[t->words[i]];
    for (int32_t clause = t->clause; clause >= 0; clause = r->clauses[clause].next) {
        int32_t *at = t->words + r->clauses[clause].groups;
        for (int32_t groups = *at++; groups > 0; groups--) {
            *at = *at < 0 ? -1 : to[*at];
            for (int32_t n = *++at; n > 0; n--) {
                at++;
                *at = to[*at];
            }
            at++;
        }
        at = t->words + r->clauses[clause].covers;
        for (int32_t covers = *at++; covers > 0; covers--, at += at[0])
            for (int32_t k = 0; k < at[1]; k++)
                at[2 + 4 * k] = to[at[2 + 4 * k]];
        if (r->clauses[clause].checks == 0)
            continue;
        at = t->words + r->clauses[clause].checks;
        for (int32_t checks = *at++; checks > 0; checks--, at += at[0])
            at[5] = to[at[5]];
    }
}

/* The other slots of simple postings. Lists move together in memory, if there is enough. */
static void renumber_list(px_list *list, const int32_t *to)
{
    px_item *items = px_items(list);
    for (uint32_t i = 0; i < list->count; i++)
        items[i].clause = items[i].clause < 0 ? -1 : to[items[i].clause];
    px_item *moved = list->room ? malloc(list->room * sizeof *moved) : NULL;
    if (moved != NULL) {
        memcpy(moved, items, list->count * sizeof *moved);
        free(items);
        list->at.many = moved;
    }
}

/* The other slots of pairs. */
static void renumber_pairs(px_list *list, const int32_t *to)
{
    px_item *items = px_items(list);
    for (uint32_t i = 0; i < list->count; i++)
        if (items[i].clause <= PX_PAIR)
            items[i].clause = px_pair_of(to[px_pair_slot(items[i].clause)], px_pair_is_string(items[i].clause));
}

static int renumber_lists(px_registry *r, const int32_t *to)
{
    px_map fresh = {.secret = r->lists.secret};
    for (size_t i = 0; r->lists.slots != NULL && i <= r->lists.mask; i++) {
        const px_entry *e = &r->lists.slots[i];
        int32_t high = (int32_t)(e->key >> 32);
        if (e->key == UINT64_MAX)
            continue;
        uint64_t key = px_key(to[high >> 2] << 2 | (high & 3), (int32_t)e->key);
        if (px_map_put(&fresh, key, e->value) != PX_OK) {
            px_map_free(&fresh);
            return PX_MEMORY;
        }
    }
    px_map_free(&r->lists);
    r->lists = fresh;
    return PX_OK;
}

/* Puts the items of an array at their new places. */
static void permute(void *array, size_t count, size_t size, const int32_t *to, void *copy)
{
    if (count == 0)
        return;
    memcpy(copy, array, count * size);
    for (size_t i = 0; i < count; i++)
        memcpy((char *)array + (size_t)to[i] * size, (char *)copy + i * size, size);
}

int px_slots_renumber(px_registry *r, const int32_t *order, size_t count)
{
    size_t slots = r->slot_count;
    int32_t *to = new_numbers(r, order, count);
    void *copy = malloc((slots + 1) * sizeof(px_list));
    if (to == NULL || copy == NULL || renumber_lists(r, to) != PX_OK) {
        free(to);
        free(copy);
        return PX_MEMORY;
    }
    for (size_t i = 0; i < slots; i++) {
        if (r->slot_node[i] >= 0)
            r->nodes[r->slot_node[i]].slot = to[i];
        else if (r->slot_uses[i] >= 0) /* the next free one */
            r->slot_uses[i] = to[r->slot_uses[i]];
    }
    r->slot_free = r->slot_free < 0 ? -1 : to[r->slot_free];
    permute(r->slot_node, slots, sizeof *r->slot_node, to, copy);
    permute(r->slot_uses, slots, sizeof *r->slot_uses, to, copy);
    permute(r->slot_heavy, slots, sizeof *r->slot_heavy, to, copy);
    permute(r->slot_flags, slots, sizeof *r->slot_flags, to, copy);
    permute(r->simple, slots, sizeof *r->simple, to, copy);
    permute(r->values, slots, sizeof *r->values, to, copy);
    for (size_t i = 0; i < slots; i++)
        renumber_list(&r->simple[i], to);
    for (size_t i = 0; i < r->pool_count; i++)
        renumber_pairs(&r->pool[i], to);
    for (size_t i = 0; i < r->template_count; i++)
        if (r->templates[i].words != NULL)
            renumber_words(r, &r->templates[i], to);
    free(to);
    free(copy);
    r->version++;
    r->numbering++;
    return PX_OK;
}
