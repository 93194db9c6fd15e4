/* The machine: all that one thread needs to match documents. */
#ifndef EXTRACT_PUSH_MACHINE_H
#define EXTRACT_PUSH_MACHINE_H

#include "conditions.h"
#include "states.h"

enum { PX_SELECT_DOC, PX_SELECT_COUNT, PX_SELECT_NODES };
enum { PX_IS_ELEMENT, PX_IS_ATTRIBUTE, PX_IS_TEXT, PX_IS_COMMENT, PX_IS_INSTRUCTION };

/* Columns of results, sorted by unit and query. Matches of PX_SELECT_DOC have no units: the caller
 * sees how many there are after each document. */
typedef struct {
    int32_t *unit, *query;
    int64_t *value;  /* the number of nodes; for PX_SELECT_NODES, kind << 32 | row of the element, whose bits
                      * are set where there is none */
    int32_t *number; /* PX_SELECT_NODES: of the attribute, text and so on in its element */
    size_t count, unit_room, query_room, value_room, number_room;
} px_results;

/* The values of queries that are numbers or texts: for each row the bits of a double and -1, or where the
 * text begins and how long it is. */
typedef struct {
    px_results rows;
    uint8_t *bytes; /* of all texts */
    size_t used, room;
} px_values_made;

/* A set of numbers as bits, with a byte that is PX_MARK for each word that is not 0: a byte is written
 * without being read, so that the next number need not wait. The words are in 64 parts; a bit says
 * which of these have any. */
enum { PX_MARK = 0x80 };

typedef struct {
    uint64_t *bits;
    uint8_t *marks;
    uint64_t parts;
    int shift; /* from a number to its part */
    size_t bit_room, mark_room;
} px_set;

typedef struct {
    uint64_t documents, elements, slots, candidates, evaluated, matches, known, steps, overrun;
} px_figures;

/* The names of a document's nodes, and the owners of queries without values that match it. */
typedef struct {
    uint64_t hash;
    int32_t *words; /* and behind them the owners, ascending */
    const int32_t *owners;
    size_t word_count, owner_count;
    uint8_t used; /* it was seen since shapes were forgotten */
} px_shape;

typedef struct {
    uint64_t changes; /* of the registry, when they were made */
    px_shape *items;
    size_t count, room, bytes, most_bytes;
    px_map by_hash;
    uint64_t *seen; /* some hashes of shapes that are not kept */
    int32_t *words; /* of the present document */
    size_t word_count, word_room;
    uint64_t hash;
    int keep; /* whether it is to be kept */
} px_shapes;

/* An anchor at which a row was found, and the one that was noted before it; -1. */
typedef struct {
    int32_t node, next;
} px_noted;

/* The last anchor of a row, in the document with this stamp. */
typedef struct {
    uint64_t stamp;
    int32_t last;
} px_note;

/* Anchors by the first owners of rows. */
typedef struct {
    int wanted, failed; /* failed: there was no memory */
    px_note *notes;
    px_noted *items;
    size_t note_room, count, room;
} px_bindings;

/* A node is noted with each of its anchors, unless a slot has many more of these pairs than the document has
 * nodes: then it is noted once, with PX_ANYWHERE. */
enum { PX_ANYWHERE = -2, PX_FEW_ANCHORS = 4, PX_FEW_PAIRS = 256 };

/* A node at which a heavy slot was found; it has `rank` others of that slot before it. */
typedef struct {
    int32_t node, anchor, next;
    uint32_t rank;
} px_found;

/* One of these nodes, by its number, in an array that is ordered by anchors. */
typedef struct {
    int32_t anchor, number;
} px_at_anchor;

/* Where the nodes of a slot are in that array, in the document with this stamp. */
typedef struct {
    uint64_t stamp;
    uint32_t begin, end;
} px_ordered_slot;

/* The nodes of a heavy slot that have one anchor and were not visited yet: in the chain from `found`
 * on, or in the array. */
typedef struct {
    int32_t anchor, found;
    uint32_t at, end;
} px_nodes_at;

/* A state of the document, and where its anchors begin. */
typedef struct {
    int32_t state;
    uint32_t anchors;
} px_seen;

/* A node with a state. */
typedef struct {
    int32_t state, row; /* of the node's element */
} px_arrival;

/* What the values at one anchor mean for the constants of a clause's rows. */
typedef struct {
    uint64_t preparation; /* of the machine, when it was found out */
    int32_t anchor;
    uint32_t operands;     /* one for each check */
    uint32_t tests, count; /* checks that are a comparison of the constant */
    uint8_t never;         /* no row passes */
    uint8_t more;          /* there are other checks */
} px_prepared;

typedef struct {
    int32_t cell, operator_; /* PX_EQ to PX_GE: the constant compares so with the number; or */
    double number;
    int32_t string; /* with PX_HAS it is this string, with PX_BEGINS another one */
} px_test;

typedef struct {
    uint32_t begin, count; /* nodes */
    double low, high;      /* NaN: none */
    double number;         /* of the only node */
    int32_t string;
    int32_t nan; /* how many are no numbers */
} px_operand;

/* A value of the document that postings may lead from. */
typedef struct {
    uint64_t hash;
    int32_t node, slot, anchor;
    int32_t wanted; /* what it is looked up for: see `ahead.c` */
} px_ahead;

/* A list that a value leads to. */
typedef struct {
    uint64_t list; /* its key, then its number */
    int32_t anchor;
} px_reached;

/* A posting that the guards let pass. */
typedef struct {
    px_item item;
    int32_t anchor;
} px_posted;

typedef struct {
    const px_registry *registry;
    int select;
    int64_t steps;  /* that a query may take for each node of a document and step of the query */
    int64_t allowance; /* of a query with one step, on this document */
    int64_t allowed;   /* of the present evaluation, at its beginning */
    px_map spent;      /* steps of queries on this document, by template and row */
    size_t overrun;    /* queries that took too many */
    px_states states;
    px_document document;
    px_context context;
    uint64_t stamp; /* of the document */

    int32_t *state; /* of each row */
    int32_t *rank;  /* of each row among the elements with children; -1: it has none */
    uint64_t *bit;  /* of each row, as an anchor: see `anchors.c` */
    int32_t *open;  /* the open elements, by depth */
    size_t state_room, rank_room, bit_room, open_room;
    size_t crowded;  /* slots whose nodes are noted without anchors */
    int32_t windows; /* of anchors that have bits of their own */
    px_seen *seen;
    uint64_t *anchors; /* for each group of each of these states, as bits */
    px_arrival *arrivals; /* if there are several windows: all nodes with states, in order */
    size_t seen_count, seen_room, anchor_count, anchor_room, arrival_count, arrival_room;

    uint64_t *mask; /* for each slot the anchors below which it was found */
    int32_t *first, *last; /* for each slot the nodes at which it was found */
    uint32_t *presence; /* for each slot, in how many of the documents that were counted */
    size_t mask_room, first_room, last_room, presence_room;
    int32_t *present, *heavy; /* slots that were found; heavy ones among them */
    size_t present_count, present_room, heavy_count, heavy_room;
    px_found *found;
    size_t found_count, found_room;
    px_at_anchor *at_anchors;
    px_ordered_slot *ordered; /* for each slot */
    size_t at_anchor_count, at_anchor_room, ordered_room;
    uint64_t counted; /* documents */
    uint64_t numbering; /* of the registry, when they were */
    int counting; /* whether this document is one of them */
    px_map tally; /* `px_presence.values` */
    px_sample **samples; /* for each slot */
    size_t sample_room;

    px_prepared *prepared; /* for each clause */
    uint64_t preparation; /* what was prepared before another one is not known any more */
    px_operand *operands;
    px_test *tests;
    int32_t *nodes; /* of operands */
    int32_t *chosen; /* rows that pass */
    size_t prepared_room, operand_count, operand_room, node_count, node_room, test_count, test_room;
    size_t chosen_room;
    uint64_t guard_bits[1024]; /* the values of the document that are guards */
    uint16_t guards[512];      /* which bits are set, if these are not more */
    uint32_t guard_count;
    px_ahead *ahead;
    px_reached *reached; /* lists with many postings, at the end */
    px_posted *posted;   /* the postings of the others */
    size_t ahead_count, ahead_room, reached_count, reached_room, posted_count, posted_room;
    uint64_t *visited; /* for each string, the last search that found it */
    size_t visited_room;
    uint64_t search;

    px_shapes shapes;
    px_set hits, maybe;
    px_bindings bindings;
    px_results results, candidates;
    px_values_made values; /* PX_SELECT_NODES: of queries that are numbers or texts */
    px_figures figures;
} px_machine;

px_machine *px_machine_new(const px_registry *r, int select, size_t most_bytes, int64_t steps);
void px_machine_free(px_machine *m);
size_t px_machine_memory(const px_machine *m);
/* Gives back what a document needed far more of than others do; nothing of it is asked for any more. */
void px_give_back(px_machine *m);
/* Matches one document, and adds its results with the number of the unit. PX_COSTLY: there are none,
 * the document must be matched in another way. */
int px_match(px_machine *m, const px_input *in, int32_t unit);

/* Posts rows and numbers slots anew, by what a machine has seen. No machine may be matching.
 * PX_MEMORY: the registry is of no use any more. */
int px_adapt(px_registry *r, px_machine *m);

#endif
