#include "push.h"

/* Nodes at which a heavy slot was found are in a chain, in document order, whatever their anchors. A
 * large document has thousands of them, and as many anchors: then they are put in order of their
 * anchors when those of one anchor are asked for, so that each anchor costs what it has. */
static int by_anchor(const void *left, const void *right)
{
    const px_at_anchor *a = left, *b = right;
    return a->anchor != b->anchor ? (a->anchor > b->anchor) - (a->anchor < b->anchor) : a->number - b->number;
}

/* Puts the nodes of a slot in order of their anchors; PX_MEMORY leaves the chain as the only way. */
static int order_slot(px_machine *m, int32_t slot, uint32_t count)
{
    size_t begin = m->at_anchor_count, end = begin + count;
    int in_order = 1;
    if (px_grow(&m->at_anchors, &m->at_anchor_room, end, sizeof *m->at_anchors) != PX_OK)
        return PX_MEMORY;
    for (int32_t f = m->first[slot]; f >= 0; f = m->found[f].next) {
        px_at_anchor *item = &m->at_anchors[m->at_anchor_count++];
        *item = (px_at_anchor){m->found[f].anchor, f};
        in_order &= m->at_anchor_count == begin + 1 || item[-1].anchor <= item->anchor;
    }
    if (!in_order)
        qsort(m->at_anchors + begin, count, sizeof *m->at_anchors, by_anchor);
    m->ordered[slot] = (px_ordered_slot){m->stamp, (uint32_t)begin, (uint32_t)end};
    return PX_OK;
}

px_nodes_at px_ordered_below(px_machine *m, int32_t slot, int32_t anchor)
{
    px_ordered_slot *ordered = &m->ordered[slot];
    if (ordered->stamp != m->stamp && order_slot(m, slot, m->found[m->last[slot]].rank + 1) != PX_OK)
        return (px_nodes_at){anchor, m->first[slot], 0, 0};
    uint32_t low = ordered->begin, high = ordered->end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (m->at_anchors[middle].anchor < anchor)
            low = middle + 1;
        else
            high = middle;
    }
    return (px_nodes_at){anchor, -1, low, ordered->end};
}
