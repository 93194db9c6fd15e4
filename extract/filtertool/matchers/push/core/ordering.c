#include "outputs.h"

/* A key of a bound node. */
typedef struct px_keyed {
    px_bytes at; /* NULL: there is none, or it is a number */
    size_t length;
    double number;
} px_keyed;

static int key_of(px_writing *w, const int32_t *operands, int32_t node, px_keyed *key)
{
    px_nodes found;
    px_document *d = &w->m->document;
    int code = px_list_nodes(w, operands + 2, node, &found);
    *key = (px_keyed){NULL, 0, (double)found.count};
    if (code < 0 || operands[0] == PX_KEY_COUNT)
        return code;
    if (found.count == 0) {
        double zero = 0;
        key->number = zero / zero;
        key->at = operands[0] == PX_KEY_STRING ? (px_bytes) "" : NULL;
        return 0;
    }
    if (operands[0] == PX_KEY_NUMBER)
        return px_value_number(d, found.nodes[0], &key->number) == PX_OK ? 0 : -PX_MEMORY;
    const px_value *value = px_value_of(d, found.nodes[0]);
    if (value == NULL)
        return -PX_MEMORY;
    *key = (px_keyed){value->at, value->length, 0};
    return 0;
}

static int compare_texts(const px_keyed *a, const px_keyed *b)
{
    if (a->at == NULL || b->at == NULL)
        return (a->at != NULL) - (b->at != NULL);
    int order = memcmp(a->at, b->at, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* NaN is less than all numbers. */
static int compare_numbers(double a, double b)
{
    if (a != a || b != b)
        return (a == a) - (b == b);
    return (a > b) - (a < b);
}

static int is_before(const px_keyed *left, const px_keyed *right, const int32_t *keys, const int32_t *end)
{
    for (const int32_t *at = keys; at < end && at[0] == PX_KEY; at += 2 + at[1], left++, right++) {
        int numbers = at[2] == PX_KEY_NUMBER || at[2] == PX_KEY_COUNT;
        int order = numbers ? compare_numbers(left->number, right->number) : compare_texts(left, right);
        if (order)
            return at[3] ? order > 0 : order < 0;
    }
    return 0;
}

/* Merges runs of twice the length each time, so that equal ones keep their order. */
static void sort(int32_t *order, int32_t *other, size_t count, const px_keyed *keyed, size_t width,
                 const int32_t *keys, const int32_t *end)
{
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * run) {
            size_t middle = begin + run < count ? begin + run : count;
            size_t last = begin + 2 * run < count ? begin + 2 * run : count;
            size_t left = begin, right = middle;
            for (size_t i = begin; i < last; i++) {
                int second = left == middle ||
                             (right < last && is_before(keyed + (size_t)order[right] * width,
                                                        keyed + (size_t)order[left] * width, keys, end));
                other[i] = second ? order[right++] : order[left++];
            }
        }
        memcpy(order, other, count * sizeof *order);
    }
}

int px_order_bound(px_writing *w, const int32_t *keys, const int32_t *end, int32_t *bound, size_t count)
{
    px_outputs *o = w->o;
    size_t width = 0;
    for (const int32_t *at = keys; at < end && at[0] == PX_KEY; at += 2 + at[1])
        width++;
    if (width == 0 || count < 2)
        return 0;
    if (px_grow(&o->keyed, &o->keyed_room, count * width, sizeof *o->keyed) != PX_OK ||
        px_grow(&o->order, &o->order_room, 2 * count, sizeof *o->order) != PX_OK)
        return -PX_MEMORY;
    px_keyed *key = o->keyed;
    for (size_t i = 0; i < count; i++) {
        o->order[i] = (int32_t)i;
        for (const int32_t *at = keys; at < end && at[0] == PX_KEY; at += 2 + at[1], key++) {
            int code = key_of(w, at + 2, bound[i], key);
            if (code < 0)
                return code;
        }
    }
    sort(o->order, o->order + count, count, o->keyed, width, keys, end);
    for (size_t i = 0; i < count; i++)
        o->order[count + i] = bound[o->order[i]];
    memcpy(bound, o->order + count, count * sizeof *bound);
    return 0;
}
