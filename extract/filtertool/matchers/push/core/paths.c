#include "push.h"

static int32_t node_add(px_registry *r, int32_t parent, int axis, int32_t test)
{
    int32_t number = r->node_free;
    if (number < 0) {
        if (r->node_count >= INT32_MAX ||
            px_grow(&r->nodes, &r->node_room, r->node_count + 1, sizeof *r->nodes) != PX_OK)
            return -1;
        number = (int32_t)r->node_count;
    }
    if (parent >= 0 &&
        px_map_put(&r->edges, px_edge_key(parent, axis, test), (uint64_t)number) != PX_OK)
        return -1;
    if (number == r->node_free)
        r->node_free = r->nodes[number].parent;
    else
        r->node_count++;
    r->nodes[number] = (px_node){parent, test, -1, 0, (uint8_t)axis, 0};
    if (parent >= 0) {
        r->nodes[parent].out |= (uint8_t)(1 << axis);
        r->nodes[parent].uses++;
    }
    return number;
}

/* Removes nodes that no path uses any more, from the end of a path upwards. The axes that its parent
 * still has edges for are not counted: an axis without edges costs a look-up, no more. */
static void node_drop(px_registry *r, int32_t number)
{
    while (number > 0 && r->nodes[number].uses == 0 && r->nodes[number].slot < 0) {
        px_node *node = &r->nodes[number];
        int32_t parent = node->parent;
        px_map_remove(&r->edges, px_edge_key(parent, node->axis, node->test));
        node->parent = r->node_free;
        r->node_free = number;
        r->nodes[parent].uses--;
        number = parent;
    }
}

static int32_t slot_add(px_registry *r, int32_t node)
{
    int32_t slot = r->slot_free;
    if (slot >= 0) {
        r->slot_free = r->slot_uses[slot];
    } else {
        size_t n = r->slot_count + 1, room[6];
        for (int i = 0; i < 6; i++)
            room[i] = r->slot_room;
        if (n >= (1 << 29) || px_grow(&r->slot_node, &room[0], n, sizeof *r->slot_node) != PX_OK ||
            px_grow(&r->slot_uses, &room[1], n, sizeof *r->slot_uses) != PX_OK ||
            px_grow(&r->slot_heavy, &room[2], n, sizeof *r->slot_heavy) != PX_OK ||
            px_grow(&r->slot_flags, &room[3], n, sizeof *r->slot_flags) != PX_OK ||
            px_grow(&r->simple, &room[4], n, sizeof *r->simple) != PX_OK ||
            px_grow(&r->values, &room[5], n, sizeof *r->values) != PX_OK)
            return -1;
        r->slot_room = room[0];
        slot = (int32_t)r->slot_count++;
    }
    r->slot_node[slot] = node;
    r->slot_uses[slot] = r->slot_heavy[slot] = r->slot_flags[slot] = 0;
    memset(&r->simple[slot], 0, sizeof r->simple[slot]);
    r->values[slot] = NULL;
    return slot;
}

/* Follows or adds an edge. */
static int32_t follow(px_registry *r, int32_t node, int axis, int32_t test)
{
    int32_t next = px_edge(r, node, axis, test);
    if (next >= 0)
        return next;
    r->version++;
    return node_add(r, node, axis, test);
}

int32_t px_slot_use(px_registry *r, const int32_t *words, size_t *used)
{
    int32_t node = 0, next;
    size_t at = 0;
    for (int part = 0; part < 2; part++) {
        int32_t steps = words[at++];
        for (int32_t i = 0; i < steps; i++, at += 2) {
            if ((next = follow(r, node, words[at], words[at + 1])) < 0)
                goto failed;
            node = next;
        }
        if (part == 0) {
            if ((next = follow(r, node, PX_ANCHOR, PX_ANY)) < 0)
                goto failed;
            node = next;
        }
    }
    *used = at;
    if (r->nodes[node].slot < 0) {
        int32_t slot = slot_add(r, node);
        if (slot < 0)
            goto failed;
        r->nodes[node].slot = slot;
        r->version++;
    } else if (r->slot_uses[r->nodes[node].slot] == 0) {
        r->slots_unused--;
    }
    r->slot_uses[r->nodes[node].slot]++;
    return r->nodes[node].slot;
failed:
    node_drop(r, node);
    return -1;
}

void px_slot_flag(px_registry *r, int32_t slot, uint8_t flags)
{
    uint8_t before = r->slot_flags[slot];
    r->simple_slots += (size_t)!!(flags & PX_SIMPLE) - (size_t)!!(before & PX_SIMPLE);
    r->more_slots += (size_t)!!(flags & PX_MORE) - (size_t)!!(before & PX_MORE);
    r->slot_flags[slot] = flags;
}

static void slot_drop(px_registry *r, int32_t slot)
{
    int32_t node = r->slot_node[slot];
    r->nodes[node].slot = -1;
    node_drop(r, node);
    px_list_free(&r->simple[slot]);
    px_values *values = r->values[slot];
    if (values != NULL) {
        px_list_free(&values->general);
        for (int i = 0; i < 4; i++)
            px_sorted_free(&values->ranges[i]);
        for (int i = 0; i < 2; i++)
            px_parts_free(&values->parts[i], &r->strings);
        free(values);
        r->values[slot] = NULL;
    }
    r->slot_node[slot] = -1;
    px_slot_flag(r, slot, 0);
    r->slot_uses[slot] = r->slot_free;
    r->slot_free = slot;
}

/* States have to be made again when slots go, so they go many at a time. */
void px_slot_release(px_registry *r, int32_t slot)
{
    if (--r->slot_uses[slot] || ++r->slots_unused <= 64 + r->slot_count / 4)
        return;
    for (size_t i = 0; i < r->slot_count; i++)
        if (r->slot_node[i] >= 0 && r->slot_uses[i] == 0)
            slot_drop(r, (int32_t)i);
    r->slots_unused = 0;
    r->version++;
}

void px_slot_heavy(px_registry *r, int32_t slot, int change)
{
    int before = r->slot_heavy[slot] > 0;
    r->slot_heavy[slot] += change;
    int after = r->slot_heavy[slot] > 0;
    if (before == after)
        return;
    r->slot_flags[slot] = (uint8_t)(after ? r->slot_flags[slot] | PX_HEAVY : r->slot_flags[slot] & ~PX_HEAVY);
    r->version++;
}
