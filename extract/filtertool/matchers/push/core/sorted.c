#include "push.h"

/* Blocks of postings, sorted by number, clause and row. A full block is halved, one that has become
 * small joins the next one. */

enum { BLOCK = 256 };

static int before(const px_key_item *a, const px_key_item *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    if (a->item.clause != b->item.clause)
        return a->item.clause < b->item.clause;
    return a->item.row < b->item.row;
}

/* The block where an item is or belongs: the last one that does not begin behind it. */
static size_t block_of(const px_sorted *s, const px_key_item *item)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (before(item, &s->blocks[middle][0]))
            high = middle;
        else
            low = middle + 1;
    }
    return low ? low - 1 : 0;
}

static uint32_t place_in(const px_key_item *block, uint32_t count, const px_key_item *item)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (before(&block[middle], item))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert_block(px_sorted *s, size_t at)
{
    size_t room = s->room;
    if (px_grow(&s->blocks, &room, s->count + 1, sizeof *s->blocks) != PX_OK ||
        px_grow(&s->counts, &s->room, s->count + 1, sizeof *s->counts) != PX_OK)
        return PX_MEMORY;
    px_key_item *block = malloc(BLOCK * sizeof *block);
    if (block == NULL)
        return PX_MEMORY;
    memmove(s->blocks + at + 1, s->blocks + at, (s->count - at) * sizeof *s->blocks);
    memmove(s->counts + at + 1, s->counts + at, (s->count - at) * sizeof *s->counts);
    s->blocks[at] = block;
    s->counts[at] = 0;
    s->count++;
    return PX_OK;
}

int px_sorted_add(px_sorted *s, double key, px_item item)
{
    px_key_item it = {key, item};
    if (s->count == 0 && insert_block(s, 0) != PX_OK)
        return PX_MEMORY;
    size_t at = block_of(s, &it);
    if (s->counts[at] == BLOCK) {
        if (insert_block(s, at + 1) != PX_OK)
            return PX_MEMORY;
        memcpy(s->blocks[at + 1], s->blocks[at] + BLOCK / 2, BLOCK / 2 * sizeof it);
        s->counts[at] = s->counts[at + 1] = BLOCK / 2;
        at += !before(&it, &s->blocks[at + 1][0]);
    }
    px_key_item *block = s->blocks[at];
    uint32_t place = place_in(block, s->counts[at], &it);
    memmove(block + place + 1, block + place, (s->counts[at] - place) * sizeof it);
    block[place] = it;
    s->counts[at]++;
    s->items++;
    return PX_OK;
}

static void drop_block(px_sorted *s, size_t at)
{
    free(s->blocks[at]);
    s->count--;
    memmove(s->blocks + at, s->blocks + at + 1, (s->count - at) * sizeof *s->blocks);
    memmove(s->counts + at, s->counts + at + 1, (s->count - at) * sizeof *s->counts);
    if (s->count == 0)
        px_sorted_free(s);
}

void px_sorted_remove(px_sorted *s, double key, px_item item)
{
    px_key_item it = {key, item};
    size_t at = block_of(s, &it);
    px_key_item *block = s->blocks[at];
    uint32_t place = place_in(block, s->counts[at], &it);
    s->counts[at]--;
    s->items--;
    memmove(block + place, block + place + 1, (s->counts[at] - place) * sizeof it);
    if (at > 0 && s->counts[at - 1] < s->counts[at])
        at--;
    if (at + 1 < s->count && s->counts[at] + s->counts[at + 1] <= BLOCK / 2) {
        memcpy(s->blocks[at] + s->counts[at], s->blocks[at + 1], s->counts[at + 1] * sizeof it);
        s->counts[at] += s->counts[at + 1];
        drop_block(s, at + 1);
    } else if (s->counts[at] == 0) {
        drop_block(s, at);
    }
}

size_t px_sorted_block(void) { return BLOCK * sizeof(px_key_item); }

void px_sorted_free(px_sorted *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->blocks[i]);
    free(s->blocks);
    free(s->counts);
    memset(s, 0, sizeof *s);
}
