#include "describe.h"

enum { MOST_BYTES = 1 << 28 }; /* of one column; more is for those who make arrays of it */

void px_descriptions_begin(px_descriptions *d)
{
    d->nodes = d->rows = d->units = 0;
    for (int i = 0; i < PX_STRING_COLUMNS; i++)
        d->strings[i].used = d->strings[i].holes = 0;
}

void px_descriptions_free(px_descriptions *d)
{
    for (int i = 0; i < PX_STRING_COLUMNS; i++) {
        free(d->strings[i].ends);
        free(d->strings[i].bytes);
        free(d->strings[i].missing);
    }
    free(d->start);
    free(d->end);
    free(d->query);
    free(d->node);
    free(d->ordinal);
    free(d->described);
    free(d->row_end);
    free(d->node_end);
    free(d->places);
}

/* -- columns */

static int reserve(px_strings_column *c, size_t more)
{
    if (c->used + more > MOST_BYTES)
        return PX_MEMORY;
    return px_grow(&c->bytes, &c->byte_room, c->used + more + 1, 1);
}

static void put(px_strings_column *c, const void *at, size_t length)
{
    memcpy(c->bytes + c->used, at, length);
    c->used += length;
}

static int end_string(px_strings_column *c, size_t node, int missing)
{
    if (px_grow(&c->ends, &c->end_room, node + 1, sizeof *c->ends) != PX_OK ||
        px_grow(&c->missing, &c->missing_room, node + 1, 1) != PX_OK)
        return PX_MEMORY;
    c->ends[node] = (int32_t)c->used;
    c->missing[node] = (uint8_t)missing;
    c->holes += (size_t)missing;
    return PX_OK;
}

static int add_string(px_descriptions *d, int column, const void *at, size_t length)
{
    px_strings_column *c = &d->strings[column];
    if (at != NULL) {
        if (reserve(c, length) != PX_OK)
            return PX_MEMORY;
        put(c, at, length);
    }
    return end_string(c, d->nodes, at == NULL);
}

/* A value, unless it is too long. */
static int add_value(px_descriptions *d, int column, const uint8_t *at, size_t length)
{
    int long_ = d->value_bytes >= 0 && (int64_t)length > d->value_bytes;
    return add_string(d, column, long_ ? NULL : at, length);
}

static int add_span(px_descriptions *d, int64_t start, int64_t end)
{
    if (px_grow(&d->start, &d->start_room, d->nodes + 1, sizeof *d->start) != PX_OK ||
        px_grow(&d->end, &d->end_room, d->nodes + 1, sizeof *d->end) != PX_OK)
        return PX_MEMORY;
    d->start[d->nodes] = start;
    d->end[d->nodes] = end;
    return PX_OK;
}

/* -- nodes */

static size_t put_number(uint8_t *out, int32_t number)
{
    uint8_t digits[12];
    size_t n = 0;
    do
        digits[n++] = (uint8_t)('0' + number % 10);
    while ((number /= 10) > 0);
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    return n;
}

/* Writes the path of an element: its ancestors first. */
static int put_path(px_descriptions *d, const px_document *doc, const int32_t *position, int32_t row)
{
    const px_input *in = &doc->in;
    px_strings_column *c = &d->strings[PX_D_PATH];
    size_t most = 0, length;
    for (int32_t r = row; r >= 0; r = in->parent[r]) {
        px_name_of(in, r, &length);
        most += length + 14;
    }
    if (reserve(c, most) != PX_OK)
        return PX_MEMORY;
    uint8_t *end = c->bytes + c->used + most, *out = end;
    for (int32_t r = row; r >= 0; r = in->parent[r]) { /* backwards, then moved */
        uint8_t digits[12];
        size_t n = put_number(digits, position[r]);
        px_bytes name = px_name_of(in, r, &length);
        *--out = ']';
        out -= n;
        memcpy(out, digits, n);
        *--out = '[';
        out -= length;
        memcpy(out, name, length);
        *--out = '/';
    }
    memmove(c->bytes + c->used, out, (size_t)(end - out));
    c->used += (size_t)(end - out);
    return PX_OK;
}

static int add_path(px_descriptions *d, const px_document *doc, const int32_t *position, int32_t row,
                    const char *step, px_bytes name, size_t length, int32_t number)
{
    px_strings_column *c = &d->strings[PX_D_PATH];
    if (put_path(d, doc, position, row) != PX_OK || reserve(c, length + 24) != PX_OK)
        return PX_MEMORY;
    put(c, step, strlen(step));
    put(c, name, length);
    if (number > 0) {
        put(c, "[", 1);
        c->used += put_number(c->bytes + c->used, number);
        put(c, "]", 1);
    }
    return end_string(c, d->nodes, 0);
}

/* Describes a node by its number in the document. */
static int add_node(px_descriptions *d, px_document *doc, const int32_t *position, int32_t node)
{
    const px_input *in = &doc->in;
    int32_t row = node, number = 0;
    const char *kind = "element", *step = "";
    size_t length = 0;
    px_bytes name = px_name_of(in, node, &length);
    const px_value *value = px_value_of(doc, node);
    if (value == NULL)
        return PX_MEMORY;
    if (node >= in->rows + in->attributes) {
        const px_text *text = &doc->texts[node - in->rows - in->attributes];
        kind = "text", step = "/text()", row = text->row, number = text->number;
    } else if (node >= in->rows) {
        kind = "attribute", step = "/@", row = in->attribute_row[node - in->rows];
    }
    int is_element = node < in->rows;
    if (add_span(d, in->start[row], in->end[row]) != PX_OK ||
        add_string(d, PX_D_KIND, kind, strlen(kind)) != PX_OK ||
        add_string(d, PX_D_NAME, name, length) != PX_OK ||
        add_path(d, doc, position, row, step, is_element || name == NULL ? (px_bytes) "" : name,
                 is_element ? 0 : length, number) != PX_OK)
        return PX_MEMORY;
    px_bytes whole = is_element ? in->data + in->start[row] : value->at;
    size_t size = is_element ? (size_t)(in->end[row] - in->start[row]) : value->length;
    if (add_value(d, PX_D_VALUE, whole, size) != PX_OK ||
        add_value(d, PX_D_TEXT, value->at, value->length) != PX_OK)
        return PX_MEMORY;
    d->nodes++;
    return PX_OK;
}

static int add_boolean(px_descriptions *d, int is_true)
{
    const char *text = is_true ? "true" : "false";
    if (add_span(d, -1, -1) != PX_OK || add_string(d, PX_D_KIND, "boolean", 7) != PX_OK ||
        add_string(d, PX_D_NAME, NULL, 0) != PX_OK || add_string(d, PX_D_PATH, NULL, 0) != PX_OK ||
        add_value(d, PX_D_VALUE, (px_bytes)text, strlen(text)) != PX_OK ||
        add_value(d, PX_D_TEXT, (px_bytes)text, strlen(text)) != PX_OK)
        return PX_MEMORY;
    d->nodes++;
    return PX_OK;
}

/* -- rows */

/* The number of a node in the document; -1 if there is none. */
static int32_t node_of(const px_document *doc, int64_t value, int32_t number)
{
    const px_input *in = &doc->in;
    int32_t row = (int32_t)(value & INT32_MAX);
    switch (value >> 32) {
    case PX_IS_ATTRIBUTE:
        for (int32_t i = doc->attribute_first[row]; i < doc->attribute_first[row + 1]; i++)
            if (in->attribute_number[i] == number)
                return in->rows + i;
        return -1;
    case PX_IS_TEXT:
        for (int32_t i = doc->text_first[row]; i < doc->text_first[row + 1]; i++)
            if (doc->texts[i].number == number)
                return in->rows + in->attributes + i;
        return -1;
    default:
        return row;
    }
}

static int add_row(px_descriptions *d, int32_t query, size_t node, int64_t ordinal)
{
    size_t n = d->rows + 1;
    if (px_grow(&d->query, &d->query_room, n, sizeof *d->query) != PX_OK ||
        px_grow(&d->node, &d->node_room, n, sizeof *d->node) != PX_OK ||
        px_grow(&d->ordinal, &d->ordinal_room, n, sizeof *d->ordinal) != PX_OK)
        return PX_MEMORY;
    d->query[d->rows] = query;
    d->node[d->rows] = (int32_t)node;
    d->ordinal[d->rows++] = ordinal;
    return PX_OK;
}

static int add_condition(px_descriptions *d, int32_t query, size_t before, int is_true,
                         int64_t known[2])
{
    if (known[is_true] < 0) {
        known[is_true] = (int64_t)(d->nodes - before);
        if (add_boolean(d, is_true) != PX_OK)
            return PX_MEMORY;
    }
    return add_row(d, query, (size_t)known[is_true], 0);
}

static int add_rows(px_descriptions *d, px_machine *m, const int32_t *position, size_t first, size_t open)
{
    const px_results *r = &m->results, *c = &m->candidates;
    size_t before = d->nodes, condition = 0;
    int64_t ordinal = 0, known[2] = {-1, -1};
    for (size_t i = first; i <= r->count; i++) {
        int at_end = i == r->count;
        int32_t query = at_end ? INT32_MAX : r->query[i];
        for (; condition < d->condition_count && d->conditions[condition] < query; condition++) {
            int32_t own = d->conditions[condition];
            while (open < c->count && c->query[open] < own)
                open++;
            if ((open == c->count || c->query[open] != own) && add_condition(d, own, before, 0, known) != PX_OK)
                return PX_MEMORY;
        }
        if (at_end)
            break;
        if (condition < d->condition_count && d->conditions[condition] == query) {
            condition++;
            if (add_condition(d, query, before, 1, known) != PX_OK)
                return PX_MEMORY;
            continue;
        }
        ordinal = i > first && r->query[i - 1] == query ? ordinal + 1 : 0;
        int32_t node = node_of(&m->document, r->value[i], r->number[i]);
        if (node < 0)
            return PX_MEMORY;
        if (d->places[node] < 0) {
            d->places[node] = (int32_t)(d->nodes - before);
            if (add_node(d, &m->document, position, node) != PX_OK)
                return PX_MEMORY;
        }
        if (add_row(d, query, (size_t)d->places[node], ordinal) != PX_OK)
            return PX_MEMORY;
    }
    return PX_OK;
}

static int end_unit(px_descriptions *d, int described)
{
    size_t n = d->units + 1;
    if (px_grow(&d->described, &d->described_room, n, 1) != PX_OK ||
        px_grow(&d->row_end, &d->row_end_room, n, sizeof *d->row_end) != PX_OK ||
        px_grow(&d->node_end, &d->node_end_room, n, sizeof *d->node_end) != PX_OK)
        return PX_MEMORY;
    d->described[d->units] = (int8_t)described;
    d->row_end[d->units] = (int64_t)d->rows;
    d->node_end[d->units++] = (int64_t)d->nodes;
    return PX_OK;
}

int px_describe_nothing(px_descriptions *d)
{
    return end_unit(d, 0);
}

/* Makes sure that no node has a place. */
static int clear_places(px_descriptions *d, size_t nodes)
{
    if (px_grow(&d->places, &d->place_room, nodes + 1, sizeof *d->places) != PX_OK)
        return PX_MEMORY;
    for (; d->filled_places < d->place_room; d->filled_places++)
        d->places[d->filled_places] = -1;
    return PX_OK;
}

int px_describe(px_descriptions *d, px_machine *m, const int32_t *position, size_t first, size_t open)
{
    const px_results *r = &m->results;
    const px_input *in = &m->document.in;
    int64_t count = (int64_t)(r->count - first);
    int64_t size = in->rows ? in->end[0] : 0;
    size_t rows = d->rows, nodes = d->nodes, used[PX_STRING_COLUMNS], holes[PX_STRING_COLUMNS];
    if (count > d->most_rows || count * size > d->most_bytes ||
        clear_places(d, (size_t)m->document.nodes) != PX_OK)
        return end_unit(d, 0);
    for (int i = 0; i < PX_STRING_COLUMNS; i++)
        used[i] = d->strings[i].used, holes[i] = d->strings[i].holes;
    int code = add_rows(d, m, position, first, open);
    for (size_t i = first; i < r->count; i++) {
        int32_t node = node_of(&m->document, r->value[i], r->number[i]);
        if (node >= 0 && node < m->document.nodes)
            d->places[node] = -1;
    }
    if (code != PX_OK) {
        d->rows = rows, d->nodes = nodes;
        for (int i = 0; i < PX_STRING_COLUMNS; i++)
            d->strings[i].used = used[i], d->strings[i].holes = holes[i];
    }
    return end_unit(d, code == PX_OK);
}
