/* States: the slots that an element reaches. */
#ifndef EXTRACT_PUSH_STATES_H
#define EXTRACT_PUSH_STATES_H

#include "registry.h"

/* A position is a node of the tree of paths, and the depth of the anchor on the way to it. PX_ITSELF:
 * an attribute or text is its own anchor. */
enum { PX_ITSELF = 0xFFFE, PX_NO_ANCHOR = 0xFFFF };

static inline uint64_t px_position(int32_t node, int32_t anchor)
{
    return (uint64_t)(uint32_t)node << 16 | (uint16_t)anchor;
}

typedef struct {
    int32_t anchor;      /* the depth of the anchors */
    uint32_t begin, end; /* in `slots` */
} px_group;

/* What the path of names down to a node says about the node. */
typedef struct {
    uint64_t *positions; /* that select it; then those that may select nodes far below */
    uint32_t near, far;
    px_group *groups; /* the light slots that it is in, by anchor */
    int32_t *slots;
    int32_t *heavy; /* heavy slots, each with the depth of its anchor */
    uint32_t group_count, heavy_count;
    int32_t depth;
    uint32_t bytes;
    uint32_t used; /* the last round in which it was used */
    uint8_t attributes, texts; /* whether there are paths on to attributes, to texts */
    uint32_t seen;  /* its place among the states of the document with this stamp */
    uint64_t stamp;
} px_state;

typedef struct {
    const px_registry *registry;
    uint64_t version; /* of the registry */
    px_state *items;
    size_t count, room;
    px_map steps;     /* (state, kind of node, symbol) -> state */
    px_map by_hash;   /* of depth and positions -> state */
    size_t bytes, most_bytes;
    uint32_t round;
    uint64_t made, dropped;
    uint64_t *near, *far; /* working memory */
    size_t near_count, far_count, near_room, far_room;
} px_states;

enum { PX_STEP_ELEMENT, PX_STEP_ATTRIBUTE, PX_STEP_TEXT };

int px_states_begin(px_states *s); /* before a document; the first state is that of its root */
/* -PX_MEMORY, -PX_COSTLY: the document has too many different paths */
int32_t px_states_make(px_states *s, int32_t from, int kind, int32_t symbol);
void px_states_free(px_states *s);

static inline uint64_t px_step_key(int32_t state, int kind, int32_t symbol)
{
    return (uint64_t)(uint32_t)state << 32 | (uint32_t)kind << 30 | (uint32_t)symbol;
}

static inline int32_t px_states_step(px_states *s, int32_t from, int kind, int32_t symbol)
{
    const uint64_t *to = px_map_get(&s->steps, px_step_key(from, kind, symbol));
    return PX_LIKELY(to != NULL) ? (int32_t)*to : px_states_make(s, from, kind, symbol);
}

#endif
