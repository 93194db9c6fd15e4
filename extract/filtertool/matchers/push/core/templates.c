#include "push.h"

/* The words of a template, as `px_template_add` takes them:
 *
 *   number of slots; for each the steps to its anchor and the steps from there, each as their number
 *     and (axis, test) pairs
 *   1: exact, 2: it looks at text nodes, 4: times the number of its steps
 *   number of constants; for each whether it is a string
 *   number of clauses; for each
 *     [0] its words, [1] the anchor's step or -1, [2] whether it is a condition on the document,
 *     [3] whether its groups decide; where these begin, counted from [0]:
 *     [4] groups: their number; for each the slot of its anchor if other groups are below that, or
 *         -1, the number of its slots, and the slots
 *     [5] covers: their number; for each its words, the number of its atoms, and for each atom
 *         slot, kind, constant, whether it decides
 *     [6] checks: 0 if there are none; their number; for each its words, PX_THERE, PX_COMPARE or
 *         PX_FIRST, operator, whether the constant is a string, constant, slot, the path from the
 *         anchor
 *     [7] the path, or the condition
 *
 * A slot is named by its number in the template. In the words that are kept it is the registry's. */

/* Numbers the postings of a template's clauses by the covers that are chosen. */
static void number_posts(px_registry *r, px_template *t)
{
    t->posts = 0;
    for (int32_t clause = t->clause; clause >= 0; clause = r->clauses[clause].next) {
        px_clause *c = &r->clauses[clause];
        c->sure = t->words[c->chosen + 1] == 1 && t->words[c->chosen + 5];
        c->posts = t->posts;
        px_choose_guards(t, c);
        t->posts += t->words[c->chosen + 1];
    }
}

/* The slots of a clause's guards. */
static void weigh_guards(px_registry *r, const px_template *t, const px_clause *c, int change)
{
    for (int i = 0; i < 2 && c->guards[i]; i++) {
        const int32_t *atom = t->words + c->guards[i];
        px_slot_heavy(r, atom[0], change);
        r->slot_flags[atom[0]] |= atom[1] == PX_EQUAL_STRING ? PX_GUARD_STRINGS : PX_GUARD_NUMBERS;
    }
}

/* Slots whose values lead to postings are heavy, and so are those of guards, and of the checks that
 * follow. */
static void weigh_slots(px_registry *r, const px_template *t, int change)
{
    px_atom a = {0};
    while (px_next_atom(r, t, &a))
        if (a.atom[1] != PX_EXISTS)
            px_slot_heavy(r, a.atom[0], change);
    for (int32_t clause = t->clause; clause >= 0; clause = r->clauses[clause].next) {
        const px_clause *c = &r->clauses[clause];
        weigh_guards(r, t, c, change);
        if (c->sure || c->checks == 0 || t->words[c->chosen + 3] == PX_EXISTS)
            continue;
        const int32_t *check = t->words + c->checks;
        for (int32_t checks = *check++; checks > 0; checks--, check += check[0])
            px_slot_heavy(r, check[5], change);
    }
}

/* Slots by whose values rows may be found, now or after a choice of other covers. */
static void mark_slots(px_registry *r, const px_template *t)
{
    for (int32_t clause = t->clause; clause >= 0; clause = r->clauses[clause].next) {
        const int32_t *cover = t->words + r->clauses[clause].covers + 1;
        for (int32_t i = 0; i < t->words[r->clauses[clause].covers]; i++, cover += cover[0]) {
            for (int32_t k = 0; k < cover[1]; k++) {
                const int32_t *atom = cover + 2 + 4 * k;
                if (atom[1] == PX_EQUAL_STRING)
                    r->slot_flags[atom[0]] |= PX_STRINGS;
                else if (atom[1] == PX_EQUAL_NUMBER)
                    r->slot_flags[atom[0]] |= PX_NUMBERS;
                else if (atom[1] >= PX_RANGE && atom[1] < PX_CONTAINS)
                    r->slot_flags[atom[0]] |= PX_RANGES;
            }
        }
    }
}

static int32_t clause_add(px_registry *r)
{
    int32_t number = r->clause_free;
    if (number >= 0) {
        r->clause_free = r->clauses[number].next;
        return number;
    }
    if (r->clause_count >= INT32_MAX ||
        px_grow(&r->clauses, &r->clause_room, r->clause_count + 1, sizeof *r->clauses) != PX_OK)
        return -1;
    return (int32_t)r->clause_count++;
}

static void clauses_drop(px_registry *r, px_template *t)
{
    while (t->clause >= 0) {
        int32_t next = r->clauses[t->clause].next;
        r->clauses[t->clause].next = r->clause_free;
        r->clause_free = t->clause;
        t->clause = next;
    }
}

/* Names slots by their numbers in the registry. */
static void resolve(int32_t *clause, const int32_t *slots)
{
    int32_t *at = clause + clause[4];
    for (int32_t groups = *at++; groups > 0; groups--) {
        *at = *at < 0 ? -1 : slots[*at];
        for (int32_t n = *++at; n > 0; n--) {
            at++;
            *at = slots[*at];
        }
        at++;
    }
    at = clause + clause[5];
    for (int32_t covers = *at++; covers > 0; covers--, at += at[0])
        for (int32_t k = 0; k < at[1]; k++)
            at[2 + 4 * k] = slots[at[2 + 4 * k]];
    if (clause[6] == 0)
        return;
    at = clause + clause[6];
    for (int32_t checks = *at++; checks > 0; checks--, at += at[0])
        at[5] = slots[at[5]];
}

int32_t px_template_add(px_registry *r, const int32_t *words, size_t count)
{
    int32_t slots = words[0], taken = 0, number = r->template_free;
    size_t at = 1, used, rest;
    px_template t = {0};
    t.clause = t.free = -1;
    if (number < 0) {
        if (r->template_count >= INT32_MAX ||
            px_grow(&r->templates, &r->template_room, r->template_count + 1, sizeof *r->templates) != PX_OK)
            return -1;
        number = (int32_t)r->template_count;
    }
    t.words = malloc((count + 1) * sizeof *t.words); /* a slot takes less room than its steps */
    if (t.words == NULL)
        return -1;
    t.words[0] = slots;
    for (; taken < slots; taken++, at += used)
        if ((t.words[1 + taken] = px_slot_use(r, words + at, &used)) < 0)
            goto failed;
    t.exact = words[at] & 1;
    t.texts = words[at] >> 1 & 1;
    t.steps = words[at++] >> 2;
    t.width = words[at];
    rest = 1 + (size_t)slots;
    memcpy(t.words + rest, words + at, (count - at) * sizeof *words);
    int32_t *fewer = realloc(t.words, (rest + count - at) * sizeof *t.words);
    t.words = fewer == NULL ? t.words : fewer;
    rest += 1 + (size_t)t.width;
    int32_t *clause = t.words + rest + 1, last = -1;
    for (int32_t i = 0; i < t.words[rest]; i++, clause += clause[0]) {
        int32_t offset = (int32_t)(clause - t.words), own = clause_add(r);
        if (own < 0)
            goto failed;
        resolve(clause, t.words + 1);
        r->clauses[own] = (px_clause){
            .template_ = number, .next = -1, .path = offset + clause[7], .anchor = clause[1],
            .groups = offset + clause[4], .covers = offset + clause[5],
            .chosen = offset + clause[5] + 1,
            .checks = clause[6] ? offset + clause[6] : 0, .decides = (uint8_t)clause[3],
            .condition = (uint8_t)clause[2]};
        if (last < 0)
            t.clause = own;
        else
            r->clauses[last].next = own;
        last = own;
    }
    number_posts(r, &t);
    weigh_slots(r, &t, 1);
    mark_slots(r, &t);
    r->with_texts += t.texts;
    if (number == r->template_free)
        r->template_free = r->templates[number].clause;
    else
        r->template_count++;
    r->templates[number] = t;
    return number;
failed:
    clauses_drop(r, &t);
    while (taken > 0)
        px_slot_release(r, t.words[taken--]);
    free(t.words);
    return -1;
}

void px_template_remove(px_registry *r, int32_t number)
{
    px_template *t = &r->templates[number];
    weigh_slots(r, t, -1);
    r->with_texts -= t->texts;
    for (int32_t i = 0; i < t->words[0]; i++)
        px_slot_release(r, t->words[1 + i]);
    clauses_drop(r, t);
    free(t->words);
    free(t->cells);
    free(t->owner);
    free(t->place);
    memset(t, 0, sizeof *t);
    t->clause = r->template_free;
    r->template_free = number;
}

/* -- choosing covers */

/* How many of a template's rows a value leads to, as a part of all: one of as many as there are
 * different constants. A few rows tell. */
static double part_found(const px_template *t, const int32_t *atom)
{
    enum { SAMPLE = 64 };
    uint64_t seen[SAMPLE];
    int32_t step = t->rows / SAMPLE + 1, different = 0, looked = 0;
    if (t->live < 8)
        return 0.02;
    for (int32_t row = 0; row < t->rows; row += step, looked++) {
        const px_cell *cell = &t->cells[(size_t)row * (size_t)t->width + (size_t)atom[2]];
        uint64_t bits = 0;
        if (atom[1] == PX_EQUAL_STRING)
            bits = (uint32_t)cell->string;
        else
            (void)px_number_bits(cell->number, &bits);
        int32_t i = 0;
        while (i < different && seen[i] != bits)
            i++;
        if (i == different && different < SAMPLE)
            seen[different++] = bits;
    }
    /* If nearly all are different, there are far more constants than were looked at. */
    return different * 4 >= looked * 3 ? 1.0 / (different * 16.0) : 1.0 / different;
}

/* How many rows a cover is expected to lead to. */
static double cost_of(const px_registry *r, const px_template *t, const int32_t *cover,
                      const px_presence *seen)
{
    double cost = 0;
    for (int32_t k = 0; k < cover[1]; k++) {
        const int32_t *atom = cover + 2 + 4 * k;
        double part = 1, expected = px_expected(r, t, atom, seen);
        if (expected >= 0) {
            cost += expected;
            continue;
        }
        if (atom[1] == PX_EQUAL_STRING || atom[1] == PX_EQUAL_NUMBER)
            part = part_found(t, atom);
        else if (atom[1] != PX_EXISTS)
            part = atom[1] >= PX_CONTAINS ? 0.1 : 0.4;
        double times = (size_t)atom[0] < seen->count ? seen->slots[atom[0]] : 0;
        cost += part * (seen->documents ? (times + 0.5) / (seen->documents + 0.5) : 1);
    }
    return cost;
}

/* Chooses other covers where these promise to lead to far fewer rows; 1: there were some. */
static int choose(px_registry *r, const px_template *t, const px_presence *seen, int32_t *chosen)
{
    int better = 0, n = 0;
    for (int32_t clause = t->clause; clause >= 0; clause = r->clauses[clause].next, n++) {
        const px_clause *c = &r->clauses[clause];
        double now = cost_of(r, t, t->words + c->chosen, seen), best = now;
        int32_t at = c->covers + 1;
        chosen[n] = c->chosen;
        for (int32_t i = 0; i < t->words[c->covers]; i++, at += t->words[at]) {
            double cost = cost_of(r, t, t->words + at, seen);
            if (cost < 0.5 * now && cost < best) {
                best = cost;
                chosen[n] = at;
                better = 1;
            }
        }
    }
    return better;
}

int px_template_choose(px_registry *r, int32_t number, const px_presence *seen)
{
    enum { MOST = 64 };
    px_template *t = &r->templates[number];
    int32_t chosen[MOST], n = 0;
    for (int32_t clause = t->clause; clause >= 0; clause = r->clauses[clause].next)
        n++;
    if (t->live == 0 || n > MOST || !choose(r, t, seen, chosen))
        return PX_OK;
    for (int32_t row = 0; row < t->rows; row++)
        if (px_row_is_live(r, number, row))
            px_unpost_row(r, t, row);
    weigh_slots(r, t, -1);
    n = 0;
    for (int32_t clause = t->clause; clause >= 0; clause = r->clauses[clause].next)
        r->clauses[clause].chosen = chosen[n++];
    number_posts(r, t);
    weigh_slots(r, t, 1);
    int32_t *place = realloc(t->place, t->row_room * (size_t)(t->posts ? t->posts : 1) * sizeof *place);
    if (place == NULL)
        return PX_MEMORY;
    t->place = place;
    for (int32_t row = 0; row < t->rows; row++)
        if (px_row_is_live(r, number, row) && px_post_row(r, t, row) != PX_OK)
            return PX_MEMORY;
    return PX_OK;
}
