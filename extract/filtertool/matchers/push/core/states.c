#include "push.h"

static int order(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t sorted_once(uint64_t *set, size_t count)
{
    size_t kept = 0;
    qsort(set, count, sizeof *set, order);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || set[i] != set[kept - 1])
            set[kept++] = set[i];
    return kept;
}

static int add_near(px_states *s, int32_t node, int32_t anchor)
{
    if (px_grow(&s->near, &s->near_room, s->near_count + 1, sizeof *s->near) != PX_OK)
        return PX_MEMORY;
    s->near[s->near_count++] = px_position(node, anchor);
    return PX_OK;
}

/* Adds what a position's edges of one axis select, for a node with this symbol. */
static int follow(px_states *s, uint64_t position, int axis, int32_t symbol)
{
    const px_registry *r = s->registry;
    int32_t node = (int32_t)(position >> 16), anchor = (uint16_t)position;
    int32_t tests[3] = {PX_ANY, symbol, PX_NAMESPACE};
    int count = axis == PX_TEXT ? 1 : 3;
    if (!(r->nodes[node].out >> axis & 1))
        return PX_OK;
    if (count == 3 && (size_t)symbol < r->symbols)
        tests[2] -= r->namespaces[symbol];
    else if (count == 3)
        count = 2;
    for (int i = 0; i < count; i++) {
        int32_t next = px_edge(r, node, axis, tests[i]);
        if (next >= 0 && add_near(s, next, anchor) != PX_OK)
            return PX_MEMORY;
    }
    return PX_OK;
}

/* Adds what the positions of a node itself lead to: its anchors, and for an element steps that may
 * stay. */
static int close_near(px_states *s, int32_t anchor, int32_t symbol)
{
    const px_registry *r = s->registry;
    for (size_t i = 0; i < s->near_count; i++) {
        uint64_t position = s->near[i];
        int32_t node = (int32_t)(position >> 16);
        if (r->nodes[node].out >> PX_ANCHOR & 1) {
            int32_t next = px_edge(r, node, PX_ANCHOR, PX_ANY);
            if (next >= 0 && add_near(s, next, anchor) != PX_OK)
                return PX_MEMORY;
        }
        if (symbol >= 0 && follow(s, position, PX_NEAR, symbol) != PX_OK)
            return PX_MEMORY;
    }
    s->near_count = sorted_once(s->near, s->near_count);
    return PX_OK;
}

static int gather(px_states *s, int32_t from, int kind, int32_t symbol)
{
    const px_registry *r = s->registry;
    s->near_count = s->far_count = 0;
    const px_state *above = &s->items[from];
    static const int axes[] = {PX_CHILD, PX_ATTRIBUTE, PX_TEXT};
    for (uint32_t i = 0; i < above->near; i++)
        if (follow(s, above->positions[i], axes[kind], symbol) != PX_OK)
            return PX_MEMORY;
    if (kind != PX_STEP_ELEMENT)
        return close_near(s, PX_ITSELF, -1);
    const uint64_t *far = above->positions + above->near;
    for (uint32_t i = 0; i < above->far; i++)
        if (follow(s, far[i], PX_DESCENDANT, symbol) != PX_OK || follow(s, far[i], PX_NEAR, symbol) != PX_OK)
            return PX_MEMORY;
    if (close_near(s, above->depth + 1, symbol) != PX_OK ||
        px_grow(&s->far, &s->far_room, above->far + s->near_count, sizeof *s->far) != PX_OK)
        return PX_MEMORY;
    if (above->far)
        memcpy(s->far, far, above->far * sizeof *far);
    s->far_count = above->far;
    for (size_t i = 0; i < s->near_count; i++)
        if (r->nodes[s->near[i] >> 16].out & (1 << PX_DESCENDANT | 1 << PX_NEAR))
            s->far[s->far_count++] = s->near[i];
    s->far_count = sorted_once(s->far, s->far_count);
    return PX_OK;
}

static uint64_t hash_of_set(const px_states *s, int32_t depth)
{
    uint64_t hash = ((uint64_t)(uint32_t)depth << 32 | s->near_count) * 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < s->near_count + s->far_count; i++) {
        hash ^= i < s->near_count ? s->near[i] : s->far[i - s->near_count];
        hash *= 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    return hash == UINT64_MAX ? 0 : hash;
}

static int same(const px_states *s, const px_state *state, int32_t depth)
{
    return state->depth == depth && state->near == s->near_count && state->far == s->far_count &&
           (!s->near_count || memcmp(state->positions, s->near, s->near_count * sizeof *s->near) == 0) &&
           (!s->far_count ||
            memcmp(state->positions + state->near, s->far, s->far_count * sizeof *s->far) == 0);
}

/* Light slots by anchor, then heavy ones. */
static int by_anchor(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Fills in the slots of a state, from its positions. */
static int fill(px_states *s, px_state *state)
{
    const px_registry *r = s->registry;
    size_t light = 0, heavy = 0, groups = 0;
    /* as (heavy, anchor, slot), in the memory of `far`, which is copied already */
    if (px_grow(&s->far, &s->far_room, state->near, sizeof *s->far) != PX_OK)
        return PX_MEMORY;
    for (uint32_t i = 0; i < state->near; i++) {
        const px_node *node = &r->nodes[state->positions[i] >> 16];
        state->attributes |= node->out >> PX_ATTRIBUTE & 1;
        state->texts |= node->out >> PX_TEXT & 1;
        if (node->slot < 0)
            continue;
        uint64_t weight = (r->slot_flags[node->slot] & PX_HEAVY) != 0;
        s->far[light + heavy] =
            weight << 63 | (uint64_t)(uint16_t)state->positions[i] << 32 | (uint32_t)node->slot;
        heavy += weight;
        light += !weight;
    }
    qsort(s->far, light + heavy, sizeof *s->far, by_anchor);
    for (size_t i = 0; i < light; i++)
        groups += i == 0 || s->far[i] >> 32 != s->far[i - 1] >> 32;
    size_t bytes = groups * sizeof *state->groups + (light + 2 * heavy) * sizeof *state->slots;
    if (bytes == 0)
        return PX_OK;
    state->groups = malloc(bytes);
    if (state->groups == NULL)
        return PX_MEMORY;
    state->slots = (int32_t *)(state->groups + groups);
    state->heavy = state->slots + light;
    state->heavy_count = (uint32_t)heavy;
    state->bytes += (uint32_t)bytes;
    for (size_t i = 0; i < light; i++) {
        if (i == 0 || s->far[i] >> 32 != s->far[i - 1] >> 32)
            state->groups[state->group_count++] = (px_group){(uint16_t)(s->far[i] >> 32), (uint32_t)i, 0};
        state->groups[state->group_count - 1].end = (uint32_t)i + 1;
        state->slots[i] = (int32_t)(uint32_t)s->far[i];
    }
    for (size_t i = 0; i < heavy; i++) {
        state->heavy[2 * i] = (int32_t)(uint32_t)s->far[light + i];
        state->heavy[2 * i + 1] = (uint16_t)(s->far[light + i] >> 32);
    }
    return PX_OK;
}

/* The state with the gathered positions; it is made if it is new. */
static int32_t number(px_states *s, int32_t depth)
{
    uint64_t hash = hash_of_set(s, depth);
    const uint64_t *at;
    for (; (at = px_map_get(&s->by_hash, hash)) != NULL; hash = (hash + 1) & INT64_MAX)
        if (same(s, &s->items[*at], depth))
            return (int32_t)*at;
    if (s->bytes > 2 * s->most_bytes || s->count >= INT32_MAX)
        return -PX_COSTLY;
    if (px_grow(&s->items, &s->room, s->count + 1, sizeof *s->items) != PX_OK)
        return -PX_MEMORY;
    px_state *state = &s->items[s->count];
    size_t positions = s->near_count + s->far_count;
    memset(state, 0, sizeof *state);
    state->depth = depth;
    state->near = (uint32_t)s->near_count;
    state->far = (uint32_t)s->far_count;
    state->positions = malloc((positions + 1) * sizeof *state->positions);
    if (state->positions == NULL)
        return -PX_MEMORY;
    if (s->near_count)
        memcpy(state->positions, s->near, s->near_count * sizeof *s->near);
    if (s->far_count)
        memcpy(state->positions + s->near_count, s->far, s->far_count * sizeof *s->far);
    state->bytes = (uint32_t)(positions * sizeof *state->positions + sizeof *state + 64);
    if (fill(s, state) != PX_OK || px_map_put(&s->by_hash, hash, s->count) != PX_OK) {
        free(state->positions);
        free(state->groups);
        return -PX_MEMORY;
    }
    state->used = s->round;
    s->bytes += state->bytes;
    s->made++;
    return (int32_t)s->count++;
}

int32_t px_states_make(px_states *s, int32_t from, int kind, int32_t symbol)
{
    int32_t depth = s->items[from].depth + (kind == PX_STEP_ELEMENT);
    if (gather(s, from, kind, symbol) != PX_OK)
        return -PX_MEMORY;
    int32_t to = number(s, depth);
    if (to >= 0) {
        if (px_map_put(&s->steps, px_step_key(from, kind, symbol), (uint64_t)to) != PX_OK)
            return -PX_MEMORY;
        s->bytes += 2 * sizeof(px_entry);
    }
    return to;
}

static void drop(px_states *s, size_t number)
{
    free(s->items[number].positions);
    free(s->items[number].groups);
    s->bytes -= s->items[number].bytes;
    s->dropped++;
}

static void drop_all(px_states *s)
{
    for (size_t i = 0; i < s->count; i++)
        drop(s, i);
    s->count = s->bytes = 0;
    px_map_free(&s->steps);
    px_map_free(&s->by_hash);
}

/* Drops the states that were not used for the longest time, down to half of the memory. No state is
 * in use between two documents. */
static int drop_some(px_states *s)
{
    uint32_t window = s->round;
    size_t kept_bytes = SIZE_MAX, kept = 0;
    while (kept_bytes > s->most_bytes / 2 && window > 0) {
        window /= 2;
        kept_bytes = 0;
        for (size_t i = 0; i < s->count; i++)
            if (s->round - s->items[i].used <= window)
                kept_bytes += s->items[i].bytes;
    }
    int32_t *numbers = malloc(s->count * sizeof *numbers);
    px_map steps = s->steps, fresh = {0};
    if (numbers == NULL || kept_bytes > s->most_bytes / 2) {
        free(numbers);
        drop_all(s);
        return PX_OK;
    }
    for (size_t i = 0; i < s->count; i++) {
        numbers[i] = -1;
        if (i == 0 || s->round - s->items[i].used <= window) {
            numbers[i] = (int32_t)kept;
            s->items[kept++] = s->items[i];
        } else {
            drop(s, i);
        }
    }
    s->count = kept;
    s->bytes = 0;
    for (size_t i = 0; i < kept; i++)
        s->bytes += s->items[i].bytes;
    px_map_free(&s->by_hash); /* kept states are found by their steps; others are made again */
    s->steps = fresh;
    int code = PX_OK;
    for (size_t i = 0; steps.slots != NULL && i <= steps.mask && code == PX_OK; i++) {
        const px_entry *e = &steps.slots[i];
        if (e->key == UINT64_MAX || numbers[e->key >> 32] < 0 || numbers[e->value] < 0)
            continue;
        uint64_t key = (uint64_t)(uint32_t)numbers[e->key >> 32] << 32 | (uint32_t)e->key;
        code = px_map_put(&s->steps, key, (uint64_t)numbers[e->value]);
        s->bytes += 2 * sizeof(px_entry);
    }
    px_map_free(&steps);
    free(numbers);
    if (code != PX_OK)
        drop_all(s);
    return code;
}

int px_states_begin(px_states *s)
{
    if (s->version != s->registry->version) {
        drop_all(s);
        s->version = s->registry->version;
    }
    s->round++;
    if (s->bytes > s->most_bytes)
        (void)drop_some(s);
    if (s->count)
        return PX_OK;
    /* The document node: the root of the tree, and the anchor of paths that have none below. */
    s->near_count = s->far_count = 0;
    if (add_near(s, 0, PX_NO_ANCHOR) != PX_OK || close_near(s, 0, -1) != PX_OK ||
        px_grow(&s->far, &s->far_room, s->near_count, sizeof *s->far) != PX_OK)
        return PX_MEMORY;
    for (size_t i = 0; i < s->near_count; i++)
        if (s->registry->nodes[s->near[i] >> 16].out & (1 << PX_DESCENDANT | 1 << PX_NEAR))
            s->far[s->far_count++] = s->near[i];
    int32_t start = number(s, 0);
    return start < 0 ? -start : PX_OK;
}

void px_states_free(px_states *s)
{
    drop_all(s);
    free(s->items);
    free(s->near);
    free(s->far);
}
