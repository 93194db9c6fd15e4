#include "outputs.h"

#include <stdio.h>

static int put(px_writing *w, const void *bytes, size_t length)
{
    px_outputs *o = w->o;
    if (o->used - w->begin + length > o->most)
        return -PX_TOO_LONG;
    if (px_grow(&o->bytes, &o->byte_room, o->used + length, 1) != PX_OK)
        return -PX_MEMORY;
    if (length)
        memcpy(o->bytes + o->used, bytes, length);
    o->used += length;
    return 0;
}

/* The reference that a character of a value is written as; NULL: it is written as it is. */
static const char *reference(uint8_t c, int in_attribute)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return in_attribute ? NULL : "&gt;";
    case '\r':
        return "&#13;";
    case '"':
        return in_attribute ? "&quot;" : NULL;
    case '\n':
        return in_attribute ? "&#10;" : NULL;
    case '\t':
        return in_attribute ? "&#9;" : NULL;
    default:
        return NULL;
    }
}

static int put_value(px_writing *w, int32_t node, int in_attribute)
{
    const px_value *value = px_value_of(&w->m->document, node);
    if (value == NULL)
        return -PX_MEMORY;
    px_bytes at = value->at, end = at + value->length, from = at;
    int code = 0;
    for (; at < end && code == 0; at++) {
        const char *escaped = *at > '>' ? NULL : reference(*at, in_attribute);
        if (escaped == NULL)
            continue;
        code = put(w, from, (size_t)(at - from));
        if (code == 0)
            code = put(w, escaped, strlen(escaped));
        from = at + 1;
    }
    return code ? code : put(w, from, (size_t)(end - from));
}

/* Copies an element, with the declarations of namespaces that are in scope. */
static int copy_element(px_writing *w, int32_t row, int has_default)
{
    const px_input *in = &w->m->document.in;
    px_declarations *s = &w->o->declarations;
    px_bytes at = in->data + in->start[row], end = in->data + in->end[row];
    int own_default, code = px_declare(s, w->m, row, &own_default);
    int none = has_default && !s->has_default && !own_default;
    if (code < 0)
        return code;
    if ((!s->present || s->length == 0) && !none)
        return put(w, at, (size_t)(end - at));
    px_bytes name = at + 1;
    while (name < end && *name != ' ' && *name != '\t' && *name != '\n' && *name != '\r' && *name != '/' &&
           *name != '>')
        name++;
    code = put(w, at, (size_t)(name - at));
    if (code == 0 && s->present)
        code = put(w, s->text, s->length);
    if (code == 0 && none)
        code = put(w, " xmlns=\"\"", 9);
    return code ? code : put(w, name, (size_t)(end - name));
}

static int copy_node(px_writing *w, int32_t node, int has_default)
{
    const px_input *in = &w->m->document.in;
    if (node < in->rows)
        return copy_element(w, node, has_default);
    return node < in->rows + in->attributes ? 0 : put_value(w, node, 0);
}

/* -- lists of nodes */

static int by_place(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Whether the nodes of the set are all elements, or all attributes. */
static int are_numbered_in_order(const px_document *d, size_t begin)
{
    int32_t first = d->set[begin], last = d->set[d->set_count - 1], rows = d->in.rows;
    return last < rows || (first >= rows && last < rows + d->in.attributes);
}

/* Selects nodes into the document's set, in document order. */
static int select_in_order(px_writing *w, const int32_t *list, int32_t node)
{
    px_document *d = &w->m->document;
    size_t begin = d->set_count;
    int code = px_select(&w->m->context, list + 2, list[1] & PX_ABSOLUTE ? -1 : node);
    size_t count = d->set_count - begin;
    if (code < 0 || count < 2 || list[1] & PX_IN_ORDER || are_numbered_in_order(d, begin))
        return code;
    w->o->sorted++;
    int64_t *placed = malloc(2 * count * sizeof *placed);
    if (placed == NULL)
        return -PX_MEMORY;
    for (size_t i = 0; i < count; i++) {
        placed[2 * i] = px_place_of(d, d->set[begin + i]);
        placed[2 * i + 1] = d->set[begin + i];
    }
    qsort(placed, count, 2 * sizeof *placed, by_place);
    for (size_t i = 0; i < count; i++)
        d->set[begin + i] = (int32_t)placed[2 * i + 1];
    free(placed);
    return 0;
}

int px_list_nodes(px_writing *w, const int32_t *list, int32_t node, px_nodes *nodes)
{
    px_outputs *o = w->o;
    px_document *d = &w->m->document;
    uint64_t key = px_key(list[0], list[1] & PX_ABSOLUTE ? -1 : node);
    px_made_list *made = &o->lists[(key * 0x9E3779B97F4A7C15u) >> 32 & (PX_LISTS - 1)];
    *nodes = (px_nodes){NULL, 0};
    if (list[0] >= 0 && made->stamp == w->m->stamp && made->key == key) {
        *nodes = (px_nodes){o->nodes + made->begin, made->count};
        return 0;
    }
    size_t begin = d->set_count;
    int code = select_in_order(w, list, node);
    size_t count = d->set_count - begin;
    d->set_count = begin;
    if (code < 0)
        return code;
    *nodes = (px_nodes){d->set + begin, count};
    if (list[0] < 0 || o->node_count + count > UINT32_MAX)
        return 0;
    if (px_grow(&o->nodes, &o->node_room, o->node_count + count, sizeof *o->nodes) != PX_OK)
        return -PX_MEMORY;
    if (count)
        memcpy(o->nodes + o->node_count, d->set + begin, count * sizeof *o->nodes);
    *made = (px_made_list){key, w->m->stamp, (uint32_t)o->node_count, (uint32_t)count};
    o->node_count += count;
    return 0;
}

/* -- operations */

static int put_copies(px_writing *w, const int32_t *operands, int32_t node)
{
    px_nodes found;
    int code = px_list_nodes(w, operands + 1, node, &found);
    for (size_t i = 0; i < found.count && code == 0; i++)
        code = copy_node(w, found.nodes[i], operands[0]);
    return code;
}

static int put_values(px_writing *w, const int32_t *list, int32_t node)
{
    px_nodes found;
    int code = px_list_nodes(w, list, node, &found);
    for (size_t i = 0; i < found.count && code == 0; i++) {
        if (i > 0)
            code = put(w, " ", 1);
        if (code == 0)
            code = put_value(w, found.nodes[i], 1);
    }
    return code;
}

static int put_first(px_writing *w, const int32_t *list, int32_t node, int in_attribute)
{
    px_nodes found;
    int code = px_list_nodes(w, list, node, &found);
    return code < 0 || found.count == 0 ? code : put_value(w, found.nodes[0], in_attribute);
}

static int put_count(px_writing *w, const int32_t *list, int32_t node)
{
    px_nodes found;
    char digits[24];
    int code = px_list_nodes(w, list, node, &found);
    int length = snprintf(digits, sizeof digits, "%zu", found.count);
    return code < 0 ? code : put(w, digits, (size_t)length);
}

static int put_attribute(px_writing *w, const int32_t *operands, int32_t node)
{
    px_nodes found;
    int code = px_list_nodes(w, operands + 2, node, &found);
    if (code < 0 || found.count == 0)
        return code;
    code = put(w, " ", 1);
    if (code == 0)
        code = put(w, w->program->text + operands[0], (size_t)operands[1]);
    if (code == 0)
        code = put(w, "=\"", 2);
    if (code == 0)
        code = put_value(w, found.nodes[0], 1);
    return code ? code : put(w, "\"", 1);
}

int px_write(px_writing *w, const int32_t *at, int32_t node)
{
    switch (at[0]) {
    case PX_WRITE:
        return put(w, w->program->text + at[2], (size_t)at[3]);
    case PX_COPY:
        return put_copies(w, at + 2, node);
    case PX_VALUES:
        return put_values(w, at + 2, node);
    case PX_STRING:
        return put_first(w, at + 3, node, at[2]);
    case PX_NUMBER:
        return put_count(w, at + 2, node);
    case PX_SPECIFY:
        return put_attribute(w, at + 2, node);
    default:
        return 0; /* a key */
    }
}
