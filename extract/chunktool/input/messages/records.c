/* Records: the outermost elements of one name in a large document. */

#include "markup_lexer.h"
#include "splitter.h"

static int holds_namespaces(const uint8_t *data, size_t from, size_t to)
{
    while (from + 5 < to) {
        const uint8_t *found = memchr(data + from, 'x', to - from - 5);
        if (!found)
            return 0;
        if (!memcmp(found, "xmlns", 5))
            return 1;
        from = (size_t)(found - data) + 1;
    }
    return 0;
}

static int64_t scope(const ms_records *s)
{
    return s->scopes.count ? s->scopes.items[4 * (s->scopes.count - 1) + 1] : 0;
}

static int finish(ms_records *s, int64_t end)
{
    int64_t number = s->declares ? -1 - scope(s) : scope(s);
    int done = ms_rows_add(&s->found, s->start, end, s->name_end, number);
    s->start = -1;
    return done;
}

/* Takes a tag of the records' name. */
static int take_record(
    ms_records *s, const uint8_t *data, size_t p, int64_t base, const ml_token *token)
{
    int64_t end = base + (int64_t)token->end;
    if (token->kind == ML_END)
        return --s->tags ? 1 : finish(s, end);
    if (s->start < 0) {
        s->start = base + (int64_t)p;
        s->declares = holds_namespaces(data, token->name_end, token->end);
        s->name_end = base + (int64_t)token->name_end;
        s->tags = 0;
    }
    if (token->kind == ML_START)
        s->tags++;
    return s->tags ? 1 : finish(s, end);
}

/* Takes any token outside of records. */
static int take_outside(ms_records *s, const uint8_t *data, size_t p, int64_t base, const ml_token *token)
{
    int64_t at = base + (int64_t)p, end = base + (int64_t)token->end;
    switch (token->kind) {
    case ML_DECLARATION:
    case ML_DOCTYPE:
        if (s->begun) {
            s->broken = at;
            return 1;
        }
        return ms_rows_add(
            &s->events, token->kind == ML_DOCTYPE ? MS_DOCTYPE : MS_DECLARATION, at, end, 0);
    case ML_START:
        s->begun = 1;
        s->depth++;
        if (!holds_namespaces(data, token->name_end, token->end))
            return 1;
        return ms_rows_add(&s->events, MS_SCOPE, at, end, scope(s)) &&
               ms_rows_add(&s->scopes, s->depth, s->next++, 0, 0);
    case ML_END:
        if (s->scopes.count && s->scopes.items[4 * (s->scopes.count - 1)] == s->depth)
            s->scopes.count--;
        if (--s->depth < 0)
            s->broken = at;
        return 1;
    case ML_BROKEN:
        s->broken = at;
        return 1;
    default:
        s->begun |= token->kind == ML_EMPTY;
        return 1;
    }
}

int ms_split_records(ms_records *s, const uint8_t *data, size_t size, int64_t base, int last)
{
    size_t p = (size_t)(s->at - base);
    (void)last;
    while (p < size && s->broken < 0) {
        const uint8_t *found = memchr(data + p, '<', size - p);
        if (!found) {
            p = size;
            break;
        }
        p = (size_t)(found - data);
        ml_token token = ml_next(data, p, size);
        if (token.kind == ML_MORE)
            break;
        int tag = token.kind == ML_START || token.kind == ML_EMPTY || token.kind == ML_END;
        size_t name = p + (token.kind == ML_END ? 2 : 1);
        int ok = 1;
        if (tag && (s->start >= 0 || token.kind != ML_END) &&
            ms_name_is(&s->tag, data + name, token.name_end - name)) {
            s->begun = 1;
            ok = take_record(s, data, p, base, &token);
        } else if (s->start < 0) {
            ok = take_outside(s, data, p, base, &token);
        }
        if (!ok)
            return 0;
        p = token.end;
    }
    s->at = base + (int64_t)p;
    return 1;
}
