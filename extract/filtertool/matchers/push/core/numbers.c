#include "push.h"

#include <math.h>

/* Expressions whose value is a number, as libxml2 calculates them. */

/* In document order: a sum depends on it. */
static int sum(px_context *c, size_t begin, double *number)
{
    px_document *d = c->document;
    *number = 0;
    if (d->set_count > begin && d->set[d->set_count - 1] >= d->in.rows && px_sort_by_place(d, begin) < 0)
        return -PX_MEMORY;
    for (size_t i = begin; i < d->set_count; i++) {
        double value;
        if (px_value_number(d, d->set[i], &value) != PX_OK)
            return -PX_MEMORY;
        *number += value;
    }
    return 0;
}

/* A number of the nodes that a path selects: how many they are, or their sum. */
static int of_nodes(px_context *c, int operation, const int32_t *operands, int32_t node, double *number)
{
    px_document *d = c->document;
    size_t begin = d->set_count;
    int code = px_select(c, operands + 1, operands[0] ? -1 : node);
    if (code == 0 && operation == PX_NUMBER_SUM)
        code = sum(c, begin, number);
    else
        *number = (double)(d->set_count - begin);
    d->set_count = begin;
    return code;
}

/* The value of the first node that a path selects: most are asked for more than once. */
static int of_first(px_context *c, const int32_t *text, int32_t node, double *number)
{
    const int32_t *operands = text + 2;
    int32_t first = node;
    int code = operands[1] ? px_first_of(c, operands + 1, operands[0] ? -1 : node, &first) : 0;
    *number = NAN;
    if (code == 0 && first >= 0 && px_value_number(c->document, first, number) != PX_OK)
        code = -PX_MEMORY;
    return code;
}

static double rounded(double number)
{
    if (number >= -0.5 && number < 0.5)
        return copysign(0.0, number);
    double down = floor(number);
    return number - down >= 0.5 ? down + 1.0 : down;
}

static double calculated(int operation, double left, double right)
{
    switch (operation) {
    case PX_NUMBER_MINUS:
        return -left;
    case PX_NUMBER_ADD:
        return left + right;
    case PX_NUMBER_SUBTRACT:
        return left - right;
    case PX_NUMBER_MULTIPLY:
        return left * right;
    case PX_NUMBER_DIVIDE:
        return left / right;
    case PX_NUMBER_MODULO:
        return right == 0 ? NAN : fmod(left, right);
    case PX_NUMBER_FLOOR:
        return floor(left);
    case PX_NUMBER_CEILING:
        return ceil(left);
    default:
        return rounded(left);
    }
}

static int evaluate(px_context *c, const int32_t *expression, int32_t node, double *number)
{
    const int32_t *at = expression + 2, *end = at + expression[1];
    double operands[2] = {0, 0};
    int code = 0;
    switch (expression[0]) {
    case PX_NUMBER_LITERAL:
        memcpy(number, at, sizeof *number);
        return 0;
    case PX_NUMBER_CELL:
        *number = c->cells[at[0]].number;
        return 0;
    case PX_NUMBER_COUNT:
    case PX_NUMBER_SUM:
        return of_nodes(c, expression[0], at, node, number);
    case PX_NUMBER_VALUE:
        return at[0] == PX_TEXT_VALUE ? of_first(c, at, node, number) : px_text_number(c, at, node, 0, number);
    case PX_NUMBER_LENGTH:
        return px_text_number(c, at, node, 1, number);
    case PX_NUMBER_HERE:
        *number = c->position.number;
        c->position.asked = 1;
        return 0;
    case PX_NUMBER_SIZE:
        *number = c->position.size;
        c->position.asked = 1;
        return 0;
    case PX_NUMBER_TRUTH:
        code = px_holds(c, at, node);
        *number = code;
        return code < 0 ? code : 0;
    default:
        for (int i = 0; at < end && code == 0; at += 2 + at[1], i++)
            code = px_number(c, at, node, &operands[i]);
        *number = calculated(expression[0], operands[0], operands[1]);
        return code;
    }
}

/* Whether a number is about the nodes of a path from the document node. */
static int is_absolute(const int32_t *expression)
{
    const int32_t *at = expression + 2;
    switch (expression[0]) {
    case PX_NUMBER_COUNT:
    case PX_NUMBER_SUM:
        return at[0];
    case PX_NUMBER_VALUE:
    case PX_NUMBER_LENGTH:
        return at[0] == PX_TEXT_VALUE && at[2];
    default:
        return 0;
    }
}

int px_number(px_context *c, const int32_t *expression, int32_t node, double *number)
{
    if (node < 0 || !is_absolute(expression))
        return evaluate(c, expression, node, number);
    const px_known *known = px_known_of(c, expression, -1);
    if (known != NULL) {
        *number = known->number;
        return 0;
    }
    int code = evaluate(c, expression, -1, number);
    if (code == 0)
        px_note_known(c, expression, 0, *number);
    return code;
}

typedef struct {
    int operator_;
    double number;
} comparison;

static int value_passes(px_context *c, void *context, int32_t node)
{
    const comparison *with = context;
    double number;
    if (px_value_number(c->document, node, &number) != PX_OK)
        return -PX_MEMORY;
    return px_compare(number, with->operator_, with->number);
}

/* Whether two nodes have equal values. */
static int are_equal(px_context *c, int32_t one, int32_t other)
{
    const px_value *left = px_value_of(c->document, one), *right = px_value_of(c->document, other);
    if (left == NULL || right == NULL)
        return -PX_MEMORY;
    if (px_spend(c) < 0 || (left->length == right->length && px_charge_bytes(c, left->length) < 0))
        return -PX_COSTLY;
    return px_texts_test(left->at, left->length, PX_EQ, right->at, right->length);
}

/* Whether a value of the first nodes equals one of the others. */
static int some_equal(px_context *c, size_t first, size_t second)
{
    const px_document *d = c->document;
    int code = 0;
    for (size_t i = first; i < second && code == 0; i++)
        for (size_t j = second; j < d->set_count && code == 0; j++)
            code = are_equal(c, d->set[i], d->set[j]);
    return code;
}

/* Whether a value of the first nodes differs from one of the others: there are both, and not all are
 * equal. */
static int some_differ(px_context *c, size_t first, size_t second)
{
    const px_document *d = c->document;
    int code = 1;
    for (size_t j = second; first < second && j < d->set_count && code == 1; j++)
        code = are_equal(c, d->set[first], d->set[j]);
    for (size_t i = first; i < second && second < d->set_count && code == 1; i++)
        code = are_equal(c, d->set[i], d->set[second]);
    return code < 0 ? code : !code;
}

/* The lowest or highest number of nodes; NaN: none is a number. */
static int outermost(px_context *c, size_t begin, size_t end, int lowest, double *number)
{
    *number = NAN;
    for (size_t i = begin; i < end; i++) {
        double value;
        if (px_value_number(c->document, c->document->set[i], &value) != PX_OK)
            return -PX_MEMORY;
        if (value == value && !(lowest ? *number <= value : *number >= value))
            *number = value;
    }
    return 0;
}

static int nodes_compare(px_context *c, const int32_t *operands, int32_t node)
{
    px_document *d = c->document;
    const int32_t *left = operands + 2, *right = left + operands[1];
    int operator_ = operands[0], lowest = operator_ == PX_LT || operator_ == PX_LE;
    size_t first = d->set_count, second;
    double low, high;
    int code = px_select(c, left + 1, left[0] ? -1 : node);
    second = d->set_count;
    if (code == 0 && second > first)
        code = px_select(c, right + 1, right[0] ? -1 : node);
    if (code == 0 && operator_ <= PX_NE) {
        code = operator_ == PX_EQ ? some_equal(c, first, second) : some_differ(c, first, second);
    } else if (code == 0) {
        code = outermost(c, first, second, lowest, &low);
        if (code == 0)
            code = outermost(c, second, d->set_count, !lowest, &high);
        if (code == 0)
            code = px_compare(low, operator_, high);
    }
    d->set_count = first;
    return code;
}

int px_numbers_hold(px_context *c, const int32_t *condition, int32_t node)
{
    const int32_t *at = condition + 2;
    int operator_ = at[0], code;
    double left, right;
    if (condition[0] == PX_NODES)
        return nodes_compare(c, at, node);
    if (condition[0] == PX_RESULT)
        return 1;
    if (condition[0] == PX_TRUTH) {
        code = px_number(c, at, node, &left);
        return code < 0 ? code : left < 0 || left > 0;
    }
    code = px_number(c, ++at, node, &left);
    if (code < 0)
        return code;
    at += 2 + at[1];
    if (condition[0] == PX_COMPARE_CALCULATED) {
        comparison with = {operator_, left};
        return px_visit_path(c, at + 1, at[0] ? -1 : node, value_passes, &with);
    }
    code = px_number(c, at, node, &right);
    return code < 0 ? code : px_compare(left, operator_, right);
}
