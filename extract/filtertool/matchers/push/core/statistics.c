#include "push.h"

/* The values of some documents are counted, as far as rows may be found by them: then rows are found
 * by those that are rare. */

enum { MOST_VALUES = 1 << 18, ROWS = 64 };

void px_forget_values(px_machine *m)
{
    for (size_t i = 0; i < m->sample_room; i++)
        free(m->samples[i]);
    free(m->samples);
    m->samples = NULL;
    m->sample_room = 0;
    px_map_free(&m->tally);
    memset(&m->tally, 0, sizeof m->tally);
    m->tally.secret = m->registry->lists.secret;
}

static int tally(px_machine *m, uint64_t key)
{
    uint64_t *count = px_map_get(&m->tally, key);
    if (count != NULL)
        ++*count;
    else if (m->tally.count < MOST_VALUES)
        return px_map_put(&m->tally, key, 1);
    return PX_OK;
}

static int sample(px_machine *m, int32_t slot, double number)
{
    size_t before = m->sample_room;
    if (px_grow(&m->samples, &m->sample_room, (size_t)slot + 1, sizeof *m->samples) != PX_OK)
        return PX_MEMORY;
    memset(m->samples + before, 0, (m->sample_room - before) * sizeof *m->samples);
    px_sample *s = m->samples[slot];
    if (s == NULL && (s = m->samples[slot] = calloc(1, sizeof *s)) == NULL)
        return PX_MEMORY;
    uint32_t at = s->seen < PX_SAMPLED ? s->seen : (uint32_t)(s->seen * 2654435761u) % (s->seen + 1);
    if (at < PX_SAMPLED)
        s->numbers[at] = number;
    s->seen += s->seen < UINT32_MAX;
    return PX_OK;
}

static int count_in(px_machine *m, int32_t slot, int32_t node)
{
    uint8_t flags = m->registry->slot_flags[slot];
    px_cell cell;
    if (flags & PX_STRINGS) {
        if (px_value_string(&m->document, &m->registry->strings, node, &cell.string) != PX_OK ||
            (cell.string >= 0 && tally(m, px_value_key(slot, &cell, 1)) != PX_OK))
            return PX_MEMORY;
    }
    if (!(flags & (PX_NUMBERS | PX_RANGES)))
        return PX_OK;
    if (px_value_number(&m->document, node, &cell.number) != PX_OK)
        return PX_MEMORY;
    if (cell.number != cell.number)
        return PX_OK;
    if (flags & PX_NUMBERS && tally(m, px_value_key(slot, &cell, 0)) != PX_OK)
        return PX_MEMORY;
    return flags & PX_RANGES ? sample(m, slot, cell.number) : PX_OK;
}

int px_count_value(px_machine *m, const px_state *state, int32_t node)
{
    uint32_t slots = state->group_count ? state->groups[state->group_count - 1].end : 0;
    int code = PX_OK;
    for (uint32_t i = 0; i < slots && code == PX_OK; i++)
        if (m->registry->slot_flags[state->slots[i]] & (PX_STRINGS | PX_NUMBERS | PX_RANGES))
            code = count_in(m, state->slots[i], node);
    for (uint32_t i = 0; i < state->heavy_count && code == PX_OK; i++)
        code = count_in(m, state->heavy[2 * i], node);
    return code;
}

/* The part of a slot's numbers that lead to a constant. */
static double part_in_range(const px_sample *s, int range, double constant)
{
    static const int operators[] = {PX_GT, PX_GE, PX_LT, PX_LE};
    uint32_t kept = s->seen < PX_SAMPLED ? s->seen : PX_SAMPLED;
    double passing = 0.5;
    for (uint32_t i = 0; i < kept; i++)
        passing += px_compare(s->numbers[i], operators[range], constant);
    return passing / (kept + 0.5);
}

double px_expected(const px_registry *r, const px_template *t, const int32_t *atom, const px_presence *seen)
{
    int range = atom[1] - PX_RANGE, slot = atom[0];
    if (!seen->documents || atom[1] == PX_EXISTS || atom[1] >= PX_CONTAINS)
        return -1;
    const px_sample *s = (size_t)slot < seen->sample_count ? seen->samples[slot] : NULL;
    if (range >= 0 && s == NULL)
        return 0.5 / (seen->documents + 0.5);
    double sum = 0;
    int32_t rows = 0, number = r->clauses[t->clause].template_;
    for (int32_t row = 0, step = t->rows / ROWS + 1; row < t->rows; row += step) {
        const px_cell *cell = &t->cells[(size_t)row * (size_t)t->width + (size_t)atom[2]];
        if (!px_row_is_live(r, number, row))
            continue;
        rows++;
        if (range >= 0) {
            sum += part_in_range(s, range, cell->number) * s->seen;
            continue;
        }
        const uint64_t *count = px_map_get(&seen->values, px_value_key(slot, cell, atom[1] == PX_EQUAL_STRING));
        sum += count == NULL ? 0.25 : (double)*count + 0.25;
    }
    return rows ? sum / rows / (seen->documents + 0.5) : -1;
}
