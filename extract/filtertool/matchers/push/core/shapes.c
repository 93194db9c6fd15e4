#include "push.h"

/* The shape of a document is the names of its nodes and how they are nested. Queries without values
 * depend on it alone, so what they said of a shape is kept: a document of a known shape costs them
 * one look-up. A shape is kept when it is seen for the second time; two different ones are told apart
 * by all of their words. All are forgotten when a query comes or goes. */

enum { SEEN = 1 << 12 }; /* hashes of shapes that were seen once */

static int add_words(px_shapes *s, const int32_t *words, size_t count)
{
    if (px_grow(&s->words, &s->word_room, s->word_count + count, sizeof *s->words) != PX_OK)
        return PX_MEMORY;
    memcpy(s->words + s->word_count, words, count * sizeof *words);
    s->word_count += count;
    return PX_OK;
}

/* The words of a shape: how many elements and attributes there are; for elements their parents and
 * names, and how many texts they have if that is looked at; the elements and names of attributes. */
static int write_shape(px_shapes *s, const px_document *d, int with_texts)
{
    const px_input *in = &d->in;
    size_t rows = (size_t)in->rows, attributes = (size_t)in->attributes;
    int32_t counts[2] = {in->rows, in->attributes};
    s->word_count = 0;
    if (add_words(s, counts, 2) != PX_OK || (rows && add_words(s, in->parent, rows) != PX_OK) ||
        (rows && add_words(s, in->symbol, rows) != PX_OK))
        return PX_MEMORY;
    if (with_texts && add_words(s, d->text_first, rows + 1) != PX_OK)
        return PX_MEMORY;
    if (attributes && (add_words(s, in->attribute_row, attributes) != PX_OK ||
                       add_words(s, in->attribute_symbol, attributes) != PX_OK))
        return PX_MEMORY;
    return PX_OK;
}

static uint64_t hash_of_words(const px_shapes *s, uint64_t secret)
{
    uint64_t hash = secret ^ s->word_count;
    for (size_t i = 0; i < s->word_count; i++) {
        hash = (hash ^ (uint32_t)s->words[i]) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    return hash == UINT64_MAX ? 0 : hash;
}

static size_t bytes_of(const px_shape *shape)
{
    return sizeof *shape + 4 * sizeof(px_entry) + (shape->word_count + shape->owner_count) * sizeof(int32_t);
}

static void forget_all(px_shapes *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->items[i].words);
    px_map_free(&s->by_hash);
    s->count = s->bytes = 0;
}

void px_shapes_free(px_shapes *s)
{
    forget_all(s);
    free(s->items);
    free(s->words);
    free(s->seen);
}

/* Forgets the shapes that were not seen again since the last time; without memory, all. */
static void forget_some(px_shapes *s)
{
    size_t kept = 0;
    px_map_free(&s->by_hash);
    for (size_t i = 0; i < s->count; i++) {
        px_shape shape = s->items[i];
        if (shape.used && px_map_put(&s->by_hash, shape.hash, kept) == PX_OK) {
            shape.used = 0;
            s->items[kept++] = shape;
        } else {
            s->bytes -= bytes_of(&shape);
            free(shape.words);
        }
    }
    s->count = kept;
    if (s->bytes > s->most_bytes / 2)
        forget_all(s);
}

int px_shapes_find(px_machine *m, const px_shape **found)
{
    px_shapes *s = &m->shapes;
    const px_registry *r = m->registry;
    *found = NULL;
    s->keep = 0;
    if (r->simple_slots == 0)
        return PX_OK;
    if (s->changes != r->changes) {
        forget_all(s);
        s->changes = r->changes;
    }
    if (s->seen == NULL && (s->seen = calloc(SEEN, sizeof *s->seen)) == NULL)
        return PX_MEMORY;
    if (write_shape(s, &m->document, r->with_texts > 0) != PX_OK)
        return PX_MEMORY;
    s->hash = hash_of_words(s, r->lists.secret);
    const uint64_t *at = px_map_get(&s->by_hash, s->hash);
    if (at == NULL) {
        s->keep = s->seen[s->hash % SEEN] == s->hash;
        s->seen[s->hash % SEEN] = s->hash;
        return PX_OK;
    }
    px_shape *shape = &s->items[*at];
    if (shape->word_count != s->word_count ||
        memcmp(shape->words, s->words, s->word_count * sizeof *s->words) != 0)
        return PX_OK;
    shape->used = 1;
    *found = shape;
    return PX_OK;
}

/* Keeps what was found for the shape that was looked for. Without memory it is not kept. */
void px_shapes_keep(px_machine *m, const int32_t *owners, size_t count)
{
    px_shapes *s = &m->shapes;
    if (s->bytes > s->most_bytes)
        forget_some(s);
    int32_t *words = malloc((s->word_count + count) * sizeof *words);
    if (words == NULL || px_grow(&s->items, &s->room, s->count + 1, sizeof *s->items) != PX_OK ||
        px_map_put(&s->by_hash, s->hash, s->count) != PX_OK) {
        free(words);
        return;
    }
    memcpy(words, s->words, s->word_count * sizeof *words);
    if (count)
        memcpy(words + s->word_count, owners, count * sizeof *owners);
    s->items[s->count] = (px_shape){s->hash, words, words + s->word_count, s->word_count, count, 1};
    s->bytes += bytes_of(&s->items[s->count++]);
}
