/* What both splitters keep: rows of numbers, and names. */

#include "splitter.h"

#include <stdlib.h>
#include <string.h>

int ms_rows_add(ms_rows *rows, int64_t a, int64_t b, int64_t c, int64_t d)
{
    if (rows->count == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 256;
        int64_t *items = realloc(rows->items, room * 4 * sizeof(int64_t));
        if (!items)
            return 0;
        rows->items = items;
        rows->room = room;
    }
    int64_t *row = rows->items + 4 * rows->count++;
    row[0] = a;
    row[1] = b;
    row[2] = c;
    row[3] = d;
    return 1;
}

int ms_name_set(ms_name *name, const uint8_t *bytes, size_t size)
{
    if (size > name->room) {
        uint8_t *room = realloc(name->bytes, size);
        if (!room)
            return 0;
        name->bytes = room;
        name->room = size;
    }
    if (size)
        memcpy(name->bytes, bytes, size);
    name->size = size;
    return 1;
}

int ms_name_is(const ms_name *name, const uint8_t *bytes, size_t size)
{
    return name->size == size && !memcmp(name->bytes, bytes, size);
}
