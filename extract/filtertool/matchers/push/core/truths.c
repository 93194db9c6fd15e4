#include "push.h"

/* Whether conditions hold at nodes, so that no condition is evaluated twice at one node. A path may lead
 * to a node by many ways, and a condition may stand in a condition in a condition: without this, what
 * that takes is a product of one factor for each level.
 *
 * A condition that goes on to be asked is evaluated at all nodes together: from the nodes that its
 * path ends at backwards, each step as one pass over the document. So it costs at most as many steps as
 * its path has, for each node. */

enum { UNKNOWN, FALSE_HERE, TRUE_HERE };
enum { FIRST_TRUTHS = 16, WORTH = 64, TIMES = 4 };

static size_t place_in(const px_document *d, const int32_t *condition)
{
    uint64_t hash = (uint64_t)((uintptr_t)condition >> 2) * 0x9E3779B97F4A7C15u;
    return (size_t)(hash >> 32) & (d->truth_room - 1);
}

/* Makes the table of truths twice as large; those of the present evaluation move. */
static int more_truths(px_document *d)
{
    size_t before = d->truth_room, room = before ? 2 * before : FIRST_TRUTHS;
    px_truth *old = d->truths, *fresh = calloc(room, sizeof *fresh);
    if (fresh == NULL)
        return PX_MEMORY;
    d->truths = fresh;
    d->truth_room = room;
    for (size_t i = 0; i < before; i++) {
        if (old[i].evaluation != d->evaluation) {
            free(old[i].holds);
            continue;
        }
        size_t at = place_in(d, old[i].condition);
        while (fresh[at].condition != NULL)
            at = (at + 1) & (room - 1);
        fresh[at] = old[i];
    }
    free(old);
    return PX_OK;
}

px_truth *px_truth_of(px_document *d, const int32_t *condition)
{
    if (PX_UNLIKELY(2 * (d->truth_count + 1) > d->truth_room) && more_truths(d) != PX_OK)
        return NULL;
    size_t at = place_in(d, condition);
    while (d->truths[at].evaluation == d->evaluation && d->truths[at].condition != condition)
        at = (at + 1) & (d->truth_room - 1);
    px_truth *truth = &d->truths[at];
    if (truth->evaluation != d->evaluation) {
        d->truth_count++;
        *truth = (px_truth){condition, d->evaluation, 0, truth->holds, truth->room, 0, 0};
    }
    return truth;
}

void px_truths_begin(px_document *d)
{
    d->evaluation++;
    d->truth_count = d->truths_kept = 0;
}

void px_truths_free(px_document *d)
{
    for (size_t i = 0; i < d->truth_room; i++)
        free(d->truths[i].holds);
    free(d->truths);
    free(d->nearest);
    d->truths = NULL;
    d->nearest = NULL;
    d->truth_room = d->truth_count = d->nearest_room = 0;
}

size_t px_truths_memory(const px_document *d)
{
    size_t bytes = d->truth_room * sizeof *d->truths + d->nearest_room * sizeof *d->nearest;
    for (size_t i = 0; i < d->truth_room; i++)
        bytes += d->truths[i].room;
    return bytes;
}

/* From now on, what a condition is at each node is kept. */
static int keep(px_document *d, px_truth *truth)
{
    size_t nodes = (size_t)d->nodes + 1;
    if (px_grow(&truth->holds, &truth->room, nodes, 1) != PX_OK)
        return -PX_MEMORY;
    memset(truth->holds, UNKNOWN, nodes);
    truth->kept = 1;
    d->truths_kept++;
    return 0;
}

/* -- all nodes together: marks are bytes, by node; the document node is before the first */

/* The nearest element with a name that an axis leads to, from each row; -1. `among` has a row more. */
static void find_nearest(px_context *c, const int32_t *step, int32_t *to, int32_t *among)
{
    const px_document *d = c->document;
    const int32_t *parent = d->in.parent, *symbol = d->in.symbol;
    int32_t rows = d->in.rows, last = -1;
    switch (step[0]) {
    case PX_NEXT: /* `among`: the last one so far of each parent */
        memset(among, 255, (size_t)rows * sizeof *among);
        for (int32_t row = rows - 1; row >= 0; row--) {
            to[row] = parent[row] < 0 ? -1 : among[parent[row]];
            if (parent[row] >= 0 && px_has_name(c, symbol[row], step[1]))
                among[parent[row]] = row;
        }
        return;
    case PX_PREVIOUS:
        memset(among, 255, (size_t)rows * sizeof *among);
        for (int32_t row = 0; row < rows; row++) {
            to[row] = parent[row] < 0 ? -1 : among[parent[row]];
            if (parent[row] >= 0 && px_has_name(c, symbol[row], step[1]))
                among[parent[row]] = row;
        }
        return;
    case PX_FIRST_BEHIND: /* `among`: the first one from each row on */
        among[rows] = -1;
        for (int32_t row = rows - 1; row >= 0; row--)
            among[row] = px_has_name(c, symbol[row], step[1]) ? row : among[row + 1];
        for (int32_t row = 0; row < rows; row++)
            to[row] = among[d->last[row]];
        return;
    case PX_LAST_BEFORE: /* what is between a node and its parent is below siblings */
        for (int32_t row = 0; row < rows; row++) {
            to[row] = last > parent[row] ? last : parent[row] < 0 ? -1 : to[parent[row]];
            if (px_has_name(c, symbol[row], step[1]))
                last = row;
        }
        return;
    default: /* PX_NEXT_ANCESTOR, PX_NEXT_ABOVE */
        for (int32_t row = 0; row < rows; row++) {
            int32_t above = parent[row];
            among[row] = px_has_name(c, symbol[row], step[1]) ? row : above < 0 ? -1 : among[above];
            to[row] = step[0] == PX_NEXT_ABOVE ? among[row] : above < 0 ? -1 : among[above];
        }
    }
}

/* Marks the elements, and perhaps the document node, with marked ones below them, or there. */
static void mark_above(const px_document *d, int near, const uint8_t *marked, uint8_t *from)
{
    const int32_t *parent = d->in.parent;
    for (int32_t row = d->in.rows - 1; row >= 0; row--) { /* `from` has what is below so far */
        if (marked[row + 1] | from[row + 1])
            from[parent[row] + 1] = 1;
        from[row + 1] |= (uint8_t)(near && marked[row + 1]);
    }
}

/* Marks the siblings that are on one side of marked ones: PX_FOLLOWING, those that have one behind. */
static void mark_siblings(const px_document *d, int32_t axis, const uint8_t *marked, uint8_t *from, int32_t *seen)
{
    int32_t rows = d->in.rows;
    memset(seen, 0, (size_t)rows * sizeof *seen);
    for (int32_t i = 0; i < rows; i++) {
        int32_t row = axis == PX_FOLLOWING ? rows - 1 - i : i, parent = d->in.parent[row];
        if (parent < 0)
            continue;
        from[row + 1] = (uint8_t)seen[parent];
        seen[parent] |= marked[row + 1];
    }
}

/* Marks the elements behind which, or before which, marked ones are. */
static void mark_beside(const px_document *d, int32_t axis, const uint8_t *marked, uint8_t *from)
{
    int32_t last = -1, first_end = INT32_MAX;
    for (int32_t row = 0; row < d->in.rows; row++) {
        if (!marked[row + 1])
            continue;
        last = row;
        first_end = d->last[row] < first_end ? d->last[row] : first_end;
    }
    for (int32_t row = 0; row < d->in.rows; row++)
        from[row + 1] = axis == PX_BEHIND ? last >= d->last[row] : first_end <= row;
}

/* Marks the elements above which, or at which, marked ones are. */
static void mark_below(const px_document *d, int near, const uint8_t *marked, uint8_t *from)
{
    for (int32_t row = 0; row < d->in.rows; row++) {
        int32_t parent = d->in.parent[row];
        int above = parent >= 0 && (near ? from[parent + 1] : from[parent + 1] | marked[parent + 1]);
        from[row + 1] = (uint8_t)(above || (near && marked[row + 1]));
    }
}

/* Working memory for one pass. */
static int make_room(px_document *d)
{
    size_t nodes = (size_t)d->nodes + 1;
    return px_grow(&d->nearest, &d->nearest_room, 2 * nodes + 1, sizeof *d->nearest) == PX_OK ? 0 : -PX_MEMORY;
}

int px_mark_sources(px_context *c, const int32_t *step, const uint8_t *marked, uint8_t *from)
{
    px_document *d = c->document;
    const px_input *in = &d->in;
    int32_t base = in->rows + in->attributes;
    int code = make_room(d);
    if (code == 0)
        code = px_charge(c, d->size);
    if (code < 0)
        return code;
    memset(from, 0, (size_t)d->nodes + 1);
    switch (step[0]) {
    case PX_CHILD:
        for (int32_t row = 0; row < in->rows; row++)
            from[in->parent[row] + 1] |= marked[row + 1];
        return 0;
    case PX_DESCENDANT:
    case PX_NEAR:
        mark_above(d, step[0] == PX_NEAR, marked, from);
        return 0;
    case PX_ATTRIBUTE:
        for (int32_t at = 0; at < in->attributes; at++)
            from[in->attribute_row[at] + 1] |= marked[in->rows + at + 1];
        return 0;
    case PX_TEXT:
        for (int32_t node = base; node < d->text_end; node++)
            from[d->texts[node - base].row + 1] |= marked[node + 1];
        return 0;
    case PX_FOLLOWING:
    case PX_PRECEDING:
        mark_siblings(d, step[0], marked, from, d->nearest);
        return 0;
    case PX_BEHIND:
    case PX_BEFORE:
        mark_beside(d, step[0], marked, from);
        return 0;
    case PX_ANCESTOR:
    case PX_ABOVE:
        mark_below(d, step[0] == PX_ABOVE, marked, from);
        return 0;
    case PX_PARENT:
        for (int32_t row = 0; row < in->rows; row++)
            from[row + 1] = in->parent[row] >= 0 && marked[in->parent[row] + 1];
        return 0;
    default:
        find_nearest(c, step, d->nearest, d->nearest + in->rows);
        for (int32_t row = 0; row < in->rows; row++)
            from[row + 1] = d->nearest[row] >= 0 && marked[d->nearest[row] + 1];
        return 0;
    }
}

/* Marks the nodes that pass a step's tests, of those that are marked in `leading` (NULL: of all). */
static int mark_passing(px_context *c, const int32_t *step, const uint8_t *leading, uint8_t *passing)
{
    px_document *d = c->document;
    const px_input *in = &d->in;
    int32_t base = in->rows + in->attributes, first = 0, end = in->rows;
    if (step[0] == PX_ATTRIBUTE)
        first = in->rows, end = base;
    else if (step[0] == PX_TEXT)
        first = base, end = d->text_end;
    memset(passing, 0, (size_t)d->nodes + 1);
    for (int32_t node = first; node < end; node++) {
        if (leading != NULL && !leading[node + 1])
            continue;
        int code = px_spend(c);
        if (code == 0)
            code = px_step_passes(c, step, node);
        if (code < 0)
            return code;
        passing[node + 1] = (uint8_t)code;
    }
    return 0;
}

/* Marks the nodes from which steps lead to one that a visit takes; `marked` and `from` are of a size. */
static int mark_all(px_context *c, const int32_t *step, int32_t left, px_visitor visit, void *context, uint8_t *marked,
                    uint8_t *from)
{
    const int32_t *next = step + 3 + step[2];
    int code = left > 1 ? mark_all(c, next, left - 1, visit, context, marked, from) : 0;
    if (code == 0)
        code = mark_passing(c, step, left > 1 ? from : NULL, marked);
    for (int32_t node = 0; left == 1 && code == 0 && node < c->document->nodes; node++) {
        if (!marked[node + 1])
            continue;
        int taken = visit(c, context, node);
        code = taken < 0 ? taken : 0;
        marked[node + 1] = taken > 0;
    }
    return code < 0 ? code : px_mark_sources(c, step, marked, from);
}

/* Finds out at which nodes a condition on a path holds. */
static int decide_all(px_context *c, const int32_t *condition, const int32_t *path, px_visitor visit, void *context)
{
    px_document *d = c->document;
    size_t nodes = (size_t)d->nodes + 1;
    uint8_t *marked = malloc(2 * nodes); /* conditions of steps may be decided meanwhile, too */
    if (marked == NULL)
        return -PX_MEMORY;
    uint8_t *from = marked + nodes;
    int code = mark_all(c, path + 1, path[0], visit, context, marked, from);
    px_truth *truth = code == 0 ? px_truth_of(d, condition) : NULL;
    for (size_t i = 0; truth != NULL && i < nodes; i++)
        truth->holds[i] = from[i] ? TRUE_HERE : FALSE_HERE;
    free(marked);
    return code < 0 ? code : truth == NULL ? -PX_MEMORY : 0;
}

static int goes_backwards(const int32_t *path)
{
    const int32_t *step = path + 1;
    for (int32_t left = path[0]; left > 0; left--, step += 3 + step[2])
        if (step[0] >= PX_EXACTLY)
            return 0;
    return path[0] > 0;
}

int px_truth_known(const px_truth *truth, int32_t node)
{
    return truth->kept ? truth->holds[node + 1] - FALSE_HERE : -1;
}

int px_truth_note(px_context *c, const int32_t *condition, int32_t node, int holds, int64_t spent)
{
    px_document *d = c->document;
    px_truth *truth = px_truth_of(d, condition); /* it may have moved */
    if (truth == NULL)
        return -PX_MEMORY;
    truth->spent += 1 + spent;
    if (PX_LIKELY(truth->spent < WORTH + d->size / 2))
        return 0;
    int code = truth->kept ? 0 : keep(d, truth);
    if (code < 0)
        return code;
    truth->holds[node + 1] = holds ? TRUE_HERE : FALSE_HERE;
    px_visitor visit;
    void *context;
    const int32_t *path = px_path_of(condition, &visit, &context);
    if (truth->whole || path == NULL || truth->spent < TIMES * path[0] * d->size || !goes_backwards(path))
        return 0;
    truth->whole = 1;
    return decide_all(c, condition, path, visit, context);
}
