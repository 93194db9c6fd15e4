#include "outputs.h"

/* -- programs */

/* Where the list of an operation stands; 0: it has none. */
static int32_t list_at(int32_t operation)
{
    switch (operation) {
    case PX_WRITE:
        return 0;
    case PX_COPY:
    case PX_STRING:
        return 3;
    case PX_SPECIFY:
    case PX_KEY:
        return 4;
    default:
        return 2;
    }
}

/* Whether the conditions of a path may have constants: in a program that has any. */
static int has_conditions(const int32_t *path)
{
    const int32_t *step = path + 1;
    for (int32_t left = path[0]; left > 0; left--, step += 3 + step[2])
        if (step[2])
            return 1;
    return 0;
}

/* The number of a path of so many words; -2: no memory. One that another with the same hash keeps from
 * having a number has none: -1. */
static int32_t path_number(px_programs *p, const int32_t *path, int32_t length)
{
    uint64_t hash = (uint64_t)length;
    size_t bytes = (size_t)length * sizeof *path;
    for (int32_t i = 0; i < length; i++)
        hash = (hash ^ (uint32_t)path[i]) * 0x100000001B3u + (hash >> 29);
    hash >>= 1; /* never UINT64_MAX */
    const uint64_t *known = px_map_get(&p->path_numbers, hash);
    if (known != NULL) {
        const int32_t *other = p->paths[*known];
        return other[0] == length && memcmp(other + 1, path, bytes) == 0 ? (int32_t)*known : -1;
    }
    int32_t *copy = malloc(bytes + sizeof *copy);
    if (copy == NULL || px_grow(&p->paths, &p->path_room, p->path_count + 1, sizeof *p->paths) != PX_OK ||
        px_map_put(&p->path_numbers, hash, p->path_count) != PX_OK) {
        free(copy);
        return -2;
    }
    copy[0] = length;
    memcpy(copy + 1, path, bytes);
    p->paths[p->path_count] = copy;
    return (int32_t)p->path_count++;
}

/* Numbers the paths whose nodes do not depend on constants. */
static int number_paths(px_programs *p, px_program *program)
{
    int32_t *end = program->words + program->count;
    for (int32_t *at = program->words; at < end; at += 2 + at[1]) {
        int32_t list = list_at(at[0]);
        if (list == 0 || (program->width && has_conditions(at + list + 2)))
            continue;
        at[list] = path_number(p, at + list + 1, 2 + at[1] - list - 1);
        if (at[list] < -1)
            return PX_MEMORY;
    }
    return PX_OK;
}

int32_t px_program_add(px_programs *p, px_registry *r, px_program program)
{
    size_t number = p->free ? p->free - 1 : p->count;
    if (number >= INT32_MAX || number_paths(p, &program) != PX_OK ||
        px_grow(&p->programs, &p->room, number + 1, sizeof *p->programs) != PX_OK)
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
    for (size_t i = 0; i < p->path_count; i++)
        free(p->paths[i]);
    px_map_free(&p->path_numbers);
    free(p->paths);
    free(p->programs);
    free(p->of_query);
}

/* -- results */

void px_outputs_free(px_outputs *o)
{
    px_declarations_free(&o->declarations);
    free(o->bytes);
    free(o->end);
    free(o->too_long);
    free(o->unit);
    free(o->query);
    free(o->text);
    free(o->bound);
    free(o->lists);
    free(o->made);
    free(o->nodes);
    free(o->keyed);
    free(o->order);
}

/* Writes the result of a program for bound nodes. */
static int write_result(px_writing *w, int32_t *bound, size_t count)
{
    const int32_t *words = w->program->words, *last = words + w->program->count;
    const int32_t *each = words + 2 + words[1], *suffix = each;
    for (const int32_t *at = each; at < last; at += 2 + at[1])
        suffix = at;
    int code = px_order_bound(w, each, suffix, bound, count);
    if (code == 0)
        code = px_write(w, words, -1);
    for (size_t i = 0; i < count && code == 0; i++)
        for (const int32_t *at = each; at < suffix && code == 0; at += 2 + at[1])
            code = px_write(w, at, bound[i]);
    return code ? code : px_write(w, suffix, -1);
}

/* Adds the text of a program for bound nodes; returns its number. */
static int32_t add_text(px_writing *w, int32_t *bound, size_t count)
{
    px_outputs *o = w->o;
    size_t n = o->texts + 1;
    if (n >= INT32_MAX || px_grow(&o->end, &o->end_room, n, sizeof *o->end) != PX_OK ||
        px_grow(&o->too_long, &o->long_room, n, sizeof *o->too_long) != PX_OK)
        return -PX_MEMORY;
    px_account_fresh(w->m, w->program->cells, (int64_t)w->program->count);
    int code = write_result(w, bound, count), too_long = code == -PX_TOO_LONG;
    if (code < 0 && !too_long)
        return code;
    if (too_long)
        o->used = w->begin;
    o->too_long[o->texts] = (int8_t)too_long;
    o->end[o->texts] = (int64_t)o->used;
    return (int32_t)o->texts++;
}

/* The text of a query's result, which an earlier one may have had. */
static int32_t text_of(px_outputs *o, const px_programs *p, px_machine *m, int32_t query)
{
    px_document *d = &m->document;
    int code = px_bound_nodes(m, query);
    size_t count = d->set_count;
    if (code != PX_OK)
        return -code;
    if (px_grow(&o->bound, &o->bound_room, count + 1, sizeof *o->bound) != PX_OK)
        return -PX_MEMORY;
    if (count)
        memcpy(o->bound, d->set, count * sizeof *o->bound);
    d->set_count = 0;
    int32_t program = p->of_query[query];
    uint64_t key = px_key(program, count == 1 ? o->bound[0] : ~px_first_owner(m->registry, query));
    px_made_text *made = &o->made[(key * 0x9E3779B97F4A7C15u) >> 32 & (PX_LISTS - 1)];
    if (made->stamp == m->stamp && made->key == key)
        return made->text;
    px_writing w = {o, m, &p->programs[program], o->used};
    int32_t text = add_text(&w, o->bound, count);
    if (text >= 0)
        *made = (px_made_text){key, m->stamp, text};
    return text;
}

static int add_row(px_outputs *o, int32_t unit, int32_t query, int32_t text)
{
    size_t n = o->count + 1;
    if (px_grow(&o->unit, &o->unit_room, n, sizeof *o->unit) != PX_OK ||
        px_grow(&o->query, &o->query_room, n, sizeof *o->query) != PX_OK ||
        px_grow(&o->text, &o->text_room, n, sizeof *o->text) != PX_OK)
        return PX_MEMORY;
    o->unit[o->count] = unit;
    o->query[o->count] = query;
    o->text[o->count++] = text;
    return PX_OK;
}

static int begin(px_outputs *o)
{
    o->node_count = 0;
    if (o->lists == NULL)
        o->lists = calloc(PX_LISTS, sizeof *o->lists);
    if (o->made == NULL)
        o->made = calloc(PX_LISTS, sizeof *o->made);
    return o->lists != NULL && o->made != NULL ? PX_OK : PX_MEMORY;
}

int px_write_outputs(px_outputs *o, const px_programs *p, px_machine *m, size_t first, int32_t unit)
{
    px_results *results = &m->results;
    size_t count = o->count, texts = o->texts, used = o->used;
    int code = begin(o);
    for (size_t row = first; row < results->count && code == PX_OK; row++) {
        int32_t query = results->query[row];
        if ((size_t)query >= p->query_room || p->of_query[query] < 0)
            continue;
        int32_t text = text_of(o, p, m, query);
        code = text < 0 ? -text : add_row(o, unit, query, text);
    }
    results->count = first;
    if (code != PX_OK) {
        o->count = count;
        o->texts = texts;
        o->used = used;
    }
    return code;
}
