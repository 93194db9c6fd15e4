#include "push.h"

/* A query with several equalities is found by one of them. Most documents that have that value do not
 * have the others; to see this without looking at the query, its posting has a *guard*: two small
 * numbers, each made of a path and the value that it must have. The values of a document are bits of
 * a table, by the same numbers. Two values may have one number: a guard that lets a query pass
 * decides nothing, one that does not decides that the query does not match.
 *
 * Where two equalities are the whole condition they are a *pair*: the posting by one of them names the
 * other one's path and value, and so decides without the query's row. */

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

/* Whether the chosen atom and the first guard are all that a clause asks of its anchor. */
static int is_pair(const px_template *t, const px_clause *c)
{
    const int32_t *one = t->words + c->chosen + 2, *other = t->words + c->guards[0];
    if (!t->exact || c->checks == 0 || c->guards[0] == 0 || t->words[c->checks] != 2 ||
        t->words[c->chosen + 1] != 1 || (one[1] != PX_EQUAL_STRING && one[1] != PX_EQUAL_NUMBER))
        return 0;
    const int32_t *first = t->words + c->checks + 1, *second = first + first[0];
    if (first[1] != PX_COMPARE || second[1] != PX_COMPARE || first[2] != PX_EQ || second[2] != PX_EQ)
        return 0;
    int same = first[5] == one[0] && first[4] == one[2] && second[5] == other[0] && second[4] == other[2];
    int swapped = first[5] == other[0] && first[4] == other[2] && second[5] == one[0] && second[4] == one[2];
    return same || swapped;
}

void px_choose_guards(const px_template *t, px_clause *c)
{
    const int32_t *cover = t->words + c->covers + 1, *chosen = t->words + c->chosen;
    int count = 0;
    c->guards[0] = c->guards[1] = c->pair = 0;
    if (c->sure || chosen[3] == PX_EXISTS)
        return;
    for (int32_t i = 0; i < t->words[c->covers] && count < 2; i++, cover += cover[0])
        if (cover != chosen && cover[1] == 1 && (cover[3] == PX_EQUAL_STRING || cover[3] == PX_EQUAL_NUMBER))
            c->guards[count++] = (int32_t)(cover + 2 - t->words);
    c->pair = (uint8_t)is_pair(t, c);
}

uint32_t px_guard_of(const px_registry *r, const px_template *t, const px_clause *c, int32_t row)
{
    uint32_t guard = 0;
    if (c->pair) /* of a string: numbers have uses, see `posting.c` */
        return (uint32_t)t->cells[(size_t)row * (size_t)t->width + (size_t)t->words[c->guards[0] + 2]].string;
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

void px_guards_begin(px_machine *m)
{
    if (m->guard_count > MOST_KEPT)
        memset(m->guard_bits, 0, sizeof m->guard_bits);
    for (uint32_t i = 0; m->guard_count <= MOST_KEPT && i < m->guard_count; i++)
        m->guard_bits[m->guards[i] >> 6] = 0;
    m->guard_count = 0;
    m->guard_bits[0] = 1; /* a guard that is not there lets all pass */
}

static void set_bit(px_machine *m, uint32_t bit)
{
    m->guard_bits[bit >> 6] |= (uint64_t)1 << (bit & 63);
    if (m->guard_count < MOST_KEPT)
        m->guards[m->guard_count] = (uint16_t)bit;
    m->guard_count++;
}

void px_guard_set(px_machine *m, int32_t slot, uint64_t value, int is_string)
{
    set_bit(m, bit_of(m->registry, slot, value, is_string));
    if (is_string)
        set_bit(m, px_pair_bit((uint32_t)value));
}

int px_pair_holds_at(px_machine *m, int32_t clause, uint32_t constant, int32_t anchor)
{
    const px_registry *r = m->registry;
    int32_t slot = px_pair_slot(clause);
    int is_string = px_pair_is_string(clause);
    uint64_t value = is_string ? constant : r->numbers[constant].bits, bits;
    m->figures.evaluated++;
    px_nodes_at nodes = px_nodes_below(m, slot, anchor);
    for (int32_t node; (node = px_next_below(m, &nodes)) >= 0;) {
        const px_value *other = &m->document.values[node]; /* is known: it is a guard */
        if (is_string ? other->string == (int32_t)constant : px_number_bits(other->number, &bits) && bits == value)
            return 1;
    }
    return 0;
}
