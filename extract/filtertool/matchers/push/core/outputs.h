/* What queries make of a document.
 *
 *   outputs.c       programs of queries; the results of a document, each once
 *   writing.c       the operations of programs
 *   ordering.c      `order by`
 *   declarations.c  the declarations of namespaces that a copy of an element needs
 *   bindings.c      the nodes that programs are run for
 */
#ifndef EXTRACT_PUSH_OUTPUTS_H
#define EXTRACT_PUSH_OUTPUTS_H

#include "push.h"

/* A program, as words: operation, words behind this one, operands. A *list* is the number of a path
 * (see `px_made_list`), whether it is absolute and in document order, and the path.
 *
 *   PX_WRITE       offset, length: characters of the program's text
 *   PX_COPY        whether a default namespace is declared around it, list: the nodes, each whole;
 *                  attributes are left out
 *   PX_VALUES      list: the values of nodes with a space between them, in an attribute
 *   PX_STRING      in an attribute, list: the value of the first node
 *   PX_NUMBER      list: how many nodes there are
 *   PX_SPECIFY     offset, length, list: an attribute with this name, if there is a node
 *   PX_KEY         kind of key, whether descending, list
 *
 * The first operation writes what comes before all results, the last one what comes after them; those
 * between are done for each bound node. Keys stand first among these, and order the bound nodes. */
enum { PX_WRITE, PX_COPY, PX_VALUES, PX_STRING, PX_NUMBER, PX_SPECIFY, PX_KEY };

/* How the nodes of a list are found: from the document node; in document order without sorting. */
enum { PX_ABSOLUTE = 1, PX_IN_ORDER = 2 };

/* Kinds of keys: the value of the first node, and none is less than all; the same as string(), as
 * number(); the number of nodes. */
enum { PX_KEY_FIRST, PX_KEY_STRING, PX_KEY_NUMBER, PX_KEY_COUNT };

typedef struct {
    int32_t *words; /* NULL: free, then `uses` is the next free one plus 1 */
    size_t count;   /* of words */
    uint8_t *text;
    px_cell *cells;
    uint8_t *strings; /* for each cell whether it is a string */
    size_t width;     /* of cells */
    size_t uses;      /* queries */
    int texts;        /* whether it looks at text nodes */
} px_program;

typedef struct {
    px_program *programs;
    size_t count, room, free; /* the first free one plus 1 */
    int32_t *of_query; /* the program of each query; -1: none */
    size_t query_room;
    int32_t **paths; /* paths without constants, each once; they stay as long as all programs */
    size_t path_count, path_room;
    px_map path_numbers; /* hash -> number */
} px_programs;

/* Lists of nodes that paths without constants select from a node: in a document each is made once, as
 * long as no other one needs its place. */
enum { PX_LISTS = 1 << 13 };

typedef struct {
    uint64_t key, stamp; /* number of the path and node; of the document */
    uint32_t begin, count;
} px_made_list;

/* Results of a document: again each is made once. */
typedef struct {
    uint64_t key, stamp; /* program, and bound node or owner */
    int32_t text;
} px_made_text;

/* A declaration of a namespace: where it and its prefix are. */
typedef struct {
    int64_t begin, end;
    int64_t prefix;
    int32_t length; /* of the prefix; 0: it is the default one */
    uint8_t empty;  /* its namespace is none */
} px_declaration;

typedef struct {
    uint64_t stamp; /* of the document */
    int present;    /* whether there may be any */
    px_declaration *items;
    int32_t *first;   /* for each row, and one more */
    int32_t *nearest; /* for each row the next element up, or itself, that has some; -1 */
    size_t count, room, first_room, nearest_room;
    uint8_t *text; /* what was written last, or for the elements below `text_of` */
    size_t length, text_room;
    int32_t text_of; /* -1: another element */
    int has_default;
} px_declarations;

/* Results: for each text where its bytes end, and whether it was too long and has none; for each row
 * the document, the query and the text. */
typedef struct {
    uint8_t *bytes;
    size_t used, byte_room;
    int64_t *end;
    int8_t *too_long;
    size_t texts, end_room, long_room;
    int32_t *unit, *query, *text;
    size_t count, unit_room, query_room, text_room;
    size_t most; /* bytes of one result */
    int32_t *bound; /* the nodes of a query */
    size_t bound_room;
    px_made_list *lists;
    px_made_text *made;
    int32_t *nodes; /* of these lists */
    size_t node_count, node_room;
    px_declarations declarations;
    struct px_keyed *keyed; /* see `ordering.c` */
    int32_t *order;
    size_t keyed_room, order_room;
    uint64_t sorted; /* lists that had to be sorted so far */
} px_outputs;

/* Adds a program without queries; it takes the memory over. Returns its number, -1: no memory. */
int32_t px_program_add(px_programs *p, px_registry *r, px_program program);
/* Gives a query a program, or none (-1); a program without queries is dropped, and its strings are
 * released. PX_MEMORY: nothing has changed. */
int px_program_assign(px_programs *p, px_registry *r, int32_t query, int32_t program);
void px_programs_free(px_programs *p);

/* Writes the results of a document that was just matched, for its rows from `first` on, which are
 * then gone. PX_COSTLY: there are too many nodes to look at. */
int px_write_outputs(px_outputs *o, const px_programs *p, px_machine *m, size_t first, int32_t unit);
void px_outputs_free(px_outputs *o);

/* -- among these files */

enum { PX_TOO_LONG = 3 }; /* beside PX_OK, PX_MEMORY, PX_COSTLY; functions below return them negated */

typedef struct {
    px_outputs *o;
    px_machine *m;
    const px_program *program;
    size_t begin; /* of the result */
} px_writing;

typedef struct {
    const int32_t *nodes; /* until the next list */
    size_t count;
} px_nodes;

/* writing.c: one operation; the nodes of a list, in document order */
int px_write(px_writing *w, const int32_t *operation, int32_t node);
int px_list_nodes(px_writing *w, const int32_t *list, int32_t node, px_nodes *nodes);
/* ordering.c: orders the bound nodes by keys, which begin here; those that follow are `*behind` */
int px_order_bound(px_writing *w, const int32_t *keys, const int32_t *end, int32_t *bound, size_t count);
/* declarations.c: makes `text` and `has_default` of the declarations that are in scope at an element
 * and are not its own; whether it has a default one of its own */
int px_declare(px_declarations *s, px_machine *m, int32_t row, int *own_default);
void px_declarations_free(px_declarations *s);

#endif
