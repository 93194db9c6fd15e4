#include "chars.h"

#define S (CT_SPACE | CT_CHAR)
#define N (CT_NAME | CT_NAME_START | CT_CHAR)
#define M (CT_NAME | CT_CHAR)
#define C CT_CHAR
const uint8_t ct_class[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, S, S, 0, 0, S, 0, 0, /* 00 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 10 */
    S, C, C, C, C, C, C, C, C, C, C, C, C, M, M, C, /* 20: - . */
    M, M, M, M, M, M, M, M, M, M, N, C, C, C, C, C, /* 30: 0-9 : */
    C, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, /* 40: A-O */
    N, N, N, N, N, N, N, N, N, N, N, C, C, C, C, N, /* 50: P-Z _ */
    C, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, /* 60: a-o */
    N, N, N, N, N, N, N, N, N, N, N, C, C, C, C, C, /* 70: p-z DEL */
};
#undef S
#undef N
#undef M
#undef C

int ct_is_char(uint32_t c)
{
    if (c < 0x20)
        return c == 0x9 || c == 0xA || c == 0xD;
    return c <= 0xD7FF || (c >= 0xE000 && c <= 0xFFFD) || (c >= 0x10000 && c <= 0x10FFFF);
}

int ct_decode(ct_bytes p, ct_bytes end, uint32_t *character)
{
    ptrdiff_t there = end - p;
    uint32_t first = p[0], c, least;
    int length;
    if (first < 0xC2) {
        return 0;
    } else if (first < 0xE0) {
        length = 2, c = first & 0x1F, least = 0x80;
    } else if (first < 0xF0) {
        length = 3, c = first & 0x0F, least = 0x800;
    } else if (first < 0xF5) {
        length = 4, c = first & 0x07, least = 0x10000;
    } else {
        return 0;
    }
    for (int i = 1; i < length; i++) {
        if (i >= there)
            return -1;
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if (c < least || !ct_is_char(c))
        return 0;
    *character = c;
    return length;
}

/* Letters of names beyond ASCII: XML 1.0, fifth edition, productions 4 and 4a. */
static int is_name_start(uint32_t c)
{
    return (c >= 0xC0 && c <= 0x2FF && c != 0xD7 && c != 0xF7) ||
           (c >= 0x370 && c <= 0x1FFF && c != 0x37E) || c == 0x200C || c == 0x200D ||
           (c >= 0x2070 && c <= 0x218F) || (c >= 0x2C00 && c <= 0x2FEF) ||
           (c >= 0x3001 && c <= 0xD7FF) || (c >= 0xF900 && c <= 0xFDCF) ||
           (c >= 0xFDF0 && c <= 0xFFFD) || (c >= 0x10000 && c <= 0xEFFFF);
}

static int is_name(uint32_t c)
{
    return is_name_start(c) || c == 0xB7 || (c >= 0x300 && c <= 0x36F) || c == 0x203F || c == 0x2040;
}

int ct_name_shape(ct_bytes p, size_t length)
{
    ct_bytes begin = p, end = p + length;
    int colon = CT_NO_COLON, bad = length == 0;
    int starts = 1; /* at the beginning, or after a colon */
    if (bad)
        return CT_BAD_NAME;
    while (p < end) {
        int can_start, can_be, size = 1;
        if (*p < 0x80) {
            can_start = ct_class[*p] & CT_NAME_START;
            can_be = ct_class[*p] & CT_NAME;
        } else {
            uint32_t c;
            size = ct_decode(p, end, &c);
            if (size <= 0)
                return CT_BAD_NAME;
            can_start = is_name_start(c);
            can_be = is_name(c);
        }
        if (!(p == begin ? can_start : can_be))
            return CT_BAD_NAME;
        if (*p == ':') {
            if (starts || colon != CT_NO_COLON)
                bad = 1;
            colon = (int)(p - begin);
            starts = 1;
        } else {
            if (starts && !can_start)
                bad = 1; /* a:1 */
            starts = 0;
        }
        p += size;
    }
    return bad || starts ? CT_BAD_QNAME : colon;
}
