/* A table from strings of bytes to numbers, which can only grow.

   The hash has a secret, and equal hashes are told apart by their strings, so that whoever chooses
   the strings can neither make them collide nor mistake one for another. */

#ifndef EXTRACT_XPATH_KEY_TABLE_H
#define EXTRACT_XPATH_KEY_TABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hashing.h"

#define KEY_NUMBER 0xFFFFFFFFu /* the half of a slot that is a number */

typedef struct {
    uint64_t hash;
    int64_t start, size; /* in the bytes of all strings */
    int64_t value;
} KeyEntry;

typedef struct {
    KeyEntry *entries;
    int64_t count, places;
    /* Half of a hash and the number of an entry plus 1, or 0; as many as a power of two. With half
       of the hash at hand, an entry is looked at only where it is most likely the one. */
    uint64_t *slots;
    int64_t slot_count;
    uint8_t *bytes;
    int64_t size, room;
    uint64_t secret[2];
} KeyTable;

static inline void key_table_free(KeyTable *table) {
    free(table->entries);
    free(table->slots);
    free(table->bytes);
    memset(table, 0, sizeof(*table));
}

static inline uint64_t key_table_hash(const KeyTable *table, const uint8_t *key, int64_t size) {
    return hash_of(key, (size_t)size, table->secret);
}

/* The value of a string; -1 if it is not there. */
static inline int64_t key_table_get(const KeyTable *table, const uint8_t *key, int64_t size,
                                    uint64_t hash) {
    if (!table->slot_count) {
        return -1;
    }
    uint64_t mask = (uint64_t)table->slot_count - 1;
    for (uint64_t slot = hash & mask;; slot = (slot + 1) & mask) {
        if (!table->slots[slot]) {
            return -1;
        }
        if ((table->slots[slot] ^ hash) >> 32) {
            continue;
        }
        const KeyEntry *entry = &table->entries[(table->slots[slot] & KEY_NUMBER) - 1];
        if (entry->hash == hash && entry->size == size &&
            memcmp(table->bytes + entry->start, key, (size_t)size) == 0) {
            return entry->value;
        }
    }
}

/* Makes slots for so many strings in all; 0 if there is no memory. */
static inline int key_table_expect(KeyTable *table, int64_t count) {
    int64_t slot_count = table->slot_count ? table->slot_count : 128;
    while (3 * count > 2 * slot_count) {
        slot_count *= 2;
    }
    if (slot_count == table->slot_count) {
        return 1;
    }
    uint64_t *slots = calloc((size_t)slot_count, sizeof(uint64_t));
    if (slots == NULL) {
        return 0;
    }
    uint64_t mask = (uint64_t)slot_count - 1;
    for (int64_t number = 0; number < table->count; number++) {
        uint64_t hash = table->entries[number].hash, slot = hash & mask;
        while (slots[slot]) {
            slot = (slot + 1) & mask;
        }
        slots[slot] = (hash & ~(uint64_t)KEY_NUMBER) | (uint64_t)(number + 1);
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
    return 1;
}

static inline int key_table_grow(KeyTable *table, int64_t size) {
    if (table->count == table->places) {
        int64_t places = table->places ? table->places + table->places / 2 : 64;
        KeyEntry *entries = realloc(table->entries, (size_t)places * sizeof(KeyEntry));
        if (entries == NULL) {
            return 0;
        }
        table->entries = entries;
        table->places = places;
    }
    if (table->room - table->size < size) {
        int64_t room = table->size + size + table->room / 2 + 1024;
        uint8_t *bytes = realloc(table->bytes, (size_t)room);
        if (bytes == NULL) {
            return 0;
        }
        table->bytes = bytes;
        table->room = room;
    }
    return table->count < KEY_NUMBER && key_table_expect(table, table->count + 1);
}

/* Adds a string that is not there; 0 if there is no memory. */
static inline int key_table_put(KeyTable *table, const uint8_t *key, int64_t size, uint64_t hash,
                                int64_t value) {
    if (!key_table_grow(table, size)) {
        return 0;
    }
    KeyEntry *entry = &table->entries[table->count++];
    entry->hash = hash;
    entry->start = table->size;
    entry->size = size;
    entry->value = value;
    if (size) {
        memcpy(table->bytes + table->size, key, (size_t)size);
    }
    table->size += size;
    uint64_t mask = (uint64_t)table->slot_count - 1, slot = hash & mask;
    while (table->slots[slot]) {
        slot = (slot + 1) & mask;
    }
    table->slots[slot] = (hash & ~(uint64_t)KEY_NUMBER) | (uint64_t)table->count;
    return 1;
}

#endif
