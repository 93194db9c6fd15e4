/* Characters of XML as libxml2 has them: classes, UTF-8, and the search for the next byte that is
 * more than plain text. Sixteen bytes at a time where SSE2 is there, else byte by byte; both give
 * the same answers. Nothing here reads at or past `end`. */
#ifndef CHUNKTOOL_CHARS_H
#define CHUNKTOOL_CHARS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && defined(__GNUC__) && !defined(CHUNKTOOL_PLAIN)
#define CT_SSE2 1
#include <emmintrin.h>
#endif

#if defined(__GNUC__)
#define CT_LIKELY(x) __builtin_expect(!!(x), 1)
#define CT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define CT_LIKELY(x) (x)
#define CT_UNLIKELY(x) (x)
#endif

typedef const uint8_t *ct_bytes;

/* Classes of ASCII characters; bytes from 0x80 on have none and are decoded. */
enum {
    CT_SPACE = 1,      /* white space of XML */
    CT_NAME_START = 2, /* may begin a name */
    CT_NAME = 4,       /* may be in a name */
    CT_CHAR = 8        /* may be in a document */
};
extern const uint8_t ct_class[256];

static inline int ct_is_space(uint8_t c) { return ct_class[c] & CT_SPACE; }

/* Decodes the character at `p`, whose first byte is 0x80 or more.
 * Returns its length; 0 if these bytes are no character that XML allows; -1 if the character does
 * not end before `end`, and may still be one. */
int ct_decode(ct_bytes p, ct_bytes end, uint32_t *character);

/* Is this code point allowed in a document? */
int ct_is_char(uint32_t c);

enum { CT_NO_COLON = -1, CT_BAD_QNAME = -2, CT_BAD_NAME = -3 };

/* What the bytes are as a name: CT_BAD_NAME if they are none; CT_BAD_QNAME if it has colons where
 * namespaces allow none; CT_NO_COLON; else where the one colon is. */
int ct_name_shape(ct_bytes p, size_t length);

static inline ct_bytes ct_skip_space(ct_bytes p, ct_bytes end)
{
    while (p < end && ct_is_space(*p))
        p++;
    return p;
}

#ifdef CT_SSE2
static inline __m128i ct_load(ct_bytes p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
static inline __m128i ct_is(__m128i v, char c) { return _mm_cmpeq_epi8(v, _mm_set1_epi8(c)); }
/* Control characters but tab and line feed, and all bytes from 0x80 on (negative ones). */
static inline __m128i ct_odd(__m128i v)
{
    __m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
    return _mm_andnot_si128(_mm_or_si128(ct_is(v, '\t'), ct_is(v, '\n')), low);
}
#endif

static inline int ct_byte_odd(uint8_t c) { return (c < 0x20 && c != '\t' && c != '\n') || c >= 0x80; }

/* The first byte of a text that is '<', '&', ']', a control character (carriage return included)
 * or not ASCII; `end` if there is none. */
static inline ct_bytes ct_find_text(ct_bytes p, ct_bytes end)
{
#ifdef CT_SSE2
    while (end - p >= 16) {
        __m128i v = ct_load(p);
        __m128i hit = _mm_or_si128(_mm_or_si128(ct_is(v, '<'), ct_is(v, '&')),
                                   _mm_or_si128(ct_is(v, ']'), ct_odd(v)));
        int mask = _mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    while (p < end && *p != '<' && *p != '&' && *p != ']' && !ct_byte_odd(*p))
        p++;
    return p;
}

/* The same for an attribute value: the quote, '<', '&', a control character, or not ASCII. */
static inline ct_bytes ct_find_value(ct_bytes p, ct_bytes end, uint8_t quote)
{
#ifdef CT_SSE2
    while (end - p >= 16) {
        __m128i v = ct_load(p);
        __m128i hit = _mm_or_si128(_mm_or_si128(ct_is(v, '<'), ct_is(v, '&')),
                                   _mm_or_si128(ct_is(v, (char)quote), ct_odd(v)));
        int mask = _mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    while (p < end && *p != quote && *p != '<' && *p != '&' && !ct_byte_odd(*p))
        p++;
    return p;
}

/* The same for comments, processing instructions and CDATA: `stop`, a control character, or not
 * ASCII. */
static inline ct_bytes ct_find_stop(ct_bytes p, ct_bytes end, uint8_t stop)
{
#ifdef CT_SSE2
    while (end - p >= 16) {
        __m128i v = ct_load(p);
        int mask = _mm_movemask_epi8(_mm_or_si128(ct_is(v, (char)stop), ct_odd(v)));
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    while (p < end && *p != stop && !ct_byte_odd(*p))
        p++;
    return p;
}

/* The next '<', or `end`. */
static inline ct_bytes ct_find_tag(ct_bytes p, ct_bytes end)
{
#ifdef CT_SSE2
    while (end - p >= 16) {
        int mask = _mm_movemask_epi8(ct_is(ct_load(p), '<'));
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    while (p < end && *p != '<')
        p++;
    return p;
}

/* Where a name in a tag ends if it is one: at white space, a control character, '/', '>' or '='.
 * Whether what is before is a name is for `ct_name_shape` to say. */
static inline ct_bytes ct_find_name_end(ct_bytes p, ct_bytes end)
{
#ifdef CT_SSE2
    while (end - p >= 16) {
        __m128i v = ct_load(p);
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x20)), v);
        __m128i hit = _mm_or_si128(_mm_or_si128(low, ct_is(v, '/')),
                                   _mm_or_si128(ct_is(v, '>'), ct_is(v, '=')));
        int mask = _mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    while (p < end && *p > 0x20 && *p != '/' && *p != '>' && *p != '=')
        p++;
    return p;
}

#endif
