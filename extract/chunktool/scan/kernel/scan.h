/* The scanner: one pass over the bytes of a document, in windows.
 *
 * The scanner consumes only whole tokens (a tag, a text, a comment ...) and can stop before any of
 * them: for more bytes, or for an answer of the automaton. A token has no effect before all of it
 * is read, so that after a miss the same token is simply read again.
 *
 *   chars.c       classes of characters, names
 *   tables.c      answers of the automaton
 *   text.c        texts, references, comments, processing instructions, CDATA sections
 *   attributes.c  attributes of a tag, namespaces
 *   prolog.c      byte order mark, XML declaration, DOCTYPE
 *   output.c      ranges of the outputs, node table
 *   scan.c        tags, the stack, and the loop over it all
 *
 * Offsets in results are 64 bits wide and count from the first byte of the document.
 */
#ifndef CHUNKTOOL_SCAN_H
#define CHUNKTOOL_SCAN_H

#include "tables.h"

/* Return codes of the scanner's functions. */
enum {
    CT_OK,
    CT_MORE,           /* the token does not end in this window */
    CT_AGAIN,          /* the tables have changed: read the token again */
    CT_MISS_ELEMENT,   /* no symbol for this element name in this context */
    CT_MISS_ATTRIBUTE, /* no symbol for this attribute name */
    CT_MISS_CONTEXT,   /* no context for this namespace declaration */
    CT_MISS_STEP,      /* no state for the child */
    CT_MISS_ALLOWED,   /* unknown whether the element may have the attribute */
    CT_ERROR,          /* not well-formed, or a limit is exceeded: `reason` and `error_at` */
    CT_HAND_OVER,      /* another scanner must read the document: `reason` */
    CT_MEMORY
};

/* Targets of the automaton's steps that are no states. */
enum { CT_ILLEGAL = -1, CT_FULL = -2 };

enum { CT_BEGIN, CT_PROLOG, CT_CONTENT, CT_EPILOG }; /* phases of a document */

enum {
    CT_FOLLOW, /* follows the automaton */
    CT_CHECK,  /* only checks well-formedness */
    CT_TRUST   /* only searches the end of an element: the documents are trusted */
};

enum { CT_TEXT = 1, CT_CDATA, CT_REFERENCES, CT_COMMENT, CT_PI }; /* leaves, as in markup/node_kinds.py */

/* An open element; the first frame is the document node. */
typedef struct {
    int64_t start, content; /* of the start tag: first byte, byte after */
    uint64_t serial;        /* identifies the element as the owner of its children's counters */
    size_t name;            /* offset of its name on the stack of names */
    size_t undo;            /* height of the stack of counters at its start */
    uint32_t length;        /* of its name */
    int32_t state, context, symbol;
    int32_t row;                   /* in the node table; -1 if it has none yet */
    int32_t position;              /* among siblings of its name */
    int32_t outputs;               /* first link of the outputs that have its start tag; -1 */
    int32_t texts, comments, pis;  /* the number of these children so far */
    int32_t in_text;               /* whether the last child was a text */
} ct_frame;

typedef struct {
    int64_t *ends; /* start, end, start, end ... */
    size_t count;  /* of ranges */
    size_t room;   /* of numbers */
    int64_t open;  /* start of the subtree that is being kept; -1 */
    int32_t written; /* the number of open elements whose start tags are written */
    int32_t whole;
} ct_output;

typedef struct {
    int32_t output; /* ~output if it keeps the whole subtree */
    int32_t next;
} ct_link;

/* A sibling counter before an element began to count in it. */
typedef struct {
    uint64_t owner;
    int32_t expanded, count;
} ct_undo;

typedef struct {
    int32_t name;
    int32_t number;             /* among the attributes and namespace declarations of its tag */
    ct_bytes begin, value, end; /* name, value; byte after the value */
} ct_attribute;

/* Columns of the node table. */
typedef struct {
    size_t elements, element_room, ends, end_room, leaves, leaf_room;
    int32_t first; /* number of the first row: rows before it were taken */
    int32_t *state, *parent, *position, *symbol;
    int64_t *start, *content, *close, *end; /* close and end are -1 while the element is open */
    int32_t *end_row;                       /* of rows that were taken before they ended */
    int64_t *end_close, *end_end;
    int32_t *leaf_parent, *leaf_number;
    int8_t *leaf_kind;
    int64_t *leaf_start, *leaf_end;
    size_t attributes, attribute_room;
    int32_t *attribute_row, *attribute_symbol, *attribute_number;
    int64_t *attribute_start, *attribute_end; /* of the value */
} ct_rows;

typedef struct {
    ct_tables *tables;
    int64_t token_limit, name_limit, value_limit;
    int64_t tag_limit; /* the least of them: the limits of a longer tag are checked in detail */
    int32_t depth_limit, attribute_limit;
    int table, assume_valid;
    int table_attributes; /* whether the node table has attributes, too */

    /* the window */
    ct_bytes data;
    int64_t base; /* offset of its first byte in the document */
    size_t at;    /* consumed bytes */

    int phase, mode;
    int ascii;   /* declared in an encoding of which only ASCII is supported */
    int doctype; /* there is a DOCTYPE: entities may be declared elsewhere */

    ct_frame *frames;
    size_t frame_room;
    int32_t depth;
    uint8_t *names; /* of the open elements, one after the other */
    size_t names_used, names_size;
    int32_t check_depth; /* depth of the skipped element; -1: the rest of the document */
    int64_t nesting;     /* open elements with its name below it, where documents are trusted */

    ct_attribute *attributes;
    size_t attribute_count, attribute_room;
    ct_bytes id, id_end; /* value of the tag's xml:id; NULL if it has none */
    uint64_t *ids;       /* hashes of the ids so far; 0 is free */
    size_t id_count, id_mask;

    ct_output *outputs;
    int32_t output_count;
    ct_link *links;
    size_t link_room;
    int32_t link_count, link_free;
    ct_undo *undos;
    size_t undo_count, undo_room;
    int32_t rowed; /* the number of open elements with rows */
    ct_rows rows;

    /* messages */
    const char *reason;
    int64_t error_at;
    const char *limit;   /* the name of the exceeded limit; NULL: none */
    int32_t closing;     /* bytes of the name in a mismatched end tag; 0: another error */
    const char *pending; /* the token that the window ends in */
    int32_t miss_first, miss_second;
    int32_t tag_context; /* of the present tag */
    ct_bytes tag_end;    /* byte after it */

    /* A namespace error. libxml2 goes on after it, and lxml ignores it if a warning follows; so the
     * verdict is given at the end, or handed over if there may be a warning. */
    const char *soft_reason;
    int64_t soft_at, doubt_from;
    int doubtful;

    int32_t open_state;   /* that children are in which the schema does not have; -1: stop following */
    int64_t violation_at; /* -1: none */
    uint8_t *violation;   /* path, then child */
    size_t violation_room, path_length, child_length;
} ct_scan;

/* NULL: no memory. */
ct_scan *ct_scan_new(ct_tables *tables, int32_t outputs);
/* Prepares the scanner for another document; its memory is reused. The caller then sets limits and
 * `whole` outputs. */
void ct_scan_reset(ct_scan *s);
size_t ct_scan_memory(const ct_scan *s); /* bytes of its memory, about */
void ct_scan_free(ct_scan *s);

/* Scans from `at` on; CT_MORE at the end of the window. After a miss the caller calls it again. */
int ct_run(ct_scan *s, ct_bytes data, size_t length);

/* Ends the document. `left`: the number of unconsumed bytes. */
int ct_finish(ct_scan *s, size_t left);

/* -- within the kernel */

static inline int64_t ct_offset(const ct_scan *s, ct_bytes p) { return s->base + (p - s->data); }

static inline int ct_fail(ct_scan *s, ct_bytes p, const char *reason)
{
    s->reason = reason;
    s->error_at = ct_offset(s, p);
    return CT_ERROR;
}

/* Reports an exceeded limit of the caller; `limit` is its name. */
static inline int ct_beyond(ct_scan *s, ct_bytes p, const char *limit)
{
    s->limit = limit;
    return ct_fail(s, p, limit);
}

static inline int ct_hand_over(ct_scan *s, const char *reason)
{
    s->reason = reason;
    return CT_HAND_OVER;
}

static inline int ct_more(ct_scan *s, const char *what)
{
    s->pending = what;
    return CT_MORE;
}

/* Notes a namespace error at `p`; see `soft_at`. Warnings from `doubt` on come after it. */
int ct_soft(ct_scan *s, ct_bytes p, const char *reason, ct_bytes doubt);

/* Notes that there may be a warning at `p`. */
static inline void ct_warning(ct_scan *s, ct_bytes p)
{
    if (s->soft_at >= 0 && ct_offset(s, p) >= s->doubt_from)
        s->doubtful = 1;
}

/* text.c: each function checks a token from `p` and sets `after`. */
int ct_text(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after, int *references);
int ct_comment(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after);
int ct_pi(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after);
int ct_cdata(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after);
int ct_value(ct_scan *s, ct_bytes p, ct_bytes end, uint8_t quote, ct_bytes *after);
/* Checks the byte at `*p`, which is a control character or not ASCII. */
int ct_character(ct_scan *s, ct_bytes *p, ct_bytes end, const char *within);

/* Whether a name has letters of an unsupported encoding. */
static inline int ct_is_foreign(const ct_scan *s, ct_bytes p, ct_bytes end)
{
    if (CT_LIKELY(!s->ascii))
        return 0;
    while (p < end && *p < 0x80)
        p++;
    return p < end;
}

/* attributes.c: from behind the element's name to behind the tag, which begins at `tag`. */
int ct_attributes(ct_scan *s, ct_bytes tag, ct_bytes p, ct_bytes end, ct_bytes *after, int *empty,
                  int32_t *context);
int ct_resolve_slow(ct_scan *s, ct_bytes tag, int32_t name, int32_t context, int attribute);

/* Resolves a name in a context and stores the result with the name, where it usually is already. */
static inline int ct_resolve(ct_scan *s, ct_bytes tag, int32_t id, int32_t context, int attribute)
{
    const ct_name *name = &s->tables->names.items[id];
    int32_t known = attribute ? name->attribute_context : name->context;
    int32_t expanded = attribute ? name->attribute_expanded : name->expanded;
    if (CT_LIKELY(known == context && expanded != CT_UNBOUND && name->colon != CT_BAD_QNAME))
        return CT_OK;
    return ct_resolve_slow(s, tag, id, context, attribute);
}

/* Checks the limits of a tag that is longer than `tag_limit`; `name` is where its name ends. */
int ct_long_tag(ct_scan *s, ct_bytes tag, ct_bytes name, ct_bytes after);
/* Stores the tag's xml:id; a duplicate is handed over. */
int ct_remember_id(ct_scan *s);

/* Whether the bytes begin with `text`; -1: they end too early to decide. */
static inline int ct_begins(ct_bytes p, ct_bytes end, const char *text)
{
    size_t length = strlen(text), there = (size_t)(end - p);
    if (memcmp(p, text, there < length ? there : length) != 0)
        return 0;
    return there < length ? -1 : 1;
}

/* prolog.c */
int ct_begin(ct_scan *s, ct_bytes *p, ct_bytes end);
int ct_doctype(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after);

/* output.c: CT_OK or CT_MEMORY */
int ct_keep(ct_scan *s, int32_t output, int64_t start, int64_t end);
int ct_keep_everywhere(ct_scan *s, int64_t start, int64_t end);
int ct_open_outputs(ct_scan *s, const ct_state *state);
int ct_close_outputs(ct_scan *s, int64_t close, int64_t end);
int ct_keep_leaf(ct_scan *s, const ct_state *state, int kind, int64_t start, int64_t end);
int ct_more_rows(ct_scan *s);
int ct_end_earlier_row(ct_scan *s, int32_t row, int64_t close, int64_t end);
int ct_keep_attributes(ct_scan *s); /* of the present tag, whose element has a row */
int ct_enter_sibling(ct_scan *s, ct_cell *cell, int32_t expanded, uint64_t owner);
/* Adds rows for all open elements that have none. */
static inline int ct_need_rows(ct_scan *s)
{
    return s->rowed < s->depth ? ct_more_rows(s) : CT_OK;
}

/* Sets the end of the row of the element on top of the stack. */
static inline int ct_end_row(ct_scan *s, int64_t close, int64_t end)
{
    ct_rows *r = &s->rows;
    int32_t row = s->frames[s->depth].row;
    s->rowed--;
    if (CT_UNLIKELY(row < r->first))
        return ct_end_earlier_row(s, row, close, end);
    r->close[row - r->first] = close;
    r->end[row - r->first] = end;
    return CT_OK;
}

/* Counters of siblings are stored with the names: each belongs to the innermost open element with
 * such a child, and its former value is restored when that element ends. So counting costs the same
 * however many children and names there are. */
static inline int ct_count_sibling(ct_scan *s, const ct_frame *parent, int32_t expanded,
                                   int32_t *position)
{
    ct_cell *cell = &s->tables->cells[expanded];
    if (CT_UNLIKELY(cell->owner != parent->serial) &&
        ct_enter_sibling(s, cell, expanded, parent->serial) != CT_OK)
        return CT_MEMORY;
    *position = ++cell->count;
    return CT_OK;
}

static inline void ct_forget_siblings(ct_scan *s, const ct_frame *frame)
{
    while (s->undo_count > frame->undo) {
        const ct_undo *undo = &s->undos[--s->undo_count];
        s->tables->cells[undo->expanded].owner = undo->owner;
        s->tables->cells[undo->expanded].count = undo->count;
    }
}

/* Ends the open ranges at the end of the window; then the caller may take the ranges. */
int ct_cut_open(ct_scan *s);

#endif
