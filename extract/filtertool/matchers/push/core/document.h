/* The nodes of one document, and their values. */
#ifndef EXTRACT_PUSH_DOCUMENT_H
#define EXTRACT_PUSH_DOCUMENT_H

#include "constants.h"

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
enum { PX_LEAF_COMMENT = 4 }; /* the kind of leaves that are comments, as in scan.h */

/* A text node: neighbouring leaves of one element. */
typedef struct {
    int32_t row, first, end, number;
} px_text;

typedef struct px_block px_block;

/* Whether a condition that does not depend on a node holds for the constants of a row, what such a
 * number is, or which nodes a step leads to from a node: see `known.c`. */
typedef struct {
    const int32_t *words;
    const px_cell *cells;
    uint64_t stamp; /* it holds if that is the document's */
    double number;
    size_t first, count, at; /* of nodes: where they are noted, and the one that was asked for last */
    int64_t share;           /* steps that each node that is asked for is charged */
    int32_t from;
    int32_t holds;
} px_known;

/* What a condition is at nodes, in one evaluation: see `truths.c`. */
typedef struct {
    const int32_t *condition;
    uint64_t evaluation;
    int64_t spent;  /* steps, to find it out */
    uint8_t *holds; /* by node; the document node is before the first */
    size_t room;
    uint8_t kept;  /* whether `holds` is filled in */
    uint8_t whole; /* whether all nodes were, or are, looked at together */
} px_truth;

/* A document with what is derived. Nodes have numbers: elements their rows, then attributes, then
 * texts by element, then comments and processing instructions. The document node is -1. */
typedef struct {
    px_input in;
    int32_t *last;  /* the row behind an element's subtree */
    int32_t *depth; /* the root has 1 */
    int32_t *attribute_first, *text_first; /* for each row, and one more */
    int32_t *leaf_first; /* for each row: the first leaf behind its start tag */
    int leaves_known;    /* whether that is filled in */
    uint8_t **whole_at;  /* where the text of each leaf is in that of the document, and one more */
    int whole_known;     /* whether that is filled in */
    size_t copied;       /* bytes of texts that are not as in the document */
    px_text *texts;
    int32_t text_end; /* the number behind those of texts */
    int32_t *others;  /* the leaves that are comments and processing instructions */
    int32_t nodes;
    int64_t size; /* elements, attributes and leaves: whether a query asks for texts or not, which the number of
                     nodes depends on; steps of a query are the same whatever other queries there are */
    px_value *values;
    int64_t budget; /* steps that the present evaluation may still take */
    size_t last_room, depth_room, leaf_room, whole_room, attribute_room, text_first_room, text_room, other_room, value_room;
    px_block *arena; /* for values that are not as in the document */
    int32_t *set; /* a set of nodes */
    size_t set_count, set_room;
    uint8_t *made; /* strings on the way, see `texts.c` */
    size_t made_count, made_room;
    int32_t *by_name;    /* rows by symbol, each symbol's ascending */
    int32_t *name_first; /* for each symbol, and one more */
    int32_t names;       /* symbols; -1: the rows are not sorted yet */
    size_t by_name_room, name_room;
    px_known *known; /* hashed by words, row and node; NULL: none yet */
    size_t known_size, known_count;
    int32_t *noted; /* nodes */
    size_t noted_count, noted_room;
    uint64_t stamp; /* of what is known */
    uint64_t evaluation; /* of one query: what is known of conditions holds for it alone */
    px_truth *truths;
    size_t truth_count, truth_room, truths_kept;
    int32_t *nearest; /* working memory of `truths.c` */
    size_t nearest_room;
} px_document;

int px_document_begin(px_document *d, const px_input *in, int with_texts);
void px_forget_known(px_document *d);
void px_document_free(px_document *d);
size_t px_document_arena(const px_document *d); /* in bytes */
void px_document_forget(px_document *d); /* the values that are in it */
/* truths.c: from now on nothing is known of any condition */
void px_truths_begin(px_document *d);
void px_truths_free(px_document *d);
size_t px_truths_memory(const px_document *d);
/* The value of a node; NULL: no memory. */
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
/* The name of a node as it is written; NULL: texts and comments have none. */
px_bytes px_name_of(const px_document *d, int32_t node, size_t *length);
/* The leaf of a comment or processing instruction. */
static inline int32_t px_leaf_of(const px_document *d, int32_t node) { return d->others[node - d->text_end]; }
/* The namespace of a node: 0 with its bytes, or an error. */
int px_namespace_of(px_document *d, int32_t node, px_bytes *at, size_t *length);
/* The element before another one that has the same parent; -1: there is none. */
static inline int32_t px_previous_sibling(const px_document *d, int32_t row)
{
    int32_t parent = d->in.parent[row], before = row - 1;
    if (parent < 0 || before <= parent)
        return -1;
    while (d->in.parent[before] != parent)
        before = d->in.parent[before];
    return before;
}
/* Where a node is: in document order, nodes have ascending places. */
int64_t px_place_of(const px_document *d, int32_t node);

#endif
