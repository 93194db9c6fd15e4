#include "push.h"

/* What was found out about a document, so that it is not found out again: rules say at each of their
 * candidates what holds in the whole document, and which children of a node have a position is asked of
 * each of them. All of a query is known at a time: conditions are inside of conditions, and if each were
 * evaluated again whenever another one had taken its place, this would multiply with every level.
 *
 * Entries of other documents have other stamps, and are as good as empty. */

enum { FEWEST = 1 << 6, MOST = 1 << 13, MOST_NODES = 1 << 20 };

void px_forget_known(px_document *d)
{
    d->stamp++; /* from 1 on */
    d->known_count = d->noted_count = 0;
}

/* The entry of something, or an empty one where it belongs. */
static px_known *entry_of(const px_document *d, const int32_t *words, const px_cell *cells, int32_t from)
{
    uint64_t hash = ((uint64_t)(uintptr_t)words >> 2) * 31 + ((uint64_t)(uintptr_t)cells >> 3) * 17 + (uint32_t)from;
    hash *= 0x9E3779B97F4A7C15u;
    for (size_t i = (size_t)(hash >> 32);; i++) {
        px_known *known = &d->known[i & (d->known_size - 1)];
        if (known->stamp != d->stamp || (known->words == words && known->cells == cells && known->from == from))
            return known;
    }
}

px_known *px_known_of(const px_context *c, const int32_t *words, int32_t from)
{
    const px_document *d = c->document;
    if (d->known == NULL)
        return NULL;
    px_known *known = entry_of(d, words, c->cells, from);
    return known->stamp == d->stamp ? known : NULL;
}

static int grow(px_document *d)
{
    size_t before = d->known_size;
    px_known *old = d->known, *fresh = calloc(before ? 2 * before : FEWEST, sizeof *fresh);
    if (fresh == NULL)
        return -PX_MEMORY;
    d->known = fresh;
    d->known_size = before ? 2 * before : FEWEST;
    for (size_t i = 0; i < before; i++)
        if (old[i].stamp == d->stamp)
            *entry_of(d, old[i].words, old[i].cells, old[i].from) = old[i];
    free(old);
    return 0;
}

/* The entry of something that is not known yet; NULL: no memory. At least half are empty. */
static px_known *fresh_entry(const px_context *c, const int32_t *words, int32_t from)
{
    px_document *d = c->document;
    if (2 * d->known_count >= d->known_size) {
        if (d->known_size >= MOST)
            px_forget_known(d);
        else if (grow(d) < 0)
            return NULL;
    }
    px_known *known = entry_of(d, words, c->cells, from);
    *known = (px_known){.words = words, .cells = c->cells, .stamp = d->stamp, .from = from};
    d->known_count++;
    return known;
}

void px_note_known(const px_context *c, const int32_t *words, int32_t holds, double number)
{
    px_known *known = fresh_entry(c, words, -1);
    if (known == NULL)
        return;
    known->holds = holds;
    known->number = number;
}

int px_note_nodes(px_context *c, const int32_t *words, int32_t from, size_t begin)
{
    px_document *d = c->document;
    size_t count = d->set_count - begin;
    if (d->noted_count > MOST_NODES)
        px_forget_known(d);
    if (px_grow(&d->noted, &d->noted_room, d->noted_count + count + 1, sizeof *d->noted) != PX_OK)
        return -PX_MEMORY;
    px_known *known = fresh_entry(c, words, from);
    if (known == NULL)
        return -PX_MEMORY;
    known->first = d->noted_count; /* only now: all may have been forgotten */
    known->count = count;
    if (count)
        memcpy(d->noted + known->first, d->set + begin, count * sizeof *d->noted);
    d->noted_count += count;
    return 0;
}
