/* The values that queries compare, as columns: see `values.c`. */
#ifndef EXTRACT_SQL_VALUES_H
#define EXTRACT_SQL_VALUES_H

#include "push.h"

/* A frame, as words: for each level the level that it starts from, an earlier one, or -1 for the document
 * node; the number of words of the path from there, this path, the number of columns, and for each column
 * its kind, what is wanted of values, the number of words behind this one, and what they are about:
 *
 *   VL_NODES, VL_FIRST, VL_COUNT   absolute, path
 *   VL_HOLDS                       condition
 */
enum { VL_NODES, VL_FIRST, VL_COUNT, VL_HOLDS };
enum { VL_STRINGS = 1, VL_NUMBERS = 2 };
enum { VL_LEVELS = 32 };
enum { VL_PRODUCT = 1 << 16 }; /* rows of a document, where levels are beside each other */

/* Lists of values, one for each row. */
typedef struct {
    int64_t *end; /* of each row: where its values end */
    int64_t *text_end; /* of each value: where its text ends */
    uint8_t *text;
    double *number;
    size_t count, text_used; /* values, bytes */
    size_t end_room, text_end_room, text_room, number_room;
} vl_column;

typedef struct {
    int32_t *words;
    int32_t levels, width;
    int is_product; /* whether levels are beside each other: then rows multiply */
    int32_t *unit; /* of each row: the document */
    size_t rows, unit_room;
    vl_column *columns;
} vl_frame;

typedef struct {
    px_registry registry; /* only names are used */
    px_document document;
    px_context context;
    vl_frame *frames;
    size_t count, room;
    int with_texts;
    int64_t budget; /* nodes to look at in one document, and bytes to copy */
} vl_scan;

/* Adds a frame; PX_MEMORY: nothing has changed. */
int vl_frame_add(vl_scan *s, const int32_t *words, size_t count, int32_t levels, int32_t width);
/* Adds the rows of a document. PX_MEMORY, PX_COSTLY: there are none. */
int vl_document(vl_scan *s, const px_input *in, int32_t unit);
void vl_clear(vl_scan *s); /* forgets all rows */
void vl_free(vl_scan *s);
/* Puts pairs of a document and a subscription in order, and leaves out what comes twice. `at` has room for
 * `documents` + 1 numbers, `room` for `count`. Returns how many pairs there are then. */
size_t vl_order(const int32_t *unit, const int64_t *seq, size_t count, int32_t documents, size_t *at,
                int64_t *room, int32_t *units, int64_t *seqs);

#endif
