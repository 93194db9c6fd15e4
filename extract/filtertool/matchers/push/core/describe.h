/* Descriptions of the nodes that queries select: kind, name, span, path, value and text.
 *
 * They are made right after a document is matched, while its nodes are still there. Each node of a
 * document is described once, and rows refer to it. */
#ifndef EXTRACT_PUSH_DESCRIBE_H
#define EXTRACT_PUSH_DESCRIBE_H

#include "push.h"

/* Strings one after the other; some are missing. */
typedef struct {
    int32_t *ends; /* of each string in `bytes` */
    uint8_t *bytes;
    uint8_t *missing; /* for each string whether it is */
    size_t used, end_room, byte_room, missing_room;
    size_t holes; /* how many are missing */
} px_strings_column;

enum { PX_D_KIND, PX_D_NAME, PX_D_PATH, PX_D_VALUE, PX_D_TEXT, PX_STRING_COLUMNS };

typedef struct {
    /* settings */
    int64_t value_bytes;            /* longer values are left out; -1: none are */
    int64_t most_rows, most_bytes;  /* of a document: rows, and rows times its bytes */
    const int32_t *conditions;      /* queries that are true or false of a document, ascending */
    size_t condition_count;

    /* nodes */
    size_t nodes;
    int64_t *start, *end; /* -1: none */
    px_strings_column strings[PX_STRING_COLUMNS];

    /* rows */
    size_t rows;
    int32_t *query, *node; /* the node's number among those of its document */
    int64_t *ordinal;      /* the row's number among those of its query and document */

    /* documents */
    size_t units;
    int8_t *described; /* whether all rows of the engine are there; else none are */
    int64_t *row_end, *node_end;

    int32_t *places; /* by number of a node: its description; -1 */
    size_t place_room, filled_places, start_room, end_room, query_room, node_room, ordinal_room;
    size_t described_room, row_end_room, node_end_room;
} px_descriptions;

void px_descriptions_begin(px_descriptions *d);
/* Describes what a machine has found in the document that it has just matched: the results from
 * `first` on, and the values from `value` on. Queries among the candidates from `open` on get no row.
 * PX_MEMORY: nothing was added. */
int px_describe(px_descriptions *d, px_machine *m, const int32_t *position, size_t first, size_t open,
                size_t value);
/* Takes note of a document that is not described. */
int px_describe_nothing(px_descriptions *d);
void px_descriptions_free(px_descriptions *d);

#endif
