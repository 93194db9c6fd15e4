#include "push.h"

/* How many steps a query takes on a document: at most so many for each node of the document and step of
 * the query. Steps are counted for each query as if there were no other one: what conditions were found
 * to be for another query is found out, and counted, again. A query that takes more is not decided: it
 * may match, and whoever asked has it answered in another way.
 *
 * A query may be evaluated at many nodes, one after the other; evaluations of few steps are as many as
 * nodes at most, and are not noted. */
enum { FEW_STEPS = 256 };

#define OVERRUN UINT64_MAX
#define TRIED ((uint64_t)1 << 62) /* added to the steps */

static uint64_t key_of(const px_machine *m, const px_template *t, int32_t row)
{
    return px_key((int32_t)(t - m->registry->templates), row);
}

/* The steps that a query with one step may take. A long text counts as many nodes. */
static int64_t allowance_of(const px_machine *m)
{
    const px_input *in = &m->document.in;
    return m->steps * (1 + m->document.size + (in->rows ? in->end[0] / PX_STEP_BYTES : 0));
}

void px_accounts_begin(px_machine *m)
{
    m->allowance = allowance_of(m);
    m->overrun = 0;
    if (m->spent.count)
        px_map_free(&m->spent);
}

static uint64_t spent_of(const px_machine *m, uint64_t key)
{
    const uint64_t *spent = m->spent.count ? px_map_get(&m->spent, key) : NULL;
    return spent == NULL ? 0 : *spent;
}

void px_account_fresh(px_machine *m, const px_cell *cells, int64_t steps)
{
    px_truths_begin(&m->document);
    m->context.cells = cells;
    m->allowed = m->document.budget = m->allowance * steps;
}

int px_account_open(px_machine *m, const px_template *t, int32_t row)
{
    uint64_t spent = spent_of(m, key_of(m, t, row));
    if (PX_UNLIKELY(spent == OVERRUN))
        return 0;
    spent &= ~TRIED;
    px_account_fresh(m, t->cells + (size_t)row * (size_t)t->width, t->steps);
    m->document.budget -= (int64_t)spent;
    m->allowed = m->document.budget;
    return 1;
}

int px_account_try(px_machine *m, const px_template *t, int32_t row)
{
    uint64_t key = key_of(m, t, row), spent = spent_of(m, key);
    if (spent & TRIED)
        return 1;
    return px_map_put(&m->spent, key, spent | TRIED) == PX_OK ? 0 : -PX_MEMORY;
}

void px_note_overrun(px_machine *m)
{
    m->overrun++;
    m->figures.overrun++;
}

int px_account_overrun(px_machine *m, const px_template *t, int32_t row)
{
    px_note_overrun(m);
    return px_map_put(&m->spent, key_of(m, t, row), OVERRUN) == PX_OK
               ? 0
               : -PX_MEMORY;
}

int px_account_close(px_machine *m, const px_template *t, int32_t row, int code)
{
    int64_t steps = m->allowed - m->document.budget;
    m->figures.steps += (uint64_t)steps;
    if (PX_UNLIKELY(code == -PX_COSTLY))
        return px_account_overrun(m, t, row);
    if (PX_LIKELY(steps < FEW_STEPS) || code < 0)
        return code;
    uint64_t key = key_of(m, t, row);
    return px_map_put(&m->spent, key, spent_of(m, key) + (uint64_t)steps) == PX_OK ? code : -PX_MEMORY;
}

static int is_known(const px_shape *known, int32_t owner)
{
    size_t first = 0, end = known == NULL ? 0 : known->owner_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (known->owners[middle] < owner)
            first = middle + 1;
        else
            end = middle;
    }
    return known != NULL && first < known->owner_count && known->owners[first] == owner;
}

/* A query may match, unless it was found to match before. */
static void leave_open(px_machine *m, int32_t owner, const px_shape *known)
{
    if (!px_set_has(&m->hits, owner) && !is_known(known, owner))
        px_set_add(&m->maybe, owner);
}

void px_accounts_end(px_machine *m, const px_shape *known)
{
    const px_registry *r = m->registry;
    for (size_t i = 0; m->overrun && m->spent.slots != NULL && i <= m->spent.mask; i++) {
        const px_entry *entry = &m->spent.slots[i];
        if (entry->key == UINT64_MAX || entry->value != OVERRUN)
            continue;
        int32_t owner = r->templates[entry->key >> 32].owner[(uint32_t)entry->key];
        int32_t crowd = r->owners[owner].crowd;
        if (crowd < 0)
            leave_open(m, owner, known);
        for (uint32_t k = 0; crowd >= 0 && k < r->crowds[crowd].count; k++)
            leave_open(m, r->crowds[crowd].owners[k], known);
    }
}
