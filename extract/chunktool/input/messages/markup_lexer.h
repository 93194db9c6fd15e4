/* The tokens of XML, as far as one needs them to tell where a document or an element ends.
 *
 * Nothing is checked beyond that: a document whose tokens can be told apart may still be broken in
 * many ways, and its parser says so. Encodings are those in which the bytes of ASCII stand for
 * nothing else.
 */
#ifndef EXTRACT_MARKUP_LEXER_H
#define EXTRACT_MARKUP_LEXER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum {
    ML_MORE,        /* the token goes on behind the end of the bytes */
    ML_START,       /* a start tag */
    ML_EMPTY,       /* a tag of an empty element */
    ML_END,         /* an end tag */
    ML_MISC,        /* a comment or a processing instruction */
    ML_DECLARATION, /* an XML declaration */
    ML_DOCTYPE,     /* a document type declaration */
    ML_CDATA,       /* a CDATA section */
    ML_BROKEN       /* no token of XML; `end` is the place from which to go on */
} ml_kind;

typedef struct {
    ml_kind kind;
    size_t end;      /* behind the token */
    size_t name_end; /* behind the name, of tags */
} ml_token;

static inline int ml_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* Behind the first `a``b``>` from `at` on (`b``>` where `a` is 0); 0 if there is none. */
static inline size_t ml_behind(const uint8_t *data, size_t at, size_t size, uint8_t a, uint8_t b)
{
    size_t width = a ? 2 : 1;
    for (size_t from = at + width; from < size;) {
        const uint8_t *found = memchr(data + from, '>', size - from);
        if (!found)
            return 0;
        size_t place = (size_t)(found - data);
        if (data[place - 1] == b && (!a || data[place - 2] == a))
            return place + 1;
        from = place + 1;
    }
    return 0;
}

/* Behind a declaration of a DOCTYPE, whose literals may hold anything; 0 if it does not end. */
static inline size_t ml_behind_declaration(const uint8_t *data, size_t at, size_t size)
{
    while (at < size) {
        uint8_t byte = data[at++];
        if (byte == '>')
            return at;
        if (byte == '"' || byte == '\'') {
            const uint8_t *quote = memchr(data + at, byte, size - at);
            if (!quote)
                return 0;
            at = (size_t)(quote - data) + 1;
        }
    }
    return 0;
}

/* Behind the internal subset, whose bracket is before `at`; 0 if it does not end. */
static inline size_t ml_behind_subset(const uint8_t *data, size_t at, size_t size)
{
    while (at < size) {
        if (data[at] == ']')
            return at + 1;
        if (data[at] != '<') {
            at++;
            continue;
        }
        if (size - at < 4)
            return 0;
        if (!memcmp(data + at, "<!--", 4))
            at = ml_behind(data, at + 4, size, '-', '-');
        else if (data[at + 1] == '?')
            at = ml_behind(data, at + 2, size, 0, '?');
        else
            at = ml_behind_declaration(data, at + 1, size);
        if (!at)
            return 0;
    }
    return 0;
}

/* Behind a DOCTYPE; 0 if it does not end. */
static inline size_t ml_behind_doctype(const uint8_t *data, size_t at, size_t size)
{
    for (at += 9; at < size;) {
        uint8_t byte = data[at++];
        if (byte == '>')
            return at;
        if (byte == '"' || byte == '\'') {
            const uint8_t *quote = memchr(data + at, byte, size - at);
            if (!quote)
                return 0;
            at = (size_t)(quote - data) + 1;
        } else if (byte == '[') {
            at = ml_behind_subset(data, at, size);
            if (!at)
                return 0;
        }
    }
    return 0;
}

static inline ml_token ml_tag(const uint8_t *data, size_t at, size_t size)
{
    int closing = data[at + 1] == '/';
    size_t p = at + 1 + (size_t)closing, name = p;
    ml_token token = {ML_MORE, 0, 0};
    while (p < size && !ml_space(data[p]) && data[p] != '>' && data[p] != '/' && data[p] != '<')
        p++;
    token.name_end = p;
    while (p < size) {
        uint8_t byte = data[p];
        if (byte == '>') {
            token.kind = closing ? ML_END : data[p - 1] == '/' ? ML_EMPTY : ML_START;
            token.end = p + 1;
            if (token.name_end == name) /* no name */
                token.kind = ML_BROKEN;
            return token;
        }
        if (byte == '<') {
            token.kind = ML_BROKEN;
            token.end = p;
            return token;
        }
        p++;
        if ((byte == '"' || byte == '\'') && !closing) {
            while (p < size && data[p] != byte && data[p] != '<')
                p++;
            if (p < size && data[p] == byte)
                p++;
        }
    }
    return token;
}

/* The token at a `<`. */
static inline ml_token ml_next(const uint8_t *data, size_t at, size_t size)
{
    ml_token token = {ML_MORE, 0, 0};
    size_t left = size - at;
    if (left < 2)
        return token;
    if (data[at + 1] == '?') {
        token.end = ml_behind(data, at + 2, size, 0, '?');
        if (token.end)
            token.kind = left > 6 && !memcmp(data + at + 2, "xml", 3) && ml_space(data[at + 5])
                             ? ML_DECLARATION
                             : ML_MISC;
    } else if (data[at + 1] == '!') {
        if (left < 9) {
            /* what is here may be the beginning of one of three tokens */
            if (!memcmp(data + at, "<!--", left < 4 ? left : 4)) {
                token.end = left < 4 ? 0 : ml_behind(data, at + 4, size, '-', '-');
                if (token.end)
                    token.kind = ML_MISC;
            } else if (memcmp(data + at, "<![CDATA[", left) && memcmp(data + at, "<!DOCTYPE", left)) {
                token.kind = ML_BROKEN;
                token.end = at + 2;
            }
        } else if (!memcmp(data + at, "<!--", 4)) {
            token.end = ml_behind(data, at + 4, size, '-', '-');
            if (token.end)
                token.kind = ML_MISC;
        } else if (!memcmp(data + at, "<![CDATA[", 9)) {
            token.end = ml_behind(data, at + 9, size, ']', ']');
            if (token.end)
                token.kind = ML_CDATA;
        } else if (!memcmp(data + at, "<!DOCTYPE", 9)) {
            token.end = ml_behind_doctype(data, at, size);
            if (token.end)
                token.kind = ML_DOCTYPE;
        } else {
            token.kind = ML_BROKEN;
            token.end = at + 2;
        }
    } else {
        token = ml_tag(data, at, size);
    }
    return token;
}

#endif
