/* What queries make of a document: see `outputs.c`. */
#ifndef EXTRACT_PUSH_OUTPUTS_H
#define EXTRACT_PUSH_OUTPUTS_H

#include "push.h"

/* A program, as words: operation, words behind this one, operands.
 *
 *   PX_WRITE       offset, length: characters of the program's text
 *   PX_COPY        absolute, path: the nodes, each whole; attributes are left out
 *   PX_VALUES      absolute, path: the values of nodes with a space between them, in an attribute
 *   PX_STRING      in an attribute, absolute, path: the value of the first node
 *   PX_NUMBER      absolute, path: how many nodes there are
 *   PX_SPECIFY     offset, length, absolute, path: an attribute with this name, if there is a node
 *
 * The first operation writes what comes before all results, the last one what comes after them; those
 * between are done for each bound node. */
enum { PX_WRITE, PX_COPY, PX_VALUES, PX_STRING, PX_NUMBER, PX_SPECIFY };

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
} px_programs;

/* Results: for each the document and the query, where its bytes end, and whether it was too long and
 * has none. */
typedef struct {
    uint8_t *bytes;
    size_t used, byte_room;
    int32_t *unit, *query;
    int64_t *end;
    int8_t *too_long;
    size_t count, unit_room, query_room, end_room, long_room;
    size_t most; /* bytes of one result */
} px_outputs;

/* Adds a program without queries; it takes the memory over. Returns its number, -1: no memory. */
int32_t px_program_add(px_programs *p, px_registry *r, px_program program);
/* Gives a query a program, or none (-1); a program without queries is dropped, and its strings are
 * released. PX_MEMORY: nothing has changed. */
int px_program_assign(px_programs *p, px_registry *r, int32_t query, int32_t program);
void px_programs_free(px_programs *p);

/* Writes the results of a document that was just matched with PX_SELECT_NODES, for its rows from
 * `first` on; rows of queries without a program stay. PX_COSTLY: there are too many nodes to look at,
 * or declarations of namespaces, which copies would need. */
int px_write_outputs(px_outputs *o, const px_programs *p, px_machine *m, size_t first);
void px_outputs_free(px_outputs *o);

#endif
