#include "scan.h"

int ct_keep(ct_scan *s, int32_t output, int64_t start, int64_t end)
{
    ct_output *o = &s->outputs[output];
    if (start == end)
        return CT_OK;
    if (o->count && o->ends[2 * o->count - 1] == start) {
        o->ends[2 * o->count - 1] = end;
        return CT_OK;
    }
    if (ct_grow(&o->ends, &o->room, 2 * o->count + 2, sizeof *o->ends) < 0)
        return CT_MEMORY;
    o->ends[2 * o->count] = start;
    o->ends[2 * o->count + 1] = end;
    o->count++;
    return CT_OK;
}

int ct_keep_everywhere(ct_scan *s, int64_t start, int64_t end)
{
    for (int32_t o = 0; o < s->output_count; o++)
        if (!s->outputs[o].whole && ct_keep(s, o, start, end) != CT_OK)
            return CT_MEMORY;
    return CT_OK;
}

/* Notes in an open element that an output has work at its end. */
static int link_output(ct_scan *s, ct_frame *frame, int32_t output)
{
    int32_t link = s->link_free;
    if (link >= 0) {
        s->link_free = s->links[link].next;
    } else {
        if (ct_grow(&s->links, &s->link_room, (size_t)s->link_count + 1, sizeof *s->links) < 0)
            return CT_MEMORY;
        link = s->link_count++;
    }
    s->links[link] = (ct_link){output, frame->outputs};
    frame->outputs = link;
    return CT_OK;
}

/* Writes the start tags of open elements down to `depth` that the output does not have yet. */
static int write_tags(ct_scan *s, int32_t output, int32_t depth)
{
    ct_output *o = &s->outputs[output];
    while (o->written < depth) {
        ct_frame *frame = &s->frames[++o->written];
        if (ct_keep(s, output, frame->start, frame->content) != CT_OK ||
            link_output(s, frame, output) != CT_OK)
            return CT_MEMORY;
    }
    return CT_OK;
}

int ct_open_outputs(ct_scan *s, const ct_state *state)
{
    ct_frame *frame = &s->frames[s->depth];
    const int32_t *subtree = s->tables->lists + state->subtree;
    const int32_t *tag = s->tables->lists + state->tag;
    for (uint32_t i = 0; i < state->subtrees; i++) {
        if (write_tags(s, subtree[i], s->depth - 1) != CT_OK ||
            link_output(s, frame, ~subtree[i]) != CT_OK)
            return CT_MEMORY;
        s->outputs[subtree[i]].open = frame->start;
    }
    for (uint32_t i = 0; i < state->tags; i++)
        if (write_tags(s, tag[i], s->depth) != CT_OK)
            return CT_MEMORY;
    if (s->depth == 1) /* every output has the root element */
        for (int32_t o = 0; o < s->output_count; o++)
            if (s->outputs[o].open < 0 && write_tags(s, o, 1) != CT_OK)
                return CT_MEMORY;
    return CT_OK;
}

int ct_close_outputs(ct_scan *s, int64_t close, int64_t end)
{
    int32_t link = s->frames[s->depth].outputs;
    while (link >= 0) {
        ct_link *it = &s->links[link];
        int32_t next = it->next, output = it->output < 0 ? ~it->output : it->output;
        ct_output *o = &s->outputs[output];
        int whole = it->output < 0;
        if (ct_keep(s, output, whole ? o->open : close, end) != CT_OK)
            return CT_MEMORY;
        if (whole)
            o->open = -1;
        o->written = s->depth - 1;
        it->next = s->link_free;
        s->link_free = link;
        link = next;
    }
    s->frames[s->depth].outputs = -1;
    return CT_OK;
}

int ct_cut_open(ct_scan *s)
{
    int64_t here = s->base + (int64_t)s->at;
    for (int32_t o = 0; o < s->output_count; o++) {
        ct_output *out = &s->outputs[o];
        if (out->open >= 0 && out->open < here) {
            if (ct_keep(s, o, out->open, here) != CT_OK)
                return CT_MEMORY;
            out->open = here;
        }
    }
    return CT_OK;
}

/* Grows the columns of one table together. */
#define GROW(column, room) \
    do { \
        size_t room_ = (room); \
        if (ct_grow(&(column), &room_, count + 1, sizeof *(column)) < 0) \
            return CT_MEMORY; \
        fresh = room_; \
    } while (0)

static int grow_elements(ct_rows *r)
{
    size_t count = r->elements, fresh;
    GROW(r->state, r->element_room);
    GROW(r->parent, r->element_room);
    GROW(r->position, r->element_room);
    GROW(r->symbol, r->element_room);
    GROW(r->start, r->element_room);
    GROW(r->content, r->element_room);
    GROW(r->close, r->element_room);
    GROW(r->end, r->element_room);
    r->element_room = fresh;
    return CT_OK;
}

static int grow_ends(ct_rows *r)
{
    size_t count = r->ends, fresh;
    GROW(r->end_row, r->end_room);
    GROW(r->end_close, r->end_room);
    GROW(r->end_end, r->end_room);
    r->end_room = fresh;
    return CT_OK;
}

static int grow_leaves(ct_rows *r)
{
    size_t count = r->leaves, fresh;
    GROW(r->leaf_parent, r->leaf_room);
    GROW(r->leaf_number, r->leaf_room);
    GROW(r->leaf_kind, r->leaf_room);
    GROW(r->leaf_start, r->leaf_room);
    GROW(r->leaf_end, r->leaf_room);
    r->leaf_room = fresh;
    return CT_OK;
}

static int grow_attributes(ct_rows *r)
{
    size_t count = r->attributes, fresh;
    GROW(r->attribute_row, r->attribute_room);
    GROW(r->attribute_symbol, r->attribute_room);
    GROW(r->attribute_number, r->attribute_room);
    GROW(r->attribute_start, r->attribute_room);
    GROW(r->attribute_end, r->attribute_room);
    r->attribute_room = fresh;
    return CT_OK;
}

int ct_keep_attributes(ct_scan *s)
{
    ct_rows *r = &s->rows;
    int32_t row = s->frames[s->depth].row;
    for (size_t i = 0; i < s->attribute_count; i++) {
        const ct_attribute *one = &s->attributes[i];
        size_t n = r->attributes;
        if (n >= r->attribute_room && grow_attributes(r) != CT_OK)
            return CT_MEMORY;
        r->attribute_row[n] = row;
        r->attribute_symbol[n] = s->tables->names.items[one->name].attribute_symbol;
        r->attribute_number[n] = one->number;
        r->attribute_start[n] = ct_offset(s, one->value);
        r->attribute_end[n] = ct_offset(s, one->end);
        r->attributes++;
    }
    return CT_OK;
}

int ct_more_rows(ct_scan *s)
{
    ct_rows *r = &s->rows;
    while (s->rowed < s->depth) {
        ct_frame *frame = &s->frames[s->rowed + 1];
        size_t row = r->elements;
        if (row >= r->element_room && grow_elements(r) != CT_OK)
            return CT_MEMORY;
        if (row >= (size_t)(INT32_MAX - r->first))
            return ct_hand_over(s, "too many nodes");
        r->state[row] = frame->state;
        r->parent[row] = frame[-1].row;
        r->position[row] = frame->position;
        r->symbol[row] = frame->symbol;
        r->start[row] = frame->start;
        r->content[row] = frame->content;
        r->close[row] = r->end[row] = -1;
        r->elements++;
        frame->row = r->first + (int32_t)row;
        s->rowed++;
    }
    return CT_OK;
}

int ct_end_earlier_row(ct_scan *s, int32_t row, int64_t close, int64_t end)
{
    ct_rows *r = &s->rows;
    size_t i = r->ends;
    if (i >= r->end_room && grow_ends(r) != CT_OK)
        return CT_MEMORY;
    r->end_row[i] = row;
    r->end_close[i] = close;
    r->end_end[i] = end;
    r->ends++;
    return CT_OK;
}

int ct_keep_leaf(ct_scan *s, const ct_state *state, int kind, int64_t start, int64_t end)
{
    ct_frame *frame = &s->frames[s->depth];
    ct_rows *r = &s->rows;
    int code;
    for (uint32_t i = 0; i < state->contents; i++) {
        int32_t output = s->tables->lists[state->content + i];
        if (write_tags(s, output, s->depth) != CT_OK || ct_keep(s, output, start, end) != CT_OK)
            return CT_MEMORY;
    }
    if (!s->table)
        return CT_OK;
    if (kind == CT_COMMENT)
        frame->comments++, frame->in_text = 0;
    else if (kind == CT_PI)
        frame->pis++, frame->in_text = 0;
    else if (!frame->in_text)
        frame->texts++, frame->in_text = 1;
    if (!state->inside && !state->contents)
        return CT_OK;
    if ((code = ct_need_rows(s)) != CT_OK)
        return code;
    size_t i = r->leaves;
    if (i >= r->leaf_room && grow_leaves(r) != CT_OK)
        return CT_MEMORY;
    r->leaf_parent[i] = frame->row;
    r->leaf_kind[i] = (int8_t)kind;
    r->leaf_start[i] = start;
    r->leaf_end[i] = end;
    r->leaf_number[i] = kind == CT_COMMENT ? frame->comments : kind == CT_PI ? frame->pis : frame->texts;
    r->leaves++;
    return CT_OK;
}

int ct_enter_sibling(ct_scan *s, ct_cell *cell, int32_t expanded, uint64_t owner)
{
    if (ct_grow(&s->undos, &s->undo_room, s->undo_count + 1, sizeof *s->undos) < 0)
        return CT_MEMORY;
    s->undos[s->undo_count++] = (ct_undo){cell->owner, expanded, cell->count};
    cell->owner = owner;
    cell->count = 0;
    return CT_OK;
}
