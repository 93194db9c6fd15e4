#include "push.h"

#include <math.h>

/* The values at an anchor are looked up once for all rows of a clause. Most conditions are then a
 * comparison of each row's constant with a number, or with a string. */

typedef struct {
    px_machine *m;
    px_operand *operand;
    const int32_t *check;
} px_gathering;

static int gather_node(px_context *c, void *context, int32_t node)
{
    px_gathering *g = context;
    px_machine *m = g->m;
    px_operand *o = g->operand;
    (void)c;
    if (px_grow(&m->nodes, &m->node_room, m->node_count + 1, sizeof *m->nodes) != PX_OK)
        return -PX_MEMORY;
    m->nodes[m->node_count++] = node;
    o->count++;
    if (g->check[1] == PX_THERE)
        return 1;
    if (g->check[3])
        return px_value_string(&m->document, &m->registry->strings, node, &o->string) == PX_OK
                   ? 0
                   : -PX_MEMORY;
    if (px_value_number(&m->document, node, &o->number) != PX_OK)
        return -PX_MEMORY;
    if (o->number != o->number) {
        o->nan++;
    } else {
        if (!(o->low <= o->number))
            o->low = o->number;
        if (!(o->high >= o->number))
            o->high = o->number;
    }
    return 0;
}

/* The nodes of a check were found on the way if its slot is heavy. */
static int gather(px_machine *m, const int32_t *check, int32_t anchor, px_gathering *g)
{
    int code = 0;
    if (m->crowded || !(m->registry->slot_flags[check[5]] & PX_HEAVY))
        return px_visit_path(&m->context, check + 6, anchor, gather_node, g);
    px_nodes_at nodes = px_nodes_below(m, check[5], anchor);
    for (int32_t node; code == 0 && (node = px_next_below(m, &nodes)) >= 0;)
        code = gather_node(&m->context, g, node);
    return code;
}

/* A check as a comparison of the constant; 0: it is none. */
static int test_of(px_prepared *p, const int32_t *check, const px_operand *o, px_test *test)
{
    static const int swapped[] = {PX_EQ, PX_NE, PX_GT, PX_GE, PX_LT, PX_LE};
    int operator_ = check[2], one = o->count == 1;
    if (check[1] == PX_FIRST || operator_ > PX_GE)
        return 0;
    if (o->count == 0) {
        p->never = 1;
        return 1;
    }
    *test = (px_test){check[4], operator_, 0, o->string};
    if (check[1] == PX_THERE) {
        test->cell = -1;
    } else if (operator_ >= PX_LT) {
        test->operator_ = swapped[operator_];
        test->number = operator_ <= PX_LE ? o->low : o->high;
        p->never |= test->number != test->number;
    } else if (!one) {
        return 0;
    } else if (check[3]) {
        test->operator_ = operator_ == PX_EQ ? PX_HAS : PX_BEGINS;
        p->never |= operator_ == PX_EQ && o->string < 0;
    } else {
        test->number = o->number;
        p->never |= operator_ == PX_EQ && o->nan;
    }
    return 1;
}

/* Makes room again for what is known at anchors, when that is far more than the document has nodes. */
static void forget_operands(px_machine *m)
{
    if (m->node_count <= (size_t)PX_FEW_ANCHORS * (size_t)m->document.size + PX_FEW_PAIRS &&
        m->operand_count <= (size_t)PX_FEW_ANCHORS * (size_t)m->document.size + m->registry->clause_count)
        return;
    m->operand_count = m->test_count = m->node_count = 0;
    m->preparation++;
}

static int prepare(px_machine *m, const px_template *t, const px_clause *c, px_prepared *p, int32_t anchor)
{
    forget_operands(m);
    const int32_t *check = t->words + c->checks;
    int32_t checks = *check++;
    size_t operands = m->operand_count + (size_t)checks, tests = m->test_count + (size_t)checks;
    if (px_grow(&m->operands, &m->operand_room, operands, sizeof *m->operands) != PX_OK ||
        px_grow(&m->tests, &m->test_room, tests, sizeof *m->tests) != PX_OK)
        return -PX_MEMORY;
    *p = (px_prepared){0, anchor, (uint32_t)m->operand_count, (uint32_t)m->test_count, 0, 0, 0};
    for (int32_t i = 0; i < checks; i++, check += check[0]) {
        px_operand *o = &m->operands[m->operand_count + (size_t)i];
        px_test *test = &m->tests[m->test_count + p->count];
        *o = (px_operand){(uint32_t)m->node_count, 0, NAN, NAN, NAN, -1, 0};
        px_gathering g = {m, o, check};
        int code = gather(m, check, anchor, &g);
        if (code < 0)
            return code;
        if (test_of(p, check, o, test))
            p->count += !p->never && test->cell >= 0;
        else
            p->more = 1;
    }
    m->operand_count = operands;
    m->test_count += p->count;
    p->preparation = m->preparation;
    return 0;
}

/* Tests each node of an operand, or the first of a node set that is none. */
static int each_passes(px_machine *m, const int32_t *check, const px_operand *o, px_cell cell)
{
    const px_string *constant = check[3] ? &m->registry->strings.items[cell.string] : NULL;
    if (check[1] == PX_FIRST) {
        int32_t first = -1;
        for (uint32_t i = 0; i < o->count; i++) {
            int32_t node = m->nodes[o->begin + i];
            if (first < 0 || px_place_of(&m->document, node) < px_place_of(&m->document, first))
                first = node;
        }
        if (first < 0)
            return constant ? px_text_test((px_bytes) "", 0, check[2], constant)
                            : px_compare(NAN, check[2], cell.number);
        const px_value *value = &m->document.values[first];
        if (constant)
            return px_text_test(value->at, value->length, check[2], constant);
        return px_compare(value->number, check[2], cell.number);
    }
    for (uint32_t i = 0; i < o->count; i++) {
        const px_value *value = &m->document.values[m->nodes[o->begin + i]];
        if (constant ? px_text_test(value->at, value->length, check[2], constant)
                     : px_compare(value->number, check[2], cell.number))
            return 1;
    }
    return 0;
}

static inline int check_passes(px_machine *m, const int32_t *check, const px_operand *o, px_cell cell)
{
    if (PX_UNLIKELY(check[1] != PX_COMPARE))
        return check[1] == PX_THERE ? o->count > 0 : each_passes(m, check, o, cell);
    switch (check[2]) {
    case PX_LT:
        return o->low < cell.number;
    case PX_LE:
        return o->low <= cell.number;
    case PX_GT:
        return o->high > cell.number;
    case PX_GE:
        return o->high >= cell.number;
    case PX_HAS:
    case PX_BEGINS:
        return each_passes(m, check, o, cell);
    default:
        if (PX_UNLIKELY(o->count != 1))
            return each_passes(m, check, o, cell);
        return (check[3] ? o->string == cell.string : o->number == cell.number) == (check[2] == PX_EQ);
    }
}

/* Whether the checks that are no tests hold. */
static int others_hold(px_machine *m, const px_template *t, const px_clause *c, const px_prepared *p,
                       const px_cell *cells)
{
    const int32_t *check = t->words + c->checks;
    const px_operand *o = m->operands + p->operands;
    for (int32_t left = *check++; left > 0; left--, check += check[0], o++)
        if (!check_passes(m, check, o, cells[check[4]]))
            return 0;
    return 1;
}

static inline int test_passes(const px_test *test, px_cell cell)
{
    switch (test->operator_) {
    case PX_HAS:
        return cell.string == test->string;
    case PX_BEGINS:
        return cell.string != test->string;
    default:
        return px_compare(cell.number, test->operator_, test->number);
    }
}

/* Keeps the rows that pass a test: the loop has no branch but its end. */
#define KEEP(condition) \
    for (uint32_t i = 0; i < count; i++) { \
        int32_t row = rows[i]; \
        px_cell cell = cells[(size_t)row * width]; \
        rows[kept] = row; \
        kept += (condition); \
    } \
    return kept

static uint32_t keep(const px_test *test, const px_cell *cells, size_t width, int32_t *rows, uint32_t count)
{
    uint32_t kept = 0;
    double number = test->number;
    cells += test->cell;
    switch (test->operator_) {
    case PX_LT:
        KEEP(cell.number < number);
    case PX_LE:
        KEEP(cell.number <= number);
    case PX_GT:
        KEEP(cell.number > number);
    case PX_GE:
        KEEP(cell.number >= number);
    default:
        KEEP(test_passes(test, cell));
    }
}

int px_try_rows(px_machine *m, int32_t clause, int32_t *rows, uint32_t count, int32_t anchor)
{
    const px_clause *c = &m->registry->clauses[clause];
    const px_template *t = &m->registry->templates[c->template_];
    px_prepared *p = &m->prepared[clause];
    if (PX_UNLIKELY(anchor == PX_ANYWHERE)) {
        int code = PX_OK;
        for (uint32_t i = 0; i < count && code == PX_OK; i++)
            code = px_try_anywhere(m, t, rows[i]);
        return code;
    }
    if (p->preparation != m->preparation || p->anchor != anchor) {
        px_account_fresh(m, NULL, t->steps);
        int code = prepare(m, t, c, p, anchor);
        for (uint32_t i = 0; code == -PX_COSTLY && i < count; i++)
            if (px_account_overrun(m, t, rows[i]) < 0)
                return PX_MEMORY;
        if (code < 0)
            return code == -PX_COSTLY ? PX_OK : -code;
    }
    if (p->never)
        return PX_OK;
    size_t width = (size_t)t->width;
    m->figures.evaluated += count;
    for (uint32_t i = 0; i < p->count && count; i++)
        count = keep(&m->tests[p->tests + i], t->cells, width, rows, count);
    for (uint32_t i = 0; i < count; i++)
        if (!p->more || others_hold(m, t, c, p, t->cells + (size_t)rows[i] * width)) {
            px_note_bound(m, t->owner[rows[i]], anchor);
            px_match_row(m, t, rows[i]);
        }
    return PX_OK;
}
