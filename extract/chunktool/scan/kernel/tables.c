#include "tables.h"

#include <stdlib.h>

int ct_grow_more(void *array_of_pointer, size_t *room, size_t n, size_t size)
{
    void *array; /* copied in and out, because a pointer of another type does not alias `void *` */
    memcpy(&array, array_of_pointer, sizeof array);
    size_t more = *room ? *room : 16;
    while (more < n)
        more *= 2;
    if (more > SIZE_MAX / size)
        return -1;
    void *moved = realloc(array, more * size);
    if (moved == NULL)
        return -1;
    memcpy(array_of_pointer, &moved, sizeof moved);
    *room = more;
    return 0;
}

static int map_size(ct_map *map, size_t slots)
{
    ct_pair *fresh = malloc(slots * sizeof *fresh);
    if (fresh == NULL)
        return -1;
    for (size_t i = 0; i < slots; i++)
        fresh[i].key = UINT64_MAX;
    for (size_t i = 0; map->slots != NULL && i <= map->mask; i++) {
        if (map->slots[i].key == UINT64_MAX)
            continue;
        size_t j = ct_map_slot(map->slots[i].key, slots - 1);
        while (fresh[j].key != UINT64_MAX)
            j = (j + 1) & (slots - 1);
        fresh[j] = map->slots[i];
    }
    free(map->slots);
    map->slots = fresh;
    map->mask = slots - 1;
    return 0;
}

int ct_map_init(ct_map *map) { return map_size(map, 64); }

int ct_map_put(ct_map *map, uint64_t key, int32_t first, int32_t second)
{
    /* At most half full, so that failing look-ups end soon. */
    if ((map->count + 1) * 2 > map->mask + 1 && map_size(map, (map->mask + 1) * 2) < 0)
        return -1;
    size_t i = ct_map_slot(key, map->mask);
    while (map->slots[i].key != UINT64_MAX && map->slots[i].key != key)
        i = (i + 1) & map->mask;
    if (map->slots[i].key == UINT64_MAX)
        map->count++;
    map->slots[i] = (ct_pair){key, first, second};
    return 0;
}

static int names_init(ct_names *names, uint64_t seed, size_t most)
{
    names->seed = seed;
    names->most = most;
    names->mask = 255;
    names->slots = calloc(names->mask + 1, sizeof *names->slots);
    return names->slots == NULL ? -1 : 0;
}

static void names_free(ct_names *names)
{
    free(names->items);
    free(names->slots);
    free(names->bytes);
}

static uint64_t hash_of(const ct_names *names, ct_bytes p, size_t length)
{
    /* Up to 16 bytes this is the hash of `ct_intern`. */
    uint64_t half[2] = {0, 0};
    memcpy(half, p, length < 16 ? length : 16);
    uint64_t hash = ct_mix(half[0], half[1], names->seed);
    for (size_t i = 16; i < length; i += 8) {
        uint64_t next = 0;
        memcpy(&next, p + i, length - i < 8 ? length - i : 8);
        hash = ct_mix(hash, next, names->seed);
    }
    return hash;
}

static int rehash(ct_names *names)
{
    size_t slots = (names->mask + 1) * 2;
    uint32_t *fresh = calloc(slots, sizeof *fresh);
    if (fresh == NULL)
        return -1;
    for (size_t n = 0; n < names->count; n++) {
        size_t i = names->items[n].hash & (slots - 1);
        while (fresh[i])
            i = (i + 1) & (slots - 1);
        fresh[i] = (uint32_t)n + 1;
    }
    free(names->slots);
    names->slots = fresh;
    names->mask = slots - 1;
    return 0;
}

static uint32_t kind_of(ct_bytes p, size_t length)
{
    if (length >= 5 && memcmp(p, "xmlns", 5) == 0 && (length == 5 || p[5] == ':'))
        return CT_XMLNS;
    if (length == 6 && memcmp(p, "xml:id", 6) == 0)
        return CT_XML_ID;
    if (length >= 4 && memcmp(p, "xml:", 4) == 0)
        return CT_XML_PREFIX;
    return CT_PLAIN;
}

int32_t ct_intern_slow(ct_names *names, ct_bytes p, size_t length, int is_name)
{
    uint64_t hash = hash_of(names, p, length);
    size_t i = hash & names->mask;
    for (; names->slots[i]; i = (i + 1) & names->mask) {
        const ct_name *name = &names->items[names->slots[i] - 1];
        if (name->hash == hash && name->length == length &&
            memcmp(names->bytes + name->offset, p, length) == 0)
            return (int32_t)(names->slots[i] - 1);
    }
    int colon = is_name ? ct_name_shape(p, length) : CT_NO_COLON;
    if (colon == CT_BAD_NAME)
        return CT_UNKNOWN;
    if (names->count >= names->most || names->used + length > (size_t)64 << 20)
        return CT_TOO_MANY;
    if (ct_grow(&names->items, &names->room, names->count + 1, sizeof *names->items) < 0 ||
        ct_grow(&names->bytes, &names->size, names->used + length, 1) < 0)
        return CT_NO_MEMORY;
    if ((names->count + 1) * 2 > names->mask + 1) {
        if (rehash(names) < 0)
            return CT_NO_MEMORY;
        for (i = hash & names->mask; names->slots[i]; i = (i + 1) & names->mask)
            ;
    }
    ct_name *name = &names->items[names->count];
    memset(name, 0, sizeof *name);
    memcpy(name->head, p, length < sizeof name->head ? length : sizeof name->head);
    name->hash = hash;
    name->offset = (uint32_t)names->used;
    name->length = (uint32_t)length;
    name->colon = colon;
    name->kind = kind_of(p, length);
    name->context = name->attribute_context = CT_UNKNOWN;
    memcpy(names->bytes + names->used, p, length);
    names->used += length;
    names->slots[i] = (uint32_t)++names->count;
    return (int32_t)names->count - 1;
}

ct_tables *ct_tables_new(uint64_t seed, size_t most_names)
{
    ct_tables *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    if (names_init(&t->names, seed, most_names) < 0 ||
        names_init(&t->declarations, seed, most_names) < 0 || ct_map_init(&t->elements) < 0 ||
        ct_map_init(&t->attributes) < 0 || ct_map_init(&t->contexts) < 0 ||
        ct_map_init(&t->steps) < 0 || ct_map_init(&t->allowed) < 0) {
        ct_tables_free(t);
        return NULL;
    }
    return t;
}

void ct_tables_free(ct_tables *t)
{
    if (t == NULL)
        return;
    names_free(&t->names);
    names_free(&t->declarations);
    free(t->elements.slots);
    free(t->attributes.slots);
    free(t->contexts.slots);
    free(t->steps.slots);
    free(t->allowed.slots);
    free(t->states);
    free(t->lists);
    free(t->cells);
    free(t);
}

static uint32_t add_list(ct_tables *t, const int32_t *numbers, size_t count)
{
    if (count)
        memcpy(t->lists + t->list_count, numbers, count * sizeof *numbers);
    t->list_count += count;
    return (uint32_t)(t->list_count - count);
}

int ct_tables_put_state(ct_tables *t, int32_t state, int inside, int skip, const int32_t *subtree,
                        size_t subtrees, const int32_t *tag, size_t tags, const int32_t *content,
                        size_t contents)
{
    size_t before = t->state_room;
    if (ct_grow(&t->states, &t->state_room, (size_t)state + 1, sizeof *t->states) < 0 ||
        ct_grow(&t->lists, &t->list_room, t->list_count + subtrees + tags + contents + 1,
                sizeof *t->lists) < 0)
        return -1;
    if (t->state_room > before)
        memset(t->states + before, 0, (t->state_room - before) * sizeof *t->states);
    ct_state *s = &t->states[state];
    s->inside = inside;
    s->skip = skip;
    s->subtree = add_list(t, subtree, subtrees);
    s->subtrees = (uint32_t)subtrees;
    s->tag = add_list(t, tag, tags);
    s->tags = (uint32_t)tags;
    s->content = add_list(t, content, contents);
    s->contents = (uint32_t)contents;
    s->known = 1;
    return 0;
}

int ct_tables_cells(ct_tables *t, size_t expanded_names)
{
    size_t before = t->cell_count;
    if (ct_grow(&t->cells, &t->cell_count, expanded_names, sizeof *t->cells) < 0)
        return -1;
    if (t->cell_count > before)
        memset(t->cells + before, 0, (t->cell_count - before) * sizeof *t->cells);
    return 0;
}
