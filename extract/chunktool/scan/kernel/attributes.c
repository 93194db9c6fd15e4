#include "scan.h"

#include <stdlib.h>

static int interned(ct_scan *s, ct_bytes p, int32_t id)
{
    switch (id) {
    case CT_UNKNOWN:
        return ct_fail(s, p, "a tag with something that is no name where a name must be");
    case CT_NO_MEMORY:
        return CT_MEMORY;
    case CT_TOO_MANY:
        return ct_hand_over(s, "too many names");
    default:
        return CT_OK;
    }
}

int ct_resolve_slow(ct_scan *s, ct_bytes tag, int32_t id, int32_t context, int attribute)
{
    ct_name *name = &s->tables->names.items[id];
    if (name->colon == CT_BAD_QNAME)
        return ct_soft(s, tag, "a name with a colon where namespaces allow none", tag);
    if (attribute && name->colon == CT_NO_COLON)
        context = 0; /* in no namespace, whatever the context */
    int32_t *known = attribute ? &name->attribute_context : &name->context;
    int32_t *symbol = attribute ? &name->attribute_symbol : &name->symbol;
    int32_t *expanded = attribute ? &name->attribute_expanded : &name->expanded;
    if (CT_UNLIKELY(*known != context)) {
        const ct_map *map = attribute ? &s->tables->attributes : &s->tables->elements;
        const ct_pair *answer = ct_map_get(map, ct_key(id, context));
        if (answer == NULL) {
            s->miss_first = id;
            s->miss_second = context;
            return attribute ? CT_MISS_ATTRIBUTE : CT_MISS_ELEMENT;
        }
        *known = context;
        *symbol = answer->first;
        *expanded = answer->second;
    }
    if (CT_UNLIKELY(*expanded == CT_UNBOUND))
        return ct_soft(s, tag, "a prefix that is bound to no namespace", s->tag_end);
    return CT_OK;
}

/* Finds the context that a declaration makes. */
static int declare(ct_scan *s, ct_bytes tag, const ct_attribute *attribute, int32_t *context)
{
    int32_t id = ct_intern_slow(&s->tables->declarations, attribute->begin,
                                (size_t)(attribute->end - attribute->begin) + 1, 0);
    int code = interned(s, tag, id);
    if (code != CT_OK)
        return code;
    const ct_pair *answer = ct_map_get(&s->tables->contexts, ct_key(*context, id));
    if (answer == NULL) {
        s->miss_first = *context;
        s->miss_second = id;
        return CT_MISS_CONTEXT;
    }
    if (answer->first == CT_UNBOUND)
        return ct_soft(s, attribute->begin, "a namespace declaration that is not allowed",
                       attribute->end);
    *context = answer->first;
    return CT_OK;
}

/* Checks that prefixes are bound, and that no two attributes have the same namespace and local
 * name. */
static int resolve_all(ct_scan *s, ct_bytes tag, int32_t context, uint64_t serial)
{
    for (size_t i = 0; i < s->attribute_count; i++) {
        int32_t id = s->attributes[i].name;
        int has_prefix = s->tables->names.items[id].colon != CT_NO_COLON;
        if (!has_prefix && s->mode != CT_FOLLOW)
            continue;
        int code = ct_resolve(s, tag, id, context, 1);
        if (code != CT_OK)
            return code;
        if (has_prefix) {
            ct_cell *cell = &s->tables->cells[s->tables->names.items[id].attribute_expanded];
            if (cell->stamp == serial)
                return ct_soft(s, tag, "two attributes with one name in one namespace",
                               s->tag_end);
            cell->stamp = serial;
        }
    }
    return CT_OK;
}

/* Reads one attribute: name, equals sign, value. */
static int attribute(ct_scan *s, ct_bytes p, ct_bytes end, ct_attribute *into)
{
    static const char within[] = "a tag";
    ct_bytes q = ct_find_name_end(p, end);
    if (q == end)
        return ct_more(s, within);
    if (ct_is_foreign(s, p, q))
        return ct_hand_over(s, "encoding");
    into->begin = p;
    into->name = ct_intern(&s->tables->names, p, (size_t)(q - p), end);
    int code = interned(s, p, into->name);
    if (code != CT_OK)
        return code;
    if (*q != '=') {
        q = ct_skip_space(q, end);
        if (q == end)
            return ct_more(s, within);
        if (*q != '=')
            return ct_fail(s, p, "an attribute without a value");
    }
    q++;
    if (q < end && ct_is_space(*q))
        q = ct_skip_space(q, end);
    if (q == end)
        return ct_more(s, within);
    if (*q != '"' && *q != '\'')
        return ct_fail(s, q, "an attribute value without quotes");
    into->value = q + 1;
    return ct_value(s, q + 1, end, *q, &into->end);
}

static const char there_twice[] = "an attribute that is there twice";

/* An attribute's name occurs a second time. That is an error only if the prefix is bound, which is
 * known at the end of the tag, or if the declaration is allowed: CT_OK if that is still open. */
static int repeated(ct_scan *s, ct_bytes tag, const ct_attribute *attribute, const ct_name *name,
                    int32_t context)
{
    if (name->kind != CT_XMLNS && name->colon == CT_NO_COLON)
        return ct_fail(s, attribute->begin, there_twice);
    if (s->soft_at >= 0)
        return ct_hand_over(s, "namespace error");
    if (name->kind != CT_XMLNS || name->colon == CT_BAD_QNAME)
        return CT_OK;
    int code = declare(s, tag, attribute, &context);
    return code == CT_OK ? ct_fail(s, attribute->begin, there_twice) : code;
}

int ct_attributes(ct_scan *s, ct_bytes tag, ct_bytes p, ct_bytes end, ct_bytes *after, int *empty,
                  int32_t *context)
{
    static const char within[] = "a tag";
    uint64_t serial = ++s->tables->serial;
    size_t count = 0;
    int32_t twice = -1; /* a name with a prefix that occurs twice */
    int code;
    s->attribute_count = 0;
    s->id = NULL;
    for (;;) {
        ct_bytes before = p;
        p = ct_skip_space(p, end);
        if (p == end)
            return ct_more(s, within);
        if (*p == '>') {
            *empty = 0;
            *after = p + 1;
            break;
        }
        if (*p == '/') {
            if (end - p < 2)
                return ct_more(s, within);
            if (p[1] != '>')
                return ct_fail(s, p, "a / in a tag");
            *empty = 1;
            *after = p + 2;
            break;
        }
        if (p == before)
            return ct_fail(s, p, "no space before an attribute");
        if (ct_grow(&s->attributes, &s->attribute_room, s->attribute_count + 1,
                    sizeof *s->attributes) < 0)
            return CT_MEMORY;
        ct_attribute *one = &s->attributes[s->attribute_count];
        code = attribute(s, p, end, one);
        if (code != CT_OK)
            return code;
        ct_name *name = &s->tables->names.items[one->name];
        if (CT_UNLIKELY(name->stamp == serial)) {
            code = repeated(s, tag, one, name, *context);
            if (code != CT_OK)
                return code;
            twice = one->name;
        }
        name->stamp = serial;
        one->number = (int32_t)count;
        if (++count > (size_t)s->attribute_limit)
            return ct_beyond(s, tag, "attributes");
        p = one->end + 1;
        if (name->kind == CT_PLAIN) {
            s->attribute_count++;
            continue;
        }
        ct_warning(s, one->begin);
        if (name->kind != CT_XMLNS) {
            s->attribute_count++;
            if (name->kind == CT_XML_ID) {
                s->id = one->value;
                s->id_end = one->end;
            }
        } else if (s->soft_at < 0) {
            if (name->colon == CT_BAD_QNAME)
                return ct_soft(s, tag, "a name with a colon where namespaces allow none", tag);
            code = declare(s, tag, one, context);
            if (code != CT_OK)
                return code;
        }
    }
    if (s->attribute_count == 0 || s->soft_at >= 0)
        return CT_OK;
    s->tag_end = *after;
    s->tag_context = *context;
    if (CT_UNLIKELY(twice >= 0)) {
        code = ct_resolve(s, tag, twice, *context, 1);
        return code == CT_OK ? ct_fail(s, tag, there_twice) : code;
    }
    return resolve_all(s, tag, *context, serial);
}

int ct_long_tag(ct_scan *s, ct_bytes tag, ct_bytes name, ct_bytes after)
{
    if (after - tag > s->token_limit)
        return ct_beyond(s, tag, "token_bytes");
    if (name - tag - 1 > s->name_limit)
        return ct_beyond(s, tag, "name_bytes");
    int64_t longest = 0;
    for (ct_bytes p = ct_skip_space(name, after); *p != '>' && *p != '/';) {
        ct_bytes begin = p;
        while (*p != '=' && !(ct_class[*p] & CT_SPACE))
            p++;
        if (p - begin > s->name_limit)
            return ct_beyond(s, tag, "name_bytes");
        while (*p != '"' && *p != '\'')
            p++;
        ct_bytes stop = memchr(p + 1, *p, (size_t)(after - p - 1));
        if (stop - p - 1 > longest)
            longest = stop - p - 1;
        p = ct_skip_space(stop + 1, after);
    }
    return longest > s->value_limit ? ct_beyond(s, tag, "attribute_bytes") : CT_OK;
}

enum { CT_MOST_IDS = 1 << 22 };

int ct_remember_id(ct_scan *s)
{
    if (!ct_is_plain_name(s->id, s->id_end))
        return ct_hand_over(s, "xml:id");
    if (s->id_count * 2 >= s->id_mask) {
        size_t slots = s->ids == NULL ? 256 : (s->id_mask + 1) * 2;
        if (s->id_count >= CT_MOST_IDS)
            return ct_hand_over(s, "too many xml:id");
        uint64_t *fresh = calloc(slots, sizeof *fresh);
        if (fresh == NULL)
            return CT_MEMORY;
        for (size_t i = 0; s->ids != NULL && i <= s->id_mask; i++) {
            size_t j = s->ids[i] & (slots - 1);
            while (s->ids[i] && fresh[j])
                j = (j + 1) & (slots - 1);
            if (s->ids[i])
                fresh[j] = s->ids[i];
        }
        free(s->ids);
        s->ids = fresh;
        s->id_mask = slots - 1;
    }
    uint64_t hash = 1;
    for (ct_bytes p = s->id; p < s->id_end; p += 8) {
        uint64_t next = 0;
        memcpy(&next, p, s->id_end - p < 8 ? (size_t)(s->id_end - p) : 8);
        hash = ct_mix(hash, next, s->tables->names.seed);
    }
    if (hash == 0)
        hash = 1; /* 0 is a free slot */
    size_t i = hash & s->id_mask;
    for (; s->ids[i]; i = (i + 1) & s->id_mask)
        if (s->ids[i] == hash)
            return ct_hand_over(s, "xml:id"); /* a duplicate, or another id with the same hash */
    s->ids[i] = hash;
    s->id_count++;
    return CT_OK;
}
