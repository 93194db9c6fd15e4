/* The tables of one automaton's answers so far: names, namespace contexts, transitions.
 *
 * The tables contain no rules, only answers of the Python automaton; where an answer is missing the
 * scanner stops with a miss, the binding asks the automaton and stores the answer, and the scan
 * goes on.
 *
 * A set of tables serves one scanner at a time (the binding keeps a pool of them for each
 * automaton), so that there is nothing to lock and nothing that two threads could see half done.
 */
#ifndef CHUNKTOOL_TABLES_H
#define CHUNKTOOL_TABLES_H

#include "chars.h"

/* A hash map from 64-bit keys to two numbers. Keys are never UINT64_MAX. */
typedef struct {
    uint64_t key;
    int32_t first, second;
} ct_pair;

typedef struct {
    ct_pair *slots;
    size_t mask, count;
} ct_map;

/* Results of failing look-ups; the automaton never answers these. */
enum { CT_UNKNOWN = INT32_MIN, CT_NO_MEMORY = INT32_MIN + 1, CT_TOO_MANY = INT32_MIN + 2 };

/* The answer for a name whose prefix is not bound. */
enum { CT_UNBOUND = -1 };

static inline uint64_t ct_key(int32_t a, int32_t b) { return (uint64_t)(uint32_t)a << 32 | (uint32_t)b; }

static inline size_t ct_map_slot(uint64_t key, size_t mask)
{
    key *= 0x9E3779B97F4A7C15u;
    return (size_t)(key ^ key >> 32) & mask;
}

static inline const ct_pair *ct_map_get(const ct_map *map, uint64_t key)
{
    size_t i = ct_map_slot(key, map->mask);
    for (;; i = (i + 1) & map->mask) {
        if (CT_LIKELY(map->slots[i].key == key))
            return &map->slots[i];
        if (map->slots[i].key == UINT64_MAX)
            return NULL;
    }
}

int ct_map_init(ct_map *map);
int ct_map_put(ct_map *map, uint64_t key, int32_t first, int32_t second); /* 0, or -1: no memory */

/* Attributes with names of special meaning. */
enum { CT_PLAIN, CT_XMLNS, CT_XML_PREFIX, CT_XML_ID };

/* A name as written, with the last answer for it, which is nearly always the next one too. */
typedef struct {
    uint8_t head[32]; /* its first bytes, zeros behind */
    uint64_t hash;
    uint64_t stamp; /* the last tag that had it as an attribute: finds duplicates */
    uint32_t offset, length;
    int32_t colon;   /* as returned by `ct_name_shape` */
    uint32_t kind;
    int32_t context, symbol, expanded; /* as an element */
    int32_t attribute_context, attribute_symbol, attribute_expanded;
} ct_name;

/* Byte strings by number. */
typedef struct {
    ct_name *items;
    size_t count, room;
    uint32_t *slots; /* number + 1; 0 is free */
    size_t mask;
    uint8_t *bytes;
    size_t used, size;
    uint64_t seed;
    size_t most; /* the largest count */
} ct_names;

typedef struct {
    int32_t known, inside, skip;
    uint32_t subtree, subtrees, tag, tags, content, contents; /* offset and number in `lists` */
} ct_state;

/* A sibling counter of one expanded name, and the open element that it counts for. */
typedef struct {
    uint64_t owner;
    uint64_t stamp; /* the last tag that had an attribute of this expanded name */
    int32_t count;
} ct_cell;

typedef struct {
    ct_names names;        /* of elements and attributes */
    ct_names declarations; /* namespace declarations as written */
    ct_map elements;       /* (name, context) -> symbol, expanded name */
    ct_map attributes;     /* the same; context 0 for names without a prefix */
    ct_map contexts;       /* (context, declaration) -> context */
    ct_map steps;          /* (state, symbol) -> state */
    ct_map allowed;        /* (state, attribute symbol) -> 0 or 1 */
    ct_state *states;
    size_t state_room;
    int32_t *lists;
    size_t list_count, list_room;
    ct_cell *cells; /* by expanded name */
    size_t cell_count;
    uint64_t serial; /* of tags and open elements; never reused */
} ct_tables;

ct_tables *ct_tables_new(uint64_t seed, size_t most_names);
void ct_tables_free(ct_tables *t);

/* Makes room for `n` items of `size` bytes; the array may move. -1: no memory. */
int ct_grow_more(void *array_of_pointer, size_t *room, size_t n, size_t size);

static inline int ct_grow(void *array_of_pointer, size_t *room, size_t n, size_t size)
{
    return CT_LIKELY(n <= *room) ? 0 : ct_grow_more(array_of_pointer, room, n, size);
}

/* Stores the automaton's answer for a state. Lists are numbers of outputs. Returns -1: no
 * memory. */
int ct_tables_put_state(ct_tables *t, int32_t state, int inside, int skip, const int32_t *subtree,
                        size_t subtrees, const int32_t *tag, size_t tags, const int32_t *content,
                        size_t contents);

/* Makes sibling counters for this many expanded names. */
int ct_tables_cells(ct_tables *t, size_t expanded_names);

/* The slow path of `ct_intern`: hashes long names and adds new ones. */
int32_t ct_intern_slow(ct_names *names, ct_bytes p, size_t length, int is_name);

static inline uint64_t ct_mix(uint64_t low, uint64_t high, uint64_t seed)
{
    uint64_t h = (low ^ seed) * 0x9FB21C651E98DF25u;
    h = (h ^ h >> 32 ^ high) * 0xD6E8FEB86659FD93u;
    return h ^ h >> 29;
}

/* Returns the number of a name, which is added if it is new. CT_UNKNOWN if the bytes are no name,
 * CT_NO_MEMORY, CT_TOO_MANY. `end` is the end of the readable bytes. */
static inline int32_t ct_intern(ct_names *names, ct_bytes p, size_t length, ct_bytes end)
{
#ifdef CT_SSE2
    static const uint8_t masks[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                      255, 255, 255, 255, 255, 255, 255, 255};
    if (CT_LIKELY(length <= 32 && end - p >= 32)) {
        int is_long = length > 16;
        __m128i v = ct_load(p), w = _mm_setzero_si128();
        uint64_t half[2], hash;
        if (!is_long)
            v = _mm_and_si128(v, ct_load(masks + 16 - length));
        memcpy(half, &v, 16);
        hash = ct_mix(half[0], half[1], names->seed);
        if (is_long) { /* as in `hash_of` */
            w = _mm_and_si128(ct_load(p + 16), ct_load(masks + 32 - length));
            memcpy(half, &w, 16);
            hash = ct_mix(hash, half[0], names->seed);
            if (length > 24)
                hash = ct_mix(hash, half[1], names->seed);
        }
        for (size_t i = hash & names->mask;; i = (i + 1) & names->mask) {
            uint32_t slot = names->slots[i];
            if (slot == 0)
                break;
            const ct_name *name = &names->items[slot - 1];
            if (CT_LIKELY(name->hash == hash && name->length == length &&
                          _mm_movemask_epi8(_mm_cmpeq_epi8(v, ct_load(name->head))) == 0xFFFF &&
                          (!is_long || _mm_movemask_epi8(_mm_cmpeq_epi8(
                                           w, ct_load(name->head + 16))) == 0xFFFF)))
                return (int32_t)(slot - 1);
        }
    }
#else
    (void)end;
#endif
    return ct_intern_slow(names, p, length, 1);
}

#endif
