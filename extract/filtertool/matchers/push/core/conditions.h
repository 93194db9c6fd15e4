/* Programs, which are conditions and paths as words, and their evaluation. */
#ifndef EXTRACT_PUSH_CONDITIONS_H
#define EXTRACT_PUSH_CONDITIONS_H

#include "document.h"
#include "registry.h"

/* Words of programs.
 *
 * path:       number of steps; for each axis, test, words of its condition, the condition
 *             from PX_EXACTLY on: axis, test, words of its predicates, predicates, each a condition
 *             PX_UNION: axis, 0, words behind this one, words of the paths, paths, predicates; each
 *             path has its words before it, and whether it is absolute
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
 *   PX_CALCULATED                   operator, number, number: the first one compares so with the second
 *   PX_COMPARE_CALCULATED            operator, number, absolute, path: so does one of its nodes with it
 *   PX_TRUTH                     a number: it is neither 0 nor NaN
 *   PX_NODES                     operator, words of the first, absolute, path, absolute, path: so does
 *                                a node of the first path with one of the second
 *   PX_COMPARE_TEXT              operator, text, absolute, path: so does one of its nodes with it
 *   PX_SELECTED                  absolute, path: it selects a node other than the document node; the
 *                                nodes are results
 *   PX_RESULT                    a number: holds always, the number is a result
 *   PX_RESULT_TEXT               a text: the same
 *   PX_AMONG                     whether it has no cells, a step to children, from PX_EXACTLY on: the node
 *                                is one of those that it leads to from its parent
 * text:       operation, words behind this one, operands
 *   PX_TEXT_LITERAL              number of bytes, the bytes
 *   PX_TEXT_CELL                 cell
 *   PX_TEXT_VALUE                absolute, path: the value of the first node, or nothing
 *   PX_TEXT_NORMAL               a text
 *   PX_TEXT_BEFORE, PX_TEXT_AFTER  two texts
 *   PX_TEXT_TOGETHER             texts
 *   PX_TEXT_TRANSLATED           three texts: in the first, characters of the second become those of the third
 *   PX_TEXT_PART                 a text, the number of its first character, and perhaps how many
 *   PX_TEXT_NAME                 local, absolute, path: the name of the first node, or nothing
 *   PX_TEXT_NAMESPACE            absolute, path: the namespace of the first node, or nothing
 *   PX_TEXT_NUMBER               a number, as libxml2 writes it
 *   PX_TEXT_TRUTH                a condition: true or false
 * number:     operation, words behind this one, operands
 *   PX_NUMBER_LITERAL            the bytes of a double
 *   PX_NUMBER_CELL               cell
 *   PX_NUMBER_COUNT, PX_NUMBER_SUM   absolute, path: of its nodes
 *   PX_NUMBER_VALUE, PX_NUMBER_LENGTH  a text: as a number, its number of characters
 *   PX_NUMBER_HERE, PX_NUMBER_SIZE  in a predicate of `axes.c`: the position of the node, and how many
 *                                nodes there are
 *   PX_NUMBER_TRUTH              a condition: 1 or 0
 *   others                       one or two numbers
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
    PX_LENGTH,
    PX_CALCULATED,
    PX_COMPARE_CALCULATED,
    PX_TRUTH,
    PX_RESULT,
    PX_NODES,
    PX_COMPARE_TEXT,
    PX_SELECTED,
    PX_RESULT_TEXT,
    PX_AMONG
};
enum {
    PX_TEXT_LITERAL,
    PX_TEXT_CELL,
    PX_TEXT_VALUE,
    PX_TEXT_NORMAL,
    PX_TEXT_BEFORE,
    PX_TEXT_AFTER,
    PX_TEXT_TOGETHER,
    PX_TEXT_TRANSLATED,
    PX_TEXT_PART,
    PX_TEXT_NAME,
    PX_TEXT_NUMBER,
    PX_TEXT_TRUTH,
    PX_TEXT_NAMESPACE
};
enum {
    PX_NUMBER_LITERAL,
    PX_NUMBER_CELL,
    PX_NUMBER_COUNT,
    PX_NUMBER_SUM,
    PX_NUMBER_VALUE,
    PX_NUMBER_LENGTH,
    PX_NUMBER_MINUS,
    PX_NUMBER_ADD,
    PX_NUMBER_SUBTRACT,
    PX_NUMBER_MULTIPLY,
    PX_NUMBER_DIVIDE,
    PX_NUMBER_MODULO,
    PX_NUMBER_FLOOR,
    PX_NUMBER_CEILING,
    PX_NUMBER_ROUND,
    PX_NUMBER_HERE,
    PX_NUMBER_SIZE,
    PX_NUMBER_TRUTH
};
enum { PX_EQ, PX_NE, PX_LT, PX_LE, PX_GT, PX_GE, PX_HAS, PX_BEGINS };

/* Conditions are 1, 0, or -PX_MEMORY, -PX_COSTLY: the budget is spent. */

/* The position of a node among those that a predicate is about, and how many these are. */
typedef struct {
    double number, size;
    int asked; /* whether one of them was asked for */
} px_among;

typedef struct {
    px_document *document;
    const px_registry *registry;
    const px_cell *cells; /* the row's constants */
    px_among position; /* while predicates of `axes.c` are evaluated */
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
/* A text as a number, or the number of its characters. */
int px_text_number(px_context *c, const int32_t *text, int32_t node, int length, double *number);
/* A text, until another one is made: 0, or an error as above. */
int px_text_bytes(px_context *c, const int32_t *text, int32_t node, px_bytes *at, size_t *length);
enum { PX_NUMBER_BYTES = 40 }; /* of a number as text, at most */
void px_write_number(double number, char out[PX_NUMBER_BYTES]); /* as libxml2 does */
/* numbers.c: 0 with the number, or an error as above */
int px_number(px_context *c, const int32_t *expression, int32_t node, double *number);
int px_numbers_hold(px_context *c, const int32_t *condition, int32_t node);
/* evaluate.c: whether a step selects a node that its axis leads to */
int px_step_passes(px_context *c, const int32_t *step, int32_t node);
int px_has_name(const px_context *c, int32_t symbol, int32_t test);
int px_push_node(px_document *d, int32_t node); /* adds it to the document's set */
void px_sort_set(px_document *d, size_t begin); /* ascending, each node once */
int px_sort_by_place(px_document *d, size_t begin); /* in document order: 0, or an error */
/* Takes so many steps: 0, or -PX_COSTLY. */
static inline int px_charge(px_context *c, int64_t steps)
{
    return PX_UNLIKELY((c->document->budget -= steps) < 0) ? -PX_COSTLY : 0;
}

static inline int px_spend(px_context *c) { return px_charge(c, 1); }

/* The same for bytes that are read or written: many of them are a step. */
enum { PX_STEP_BYTES = 64 };
static inline int px_charge_bytes(px_context *c, size_t bytes) { return px_charge(c, (int64_t)(bytes / PX_STEP_BYTES)); }

/* truths.c: what is known of a condition; NULL: no memory. It holds until another one is asked for. */
px_truth *px_truth_of(px_document *d, const int32_t *condition);
int px_truth_known(const px_truth *truth, int32_t node); /* 0, 1; -1: it is not known */
/* Notes whether a condition holds at a node, and how many steps it took to find out. */
int px_truth_note(px_context *c, const int32_t *condition, int32_t node, int holds, int64_t spent);
/* Marks the nodes from which a step's axis leads to a marked one that passes the step's test of names. */
int px_mark_sources(px_context *c, const int32_t *step, const uint8_t *marked, uint8_t *from);
/* evaluate.c: the path that a condition is about, from the node, if one of its nodes that a visit takes
 * decides; NULL: it is another one */
const int32_t *px_path_of(const int32_t *condition, px_visitor *visit, void **context);
/* axes.c: replaces the nodes of a set, from `begin` on, by those that a step selects. */
int px_step_exactly(px_context *c, const int32_t *step, size_t begin);
int px_is_among(px_context *c, const int32_t *operands, int32_t node); /* PX_AMONG: 1, 0, or an error */
/* known.c: what was found out from a node on, -1 for the document node; NULL: nothing. It holds until
 * more is noted. */
px_known *px_known_of(const px_context *c, const int32_t *words, int32_t from);
/* Notes it, if there is memory. */
void px_note_known(const px_context *c, const int32_t *words, int32_t holds, double number);
/* Notes the nodes of the document's set from `begin` on: 0, or an error. */
int px_note_nodes(px_context *c, const int32_t *words, int32_t from, size_t begin);
int px_texts_test(px_bytes at, size_t length, int operator_, px_bytes other, size_t size);
static inline int px_text_test(px_bytes at, size_t length, int operator_, const px_string *constant)
{
    return px_texts_test(at, length, operator_, px_string_bytes(constant), constant->length);
}

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

#endif
