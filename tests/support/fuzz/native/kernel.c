/* The fuzz target of the kernel, for libFuzzer: any bytes, and its verdict must be lxml's.
 *
 * The kernel is linked as it is, with an automaton that allows everything; the judge is the libxml2
 * within lxml, asked as lxml asks it. Every input is scanned at once, in
 * windows of all sizes, with all of it skipped, with what is skipped taken on trust, and strictly:
 * names that begin with z break the schema, and limits are small. native/__main__.py builds and runs it.
 */
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <stdio.h>
#include <stdlib.h>

#include "scan.h"

enum { GOOD, BAD, HANDED_OVER };
static const char *const VERDICTS[] = {"well-formed", "ill-formed", "handed over"};

/* What there is in a document: how many elements, comments and processing instructions; and a hash
 * of what they are called and whose children they are, in their order. */
typedef struct {
    size_t elements, comments, pis;
    uint64_t order, asides;
} counts;

static uint64_t mixed(uint64_t hash, uint64_t value) { return ct_mix(hash, value, 1); }

static uint64_t mixed_bytes(uint64_t hash, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = mixed(hash, ((const uint8_t *)bytes)[i]);
    return hash;
}

typedef struct {
    int verdict;
    const char *reason;
    counts found;
} answer;

static void give_up(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* -- libxml2 */

static void ignore(void *context, const xmlError *error)
{
    (void)context;
    (void)error;
}

static xmlDoc *parse(const uint8_t *data, size_t length, int *good)
{
    xmlParserCtxt *ctxt = xmlNewParserCtxt();
    if (ctxt == NULL)
        give_up("no memory");
    ctxt->sax->serror = ignore;
    xmlDoc *doc = xmlCtxtReadMemory(ctxt, (const char *)data, (int)length, NULL, NULL,
                                    XML_PARSE_NOENT | XML_PARSE_NOCDATA | XML_PARSE_NONET |
                                        XML_PARSE_COMPACT | XML_PARSE_BIG_LINES | XML_PARSE_HUGE |
                                        XML_PARSE_NO_XXE);
    /* As in lxml's parser.pxi: an error of namespaces leaves a document well-formed. */
    const xmlError *last = xmlCtxtGetLastError(ctxt);
    *good = doc != NULL && ctxt->wellFormed && (last == NULL || last->level < XML_ERR_ERROR);
    xmlFreeParserCtxt(ctxt);
    return doc;
}

/* The number of an element among all; -1 for the document. */
static int64_t row_of(const xmlNode *node) { return (int64_t)(intptr_t)node->_private - 1; }

static void count_node(counts *found, xmlNode *node)
{
    if (node->type == XML_ELEMENT_NODE) {
        const xmlChar *prefix = node->ns != NULL ? node->ns->prefix : NULL;
        if (prefix != NULL) {
            found->order = mixed_bytes(found->order, prefix, strlen((const char *)prefix));
            found->order = mixed(found->order, ':');
        }
        found->order = mixed_bytes(found->order, node->name, strlen((const char *)node->name));
        found->order = mixed(found->order, (uint64_t)row_of(node->parent));
        node->_private = (void *)(intptr_t)++found->elements;
    } else if (node->type == XML_COMMENT_NODE || node->type == XML_PI_NODE) {
        found->comments += node->type == XML_COMMENT_NODE;
        found->pis += node->type == XML_PI_NODE;
        found->asides = mixed(found->asides, node->type == XML_PI_NODE);
        found->asides = mixed(found->asides, (uint64_t)row_of(node->parent));
    }
}

static counts count_nodes(xmlNode *parent)
{
    counts found = {0};
    xmlNode *node = parent->children;
    while (node != NULL) {
        count_node(&found, node);
        if (node->type == XML_ELEMENT_NODE && node->children != NULL) {
            node = node->children;
            continue;
        }
        while (node != parent && node->next == NULL)
            node = node->parent;
        node = node == parent ? NULL : node->next;
    }
    return found;
}

static answer ask_libxml2(const uint8_t *data, size_t length)
{
    int good;
    answer result = {BAD, "", {0}};
    xmlDoc *doc = parse(data, length, &good);
    if (good) {
        result.verdict = GOOD;
        result.found = count_nodes((xmlNode *)doc);
    }
    xmlFreeDoc(doc);
    return result;
}

/* -- what _kernel.pyx and namespaces.py do: the answers that the kernel misses */

enum { MOST_CONTEXTS = 512, MOST_BINDINGS = 64, MOST_EXPANDED = 1024 };

typedef struct {
    char *prefix, *uri;
} binding;

typedef struct {
    binding items[MOST_BINDINGS];
    int count;
} context;

typedef struct {
    ct_tables *tables;
    ct_scan *scan;
    context *contexts[MOST_CONTEXTS];
    int context_count;
    char *expanded[MOST_EXPANDED]; /* uri, a space, local name */
    int expanded_count;
    int how;
} core;

enum { LOOK, SKIP, TRUST, STRICT }; /* how the kernel is used */

static char *copy(const void *bytes, size_t length)
{
    char *text = malloc(length + 1);
    if (text == NULL)
        give_up("no memory");
    memcpy(text, bytes, length);
    text[length] = 0;
    return text;
}

static void bind(context *at, const char *prefix, const char *uri)
{
    int i = 0;
    while (i < at->count && strcmp(at->items[i].prefix, prefix) != 0)
        i++;
    if (i == at->count)
        at->items[at->count++].prefix = copy(prefix, strlen(prefix));
    else
        free(at->items[i].uri);
    at->items[i].uri = copy(uri, strlen(uri));
}

static const char *bound(const context *at, const char *prefix)
{
    for (int i = 0; i < at->count; i++)
        if (strcmp(at->items[i].prefix, prefix) == 0)
            return at->items[i].uri;
    return NULL;
}

static context *new_context(core *c)
{
    context *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        give_up("no memory");
    c->contexts[c->context_count++] = fresh;
    return fresh;
}

static core *new_core(int how)
{
    static const int32_t output = 0;
    core *c = calloc(1, sizeof *c);
    if (c == NULL || (c->tables = ct_tables_new(1, 1 << 20)) == NULL ||
        (c->scan = ct_scan_new(c->tables, 1)) == NULL)
        give_up("no memory");
    c->how = how;
    context *outside = new_context(c);
    bind(outside, "", "");
    bind(outside, "xml", "http://www.w3.org/XML/1998/namespace");
    /* The automaton of compare.py: the document, its root, everything else. */
    ct_tables_put_state(c->tables, 0, 0, 0, NULL, 0, NULL, 0, &output, 1);
    if (how == SKIP || how == TRUST) {
        ct_tables_put_state(c->tables, 1, 0, 1, NULL, 0, &output, 1, NULL, 0);
        ct_tables_put_state(c->tables, 2, 0, 1, NULL, 0, NULL, 0, NULL, 0);
    } else {
        ct_tables_put_state(c->tables, 1, 1, 0, &output, 1, NULL, 0, NULL, 0);
        ct_tables_put_state(c->tables, 2, 1, 0, NULL, 0, NULL, 0, NULL, 0);
    }
    return c;
}

static void free_core(core *c)
{
    for (int i = 0; i < c->context_count; i++) {
        for (int j = 0; j < c->contexts[i]->count; j++) {
            free(c->contexts[i]->items[j].prefix);
            free(c->contexts[i]->items[j].uri);
        }
        free(c->contexts[i]);
    }
    for (int i = 0; i < c->expanded_count; i++)
        free(c->expanded[i]);
    ct_scan_free(c->scan);
    ct_tables_free(c->tables);
    free(c);
}

/* The text of a name or declaration, with `before` and `after` around it. */
static char *text_of(const ct_names *names, int32_t number, const char *before, const char *after)
{
    const ct_name *name = &names->items[number];
    size_t length = strlen(before) + name->length + strlen(after);
    char *text = malloc(length + 1);
    if (text == NULL)
        give_up("no memory");
    snprintf(text, length + 1, "%s%.*s%s", before, (int)name->length, names->bytes + name->offset,
             after);
    return text;
}

/* 0: there are too many. */
static int declare(core *c, int32_t outside, int32_t declaration)
{
    char *text = text_of(&c->tables->declarations, declaration, "<a ", "/>");
    int good;
    xmlDoc *doc = parse((const uint8_t *)text, strlen(text), &good);
    free(text);
    if (!good) {
        xmlFreeDoc(doc);
        ct_map_put(&c->tables->contexts, ct_key(outside, declaration), -1, 0);
        return 1;
    }
    if (c->context_count == MOST_CONTEXTS || c->contexts[outside]->count == MOST_BINDINGS) {
        xmlFreeDoc(doc);
        return 0;
    }
    context *inside = new_context(c);
    for (int i = 0; i < c->contexts[outside]->count; i++)
        bind(inside, c->contexts[outside]->items[i].prefix, c->contexts[outside]->items[i].uri);
    const xmlNs *ns = xmlDocGetRootElement(doc)->nsDef;
    if (ns != NULL)
        bind(inside, ns->prefix ? (const char *)ns->prefix : "",
             ns->href ? (const char *)ns->href : "");
    xmlFreeDoc(doc);
    ct_map_put(&c->tables->contexts, ct_key(outside, declaration), c->context_count - 1, 0);
    return 1;
}

static int learn_name(core *c, int32_t number, int32_t where, int attribute)
{
    ct_map *map = attribute ? &c->tables->attributes : &c->tables->elements;
    char *text = text_of(&c->tables->names, number, "", ""), *colon = strrchr(text, ':');
    const char *local = colon ? colon + 1 : text, *uri = "";
    char key[8192];
    int i = 0;
    if (colon)
        *colon = 0;
    if (colon || !attribute)
        uri = bound(c->contexts[where], colon ? text : "");
    if (uri == NULL) {
        free(text);
        ct_map_put(map, ct_key(number, where), CT_UNBOUND, CT_UNBOUND);
        return 1;
    }
    snprintf(key, sizeof key, "%s %s", uri, local);
    free(text);
    while (i < c->expanded_count && strcmp(c->expanded[i], key) != 0)
        i++;
    if (i == MOST_EXPANDED)
        return 0;
    if (i == c->expanded_count)
        c->expanded[c->expanded_count++] = copy(key, strlen(key));
    ct_tables_cells(c->tables, (size_t)c->expanded_count);
    ct_map_put(map, ct_key(number, where), strrchr(key, ' ')[1] == 'z', i);
    return 1;
}

static int learn(core *c, int code)
{
    ct_scan *s = c->scan;
    ct_tables *t = c->tables;
    int32_t first = s->miss_first, second = s->miss_second;
    if (code == CT_MISS_ELEMENT)
        return learn_name(c, first, second, 0);
    if (code == CT_MISS_CONTEXT)
        return declare(c, first, second);
    int forbidden = c->how == STRICT && second == 1;
    if (code == CT_MISS_STEP)
        return ct_map_put(&t->steps, ct_key(first, second),
                          forbidden ? CT_ILLEGAL : first == 0 ? 1 : 2, 0) == 0;
    if (code == CT_MISS_ALLOWED)
        return ct_map_put(&t->allowed, ct_key(first, second), !forbidden, 0) == 0;
    for (size_t i = 0; i < s->attribute_count; i++) {
        int32_t number = s->attributes[i].name;
        const ct_name *name = &t->names.items[number];
        int32_t where = name->colon == CT_NO_COLON ? 0 : s->tag_context;
        if (name->colon != CT_BAD_QNAME &&
            ct_map_get(&t->attributes, ct_key(number, where)) == NULL &&
            !learn_name(c, number, where, 1))
            return 0;
    }
    return 1;
}

/* -- the kernel */

static answer judged(const ct_scan *s, int code, size_t length)
{
    answer result = {BAD, s->reason ? s->reason : "", {0}};
    if (code == CT_MEMORY)
        give_up("the kernel says that there is no memory");
    if (code == CT_HAND_OVER)
        result.verdict = HANDED_OVER;
    else if (s->error_at < 0 || s->error_at > (int64_t)length)
        give_up("an error outside of the document");
    return result;
}

/* What was found since the last time, as `take` does it. */
static void take(ct_scan *s, counts *found, const uint8_t *data, size_t length)
{
    const ct_rows *r = &s->rows;
    if (ct_cut_open(s) != CT_OK)
        give_up("the kernel says that there is no memory");
    int64_t last = 0;
    for (size_t i = 0; i < 2 * s->outputs[0].count; i++) {
        if (s->outputs[0].ends[i] < last || s->outputs[0].ends[i] > (int64_t)length)
            give_up("ranges that are not in order, or outside of the document");
        last = s->outputs[0].ends[i];
    }
    s->outputs[0].count = 0;
    found->elements += r->elements;
    for (size_t i = 0; i < r->elements; i++) {
        const uint8_t *name = data + r->start[i] + 1;
        size_t width = (size_t)(ct_find_name_end(name, data + length) - name);
        found->order = mixed_bytes(found->order, name, width);
        found->order = mixed(found->order, (uint64_t)(int64_t)r->parent[i]);
    }
    for (size_t i = 0; i < r->leaves; i++) {
        if (r->leaf_kind[i] != CT_COMMENT && r->leaf_kind[i] != CT_PI)
            continue;
        found->comments += r->leaf_kind[i] == CT_COMMENT;
        found->pis += r->leaf_kind[i] == CT_PI;
        found->asides = mixed(found->asides, r->leaf_kind[i] == CT_PI);
        found->asides = mixed(found->asides, (uint64_t)(int64_t)r->leaf_parent[i]);
    }
    s->rows.first += (int32_t)s->rows.elements;
    s->rows.elements = s->rows.ends = s->rows.leaves = 0;
}

/* `step`: how many fresh bytes each window has. */
static answer ask_kernel(core *c, const uint8_t *data, size_t length, size_t step)
{
    ct_scan *s = c->scan;
    ct_scan_reset(s);
    s->token_limit = s->value_limit = 10000000;
    s->name_limit = s->tag_limit = 1000000;
    s->depth_limit = 2048;
    s->attribute_limit = 10000;
    if (c->how == STRICT) {
        s->token_limit = s->value_limit = 64;
        s->name_limit = s->tag_limit = 16;
        s->depth_limit = s->attribute_limit = 8;
    }
    s->table = 1;
    s->assume_valid = c->how == TRUST;
    counts found = {0};
    size_t at = 0, seen = 0, left = 0;
    int code;
    do {
        seen = step < length - seen ? seen + step : length;
        /* Copied, so that a sanitizer sees it if something behind the window is read. */
        uint8_t *window = (uint8_t *)copy(data + at, seen - at);
        window = realloc(window, seen - at ? seen - at : 1);
        while ((code = ct_run(s, window, seen - at)) != CT_MORE) {
            if (code >= CT_ERROR || !learn(c, code)) {
                free(window);
                if (code < CT_ERROR)
                    return (answer){HANDED_OVER, "too many names", {0}};
                return judged(s, code, length);
            }
        }
        left = seen - at - s->at;
        at += s->at;
        s->base += (int64_t)s->at;
        s->at = 0;
        free(window);
        take(s, &found, data, length);
    } while (seen < length);
    code = ct_finish(s, left);
    if (code != CT_OK)
        return judged(s, code, length);
    return (answer){GOOD, "", found};
}

static void differ(const char *how, answer one, answer other)
{
    fprintf(stderr,
            "%s:\n  the kernel: %s (%s), %zu elements, %zu comments, %zu processing instructions\n"
            "  the other: %s (%s), %zu elements, %zu comments, %zu processing instructions\n",
            how, VERDICTS[one.verdict], one.reason, one.found.elements, one.found.comments,
            one.found.pis, VERDICTS[other.verdict], other.reason, other.found.elements,
            other.found.comments, other.found.pis);
    abort();
}

static int same(answer one, answer other)
{
    return one.verdict == other.verdict && one.found.elements == other.found.elements &&
           one.found.comments == other.found.comments && one.found.pis == other.found.pis &&
           one.found.order == other.found.order && one.found.asides == other.found.asides;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    answer expected = ask_libxml2(data, length);
    core *looking = new_core(LOOK), *skipping = new_core(SKIP), *trusting = new_core(TRUST);
    core *strict = new_core(STRICT);
    answer whole = ask_kernel(looking, data, length, SIZE_MAX);
    if (whole.verdict != HANDED_OVER && !same(whole, expected))
        differ("libxml2 thinks otherwise", whole, expected);
    /* The tables know all names now, as they do when one document follows the other. */
    size_t step = 1 + (length ? (data[length / 2] * 31u + length) % 23 : 0);
    answer parts = ask_kernel(looking, data, length, step);
    if (!same(parts, whole))
        differ("it is otherwise in windows", parts, whole);
    answer skipped = ask_kernel(skipping, data, length, SIZE_MAX);
    if (skipped.verdict != whole.verdict)
        differ("it is otherwise when it is skipped", skipped, whole);
    answer trusted = ask_kernel(trusting, data, length, step);
    if (whole.verdict == GOOD && trusted.verdict != GOOD)
        differ("it is otherwise when it is trusted", trusted, whole);
    answer strictly = ask_kernel(strict, data, length, step);
    if (strictly.verdict != whole.verdict && strict->scan->limit == NULL)
        differ("it is otherwise when it breaks the schema", strictly, whole);
    free_core(looking);
    free_core(skipping);
    free_core(trusting);
    free_core(strict);
    return 0;
}
