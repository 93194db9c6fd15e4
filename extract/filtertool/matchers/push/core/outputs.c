#include "outputs.h"

#include <stdio.h>

/* -- programs */

int32_t px_program_add(px_programs *p, px_registry *r, px_program program)
{
    size_t number = p->free ? p->free - 1 : p->count;
    if (number >= INT32_MAX || px_grow(&p->programs, &p->room, number + 1, sizeof *p->programs) != PX_OK)
        return -1;
    if (p->free)
        p->free = p->programs[number].uses;
    else
        p->count++;
    p->programs[number] = program;
    r->with_texts += program.texts;
    return (int32_t)number;
}

static void program_drop(px_program *program, px_registry *r)
{
    for (size_t i = 0; r != NULL && i < program->width; i++)
        if (program->strings[i])
            px_strings_release(&r->strings, program->cells[i].string);
    if (r != NULL)
        r->with_texts -= program->texts;
    free(program->words);
    free(program->text);
    free(program->cells);
    free(program->strings);
    memset(program, 0, sizeof *program);
}

int px_program_assign(px_programs *p, px_registry *r, int32_t query, int32_t program)
{
    size_t before = p->query_room;
    if (px_grow(&p->of_query, &p->query_room, (size_t)query + 1, sizeof *p->of_query) != PX_OK)
        return PX_MEMORY;
    memset(p->of_query + before, 255, (p->query_room - before) * sizeof *p->of_query);
    int32_t old = p->of_query[query];
    if (program >= 0)
        p->programs[program].uses++;
    p->of_query[query] = program;
    if (old >= 0 && --p->programs[old].uses == 0) {
        program_drop(&p->programs[old], r);
        p->programs[old].uses = p->free;
        p->free = (size_t)old + 1;
    }
    return PX_OK;
}

void px_programs_free(px_programs *p)
{
    for (size_t i = 0; i < p->count; i++)
        program_drop(&p->programs[i], NULL); /* the registry goes, too */
    free(p->programs);
    free(p->of_query);
}

void px_outputs_free(px_outputs *o)
{
    free(o->bytes);
    free(o->unit);
    free(o->query);
    free(o->end);
    free(o->too_long);
}

/* -- writing */

typedef struct {
    px_outputs *o;
    px_machine *m;
    const px_program *program;
    size_t begin; /* of the result */
} writing;

enum { TOO_LONG = 3 }; /* beside PX_OK, PX_MEMORY, PX_COSTLY */

static int put(writing *w, const void *bytes, size_t length)
{
    px_outputs *o = w->o;
    if (o->used - w->begin + length > o->most)
        return -TOO_LONG;
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

static int put_value(writing *w, int32_t node, int in_attribute)
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

static int copy_node(writing *w, int32_t node)
{
    const px_input *in = &w->m->document.in;
    if (node < in->rows)
        return put(w, in->data + in->start[node], (size_t)(in->end[node] - in->start[node]));
    return node < in->rows + in->attributes ? 0 : put_value(w, node, 0);
}

static int by_place(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Selects nodes into the document's set, in document order. */
static int select_in_order(writing *w, const int32_t *located, int32_t node)
{
    px_document *d = &w->m->document;
    size_t begin = d->set_count;
    int code = px_select(&w->m->context, located + 1, located[0] ? -1 : node);
    size_t count = d->set_count - begin;
    if (code < 0 || count < 2 || d->set[d->set_count - 1] < d->in.rows)
        return code; /* elements are numbered in order */
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

static int put_nodes(writing *w, const int32_t *located, int32_t node, int in_attribute)
{
    px_document *d = &w->m->document;
    size_t begin = d->set_count;
    int code = select_in_order(w, located, node);
    for (size_t i = begin; i < d->set_count && code == 0; i++) {
        if (!in_attribute) {
            code = copy_node(w, d->set[i]);
            continue;
        }
        if (i > begin)
            code = put(w, " ", 1);
        if (code == 0)
            code = put_value(w, d->set[i], 1);
    }
    d->set_count = begin;
    return code;
}

static int put_first(writing *w, const int32_t *located, int32_t node, int in_attribute)
{
    px_document *d = &w->m->document;
    size_t begin = d->set_count;
    int code = select_in_order(w, located, node);
    if (code == 0 && d->set_count > begin)
        code = put_value(w, d->set[begin], in_attribute);
    d->set_count = begin;
    return code;
}

static int put_count(writing *w, const int32_t *located, int32_t node)
{
    px_document *d = &w->m->document;
    size_t begin = d->set_count;
    char digits[24];
    int code = px_select(&w->m->context, located + 1, located[0] ? -1 : node);
    int length = snprintf(digits, sizeof digits, "%zu", d->set_count - begin);
    d->set_count = begin;
    return code < 0 ? code : put(w, digits, (size_t)length);
}

static int put_attribute(writing *w, const int32_t *operands, int32_t node)
{
    px_document *d = &w->m->document;
    size_t begin = d->set_count;
    int code = px_select(&w->m->context, operands + 3, operands[2] ? -1 : node);
    if (code == 0 && d->set_count > begin) {
        code = put(w, " ", 1);
        if (code == 0)
            code = put(w, w->program->text + operands[0], (size_t)operands[1]);
        if (code == 0)
            code = put(w, "=\"", 2);
        if (code == 0)
            code = put_value(w, d->set[begin], 1);
        if (code == 0)
            code = put(w, "\"", 1);
    }
    d->set_count = begin;
    return code;
}

static int run(writing *w, const int32_t *at, int32_t node)
{
    switch (at[0]) {
    case PX_WRITE:
        return put(w, w->program->text + at[2], (size_t)at[3]);
    case PX_COPY:
        return put_nodes(w, at + 2, node, 0);
    case PX_VALUES:
        return put_nodes(w, at + 2, node, 1);
    case PX_STRING:
        return put_first(w, at + 3, node, at[2]);
    case PX_NUMBER:
        return put_count(w, at + 2, node);
    default:
        return put_attribute(w, at + 2, node);
    }
}

/* The node of a row of results. */
static int32_t node_of(const px_machine *m, size_t row)
{
    const px_document *d = &m->document;
    int64_t value = m->results.value[row];
    int32_t element = (int32_t)(value & 0xFFFFFFFF), number = m->results.number[row], node;
    switch (value >> 32) {
    case PX_IS_ATTRIBUTE:
        node = d->attribute_first[element];
        while (d->in.attribute_number[node] != number)
            node++;
        return d->in.rows + node;
    case PX_IS_TEXT:
        node = d->text_first[element];
        while (d->texts[node].number != number)
            node++;
        return d->in.rows + d->in.attributes + node;
    default:
        return element;
    }
}

/* Writes the result of one query, for rows of results. */
static int write_result(writing *w, size_t row, size_t end)
{
    const int32_t *words = w->program->words, *last = words + w->program->count;
    const int32_t *each = words + 2 + words[1], *suffix = each;
    for (const int32_t *at = each; at < last; at += 2 + at[1])
        suffix = at;
    int code = run(w, words, -1);
    for (; row < end && code == 0; row++) {
        int32_t node = node_of(w->m, row);
        for (const int32_t *at = each; at < suffix && code == 0; at += 2 + at[1])
            code = run(w, at, node);
    }
    return code ? code : run(w, suffix, -1);
}

static int add_output(px_outputs *o, int32_t unit, int32_t query, int too_long)
{
    size_t n = o->count + 1;
    if (px_grow(&o->unit, &o->unit_room, n, sizeof *o->unit) != PX_OK ||
        px_grow(&o->query, &o->query_room, n, sizeof *o->query) != PX_OK ||
        px_grow(&o->end, &o->end_room, n, sizeof *o->end) != PX_OK ||
        px_grow(&o->too_long, &o->long_room, n, sizeof *o->too_long) != PX_OK)
        return PX_MEMORY;
    o->unit[o->count] = unit;
    o->query[o->count] = query;
    o->too_long[o->count] = (int8_t)too_long;
    o->end[o->count++] = (int64_t)o->used;
    return PX_OK;
}

static int has_namespaces(const px_input *in)
{
    static const uint8_t word[] = "xmlns";
    return px_contains(in->data + in->start[0], (size_t)(in->end[0] - in->start[0]), word, sizeof word - 1);
}

int px_write_outputs(px_outputs *o, const px_programs *p, px_machine *m, size_t first)
{
    px_results *results = &m->results;
    size_t kept = first, count = o->count, used = o->used, end;
    int code = PX_OK;
    for (size_t row = first; row < results->count && code == PX_OK; row = end) {
        int32_t query = results->query[row];
        for (end = row + 1; end < results->count && results->query[end] == query;)
            end++;
        int32_t program = (size_t)query < p->query_room ? p->of_query[query] : -1;
        if (program < 0) {
            memmove(results->unit + kept, results->unit + row, (end - row) * sizeof *results->unit);
            memmove(results->query + kept, results->query + row, (end - row) * sizeof *results->query);
            memmove(results->value + kept, results->value + row, (end - row) * sizeof *results->value);
            memmove(results->number + kept, results->number + row, (end - row) * sizeof *results->number);
            kept += end - row;
            continue;
        }
        if (o->count == count && has_namespaces(&m->document.in)) {
            code = PX_COSTLY;
            break;
        }
        writing w = {o, m, &p->programs[program], o->used};
        m->context.cells = w.program->cells;
        code = -write_result(&w, row, end);
        int too_long = code == TOO_LONG;
        if (too_long)
            o->used = w.begin;
        if (code == PX_OK || too_long)
            code = add_output(o, results->unit[row], query, too_long);
    }
    if (code != PX_OK) {
        o->count = count;
        o->used = used;
        return code;
    }
    results->count = kept;
    return PX_OK;
}
