#include "scan.h"

/* Reads `name = "value"` in an XML declaration. Returns the byte after it, or NULL. */
static ct_bytes pseudo(ct_bytes p, ct_bytes end, const char *name, ct_bytes *value, size_t *length)
{
    if (ct_begins(p, end, name) != 1)
        return NULL;
    p = ct_skip_space(p + strlen(name), end);
    if (p == end || *p != '=')
        return NULL;
    p = ct_skip_space(p + 1, end);
    if (p == end || (*p != '"' && *p != '\''))
        return NULL;
    ct_bytes close = memchr(p + 1, *p, (size_t)(end - p) - 1);
    if (close == NULL)
        return NULL;
    *value = p + 1;
    *length = (size_t)(close - p) - 1;
    return close + 1;
}

static int equals(ct_bytes p, size_t length, const char *text)
{
    if (strlen(text) != length)
        return 0;
    for (size_t i = 0; i < length; i++)
        if ((p[i] >= 'A' && p[i] <= 'Z' ? p[i] | 0x20 : p[i]) != text[i])
            return 0;
    return 1;
}

/* Supported encodings: UTF-8, and supersets of ASCII as long as the document is ASCII. */
static int encoding(ct_scan *s, ct_bytes p, size_t length, int marked)
{
    if (equals(p, length, "utf-8") || equals(p, length, "utf8"))
        return CT_OK;
    if (!marked && (equals(p, length, "us-ascii") || equals(p, length, "ascii") ||
                    equals(p, length, "iso-8859-1"))) {
        s->ascii = 1;
        return CT_OK;
    }
    return ct_hand_over(s, "encoding");
}

/* Reads the XML declaration between `<?xml` and `?>`. */
static int declaration(ct_scan *s, ct_bytes p, ct_bytes end, int marked)
{
    static const char wrong[] = "an XML declaration that is none";
    ct_bytes value, next;
    size_t length;
    p = ct_skip_space(p, end);
    if ((next = pseudo(p, end, "version", &value, &length)) == NULL)
        return ct_fail(s, p, wrong);
    if (length != 3 || memcmp(value, "1.0", 3) != 0)
        return ct_hand_over(s, "version of XML");
    p = ct_skip_space(next, end);
    if (p == end)
        return CT_OK;
    if (p == next)
        return ct_fail(s, p, wrong);
    if ((next = pseudo(p, end, "encoding", &value, &length)) != NULL) {
        int code = encoding(s, value, length, marked);
        if (code != CT_OK)
            return code;
        p = ct_skip_space(next, end);
        if (p == end)
            return CT_OK;
        if (p == next)
            return ct_fail(s, p, wrong);
    }
    next = pseudo(p, end, "standalone", &value, &length);
    if (next == NULL || ct_skip_space(next, end) != end ||
        !((length == 3 && memcmp(value, "yes", 3) == 0) ||
          (length == 2 && memcmp(value, "no", 2) == 0)))
        return ct_fail(s, p, wrong);
    return CT_OK;
}

int ct_begin(ct_scan *s, ct_bytes *p, ct_bytes end)
{
    static const char within[] = "its first bytes";
    ct_bytes q = *p, close;
    /* libxml2 guesses the encoding from four bytes. */
    if (end - q < 4)
        return ct_more(s, within);
    int zeros = (q[0] == 0) + (q[1] == 0) + (q[2] == 0) + (q[3] == 0);
    if (zeros >= 2 || ct_begins(q, end, "\xFE\xFF") == 1 ||
        ct_begins(q, end, "\xFF\xFE") == 1 || ct_begins(q, end, "\x4C\x6F\xA7\x94") == 1)
        return ct_hand_over(s, "encoding");
    int marked = ct_begins(q, end, "\xEF\xBB\xBF") == 1;
    if (marked)
        q += 3;
    int declared = ct_begins(q, end, "<?xml");
    if (declared < 0 || (declared && end - q < 6))
        return ct_more(s, within);
    if (declared && ct_is_space(q[5])) {
        for (close = q + 5;; close++) {
            close = memchr(close, '?', (size_t)(end - close));
            if (close == NULL || end - close < 2)
                return ct_more(s, "the XML declaration");
            if (close[1] == '>')
                break;
        }
        int code = declaration(s, q + 5, close, marked);
        if (code != CT_OK)
            return code;
        q = close + 2;
    }
    if (ct_keep_everywhere(s, 0, ct_offset(s, q)) != CT_OK)
        return CT_MEMORY;
    *p = q;
    s->phase = CT_PROLOG;
    return CT_OK;
}

/* Reads a quoted string of the DOCTYPE; `p` is its first quote. Empty strings are handed over. */
static int literal(ct_scan *s, ct_bytes p, ct_bytes end, int is_public, ct_bytes *after)
{
    static const char within[] = "the DOCTYPE", wrong[] = "DOCTYPE";
    uint8_t quote = *p;
    ct_bytes q = p + 1;
    if (quote != '"' && quote != '\'')
        return ct_hand_over(s, wrong);
    for (;;) {
        q = ct_find_stop(q, end, quote);
        if (q == end)
            return ct_more(s, within);
        if (*q == quote)
            break;
        int code = ct_character(s, &q, end, within);
        if (code != CT_OK)
            return code == CT_ERROR ? ct_hand_over(s, wrong) : code;
    }
    if (q == p + 1)
        return ct_hand_over(s, wrong);
    for (ct_bytes c = p + 1; is_public && c < q; c++) {
        int letter = (*c | 0x20) >= 'a' && (*c | 0x20) <= 'z';
        if (!letter && (*c < ' ' || memchr(" \r\n0123456789-'()+,./:=?;!*#@$_%", *c, 33) == NULL) &&
            *c != '\r' && *c != '\n')
            return ct_hand_over(s, wrong);
    }
    *after = q + 1;
    return CT_OK;
}

/* Skips white space; CT_HAND_OVER if there must be some and there is none. */
static int space(ct_scan *s, ct_bytes *p, ct_bytes end, int required)
{
    ct_bytes q = ct_skip_space(*p, end);
    if (q == end)
        return ct_more(s, "the DOCTYPE");
    if (required && q == *p)
        return ct_hand_over(s, "DOCTYPE");
    *p = q;
    return CT_OK;
}

static int external_id(ct_scan *s, ct_bytes *p, ct_bytes end)
{
    int is_system = ct_begins(*p, end, "SYSTEM"), is_public = ct_begins(*p, end, "PUBLIC");
    int code;
    if (is_system < 0 || is_public < 0)
        return ct_more(s, "the DOCTYPE");
    if (!is_system && !is_public)
        return ct_hand_over(s, "DOCTYPE");
    *p += 6;
    if ((code = space(s, p, end, 1)) != CT_OK)
        return code;
    if (is_public && ((code = literal(s, *p, end, 1, p)) != CT_OK ||
                      (code = space(s, p, end, 1)) != CT_OK))
        return code;
    if ((code = literal(s, *p, end, 0, p)) != CT_OK)
        return code;
    return space(s, p, end, 0);
}

/* Reads an internal subset that is empty. Any other is handed over: not only declarations matter,
 * libxml2's descendants of the document node are also the comments in it. */
static int subset(ct_scan *s, ct_bytes *p, ct_bytes end)
{
    int code = space(s, p, end, 0);
    return code == CT_OK && **p != ']' ? ct_hand_over(s, "DOCTYPE with an internal subset") : code;
}

int ct_doctype(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after)
{
    int code;
    p += 9; /* <!DOCTYPE */
    if ((code = space(s, &p, end, 1)) != CT_OK)
        return code;
    ct_bytes name = p;
    while (p < end && (*p >= 0x80 || ct_class[*p] & CT_NAME))
        p++;
    if (p == end)
        return ct_more(s, "the DOCTYPE");
    if (ct_is_foreign(s, name, p))
        return ct_hand_over(s, "encoding");
    if (ct_name_shape(name, (size_t)(p - name)) == CT_BAD_NAME)
        return ct_hand_over(s, "DOCTYPE");
    ct_bytes behind = p;
    if ((code = space(s, &p, end, 0)) != CT_OK)
        return code;
    if (*p != '[' && *p != '>') {
        if (p == behind)
            return ct_hand_over(s, "DOCTYPE");
        if ((code = external_id(s, &p, end)) != CT_OK)
            return code;
    }
    if (*p == '[') {
        p++;
        if ((code = subset(s, &p, end)) != CT_OK)
            return code;
        p++;
        if ((code = space(s, &p, end, 0)) != CT_OK)
            return code;
    }
    if (*p != '>')
        return ct_hand_over(s, "DOCTYPE");
    *after = p + 1;
    s->doctype = 1;
    return CT_OK;
}
