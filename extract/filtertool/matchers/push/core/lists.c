#include "push.h"

/* Lists of postings. Where they have guards, these are behind the items, in the same memory. */

static size_t item_bytes(const px_list *list)
{
    return sizeof(px_item) + (list->guarded ? sizeof(uint32_t) : 0);
}

/* Gives a list with several postings other room; they fit. */
static int resize(px_list *list, size_t room)
{
    uint32_t before = list->room;
    px_item *items = list->at.many;
    if (list->guarded && room < before)
        memmove(items + room, items + before, list->count * sizeof(uint32_t));
    px_item *moved = realloc(items, room * item_bytes(list));
    if (moved == NULL) {
        if (list->guarded && room < before)
            memmove(items + before, items + room, list->count * sizeof(uint32_t));
        return PX_MEMORY;
    }
    if (list->guarded && room > before)
        memmove(moved + room, moved + before, list->count * sizeof(uint32_t));
    list->at.many = moved;
    list->room = (uint32_t)room;
    return PX_OK;
}

int px_list_add(px_list *list, px_item item, uint32_t guard)
{
    enum { FIRST_ROOM = 4 };
    if (list->room == 0 && list->count == 0) {
        list->at.one = item;
        list->guard = guard;
        list->count = 1;
        return PX_OK;
    }
    if (list->room == 0) {
        px_item one = list->at.one, *many = malloc(FIRST_ROOM * item_bytes(list));
        if (many == NULL)
            return PX_MEMORY;
        list->at.many = many;
        list->room = FIRST_ROOM;
        many[0] = one;
        if (list->guarded)
            px_guards(list)[0] = list->guard;
    } else if (list->count == list->room) {
        size_t room = (size_t)list->room + list->room / 2 + 1;
        if (room > UINT32_MAX || resize(list, room) != PX_OK)
            return PX_MEMORY;
    }
    list->at.many[list->count] = item;
    if (list->guarded)
        px_guards(list)[list->count] = guard;
    list->count++;
    return PX_OK;
}

void px_list_remove(px_list *list, uint32_t place)
{
    px_item *items = px_items(list);
    uint32_t last = --list->count;
    items[place] = items[last];
    if (list->guarded)
        px_guards(list)[place] = px_guards(list)[last];
    if (list->room && list->count <= 1) {
        px_item one = items[0];
        list->guard = list->guarded ? px_guards(list)[0] : 0;
        free(items);
        list->at.one = one;
        list->room = 0;
    } else if (list->room > 16 && list->count * 4 < list->room) {
        (void)resize(list, list->room / 2);
    }
}

void px_list_free(px_list *list)
{
    if (list->room)
        free(list->at.many);
    memset(list, 0, sizeof *list);
}
