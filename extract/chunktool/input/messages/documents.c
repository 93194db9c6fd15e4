/* Documents that stand one after the other in a file. */

#include "markup_lexer.h"
#include "splitter.h"

static void begin(ms_documents *s, int64_t at, ms_phase phase)
{
    s->start = at;
    s->end = at;
    s->depth = s->roots = 0;
    s->phase = phase;
    s->broken = s->doctype = 0;
}

/* Ends the document, if one has begun. */
static int boundary(ms_documents *s, int64_t at)
{
    int64_t end = s->phase == MS_EPILOG ? s->end : at;
    if (s->phase != MS_BETWEEN && !ms_rows_add(&s->found, s->start, end, 0, 0))
        return 0;
    begin(s, -1, MS_BETWEEN);
    return 1;
}

/* Ends the document before it, if there is one, and begins another. */
static int another(ms_documents *s, int64_t at, ms_phase phase)
{
    if (!boundary(s, at))
        return 0;
    begin(s, at, phase);
    return 1;
}

static int take_tag(ms_documents *s, const uint8_t *data, size_t p, const ml_token *token)
{
    int opens = token->kind == ML_START;
    const uint8_t *name = data + p + (opens ? 1 : 2);
    size_t size = token->name_end - p - (opens ? 1 : 2);
    if (s->phase == MS_PROLOG) { /* only a start tag comes here */
        s->phase = MS_CONTENT;
        s->depth = s->roots = 1;
        return ms_name_set(&s->root, name, size);
    }
    int step = opens ? 1 : -1;
    s->depth += step;
    if (ms_name_is(&s->root, name, size))
        s->roots += step;
    if ((s->depth <= 0 || s->roots <= 0) && !s->broken)
        s->phase = MS_EPILOG;
    return 1;
}

static int take(ms_documents *s, const uint8_t *data, size_t p, int64_t at, const ml_token *token)
{
    int ok = 1;
    switch (token->kind) {
    case ML_DECLARATION:
        if (s->phase != MS_PROLOG || at - s->start != 3 || s->end != at) /* but for a BOM */
            ok = another(s, at, MS_PROLOG);
        break;
    case ML_DOCTYPE:
        if (s->phase != MS_PROLOG || s->doctype)
            ok = another(s, at, MS_PROLOG);
        s->doctype = 1;
        break;
    case ML_MISC:
        if (s->phase == MS_BETWEEN || s->phase == MS_JUNK)
            ok = another(s, at, MS_PROLOG);
        break;
    case ML_START:
    case ML_EMPTY:
        if (s->phase != MS_CONTENT && s->phase != MS_PROLOG)
            ok = another(s, at, MS_PROLOG);
        if (ok && token->kind == ML_START)
            ok = take_tag(s, data, p, token);
        else if (s->phase == MS_PROLOG)
            s->phase = MS_EPILOG;
        break;
    case ML_END:
    case ML_CDATA:
        if (s->phase == MS_CONTENT) {
            if (token->kind == ML_END)
                ok = take_tag(s, data, p, token);
        } else if (s->phase == MS_PROLOG) {
            s->phase = MS_EPILOG;
        } else if (s->phase != MS_JUNK) {
            ok = another(s, at, MS_JUNK);
        }
        break;
    default: /* ML_BROKEN */
        if (s->phase != MS_CONTENT && s->phase != MS_PROLOG)
            ok = another(s, at, MS_PROLOG);
        s->phase = MS_CONTENT;
        s->broken = 1;
    }
    return ok;
}

/* Takes a byte between tokens that is no white space, outside of elements; behind it is `*p`. */
static int take_text(ms_documents *s, const uint8_t *data, size_t size, int64_t base, size_t *p)
{
    int64_t at = base + (int64_t)*p;
    if (s->phase != MS_PROLOG && size - *p >= 3 && !memcmp(data + *p, "\xEF\xBB\xBF", 3)) {
        if (!another(s, at, MS_PROLOG))
            return 0;
        s->end = at + 3;
        *p += 3;
        return 1;
    }
    if (s->phase == MS_BETWEEN || s->phase == MS_EPILOG)
        if (!another(s, at, MS_JUNK))
            return 0;
    ++*p;
    return 1;
}

static int scan(ms_documents *s, const uint8_t *data, size_t size, int64_t base, int last)
{
    size_t p = (size_t)(s->at - base);
    while (p < size) {
        if (s->phase == MS_CONTENT) {
            const uint8_t *found = memchr(data + p, '<', size - p);
            if (!found) {
                p = size;
                break;
            }
            p = (size_t)(found - data);
        } else if (data[p] != '<') {
            if (ml_space(data[p])) {
                p++;
                continue;
            }
            if (data[p] == 0xEF && size - p < 3 && !last)
                break; /* perhaps a BOM */
            if (!take_text(s, data, size, base, &p))
                return 0;
            continue;
        }
        ml_token token = ml_next(data, p, size);
        if (token.kind == ML_MORE)
            break;
        if (!take(s, data, p, base + (int64_t)p, &token))
            return 0;
        p = token.end;
        s->end = base + (int64_t)p;
    }
    s->at = base + (int64_t)p;
    return 1;
}

/* The next XML declaration from `p` on; `size` if there is none. */
static size_t declaration(const uint8_t *data, size_t p, size_t size)
{
    while (p + 5 < size) {
        const uint8_t *found = memchr(data + p, '<', size - p - 5);
        if (!found)
            return size;
        p = (size_t)(found - data);
        if (!memcmp(found, "<?xml", 5) && ml_space(found[5]))
            return p;
        p++;
    }
    return size;
}

int ms_split_documents(ms_documents *s, const uint8_t *data, size_t size, int64_t base, int last)
{
    for (;;) {
        if (!scan(s, data, size, base, last))
            return 0;
        int64_t end = base + (int64_t)size;
        if (!last)
            return 1;
        int within = s->phase == MS_PROLOG || s->phase == MS_CONTENT;
        if (s->at >= end && !within)
            return boundary(s, end);
        if (!within && !another(s, s->at, MS_PROLOG))
            return 0;
        /* A token has no end, or an element. The token may hide other documents. */
        size_t next = s->at < end ? declaration(data, (size_t)(s->at - base) + 1, size) : size;
        s->unfinished = next == size;
        if (!boundary(s, base + (int64_t)next))
            return 0;
        s->at = base + (int64_t)next;
        if (next == size)
            return 1;
    }
}
