/* Strings and numbers that queries have, each once. */
#ifndef EXTRACT_PUSH_CONSTANTS_H
#define EXTRACT_PUSH_CONSTANTS_H

#include "memory.h"

typedef const uint8_t *px_bytes;

typedef union {
    double number;
    int32_t string; /* the number of a string */
} px_cell;

enum { PX_NEAR_BYTES = 8 }; /* a string of so many is not allocated */

typedef struct {
    union {
        uint8_t near[PX_NEAR_BYTES], *far;
    } at;
    uint64_t hash;
    uint32_t length, uses; /* 0: it is free, and `length` is the next free string plus 1 */
} px_string;

static inline px_bytes px_string_bytes(const px_string *string)
{
    return string->length <= PX_NEAR_BYTES ? string->at.near : string->at.far;
}

/* Distinct strings by number. */
typedef struct {
    px_string *items;
    size_t count, room; /* `count` includes free ones */
    uint32_t free;      /* first free one plus 1 */
    uint32_t *slots;    /* number + 1; 0 is free */
    size_t mask, used;
    uint64_t secret[2];
} px_strings;

int px_strings_init(px_strings *s, const uint64_t secret[2]);
void px_strings_free(px_strings *s);
uint64_t px_strings_hash(const px_strings *s, px_bytes at, size_t length);
int32_t px_strings_find(const px_strings *s, px_bytes at, size_t length, uint64_t hash); /* -1: none */
int32_t px_strings_use(px_strings *s, px_bytes at, size_t length); /* adds a use; -1: no memory */
void px_strings_release(px_strings *s, int32_t string);

/* Bits of a number such that equal numbers have equal bits; NaN has none. */
static inline int px_number_bits(double number, uint64_t *bits)
{
    if (number != number)
        return 0;
    if (number == 0)
        number = 0; /* -0 equals 0 */
    memcpy(bits, &number, sizeof *bits);
    return 1;
}

#endif
