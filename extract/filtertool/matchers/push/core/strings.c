#include "push.h"

#include "hashing.h"

int px_strings_init(px_strings *s, const uint64_t secret[2])
{
    memset(s, 0, sizeof *s);
    s->secret[0] = secret[0];
    s->secret[1] = secret[1];
    s->mask = 63;
    s->slots = calloc(s->mask + 1, sizeof *s->slots);
    return s->slots == NULL ? PX_MEMORY : PX_OK;
}

void px_strings_free(px_strings *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].uses && s->items[i].length > PX_NEAR_BYTES)
            free(s->items[i].at.far);
    free(s->items);
    free(s->slots);
}

uint64_t px_strings_hash(const px_strings *s, px_bytes at, size_t length)
{
    return hash_of(at, length, s->secret);
}

int32_t px_strings_find(const px_strings *s, px_bytes at, size_t length, uint64_t hash)
{
    for (size_t i = (size_t)hash & s->mask; s->slots[i]; i = (i + 1) & s->mask) {
        const px_string *string = &s->items[s->slots[i] - 1];
        if (string->hash == hash && string->length == length &&
            memcmp(px_string_bytes(string), at, length) == 0)
            return (int32_t)(s->slots[i] - 1);
    }
    return -1;
}

static int rehash(px_strings *s, size_t slots)
{
    uint32_t *fresh = calloc(slots, sizeof *fresh);
    if (fresh == NULL)
        return PX_MEMORY;
    px_large_pages(fresh, slots * sizeof *fresh);
    for (size_t n = 0; n < s->count; n++) {
        if (s->items[n].uses == 0)
            continue;
        size_t i = (size_t)s->items[n].hash & (slots - 1);
        while (fresh[i])
            i = (i + 1) & (slots - 1);
        fresh[i] = (uint32_t)n + 1;
    }
    free(s->slots);
    s->slots = fresh;
    s->mask = slots - 1;
    return PX_OK;
}

int32_t px_strings_use(px_strings *s, px_bytes at, size_t length)
{
    uint64_t hash = px_strings_hash(s, at, length);
    int32_t found = px_strings_find(s, at, length, hash);
    if (found >= 0) {
        s->items[found].uses++;
        return found;
    }
    if (length > INT32_MAX || ((s->used + 1) * 2 > s->mask + 1 && rehash(s, (s->mask + 1) * 2) != PX_OK))
        return -1;
    px_string string = {.hash = hash, .length = (uint32_t)length, .uses = 1};
    if (length > PX_NEAR_BYTES && (string.at.far = malloc(length)) == NULL)
        return -1;
    uint8_t *bytes = length > PX_NEAR_BYTES ? string.at.far : string.at.near;
    if (length)
        memcpy(bytes, at, length);
    uint32_t number = s->free;
    if (number) {
        s->free = s->items[--number].length;
    } else {
        if (s->count >= INT32_MAX || px_grow(&s->items, &s->room, s->count + 1, sizeof *s->items) != PX_OK) {
            if (length > PX_NEAR_BYTES)
                free(string.at.far);
            return -1;
        }
        number = (uint32_t)s->count++;
    }
    s->items[number] = string;
    size_t i = (size_t)hash & s->mask;
    while (s->slots[i])
        i = (i + 1) & s->mask;
    s->slots[i] = number + 1;
    s->used++;
    return (int32_t)number;
}

void px_strings_release(px_strings *s, int32_t number)
{
    px_string *string = &s->items[number];
    if (--string->uses)
        return;
    size_t i = (size_t)string->hash & s->mask, j;
    while (s->slots[i] != (uint32_t)number + 1)
        i = (i + 1) & s->mask;
    for (j = (i + 1) & s->mask; s->slots[j]; j = (j + 1) & s->mask) {
        size_t home = (size_t)s->items[s->slots[j] - 1].hash & s->mask;
        if (((j - home) & s->mask) >= ((j - i) & s->mask)) {
            s->slots[i] = s->slots[j];
            i = j;
        }
    }
    s->slots[i] = 0;
    s->used--;
    if (string->length > PX_NEAR_BYTES)
        free(string->at.far);
    string->length = s->free;
    s->free = (uint32_t)number + 1;
    if (s->mask >= 127 && s->used * 8 < s->mask)
        (void)rehash(s, (s->mask + 1) / 2);
}
