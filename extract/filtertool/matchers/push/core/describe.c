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
        px_name_of(doc, r, &length);
        most += length + 14;
    }
    if (reserve(c, most) != PX_OK)
        return PX_MEMORY;
    uint8_t *end = c->bytes + c->used + most, *out = end;
    for (int32_t r = row; r >= 0; r = in->parent[r]) { /* backwards, then moved */
        uint8_t digits[12];
        size_t n = put_number(digits, position[r]);
        px_bytes name = px_name_of(doc, r, &length);
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
    if (put_path(d, doc, position, row) != PX_OK || reserve(c, strlen(step) + length + 16) != PX_OK)
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

/* Describes a comment or processing instruction. */
static int add_other(px_descriptions *d, px_document *doc, const int32_t *position, int32_t node,
                     const px_value *value, px_bytes name, size_t length)
{
    const px_input *in = &doc->in;
    int32_t leaf = px_leaf_of(doc, node);
    int is_comment = in->leaf_kind[leaf] == PX_LEAF_COMMENT;
    const char *kind = is_comment ? "comment" : "pi";
    const char *step = is_comment ? "/comment()" : "/processing-instruction()";
    if (add_span(d, in->leaf_start[leaf], in->leaf_end[leaf]) != PX_OK ||
        add_string(d, PX_D_KIND, kind, strlen(kind)) != PX_OK || add_string(d, PX_D_NAME, name, length) != PX_OK ||
        add_path(d, doc, position, in->leaf_parent[leaf], step, (px_bytes) "", 0, in->leaf_number[leaf]) != PX_OK ||
        add_value(d, PX_D_VALUE, value->at, value->length) != PX_OK ||
        add_value(d, PX_D_TEXT, value->at, value->length) != PX_OK)
        return PX_MEMORY;
    d->nodes++;
    return PX_OK;
}

/* Describes a node by its number in the document. */
static int add_node(px_descriptions *d, px_document *doc, const int32_t *position, int32_t node)
{
    const px_input *in = &doc->in;
    int32_t row = node, number = 0;
    const char *kind = "element", *step = "";
    size_t length = 0;
    px_bytes name = px_name_of(doc, node, &length);
    const px_value *value = px_value_of(doc, node);
    if (value == NULL)
        return PX_MEMORY;
    if (node >= doc->text_end) {
        return add_other(d, doc, position, node, value, name, length);
    } else if (node >= in->rows + in->attributes) {
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

/* Describes what is no node. */
static int add_plain(px_descriptions *d, const char *kind, px_bytes text, size_t length)
{
    if (add_span(d, -1, -1) != PX_OK || add_string(d, PX_D_KIND, kind, strlen(kind)) != PX_OK ||
        add_string(d, PX_D_NAME, NULL, 0) != PX_OK || add_string(d, PX_D_PATH, NULL, 0) != PX_OK ||
        add_value(d, PX_D_VALUE, text, length) != PX_OK || add_value(d, PX_D_TEXT, text, length) != PX_OK)
        return PX_MEMORY;
    d->nodes++;
    return PX_OK;
}

static int add_boolean(px_descriptions *d, int is_true)
{
    return is_true ? add_plain(d, "boolean", (px_bytes) "true", 4) : add_plain(d, "boolean", (px_bytes) "false", 5);
}

/* -- rows */

/* The number of a node in the document; -1 if there is none. */
static int32_t node_of(const px_document *doc, int64_t value, int32_t number)
{
    const px_input *in = &doc->in;
    int32_t row = (int32_t)(uint32_t)value;
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
    case PX_IS_COMMENT:
    case PX_IS_INSTRUCTION:
        for (int32_t i = doc->text_end; i < doc->nodes; i++) {
            int32_t leaf = px_leaf_of(doc, i);
            int is_comment = in->leaf_kind[leaf] == PX_LEAF_COMMENT;
            if (in->leaf_parent[leaf] == row && in->leaf_number[leaf] == number &&
                is_comment == (value >> 32 == PX_IS_COMMENT))
                return i;
        }
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

static int add_made_value(px_descriptions *d, const px_values_made *v, size_t number, size_t before)
{
    const px_results *rows = &v->rows;
    char digits[PX_NUMBER_BYTES];
    size_t node = d->nodes - before;
    int code;
    if (rows->number[number] < 0) {
        double value;
        memcpy(&value, &rows->value[number], sizeof value);
        px_write_number(value, digits);
        code = add_plain(d, "number", (px_bytes)digits, strlen(digits));
    } else {
        code = add_plain(d, "string", v->bytes + rows->value[number], (size_t)rows->number[number]);
    }
    return code == PX_OK ? add_row(d, rows->query[number], node, 0) : code;
}

/* Adds the row of a node that a query selects. */
static int add_result_row(px_descriptions *d, px_machine *m, const int32_t *position, size_t result, size_t before,
                          int64_t ordinal)
{
    const px_results *r = &m->results;
    int32_t node = node_of(&m->document, r->value[result], r->number[result]);
    if (node < 0)
        return PX_MEMORY;
    if (d->places[node] < 0) {
        d->places[node] = (int32_t)(d->nodes - before);
        if (add_node(d, &m->document, position, node) != PX_OK)
            return PX_MEMORY;
    }
    return add_row(d, r->query[result], (size_t)d->places[node], ordinal);
}

static int32_t next_query(const int32_t *queries, size_t at, size_t count)
{
    return at < count ? queries[at] : INT32_MAX;
}

/* Adds the rows of results, values and conditions, by query. */
static int add_rows(px_descriptions *d, px_machine *m, const int32_t *position, size_t first, size_t open,
                    size_t value)
{
    const px_results *r = &m->results, *c = &m->candidates, *v = &m->values.rows;
    size_t before = d->nodes, condition = 0, at = first;
    int64_t ordinal = 0, known[2] = {-1, -1};
    for (int code = PX_OK; code == PX_OK;) {
        int32_t result = next_query(r->query, at, r->count), made = next_query(v->query, value, v->count);
        int32_t asked = next_query(d->conditions, condition, d->condition_count);
        if (result == INT32_MAX && made == INT32_MAX && asked == INT32_MAX)
            return PX_OK;
        if (made < result && made < asked) {
            code = add_made_value(d, &m->values, value++, before);
        } else if (asked <= result) {
            condition++;
            at += asked == result;
            while (open < c->count && c->query[open] < asked)
                open++;
            if (asked == result || next_query(c->query, open, c->count) != asked)
                code = add_condition(d, asked, before, asked == result, known);
        } else {
            ordinal = at > first && r->query[at - 1] == result ? ordinal + 1 : 0;
            code = add_result_row(d, m, position, at++, before, ordinal);
        }
    }
    return PX_MEMORY;
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

int px_describe(px_descriptions *d, px_machine *m, const int32_t *position, size_t first, size_t open,
                size_t value)
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
    int code = add_rows(d, m, position, first, open, value);
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
