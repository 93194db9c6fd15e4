/* Characters of XML by libxml2's rules: classes, UTF-8, and the search for the next byte that is
 * not plain text. Sixteen bytes at a time with SSE2, otherwise byte by byte; both give the same
 * results. No function reads at or behind `end`. */
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

/* Whether the bytes are a name of ASCII characters without a colon. */
static inline int ct_is_plain_name(ct_bytes p, ct_bytes end)
{
    if (p == end || !(ct_class[*p] & CT_NAME_START))
        return 0;
    for (; p < end; p++)
        if (!(ct_class[*p] & CT_NAME) || *p == ':')
            return 0;
    return 1;
}

/* Decodes the character at `p`, whose first byte is 0x80 or more.
 * Returns its length; 0 if these bytes are no character that XML allows; -1 if the character does
 * not end before `end` and may still be valid. */
int ct_decode(ct_bytes p, ct_bytes end, uint32_t *character);

/* Whether this code point is allowed in a document. */
int ct_is_char(uint32_t c);

enum { CT_NO_COLON = -1, CT_BAD_QNAME = -2, CT_BAD_NAME = -3 };

/* Classifies bytes as a name: CT_BAD_NAME if they are no name; CT_BAD_QNAME if the name has colons
 * that namespaces do not allow; CT_NO_COLON; otherwise the place of its one colon. */
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
/* Control characters except tab and line feed, and all bytes from 0x80 on (negative ones). */
static inline __m128i ct_odd(__m128i v)
{
    __m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
    return _mm_andnot_si128(_mm_or_si128(ct_is(v, '\t'), ct_is(v, '\n')), low);
}
#endif

static inline int ct_byte_odd(uint8_t c) { return (c < 0x20 && c != '\t' && c != '\n') || c >= 0x80; }

/* Finds the first byte of an attribute value that is the quote, '<', '&', a control character
 * (carriage return included) or not ASCII; `end` if there is none. */
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

/* The same for a text, where ']' takes the place of the quote. */
static inline ct_bytes ct_find_text(ct_bytes p, ct_bytes end)
{
    return ct_find_value(p, end, ']');
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

/* Finds the next '<', or `end`. */
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

/* Finds the end of a name in a tag: white space, a control character, '/', '>' or '='. Whether the
 * bytes before it are a name is decided by `ct_name_shape`. */
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
