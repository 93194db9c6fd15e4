#include "push.h"

/* A crowd has at least two owners. */

static int32_t crowd_new(px_registry *r)
{
    enum { FIRST_ROOM = 4 };
    int32_t *owners = malloc(FIRST_ROOM * sizeof *owners);
    if (owners == NULL)
        return -1;
    size_t number = r->crowd_free ? r->crowd_free - 1 : r->crowd_count;
    if (number >= INT32_MAX ||
        px_grow(&r->crowds, &r->crowd_room, number + 1, sizeof *r->crowds) != PX_OK) {
        free(owners);
        return -1;
    }
    if (number == r->crowd_count)
        r->crowd_count++;
    else
        r->crowd_free = r->crowds[number].count;
    r->crowds[number] = (px_crowd){owners, 0, FIRST_ROOM};
    return (int32_t)number;
}

static void crowd_drop(px_registry *r, int32_t number)
{
    free(r->crowds[number].owners);
    r->crowds[number] = (px_crowd){NULL, r->crowd_free, 0};
    r->crowd_free = (uint32_t)number + 1;
}

/* There is room. */
static void join(px_registry *r, int32_t number, int32_t owner)
{
    px_crowd *crowd = &r->crowds[number];
    r->owners[owner].crowd = number;
    r->owners[owner].place = (int32_t)crowd->count;
    crowd->owners[crowd->count++] = owner;
}

int px_crowd_add(px_registry *r, int32_t first, int32_t second)
{
    r->changes++;
    int32_t number = r->owners[first].crowd;
    if (number < 0) {
        if ((number = crowd_new(r)) < 0)
            return PX_MEMORY;
        join(r, number, first);
    }
    px_crowd *crowd = &r->crowds[number];
    if (crowd->count == crowd->room) {
        uint32_t room = crowd->room + crowd->room / 2;
        int32_t *owners = realloc(crowd->owners, room * sizeof *owners);
        if (owners == NULL)
            return PX_MEMORY;
        crowd->owners = owners;
        crowd->room = room;
    }
    join(r, number, second);
    return PX_OK;
}

void px_crowd_remove(px_registry *r, int32_t owner)
{
    r->changes++;
    int32_t number = r->owners[owner].crowd, place = r->owners[owner].place;
    px_crowd *crowd = &r->crowds[number];
    int32_t last = crowd->owners[--crowd->count];
    crowd->owners[place] = last;
    r->owners[last].place = place;
    if (crowd->count == 1) {
        r->owners[crowd->owners[0]].crowd = -1;
        crowd_drop(r, number);
    } else if (crowd->room > 16 && crowd->count * 4 < crowd->room) {
        int32_t *fewer = realloc(crowd->owners, crowd->room / 2 * sizeof *fewer);
        if (fewer != NULL) {
            crowd->owners = fewer;
            crowd->room /= 2;
        }
    }
}

void px_crowds_free(px_registry *r)
{
    for (size_t i = 0; i < r->crowd_count; i++)
        free(r->crowds[i].owners);
    free(r->crowds);
}
