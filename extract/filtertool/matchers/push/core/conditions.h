/* Programs, which are conditions and paths as words, and their evaluation. */
#ifndef EXTRACT_PUSH_CONDITIONS_H
#define EXTRACT_PUSH_CONDITIONS_H

#include "document.h"
#include "registry.h"

/* Words of programs.
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

/* Conditions are 1, 0, or -PX_MEMORY, -PX_COSTLY: the budget is spent. */

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
