/* The push engine: which of very many queries match a small document.
 *
 *   memory.c     growing arrays, a hash map
 *   strings.c    constants: strings and numbers, each once
 *   paths.c      the paths that queries look at, as one tree; a path that is looked at is a *slot*
 *   sorted.c     constants in order, for comparisons with < and >
 *   parts.c      strings that are searched for in others
 *   registry.c   all of it together
 *   lists.c      lists of postings
 *   posting.c    the postings of rows
 *   templates.c  templates, and by which postings their rows are found
 *   rows.c       queries: rows of templates
 *   crowds.c     the owners of rows
 *   renumber.c   slots in the order in which documents have them
 *   states.c     states: the slots that an element reaches, made from the paths when first needed
 *   document.c   the nodes of one document, and their values
 *   evaluate.c   conditions on the nodes of a document
 *   anchors.c    the states of a document's nodes, and the slots that they are in
 *   statistics.c which values some of the documents have
 *   checks.c     conditions on values, for many rows at once
 *   postings.c   what slots and values lead to
 *   guards.c     other values that must be there, too
 *   ahead.c      the same, loaded into the cache before it is needed
 *   shapes.c     what is known of documents of the same shape
 *   bindings.c   the nodes that queries select, as far as matching has found them
 *   results.c    columns of results
 *   machine.c    one document from its nodes to its results
 *   size.c       how much memory there is
 *
 * A *template* is a query whose constants are parameters. Its *clauses* are alternatives: a path
 * from the document node with conditions. The first step with conditions is the clause's *anchor*.
 * Paths below the anchor are slots, each with the anchor marked in it, so that it is known which
 * element a path was found below. A *row* of a template has the constants of one query; a query
 * with other numbers belongs to each of the row's *owners*.
 *
 * Each row is posted where a document must lead if the query matches: at slots that exist, or at
 * constants that a slot's value equals, exceeds or contains. Whatever a document leads to is a
 * candidate; its conditions are then evaluated, unless the posting alone decides.
 *
 * The registry does not change while documents are matched, so that several machines, each with its
 * own states and working memory, may match at a time.
 */
#ifndef EXTRACT_PUSH_H
#define EXTRACT_PUSH_H

#include "memory.h"

typedef const uint8_t *px_bytes;

/* -- constants */

typedef union {
    double number;
    int32_t string; /* the number of a string */
} px_cell;

typedef struct {
    uint8_t *bytes; /* NULL: free */
    uint64_t hash;
    uint32_t length, uses; /* while free, `length` is the next free string plus 1 */
} px_string;

/* Distinct strings by number. */
typedef struct {
    px_string *items;
    size_t count, room; /* `count` includes free ones */
    uint32_t free;      /* first free one plus 1 */
    uint32_t *slots;    /* number + 1; 0 is free */
    size_t mask, used;
    uint64_t secret[2];
} px_strings;

int px_strings_init(px_strings *s, const uint64_t secret[2]);
void px_strings_free(px_strings *s);
uint64_t px_strings_hash(const px_strings *s, px_bytes at, size_t length);
int32_t px_strings_find(const px_strings *s, px_bytes at, size_t length, uint64_t hash); /* -1: none */
int32_t px_strings_use(px_strings *s, px_bytes at, size_t length); /* adds a use; -1: no memory */
void px_strings_release(px_strings *s, int32_t string);

/* Bits of a number such that equal numbers have equal bits; NaN has none. */
static inline int px_number_bits(double number, uint64_t *bits)
{
    if (number != number)
        return 0;
    if (number == 0)
        number = 0; /* -0 equals 0 */
    memcpy(bits, &number, sizeof *bits);
    return 1;
}

/* -- postings */

/* A posting. `clause` >= 0: evaluate the clause for the row. PX_SURE: the query matches, `row` is
 * its owner; the complement of their crowd if there are several. */
typedef struct {
    int32_t clause, row;
} px_item;

enum { PX_SURE = -1 };

/* Some postings; a single one is not allocated. */
typedef struct {
    union {
        px_item one, *many;
    } at;
    uint32_t count, room;
    uint32_t guard; /* of the single one */
    uint8_t guarded; /* whether postings have guards: see `guards.c` */
} px_list;

static inline px_item *px_items(px_list *list)
{
    return list->room ? list->at.many : &list->at.one;
}

/* The guards of a list that has them. */
static inline uint32_t *px_guards(px_list *list)
{
    return list->room ? (uint32_t *)(list->at.many + list->room) : &list->guard;
}

int px_list_add(px_list *list, px_item item, uint32_t guard);
void px_list_remove(px_list *list, uint32_t place); /* the last one takes its place */
void px_list_free(px_list *list);

/* Postings in the order of numbers, in blocks. */
typedef struct {
    double key;
    px_item item;
} px_key_item;

typedef struct {
    px_key_item **blocks;
    uint32_t *counts;
    size_t count, room; /* of blocks */
    size_t items;
} px_sorted;

int px_sorted_add(px_sorted *s, double key, px_item item);
void px_sorted_remove(px_sorted *s, double key, px_item item);
void px_sorted_free(px_sorted *s);
size_t px_sorted_block(void); /* the bytes of a block */

/* Strings that are searched for in texts. */
typedef struct {
    uint64_t window;    /* its first bytes, as a number that sorts like them */
    int32_t string;     /* its complement if it was removed */
    int32_t above, far; /* others that it begins with: see `parts.c`; -1 */
} px_part;

typedef struct {
    px_part *parts; /* sorted */
    size_t count, removed;
    int32_t *fresh; /* not sorted in yet */
    size_t fresh_count, fresh_room;
    uint8_t *bits; /* a filter by first bytes */
    int shift;
    uint32_t shortest;
    int32_t empty; /* the empty string, if it is sought, plus 1; 0 */
} px_parts;

/* PX_OK, an error, or PX_VISITED: the same string was visited for this text before. */
typedef int (*px_visit)(void *context, int32_t string);
enum { PX_VISITED = 100 };

int px_parts_add(px_parts *p, px_strings *strings, int32_t string);
void px_parts_remove(px_parts *p, px_strings *strings, int32_t string);
/* Visits each part that is in a text, or at its start; at times more than once. */
int px_parts_find(const px_parts *p, const px_strings *strings, px_bytes at, size_t length, int start,
                  px_visit visit, void *context);
void px_parts_free(px_parts *p, px_strings *strings);
int px_contains(px_bytes at, size_t length, px_bytes part, size_t size);

/* -- paths */

/* Axes of steps; PX_ANCHOR marks the anchor. PX_NEAR is descendant-or-self. */
enum { PX_CHILD, PX_DESCENDANT, PX_NEAR, PX_ATTRIBUTE, PX_TEXT, PX_ANCHOR };

/* Tests of names: a symbol, any name, or (from PX_NAMESPACE down) any name of a namespace. */
enum { PX_ANY = -1, PX_NAMESPACE = -2 };

typedef struct {
    int32_t parent, test;
    int32_t slot;  /* of the path that ends here; -1 */
    uint32_t uses; /* paths through it */
    uint8_t axis;
    uint8_t out; /* bits: axes of the edges from here */
} px_node;

/* What a slot leads to, beyond `px_registry.simple`. */
typedef struct {
    px_list general;     /* clauses to evaluate where the path exists */
    px_sorted ranges[4]; /* constants below the value (>, >=), above it (<, <=) */
    px_parts parts[2];   /* that the value contains, that it starts with */
    uint32_t equal[2];   /* how many strings, numbers it may equal */
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

/* -- programs: conditions and paths as words
 *
 * path:       number of steps; for each axis, test, words of its condition, the condition
 * condition:  operation, words behind this one, operands
 *   PX_AND, PX_OR                conditions
 *   PX_NOT                       a condition
 *   PX_TRUE, PX_FALSE
 *   PX_THERE                     absolute, path: it selects a node
 *   PX_COMPARE                   operator, is string, cell, absolute, path: so does one of its nodes
 *   PX_FIRST                     the same: so does the first node, or the empty string
 *   PX_COUNT                     operator, cell, absolute, path: so does the number of nodes
 *   PX_TEXTS                     operator, text, text: the first one compares so with the second
 *   PX_LENGTH                    operator, cell, text: so does its number of characters
 * text:       operation, words behind this one, operands
 *   PX_TEXT_LITERAL              number of bytes, the bytes
 *   PX_TEXT_CELL                 cell
 *   PX_TEXT_VALUE                absolute, path: the value of the first node, or nothing
 *   PX_TEXT_NORMAL               a text
 *   PX_TEXT_BEFORE, PX_TEXT_AFTER  two texts
 *   PX_TEXT_TOGETHER             texts
 */
enum {
    PX_AND,
    PX_OR,
    PX_NOT,
    PX_TRUE,
    PX_FALSE,
    PX_THERE,
    PX_COMPARE,
    PX_FIRST,
    PX_COUNT,
    PX_TEXTS,
    PX_LENGTH
};
enum {
    PX_TEXT_LITERAL,
    PX_TEXT_CELL,
    PX_TEXT_VALUE,
    PX_TEXT_NORMAL,
    PX_TEXT_BEFORE,
    PX_TEXT_AFTER,
    PX_TEXT_TOGETHER
};
enum { PX_EQ, PX_NE, PX_LT, PX_LE, PX_GT, PX_GE, PX_HAS, PX_BEGINS };

/* -- documents */

/* The nodes of a document as the scan reports them; offsets are into `data`. */
typedef struct {
    px_bytes data;
    int32_t rows, leaves, attributes;
    const int32_t *parent, *symbol;
    const int64_t *start, *content, *close, *end;
    const int32_t *leaf_parent, *leaf_number;
    const int8_t *leaf_kind; /* as in scan.h */
    const int64_t *leaf_start, *leaf_end;
    const int32_t *attribute_row, *attribute_symbol, *attribute_number;
    const int64_t *attribute_start, *attribute_end; /* of the value */
} px_input;

/* The value of a node. */
typedef struct {
    px_bytes at; /* NULL: not known yet */
    double number;
    uint32_t length;
    int32_t string; /* the constant that it equals; -1: none; PX_UNKNOWN */
    uint8_t has_number;
} px_value;

enum { PX_UNKNOWN = -2 };

/* A text node: neighbouring leaves of one element. */
typedef struct {
    int32_t row, first, end, number;
} px_text;

typedef struct px_block px_block;

/* Whether a condition that does not depend on a node holds for the constants of a row: rules say at
 * each of their candidates what holds in the whole document. */
enum { PX_KNOWN = 64 };
typedef struct {
    const int32_t *condition;
    const px_cell *cells;
    uint32_t turn; /* of the document */
    int holds;
} px_known;

/* A document with what is derived. Nodes have numbers: elements their rows, then attributes, then
 * texts by element. The document node is -1. */
typedef struct {
    px_input in;
    int32_t *last;  /* the row behind an element's subtree */
    int32_t *depth; /* the root has 1 */
    int32_t *attribute_first, *text_first; /* for each row, and one more */
    px_text *texts;
    int32_t nodes;
    px_value *values;
    int64_t budget; /* nodes that may still be looked at, bytes that may be copied */
    size_t last_room, depth_room, attribute_room, text_first_room, text_room, value_room;
    px_block *arena; /* for values that are not as in the document */
    int32_t *set; /* a set of nodes */
    size_t set_count, set_room;
    uint8_t *made; /* strings on the way, see `texts.c` */
    size_t made_count, made_room;
    int32_t *by_name;    /* rows by symbol, each symbol's ascending */
    int32_t *name_first; /* for each symbol, and one more */
    int32_t names;       /* symbols; -1: the rows are not sorted yet */
    size_t by_name_room, name_room;
    px_known known[PX_KNOWN]; /* by condition and row; those of other turns are not valid */
    uint32_t turn;
} px_document;

int px_document_begin(px_document *d, const px_input *in, int with_texts);
void px_document_free(px_document *d);
size_t px_document_arena(const px_document *d); /* in bytes */
/* The value of a node; NULL: no memory, or the budget is spent. */
const px_value *px_value_make(px_document *d, int32_t node);
static inline const px_value *px_value_of(px_document *d, int32_t node)
{
    return PX_LIKELY(d->values[node].at != NULL) ? &d->values[node] : px_value_make(d, node);
}
int px_value_number(px_document *d, int32_t node, double *number);
int px_value_string(px_document *d, const px_strings *strings, int32_t node, int32_t *string);
/* The rows of elements with a name, from `first` on and before `end`. */
int px_rows_named(px_document *d, int32_t symbol, int32_t first, int32_t end, const int32_t **begin,
                  const int32_t **behind);
/* Where a node is: in document order, nodes have ascending places. */
int64_t px_place_of(const px_document *d, int32_t node);

/* -- conditions: 1, 0, or -PX_MEMORY, -PX_COSTLY: the budget is spent */

typedef struct {
    px_document *document;
    const px_registry *registry;
    const px_cell *cells; /* the row's constants */
} px_context;

int px_holds(px_context *c, const int32_t *condition, int32_t node);
int px_holds_anywhere(px_context *c, const int32_t *condition); /* at the document node; known if asked again */
/* Whether a step's condition holds at a node, and the steps behind it select something. */
int px_holds_at(px_context *c, const int32_t *path, int32_t step, int32_t node);
/* Selects nodes from `node` into the document's set, behind those that are there; each once. */
int px_select(px_context *c, const int32_t *path, int32_t node);
/* Visits the nodes that a path selects from `node`, until a visit returns something else than 0. */
typedef int (*px_visitor)(px_context *c, void *context, int32_t node);
int px_visit_path(px_context *c, const int32_t *path, int32_t node, px_visitor visit, void *context);
int px_exists(px_context *c, const int32_t *path); /* from the document node */
/* The first node that a path selects, in document order; -1: none. */
int px_first_of(px_context *c, const int32_t *path, int32_t node, int32_t *first);
int px_texts_hold(px_context *c, const int32_t *condition, int32_t node); /* texts.c */
int px_text_test(px_bytes at, size_t length, int operator_, const px_string *constant);

static inline int px_compare(double left, int operator_, double right)
{
    switch (operator_) {
    case PX_EQ:
        return left == right;
    case PX_NE:
        return left != right;
    case PX_LT:
        return left < right;
    case PX_LE:
        return left <= right;
    case PX_GT:
        return left > right;
    default:
        return left >= right;
    }
}

/* -- states */

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

/* -- matching */

enum { PX_SELECT_DOC, PX_SELECT_COUNT, PX_SELECT_NODES };
enum { PX_IS_ELEMENT, PX_IS_ATTRIBUTE, PX_IS_TEXT };

/* Columns of results, sorted by unit and query. */
typedef struct {
    int32_t *unit, *query;
    int64_t *value;  /* the number of nodes; for PX_SELECT_NODES, kind << 32 | row of the element */
    int32_t *number; /* PX_SELECT_NODES: of the attribute or text in its element */
    size_t count, unit_room, query_room, value_room, number_room;
} px_results;

/* A set of numbers as bits, with a byte for each line of words that are not all 0, and again one for
 * so many lines. Bytes, for they are written without being read: the next number need not wait. */
enum { PX_LINE = 8, PX_LINE_BITS = 9, PX_TOP_BITS = 15 };

typedef struct {
    uint64_t *bits;
    uint8_t *lines, *tops;
    size_t bit_room, line_room, top_room;
} px_set;

typedef struct {
    uint64_t documents, elements, slots, candidates, evaluated, matches, known;
} px_figures;

/* The names of a document's nodes, and the owners of queries without values that match it. */
typedef struct {
    uint64_t hash;
    int32_t *words; /* and behind them the owners, ascending */
    const int32_t *owners;
    size_t word_count, owner_count;
    uint8_t used; /* it was seen since shapes were forgotten */
} px_shape;

typedef struct {
    uint64_t changes; /* of the registry, when they were made */
    px_shape *items;
    size_t count, room, bytes, most_bytes;
    px_map by_hash;
    uint64_t *seen; /* some hashes of shapes that are not kept */
    int32_t *words; /* of the present document */
    size_t word_count, word_room;
    uint64_t hash;
    int keep; /* whether it is to be kept */
} px_shapes;

/* An anchor at which a row was found, and the one that was noted before it; -1. */
typedef struct {
    int32_t node, next;
} px_noted;

/* The last anchor of a row, in the document with this stamp. */
typedef struct {
    uint64_t stamp;
    int32_t last;
} px_note;

/* Anchors by the first owners of rows. */
typedef struct {
    int wanted, failed; /* failed: there was no memory */
    px_note *notes;
    px_noted *items;
    size_t note_room, count, room;
} px_bindings;

/* A node at which a heavy slot was found. */
typedef struct {
    int32_t node, anchor, next;
} px_found;

/* A state of the document, and where its anchors begin. */
typedef struct {
    int32_t state;
    uint32_t anchors;
} px_seen;

/* A node with a state. */
typedef struct {
    int32_t state, row; /* of the node's element */
} px_arrival;

/* What the values at one anchor mean for the constants of a clause's rows. */
typedef struct {
    uint64_t stamp;
    int32_t anchor;
    uint32_t operands;     /* one for each check */
    uint32_t tests, count; /* checks that are a comparison of the constant */
    uint8_t never;         /* no row passes */
    uint8_t more;          /* there are other checks */
} px_prepared;

typedef struct {
    int32_t cell, operator_; /* PX_EQ to PX_GE: the constant compares so with the number; or */
    double number;
    int32_t string; /* with PX_HAS it is this string, with PX_BEGINS another one */
} px_test;

typedef struct {
    uint32_t begin, count; /* nodes */
    double low, high;      /* NaN: none */
    double number;         /* of the only node */
    int32_t string;
    int32_t nan; /* how many are no numbers */
} px_operand;

typedef struct {
    uint64_t hash;
    int32_t node, slot;
} px_ahead;

typedef struct {
    const px_registry *registry;
    int select;
    int64_t budget; /* nodes that the conditions on one document may look at */
    px_states states;
    px_document document;
    px_context context;
    uint64_t stamp; /* of the document */

    int32_t *state; /* of each row */
    int32_t *rank;  /* of each row among the elements with children; -1: it has none */
    uint64_t *bit;  /* of each row, as an anchor: see `anchors.c` */
    int32_t *open;  /* the open elements, by depth */
    size_t state_room, rank_room, bit_room, open_room;
    int32_t windows; /* of anchors that have bits of their own */
    px_seen *seen;
    uint64_t *anchors; /* for each group of each of these states, as bits */
    px_arrival *arrivals; /* if there are several windows: all nodes with states, in order */
    size_t seen_count, seen_room, anchor_count, anchor_room, arrival_count, arrival_room;

    uint64_t *mask; /* for each slot the anchors below which it was found */
    int32_t *first, *last; /* for each slot the nodes at which it was found */
    uint32_t *presence; /* for each slot, in how many of the documents that were counted */
    size_t mask_room, first_room, last_room, presence_room;
    int32_t *present, *heavy; /* slots that were found; heavy ones among them */
    size_t present_count, present_room, heavy_count, heavy_room;
    px_found *found;
    size_t found_count, found_room;
    uint64_t counted; /* documents */
    uint64_t numbering; /* of the registry, when they were */
    int counting; /* whether this document is one of them */
    px_map tally; /* `px_presence.values` */
    px_sample **samples; /* for each slot */
    size_t sample_room;

    px_prepared *prepared; /* for each clause */
    px_operand *operands;
    px_test *tests;
    int32_t *nodes; /* of operands */
    int32_t *chosen; /* rows that pass */
    size_t prepared_room, operand_count, operand_room, node_count, node_room, test_count, test_room;
    size_t chosen_room;
    uint64_t guard_bits[1024]; /* the values of the document that are guards */
    uint16_t guards[512];      /* which bits are set, if these are not more */
    uint32_t guard_count;
    px_ahead *ahead; /* values of the document that postings may lead from */
    size_t ahead_room;
    uint64_t *visited; /* for each string, the last search that found it */
    size_t visited_room;
    uint64_t search;

    px_shapes shapes;
    px_set hits, maybe;
    px_bindings bindings;
    px_results results, candidates;
    px_figures figures;
} px_machine;

px_machine *px_machine_new(const px_registry *r, int select, size_t most_bytes, int64_t budget);
void px_machine_free(px_machine *m);
size_t px_machine_memory(const px_machine *m);
/* Matches one document, and adds its results with the number of the unit. PX_COSTLY: there are none,
 * the document must be matched in another way. */
int px_match(px_machine *m, const px_input *in, int32_t unit);

/* Posts rows and numbers slots anew, by what a machine has seen. No machine may be matching.
 * PX_MEMORY: the registry is of no use any more. */
int px_adapt(px_registry *r, px_machine *m);

/* -- within the engine */

#define PX_DOCUMENT_BIT ((uint64_t)1)
#define PX_LEAF_BIT ((uint64_t)1 << 63)

static inline void px_set_add(const px_set *set, int32_t number)
{
    set->bits[number >> 6] |= (uint64_t)1 << (number & 63);
    set->lines[number >> PX_LINE_BITS] = 1;
    set->tops[number >> PX_TOP_BITS] = 1;
}

static inline int px_set_has(const px_set *set, int32_t number)
{
    return set->bits[number >> 6] >> (number & 63) & 1;
}

static inline void px_match_crowd(px_machine *m, px_set *set, int32_t crowd)
{
    const px_crowd *all = &m->registry->crowds[crowd];
    const int32_t *owners = all->owners;
    const px_set local = *set; /* bytes that are written may be anything, also these pointers */
    for (uint32_t i = 0, count = all->count; i < count; i++)
        px_set_add(&local, owners[i]);
}

/* Adds an owner, or the crowd whose complement is given. */
static inline void px_match_owner(px_machine *m, px_set *set, int32_t owner)
{
    if (PX_LIKELY(owner >= 0))
        px_set_add(set, owner);
    else
        px_match_crowd(m, set, ~owner);
}

static inline void px_match_row(px_machine *m, const px_template *t, int32_t row)
{
    px_set *set = t->exact ? &m->hits : &m->maybe;
    int32_t owner = t->owner[row], crowd = m->registry->owners[owner].crowd;
    px_match_owner(m, set, crowd < 0 ? owner : ~crowd);
}

/* bindings.c: notes the anchor at which the row of an owner, or of a crowd, was found */
void px_note_anchor(px_machine *m, int32_t named, int32_t anchor);
void px_bindings_free(px_bindings *b);
/* Takes the nodes that a query selects into the document's set, in document order. */
int px_bound_nodes(px_machine *m, int32_t query);
int px_select_query(px_machine *m, int32_t owner); /* results.c: the same, by its path */

static inline void px_note_bound(px_machine *m, int32_t named, int32_t anchor)
{
    if (PX_UNLIKELY(m->bindings.wanted))
        px_note_anchor(m, named, anchor);
}

/* statistics.c: counts the value of a node, and forgets all that was counted */
int px_count_value(px_machine *m, const px_state *state, int32_t node);
void px_forget_values(px_machine *m);
int px_find_states(px_machine *m); /* anchors.c: the states of all nodes */
void px_find_slots(px_machine *m); /* the slots of these states, with all anchors */
void px_find_slots_in(px_machine *m, int32_t window); /* the same, with the anchors of one window */
void px_forget_slots(px_machine *m);
/* checks.c: tries rows of one clause that were found at one anchor */
int px_try_rows(px_machine *m, int32_t clause, int32_t *rows, uint32_t count, int32_t anchor);
/* guards.c */
void px_choose_guards(const px_template *t, px_clause *c);
uint32_t px_guard_of(const px_registry *r, const px_template *t, const px_clause *c, int32_t row);
int px_set_guards(px_machine *m);

static inline int px_guard_passes(const px_machine *m, uint32_t guard)
{
    uint32_t one = guard & 0xFFFF, other = guard >> 16;
    return m->guard_bits[one >> 6] >> (one & 63) & m->guard_bits[other >> 6] >> (other & 63) & 1;
}

/* ahead.c: finds the strings of a document's values, sets its guards, and loads what values lead to
 * into the cache */
int px_look_ahead(px_machine *m);
/* postings.c: tries what the slots lead to; by simple postings, and by all others */
int px_try_simple(px_machine *m);
int px_try_others(px_machine *m);
/* shapes.c: what is known of documents of this shape; NULL: nothing */
int px_shapes_find(px_machine *m, const px_shape **found);
void px_shapes_keep(px_machine *m, const int32_t *owners, size_t count);
void px_shapes_free(px_shapes *s);
/* results.c: `known` are further owners that match */
int px_add_results(px_machine *m, int32_t unit, const px_shape *known);
int px_keep_matches(px_machine *m); /* what matches so far is kept for the shape */
void px_drop_matches(px_machine *m);

static inline int px_lowest_bit(uint64_t word)
{
#if defined(__GNUC__)
    return __builtin_ctzll(word);
#else
    int n = 0;
    while (!(word >> n & 1))
        n++;
    return n;
#endif
}

#endif
