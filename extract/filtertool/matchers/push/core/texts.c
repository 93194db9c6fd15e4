#include "push.h"

#include "number.h"

#include <float.h>
#include <limits.h>
#include <stdio.h>

/* Expressions whose value is a string. What they make is on a stack of bytes, which a condition
 * leaves as it found it; the bytes may move while the stack grows, so they are known by offset. */

typedef struct {
    px_bytes at; /* NULL: on the stack, at `offset` */
    size_t offset, length;
} text;

static px_bytes bytes_of(const px_document *d, const text *t)
{
    return t->at != NULL ? t->at : d->made + t->offset;
}

static int reserve(px_document *d, size_t more)
{
    return px_grow(&d->made, &d->made_room, d->made_count + more + 1, 1) == PX_OK ? 0 : -PX_MEMORY;
}

static int is_space(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

static int normalise(px_document *d, text *t)
{
    int code = reserve(d, t->length);
    if (code < 0)
        return code;
    px_bytes from = bytes_of(d, t);
    uint8_t *to = d->made + d->made_count;
    size_t length = 0;
    for (size_t i = 0; i < t->length; i++) {
        if (!is_space(from[i]))
            to[length++] = from[i];
        else if (length > 0 && to[length - 1] != ' ')
            to[length++] = ' ';
    }
    if (length > 0 && to[length - 1] == ' ')
        length--;
    *t = (text){NULL, d->made_count, length};
    d->made_count += length;
    return 0;
}

static int evaluate(px_context *c, const int32_t *expression, int32_t node, text *t);

/* Each part is put behind the others, where it may have been made. */
static int concatenate(px_context *c, const int32_t *at, const int32_t *end, int32_t node, text *t)
{
    px_document *d = c->document;
    *t = (text){NULL, d->made_count, 0};
    for (; at < end; at += 2 + at[1]) {
        text part;
        int code = evaluate(c, at, node, &part);
        if (code == 0)
            code = reserve(d, part.length);
        if (code < 0)
            return code;
        if (part.length)
            memmove(d->made + t->offset + t->length, bytes_of(d, &part), part.length);
        t->length += part.length;
        d->made_count = t->offset + t->length;
    }
    return reserve(d, 0);
}

/* The part of a text before or behind the first place of another; empty if it has no such place. */
static int divide(px_context *c, int behind, const int32_t *at, int32_t node, text *t)
{
    text mark;
    int code = evaluate(c, at, node, t);
    if (code == 0)
        code = evaluate(c, at + 2 + at[1], node, &mark);
    if (code < 0)
        return code;
    px_bytes bytes = bytes_of(c->document, t), wanted = bytes_of(c->document, &mark);
    size_t place = 0;
    while (place + mark.length <= t->length && memcmp(bytes + place, wanted, mark.length) != 0)
        place++;
    size_t begin = behind ? place + mark.length : 0, end = behind ? t->length : place;
    if (place + mark.length > t->length)
        begin = end = 0;
    *t = (text){t->at == NULL ? NULL : t->at + begin, t->offset + begin, end - begin};
    return 0;
}

static size_t character_size(uint8_t first)
{
    return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* Copies a text; each character that is in `source` becomes the one at its place in `target`, or
 * none. */
static int translate(px_context *c, const int32_t *at, int32_t node, text *t)
{
    px_document *d = c->document;
    text source, target;
    int code = evaluate(c, at, node, t);
    at += 2 + at[1];
    if (code == 0)
        code = evaluate(c, at, node, &source);
    at += 2 + at[1];
    if (code == 0)
        code = evaluate(c, at, node, &target);
    if (code == 0)
        code = px_charge_bytes(c, t->length * source.length);
    if (code == 0)
        code = reserve(d, t->length * 4); /* a character may become a longer one */
    if (code < 0)
        return code;
    px_bytes from = bytes_of(d, t), what = bytes_of(d, &source), with = bytes_of(d, &target);
    uint8_t *to = d->made + d->made_count;
    size_t length = 0, size;
    for (size_t i = 0; i < t->length; i += size) {
        size_t at_source = 0, at_target = 0;
        size = character_size(from[i]);
        while (at_source < source.length &&
               (character_size(what[at_source]) != size || memcmp(what + at_source, from + i, size) != 0)) {
            at_source += character_size(what[at_source]);
            at_target += at_target < target.length ? character_size(with[at_target]) : 0;
        }
        int is_there = at_source < source.length;
        px_bytes new = is_there ? with + at_target : from + i;
        size_t bytes = !is_there ? size : at_target < target.length ? character_size(*new) : 0;
        memcpy(to + length, new, bytes);
        length += bytes;
    }
    *t = (text){NULL, d->made_count, length};
    d->made_count += length;
    return 0;
}

static double rounded(double number)
{
    double down = floor(number);
    return number - down >= 0.5 ? down + 1.0 : down;
}

/* The characters of a text from one number to another, as libxml2 rounds and limits them. */
static int take_part(px_context *c, const int32_t *at, const int32_t *end, int32_t node, text *t)
{
    double start = 0, count = 0;
    int code = evaluate(c, at, node, t), first = 1, behind = INT_MAX;
    at += 2 + at[1];
    if (code == 0)
        code = px_number(c, at, node, &start);
    at += 2 + at[1];
    if (code == 0 && at < end)
        code = px_number(c, at, node, &count);
    if (code < 0)
        return code;
    if (!(start < INT_MAX)) /* or NaN */
        first = INT_MAX;
    else if (start >= 1.0)
        first = (int)rounded(start);
    if (at < end) {
        double stop = rounded(start) + rounded(count);
        if (!(stop >= 1.0))
            behind = 1;
        else if (stop < INT_MAX)
            behind = (int)stop;
    }
    px_bytes bytes = bytes_of(c->document, t);
    size_t from = 0, to = 0;
    int number = 1;
    for (; from < t->length && number < first; number++)
        from += character_size(bytes[from]);
    for (to = from; to < t->length && number < behind; number++)
        to += character_size(bytes[to]);
    *t = (text){t->at == NULL ? NULL : t->at + from, t->offset + from, to - from};
    return 0;
}

/* The name of a node, or what is behind its prefix. */
static text name_of(const px_document *d, int32_t node, int is_local)
{
    size_t length = 0;
    px_bytes name = node < 0 ? NULL : px_name_of(d, node, &length);
    px_bytes colon = length > 0 && is_local && node < d->text_end ? memchr(name, ':', length) : NULL;
    if (colon != NULL) {
        length -= (size_t)(colon + 1 - name);
        name = colon + 1;
    }
    return (text){name == NULL ? (px_bytes) "" : name, 0, length};
}

static void without_zeros(char *digits)
{
    size_t length = strlen(digits);
    while (length > 0 && digits[length - 1] == '0')
        digits[--length] = 0;
    if (length > 0 && (digits[length - 1] < '0' || digits[length - 1] > '9'))
        digits[length - 1] = 0;
}

/* As `to_text` of `...columnar.numbers`. */
void px_write_number(double number, char out[PX_NUMBER_BYTES])
{
    double size = fabs(number);
    if (isnan(number)) {
        strcpy(out, "NaN");
    } else if (isinf(number)) {
        strcpy(out, number > 0 ? "Infinity" : "-Infinity");
    } else if (number == 0) {
        strcpy(out, "0");
    } else if (number > INT_MIN && number < INT_MAX && number == (int)number) {
        snprintf(out, PX_NUMBER_BYTES, "%d", (int)number);
    } else if (size > 1e9 || size < 1e-5) {
        char exponent[8];
        snprintf(out, PX_NUMBER_BYTES, "%.*e", DBL_DIG - 1, number);
        char *e = strchr(out, 'e');
        snprintf(exponent, sizeof exponent, "%s", e);
        *e = 0;
        without_zeros(out);
        strcat(out, exponent);
    } else {
        int place = (int)log10(size);
        snprintf(out, PX_NUMBER_BYTES, "%.*f", DBL_DIG - place - (place > 0), number);
        without_zeros(out);
    }
    for (char *at = out; *at; at++) /* the decimal point may be that of a language */
        if (*at == ',')
            *at = '.';
}

static int put_text(px_document *d, const char *bytes, text *t)
{
    size_t length = strlen(bytes);
    int code = reserve(d, length);
    if (code < 0)
        return code;
    memcpy(d->made + d->made_count, bytes, length);
    *t = (text){NULL, d->made_count, length};
    d->made_count += length;
    return 0;
}

static int write_value(px_context *c, const int32_t *expression, int32_t node, text *t)
{
    char digits[PX_NUMBER_BYTES];
    double number;
    int code;
    if (expression[0] == PX_TEXT_NUMBER) {
        code = px_number(c, expression + 2, node, &number);
        if (code == 0)
            px_write_number(number, digits);
    } else {
        code = px_holds(c, expression + 2, node);
        strcpy(digits, code > 0 ? "true" : "false");
    }
    return code < 0 ? code : put_text(c->document, digits, t);
}

static int make(px_context *c, const int32_t *expression, int32_t node, text *t)
{
    const int32_t *at = expression + 2, *end = at + expression[1];
    const px_value *value = NULL;
    int32_t first = node;
    int code = 0;
    switch (expression[0]) {
    case PX_TEXT_LITERAL:
        *t = (text){(px_bytes)(at + 1), 0, (size_t)at[0]};
        return 0;
    case PX_TEXT_CELL: {
        const px_string *constant = &c->registry->strings.items[c->cells[at[0]].string];
        *t = (text){constant->length ? px_string_bytes(constant) : (px_bytes) "", 0, constant->length};
        return 0;
    }
    case PX_TEXT_VALUE:
        if (at[1] != 0)
            code = px_first_of(c, at + 1, at[0] ? -1 : node, &first);
        if (code < 0)
            return code;
        if (first >= 0 && (value = px_value_of(c->document, first)) == NULL)
            return -PX_MEMORY;
        *t = value == NULL || value->length == 0 ? (text){(px_bytes) "", 0, 0}
                                                 : (text){value->at, 0, value->length};
        return 0;
    case PX_TEXT_NAME:
        if (at[2] != 0)
            code = px_first_of(c, at + 2, at[1] ? -1 : node, &first);
        if (code == 0)
            *t = name_of(c->document, first, at[0]);
        return code;
    case PX_TEXT_NAMESPACE:
        if (at[1] != 0)
            code = px_first_of(c, at + 1, at[0] ? -1 : node, &first);
        if (code == 0)
            code = px_namespace_of(c->document, first, &t->at, &t->length);
        return code;
    case PX_TEXT_NUMBER:
    case PX_TEXT_TRUTH:
        return write_value(c, expression, node, t);
    case PX_TEXT_NORMAL:
        code = evaluate(c, at, node, t);
        return code < 0 ? code : normalise(c->document, t);
    case PX_TEXT_TRANSLATED:
        return translate(c, at, node, t);
    case PX_TEXT_PART:
        return take_part(c, at, end, node, t);
    case PX_TEXT_BEFORE:
    case PX_TEXT_AFTER:
        return divide(c, expression[0] == PX_TEXT_AFTER, at, node, t);
    default:
        return concatenate(c, at, end, node, t);
    }
}

static int evaluate(px_context *c, const int32_t *expression, int32_t node, text *t)
{
    int code = make(c, expression, node, t);
    return code < 0 ? code : px_charge_bytes(c, t->length);
}

static int compare(px_context *c, const int32_t *operands, int32_t node)
{
    text left, right;
    int code = evaluate(c, operands + 1, node, &left);
    if (code == 0)
        code = evaluate(c, operands + 1 + 2 + operands[2], node, &right);
    if (code < 0)
        return code;
    return px_texts_test(bytes_of(c->document, &left), left.length, operands[0], bytes_of(c->document, &right),
                         right.length);
}

int px_text_number(px_context *c, const int32_t *expression, int32_t node, int length, double *number)
{
    size_t begin = c->document->made_count;
    text it;
    int code = evaluate(c, expression, node, &it);
    if (code == 0) {
        px_bytes bytes = bytes_of(c->document, &it);
        size_t characters = 0;
        for (size_t i = 0; length && i < it.length; i++)
            characters += (bytes[i] & 0xC0) != 0x80;
        *number = length ? (double)characters : number_of(bytes, it.length);
    }
    c->document->made_count = begin;
    return code;
}

int px_text_bytes(px_context *c, const int32_t *expression, int32_t node, px_bytes *at, size_t *length)
{
    size_t begin = c->document->made_count;
    text it;
    int code = evaluate(c, expression, node, &it);
    if (code == 0) {
        *at = bytes_of(c->document, &it);
        *length = it.length;
    }
    c->document->made_count = begin;
    return code;
}

typedef struct {
    int operator_;
    text text;
} comparison;

static int value_passes(px_context *c, void *context, int32_t node)
{
    const comparison *with = context;
    const px_value *value = px_value_of(c->document, node);
    if (value == NULL)
        return -PX_MEMORY;
    if (px_charge_bytes(c, value->length) < 0)
        return -PX_COSTLY;
    return px_texts_test(value->at, value->length, with->operator_, bytes_of(c->document, &with->text),
                         with->text.length);
}

/* Whether the value of one of the nodes of a path compares with a text. */
static int compare_nodes(px_context *c, const int32_t *operands, int32_t node)
{
    comparison with = {operands[0], {NULL, 0, 0}};
    const int32_t *path = operands + 3 + operands[2];
    int code = evaluate(c, operands + 1, node, &with.text);
    return code < 0 ? code : px_visit_path(c, path + 1, path[0] ? -1 : node, value_passes, &with);
}

static int measure(px_context *c, const int32_t *operands, int32_t node)
{
    double characters = 0;
    int code = px_text_number(c, operands + 2, node, 1, &characters);
    return code < 0 ? code : px_compare(characters, operands[0], c->cells[operands[1]].number);
}

int px_texts_hold(px_context *c, const int32_t *condition, int32_t node)
{
    size_t begin = c->document->made_count;
    int code = 1;
    if (condition[0] == PX_TEXTS)
        code = compare(c, condition + 2, node);
    else if (condition[0] == PX_LENGTH)
        code = measure(c, condition + 2, node);
    else if (condition[0] == PX_COMPARE_TEXT)
        code = compare_nodes(c, condition + 2, node);
    c->document->made_count = begin;
    return code;
}
