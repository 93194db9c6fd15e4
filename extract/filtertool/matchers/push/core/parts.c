#include "push.h"

/* Strings that are searched for are sorted. Those that a text starts with are all among the last
 * string that is not greater than the text, the longest other string that this one begins with, and
 * so on. A filter by the first bytes passes over most places of a text.
 *
 * New strings are searched for one by one until they are worth sorting in; removed ones stay among
 * the sorted until then. Each has a use of its string. */

enum { WINDOW = 8, FRESH = 16 };

static uint64_t window_of(px_bytes at, size_t length)
{
    uint64_t word = 0;
    for (size_t i = 0; i < WINDOW; i++)
        word = word << 8 | (i < length ? at[i] : 0);
    return word;
}

/* A hash of the first bytes, of which there are `shortest` at least. */
static uint64_t head_of(px_bytes at, uint32_t shortest)
{
    uint64_t word = 0;
    memcpy(&word, at, shortest);
    return word * 0x9E3779B97F4A7C15u;
}

static int compared(px_bytes a, size_t a_length, px_bytes b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

/* A removed string is marked by its complement. */
static const px_string *string_of(const px_strings *strings, const px_part *part)
{
    return &strings->items[part->string < 0 ? ~part->string : part->string];
}

static int before(const px_strings *strings, const px_part *a, const px_part *b)
{
    if (a->window != b->window)
        return a->window < b->window;
    const px_string *x = string_of(strings, a), *y = string_of(strings, b);
    return compared(px_string_bytes(x), x->length, px_string_bytes(y), y->length) < 0;
}

/* Merges runs of doubling length. */
static int sort(const px_strings *strings, px_part *parts, size_t n)
{
    px_part *source = parts, *target = malloc((n + 1) * sizeof *target), *own = target;
    if (target == NULL)
        return PX_MEMORY;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t middle = low + width < n ? low + width : n;
            size_t high = middle + width < n ? middle + width : n, i = low, j = middle;
            for (size_t k = low; k < high; k++)
                target[k] = i < middle && (j >= high || !before(strings, &source[j], &source[i]))
                                ? source[i++]
                                : source[j++];
        }
        px_part *other = source;
        source = target;
        target = other;
    }
    if (source != parts)
        memcpy(parts, source, n * sizeof *parts);
    free(own);
    return PX_OK;
}

/* Links each string to the longest other one that it begins with: the one before, or one that this
 * begins with. The second links are those of a skew binary list: with both, any of these is reached
 * in a logarithmic number of steps. */
static void link_up(px_parts *p, const px_strings *strings, int32_t *depth)
{
    depth[0] = 0; /* of no string; that of the first is `depth[1]` */
    for (size_t i = 0; i < p->count; i++) {
        px_part *part = &p->parts[i];
        const px_string *it = string_of(strings, part);
        int32_t above = (int32_t)i - 1;
        while (above >= 0) {
            const px_string *other = string_of(strings, &p->parts[above]);
            if (other->length < it->length && memcmp(px_string_bytes(other), px_string_bytes(it), other->length) == 0)
                break;
            above = p->parts[above].above;
        }
        int32_t far = above >= 0 ? p->parts[above].far : -1;
        part->above = part->far = above;
        depth[i + 1] = depth[above + 1] + 1;
        if (far >= 0 && depth[above + 1] - depth[far + 1] == depth[far + 1] - depth[p->parts[far].far + 1])
            part->far = p->parts[far].far;
    }
}

/* Sorts the fresh strings in, and leaves out the removed ones. */
static int settle(px_parts *p, px_strings *strings)
{
    size_t count = 0, total = p->count - p->removed + p->fresh_count;
    int shift = 58;
    while (shift > 34 && ((size_t)1 << (64 - shift)) < 16 * total)
        shift--;
    uint8_t *bits = calloc((size_t)1 << (64 - shift - 3), 1);
    int32_t *depth = malloc((total + 1) * sizeof *depth);
    px_part *parts = malloc((total + 1) * sizeof *parts);
    if (bits != NULL && depth != NULL && parts != NULL) {
        for (size_t i = 0; i < p->count; i++)
            if (p->parts[i].string >= 0)
                parts[count++] = p->parts[i];
        for (size_t i = 0; i < p->fresh_count; i++) {
            const px_string *string = &strings->items[p->fresh[i]];
            parts[count++] = (px_part){window_of(px_string_bytes(string), string->length), p->fresh[i], -1, -1};
        }
    }
    if (count < total || bits == NULL || sort(strings, parts, count) != PX_OK) {
        free(bits);
        free(depth);
        free(parts);
        return PX_MEMORY;
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->parts[i].string < 0)
            px_strings_release(strings, ~p->parts[i].string);
    free(p->parts);
    free(p->bits);
    p->parts = parts;
    p->count = count;
    p->removed = p->fresh_count = 0;
    p->bits = bits;
    p->shift = shift;
    p->shortest = WINDOW;
    link_up(p, strings, depth);
    free(depth);
    for (size_t i = 0; i < count; i++) {
        uint32_t length = string_of(strings, &parts[i])->length;
        p->shortest = length < p->shortest ? length : p->shortest;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t head = head_of(px_string_bytes(string_of(strings, &parts[i])), p->shortest) >> shift;
        bits[head >> 3] |= (uint8_t)(1 << (head & 7));
    }
    return PX_OK;
}

/* The last sorted string that is not greater than a text; -1: none. */
static int64_t last_place(const px_parts *p, const px_strings *strings, px_bytes at, size_t length)
{
    size_t low = 0, high = p->count;
    uint64_t window = window_of(at, length);
    while (low < high) {
        size_t middle = (low + high) / 2;
        const px_part *part = &p->parts[middle];
        int less = part->window < window;
        if (part->window == window) {
            const px_string *string = string_of(strings, part);
            less = compared(px_string_bytes(string), string->length, at, length) <= 0;
        }
        if (less)
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)low - 1;
}

/* The place of a string among the sorted; -1: it is not there. */
static int64_t place_of(const px_parts *p, const px_strings *strings, int32_t string)
{
    const px_string *it = &strings->items[string];
    int64_t place = last_place(p, strings, px_string_bytes(it), it->length);
    return place >= 0 && string_of(strings, &p->parts[place]) == it ? place : -1;
}

int px_parts_add(px_parts *p, px_strings *strings, int32_t string)
{
    if (strings->items[string].length == 0) {
        p->empty = string + 1;
        strings->items[string].uses++;
        return PX_OK;
    }
    int64_t place = place_of(p, strings, string);
    if (place >= 0) { /* it was removed */
        p->parts[place].string = string;
        p->removed--;
        return PX_OK;
    }
    if (px_grow(&p->fresh, &p->fresh_room, p->fresh_count + 1, sizeof *p->fresh) != PX_OK)
        return PX_MEMORY;
    strings->items[string].uses++;
    p->fresh[p->fresh_count++] = string;
    if (p->fresh_count > FRESH + p->count / 8)
        (void)settle(p, strings); /* without memory they stay fresh */
    return PX_OK;
}

void px_parts_remove(px_parts *p, px_strings *strings, int32_t string)
{
    if (string + 1 == p->empty) {
        p->empty = 0;
        px_strings_release(strings, string);
        return;
    }
    for (size_t i = 0; i < p->fresh_count; i++) {
        if (p->fresh[i] == string) {
            p->fresh[i] = p->fresh[--p->fresh_count];
            px_strings_release(strings, string);
            return;
        }
    }
    p->parts[place_of(p, strings, string)].string = ~string;
    p->removed++;
    if (p->removed > FRESH + p->count / 2)
        (void)settle(p, strings);
}

/* Visits the sorted strings that a text starts with, the longest first. */
static int visit_prefixes(const px_parts *p, const px_strings *strings, px_bytes at, size_t length,
                          px_visit visit, void *context)
{
    int64_t place = last_place(p, strings, at, length);
    if (place < 0)
        return PX_OK;
    const px_string *last = string_of(strings, &p->parts[place]);
    size_t same = 0, most = last->length < length ? last->length : length;
    while (same < most && px_string_bytes(last)[same] == at[same])
        same++;
    while (place >= 0 && string_of(strings, &p->parts[place])->length > same) {
        int32_t far = p->parts[place].far;
        place = far >= 0 && string_of(strings, &p->parts[far])->length > same ? far
                                                                              : p->parts[place].above;
    }
    for (; place >= 0; place = p->parts[place].above) {
        if (p->parts[place].string < 0)
            continue;
        int code = visit(context, p->parts[place].string);
        if (code == PX_VISITED)
            break; /* and so were those that it begins with */
        if (code != PX_OK)
            return code;
    }
    return PX_OK;
}

int px_contains(px_bytes at, size_t length, px_bytes part, size_t size)
{
    if (size == 0)
        return 1;
    if (size > length)
        return 0;
    px_bytes end = at + (length - size);
    while (at <= end) {
        at = memchr(at, part[0], (size_t)(end - at) + 1);
        if (at == NULL)
            return 0;
        if (memcmp(at, part, size) == 0)
            return 1;
        at++;
    }
    return 0;
}

int px_parts_find(const px_parts *p, const px_strings *strings, px_bytes at, size_t length, int start,
                  px_visit visit, void *context)
{
    int code = PX_OK;
    if (p->empty && (code = visit(context, p->empty - 1)) != PX_OK && code != PX_VISITED)
        return code;
    for (size_t i = 0; i < p->fresh_count; i++) {
        const px_string *string = &strings->items[p->fresh[i]];
        int there = start ? string->length <= length && memcmp(at, px_string_bytes(string), string->length) == 0
                          : px_contains(at, length, px_string_bytes(string), string->length);
        if (there && (code = visit(context, p->fresh[i])) != PX_OK && code != PX_VISITED)
            return code;
    }
    if (p->count == 0 || length < p->shortest)
        return PX_OK;
    size_t last = start ? 0 : length - p->shortest;
    for (size_t i = 0; i <= last; i++) {
        uint64_t head = head_of(at + i, p->shortest) >> p->shift;
        if (!(p->bits[head >> 3] >> (head & 7) & 1))
            continue;
        code = visit_prefixes(p, strings, at + i, length - i, visit, context);
        if (code != PX_OK)
            return code;
    }
    return PX_OK;
}

void px_parts_free(px_parts *p, px_strings *strings)
{
    if (p->empty)
        px_strings_release(strings, p->empty - 1);
    for (size_t i = 0; i < p->fresh_count; i++)
        px_strings_release(strings, p->fresh[i]);
    for (size_t i = 0; i < p->count; i++)
        px_strings_release(strings, p->parts[i].string < 0 ? ~p->parts[i].string : p->parts[i].string);
    free(p->parts);
    free(p->fresh);
    free(p->bits);
    memset(p, 0, sizeof *p);
}
