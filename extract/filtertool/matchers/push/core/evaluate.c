#include "push.h"

/* A path is evaluated in one of two ways: step by step into sets, or node by node, which ends with
 * the first node that decides. A path that may lead to a node by several ways is evaluated into sets,
 * so that it goes on once from each node. */

int px_has_name(const px_context *c, int32_t symbol, int32_t test)
{
    if (test >= PX_ANY)
        return test == PX_ANY || symbol == test;
    return (size_t)symbol < c->registry->symbols && c->registry->namespaces[symbol] == PX_NAMESPACE - test;
}

/* How to go through a range of nodes: each of them, children, those not above the node behind the
 * last, or from the first one upwards. */
enum { EACH, CHILDREN, NOT_ABOVE, UPWARDS };

/* The nodes that a step may select from one node: first, behind the last. */
typedef struct {
    int32_t first, end;
    int way;
} range;

static int is_far(int32_t axis)
{
    return axis == PX_DESCENDANT || axis == PX_NEAR || axis == PX_BEHIND || axis == PX_BEFORE;
}

static range range_of(const px_document *d, int32_t axis, int32_t node)
{
    const px_input *in = &d->in;
    range none = {0, 0, EACH};
    if (node >= in->rows)
        return none; /* an attribute or a text has nothing below it */
    switch (axis) {
    case PX_CHILD:
        return (range){node + 1, node < 0 ? (in->rows > 0) : d->last[node], CHILDREN};
    case PX_DESCENDANT:
        return (range){node + 1, node < 0 ? in->rows : d->last[node], EACH};
    case PX_NEAR:
        return (range){node < 0 ? 0 : node, node < 0 ? in->rows : d->last[node], EACH};
    case PX_FOLLOWING:
    case PX_NEXT:
        return node < 0 || in->parent[node] < 0 ? none
                                                : (range){d->last[node], d->last[in->parent[node]], CHILDREN};
    case PX_PRECEDING:
    case PX_PREVIOUS:
        return node < 0 || in->parent[node] < 0 ? none : (range){in->parent[node] + 1, node, CHILDREN};
    case PX_BEHIND:
    case PX_FIRST_BEHIND:
        return node < 0 ? none : (range){d->last[node], in->rows, EACH};
    case PX_BEFORE:
    case PX_LAST_BEFORE:
        return node < 0 ? none : (range){0, node, NOT_ABOVE};
    case PX_ANCESTOR:
    case PX_NEXT_ANCESTOR:
        return node < 0 || in->parent[node] < 0 ? none : (range){in->parent[node], node, UPWARDS};
    case PX_ABOVE:
    case PX_NEXT_ABOVE:
        return node < 0 ? none : (range){node, node + 1, UPWARDS};
    case PX_PARENT:
        return node < 0 || in->parent[node] < 0 ? none : (range){in->parent[node], in->parent[node] + 1, EACH};
    case PX_ATTRIBUTE:
        return node < 0 ? none
                        : (range){in->rows + d->attribute_first[node],
                                  in->rows + d->attribute_first[node + 1], EACH};
    default:
        return node < 0 ? none
                        : (range){in->rows + in->attributes + d->text_first[node],
                                  in->rows + in->attributes + d->text_first[node + 1], EACH};
    }
}

/* Goes through the nodes of a range, or those of one name in a large one. */
typedef struct {
    const px_document *document;
    const int32_t *named, *named_end; /* NULL: not by name */
    int32_t at, end;
    int way;
} cursor;

enum { MANY = 64 }; /* nodes from which on it is worth looking up a name */

/* The nearest sibling with the name, of those in a range. */
static int nearest(px_context *c, const int32_t *step, range all, range *found)
{
    const px_document *d = c->document;
    int32_t at = step[0] == PX_NEXT ? all.first : px_previous_sibling(d, all.end);
    int code = 0;
    while (code == 0 && at >= 0 && at < all.end && !px_has_name(c, d->in.symbol[at], step[1])) {
        at = step[0] == PX_NEXT ? d->last[at] : px_previous_sibling(d, at);
        code = px_spend(c);
    }
    *found = at >= 0 && at < all.end ? (range){at, at + 1, EACH} : (range){0, 0, EACH};
    return code;
}

/* Of the elements behind or before a node, or above it, the nearest with the name. */
static int nearest_elsewhere(px_context *c, const int32_t *step, range all, range *found)
{
    const px_document *d = c->document;
    int backwards = step[0] == PX_LAST_BEFORE;
    *found = (range){0, 0, EACH};
    for (int32_t at = backwards ? all.end - 1 : all.first; at >= 0 && at < all.end && all.first < all.end;) {
        int code = px_spend(c);
        if (code < 0)
            return code;
        if (px_has_name(c, d->in.symbol[at], step[1]) && !(backwards && d->last[at] > all.end)) {
            *found = (range){at, at + 1, EACH};
            return 0;
        }
        at = backwards ? at - 1 : all.way == UPWARDS ? d->in.parent[at] : at + 1;
    }
    return 0;
}

static int begin_nodes(px_context *c, const int32_t *step, int32_t node, cursor *it)
{
    px_document *d = c->document;
    range r = range_of(d, step[0], node);
    int code = 0;
    if ((step[0] == PX_NEXT || step[0] == PX_PREVIOUS) && r.first < r.end)
        code = nearest(c, step, r, &r);
    else if (step[0] >= PX_FIRST_BEHIND)
        code = nearest_elsewhere(c, step, r, &r);
    if (code < 0)
        return code;
    *it = (cursor){d, NULL, NULL, r.first, r.end, r.way};
    if (!is_far(step[0]) || step[1] < 0 || r.end - r.first < MANY)
        return 0;
    return px_rows_named(d, step[1], r.first, r.end, &it->named, &it->named_end) == PX_OK ? 0 : -PX_MEMORY;
}

/* The next node; -1: there is none. */
static inline int32_t next_node(cursor *it)
{
    const int32_t *last = it->document->last;
    if (it->named != NULL) {
        while (it->way == NOT_ABOVE && it->named < it->named_end && last[*it->named] > it->end)
            it->named++;
        return it->named < it->named_end ? *it->named++ : -1;
    }
    while (it->way == NOT_ABOVE && it->at < it->end && last[it->at] > it->end)
        it->at++;
    if (it->at >= it->end || it->at < 0)
        return -1;
    int32_t node = it->at;
    it->at = it->way == CHILDREN ? last[node] : it->way == UPWARDS ? it->document->in.parent[node] : node + 1;
    return node;
}

int px_step_passes(px_context *c, const int32_t *step, int32_t node)
{
    const px_input *in = &c->document->in;
    if (step[0] == PX_ATTRIBUTE) {
        if (!px_has_name(c, in->attribute_symbol[node - in->rows], step[1]))
            return 0;
    } else if (step[0] != PX_TEXT && !px_has_name(c, in->symbol[node], step[1])) {
        return 0;
    }
    return step[2] ? px_holds(c, step + 3, node) : 1;
}

static int walk(px_context *c, const int32_t *step, int32_t left, int32_t node, px_visitor visit,
                void *context)
{
    if (left == 0)
        return visit(c, context, node);
    cursor it;
    int code = begin_nodes(c, step, node, &it);
    if (code < 0)
        return code;
    const int32_t *next = step + 3 + step[2];
    for (int32_t at; (at = next_node(&it)) >= 0;) {
        code = px_spend(c);
        if (code == 0)
            code = px_step_passes(c, step, at);
        if (code > 0)
            code = walk(c, next, left - 1, at, visit, context);
        if (code)
            return code;
    }
    return 0;
}

int px_push_node(px_document *d, int32_t node)
{
    if (px_grow(&d->set, &d->set_room, d->set_count + 1, sizeof *d->set) != PX_OK)
        return -PX_MEMORY;
    d->set[d->set_count++] = node;
    return 0;
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

typedef struct {
    int64_t place;
    int32_t node;
} placed;

static int by_place(const void *a, const void *b)
{
    int64_t x = ((const placed *)a)->place, y = ((const placed *)b)->place;
    return (x > y) - (x < y);
}

int px_sort_by_place(px_document *d, size_t begin)
{
    size_t count = d->set_count - begin;
    int in_order = 1;
    placed *all = malloc((count + 1) * sizeof *all);
    if (all == NULL)
        return -PX_MEMORY;
    for (size_t i = 0; i < count; i++) {
        all[i] = (placed){px_place_of(d, d->set[begin + i]), d->set[begin + i]};
        in_order &= i == 0 || all[i - 1].place <= all[i].place;
    }
    if (!in_order)
        qsort(all, count, sizeof *all, by_place);
    for (size_t i = 0; i < count; i++)
        d->set[begin + i] = all[i].node;
    free(all);
    return 0;
}

/* Leaves each node of a set once, from `begin` on; equal ones are next to each other. */
static void keep_distinct(px_document *d, size_t begin)
{
    size_t kept = begin;
    for (size_t i = begin; i < d->set_count; i++)
        if (kept == begin || d->set[kept - 1] != d->set[i])
            d->set[kept++] = d->set[i];
    d->set_count = kept;
}

void px_sort_set(px_document *d, size_t begin)
{
    size_t i = begin + 1;
    while (i < d->set_count && d->set[i - 1] < d->set[i])
        i++;
    if (i >= d->set_count)
        return;
    qsort(d->set + begin, d->set_count - begin, sizeof *d->set, ascending);
    keep_distinct(d, begin);
}

/* Of a set, from `begin` on and ascending, leaves the node from which a step leads to all that it leads
 * to from the others: the one that ends first, or the last. */
static void keep_outermost(px_document *d, int32_t axis, size_t begin)
{
    int32_t kept = d->set[begin];
    for (size_t i = begin; i < d->set_count; i++) {
        int32_t node = d->set[i];
        if (kept < 0 || (node < d->in.rows && (axis == PX_BEFORE || d->last[node] < d->last[kept])))
            kept = node;
    }
    d->set[begin] = kept;
    d->set_count = begin + 1;
}

/* The axis that leads back; -1: it is not needed, for the nodes that steps along this axis lead to are
 * different ones, or there is another way to come by each once. */
static int32_t way_back(int32_t axis)
{
    switch (axis) {
    case PX_FOLLOWING:
        return PX_PRECEDING;
    case PX_PRECEDING:
        return PX_FOLLOWING;
    case PX_ANCESTOR:
        return PX_DESCENDANT;
    case PX_ABOVE:
        return PX_NEAR;
    default:
        return -1;
    }
}

/* The same as `step_set` for many nodes: what they lead to is found in one pass over the document. */
static int step_all(px_context *c, const int32_t *step, int32_t back, size_t begin)
{
    px_document *d = c->document;
    size_t nodes = (size_t)d->nodes + 1;
    uint8_t *marked = calloc(2, nodes), *to = marked + nodes;
    const int32_t axis[3] = {back, PX_ANY, 0};
    if (marked == NULL)
        return -PX_MEMORY;
    for (size_t i = begin; i < d->set_count; i++)
        marked[d->set[i] + 1] = 1;
    int code = px_mark_sources(c, axis, marked, to);
    d->set_count = begin;
    for (int32_t row = 0; row < d->in.rows && code >= 0; row++) {
        code = to[row + 1] ? px_step_passes(c, step, row) : 0;
        if (code > 0)
            code = px_push_node(d, row);
    }
    free(marked);
    return code < 0 ? code : 0;
}

/* Replaces the nodes of a set, from `begin` on and ascending, by those that a step selects. */
static int step_set(px_context *c, const int32_t *step, size_t begin)
{
    px_document *d = c->document;
    if (step[0] >= PX_EXACTLY)
        return px_step_exactly(c, step, begin);
    if ((step[0] == PX_BEHIND || step[0] == PX_BEFORE) && d->set_count > begin + 1)
        keep_outermost(d, step[0], begin);
    if (d->set_count - begin > MANY && way_back(step[0]) >= 0)
        return step_all(c, step, way_back(step[0]), begin);
    size_t end = d->set_count;
    int32_t covered = -1; /* what is below nodes so far, for steps that look far below */
    int sorted = 1;
    for (size_t i = begin; i < end; i++) {
        cursor it;
        int code = begin_nodes(c, step, d->set[i], &it);
        if (code < 0)
            return code;
        int far = step[0] == PX_DESCENDANT || step[0] == PX_NEAR;
        if (far && it.at < covered)
            continue; /* inside of an earlier one */
        int32_t last = it.end;
        for (int32_t at; (at = next_node(&it)) >= 0;) {
            code = px_spend(c);
            if (code == 0)
                code = px_step_passes(c, step, at);
            if (code > 0) {
                sorted &= d->set_count == end || d->set[d->set_count - 1] < at;
                code = px_push_node(d, at);
            }
            if (code < 0)
                return code;
        }
        if (far && last > covered)
            covered = last;
    }
    size_t count = d->set_count - end;
    memmove(d->set + begin, d->set + end, count * sizeof *d->set);
    d->set_count = begin + count;
    if (!sorted)
        qsort(d->set + begin, count, sizeof *d->set, ascending);
    if (step[0] >= PX_FOLLOWING) /* several nodes may have the same siblings */
        keep_distinct(d, begin);
    return 0;
}

static int select_steps(px_context *c, const int32_t *step, int32_t left, int32_t node)
{
    px_document *d = c->document;
    size_t begin = d->set_count;
    int code = px_push_node(d, node);
    for (; left > 0 && code == 0; left--, step += 3 + step[2])
        code = step_set(c, step, begin);
    return code;
}

int px_select(px_context *c, const int32_t *path, int32_t node)
{
    return select_steps(c, path + 1, path[0], node);
}

static int leads_to_one(int32_t axis)
{
    return axis == PX_NEXT || axis == PX_PREVIOUS || axis >= PX_PARENT;
}

/* Whether steps are evaluated into sets: they may lead from one node to another one by several ways.
 * Children, attributes and texts of different nodes are different; so is what is below nodes of which
 * none is below another. Other steps lead from several nodes to the same ones. */
static int need_sets(const int32_t *step, int32_t left)
{
    int several = 0, nested = 0; /* what is known of the nodes so far */
    for (; left > 0; left--, step += 3 + step[2]) {
        int32_t axis = step[0];
        if (axis >= PX_EXACTLY || (axis > PX_ANCHOR && several))
            return 1;
        if ((axis == PX_DESCENDANT || axis == PX_NEAR) && nested)
            return 1;
        several |= !leads_to_one(axis);
        nested |= is_far(axis) || axis == PX_ANCESTOR || axis == PX_ABOVE;
    }
    return 0;
}

/* Visits the nodes that steps select until one is enough. */
static int visit_steps(px_context *c, const int32_t *step, int32_t left, int32_t node, px_visitor visit,
                       void *context)
{
    px_document *d = c->document;
    if (!need_sets(step, left))
        return walk(c, step, left, node, visit, context);
    size_t begin = d->set_count;
    int code = select_steps(c, step, left, node);
    for (size_t i = begin; code == 0 && i < d->set_count; i++)
        code = visit(c, context, d->set[i]);
    d->set_count = begin;
    return code;
}

int px_visit_path(px_context *c, const int32_t *path, int32_t node, px_visitor visit, void *context)
{
    return visit_steps(c, path + 1, path[0], node, visit, context);
}

static int enough(px_context *c, void *context, int32_t node)
{
    (void)c;
    (void)context;
    (void)node;
    return 1;
}

/* The document node is no result. */
static int is_result(px_context *c, void *context, int32_t node)
{
    (void)c;
    (void)context;
    return node >= 0;
}

int px_texts_test(px_bytes at, size_t length, int operator_, px_bytes other, size_t size)
{
    switch (operator_) {
    case PX_HAS:
        return px_contains(at, length, other, size);
    case PX_BEGINS:
        return size <= length && memcmp(at, other, size) == 0;
    default:
        return (size == length && memcmp(at, other, length) == 0) == (operator_ == PX_EQ);
    }
}

/* Tests the value of a node; `condition` points to the operator. */
static int value_passes(px_context *c, void *condition, int32_t node)
{
    const int32_t *operands = condition;
    px_cell cell = c->cells[operands[2]];
    if (operands[1]) {
        const px_value *value = px_value_of(c->document, node);
        if (value == NULL)
            return -PX_MEMORY;
        if (px_charge_bytes(c, value->length) < 0)
            return -PX_COSTLY;
        return px_text_test(value->at, value->length, operands[0], &c->registry->strings.items[cell.string]);
    }
    double number;
    if (px_value_number(c->document, node, &number) != PX_OK)
        return -PX_MEMORY;
    return px_compare(number, operands[0], cell.number);
}

typedef struct {
    int32_t node;
    int64_t place;
} first_node;

static int keep_first(px_context *c, void *context, int32_t node)
{
    first_node *first = context;
    int64_t place = px_place_of(c->document, node);
    if (first->node < 0 || place < first->place)
        *first = (first_node){node, place};
    return 0;
}

int px_first_of(px_context *c, const int32_t *path, int32_t node, int32_t *first)
{
    first_node it = {-1, 0};
    int code = px_visit_path(c, path, node, keep_first, &it);
    *first = it.node;
    return code;
}

static int first_passes(px_context *c, const int32_t *operands, int32_t node)
{
    int32_t first;
    if (operands[4] == 0)
        first = node; /* the node itself */
    else {
        int code = px_first_of(c, operands + 4, operands[3] ? -1 : node, &first);
        if (code < 0)
            return code;
    }
    if (first >= 0)
        return value_passes(c, (void *)operands, first);
    px_cell cell = c->cells[operands[2]];
    if (operands[1])
        return px_text_test((px_bytes) "", 0, operands[0], &c->registry->strings.items[cell.string]);
    double none = 0;
    return px_compare(none / none, operands[0], cell.number);
}

static int count_passes(px_context *c, const int32_t *operands, int32_t node)
{
    px_document *d = c->document;
    size_t begin = d->set_count;
    int code = px_select(c, operands + 3, operands[2] ? -1 : node);
    double count = (double)(d->set_count - begin);
    d->set_count = begin;
    return code < 0 ? code : px_compare(count, operands[0], c->cells[operands[1]].number);
}

/* Whether a condition is about one path from the document node. */
static int is_absolute(const int32_t *condition)
{
    const int32_t *at = condition + 2;
    switch (condition[0]) {
    case PX_THERE:
        return at[0];
    case PX_COMPARE:
        return at[3];
    case PX_FIRST:
        return at[3] && at[4];
    case PX_COUNT:
        return at[2];
    default:
        return 0;
    }
}

int px_holds_anywhere(px_context *c, const int32_t *condition)
{
    const px_known *known = px_known_of(c, condition, -1);
    if (known != NULL)
        return known->holds;
    int code = px_holds(c, condition, -1);
    if (code >= 0)
        px_note_known(c, condition, code, 0);
    return code;
}

const int32_t *px_path_of(const int32_t *condition, px_visitor *visit, void **context)
{
    const int32_t *at = condition + 2;
    *context = (void *)at;
    switch (condition[0]) {
    case PX_THERE:
    case PX_SELECTED:
        *visit = condition[0] == PX_THERE ? enough : is_result;
        return at[0] ? NULL : at + 1;
    case PX_COMPARE:
        *visit = value_passes;
        return at[3] ? NULL : at + 4;
    default:
        return NULL;
    }
}

static int decide(px_context *c, const int32_t *condition, int32_t node)
{
    const int32_t *at = condition + 2;
    switch (condition[0]) {
    case PX_THERE:
        return px_visit_path(c, at + 1, at[0] ? -1 : node, enough, NULL);
    case PX_SELECTED:
        return px_visit_path(c, at + 1, at[0] ? -1 : node, is_result, NULL);
    case PX_COMPARE:
        return px_visit_path(c, at + 4, at[3] ? -1 : node, value_passes, (void *)at);
    case PX_FIRST:
        return first_passes(c, at, node);
    case PX_COUNT:
        return count_passes(c, at, node);
    case PX_AMONG:
        return px_is_among(c, at, node);
    case PX_TEXTS:
    case PX_LENGTH:
    case PX_COMPARE_TEXT:
    case PX_RESULT_TEXT:
        return px_texts_hold(c, condition, node);
    case PX_CALCULATED:
    case PX_COMPARE_CALCULATED:
    case PX_TRUTH:
    case PX_RESULT:
    case PX_NODES:
        return px_numbers_hold(c, condition, node);
    default:
        return 0;
    }
}

/* Decides a condition, unless it is known already; what depends on a position is not known. */
static int decide_once(px_context *c, const int32_t *condition, int32_t node)
{
    enum { CHEAP = 4 }; /* steps, which are as well taken again */
    if (PX_UNLIKELY(c->document->truths_kept)) {
        const px_truth *truth = px_truth_of(c->document, condition);
        if (truth == NULL)
            return -PX_MEMORY;
        int known = px_truth_known(truth, node);
        if (known >= 0)
            return known;
    }
    int asked = c->position.asked;
    int64_t before = c->document->budget;
    c->position.asked = 0;
    int holds = decide(c, condition, node), code = holds;
    int64_t spent = before - c->document->budget;
    if (spent > CHEAP && holds >= 0 && !c->position.asked)
        code = px_truth_note(c, condition, node, holds, spent);
    c->position.asked |= asked;
    return code < 0 ? code : holds;
}

int px_holds(px_context *c, const int32_t *condition, int32_t node)
{
    const int32_t *at = condition + 2, *end = at + condition[1];
    int code;
    if (node >= 0 && is_absolute(condition))
        return px_holds_anywhere(c, condition);
    switch (condition[0]) {
    case PX_AND:
        for (; at < end; at += 2 + at[1])
            if ((code = px_holds(c, at, node)) <= 0)
                return code;
        return 1;
    case PX_OR:
        for (; at < end; at += 2 + at[1])
            if ((code = px_holds(c, at, node)) != 0)
                return code;
        return 0;
    case PX_NOT:
        code = px_holds(c, at, node);
        return code < 0 ? code : !code;
    case PX_TRUE:
        return 1;
    case PX_FALSE:
        return 0;
    default:
        return decide_once(c, condition, node);
    }
}

int px_exists(px_context *c, const int32_t *path)
{
    return px_visit_path(c, path, -1, enough, NULL);
}

int px_holds_at(px_context *c, const int32_t *path, int32_t step, int32_t node)
{
    const int32_t *at = path + 1;
    for (int32_t i = 0; i < step; i++)
        at += 3 + at[2];
    int code = at[2] ? px_holds(c, at + 3, node) : 1;
    if (code <= 0)
        return code;
    return visit_steps(c, at + 3 + at[2], path[0] - step - 1, node, enough, NULL);
}
