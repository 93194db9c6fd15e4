/* What the files of the engine offer each other while a document is matched. */
#ifndef EXTRACT_PUSH_MATCHING_H
#define EXTRACT_PUSH_MATCHING_H

#include "machine.h"

#define PX_DOCUMENT_BIT ((uint64_t)1)
#define PX_LEAF_BIT ((uint64_t)1 << 63)

static inline void px_set_add(px_set *set, int32_t number)
{
    set->bits[number >> 6] |= (uint64_t)1 << (number & 63);
    set->marks[number >> 6] = PX_MARK;
    set->parts |= (uint64_t)1 << (number >> set->shift);
}

static inline int px_set_has(const px_set *set, int32_t number)
{
    return set->bits[number >> 6] >> (number & 63) & 1;
}

static inline void px_match_crowd(px_machine *m, px_set *set, int32_t crowd)
{
    const px_crowd *all = &m->registry->crowds[crowd];
    const int32_t *owners = all->owners;
    px_set local = *set; /* bytes that are written may be anything, also these pointers */
    for (uint32_t i = 0, count = all->count; i < count; i++)
        px_set_add(&local, owners[i]);
    set->parts = local.parts;
}

/* Adds an owner, or the crowd whose complement is given. */
static inline void px_match_owner(px_machine *m, px_set *set, int32_t owner)
{
    if (PX_LIKELY(owner >= 0))
        px_set_add(set, owner);
    else
        px_match_crowd(m, set, ~owner);
}

static inline void px_match_row(px_machine *m, const px_template *t, int32_t row)
{
    px_set *set = t->exact ? &m->hits : &m->maybe;
    int32_t owner = t->owner[row], crowd = m->registry->owners[owner].crowd;
    px_match_owner(m, set, crowd < 0 ? owner : ~crowd);
}

/* bindings.c: notes the anchor at which the row of an owner, or of a crowd, was found */
void px_note_anchor(px_machine *m, int32_t named, int32_t anchor);
void px_bindings_free(px_bindings *b);
/* Takes the nodes that a query selects into the document's set, in document order. */
int px_bound_nodes(px_machine *m, int32_t query);
int px_select_query(px_machine *m, int32_t owner); /* results.c: the same, by its path */

static inline void px_note_bound(px_machine *m, int32_t named, int32_t anchor)
{
    if (PX_UNLIKELY(m->bindings.wanted))
        px_note_anchor(m, named, anchor);
}

/* accounts.c: begins, before a document; leaves the queries open that took too many steps */
void px_accounts_begin(px_machine *m);
void px_accounts_end(px_machine *m, const px_shape *known);
/* Before something with so many steps is evaluated that is no part of what led to it. */
void px_account_fresh(px_machine *m, const px_cell *cells, int64_t steps);
/* Before a row is evaluated: 1, or 0 if it took too many steps already. Afterwards, with the code of the
 * evaluation: that code, and 0 if it took too many. */
int px_account_open(px_machine *m, const px_template *t, int32_t row);
int px_account_close(px_machine *m, const px_template *t, int32_t row, int code);
/* Before a row is looked for in the whole document: 0; 1 if it was before; or -PX_MEMORY. */
int px_account_try(px_machine *m, const px_template *t, int32_t row);
int px_account_overrun(px_machine *m, const px_template *t, int32_t row); /* 0, or -PX_MEMORY */
void px_note_overrun(px_machine *m);

/* statistics.c: counts the value of a node, and forgets all that was counted */
int px_count_value(px_machine *m, const px_state *state, int32_t node);
void px_forget_values(px_machine *m);
int px_find_states(px_machine *m); /* anchors.c: the states of all nodes */
void px_find_slots(px_machine *m); /* the slots of these states, with all anchors */
void px_find_slots_in(px_machine *m, int32_t window); /* the same, with the anchors of one window */
void px_forget_slots(px_machine *m);

/* found.c: the nodes of a heavy slot below one anchor, where the slot has many */
px_nodes_at px_ordered_below(px_machine *m, int32_t slot, int32_t anchor);

enum { PX_FEW_FOUND = 24 };

/* The nodes of a heavy slot below one anchor. */
static inline px_nodes_at px_nodes_below(px_machine *m, int32_t slot, int32_t anchor)
{
    int32_t first = m->first[slot];
    if (PX_LIKELY(first < 0 || m->found[m->last[slot]].rank < PX_FEW_FOUND))
        return (px_nodes_at){anchor, first, 0, 0};
    return px_ordered_below(m, slot, anchor);
}

/* The next of these nodes; -1: there is none. */
static inline int32_t px_next_below(const px_machine *m, px_nodes_at *nodes)
{
    while (nodes->found >= 0) {
        const px_found *found = &m->found[nodes->found];
        nodes->found = found->next;
        if (found->anchor == nodes->anchor)
            return found->node;
    }
    if (nodes->at < nodes->end && m->at_anchors[nodes->at].anchor == nodes->anchor)
        return m->found[m->at_anchors[nodes->at++].number].node;
    return -1;
}

/* postings.c: tries a row in the whole document, once */
int px_try_anywhere(px_machine *m, const px_template *t, int32_t row);
/* checks.c: tries rows of one clause that were found at one anchor */
int px_try_rows(px_machine *m, int32_t clause, int32_t *rows, uint32_t count, int32_t anchor);
/* guards.c */
void px_choose_guards(const px_template *t, px_clause *c);
uint32_t px_guard_of(const px_registry *r, const px_template *t, const px_clause *c, int32_t row);
void px_guards_begin(px_machine *m);
void px_guard_set(px_machine *m, int32_t slot, uint64_t value, int is_string);
int px_pair_holds_at(px_machine *m, int32_t clause, uint32_t constant, int32_t anchor);

static inline int px_guard_passes(const px_machine *m, uint32_t guard)
{
    uint32_t one = guard & 0xFFFF, other = guard >> 16;
    return m->guard_bits[one >> 6] >> (one & 63) & m->guard_bits[other >> 6] >> (other & 63) & 1;
}

/* The other value of a pair: its slot and kind are in the posting, its constant is the guard. */
static inline int32_t px_pair_of(int32_t slot, int is_string) { return PX_PAIR - (slot << 1 | is_string); }
static inline int32_t px_pair_slot(int32_t clause) { return (PX_PAIR - clause) >> 1; }
static inline int px_pair_is_string(int32_t clause) { return (PX_PAIR - clause) & 1; }

/* The bit of a string that is the other value of a pair, on whatever path. */
static inline uint32_t px_pair_bit(uint32_t string) { return string * 0x9E3779B1u >> 16; }

/* Whether the anchor has the other value, too. */
static inline int px_pair_holds(px_machine *m, int32_t clause, uint32_t constant, int32_t anchor)
{
    if (px_pair_is_string(clause) && !px_guard_passes(m, px_pair_bit(constant)))
        return 0;
    return px_pair_holds_at(m, clause, constant, anchor);
}

/* ahead.c: finds the lists that a document's values lead to, sets its guards, and loads what these
 * lists lead to into the cache */
int px_look_ahead(px_machine *m);
/* postings.c: tries what the slots lead to; by simple postings, and by all others */
int px_try_simple(px_machine *m);
int px_try_others(px_machine *m);
/* shapes.c: what is known of documents of this shape; NULL: nothing */
int px_shapes_find(px_machine *m, const px_shape **found);
void px_shapes_keep(px_machine *m, const int32_t *owners, size_t count);
void px_shapes_free(px_shapes *s);
/* results.c: `known` are further owners that match */
int px_add_results(px_machine *m, int32_t unit, const px_shape *known);
int px_keep_matches(px_machine *m); /* what matches so far is kept for the shape */
void px_drop_matches(px_machine *m);

static inline int px_lowest_bit(uint64_t word)
{
#if defined(__GNUC__)
    return __builtin_ctzll(word);
#else
    int n = 0;
    while (!(word >> n & 1))
        n++;
    return n;
#endif
}

#endif
