#include "push.h"

/* An anchor is a bit. The document node has the first one; all elements without children, attributes
 * and texts share the last one. Elements with children have bits of their own as long as there are enough; in a
 * larger document they share these, and to tell them apart, its elements are looked at in windows,
 * each with as many as there are bits. */
enum { OWN_BITS = 62, MOST_WINDOWS = 64 };

/* The anchor at a depth above a node; -1 is the document node. */
static int32_t anchor_at(const px_machine *m, int32_t depth, int32_t node)
{
    return PX_UNLIKELY(depth == PX_ITSELF) ? node : m->open[depth];
}

static uint64_t bit_of(const px_machine *m, int32_t anchor)
{
    if (anchor < 0)
        return PX_DOCUMENT_BIT;
    return PX_LIKELY(anchor < m->document.in.rows) ? m->bit[anchor] : PX_LEAF_BIT;
}

/* From now on the nodes of a slot are noted without their anchors, each once: there are many more pairs of
 * the two than nodes, as where elements are deep in each other. What their values lead to is looked for
 * anywhere, and no anchor in common decides. */
static void crowd(px_machine *m, int32_t slot)
{
    int32_t last = m->first[slot];
    for (int32_t f = last; f >= 0; f = m->found[f].next) {
        m->found[f].anchor = PX_ANYWHERE;
        if (m->found[f].node == m->found[last].node)
            continue;
        m->found[f].rank = m->found[last].rank + 1;
        m->found[last].next = f;
        last = f;
    }
    m->found[last].next = -1;
    m->last[slot] = last;
    m->crowded++;
    m->windows = 0;
}

/* Whether a node of a crowded slot is noted already. */
static int is_noted(px_machine *m, int32_t slot, int32_t node, int32_t *anchor)
{
    if (m->first[slot] < 0)
        return 0;
    if (PX_UNLIKELY(m->found[m->last[slot]].rank > PX_FEW_ANCHORS * m->document.size + PX_FEW_PAIRS) &&
        m->found[m->last[slot]].anchor != PX_ANYWHERE)
        crowd(m, slot);
    if (PX_LIKELY(m->found[m->last[slot]].anchor != PX_ANYWHERE))
        return 0;
    *anchor = PX_ANYWHERE;
    return m->found[m->last[slot]].node == node;
}

static int find_heavy(px_machine *m, const px_state *state, int32_t node)
{
    for (uint32_t i = 0; i < state->heavy_count; i++) {
        int32_t slot = state->heavy[2 * i], anchor = anchor_at(m, state->heavy[2 * i + 1], node);
        uint64_t bit = bit_of(m, anchor);
        if (is_noted(m, slot, node, &anchor)) {
            m->mask[slot] |= bit;
            continue;
        }
        if (px_grow(&m->found, &m->found_room, m->found_count + 1, sizeof *m->found) != PX_OK)
            return PX_MEMORY;
        int32_t number = (int32_t)m->found_count++;
        uint32_t rank = m->first[slot] < 0 ? 0 : m->found[m->last[slot]].rank + 1;
        m->found[number] = (px_found){node, anchor, -1, rank};
        if (rank == 0) {
            m->first[slot] = number;
            m->heavy[m->heavy_count++] = slot;
        } else {
            m->found[m->last[slot]].next = number;
        }
        m->last[slot] = number;
        m->present[m->present_count] = slot;
        m->present_count += m->mask[slot] == 0;
        m->mask[slot] |= bit;
    }
    return PX_OK;
}

static int see(px_machine *m, px_state *state, int32_t number)
{
    state->stamp = m->stamp;
    state->used = m->states.round;
    state->seen = (uint32_t)m->seen_count;
    if (state->group_count == 0)
        return PX_OK;
    size_t anchors = m->anchor_count + state->group_count;
    if (px_grow(&m->seen, &m->seen_room, m->seen_count + 1, sizeof *m->seen) != PX_OK ||
        px_grow(&m->anchors, &m->anchor_room, anchors, sizeof *m->anchors) != PX_OK)
        return PX_MEMORY;
    m->seen[m->seen_count++] = (px_seen){number, (uint32_t)m->anchor_count};
    memset(m->anchors + m->anchor_count, 0, state->group_count * sizeof *m->anchors);
    m->anchor_count = anchors;
    return PX_OK;
}

/* A node has a state: notes the anchors of its light slots, and the node itself for heavy ones. */
static int arrive(px_machine *m, int32_t number, int32_t row, int32_t node)
{
    px_state *state = &m->states.items[number];
    if (state->stamp != m->stamp && see(m, state, number) != PX_OK)
        return PX_MEMORY;
    if (PX_UNLIKELY(m->counting) && node >= 0 && px_count_value(m, state, node) != PX_OK)
        return PX_MEMORY;
    if (PX_UNLIKELY(m->windows > 1) && m->registry->simple_slots) {
        if (px_grow(&m->arrivals, &m->arrival_room, m->arrival_count + 1, sizeof *m->arrivals) != PX_OK)
            return PX_MEMORY;
        m->arrivals[m->arrival_count++] = (px_arrival){number, row};
    }
    if (state->group_count) {
        uint64_t *anchors = m->anchors + m->seen[state->seen].anchors;
        for (uint32_t i = 0; i < state->group_count; i++)
            anchors[i] |= bit_of(m, anchor_at(m, state->groups[i].anchor, node));
    }
    return state->heavy_count ? find_heavy(m, state, node) : PX_OK;
}

/* The states of an element's attributes and texts. */
static int arrive_below(px_machine *m, int32_t number, int32_t row)
{
    const px_document *d = &m->document;
    int code = PX_OK;
    if (m->states.items[number].attributes) {
        for (int32_t i = d->attribute_first[row]; i < d->attribute_first[row + 1] && code == PX_OK; i++) {
            int32_t to = px_states_step(&m->states, number, PX_STEP_ATTRIBUTE, d->in.attribute_symbol[i]);
            code = to < 0 ? -to : arrive(m, to, row, d->in.rows + i);
        }
    }
    /* Paths to texts may outlive their queries; then texts are not numbered. */
    if (code == PX_OK && m->registry->with_texts && m->states.items[number].texts) {
        for (int32_t i = d->text_first[row]; i < d->text_first[row + 1] && code == PX_OK; i++) {
            int32_t to = px_states_step(&m->states, number, PX_STEP_TEXT, 0);
            code = to < 0 ? -to : arrive(m, to, row, d->in.rows + d->in.attributes + i);
        }
    }
    return code;
}

static int give_bits(px_machine *m)
{
    const px_input *in = &m->document.in;
    size_t rows = (size_t)in->rows;
    int32_t inner = 0;
    if (px_grow(&m->state, &m->state_room, rows, sizeof *m->state) != PX_OK ||
        px_grow(&m->rank, &m->rank_room, rows, sizeof *m->rank) != PX_OK ||
        px_grow(&m->bit, &m->bit_room, rows, sizeof *m->bit) != PX_OK)
        return PX_MEMORY;
    for (size_t row = 0; row < rows; row++) {
        int32_t parent = in->parent[row];
        m->rank[row] = -1;
        m->bit[row] = PX_LEAF_BIT;
        if (parent >= 0 && m->rank[parent] < 0) {
            m->bit[parent] = PX_DOCUMENT_BIT << (1 + inner % OWN_BITS);
            m->rank[parent] = inner++;
        }
    }
    m->windows = inner ? (inner - 1) / OWN_BITS + 1 : 1;
    if (m->windows > MOST_WINDOWS)
        m->windows = 0; /* bits are shared, and conditions evaluated where that matters */
    return PX_OK;
}

int px_find_states(px_machine *m)
{
    const px_input *in = &m->document.in;
    if (give_bits(m) != PX_OK)
        return PX_MEMORY;
    m->open[0] = -1;
    int code = arrive(m, 0, -1, -1);
    for (int32_t row = 0; row < in->rows && code == PX_OK; row++) {
        int32_t parent = in->parent[row], depth = m->document.depth[row];
        if (depth >= PX_ITSELF)
            return PX_COSTLY;
        if (px_grow(&m->open, &m->open_room, (size_t)depth + 1, sizeof *m->open) != PX_OK)
            return PX_MEMORY;
        m->open[depth] = row;
        int32_t to = px_states_step(&m->states, parent < 0 ? 0 : m->state[parent], PX_STEP_ELEMENT,
                                    in->symbol[row]);
        if (to < 0)
            return -to;
        m->state[row] = to;
        code = arrive(m, to, row, row);
        const px_state *state = &m->states.items[to];
        if (code == PX_OK && (state->attributes | state->texts))
            code = arrive_below(m, to, row);
    }
    return code;
}

void px_find_slots(px_machine *m)
{
    size_t count = m->present_count;
    int32_t *present = m->present;
    uint64_t *mask = m->mask;
    for (size_t i = 0; i < m->seen_count; i++) {
        const px_state *state = &m->states.items[m->seen[i].state];
        for (uint32_t g = 0; g < state->group_count; g++) {
            uint64_t anchors = m->anchors[m->seen[i].anchors + g];
            const int32_t *end = state->slots + state->groups[g].end;
            if (anchors == 0)
                continue; /* they are in other windows */
            for (const int32_t *slot = state->slots + state->groups[g].begin; slot < end; slot++) {
                uint64_t before = mask[*slot];
                present[count] = *slot; /* without a branch: it is as often new as it is not */
                count += before == 0;
                mask[*slot] = before | anchors;
            }
        }
    }
    m->present_count = count;
}

/* The bit of an anchor if it is in a window, else 0. */
static uint64_t bit_in(const px_machine *m, int32_t anchor, int32_t window)
{
    int32_t rank = anchor < 0 || anchor >= m->document.in.rows ? -1 : m->rank[anchor];
    if (rank < 0)
        return window ? 0 : anchor < 0 ? PX_DOCUMENT_BIT : PX_LEAF_BIT;
    return rank / OWN_BITS == window ? m->bit[anchor] : 0;
}

void px_find_slots_in(px_machine *m, int32_t window)
{
    memset(m->anchors, 0, m->anchor_count * sizeof *m->anchors);
    for (size_t i = 0; i < m->arrival_count; i++) {
        int32_t row = m->arrivals[i].row;
        const px_state *state = &m->states.items[m->arrivals[i].state];
        if (row >= 0)
            m->open[m->document.depth[row]] = row;
        for (uint32_t g = 0; g < state->group_count; g++)
            m->anchors[m->seen[state->seen].anchors + g] |=
                bit_in(m, anchor_at(m, state->groups[g].anchor, INT32_MAX), window);
    }
    for (size_t i = 0; i < m->heavy_count; i++) {
        int32_t slot = m->heavy[i];
        for (int32_t f = m->first[slot]; f >= 0; f = m->found[f].next)
            m->mask[slot] |= bit_in(m, m->found[f].anchor, window);
        m->present[m->present_count] = slot;
        m->present_count += m->mask[slot] != 0;
    }
    px_find_slots(m);
}

/* Between two windows heavy slots keep their nodes. */
void px_forget_slots(px_machine *m)
{
    for (size_t i = 0; i < m->present_count; i++)
        m->mask[m->present[i]] = 0;
    m->present_count = 0;
}
