/* The registry: paths and their slots, templates, rows, owners. */
#ifndef EXTRACT_PUSH_REGISTRY_H
#define EXTRACT_PUSH_REGISTRY_H

#include "lists.h"

/* -- paths */

/* Axes of steps; PX_ANCHOR marks the anchor. PX_NEAR is descendant-or-self. */
enum { PX_CHILD, PX_DESCENDANT, PX_NEAR, PX_ATTRIBUTE, PX_TEXT, PX_ANCHOR };
/* Axes that only conditions have: the siblings of an element, and the nearest with the name; the
 * elements behind it and before it, and those above it. PX_ABOVE is ancestor-or-self. */
enum { PX_FOLLOWING = PX_ANCHOR + 1, PX_PRECEDING, PX_NEXT, PX_PREVIOUS };
enum { PX_BEHIND = PX_PREVIOUS + 1, PX_BEFORE, PX_ANCESTOR, PX_ABOVE, PX_PARENT };
/* The nearest of these with the name. */
enum { PX_FIRST_BEHIND = PX_PARENT + 1, PX_LAST_BEFORE, PX_NEXT_ANCESTOR, PX_NEXT_ABOVE };
/* Axes that only steps of `axes.c` have, which are numbered from PX_EXACTLY on. */
enum { PX_SELF = PX_NEXT_ABOVE + 1, PX_UNION, PX_EXACTLY = 64 };

/* Tests of names: a symbol, any name, or (from PX_NAMESPACE down) any name of a namespace. */
enum { PX_ANY = -1, PX_NAMESPACE = -2 };
/* Tests of other nodes, in `axes.c`: any node; any text, comment, processing instruction; what has
 * children, an element or the document node. */
enum { PX_ANY_NODE = INT32_MIN, PX_ANY_TEXT, PX_ANY_COMMENT, PX_ANY_INSTRUCTION, PX_ANY_PARENT };

typedef struct {
    int32_t parent, test;
    int32_t slot;  /* of the path that ends here; -1 */
    uint32_t uses; /* paths through it */
    uint8_t axis;
    uint8_t out; /* bits: axes of the edges from here */
} px_node;

/* What a slot leads to, beyond `px_registry.simple`. */
typedef struct {
    uint32_t equal[2];   /* how many strings, numbers it may equal */
    uint8_t others;      /* whether there is more, of what follows */
    px_list general;     /* clauses to evaluate where the path exists */
    px_sorted ranges[4]; /* constants below the value (>, >=), above it (<, <=) */
    px_parts parts[2];   /* that the value contains, that it starts with */
} px_values;

enum { PX_GREATER, PX_GREATER_EQUAL, PX_LESS, PX_LESS_EQUAL };

/* Flags of slots. */
enum {
    PX_SIMPLE = 1, /* there are simple postings */
    PX_MORE = 2,   /* there are `px_values` with postings */
    PX_HEAVY = 4,  /* the nodes are needed, not only the anchors */
    PX_STRINGS = 8, PX_NUMBERS = 16, PX_RANGES = 32, /* rows may be found by values of this kind */
    PX_GUARD_STRINGS = 64, PX_GUARD_NUMBERS = 128, /* values of this kind are guards */
    PX_KEPT = ~(1 | 2)
};

/* -- templates */

/* Kinds of atoms: how a posting is reached. */
enum { PX_EXISTS, PX_EQUAL_STRING, PX_EQUAL_NUMBER, PX_RANGE, PX_CONTAINS = PX_RANGE + 4, PX_STARTS };

typedef struct {
    int32_t template_, next; /* the next clause of the template; -1 */
    int32_t path;            /* in the template's words: the path with conditions, or a condition */
    int32_t anchor;          /* the number of the anchor's step; -1: the document node */
    int32_t groups;          /* in the words: slots that share an anchor */
    int32_t covers;          /* in the words: alternatives of atoms */
    int32_t chosen;          /* in the words: the alternative that rows are posted by */
    int32_t checks;          /* in the words: conditions on values at the anchor; 0: others, too */
    int32_t posts;           /* the number of its first posting among the template's */
    int32_t guards[2];       /* in the words: atoms that guard its postings; 0: none */
    uint8_t decides;         /* `groups` alone decide */
    uint8_t sure;            /* so does the only atom of `chosen` */
    uint8_t pair;            /* so do that atom and the first guard, at one anchor */
    uint8_t condition;       /* `path` is a condition on the document */
} px_clause;

typedef struct {
    int32_t *words; /* number of slots, slots, types of constants, clauses; NULL: free */
    int32_t clause; /* the first */
    int32_t width, posts;
    int32_t rows, free, live; /* rows ever used; the first free one, -1; those with owners */
    size_t row_room;
    px_cell *cells;
    int32_t *owner; /* of a free row: the next free one */
    int32_t *place; /* of each posting in its list */
    uint8_t exact;  /* the conditions are the query's; else only implied by it */
    uint8_t texts;  /* it looks at text nodes */
    int32_t steps;  /* of its paths, those in conditions too */
} px_template;

/* A query, as the caller numbers them. */
typedef struct {
    int32_t template_, row; /* -1: it is not there */
    int32_t crowd;          /* of all owners of the row; -1: it is the only one */
    int32_t place;          /* in the crowd */
} px_owner;

/* The owners of one row, if there are several: next to each other, for a match sets a bit for each. */
typedef struct {
    int32_t *owners; /* NULL: free, then `count` is the next free one plus 1 */
    uint32_t count, room;
} px_crowd;

typedef struct {
    uint64_t version; /* changes when states made before do not hold any more */
    uint64_t numbering; /* changes when slots are numbered anew */
    uint64_t changes; /* of rows and their owners */
    size_t simple_slots, more_slots; /* slots with PX_SIMPLE, with PX_MORE */
    px_strings strings;
    px_map number_ids; /* bits of a number -> its number in `numbers` */
    struct {
        uint64_t bits;
        uint32_t uses, next;
    } *numbers;
    size_t number_count, number_room;
    uint32_t number_free;

    px_node *nodes;
    size_t node_count, node_room;
    int32_t node_free;
    px_map edges; /* (node, axis, test) -> node */
    int with_texts; /* templates that look at text nodes */
    const int32_t *namespaces; /* of each symbol */
    size_t symbols;

    /* slots */
    int32_t *slot_node; /* -1: free, then `slot_uses` is the next free one */
    int32_t *slot_uses, *slot_heavy;
    uint8_t *slot_flags;
    px_list *simple; /* another slot that must have an anchor in common, or -1; owner as above */
    px_values **values;
    size_t slot_count, slot_room;
    int32_t slot_free;
    size_t slots_unused; /* without templates that look at them, but still there */
    px_map lists; /* (slot, kind; string or number) -> list */
    px_list *pool;
    size_t pool_count, pool_room;
    int64_t pool_free;

    px_clause *clauses;
    size_t clause_count, clause_room;
    int32_t clause_free;
    px_template *templates;
    size_t template_count, template_room;
    int32_t template_free;

    px_owner *owners;
    size_t owner_room;
    px_crowd *crowds;
    size_t crowd_count, crowd_room;
    uint32_t crowd_free; /* the first free one plus 1 */
    size_t members; /* owners that are there */
    uint64_t *same; /* rows by their constants: template and row, plus 1; 0 is free */
    size_t same_mask, same_count;
} px_registry;

px_registry *px_registry_new(const uint64_t secret[2]);
void px_registry_free(px_registry *r);
size_t px_registry_memory(const px_registry *r);

/* Adds a template; returns its number, -1: no memory. The words: see `templates.c`. */
int32_t px_template_add(px_registry *r, const int32_t *words, size_t count);
void px_template_remove(px_registry *r, int32_t number); /* which has no rows */
/* Adds a query with its constants; strings have a use that the row takes over. */
int px_row_add(px_registry *r, int32_t number, const px_cell *cells, int32_t owner);
int px_rows_expect(px_registry *r, size_t more);
void px_row_soon(const px_registry *r, int32_t number, const px_cell *cells);
void px_row_remove(px_registry *r, int32_t owner);
/* The constant by which rows are found; -1: none. Rows that are added in its order are found side by
 * side. */
int32_t px_template_order(const px_registry *r, int32_t number);

/* Some of the numbers that nodes of a slot had. */
enum { PX_SAMPLED = 30 };

typedef struct {
    uint32_t seen; /* of which the first ones, or some of all, are kept */
    double numbers[PX_SAMPLED];
} px_sample;

/* What some documents had. */
typedef struct {
    const uint32_t *slots; /* in how many of them each slot was found */
    size_t count;          /* of slots; others were in none */
    px_map values;         /* key of slot and constant -> nodes with that value */
    px_sample *const *samples; /* for each slot, or NULL */
    size_t sample_count;
    double documents;
} px_presence;

static inline uint64_t px_value_key(int32_t slot, const px_cell *cell, int is_string)
{
    uint64_t bits = 0;
    if (is_string)
        return px_key(slot, cell->string);
    (void)px_number_bits(cell->number, &bits);
    return px_key(slot, (int32_t)((uint32_t)(bits ^ bits >> 31) | 1u << 31)); /* others may have it, too */
}

/* statistics.c: how many nodes of one document are expected to lead to a row by an atom; -1: unknown */
double px_expected(const px_registry *r, const px_template *t, const int32_t *atom, const px_presence *seen);

/* Posts a template's rows by other covers, if these are better. PX_MEMORY: rows are lost, and the
 * registry is of no use any more. */
int px_template_choose(px_registry *r, int32_t number, const px_presence *seen);
/* Numbers slots anew, in this order; others follow. PX_MEMORY: nothing has changed. */
int px_slots_renumber(px_registry *r, const int32_t *order, size_t count);

/* posting.c: the atoms that rows are posted by; begin with zeros */
typedef struct {
    px_clause *clause;
    int32_t number;
    const int32_t *atom;
    int32_t post;
} px_atom;

int px_next_atom(const px_registry *r, const px_template *t, px_atom *a);
int px_post_row(px_registry *r, px_template *t, int32_t row);
void px_unpost_row(px_registry *r, px_template *t, int32_t row);
void px_rename_postings(px_registry *r, px_template *t, int32_t row); /* it has other owners */

static inline int px_row_is_live(const px_registry *r, int32_t number, int32_t row)
{
    const px_template *t = &r->templates[number];
    int32_t owner = t->owner[row];
    return owner >= 0 && (size_t)owner < r->owner_room && r->owners[owner].template_ == number &&
           r->owners[owner].row == row;
}

/* crowds.c: the row of an owner that is there has another one; owners[second] is not filled in yet */
int px_crowd_add(px_registry *r, int32_t first, int32_t second);
void px_crowd_remove(px_registry *r, int32_t owner);
void px_crowds_free(px_registry *r);

/* An owner of a posting that names owners. */
static inline int32_t px_some_owner(const px_registry *r, int32_t named)
{
    return named >= 0 ? named : r->crowds[~named].owners[0];
}

/* The owner that stands for all that have the same row. */
static inline int32_t px_first_owner(const px_registry *r, int32_t owner)
{
    int32_t crowd = r->owners[owner].crowd;
    return crowd < 0 ? owner : r->crowds[crowd].owners[0];
}

/* paths.c */
int32_t px_slot_use(px_registry *r, const int32_t *words, size_t *used);
void px_slot_release(px_registry *r, int32_t slot);
void px_slot_heavy(px_registry *r, int32_t slot, int change);
void px_slot_flag(px_registry *r, int32_t slot, uint8_t flags); /* sets its flags */

static inline uint64_t px_edge_key(int32_t node, int axis, int32_t test)
{
    return (uint64_t)(uint32_t)node << 32 | (uint32_t)axis << 29 | (uint32_t)(test + (1 << 28));
}

static inline int32_t px_edge(const px_registry *r, int32_t node, int axis, int32_t test)
{
    const uint64_t *to = px_map_get(&r->edges, px_edge_key(node, axis, test));
    return to == NULL ? -1 : (int32_t)*to;
}

enum { PX_LIST_STRING, PX_LIST_NUMBER, PX_LIST_CONTAINS, PX_LIST_STARTS };

static inline px_list *px_value_list(const px_registry *r, int32_t slot, int kind, int32_t constant)
{
    const uint64_t *at = px_map_get(&r->lists, px_key(slot << 2 | kind, constant));
    return at == NULL ? NULL : &r->pool[*at];
}

/* The number of a number that some constant has; -1: none. */
static inline int32_t px_number_find(const px_registry *r, double number)
{
    uint64_t bits;
    const uint64_t *at = NULL;
    if (px_number_bits(number, &bits) && bits != UINT64_MAX)
        at = px_map_get(&r->number_ids, bits);
    return at == NULL ? -1 : (int32_t)*at;
}

#endif
