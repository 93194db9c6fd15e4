/* Lists of postings: by value, in the order of numbers, by parts of strings. */
#ifndef EXTRACT_PUSH_LISTS_H
#define EXTRACT_PUSH_LISTS_H

#include "constants.h"

/* A posting. `clause` >= 0: evaluate the clause for the row. PX_SURE: the query matches, `row` is
 * its owner; the complement of their crowd if there are several. PX_PAIR and below: so it does if
 * the anchor has another value, too: see `guards.c`. */
typedef struct {
    int32_t clause, row;
} px_item;

enum { PX_SURE = -1, PX_PAIR = -2 };

/* Some postings; a single one is not allocated. */
typedef struct {
    union {
        px_item one, *many;
    } at;
    uint32_t count, room;
    uint32_t guard; /* of the single one */
    uint8_t guarded; /* whether postings have guards: see `guards.c` */
} px_list;

static inline px_item *px_items(px_list *list)
{
    return list->room ? list->at.many : &list->at.one;
}

/* The guards of a list that has them. */
static inline uint32_t *px_guards(px_list *list)
{
    return list->room ? (uint32_t *)(list->at.many + list->room) : &list->guard;
}

int px_list_add(px_list *list, px_item item, uint32_t guard);
void px_list_remove(px_list *list, uint32_t place); /* the last one takes its place */
void px_list_free(px_list *list);

/* Postings in the order of numbers, in blocks. */
typedef struct {
    double key;
    px_item item;
} px_key_item;

typedef struct {
    px_key_item **blocks;
    uint32_t *counts;
    size_t count, room; /* of blocks */
    size_t items;
} px_sorted;

int px_sorted_add(px_sorted *s, double key, px_item item);
void px_sorted_remove(px_sorted *s, double key, px_item item);
void px_sorted_free(px_sorted *s);
size_t px_sorted_block(void); /* the bytes of a block */

/* Strings that are searched for in texts. */
typedef struct {
    uint64_t window;    /* its first bytes, as a number that sorts like them */
    int32_t string;     /* its complement if it was removed */
    int32_t above, far; /* others that it begins with: see `parts.c`; -1 */
} px_part;

typedef struct {
    px_part *parts; /* sorted */
    size_t count, removed;
    int32_t *fresh; /* not sorted in yet */
    size_t fresh_count, fresh_room;
    uint8_t *bits; /* a filter by first bytes */
    int shift;
    uint32_t shortest;
    int32_t empty; /* the empty string, if it is sought, plus 1; 0 */
} px_parts;

/* PX_OK, an error, or PX_VISITED: the same string was visited for this text before. */
typedef int (*px_visit)(void *context, int32_t string);
enum { PX_VISITED = 100 };

int px_parts_add(px_parts *p, px_strings *strings, int32_t string);
void px_parts_remove(px_parts *p, px_strings *strings, int32_t string);
/* Visits each part that is in a text, or at its start; at times more than once. */
int px_parts_find(const px_parts *p, const px_strings *strings, px_bytes at, size_t length, int start,
                  px_visit visit, void *context);
void px_parts_free(px_parts *p, px_strings *strings);
int px_contains(px_bytes at, size_t length, px_bytes part, size_t size);

#endif
