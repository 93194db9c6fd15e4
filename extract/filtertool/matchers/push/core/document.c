#include "push.h"

#include "number.h"

enum { TEXT = 1, CDATA, REFERENCES }; /* as in scan.h */

struct px_block {
    px_block *next;
    size_t used, room;
};

/* -- the shape of a document */

static int make_texts(px_document *d)
{
    const px_input *in = &d->in;
    int32_t count = 0, row;
    memset(d->text_first, 0, ((size_t)in->rows + 1) * sizeof *d->text_first);
    if (px_grow(&d->texts, &d->text_room, (size_t)in->leaves + 1, sizeof *d->texts) != PX_OK)
        return PX_MEMORY;
    for (int32_t i = 0; i < in->leaves; i++) {
        if (in->leaf_kind[i] > REFERENCES)
            continue;
        if (i == 0 || in->leaf_kind[i - 1] > REFERENCES || in->leaf_parent[i - 1] != in->leaf_parent[i] ||
            in->leaf_number[i - 1] != in->leaf_number[i]) {
            d->text_first[in->leaf_parent[i]]++;
            count++;
        }
    }
    for (int32_t sum = 0, r = 0; r <= in->rows; r++) {
        int32_t here = d->text_first[r];
        d->text_first[r] = sum;
        sum += here;
    }
    px_text *last = NULL;
    for (int32_t i = 0; i < in->leaves; i++) {
        if (in->leaf_kind[i] > REFERENCES) {
            last = NULL;
            continue;
        }
        row = in->leaf_parent[i];
        if (last == NULL || last->row != row || last->number != in->leaf_number[i]) {
            last = &d->texts[d->text_first[row]++];
            *last = (px_text){row, i, i, in->leaf_number[i]};
        }
        last->end = i + 1;
    }
    for (int32_t r = in->rows; r > 0; r--) /* each is now where the next one starts */
        d->text_first[r] = d->text_first[r - 1];
    d->text_first[0] = 0;
    d->nodes += count;
    d->text_end = d->nodes;
    return PX_OK;
}

static int list_others(px_document *d)
{
    int32_t count = 0;
    for (int32_t i = 0; i < d->in.leaves; i++) {
        if (d->in.leaf_kind[i] <= REFERENCES)
            continue;
        if (px_grow(&d->others, &d->other_room, (size_t)count + 1, sizeof *d->others) != PX_OK)
            return PX_MEMORY;
        d->others[count++] = i;
    }
    d->nodes += count;
    return PX_OK;
}

int px_document_begin(px_document *d, const px_input *in, int with_texts)
{
    d->in = *in;
    d->names = -1;
    d->leaves_known = d->whole_known = 0;
    d->copied = 0;
    px_forget_known(d);
    px_truths_begin(d);
    d->nodes = d->text_end = in->rows + in->attributes;
    d->size = (int64_t)d->nodes + in->leaves;
    size_t rows = (size_t)in->rows + 1;
    if (px_grow(&d->last, &d->last_room, rows, sizeof *d->last) != PX_OK ||
        px_grow(&d->depth, &d->depth_room, rows, sizeof *d->depth) != PX_OK ||
        px_grow(&d->attribute_first, &d->attribute_room, rows, sizeof *d->attribute_first) != PX_OK ||
        px_grow(&d->text_first, &d->text_first_room, rows, sizeof *d->text_first) != PX_OK)
        return PX_MEMORY;
    for (int32_t row = 0; row < in->rows; row++) {
        int32_t parent = in->parent[row];
        d->depth[row] = parent < 0 ? 1 : d->depth[parent] + 1;
        d->last[row] = row + 1;
    }
    for (int32_t row = in->rows - 1; row > 0; row--) {
        int32_t parent = in->parent[row];
        if (parent >= 0 && d->last[parent] < d->last[row])
            d->last[parent] = d->last[row];
    }
    int32_t attribute = 0;
    for (int32_t row = 0; row <= in->rows; row++) {
        while (attribute < in->attributes && in->attribute_row[attribute] < row)
            attribute++;
        d->attribute_first[row] = attribute;
    }
    if (with_texts && (make_texts(d) != PX_OK || list_others(d) != PX_OK))
        return PX_MEMORY;
    size_t nodes = (size_t)d->nodes;
    if (px_grow(&d->values, &d->value_room, nodes + 1, sizeof *d->values) != PX_OK)
        return PX_MEMORY;
    for (size_t i = 0; i < nodes; i++)
        d->values[i].at = NULL;
    while (d->arena != NULL && d->arena->next != NULL) { /* one block stays */
        px_block *next = d->arena->next;
        free(d->arena);
        d->arena = next;
    }
    if (d->arena != NULL)
        d->arena->used = 0;
    return PX_OK;
}

void px_document_free(px_document *d)
{
    free(d->last);
    free(d->depth);
    free(d->attribute_first);
    free(d->text_first);
    free(d->leaf_first);
    free(d->whole_at);
    free(d->texts);
    free(d->others);
    free(d->values);
    free(d->set);
    free(d->made);
    free(d->by_name);
    free(d->known);
    free(d->noted);
    px_truths_free(d);
    free(d->name_first);
    px_document_forget(d);
}

void px_document_forget(px_document *d)
{
    while (d->arena != NULL) {
        px_block *next = d->arena->next;
        free(d->arena);
        d->arena = next;
    }
}

size_t px_document_arena(const px_document *d)
{
    size_t bytes = 0;
    for (const px_block *block = d->arena; block != NULL; block = block->next)
        bytes += sizeof *block + block->room;
    return bytes;
}

/* Sorts the rows by symbol. */
static int sort_by_name(px_document *d)
{
    const px_input *in = &d->in;
    int32_t names = 0;
    for (int32_t row = 0; row < in->rows; row++)
        if (in->symbol[row] >= names)
            names = in->symbol[row] + 1;
    if (px_grow(&d->by_name, &d->by_name_room, (size_t)in->rows + 1, sizeof *d->by_name) != PX_OK ||
        px_grow(&d->name_first, &d->name_room, (size_t)names + 2, sizeof *d->name_first) != PX_OK)
        return PX_MEMORY;
    memset(d->name_first, 0, ((size_t)names + 2) * sizeof *d->name_first);
    for (int32_t row = 0; row < in->rows; row++)
        if (in->symbol[row] >= 0)
            d->name_first[in->symbol[row] + 2]++;
    for (int32_t name = 2; name < names + 2; name++)
        d->name_first[name] += d->name_first[name - 1];
    for (int32_t row = 0; row < in->rows; row++)
        if (in->symbol[row] >= 0)
            d->by_name[d->name_first[in->symbol[row] + 1]++] = row;
    d->names = names;
    return PX_OK;
}

static const int32_t *lower_bound(const int32_t *begin, const int32_t *end, int32_t row)
{
    while (begin < end) {
        const int32_t *middle = begin + (end - begin) / 2;
        if (*middle < row)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

int px_rows_named(px_document *d, int32_t symbol, int32_t first, int32_t end, const int32_t **begin,
                  const int32_t **behind)
{
    if (d->names < 0 && sort_by_name(d) != PX_OK)
        return PX_MEMORY;
    *begin = *behind = d->by_name;
    if (symbol >= d->names)
        return PX_OK;
    const int32_t *last = d->by_name + d->name_first[symbol + 1];
    *begin = lower_bound(d->by_name + d->name_first[symbol], last, first);
    *behind = lower_bound(*begin, last, end);
    return PX_OK;
}

int64_t px_place_of(const px_document *d, int32_t node)
{
    const px_input *in = &d->in;
    if (node < 0)
        return -1;
    if (node < in->rows)
        return in->start[node];
    node -= in->rows;
    if (node < in->attributes)
        return in->attribute_start[node];
    node += in->rows;
    if (node >= d->text_end)
        return in->leaf_start[px_leaf_of(d, node)];
    return in->leaf_start[d->texts[node - in->rows - in->attributes].first];
}

/* -- values */

static uint8_t *allocate(px_document *d, size_t size)
{
    if (d->arena == NULL || d->arena->room - d->arena->used < size) {
        size_t room = size < 4096 ? 4096 : size;
        px_block *block = malloc(sizeof *block + room);
        if (block == NULL)
            return NULL;
        *block = (px_block){d->arena, 0, room};
        d->arena = block;
    }
    uint8_t *at = (uint8_t *)(d->arena + 1) + d->arena->used;
    d->arena->used += size;
    return at;
}

static uint8_t *put_character(uint8_t *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (uint8_t)c;
    } else if (c < 0x800) {
        *out++ = (uint8_t)(0xC0 | c >> 6);
        *out++ = (uint8_t)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *out++ = (uint8_t)(0xE0 | c >> 12);
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *out++ = (uint8_t)(0x80 | (c & 0x3F));
    } else {
        *out++ = (uint8_t)(0xF0 | c >> 18);
        *out++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *out++ = (uint8_t)(0x80 | (c & 0x3F));
    }
    return out;
}

/* Writes what a reference stands for; `p` is behind the '&'. The scan has checked it. */
static px_bytes put_reference(px_bytes p, px_bytes end, uint8_t **out)
{
    px_bytes semicolon = memchr(p, ';', (size_t)(end - p));
    uint32_t c = 0;
    if (*p == '#' && p[1] == 'x') {
        for (p += 2; p < semicolon; p++)
            c = c * 16 + (uint32_t)(*p <= '9' ? *p - '0' : (*p | 0x20) - 'a' + 10);
    } else if (*p == '#') {
        for (p++; p < semicolon; p++)
            c = c * 10 + (uint32_t)(*p - '0');
    } else {
        c = *p == 'l' ? '<' : *p == 'g' ? '>' : *p == 'q' ? '"' : p[1] == 'm' ? '&' : '\'';
    }
    *out = put_character(*out, c);
    return semicolon + 1;
}

/* Writes characters with references and line ends resolved; as an attribute, white space is a space.
 * What is written is never longer. */
static uint8_t *put_text(px_bytes p, px_bytes end, int references, int attribute, uint8_t *out)
{
    while (p < end) {
        if (*p == '&' && references) {
            p = put_reference(p + 1, end, &out);
        } else if (*p == '\r') {
            *out++ = attribute ? ' ' : '\n';
            p += 1 + (p + 1 < end && p[1] == '\n');
        } else if (attribute && (*p == '\n' || *p == '\t')) {
            *out++ = ' ';
            p++;
        } else {
            *out++ = *p++;
        }
    }
    return out;
}

/* The value of an attribute, between its quotes. */
static int make_quoted(px_document *d, px_bytes p, px_bytes end, px_value *value)
{
    px_bytes q = p;
    while (q < end && *q != '&' && *q != '\r' && *q != '\n' && *q != '\t')
        q++;
    value->at = p;
    value->length = (uint32_t)(end - p);
    if (q == end)
        return PX_OK;
    uint8_t *out = allocate(d, (size_t)(end - p));
    if (out == NULL)
        return PX_MEMORY;
    value->at = out;
    value->length = (uint32_t)(put_text(p, end, 1, 1, out) - out);
    return PX_OK;
}

/* Finds the first leaf of each element: rows and leaves are in document order. */
static int find_leaves(px_document *d)
{
    const px_input *in = &d->in;
    if (px_grow(&d->leaf_first, &d->leaf_room, (size_t)in->rows + 1, sizeof *d->leaf_first) != PX_OK)
        return PX_MEMORY;
    for (int32_t row = 0, leaf = 0; row < in->rows; row++) {
        while (leaf < in->leaves && in->leaf_start[leaf] < in->content[row])
            leaf++;
        d->leaf_first[row] = leaf;
    }
    d->leaves_known = 1;
    return PX_OK;
}

static uint8_t *put_leaf(const px_input *in, int32_t leaf, uint8_t *out)
{
    px_bytes p = in->data + in->leaf_start[leaf], stop = in->data + in->leaf_end[leaf];
    if (in->leaf_kind[leaf] == CDATA)
        return put_text(p + 9, stop - 3, 0, 0, out);
    return in->leaf_kind[leaf] <= REFERENCES ? put_text(p, stop, in->leaf_kind[leaf] == REFERENCES, 0, out) : out;
}

/* Makes the text of the whole document, of which that of each element is a part: the texts of elements in
 * each other may be far longer together than the document. */
static int make_whole(px_document *d)
{
    const px_input *in = &d->in;
    size_t size = 1;
    for (int32_t i = 0; i < in->leaves; i++)
        size += in->leaf_kind[i] <= REFERENCES ? (size_t)(in->leaf_end[i] - in->leaf_start[i]) : 0;
    if (px_grow(&d->whole_at, &d->whole_room, (size_t)in->leaves + 1, sizeof *d->whole_at) != PX_OK)
        return PX_MEMORY;
    uint8_t *out = allocate(d, size);
    if (out == NULL)
        return PX_MEMORY;
    for (int32_t i = 0; i < in->leaves; i++) {
        d->whole_at[i] = out;
        out = put_leaf(in, i, out);
    }
    d->whole_at[in->leaves] = out;
    d->whole_known = 1;
    return PX_OK;
}

static int make_text(px_document *d, int32_t first, int32_t end, px_value *value)
{
    const px_input *in = &d->in;
    int32_t texts = 0, only = -1;
    size_t size = 0;
    for (int32_t i = first; i < end; i++) {
        if (in->leaf_kind[i] > REFERENCES)
            continue;
        texts++;
        only = i;
        size += (size_t)(in->leaf_end[i] - in->leaf_start[i]);
    }
    value->at = in->data; /* an empty text, unless there is more */
    value->length = 0;
    if (texts == 0)
        return PX_OK;
    if (texts == 1 && in->leaf_kind[only] == TEXT) {
        value->at = in->data + in->leaf_start[only];
        value->length = (uint32_t)size;
        return PX_OK;
    }
    if (!d->whole_known && (d->copied += size) > (size_t)in->end[0] && make_whole(d) != PX_OK)
        return PX_MEMORY;
    if (d->whole_known) {
        value->at = d->whole_at[first];
        value->length = (uint32_t)(d->whole_at[end] - d->whole_at[first]);
        return PX_OK;
    }
    uint8_t *out = allocate(d, size), *begin = out;
    if (out == NULL)
        return PX_MEMORY;
    for (int32_t i = first; i < end; i++)
        out = put_leaf(in, i, out);
    value->at = begin;
    value->length = (uint32_t)(out - begin);
    return PX_OK;
}

/* Where the target of a processing instruction ends. */
static px_bytes target_end(px_bytes p)
{
    while (*p != '?' && !number_space(*p))
        p++;
    return p;
}

/* The value of a comment or processing instruction. */
static int make_other(px_document *d, int32_t leaf, px_value *value)
{
    const px_input *in = &d->in;
    int is_comment = in->leaf_kind[leaf] == PX_LEAF_COMMENT;
    px_bytes p = in->data + in->leaf_start[leaf], end = in->data + in->leaf_end[leaf] - (is_comment ? 3 : 2);
    p = is_comment ? p + 4 : target_end(p + 2);
    while (!is_comment && p < end && number_space(*p))
        p++;
    value->at = p;
    value->length = (uint32_t)(end - p);
    if (memchr(p, '\r', (size_t)(end - p)) == NULL)
        return PX_OK;
    uint8_t *out = allocate(d, (size_t)(end - p));
    if (out == NULL)
        return PX_MEMORY;
    value->at = out;
    value->length = (uint32_t)(put_text(p, end, 0, 0, out) - out);
    return PX_OK;
}

/* The value of an element: its leaves are next to each other. */
static int make_element(px_document *d, int32_t row, px_value *value)
{
    const px_input *in = &d->in;
    if (!d->leaves_known && find_leaves(d) != PX_OK)
        return PX_MEMORY;
    int32_t first = d->leaf_first[row], end = first;
    while (end < in->leaves && in->leaf_start[end] < in->close[row])
        end++;
    return make_text(d, first, end, value);
}

const px_value *px_value_make(px_document *d, int32_t node)
{
    const px_input *in = &d->in;
    px_value *value = &d->values[node];
    int code;
    value->string = PX_UNKNOWN;
    value->has_number = 0;
    if (node < in->rows) {
        code = make_element(d, node, value);
    } else if (node < in->rows + in->attributes) {
        const int64_t *start = in->attribute_start, *end = in->attribute_end;
        code = make_quoted(d, in->data + start[node - in->rows], in->data + end[node - in->rows], value);
    } else if (node >= d->text_end) {
        code = make_other(d, px_leaf_of(d, node), value);
    } else {
        const px_text *text = &d->texts[node - in->rows - in->attributes];
        code = make_text(d, text->first, text->end, value);
    }
    if (code == PX_OK)
        return value;
    value->at = NULL;
    return NULL;
}

int px_value_number(px_document *d, int32_t node, double *number)
{
    if (px_value_of(d, node) == NULL)
        return PX_MEMORY;
    px_value *value = &d->values[node];
    if (!value->has_number) {
        value->number = number_of(value->at, value->length);
        value->has_number = 1;
    }
    *number = value->number;
    return PX_OK;
}

int px_value_string(px_document *d, const px_strings *strings, int32_t node, int32_t *string)
{
    if (px_value_of(d, node) == NULL)
        return PX_MEMORY;
    px_value *value = &d->values[node];
    if (value->string == PX_UNKNOWN)
        value->string = px_strings_find(strings, value->at, value->length,
                                        px_strings_hash(strings, value->at, value->length));
    *string = value->string;
    return PX_OK;
}

/* -- names */

static size_t name_length(px_bytes name)
{
    size_t n = 0;
    while (name[n] != ' ' && name[n] != '\t' && name[n] != '\n' && name[n] != '\r' && name[n] != '/' &&
           name[n] != '>')
        n++;
    return n;
}

/* The name of an attribute, which ends before its '=' and the value. */
static px_bytes attribute_name(const px_input *in, int32_t attribute, size_t *length)
{
    px_bytes end = in->data + in->attribute_start[attribute] - 1; /* the quote */
    do
        end--;
    while (*end != '=');
    do
        end--;
    while (*end == ' ' || *end == '\t' || *end == '\n' || *end == '\r');
    px_bytes begin = end;
    while (begin[-1] != ' ' && begin[-1] != '\t' && begin[-1] != '\n' && begin[-1] != '\r')
        begin--;
    *length = (size_t)(end + 1 - begin);
    return begin;
}

px_bytes px_name_of(const px_document *d, int32_t node, size_t *length)
{
    const px_input *in = &d->in;
    *length = 0;
    if (node >= d->text_end && in->leaf_kind[px_leaf_of(d, node)] != PX_LEAF_COMMENT) {
        px_bytes target = in->data + in->leaf_start[px_leaf_of(d, node)] + 2;
        *length = (size_t)(target_end(target) - target);
        return target;
    }
    if (node >= in->rows + in->attributes)
        return NULL;
    if (node >= in->rows)
        return attribute_name(in, node - in->rows, length);
    px_bytes name = in->data + in->start[node] + 1;
    *length = name_length(name);
    return name;
}

/* -- namespaces */

/* The attribute of a start tag that is at `p` or behind it; NULL: there is none. */
typedef struct {
    px_bytes name, name_end, value, value_end;
} tag_attribute;

static px_bytes next_attribute(px_bytes p, px_bytes end, tag_attribute *a)
{
    while (p < end && number_space(*p))
        p++;
    if (p >= end || *p == '/' || *p == '>')
        return NULL;
    a->name = p;
    while (*p != '=' && !number_space(*p))
        p++;
    a->name_end = p;
    while (*p != '"' && *p != '\'')
        p++;
    a->value = p + 1;
    a->value_end = memchr(p + 1, *p, (size_t)(end - p - 1));
    return a->value_end + 1;
}

/* The namespace that a prefix stands for at an element; an element without one has the default. */
static int find_namespace(px_document *d, int32_t row, px_bytes prefix, size_t length, px_value *value)
{
    const px_input *in = &d->in;
    for (; row >= 0; row = in->parent[row]) {
        px_bytes p = in->data + in->start[row] + 1, end = in->data + in->content[row];
        p += name_length(p);
        for (tag_attribute a; (p = next_attribute(p, end, &a)) != NULL;) {
            size_t own = (size_t)(a.name_end - a.name);
            if (own < 5 || memcmp(a.name, "xmlns", 5) != 0)
                continue;
            int is_it = length ? own == 6 + length && a.name[5] == ':' && memcmp(a.name + 6, prefix, length) == 0
                               : own == 5;
            if (is_it)
                return make_quoted(d, a.value, a.value_end, value) == PX_OK ? 0 : -PX_MEMORY;
        }
    }
    return 0;
}

int px_namespace_of(px_document *d, int32_t node, px_bytes *at, size_t *length)
{
    static const char xml[] = "http://www.w3.org/XML/1998/namespace";
    const px_input *in = &d->in;
    px_value value = {(px_bytes) "", 0, 0, PX_UNKNOWN, 0};
    size_t size = 0;
    int code = 0;
    if (node >= 0 && node < in->rows + in->attributes) {
        px_bytes name = px_name_of(d, node, &size), colon = memchr(name, ':', size);
        size_t prefix = colon == NULL ? 0 : (size_t)(colon - name);
        int32_t row = node < in->rows ? node : in->attribute_row[node - in->rows];
        if (prefix == 3 && memcmp(name, "xml", 3) == 0)
            value.at = (px_bytes)xml, value.length = sizeof xml - 1;
        else if (node < in->rows || prefix)
            code = find_namespace(d, row, name, prefix, &value);
    }
    *at = value.at;
    *length = value.length;
    return code;
}
