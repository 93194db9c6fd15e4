#if defined(__linux__)
#define _GNU_SOURCE /* for madvise */
#include <sys/mman.h>
#endif

#include "memory.h"

void px_large_pages(void *array, size_t bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    enum { LARGE = 2 << 20 };
    uintptr_t first = ((uintptr_t)array + LARGE - 1) / LARGE * LARGE, end = ((uintptr_t)array + bytes) / LARGE * LARGE;
    if (bytes >= LARGE && array != NULL && first < end)
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE); /* without them it only takes longer */
#else
    (void)array;
    (void)bytes;
#endif
}

int px_grow_more(void *array_of_pointer, size_t *room, size_t n, size_t size)
{
    void *array; /* copied in and out, because a pointer of another type does not alias `void *` */
    memcpy(&array, array_of_pointer, sizeof array);
    size_t more = *room ? *room + *room / 2 : 4;
    if (more < n)
        more = n;
    if (more > SIZE_MAX / size / 2)
        return PX_MEMORY;
    void *moved = realloc(array, more * size);
    if (moved == NULL)
        return PX_MEMORY;
    px_large_pages(moved, more * size);
    memcpy(array_of_pointer, &moved, sizeof moved);
    *room = more;
    return PX_OK;
}

static int map_size(px_map *map, size_t slots)
{
    px_entry *fresh = malloc(slots * sizeof *fresh), *old = map->slots;
    size_t before = old == NULL ? 0 : map->mask + 1;
    if (fresh == NULL)
        return PX_MEMORY;
    px_large_pages(fresh, slots * sizeof *fresh);
    for (size_t i = 0; i < slots; i++)
        fresh[i].key = UINT64_MAX;
    map->slots = fresh;
    map->mask = slots - 1;
    for (size_t i = 0; i < before; i++) {
        if (old[i].key == UINT64_MAX)
            continue;
        size_t j = px_map_place(map, old[i].key);
        while (fresh[j].key != UINT64_MAX)
            j = (j + 1) & map->mask;
        fresh[j] = old[i];
    }
    free(old);
    return PX_OK;
}

int px_map_put(px_map *map, uint64_t key, uint64_t value)
{
    /* At most half full, so that failing look-ups end soon. */
    if ((map->slots == NULL || (map->count + 1) * 2 > map->mask + 1) &&
        map_size(map, map->slots == NULL ? 16 : (map->mask + 1) * 2) != PX_OK)
        return PX_MEMORY;
    size_t i = px_map_place(map, key);
    while (map->slots[i].key != UINT64_MAX && map->slots[i].key != key)
        i = (i + 1) & map->mask;
    map->count += map->slots[i].key == UINT64_MAX;
    map->slots[i] = (px_entry){key, value};
    return PX_OK;
}

void px_map_remove(px_map *map, uint64_t key)
{
    if (map->slots == NULL)
        return;
    size_t i = px_map_place(map, key), j;
    while (map->slots[i].key != key) {
        if (map->slots[i].key == UINT64_MAX)
            return;
        i = (i + 1) & map->mask;
    }
    map->count--;
    /* Entries behind it move up, so that no search ends before its key. */
    for (j = (i + 1) & map->mask; map->slots[j].key != UINT64_MAX; j = (j + 1) & map->mask) {
        size_t home = px_map_place(map, map->slots[j].key);
        if (((j - home) & map->mask) >= ((j - i) & map->mask)) {
            map->slots[i] = map->slots[j];
            i = j;
        }
    }
    map->slots[i].key = UINT64_MAX;
    /* A map that was large does not stay so. Without memory it stays as it is. */
    if (map->mask >= 64 && map->count * 8 < map->mask)
        (void)map_size(map, (map->mask + 1) / 2);
}

void px_map_free(px_map *map)
{
    free(map->slots);
    map->slots = NULL;
    map->mask = map->count = 0;
}
