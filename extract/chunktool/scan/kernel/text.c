#include "scan.h"

int ct_character(ct_scan *s, ct_bytes *p, ct_bytes end, const char *within)
{
    ct_bytes q = *p;
    uint32_t c;
    if (*q == '\r') {
        *p = q + 1;
        return CT_OK;
    }
    if (*q < 0x80)
        return ct_fail(s, q, "a control character that XML does not allow");
    if (s->ascii)
        return ct_hand_over(s, "encoding");
    do {
        int length = ct_decode(q, end, &c);
        if (length == 0)
            return ct_fail(s, q, "bytes that are no character of XML in UTF-8");
        if (length < 0)
            return ct_more(s, within);
        q += length;
    } while (q < end && *q >= 0x80);
    *p = q;
    return CT_OK;
}

static int char_reference(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after, const char *within)
{
    ct_bytes q = p + 2;
    uint32_t c = 0;
    int hex = q < end && *q == 'x';
    if (hex)
        q++;
    ct_bytes digits = q;
    for (; q < end; q++) {
        uint8_t lower = *q | 0x20;
        uint32_t digit;
        if (*q >= '0' && *q <= '9')
            digit = *q - '0';
        else if (hex && lower >= 'a' && lower <= 'f')
            digit = lower - 'a' + 10u;
        else
            break;
        if (c < 0x110000)
            c = c * (hex ? 16 : 10) + digit;
    }
    if (q == end)
        return ct_more(s, within);
    if (q == digits || *q != ';')
        return ct_fail(s, p, "a character reference that is no number with a semicolon");
    if (!ct_is_char(c))
        return ct_fail(s, p, "a reference to a character that XML does not allow");
    *after = q + 1;
    return CT_OK;
}

static int reference(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after, const char *within)
{
    static const struct {
        const char *text;
        ptrdiff_t length;
    } known[] = {{"lt;", 3}, {"gt;", 3}, {"amp;", 4}, {"quot;", 5}, {"apos;", 5}};
    ct_bytes name = p + 1;
    if (name < end && *name == '#')
        return char_reference(s, p, end, after, within);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (end - name >= known[i].length &&
            memcmp(name, known[i].text, (size_t)known[i].length) == 0) {
            *after = name + known[i].length;
            return CT_OK;
        }
    }
    ct_bytes q = name;
    while (q < end && (*q >= 0x80 || ct_class[*q] & CT_NAME))
        q++;
    if (q == end)
        return ct_more(s, within);
    if (ct_is_foreign(s, name, q))
        return ct_hand_over(s, "encoding");
    if (*q != ';' || ct_name_shape(name, (size_t)(q - name)) == CT_BAD_NAME)
        return ct_fail(s, p, "an ampersand that begins no reference");
    if (s->doctype)
        return ct_hand_over(s, "entity reference");
    return ct_fail(s, p, "a reference to an entity that is not declared");
}

int ct_text(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after, int *references)
{
    static const char within[] = "a text";
    ct_bytes q = p;
    *references = 0;
    for (;;) {
        int code = CT_OK;
        q = ct_find_text(q, end);
        if (q == end)
            return ct_more(s, within);
        switch (*q) {
        case '<':
            *after = q;
            return CT_OK;
        case '&':
            *references = 1;
            code = reference(s, q, end, &q, within);
            break;
        case ']':
            if (end - q >= 3 && q[1] == ']' && q[2] == '>')
                return ct_fail(s, q, "]]> in a text");
            /* At the end of a window more bytes decide: a text ends only at a '<' anyway. */
            q++;
            break;
        default:
            *references |= *q == '\r';
            code = ct_character(s, &q, end, within);
        }
        if (code != CT_OK)
            return code;
    }
}

int ct_value(ct_scan *s, ct_bytes p, ct_bytes end, uint8_t quote, ct_bytes *after)
{
    static const char within[] = "a tag";
    ct_bytes q = p;
    for (;;) {
        int code;
        q = ct_find_value(q, end, quote);
        if (q == end)
            return ct_more(s, within);
        if (*q == quote) {
            *after = q;
            return CT_OK;
        }
        if (*q == '<')
            return ct_fail(s, q, "< in an attribute value");
        if (*q == '&')
            code = reference(s, q, end, &q, within);
        else
            code = ct_character(s, &q, end, within);
        if (code != CT_OK)
            return code;
    }
}

/* Moves `*p` to the next `stop`, and checks the characters on the way. */
static int skip_to(ct_scan *s, ct_bytes *p, ct_bytes end, uint8_t stop, const char *within)
{
    for (;;) {
        *p = ct_find_stop(*p, end, stop);
        if (end - *p < 1)
            return ct_more(s, within);
        if (**p == stop)
            return CT_OK;
        int code = ct_character(s, p, end, within);
        if (code != CT_OK)
            return code;
    }
}

int ct_comment(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after)
{
    static const char within[] = "a comment";
    ct_bytes q = p + 4;
    for (;;) {
        int code = skip_to(s, &q, end, '-', within);
        if (code != CT_OK)
            return code;
        if (end - q < 2) {
            return ct_more(s, within);
        } else if (q[1] != '-') {
            q++;
        } else if (end - q < 3) {
            return ct_more(s, within);
        } else if (q[2] != '>') {
            return ct_fail(s, q, "-- in a comment");
        } else {
            *after = q + 3;
            return CT_OK;
        }
    }
}

int ct_pi(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after)
{
    static const char within[] = "a processing instruction";
    ct_bytes target = p + 2, q = target;
    while (q < end && (*q >= 0x80 || ct_class[*q] & CT_NAME))
        q++;
    if (q == end)
        return ct_more(s, within);
    if (ct_is_foreign(s, target, q))
        return ct_hand_over(s, "encoding");
    size_t length = (size_t)(q - target);
    int shape = ct_name_shape(target, length);
    if (shape == CT_BAD_NAME)
        return ct_fail(s, target, "a processing instruction without a target");
    if (length >= 3 && (target[0] | 0x20) == 'x' && (target[1] | 0x20) == 'm' &&
        (target[2] | 0x20) == 'l') {
        if (length == 3)
            return ct_fail(s, p, "an XML declaration that is not at the beginning");
        ct_warning(s, p);
    }
    if (!ct_is_space(*q) && *q != '?')
        return ct_fail(s, q, "no space after the target of a processing instruction");
    if (*q == '?') {
        if (end - q < 2)
            return ct_more(s, within);
        if (q[1] != '>')
            return ct_fail(s, q, "no space after the target of a processing instruction");
    }
    for (;;) {
        int code = skip_to(s, &q, end, '?', within);
        if (code != CT_OK)
            return code;
        if (end - q < 2) {
            return ct_more(s, within);
        } else if (q[1] == '>') {
            break;
        } else {
            q++;
        }
    }
    if (shape != CT_NO_COLON && s->soft_at < 0)
        return ct_soft(s, p, "a colon in the target of a processing instruction", p);
    *after = q + 2;
    return CT_OK;
}

int ct_cdata(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after)
{
    static const char within[] = "a CDATA section";
    ct_bytes q = p + 9;
    for (;;) {
        int code = skip_to(s, &q, end, ']', within);
        if (code != CT_OK)
            return code;
        if (end - q < 3) {
            return ct_more(s, within);
        } else if (q[1] == ']' && q[2] == '>') {
            *after = q + 3;
            return CT_OK;
        } else {
            q++;
        }
    }
}
