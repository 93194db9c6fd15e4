#include "push.h"

/* Steps as XPath defines them: from each node along an axis, then one predicate after the other, each
 * with positions among the nodes that are left. Steps of `evaluate.c` take all nodes at once, and know
 * no positions; these take any axis and any predicate. */

/* Nodes that a step leads to from one node, in the order of its axis; they are on the document's set. */
typedef struct {
    px_context *context;
    int32_t axis, test;
    size_t begin; /* in the set */
    size_t most;  /* more are not asked for */
} leading;

static int passes(const px_context *c, int32_t axis, int32_t test, int32_t node)
{
    const px_document *d = c->document;
    const px_input *in = &d->in;
    if (test == PX_ANY_NODE)
        return 1;
    if (node < 0)
        return test == PX_ANY_PARENT;
    if (node >= d->text_end) {
        int is_comment = in->leaf_kind[px_leaf_of(d, node)] == PX_LEAF_COMMENT;
        return test == (is_comment ? PX_ANY_COMMENT : PX_ANY_INSTRUCTION);
    }
    if (node >= in->rows + in->attributes)
        return test == PX_ANY_TEXT;
    if (test <= PX_ANY_INSTRUCTION)
        return 0;
    if (node >= in->rows)
        return axis == PX_ATTRIBUTE && px_has_name(c, in->attribute_symbol[node - in->rows], test);
    return test == PX_ANY_PARENT || px_has_name(c, in->symbol[node], test);
}

/* Adds a node if the test lets it pass: 1 if no more are asked for, or an error. */
static int add(leading *l, int32_t node)
{
    px_document *d = l->context->document;
    int code = px_spend(l->context);
    if (code < 0 || !passes(l->context, l->axis, l->test, node))
        return code;
    code = px_push_node(d, node);
    return code < 0 ? code : d->set_count - l->begin >= l->most;
}

static int32_t parent_of(const px_document *d, int32_t node)
{
    const px_input *in = &d->in;
    if (node < in->rows)
        return in->parent[node];
    if (node >= d->text_end)
        return in->leaf_parent[px_leaf_of(d, node)];
    node -= in->rows;
    return node < in->attributes ? in->attribute_row[node] : d->texts[node - in->attributes].row;
}

static int add_ancestors(leading *l, int32_t node)
{
    int code = 0;
    while (code == 0 && node >= 0) {
        node = parent_of(l->context->document, node);
        code = add(l, node);
    }
    return code;
}

/* Adds the elements of a range: children of one node, or all. */
static int add_elements(leading *l, int32_t at, int32_t end, int children)
{
    const int32_t *last = l->context->document->last;
    int code = 0;
    for (; at < end && code == 0; at = children ? last[at] : at + 1)
        code = add(l, at);
    return code;
}

/* Adds the elements of a range that have one name, from either end: a large range is not looked through. */
static int add_named(leading *l, int32_t first, int32_t end, int backwards)
{
    px_document *d = l->context->document;
    const int32_t *at, *behind;
    int code = 0;
    if (px_rows_named(d, l->test, first, end, &at, &behind) != PX_OK)
        return -PX_MEMORY;
    for (; at < behind && code == 0; at += !backwards, behind -= backwards) {
        int32_t node = backwards ? behind[-1] : *at;
        if (!backwards || d->last[node] <= end)
            code = add(l, node);
    }
    return code;
}

/* Adds the elements before a node that are not above it, the nearest one first. */
static int add_before(leading *l, int32_t node)
{
    const int32_t *last = l->context->document->last;
    int code = 0;
    if (l->test >= 0)
        return add_named(l, 0, node, 1);
    for (int32_t at = node - 1; at >= 0 && code == 0; at--)
        if (last[at] <= node)
            code = add(l, at);
    return code;
}

/* Puts nodes in the opposite order. */
static void turn_around(leading *l)
{
    px_document *d = l->context->document;
    for (size_t i = l->begin, j = d->set_count; i + 1 < j; i++) {
        int32_t other = d->set[--j];
        d->set[j] = d->set[i];
        d->set[i] = other;
    }
}

static int add_preceding_siblings(leading *l, int32_t node)
{
    const px_document *d = l->context->document;
    int code = 0;
    while (code == 0 && (node = px_previous_sibling(d, node)) >= 0)
        code = add(l, node);
    return code;
}

/* Whether an axis leads from a node to another one. */
static int is_led(const leading *l, int32_t node, int32_t other)
{
    const px_document *d = l->context->document;
    const px_input *in = &d->in;
    int64_t here = px_place_of(d, node), place = px_place_of(d, other);
    int64_t end = node >= 0 && node < in->rows ? in->end[node] : here + 1;
    switch (l->axis) {
    case PX_CHILD:
        return parent_of(d, other) == node;
    case PX_DESCENDANT:
    case PX_NEAR:
        return node < 0 || (place > here && place < end);
    case PX_FOLLOWING:
        return place > here && parent_of(d, other) == parent_of(d, node);
    case PX_PRECEDING:
        return place < here && parent_of(d, other) == parent_of(d, node);
    case PX_BEHIND:
        return place >= end;
    default:
        return place < here && !(other < in->rows && in->end[other] > here);
    }
}

/* Adds nodes of any kind from a node that is no attribute: of the elements from `first` on and before
 * `end`, of their texts, and of the rest those that the axis leads to. */
static int add_any(leading *l, int32_t node)
{
    px_document *d = l->context->document;
    const px_input *in = &d->in;
    int is_below = l->axis == PX_CHILD || l->axis == PX_DESCENDANT || l->axis == PX_NEAR;
    int is_sibling = l->axis == PX_FOLLOWING || l->axis == PX_PRECEDING;
    if (is_below && node >= in->rows)
        return 0;
    int32_t above = is_below ? node : is_sibling ? parent_of(d, node) : -1;
    int32_t first = above < 0 ? 0 : above, end = above < 0 ? in->rows : d->last[above], base = in->rows + in->attributes;
    int children = l->axis == PX_CHILD || is_sibling;
    size_t most = l->most;
    int code = 0, backwards = l->axis == PX_PRECEDING || l->axis == PX_BEFORE;
    l->most = SIZE_MAX; /* they are not in order yet */
    if (l->test == PX_ANY_NODE || l->test > PX_ANY_INSTRUCTION)
        for (int32_t at = above < 0 ? 0 : above + 1; at < end && code >= 0; at = children ? d->last[at] : at + 1)
            code = is_led(l, node, at) ? add(l, at) : px_spend(l->context);
    if (l->test == PX_ANY_NODE || l->test == PX_ANY_TEXT) {
        int32_t behind = d->text_first[children && above >= 0 ? first + 1 : end];
        for (int32_t at = d->text_first[first]; at < behind && code >= 0; at++)
            code = is_led(l, node, base + at) ? add(l, base + at) : px_spend(l->context);
    }
    if (l->test <= PX_ANY_INSTRUCTION && l->test != PX_ANY_TEXT)
        for (int32_t at = d->text_end; at < d->nodes && code >= 0; at++)
            code = is_led(l, node, at) ? add(l, at) : px_spend(l->context);
    if (code >= 0)
        code = px_sort_by_place(d, l->begin);
    if (backwards)
        turn_around(l);
    if (d->set_count - l->begin > most)
        d->set_count = l->begin + most;
    return code;
}

static int lead(leading *l, int32_t node)
{
    px_document *d = l->context->document;
    const px_input *in = &d->in;
    int is_leaf = node >= in->rows, is_root = !is_leaf && node >= 0 && in->parent[node] < 0, code = 0;
    int32_t end = is_leaf ? node : node < 0 ? in->rows : d->last[node];
    switch (l->axis) {
    case PX_SELF:
        return add(l, node);
    case PX_PARENT:
        return node < 0 ? 0 : add(l, parent_of(d, node));
    case PX_ABOVE:
        code = add(l, node);
        return code ? code : add_ancestors(l, node);
    case PX_ANCESTOR:
        return add_ancestors(l, node);
    case PX_ATTRIBUTE:
        if (is_leaf || node < 0)
            return 0;
        for (int32_t at = d->attribute_first[node]; at < d->attribute_first[node + 1] && !code; at++)
            code = add(l, in->rows + at);
        return code;
    case PX_NEAR:
        code = add(l, node);
        if (code || is_leaf)
            return code;
        break;
    default:
        break;
    }
    if (node < 0 && l->axis >= PX_FOLLOWING)
        return 0;
    if (is_leaf || (l->test <= PX_ANY_INSTRUCTION && l->test >= PX_ANY_NODE)) {
        leading rest = *l;
        rest.begin = d->set_count;
        rest.most = l->most == SIZE_MAX ? SIZE_MAX : l->most - (d->set_count - l->begin);
        return add_any(&rest, node);
    }
    switch (l->axis) {
    case PX_CHILD:
        return add_elements(l, node + 1, end, 1);
    case PX_DESCENDANT:
    case PX_NEAR:
        return l->test >= 0 ? add_named(l, node + 1, end, 0) : add_elements(l, node + 1, end, 0);
    case PX_FOLLOWING:
        return is_root ? 0 : add_elements(l, end, d->last[in->parent[node]], 1);
    case PX_PRECEDING:
        return is_root ? 0 : add_preceding_siblings(l, node);
    case PX_BEHIND:
        return l->test >= 0 ? add_named(l, end, in->rows, 0) : add_elements(l, end, in->rows, 0);
    default:
        return add_before(l, node);
    }
}

/* The union of paths, each once and in document order. */
static int unite(px_context *c, const int32_t *paths, const int32_t *end, int32_t node)
{
    px_document *d = c->document;
    size_t begin = d->set_count;
    int code = 0;
    for (; paths < end && code == 0; paths += 1 + paths[0])
        code = px_select(c, paths + 2, paths[1] ? -1 : node);
    if (code < 0)
        return code;
    px_sort_set(d, begin);
    return d->set_count > begin && d->set[d->set_count - 1] >= d->in.rows ? px_sort_by_place(d, begin) : 0;
}

/* Whether a predicate compares the position with a number, and with which. */
static int is_of_position(const px_context *c, const int32_t *predicate, double *number)
{
    const int32_t *other = predicate + 5;
    if (predicate[0] != PX_CALCULATED || predicate[3] != PX_NUMBER_HERE)
        return 0;
    if (other[0] == PX_NUMBER_LITERAL)
        memcpy(number, other + 2, sizeof *number);
    else if (other[0] == PX_NUMBER_CELL)
        *number = c->cells[other[2]].number;
    return other[0] <= PX_NUMBER_CELL;
}

/* How many nodes a predicate leaves that asks for one position, so that those behind it need not be
 * found. */
static size_t most_asked(const px_context *c, const int32_t *predicate, const int32_t *end)
{
    double number;
    if (predicate >= end || !is_of_position(c, predicate, &number) || predicate[2] != PX_EQ)
        return SIZE_MAX;
    return number >= 1 && number < INT32_MAX ? (size_t)number : 1;
}

static int keep_passing(px_context *c, const int32_t *predicate, size_t begin)
{
    px_document *d = c->document;
    px_among around = c->position;
    size_t size = d->set_count - begin, kept = begin;
    int code = 0;
    double number;
    if (is_of_position(c, predicate, &number)) {
        for (size_t i = 0; i < size; i++)
            if (px_compare((double)(i + 1), predicate[2], number))
                d->set[kept++] = d->set[begin + i];
        d->set_count = kept;
        return 0;
    }
    for (size_t i = 0; i < size && code >= 0; i++) {
        int32_t node = d->set[begin + i];
        c->position = (px_among){(double)(i + 1), (double)size, 0};
        code = px_holds(c, predicate, node);
        if (code > 0)
            d->set[kept++] = node;
    }
    d->set_count = kept;
    c->position = around;
    return code < 0 ? code : 0;
}

static int step_from(px_context *c, const int32_t *step, int32_t node)
{
    px_document *d = c->document;
    const int32_t *at = step + 3, *end = at + step[2];
    size_t begin = d->set_count;
    int code;
    if (step[0] == PX_EXACTLY + PX_UNION) {
        code = unite(c, at + 1, at + 1 + at[0], node);
        at += 1 + at[0];
    } else {
        leading l = {c, step[0] - PX_EXACTLY, step[1], begin, most_asked(c, at, end)};
        code = lead(&l, node);
    }
    for (; at < end && code >= 0; at += 2 + at[1])
        code = keep_passing(c, at, begin);
    return code < 0 ? code : 0;
}

int px_step_exactly(px_context *c, const int32_t *step, size_t begin)
{
    px_document *d = c->document;
    size_t end = d->set_count, most = 2 * (size_t)d->nodes + 1024;
    for (size_t i = begin; i < end; i++) {
        int code = step_from(c, step, d->set[i]);
        if (code < 0)
            return code;
        if (d->set_count - end > most) /* many lead to the same ones */
            px_sort_set(d, end);
    }
    size_t count = d->set_count - end;
    if (count)
        memmove(d->set + begin, d->set + end, count * sizeof *d->set);
    d->set_count = begin + count;
    px_sort_set(d, begin);
    return 0;
}

static int64_t child_count(const px_document *d, int32_t parent)
{
    int64_t count = parent < 0;
    for (int32_t row = parent + 1; parent >= 0 && row < d->last[parent]; row = d->last[row])
        count++;
    return count;
}

/* The children of a node that a step leads to: found once for all that are asked for, each of which is
 * charged its share, so that a count does not depend on who asks first. NULL, with a code: they cannot be
 * found. */
static px_known *children_among(px_context *c, const int32_t *step, int32_t parent, int *code)
{
    px_document *d = c->document;
    px_known *known = px_known_of(c, step, parent);
    if (known != NULL)
        return known;
    int64_t before = d->budget;
    size_t begin = d->set_count;
    *code = step_from(c, step, parent);
    *code = *code < 0 ? *code : px_note_nodes(c, step, parent, begin);
    d->set_count = begin;
    if (*code < 0)
        return NULL;
    known = px_known_of(c, step, parent);
    known->share = 1 + (before - d->budget) / child_count(d, parent);
    d->budget = before;
    return known;
}

/* Where a node belongs among others, which are ascending: nearly always at the last place or the next. */
static size_t place_among(const int32_t *nodes, size_t count, size_t last, int32_t node)
{
    size_t first = 0, end = count;
    last += last < count && nodes[last] < node;
    if ((last == count || nodes[last] >= node) && (last == 0 || nodes[last - 1] < node))
        return last;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (nodes[middle] < node)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

int px_is_among(px_context *c, const int32_t *operands, int32_t node)
{
    const px_document *d = c->document;
    const px_cell *cells = c->cells;
    int code = 0;
    if (operands[0])
        c->cells = NULL; /* the same for all rows */
    px_known *known = children_among(c, operands + 1, parent_of(d, node), &code);
    c->cells = cells;
    if (known == NULL || (code = px_charge(c, known->share)) < 0)
        return code;
    const int32_t *children = d->noted + known->first;
    known->at = place_among(children, known->count, known->at, node);
    return known->at < known->count && children[known->at] == node;
}
