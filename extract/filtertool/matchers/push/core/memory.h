/* Growing arrays, and a map from numbers to numbers. */
#ifndef EXTRACT_PUSH_MEMORY_H
#define EXTRACT_PUSH_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define PX_LIKELY(x) __builtin_expect(!!(x), 1)
#define PX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PX_PREFETCH(p) __builtin_prefetch(p)
#else
#define PX_LIKELY(x) (x)
#define PX_UNLIKELY(x) (x)
#define PX_PREFETCH(p) ((void)0)
#endif

/* The hottest loops are about single bits. They are compiled twice, and the loader takes the one for the
 * processor at hand: one that has instructions for bits (since 2013) needs a twentieth less time. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define PX_TUNED __attribute__((target_clones("default", "arch=x86-64-v3")))
#define PX_IN_TUNED static inline __attribute__((always_inline)) /* a part of these loops */
#else
#define PX_TUNED
#define PX_IN_TUNED static inline
#endif

/* Results of most functions. */
enum { PX_OK, PX_MEMORY, PX_COSTLY };

/* Asks for large pages for an array that was just allocated, if it is large: tables of very many
 * queries are read here and there, and with small pages each read waits for the page's address, too. */
void px_large_pages(void *array, size_t bytes);

/* Makes room for `n` items of `size` bytes; the array may move. PX_MEMORY: it stays as it is. */
int px_grow_more(void *array_of_pointer, size_t *room, size_t n, size_t size);

static inline int px_grow(void *array_of_pointer, size_t *room, size_t n, size_t size)
{
    return PX_LIKELY(n <= *room) ? PX_OK : px_grow_more(array_of_pointer, room, n, size);
}

/* A hash map from 64-bit keys, which are never UINT64_MAX, to 64-bit values. Keys that others
 * choose (the bits of their numbers) are mixed with a secret. */
typedef struct {
    uint64_t key, value;
} px_entry;

typedef struct {
    px_entry *slots;
    size_t mask, count;
    uint64_t secret;
} px_map;

static inline size_t px_map_place(const px_map *map, uint64_t key)
{
    key = (key ^ map->secret) * 0x9E3779B97F4A7C15u;
    key = (key ^ key >> 32) * 0xD6E8FEB86659FD93u;
    return (size_t)(key ^ key >> 32) & map->mask;
}

/* The value of a key; NULL if it is not there. The place holds until the map changes. */
static inline uint64_t *px_map_get(const px_map *map, uint64_t key)
{
    if (PX_UNLIKELY(map->slots == NULL))
        return NULL;
    for (size_t i = px_map_place(map, key);; i = (i + 1) & map->mask) {
        if (PX_LIKELY(map->slots[i].key == key))
            return &map->slots[i].value;
        if (map->slots[i].key == UINT64_MAX)
            return NULL;
    }
}

int px_map_put(px_map *map, uint64_t key, uint64_t value);
void px_map_remove(px_map *map, uint64_t key);
void px_map_free(px_map *map);

static inline uint64_t px_key(int32_t high, int32_t low)
{
    return (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
}

#endif
