#include "scan.h"

#include <stdlib.h>

ct_scan *ct_scan_new(ct_tables *tables, int32_t outputs)
{
    ct_scan *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->tables = tables;
    s->output_count = outputs;
    s->open_state = -1;
    s->outputs = calloc((size_t)outputs + 1, sizeof *s->outputs);
    if (s->outputs == NULL || ct_grow(&s->frames, &s->frame_room, 16, sizeof *s->frames) < 0) {
        ct_scan_free(s);
        return NULL;
    }
    ct_scan_reset(s);
    return s;
}

void ct_scan_reset(ct_scan *s)
{
    s->base = 0;
    s->at = 0;
    s->phase = CT_BEGIN;
    s->mode = CT_FOLLOW;
    s->ascii = s->doctype = s->doubtful = 0;
    s->depth = s->rowed = 0;
    s->names_used = s->undo_count = s->attribute_count = 0;
    s->link_count = 0;
    s->link_free = -1;
    s->limit = NULL;
    s->closing = 0;
    s->reason = s->pending = s->soft_reason = NULL;
    s->soft_at = s->violation_at = -1;
    s->rows.elements = s->rows.ends = s->rows.leaves = s->rows.attributes = 0;
    s->rows.first = 0;
    free(s->ids);
    s->ids = NULL;
    s->id_count = s->id_mask = 0;
    for (int32_t o = 0; o < s->output_count; o++) {
        s->outputs[o].count = 0;
        s->outputs[o].open = -1;
        s->outputs[o].written = s->outputs[o].whole = 0;
    }
    memset(s->frames, 0, sizeof *s->frames);
    s->frames[0].serial = ++s->tables->serial;
    s->frames[0].row = s->frames[0].outputs = -1;
}

size_t ct_scan_memory(const ct_scan *s)
{
    const ct_rows *r = &s->rows;
    size_t sum = r->element_room * 48 + r->end_room * 20 + r->leaf_room * 25 + r->attribute_room * 28;
    for (int32_t o = 0; o < s->output_count; o++)
        sum += s->outputs[o].room * sizeof *s->outputs[o].ends;
    return sum + s->names_size + s->attribute_room * sizeof *s->attributes;
}

void ct_scan_free(ct_scan *s)
{
    if (s == NULL)
        return;
    for (int32_t o = 0; s->outputs != NULL && o < s->output_count; o++)
        free(s->outputs[o].ends);
    free(s->outputs);
    free(s->frames);
    free(s->names);
    free(s->attributes);
    free(s->ids);
    free(s->links);
    free(s->undos);
    free(s->violation);
    free(s->rows.state);
    free(s->rows.parent);
    free(s->rows.position);
    free(s->rows.symbol);
    free(s->rows.start);
    free(s->rows.content);
    free(s->rows.close);
    free(s->rows.end);
    free(s->rows.end_row);
    free(s->rows.end_close);
    free(s->rows.end_end);
    free(s->rows.leaf_parent);
    free(s->rows.leaf_number);
    free(s->rows.leaf_kind);
    free(s->rows.leaf_start);
    free(s->rows.leaf_end);
    free(s->rows.attribute_row);
    free(s->rows.attribute_symbol);
    free(s->rows.attribute_number);
    free(s->rows.attribute_start);
    free(s->rows.attribute_end);
    free(s);
}

/* From here on the scan only checks well-formedness. */
static void only_check(ct_scan *s)
{
    s->mode = CT_CHECK;
    s->check_depth = -1;
}

int ct_soft(ct_scan *s, ct_bytes p, const char *reason, ct_bytes doubt)
{
    if (s->soft_at < 0) {
        s->soft_at = ct_offset(s, p);
        s->soft_reason = reason;
        s->doubt_from = ct_offset(s, doubt);
    }
    only_check(s);
    return CT_AGAIN;
}

/* Stores the first edge that the schema does not have: path of names, then the child. From there on
 * well-formedness is checked, unless there is a state in which everything is followed. */
static int violate(ct_scan *s, ct_bytes tag, size_t length, const ct_name *attribute)
{
    const ct_names *names = &s->tables->names;
    size_t used = 0;
    size_t most = s->names_used + (size_t)s->depth + length + 3 + (attribute ? attribute->length : 0);
    if (s->violation_at >= 0)
        return CT_OK;
    if (ct_grow(&s->violation, &s->violation_room, most, 1) < 0)
        return CT_MEMORY;
    for (int32_t d = 1; d <= s->depth; d++) {
        s->violation[used++] = '/';
        memcpy(s->violation + used, s->names + s->frames[d].name, s->frames[d].length);
        used += s->frames[d].length;
    }
    if (attribute) {
        s->violation[used++] = '/';
        memcpy(s->violation + used, tag + 1, length);
        s->path_length = used += length;
        s->violation[used++] = '@';
        memcpy(s->violation + used, names->bytes + attribute->offset, attribute->length);
        used += attribute->length;
    } else {
        s->path_length = used;
        memcpy(s->violation + used, tag + 1, length);
        used += length;
    }
    s->child_length = used - s->path_length;
    s->violation_at = ct_offset(s, tag);
    if (s->open_state >= 0)
        return CT_OK;
    only_check(s);
    return CT_AGAIN;
}

/* Finds the state of a child element, and checks its attributes. */
static int follow(ct_scan *s, ct_bytes tag, size_t length, int32_t symbol, int32_t *state)
{
    ct_tables *t = s->tables;
    const ct_pair *step = ct_map_get(&t->steps, ct_key(s->frames[s->depth].state, symbol));
    if (CT_UNLIKELY(step == NULL)) {
        s->miss_first = s->frames[s->depth].state;
        s->miss_second = symbol;
        return CT_MISS_STEP;
    }
    *state = step->first;
    if (CT_UNLIKELY(*state < 0)) {
        if (*state == CT_FULL)
            return ct_hand_over(s, "too many states");
        *state = s->open_state;
        return violate(s, tag, length, NULL);
    }
    for (size_t i = 0; i < s->attribute_count; i++) {
        const ct_name *name = &t->names.items[s->attributes[i].name];
        const ct_pair *answer = ct_map_get(&t->allowed, ct_key(*state, name->attribute_symbol));
        if (CT_UNLIKELY(answer == NULL)) {
            s->miss_first = *state;
            s->miss_second = name->attribute_symbol;
            return CT_MISS_ALLOWED;
        }
        if (CT_UNLIKELY(!answer->first))
            return violate(s, tag, length, name);
    }
    return CT_OK;
}

/* Pushes an element on the stack, with the data that the end tag needs. */
static ct_frame *push(ct_scan *s, ct_bytes name, size_t length, int32_t context, ct_bytes end)
{
    size_t depth = (size_t)s->depth + 1;
    if (CT_UNLIKELY(depth >= s->frame_room) &&
        ct_grow(&s->frames, &s->frame_room, depth + 1, sizeof *s->frames) < 0)
        return NULL;
    /* 16 more bytes, because names are copied and compared in blocks. */
    if (CT_UNLIKELY(s->names_used + length + 16 > s->names_size) &&
        ct_grow(&s->names, &s->names_size, s->names_used + length + 16, 1) < 0)
        return NULL;
    ct_frame *frame = &s->frames[depth];
    frame->name = s->names_used;
    frame->length = (uint32_t)length;
    frame->context = context;
    if (CT_LIKELY(length <= 16 && end - name >= 16))
        memcpy(s->names + s->names_used, name, 16);
    else
        memcpy(s->names + s->names_used, name, length);
    s->names_used += length;
    s->depth++;
    return frame;
}

/* Ends the element on top of the stack. */
static int pop(ct_scan *s, int64_t close, int64_t end)
{
    ct_frame *frame = &s->frames[s->depth];
    if (s->mode != CT_FOLLOW && s->depth == s->check_depth)
        s->mode = CT_FOLLOW; /* the skipped element ends */
    if (s->mode == CT_FOLLOW) {
        if (frame->outputs >= 0 && ct_close_outputs(s, close, end) != CT_OK)
            return CT_MEMORY;
        if (s->table) {
            ct_forget_siblings(s, frame);
            if (s->rowed == s->depth && ct_end_row(s, close, end) != CT_OK)
                return CT_MEMORY;
        }
    }
    s->names_used = frame->name;
    if (--s->depth == 0)
        s->phase = CT_EPILOG;
    return CT_OK;
}

/* Begins a child element that is not skipped. */
static int open_element(ct_scan *s, ct_frame *frame, int32_t state, const ct_name *name)
{
    const ct_state *info = &s->tables->states[state];
    int code;
    frame->state = state;
    frame->outputs = -1;
    if (s->table) {
        frame->serial = ++s->tables->serial;
        frame->row = -1;
        frame->texts = frame->comments = frame->pis = frame->in_text = 0;
        frame->symbol = name->symbol;
        frame[-1].in_text = 0;
        code = ct_count_sibling(s, &frame[-1], name->expanded, &frame->position);
        frame->undo = s->undo_count;
        if (code != CT_OK)
            return code;
    }
    if (info->subtrees || info->tags || (s->depth == 1 && s->output_count)) {
        if ((code = ct_open_outputs(s, info)) != CT_OK)
            return code;
        if (s->table && (code = ct_need_rows(s)) != CT_OK)
            return code;
    } else if (s->table && info->inside && (code = ct_need_rows(s)) != CT_OK) {
        return code;
    }
    if (info->skip && !(s->table && info->inside)) {
        s->mode = s->assume_valid ? CT_TRUST : CT_CHECK;
        s->check_depth = s->depth;
        s->nesting = 0;
    }
    return CT_OK;
}

static int start_tag(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after)
{
    static const char within[] = "a tag";
    ct_bytes name = p + 1, q = ct_find_name_end(name, end);
    int32_t context = s->frames[s->depth].context, id = -1, state = 0;
    int code, empty = 0, following = s->mode == CT_FOLLOW;
    if (CT_UNLIKELY(q == end))
        return ct_more(s, within);
    if (ct_is_foreign(s, name, q))
        return ct_hand_over(s, "encoding");
    size_t length = (size_t)(q - name);
    if (following || !ct_is_plain_name(name, q)) {
        id = ct_intern(&s->tables->names, name, length, end);
        if (CT_UNLIKELY(id < 0)) {
            if (id == CT_UNKNOWN)
                return ct_fail(s, p, "a < that begins no tag");
            return id == CT_NO_MEMORY ? CT_MEMORY : ct_hand_over(s, "too many names");
        }
    }
    s->id = NULL;
    s->attribute_count = 0;
    if (CT_LIKELY(*q == '>')) {
        *after = q + 1;
    } else {
        code = ct_attributes(s, p, q, end, after, &empty, &context);
        if (CT_UNLIKELY(code != CT_OK))
            return code;
    }
    s->tag_end = *after;
    if (id >= 0 && s->soft_at < 0) {
        code = ct_resolve(s, p, id, context, 0);
        if (CT_UNLIKELY(code != CT_OK))
            return code;
    }
    if (following) {
        code = follow(s, p, length, s->tables->names.items[id].symbol, &state);
        if (CT_UNLIKELY(code != CT_OK))
            return code;
    }
    if (CT_UNLIKELY(*after - p > s->tag_limit)) {
        code = ct_long_tag(s, p, p + 1 + length, *after);
        if (code != CT_OK)
            return code;
    }
    if (CT_UNLIKELY(s->depth >= s->depth_limit))
        return ct_beyond(s, p, "depth");
    /* The whole tag is read and checked; from here on it has effects. */
    if (CT_UNLIKELY(s->id != NULL) && (code = ct_remember_id(s)) != CT_OK)
        return code;
    if (empty && !following && s->depth > 0)
        return CT_OK;
    ct_frame *frame = push(s, name, length, context, end);
    if (frame == NULL)
        return CT_MEMORY;
    s->phase = CT_CONTENT;
    if (following) {
        frame->start = ct_offset(s, p);
        frame->content = ct_offset(s, *after);
        code = open_element(s, frame, state, &s->tables->names.items[id]);
        if (code == CT_OK && s->table_attributes && s->attribute_count && frame->row >= 0)
            code = ct_keep_attributes(s);
        if (code != CT_OK)
            return code;
    }
    return empty ? pop(s, ct_offset(s, *after), ct_offset(s, *after)) : CT_OK;
}

static int same_name(ct_bytes p, ct_bytes end, ct_bytes name, size_t length)
{
#ifdef CT_SSE2
    /* The stack of names has 16 bytes to spare. */
    if (CT_LIKELY(length <= 16 && end - p >= 16)) {
        unsigned same = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(ct_load(p), ct_load(name)));
        return (~same & ((1u << length) - 1)) == 0;
    }
#endif
    return (size_t)(end - p) >= length && memcmp(p, name, length) == 0;
}

/* Reports an end tag that does not match the open element. */
static int wrong_end_tag(ct_scan *s, ct_bytes p, ct_bytes end)
{
    const ct_frame *frame = &s->frames[s->depth];
    ct_bytes name = p + 2, q = name;
    while (q < end && (*q >= 0x80 || ct_class[*q] & CT_NAME))
        q++;
    if (q == end)
        return ct_more(s, "a tag");
    size_t length = (size_t)(q - name);
    if (length == 0 || length > INT32_MAX ||
        (length == frame->length && memcmp(name, s->names + frame->name, length) == 0))
        return ct_fail(s, p, "an end tag that has not just a name");
    s->closing = (int32_t)length;
    return ct_fail(s, p, "an end tag of another element than the open one");
}

static int end_tag(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after)
{
    const ct_frame *frame = &s->frames[s->depth];
    size_t length = frame->length;
    if (CT_UNLIKELY((size_t)(end - p) < length + 3)) {
        if (memchr(p, '>', (size_t)(end - p)) == NULL)
            return ct_more(s, "a tag");
        return wrong_end_tag(s, p, end);
    }
    if (CT_UNLIKELY(!same_name(p + 2, end, s->names + frame->name, length)))
        return wrong_end_tag(s, p, end);
    ct_bytes q = p + 2 + length;
    if (CT_UNLIKELY(*q != '>')) {
        q = ct_skip_space(q, end);
        if (q == end)
            return ct_more(s, "a tag");
        if (*q != '>')
            return wrong_end_tag(s, p, end);
        if (q - p > s->token_limit)
            return ct_beyond(s, p, "token_bytes");
    }
    *after = q + 1;
    return pop(s, ct_offset(s, p), ct_offset(s, q + 1));
}

static int leaf(ct_scan *s, int kind, ct_bytes p, ct_bytes after)
{
    if (after - p > s->token_limit)
        return ct_beyond(s, p, "token_bytes");
    if (s->mode != CT_FOLLOW)
        return CT_OK;
    const ct_state *info = &s->tables->states[s->frames[s->depth].state];
    if (!info->contents && !s->table)
        return CT_OK;
    return ct_keep_leaf(s, info, kind, ct_offset(s, p), ct_offset(s, after));
}

/* Reads a token that begins with `<!` or `<?`. */
static int markup(ct_scan *s, ct_bytes p, ct_bytes end, ct_bytes *after)
{
    int code, kind, is_comment, is_cdata;
    if (p[1] == '?') {
        kind = CT_PI;
        code = ct_pi(s, p, end, after);
    } else if ((is_comment = ct_begins(p, end, "<!--")) == 1) {
        kind = CT_COMMENT;
        code = ct_comment(s, p, end, after);
    } else if ((is_cdata = ct_begins(p, end, "<![CDATA[")) == 1 && s->phase == CT_CONTENT) {
        kind = CT_CDATA;
        code = ct_cdata(s, p, end, after);
    } else if (is_comment < 0 || (is_cdata < 0 && s->phase == CT_CONTENT)) {
        return ct_more(s, "a comment");
    } else {
        return ct_fail(s, p, "a < that begins no tag");
    }
    return code == CT_OK ? leaf(s, kind, p, *after) : code;
}

/* Finds the end of a start tag by its quotes alone. */
static ct_bytes tag_end(ct_bytes p, ct_bytes end)
{
    for (; p < end; p++) {
        if (*p == '>')
            return p;
        if (*p == '"' || *p == '\'') {
            p = memchr(p + 1, *p, (size_t)(end - p) - 1);
            if (p == NULL)
                return NULL;
        }
    }
    return NULL;
}

/* Whether the name of a tag ends after these bytes. The byte after them can be read. */
static int tag_has_name(ct_bytes p, ct_bytes end, ct_bytes name, size_t length)
{
    return same_name(p, end, name, length) &&
           (p[length] == '>' || p[length] == '/' || ct_is_space(p[length]));
}

/* Finds the end tag of the skipped element. Of the tags in between only those with the same name
 * matter: in a well-formed document every '<' begins a tag, a comment, a processing instruction or
 * a CDATA section, or is inside one of the last three. */
static int find_end(ct_scan *s, ct_bytes *at, ct_bytes end)
{
    const ct_frame *frame = &s->frames[s->depth];
    ct_bytes p = *at, name = s->names + frame->name;
    size_t length = frame->length;
    for (;;) {
        *at = p = ct_find_tag(p, end);
        if (CT_UNLIKELY((size_t)(end - p) < length + 3))
            return ct_more(s, "an element");
        int closing = p[1] == '/';
        if (CT_UNLIKELY(p[1] == '!' || p[1] == '?')) {
            int code = markup(s, p, end, &p);
            if (code != CT_OK)
                return code;
        } else if (CT_LIKELY(!tag_has_name(p + 1 + closing, end, name, length))) {
            p++;
        } else if (!closing) {
            p = tag_end(p + 1, end);
            if (p == NULL)
                return ct_more(s, "a tag");
            s->nesting += p[-1] != '/';
        } else if (s->nesting-- == 0) {
            s->mode = CT_FOLLOW;
            return CT_OK;
        } else {
            p++;
        }
    }
}

static int content(ct_scan *s, ct_bytes *at, ct_bytes end)
{
    ct_bytes p = *at, after = p;
    int code = CT_OK;
    while (s->phase == CT_CONTENT && code == CT_OK) {
        if (CT_UNLIKELY(s->mode == CT_TRUST)) {
            code = find_end(s, &p, end);
            *at = after = p;
            continue;
        }
        if (CT_UNLIKELY(p == end))
            return ct_more(s, "an element");
        if (*p != '<') {
            int references = 0;
            after = ct_find_text(p, end);
            if (CT_UNLIKELY(after == end || *after != '<'))
                code = ct_text(s, p, end, &after, &references);
            if (CT_LIKELY(code == CT_OK))
                code = leaf(s, references ? CT_REFERENCES : CT_TEXT, p, after);
        } else if (CT_UNLIKELY(end - p < 2)) {
            return ct_more(s, "a tag");
        } else if (p[1] == '/') {
            code = end_tag(s, p, end, &after);
        } else if (CT_UNLIKELY(p[1] == '!' || p[1] == '?')) {
            code = markup(s, p, end, &after);
        } else {
            code = start_tag(s, p, end, &after);
        }
        if (CT_LIKELY(code == CT_OK))
            *at = p = after;
    }
    return code;
}

/* Reads one token outside of the root element. */
static int outside(ct_scan *s, ct_bytes *at, ct_bytes end)
{
    ct_bytes p = ct_skip_space(*at, end), after = p;
    int code, is_doctype;
    *at = p;
    if (p == end)
        return CT_MORE;
    if (*p != '<')
        return ct_fail(s, p, s->phase == CT_PROLOG ? "text before the root element"
                                                   : "text after the root element");
    if (end - p < 2)
        return ct_more(s, "a tag");
    if (p[1] != '!' && p[1] != '?') {
        if (s->phase == CT_EPILOG)
            return ct_fail(s, p, "a second root element");
        code = start_tag(s, p, end, &after);
    } else if (s->phase == CT_PROLOG && p[1] == '!' && !s->doctype &&
               (is_doctype = ct_begins(p, end, "<!DOCTYPE")) != 0) {
        if (is_doctype < 0)
            return ct_more(s, "the DOCTYPE");
        code = ct_doctype(s, p, end, &after);
        if (code == CT_OK)
            code = ct_keep_everywhere(s, ct_offset(s, p), ct_offset(s, after));
    } else {
        code = markup(s, p, end, &after);
    }
    if (code == CT_OK)
        *at = after;
    return code;
}

int ct_run(ct_scan *s, ct_bytes data, size_t length)
{
    ct_bytes p = data + s->at, end = data + length;
    int code;
    s->data = data;
    s->pending = NULL;
    do {
        if (s->phase == CT_CONTENT)
            code = content(s, &p, end);
        else if (s->phase == CT_BEGIN)
            code = ct_begin(s, &p, end);
        else
            code = outside(s, &p, end);
        s->at = (size_t)(p - data);
    } while (code == CT_OK || code == CT_AGAIN);
    if (code == CT_MORE && end - p > s->token_limit)
        code = ct_beyond(s, p, "token_bytes");
    /* After a namespace error libxml2 does not read behind the root element. */
    return code == CT_ERROR && s->doubtful ? ct_hand_over(s, "namespace error") : code;
}

int ct_finish(ct_scan *s, size_t left)
{
    s->error_at = s->base + (int64_t)left;
    if (s->phase != CT_EPILOG || left) {
        if (s->pending == NULL)
            s->pending = s->base + (int64_t)left ? "its prolog, without a root element" : "nothing";
        s->reason = s->pending;
        return s->doubtful ? ct_hand_over(s, "namespace error") : CT_MORE;
    }
    if (s->soft_at < 0)
        return CT_OK;
    if (s->doubtful)
        return ct_hand_over(s, "namespace error");
    s->reason = s->soft_reason;
    s->error_at = s->soft_at;
    return CT_ERROR;
}
