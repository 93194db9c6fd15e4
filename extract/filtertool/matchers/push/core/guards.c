#include "push.h"

/* A query with several equalities is found by one of them. Most documents that have that value do not
 * have the others; to see this without looking at the query, its posting has a *guard*: two small
 * numbers, each made of a path and the value that it must have. The values of a document are bits of
 * a table, by the same numbers. Two values may have one number: a guard that lets a query pass
 * decides nothing, one that does not decides that the query does not match. */

enum { MOST_KEPT = 512 };

/* The number of a path's value, from 1 on. Paths are named by their nodes, which slots that are
 * numbered anew keep. */
static uint32_t bit_of(const px_registry *r, int32_t slot, uint64_t value, int is_string)
{
    uint64_t hash = (value ^ r->lists.secret) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32 ^ (uint64_t)(uint32_t)r->slot_node[slot] << 1 ^ (uint64_t)is_string) * 0xD6E8FEB86659FD93u;
    hash = hash >> 48;
    return hash ? (uint32_t)hash : 1;
}

void px_choose_guards(const px_template *t, px_clause *c)
{
    const int32_t *cover = t->words + c->covers + 1, *chosen = t->words + c->chosen;
    int count = 0;
    c->guards[0] = c->guards[1] = 0;
    if (c->sure || chosen[3] == PX_EXISTS)
        return;
    for (int32_t i = 0; i < t->words[c->covers] && count < 2; i++, cover += cover[0])
        if (cover != chosen && cover[1] == 1 && (cover[3] == PX_EQUAL_STRING || cover[3] == PX_EQUAL_NUMBER))
            c->guards[count++] = (int32_t)(cover + 2 - t->words);
}

uint32_t px_guard_of(const px_registry *r, const px_template *t, const px_clause *c, int32_t row)
{
    uint32_t guard = 0;
    for (int i = 0; i < 2 && c->guards[i]; i++) {
        const int32_t *atom = t->words + c->guards[i];
        const px_cell *cell = &t->cells[(size_t)row * (size_t)t->width + (size_t)atom[2]];
        int is_string = atom[1] == PX_EQUAL_STRING;
        uint64_t value = 0; /* nothing equals NaN, so it does not matter what that is */
        if (is_string)
            value = (uint32_t)cell->string;
        else
            (void)px_number_bits(cell->number, &value);
        guard |= bit_of(r, atom[0], value, is_string) << 16 * i;
    }
    return guard;
}

static void set_bit(px_machine *m, uint32_t bit)
{
    m->guard_bits[bit >> 6] |= (uint64_t)1 << (bit & 63);
    if (m->guard_count < MOST_KEPT)
        m->guards[m->guard_count] = (uint16_t)bit;
    m->guard_count++;
}

static int set_bits(px_machine *m, int32_t slot, int32_t node)
{
    const px_registry *r = m->registry;
    if (r->slot_flags[slot] & PX_GUARD_STRINGS) {
        int32_t string;
        if (px_value_string(&m->document, &r->strings, node, &string) != PX_OK)
            return PX_MEMORY;
        if (string >= 0)
            set_bit(m, bit_of(r, slot, (uint32_t)string, 1));
    }
    if (r->slot_flags[slot] & PX_GUARD_NUMBERS) {
        double number;
        uint64_t value;
        if (px_value_number(&m->document, node, &number) != PX_OK)
            return PX_MEMORY;
        if (px_number_bits(number, &value))
            set_bit(m, bit_of(r, slot, value, 0));
    }
    return PX_OK;
}

static void forget(px_machine *m)
{
    if (m->guard_count > MOST_KEPT)
        memset(m->guard_bits, 0, sizeof m->guard_bits);
    for (uint32_t i = 0; m->guard_count <= MOST_KEPT && i < m->guard_count; i++)
        m->guard_bits[m->guards[i] >> 6] = 0;
    m->guard_count = 0;
    m->guard_bits[0] = 1; /* a guard that is not there lets all pass */
}

int px_set_guards(px_machine *m)
{
    int code = PX_OK;
    forget(m);
    for (size_t i = 0; i < m->heavy_count; i++) {
        int32_t slot = m->heavy[i];
        if (!(m->registry->slot_flags[slot] & (PX_GUARD_STRINGS | PX_GUARD_NUMBERS)))
            continue;
        for (int32_t f = m->first[slot]; f >= 0 && code == PX_OK; f = m->found[f].next)
            code = set_bits(m, slot, m->found[f].node);
    }
    return code;
}
