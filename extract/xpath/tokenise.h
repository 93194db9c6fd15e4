/* The tokens of an XPath 1.0 expression in UTF-8: what `extract.xpath.tokens` does, with the same
   keys. One pass; a key has at most one byte more than the text for each token. */

#ifndef EXTRACT_XPATH_TOKENISE_H
#define EXTRACT_XPATH_TOKENISE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_STRING = 1, KIND_NUMBER = 2, KIND_NAME = 3 };
enum { NAME_FOLLOWS = 1, NAME_STARTS = 2 };
enum { TOKENS_FAILED = -1, TOKENS_NONE = 0, TOKENS_READ = 1 };

typedef struct {
    int64_t start, stop; /* without quotes */
    int64_t kind;
} Literal;

typedef struct {
    uint8_t *key;
    size_t size, room;
    Literal *literals;
    size_t count, places;
    int prefixed; /* whether there is a colon between a prefix and a name */
} Tokens;

static inline void tokens_free(Tokens *tokens) {
    free(tokens->key);
    free(tokens->literals);
    memset(tokens, 0, sizeof(*tokens));
}

static inline int is_space(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static inline int is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* Where the name character at `at` ends; `at` itself if there is none that may stand there. */
static inline size_t name_character(const uint8_t *text, size_t at, size_t size,
                                    const uint8_t *names, int wanted) {
    uint32_t code = text[at];
    size_t end = at + 1;
    if (code >= 0x80) {
        if (code < 0xE0 && at + 1 < size) {
            code = ((code & 0x1F) << 6) | (text[at + 1] & 0x3F);
            end = at + 2;
        } else if (code >= 0xE0 && code < 0xF0 && at + 2 < size) {
            code = ((code & 0x0F) << 12) | ((uint32_t)(text[at + 1] & 0x3F) << 6) |
                   (text[at + 2] & 0x3F);
            end = at + 3;
        } else {
            return at; /* no name has a character beyond U+FFFF */
        }
    }
    return names[code] >= wanted ? end : at;
}

static inline size_t name_end(const uint8_t *text, size_t at, size_t size, const uint8_t *names) {
    size_t end = name_character(text, at, size, names, NAME_STARTS);
    if (end == at) {
        return at;
    }
    while (end < size) {
        size_t next = name_character(text, end, size, names, NAME_FOLLOWS);
        if (next == end) {
            break;
        }
        end = next;
    }
    return end;
}

static inline size_t number_end(const uint8_t *text, size_t at, size_t size) {
    while (at < size && is_digit(text[at])) {
        at++;
    }
    if (at < size && text[at] == '.') {
        at++;
        while (at < size && is_digit(text[at])) {
            at++;
        }
    }
    if (at < size && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (at < size && (text[at] == '+' || text[at] == '-')) {
            at++;
        }
        while (at < size && is_digit(text[at])) {
            at++;
        }
    }
    return at;
}

/* Whether all characters may occur in XML. */
static inline int is_xml(const uint8_t *text, size_t at, size_t stop) {
    for (; at < stop; at++) {
        uint8_t byte = text[at];
        if (byte < 0x20) {
            if (!is_space(byte)) {
                return 0;
            }
        } else if (byte == 0xED && at + 1 < stop && text[at + 1] >= 0xA0) {
            return 0; /* half a character */
        } else if (byte == 0xEF && at + 2 < stop && text[at + 1] == 0xBF && text[at + 2] >= 0xBE) {
            return 0; /* U+FFFE, U+FFFF */
        }
    }
    return 1;
}

/* The byte for "or", "and", "div" or "mod" if one of them starts here, and its length; else 0. */
static inline uint8_t word_at(const uint8_t *text, size_t at, size_t size, size_t *length) {
    size_t left = size - at;
    *length = 3;
    if (left >= 2 && text[at] == 'o' && text[at + 1] == 'r') {
        *length = 2;
        return 0x04;
    }
    if (left >= 3 && memcmp(text + at, "and", 3) == 0) {
        return 0x05;
    }
    if (left >= 3 && memcmp(text + at, "div", 3) == 0) {
        return 0x06;
    }
    if (left >= 3 && memcmp(text + at, "mod", 3) == 0) {
        return 0x07;
    }
    return 0;
}

static inline int add_literal(Tokens *tokens, int64_t kind, size_t start, size_t stop) {
    if (tokens->count == tokens->places) {
        size_t places = tokens->places ? 2 * tokens->places : 16;
        Literal *literals = realloc(tokens->literals, places * sizeof(Literal));
        if (literals == NULL) {
            return 0;
        }
        tokens->literals = literals;
        tokens->places = places;
    }
    Literal *literal = &tokens->literals[tokens->count++];
    literal->kind = kind;
    literal->start = (int64_t)start;
    literal->stop = (int64_t)stop;
    return 1;
}

/* Reads the tokens of a text.

   `names` says for each of 65,536 characters whether it may start or follow in a name. TOKENS_NONE:
   some character starts no token, or cannot occur in XML. TOKENS_FAILED: there is no memory. */
static inline int tokenise(const uint8_t *text, size_t size, const uint8_t *names,
                           Tokens *tokens) {
    size_t at = 0, length;
    int after_operand = 0;
    if (tokens->room < 2 * size + 8) {
        uint8_t *key = realloc(tokens->key, 2 * size + 8);
        if (key == NULL) {
            return TOKENS_FAILED;
        }
        tokens->key = key;
        tokens->room = 2 * size + 8;
    }
    uint8_t *key = tokens->key;
    tokens->count = 0;
    tokens->prefixed = 0;
    for (;;) {
        size_t before = at;
        while (at < size && is_space(text[at])) {
            at++;
        }
        if (at == size) {
            tokens->size = (size_t)(key - tokens->key);
            return TOKENS_READ;
        }
        if (after_operand) {
            uint8_t word = word_at(text, at, size, &length);
            if (word) {
                *key++ = word;
                at += length;
                after_operand = 0;
                continue;
            }
        }
        size_t end = name_end(text, at, size, names);
        if (end > at) {
            *key++ = KIND_NAME;
            memcpy(key, text + at, end - at);
            key += end - at;
            at = end;
            after_operand = 1;
            continue;
        }
        uint8_t sign = text[at], next = at + 1 < size ? text[at + 1] : 0;
        if (sign == '\'' || sign == '"') {
            const uint8_t *quote = memchr(text + at + 1, sign, size - at - 1);
            if (quote == NULL) {
                return TOKENS_NONE;
            }
            end = (size_t)(quote - text);
            if (!is_xml(text, at + 1, end)) {
                return TOKENS_NONE;
            }
            if (!add_literal(tokens, KIND_STRING, at + 1, end)) {
                return TOKENS_FAILED;
            }
            *key++ = KIND_STRING;
            at = end + 1;
            after_operand = 1;
            continue;
        }
        if (is_digit(sign) || (sign == '.' && is_digit(next))) {
            end = number_end(text, at, size);
            if (!add_literal(tokens, KIND_NUMBER, at, end)) {
                return TOKENS_FAILED;
            }
            *key++ = KIND_NUMBER;
            at = end;
            after_operand = 1;
            continue;
        }
        length = 1;
        switch (sign) {
        case '*': /* a name test, or an operator */
            after_operand = !after_operand;
            break;
        case ')':
        case ']':
            after_operand = 1;
            break;
        case '.':
            length = next == '.' ? 2 : 1;
            sign = next == '.' ? 0x0C : 0x0E;
            after_operand = 1;
            break;
        case '/':
            length = next == '/' ? 2 : 1;
            sign = next == '/' ? 0x08 : sign;
            after_operand = 0;
            break;
        case ':':
        case '$':
            after_operand = 0;
            if (sign == ':' && next == ':') {
                length = 2;
                sign = 0x0B;
                break;
            }
            tokens->prefixed |= sign == ':';
            *key++ = sign == ':' && at > before ? 0x13 : sign;
            at++;
            if (is_space(next)) { /* a name has to follow at once */
                *key++ = ' ';
            }
            continue;
        case '-':
            sign = 0x0F;
            after_operand = 0;
            break;
        case '!':
            if (next != '=') {
                return TOKENS_NONE;
            }
            length = 2;
            sign = 0x10;
            after_operand = 0;
            break;
        case '<':
        case '>':
            length = next == '=' ? 2 : 1;
            sign = next != '=' ? sign : sign == '<' ? 0x11 : 0x12;
            after_operand = 0;
            break;
        case '[':
        case '(':
        case ',':
        case '@':
        case '|':
        case '+':
        case '=':
            after_operand = 0;
            break;
        default:
            return TOKENS_NONE;
        }
        *key++ = sign;
        at += length;
    }
}

#endif
