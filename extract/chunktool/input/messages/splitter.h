/* Where the documents, or the records, of a file begin and end.
 *
 * `markup_lexer.h` tells tokens apart; `documents.c` and `records.c` say what they mean. The rules
 * are in `reference_split.py`, which does the same in Python.
 */
#ifndef EXTRACT_SPLITTER_H
#define EXTRACT_SPLITTER_H

#include <stddef.h>
#include <stdint.h>

/* Rows of four numbers, all of them places in the file unless something else is said. */
typedef struct {
    int64_t *items;
    size_t count, room;
} ms_rows;

int ms_rows_add(ms_rows *rows, int64_t a, int64_t b, int64_t c, int64_t d);

/* A name that is kept while the bytes around it go. */
typedef struct {
    uint8_t *bytes;
    size_t size, room;
} ms_name;

int ms_name_set(ms_name *name, const uint8_t *bytes, size_t size);
int ms_name_is(const ms_name *name, const uint8_t *bytes, size_t size);

typedef enum {
    MS_BETWEEN, /* no document has begun */
    MS_JUNK,    /* bytes that are no document have */
    MS_PROLOG,  /* a document has begun, its document element has not */
    MS_CONTENT,
    MS_EPILOG /* the document element has ended, the document perhaps not */
} ms_phase;

typedef struct {
    ms_rows found;  /* start, end, 0, 0 */
    int64_t at;     /* from where to read on */
    int64_t start;  /* where the document begins that has not ended; -1 for none */
    int64_t end;    /* where its last token ends */
    int64_t depth;  /* of elements that are open */
    int64_t roots;  /* how many of them have the name of the document element */
    ms_phase phase;
    int broken;     /* a token was none of XML: only an XML declaration or a DOCTYPE is sure */
    int doctype;    /* whether it has a DOCTYPE */
    int unfinished; /* whether the last document has no end */
    ms_name root;
} ms_documents;

/* Reads on; `data` holds the file from `base` on. 0 if there is no memory. */
int ms_split_documents(ms_documents *s, const uint8_t *data, size_t size, int64_t base, int last);

enum { MS_SCOPE, MS_DECLARATION, MS_DOCTYPE };

typedef struct {
    ms_rows found;    /* start, end, where the name ends, the scope; -1 - scope if it declares more */
    ms_rows events;   /* kind, start and end of the token, and for a scope the one around it */
    ms_rows scopes;   /* that are open: depth, number, 0, 0 */
    int64_t at;       /* from where to read on */
    int64_t start;    /* where the record begins that has not ended; -1 for none */
    int64_t name_end; /* where the name in its start tag ends */
    int64_t depth;    /* of elements that are open around records */
    int64_t tags;     /* of elements with the records' name in the record, which counts too */
    int64_t next;     /* the number of the next scope; 0 is that of the file */
    int64_t broken;   /* the place behind which nothing can be told; -1 for none */
    int declares;     /* whether the record's start tag has namespace declarations */
    int begun;        /* whether the document element has begun */
    ms_name tag;
} ms_records;

int ms_split_records(ms_records *s, const uint8_t *data, size_t size, int64_t base, int last);

#endif
