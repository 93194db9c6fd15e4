#include "outputs.h"

static int is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static int add_declaration(px_declarations *s, px_declaration one)
{
    if (px_grow(&s->items, &s->room, s->count + 1, sizeof *s->items) != PX_OK)
        return -PX_MEMORY;
    s->items[s->count++] = one;
    return 0;
}

/* Adds the declarations of a start tag. The scan has checked its form. */
static int read_tag(px_declarations *s, px_bytes data, int64_t at, int64_t end)
{
    while (at < end && !is_space(data[at]) && data[at] != '/' && data[at] != '>')
        at++;
    for (;;) {
        while (at < end && is_space(data[at]))
            at++;
        if (at >= end || data[at] == '/' || data[at] == '>')
            return 0;
        int64_t name = at;
        while (data[at] != '=' && !is_space(data[at]))
            at++;
        int64_t length = at - name;
        while (data[at] != '"' && data[at] != '\'')
            at++;
        int64_t value = at + 1;
        for (at++; data[at] != data[value - 1];)
            at++;
        at++;
        if (length < 5 || memcmp(data + name, "xmlns", 5) != 0 || (length > 5 && data[name + 5] != ':'))
            continue;
        int64_t prefix = length > 5 ? name + 6 : name + 5;
        px_declaration one = {name, at, prefix, (int32_t)(name + length - prefix), at - 1 == value};
        if (add_declaration(s, one) < 0)
            return -PX_MEMORY;
    }
}

static int begin(px_declarations *s, px_machine *m)
{
    static const uint8_t word[] = "xmlns";
    const px_input *in = &m->document.in;
    size_t rows = (size_t)in->rows + 1;
    s->stamp = m->stamp;
    s->text_of = -1;
    s->count = s->length = 0;
    s->has_default = 0;
    s->present = px_contains(in->data + in->start[0], (size_t)(in->end[0] - in->start[0]), word, 5);
    if (!s->present)
        return 0;
    if (px_grow(&s->first, &s->first_room, rows, sizeof *s->first) != PX_OK ||
        px_grow(&s->nearest, &s->nearest_room, rows, sizeof *s->nearest) != PX_OK)
        return -PX_MEMORY;
    for (int32_t row = 0; row < in->rows; row++) {
        s->first[row] = (int32_t)s->count;
        if (read_tag(s, in->data, in->start[row] + 1, in->content[row]) < 0)
            return -PX_MEMORY;
        int32_t parent = in->parent[row];
        s->nearest[row] = (size_t)s->first[row] < s->count ? row : parent < 0 ? -1 : s->nearest[parent];
    }
    s->first[in->rows] = (int32_t)s->count;
    return 0;
}

/* Whether a prefix is declared again further in: at one of the elements from `row` up to `above`. */
static int is_hidden(const px_declarations *s, const px_input *in, const px_declaration *one, int32_t row,
                     int32_t above)
{
    for (; row != above; row = in->parent[row])
        for (int32_t i = s->first[row]; i < s->first[row + 1]; i++)
            if (s->items[i].length == one->length &&
                memcmp(in->data + s->items[i].prefix, in->data + one->prefix, (size_t)one->length) == 0)
                return 1;
    return 0;
}

static int put(px_declarations *s, const px_input *in, const px_declaration *one)
{
    size_t length = (size_t)(one->end - one->begin);
    if (px_grow(&s->text, &s->text_room, s->length + length + 1, 1) != PX_OK)
        return -PX_MEMORY;
    s->text[s->length] = ' ';
    memcpy(s->text + s->length + 1, in->data + one->begin, length);
    s->length += length + 1;
    return 0;
}

/* Writes what is in scope at `above` and is not hidden by what is between it and `row`, or at `row`. */
static int put_inherited(px_declarations *s, px_machine *m, int32_t row, int32_t above)
{
    const px_input *in = &m->document.in;
    s->length = 0;
    s->has_default = 0;
    for (int32_t at = above; at >= 0;) {
        for (int32_t i = s->first[at]; i < s->first[at + 1]; i++) {
            const px_declaration *one = &s->items[i];
            if (--m->document.budget < 0)
                return -PX_COSTLY;
            if (is_hidden(s, in, one, row, at) || one->empty)
                continue;
            s->has_default |= one->length == 0;
            if (put(s, in, one) < 0)
                return -PX_MEMORY;
        }
        int32_t parent = in->parent[at];
        at = parent < 0 ? -1 : s->nearest[parent];
    }
    return 0;
}

int px_declare(px_declarations *s, px_machine *m, int32_t row, int *own_default)
{
    const px_input *in = &m->document.in;
    *own_default = 0;
    if (s->stamp != m->stamp) {
        int code = begin(s, m);
        if (code < 0) {
            s->stamp = 0;
            return code;
        }
    }
    if (!s->present)
        return 0;
    for (int32_t i = s->first[row]; i < s->first[row + 1]; i++)
        *own_default |= s->items[i].length == 0;
    int32_t parent = in->parent[row], above = parent < 0 ? -1 : s->nearest[parent];
    int is_plain = s->first[row] == s->first[row + 1]; /* then it has what its parent has */
    if (is_plain && above >= 0 && above == s->text_of)
        return 0;
    s->text_of = is_plain ? above : -1;
    int code = put_inherited(s, m, is_plain ? above : row, above);
    if (code < 0)
        s->text_of = -1;
    return code;
}

void px_declarations_free(px_declarations *s)
{
    free(s->items);
    free(s->first);
    free(s->nearest);
    free(s->text);
}
