#include "push.h"

#include "hashing.h"

static uint64_t cells_hash(const px_registry *r, int32_t number, const px_cell *cells)
{
    const px_template *t = &r->templates[number];
    const int32_t *types = t->words + 2 + t->words[0];
    uint64_t hash = ((uint64_t)(uint32_t)number + 1) * 0x9E3779B97F4A7C15u ^ r->strings.secret[0];
    for (int32_t i = 0; i < t->width; i++) {
        uint64_t bits = 0;
        if (types[i])
            bits = (uint32_t)cells[i].string;
        else
            (void)px_number_bits(cells[i].number, &bits); /* NaN: 0 */
        hash = (hash ^ bits) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    return hash;
}

static int cells_equal(const px_template *t, const px_cell *a, const px_cell *b)
{
    const int32_t *types = t->words + 2 + t->words[0];
    for (int32_t i = 0; i < t->width; i++) {
        if (types[i] ? a[i].string != b[i].string
                     : !(a[i].number == b[i].number ||
                         (a[i].number != a[i].number && b[i].number != b[i].number)))
            return 0;
    }
    return 1;
}

static const px_cell *cells_at(const px_registry *r, uint64_t same)
{
    const px_template *t = &r->templates[(same - 1) >> 32];
    return t->cells + (size_t)(uint32_t)(same - 1) * (size_t)t->width;
}

static int same_size(px_registry *r, size_t slots)
{
    uint64_t *fresh = calloc(slots, sizeof *fresh);
    if (fresh == NULL)
        return PX_MEMORY;
    px_large_pages(fresh, slots * sizeof *fresh);
    for (size_t i = 0; i <= r->same_mask; i++) {
        if (!r->same[i])
            continue;
        size_t j = cells_hash(r, (int32_t)((r->same[i] - 1) >> 32), cells_at(r, r->same[i])) & (slots - 1);
        while (fresh[j])
            j = (j + 1) & (slots - 1);
        fresh[j] = r->same[i];
    }
    free(r->same);
    r->same = fresh;
    r->same_mask = slots - 1;
    return PX_OK;
}

/* Makes slots for so many rows more, so that they need not be moved again and again. */
int px_rows_expect(px_registry *r, size_t more)
{
    size_t slots = r->same_mask + 1;
    while ((r->same_count + more) * 2 > slots)
        slots *= 2;
    return slots == r->same_mask + 1 ? PX_OK : same_size(r, slots);
}

/* Asks for the slot of a row that will be added soon: it may be far away in memory. */
void px_row_soon(const px_registry *r, int32_t number, const px_cell *cells)
{
    prefetch(&r->same[cells_hash(r, number, cells) & r->same_mask]);
}

/* The row with these constants; -1: none. `*slot` is where it is or belongs. */
static int32_t same_find(const px_registry *r, int32_t number, const px_cell *cells, size_t *slot)
{
    const px_template *t = &r->templates[number];
    size_t i = cells_hash(r, number, cells) & r->same_mask;
    for (; r->same[i]; i = (i + 1) & r->same_mask) {
        if ((int32_t)((r->same[i] - 1) >> 32) == number && cells_equal(t, cells_at(r, r->same[i]), cells)) {
            *slot = i;
            return (int32_t)(uint32_t)(r->same[i] - 1);
        }
    }
    *slot = i;
    return -1;
}

static void same_remove(px_registry *r, size_t i)
{
    for (size_t j = (i + 1) & r->same_mask; r->same[j]; j = (j + 1) & r->same_mask) {
        size_t home = cells_hash(r, (int32_t)((r->same[j] - 1) >> 32), cells_at(r, r->same[j])) & r->same_mask;
        if (((j - home) & r->same_mask) >= ((j - i) & r->same_mask)) {
            r->same[i] = r->same[j];
            i = j;
        }
    }
    r->same[i] = 0;
    r->same_count--;
    if (r->same_mask >= 127 && r->same_count * 8 < r->same_mask)
        (void)same_size(r, (r->same_mask + 1) / 2);
}

static int grow_rows(px_template *t)
{
    size_t n = (size_t)t->rows + 1, width = t->width ? (size_t)t->width : 1;
    size_t posts = t->posts ? (size_t)t->posts : 1, cells = t->row_room, place = t->row_room;
    if (n <= t->row_room)
        return PX_OK;
    if (n >= INT32_MAX || px_grow(&t->cells, &cells, n, sizeof *t->cells * width) != PX_OK ||
        px_grow(&t->place, &place, n, sizeof *t->place * posts) != PX_OK)
        return PX_MEMORY;
    return px_grow(&t->owner, &t->row_room, n, sizeof *t->owner);
}

static int grow_owners(px_registry *r, int32_t owner)
{
    size_t before = r->owner_room;
    if (px_grow(&r->owners, &r->owner_room, (size_t)owner + 1, sizeof *r->owners) != PX_OK)
        return PX_MEMORY;
    for (size_t i = before; i < r->owner_room; i++)
        r->owners[i].template_ = -1;
    return PX_OK;
}

static void release_cells(px_registry *r, const px_template *t, const px_cell *cells)
{
    const int32_t *types = t->words + 2 + t->words[0];
    for (int32_t i = 0; i < t->width; i++)
        if (types[i])
            px_strings_release(&r->strings, cells[i].string);
}

int px_row_add(px_registry *r, int32_t number, const px_cell *cells, int32_t owner)
{
    px_template *t = &r->templates[number];
    size_t slot;
    if (grow_owners(r, owner) != PX_OK)
        return PX_MEMORY;
    int32_t row = same_find(r, number, cells, &slot);
    if (row >= 0) {
        int32_t first = t->owner[row], alone = r->owners[first].crowd < 0;
        if (px_crowd_add(r, first, owner) != PX_OK)
            return PX_MEMORY;
        r->owners[owner].template_ = number;
        r->owners[owner].row = row;
        if (alone)
            px_rename_postings(r, t, row);
        release_cells(r, t, cells);
        r->members++;
        return PX_OK;
    }
    if ((r->same_count + 1) * 2 > r->same_mask + 1) {
        if (same_size(r, (r->same_mask + 1) * 2) != PX_OK)
            return PX_MEMORY;
        (void)same_find(r, number, cells, &slot);
    }
    row = t->free;
    if (row < 0) {
        if (grow_rows(t) != PX_OK)
            return PX_MEMORY;
        row = t->rows;
    }
    int32_t next_free = row == t->free ? t->owner[row] : t->free;
    t->owner[row] = owner;
    if (t->width)
        memcpy(t->cells + (size_t)row * (size_t)t->width, cells, (size_t)t->width * sizeof *cells);
    r->owners[owner].template_ = number;
    r->owners[owner].row = row;
    r->owners[owner].crowd = -1;
    if (px_post_row(r, t, row) != PX_OK) {
        t->owner[row] = next_free;
        r->owners[owner].template_ = -1;
        return PX_MEMORY;
    }
    if (row == t->rows)
        t->rows++;
    t->free = next_free;
    t->live++;
    r->same[slot] = ((uint64_t)(uint32_t)number << 32 | (uint32_t)row) + 1;
    r->same_count++;
    r->members++;
    return PX_OK;
}

int32_t px_template_order(const px_registry *r, int32_t number)
{
    const px_template *t = &r->templates[number];
    const int32_t *cover = t->words + r->clauses[t->clause].chosen;
    return cover[1] > 0 ? cover[4] : -1;
}

void px_row_remove(px_registry *r, int32_t owner)
{
    int32_t number = r->owners[owner].template_, row = r->owners[owner].row;
    int32_t crowd = r->owners[owner].crowd;
    px_template *t = &r->templates[number];
    r->members--;
    if (crowd >= 0) {
        int32_t other = r->crowds[crowd].owners[r->owners[owner].place == 0];
        px_crowd_remove(r, owner);
        r->owners[owner].template_ = -1;
        if (t->owner[row] == owner)
            t->owner[row] = other;
        if (r->owners[other].crowd < 0)
            px_rename_postings(r, t, row);
        return;
    }
    size_t slot;
    const px_cell *cells = t->cells + (size_t)row * (size_t)t->width;
    px_unpost_row(r, t, row);
    r->owners[owner].template_ = -1;
    (void)same_find(r, number, cells, &slot);
    same_remove(r, slot);
    release_cells(r, t, cells);
    t->owner[row] = t->free;
    t->free = row;
    if (--t->live == 0) {
        free(t->cells);
        free(t->owner);
        free(t->place);
        t->cells = NULL;
        t->owner = t->place = NULL;
        t->row_room = 0;
        t->rows = 0;
        t->free = -1;
    }
}
