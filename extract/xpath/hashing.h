/* A keyed hash of bytes: the author of a document cannot make its values collide.

   After wyhash (public domain, Wang Yi): sixteen bytes at a time are mixed by the high and low half
   of a product. */

#ifndef EXTRACT_COLUMNAR_HASHING_H
#define EXTRACT_COLUMNAR_HASHING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER)
#include <intrin.h>
static inline uint64_t hash_mix(uint64_t a, uint64_t b) {
    uint64_t high, low = _umul128(a, b, &high);
    return low ^ high;
}
#else
static inline uint64_t hash_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}
#endif

/* Asks for a place of a table that will be looked at soon, and may be far away in memory. */
static inline void prefetch(const void *at) {
#if defined(__GNUC__)
    __builtin_prefetch(at);
#else
    (void)at;
#endif
}

static inline uint64_t hash_8(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static inline uint64_t hash_4(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static inline uint64_t hash_of(const uint8_t *at, size_t size, const uint64_t secret[2]) {
    uint64_t seed = secret[0], a, b;
    size_t left = size;
    while (left > 16) {
        seed = hash_mix(hash_8(at) ^ secret[1], hash_8(at + 8) ^ seed);
        at += 16;
        left -= 16;
    }
    if (size > 16) { /* the last sixteen, some of them again */
        a = hash_8(at + left - 16);
        b = hash_8(at + left - 8);
    } else if (left >= 8) {
        a = hash_8(at);
        b = hash_8(at + left - 8);
    } else if (left >= 4) {
        a = hash_4(at);
        b = hash_4(at + left - 4);
    } else if (left) {
        a = ((uint64_t)at[0] << 16) | ((uint64_t)at[left >> 1] << 8) | at[left - 1];
        b = 0;
    } else {
        a = b = 0;
    }
    return hash_mix(secret[1] ^ size, hash_mix(a ^ secret[1], b ^ seed));
}

#endif
