#include "push.h"

/* -- postings at slots that exist */

/* Whether the slots of each group have an anchor in common: 0 if not, 1 if perhaps, 2 if that
 * decides. It does if no bit is shared, and if only innermost groups have a choice of anchors. */
static int groups_hold(const px_machine *m, const px_template *t, const px_clause *c)
{
    const int32_t *at = t->words + c->groups;
    int sure = c->decides && m->windows == 1;
    for (int32_t groups = *at++; groups > 0; groups--) {
        int32_t outer = *at++, slots = *at++;
        uint64_t common = UINT64_MAX;
        for (int32_t i = 0; i < slots; i++)
            common &= m->mask[*at++];
        if (common == 0)
            return 0;
        sure &= slots == 1 || (common & ~PX_LEAF_BIT) != 0;
        if (outer >= 0)
            sure &= (m->mask[outer] & (m->mask[outer] - 1)) == 0 && m->mask[outer] != PX_LEAF_BIT;
    }
    return 1 + sure;
}

/* Whether a clause holds for a row, at whatever anchor. */
static int clause_holds(px_machine *m, const px_template *t, const px_clause *c, int32_t row)
{
    m->figures.evaluated++;
    if (!px_account_open(m, t, row))
        return 0;
    int holds = c->condition ? px_holds_anywhere(&m->context, t->words + c->path)
                             : px_exists(&m->context, t->words + c->path);
    return px_account_close(m, t, row, holds);
}

int px_try_anywhere(px_machine *m, const px_template *t, int32_t row)
{
    int holds = 0;
    if (px_set_has(t->exact ? &m->hits : &m->maybe, t->owner[row]))
        return PX_OK;
    int code = px_account_try(m, t, row);
    if (code != 0)
        return code < 0 ? -code : PX_OK;
    for (int32_t c = t->clause; c >= 0 && holds == 0; c = m->registry->clauses[c].next)
        holds = clause_holds(m, t, &m->registry->clauses[c], row);
    if (holds > 0)
        px_match_row(m, t, row);
    return holds < 0 ? -holds : PX_OK;
}

/* The same for the row of an owner, or of a crowd. */
static int try_owner(px_machine *m, int32_t named)
{
    const px_owner *owner = &m->registry->owners[px_some_owner(m->registry, named)];
    return px_try_anywhere(m, &m->registry->templates[owner->template_], owner->row);
}

static int try_anywhere(px_machine *m, px_item item)
{
    if (item.clause == PX_SURE) {
        px_match_owner(m, &m->hits, item.row);
        return PX_OK;
    }
    const px_clause *c = &m->registry->clauses[item.clause];
    const px_template *t = &m->registry->templates[c->template_];
    m->figures.candidates++;
    int holds = groups_hold(m, t, c);
    if (holds == 0 || px_set_has(t->exact ? &m->hits : &m->maybe, t->owner[item.row]))
        return PX_OK;
    if (holds == 1)
        holds = clause_holds(m, t, c, item.row);
    if (holds < 0)
        return -holds;
    if (holds)
        px_match_row(m, t, item.row);
    return PX_OK;
}

/* An anchor in common decides, unless it is a bit that several elements share. */
static int try_pairs(px_machine *m, int32_t slot)
{
    const px_registry *r = m->registry;
    px_list *list = &r->simple[slot];
    const px_item *items = px_items(list);
    uint64_t mask = m->mask[slot];
    m->figures.candidates += list->count;
    for (uint32_t i = 0; i < list->count; i++) {
        uint64_t common = items[i].clause < 0 ? UINT64_MAX : mask & m->mask[items[i].clause];
        if (common == 0)
            continue;
        int32_t owner = items[i].row;
        if (PX_UNLIKELY(common == PX_LEAF_BIT || m->windows == 0) && items[i].clause >= 0) {
            const px_template *t = &r->templates[r->owners[px_some_owner(r, owner)].template_];
            int holds = 0;
            for (int32_t c = t->clause; c >= 0 && holds == 0; c = r->clauses[c].next)
                holds = clause_holds(m, t, &r->clauses[c], 0);
            if (holds < 0)
                return -holds;
            if (holds == 0)
                continue;
        }
        px_match_owner(m, &m->hits, owner);
    }
    return PX_OK;
}

int px_try_simple(px_machine *m)
{
    int code = PX_OK;
    for (size_t i = 0; i < m->present_count && code == PX_OK; i++)
        if (m->registry->slot_flags[m->present[i]] & PX_SIMPLE)
            code = try_pairs(m, m->present[i]);
    return code;
}

/* -- postings at values */

static int try_at(px_machine *m, px_item item, int32_t anchor)
{
    if (item.clause == PX_SURE) {
        px_note_bound(m, item.row, anchor);
        px_match_owner(m, &m->hits, item.row);
        return PX_OK;
    }
    const px_clause *c = &m->registry->clauses[item.clause];
    const px_template *t = &m->registry->templates[c->template_];
    int holds = 1;
    if (!c->sure) {
        if (c->checks)
            return px_try_rows(m, item.clause, &item.row, 1, anchor);
        if (px_set_has(t->exact ? &m->hits : &m->maybe, t->owner[item.row]))
            return PX_OK;
        if (PX_UNLIKELY(anchor == PX_ANYWHERE))
            return px_try_anywhere(m, t, item.row);
        m->figures.evaluated++;
        if (!px_account_open(m, t, item.row))
            return PX_OK;
        holds = c->condition ? px_holds_anywhere(&m->context, t->words + c->path)
                             : px_holds_at(&m->context, t->words + c->path, c->anchor, anchor);
        holds = px_account_close(m, t, item.row, holds);
    }
    if (holds < 0)
        return -holds;
    if (holds) {
        px_note_bound(m, t->owner[item.row], anchor);
        px_match_row(m, t, item.row);
    }
    return PX_OK;
}

/* Tries the postings of a list; those of one clause together. */
static int try_list(px_machine *m, px_list *list, int32_t anchor)
{
    int code = PX_OK;
    if (list == NULL)
        return code;
    const px_item *items = px_items(list);
    const uint32_t *guards = px_guards(list);
    m->figures.candidates += list->count;
    if (px_grow(&m->chosen, &m->chosen_room, list->count, sizeof *m->chosen) != PX_OK)
        return PX_MEMORY;
    for (uint32_t i = 0, end; i < list->count && code == PX_OK; i = end) {
        int32_t clause = items[i].clause;
        end = i + 1;
        if (clause <= PX_PAIR) {
            if (PX_UNLIKELY(m->crowded))
                code = try_owner(m, items[i].row);
            else if (px_pair_holds(m, clause, guards[i], anchor))
                code = try_at(m, (px_item){PX_SURE, items[i].row}, anchor);
            continue;
        }
        if (clause < 0 || !m->registry->clauses[clause].checks) {
            code = px_guard_passes(m, guards[i]) ? try_at(m, items[i], anchor) : PX_OK;
            continue;
        }
        uint32_t rows = 0;
        for (end = i; end < list->count && items[end].clause == clause; end++) {
            m->chosen[rows] = items[end].row;
            rows += (uint32_t)px_guard_passes(m, guards[end]);
        }
        if (rows)
            code = px_try_rows(m, clause, m->chosen, rows, anchor);
    }
    return code;
}

/* Takes out the postings that are sure, whose queries match. */
PX_TUNED
static void take_sure(px_machine *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->posted_count; i++) {
        px_posted posted = m->posted[i];
        if (posted.item.clause != PX_SURE) {
            m->posted[count++] = posted;
            continue;
        }
        px_note_bound(m, posted.item.row, posted.anchor);
        px_match_owner(m, &m->hits, posted.item.row);
    }
    m->posted_count = count;
}

/* Tries the postings that were taken from short lists. */
static int try_posted(px_machine *m)
{
    int code = PX_OK;
    take_sure(m);
    for (size_t i = 0; i < m->posted_count && code == PX_OK; i++)
        code = try_at(m, m->posted[i].item, m->posted[i].anchor);
    return code;
}

/* Tries postings that are next to each other; those of one clause together. */
static int try_block(px_machine *m, const px_key_item *items, uint32_t count, int32_t anchor)
{
    int code = PX_OK;
    m->figures.candidates += count;
    if (px_grow(&m->chosen, &m->chosen_room, count, sizeof *m->chosen) != PX_OK)
        return PX_MEMORY;
    for (uint32_t i = 0, run = 1; i < count && code == PX_OK; i += run) {
        int32_t clause = items[i].item.clause;
        for (run = 0; i + run < count && items[i + run].item.clause == clause; run++)
            m->chosen[run] = items[i + run].item.row;
        const px_clause *c = &m->registry->clauses[clause];
        if (c->checks && !c->sure) {
            code = px_try_rows(m, clause, m->chosen, run, anchor);
            continue;
        }
        for (uint32_t k = 0; k < run && code == PX_OK; k++)
            code = try_at(m, items[i + k].item, anchor);
    }
    return code;
}

/* The first item of a block whose constant is above a number, or equal to it unless `equal`. */
static uint32_t bound(const px_key_item *block, uint32_t count, double number, int equal)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (equal ? block[middle].key <= number : block[middle].key < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int try_range(px_machine *m, const px_sorted *s, int operator_, double number, int32_t anchor)
{
    int equal = operator_ == PX_GREATER_EQUAL || operator_ == PX_LESS_EQUAL, code = PX_OK;
    if (number != number)
        return PX_OK;
    if (operator_ == PX_GREATER || operator_ == PX_GREATER_EQUAL) { /* constants below the value */
        for (size_t b = 0; b < s->count && code == PX_OK; b++) {
            uint32_t count = s->counts[b], end = bound(s->blocks[b], count, number, equal);
            code = end ? try_block(m, s->blocks[b], end, anchor) : PX_OK;
            if (end < count)
                break;
        }
        return code;
    }
    for (size_t b = s->count; b-- > 0 && code == PX_OK;) {
        uint32_t count = s->counts[b], begin = bound(s->blocks[b], count, number, !equal);
        code = begin < count ? try_block(m, s->blocks[b] + begin, count - begin, anchor) : PX_OK;
        if (begin > 0)
            break;
    }
    return code;
}

typedef struct {
    px_machine *m;
    int32_t slot, anchor;
    int kind;
} px_search;

static int try_part(void *context, int32_t string)
{
    const px_search *s = context;
    px_machine *m = s->m;
    if (m->visited[string] == m->search)
        return PX_VISITED;
    m->visited[string] = m->search;
    return try_list(m, px_value_list(m->registry, s->slot, s->kind, string), s->anchor);
}

static int try_parts(px_machine *m, int32_t slot, const px_values *values, int32_t node, int32_t anchor)
{
    const px_registry *r = m->registry;
    size_t before = m->visited_room;
    const px_value *value = px_value_of(&m->document, node);
    if (value == NULL ||
        px_grow(&m->visited, &m->visited_room, r->strings.count + 1, sizeof *m->visited) != PX_OK)
        return PX_MEMORY;
    memset(m->visited + before, 0, (m->visited_room - before) * sizeof *m->visited);
    for (int start = 0; start < 2; start++) {
        px_search search = {m, slot, anchor, start ? PX_LIST_STARTS : PX_LIST_CONTAINS};
        m->search++;
        int code = px_parts_find(&values->parts[start], &r->strings, value->at, value->length, start, try_part,
                                 &search);
        if (code != PX_OK)
            return code;
    }
    return PX_OK;
}

/* Looks up what a node's value leads to, other than by being equal to a constant. */
static int try_value(px_machine *m, int32_t slot, const px_values *values, int32_t node, int32_t anchor)
{
    int code = PX_OK;
    double number;
    if (values->parts[0].count || values->parts[0].fresh_count || values->parts[0].empty ||
        values->parts[1].count || values->parts[1].fresh_count || values->parts[1].empty)
        code = try_parts(m, slot, values, node, anchor);
    if (code != PX_OK || !(values->ranges[0].items || values->ranges[1].items || values->ranges[2].items ||
                           values->ranges[3].items))
        return code;
    if (px_value_number(&m->document, node, &number) != PX_OK)
        return PX_MEMORY;
    for (int i = 0; i < 4 && code == PX_OK; i++)
        if (values->ranges[i].items)
            code = try_range(m, &values->ranges[i], i, number, anchor);
    return code;
}

int px_try_others(px_machine *m)
{
    const px_registry *r = m->registry;
    int code = px_look_ahead(m);
    for (size_t i = 0; code == PX_OK && i < m->reached_count; i++)
        code = try_list(m, &r->pool[m->reached[i].list], m->reached[i].anchor);
    if (code == PX_OK)
        code = try_posted(m);
    for (size_t i = 0; i < m->present_count && code == PX_OK; i++) {
        int32_t slot = m->present[i];
        if (!(r->slot_flags[slot] & PX_MORE))
            continue;
        px_values *values = r->values[slot];
        if (!values->others)
            continue;
        const px_item *items = px_items(&values->general);
        for (uint32_t k = 0; k < values->general.count && code == PX_OK; k++)
            code = try_anywhere(m, items[k]);
        for (int32_t f = m->first[slot]; f >= 0 && code == PX_OK; f = m->found[f].next)
            code = try_value(m, slot, values, m->found[f].node, m->found[f].anchor);
    }
    return code;
}
