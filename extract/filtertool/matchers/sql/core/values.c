#include "values.h"

/* A frame is the path of a query, cut where conditions depend on constants: the nodes there are its
 * levels. Each starts from an earlier one, and there is a row for each combination of nodes. Its columns
 * are the values that the conditions compare; whatever else is asked of nodes is a part of the paths,
 * and decided here. */

/* The words behind those of a level. */
static const int32_t *next_level(const int32_t *words)
{
    const int32_t *at = words + 2 + words[1];
    int32_t columns = *at++;
    for (int32_t k = 0; k < columns; k++)
        at += 3 + at[2];
    return at;
}

int vl_frame_add(vl_scan *s, const int32_t *words, size_t count, int32_t levels, int32_t width)
{
    if (px_grow(&s->frames, &s->room, s->count + 1, sizeof *s->frames) != PX_OK)
        return PX_MEMORY;
    vl_frame *f = &s->frames[s->count];
    memset(f, 0, sizeof *f);
    f->words = malloc((count + 1) * sizeof *f->words);
    f->columns = calloc((size_t)width + 1, sizeof *f->columns);
    if (f->words == NULL || f->columns == NULL) {
        free(f->words);
        free(f->columns);
        return PX_MEMORY;
    }
    memcpy(f->words, words, count * sizeof *words);
    f->levels = levels;
    f->width = width;
    words = f->words;
    for (int32_t level = 0; level < levels; level++, words = next_level(words))
        f->is_product |= words[0] != level - 1;
    s->count++;
    return PX_OK;
}

void vl_clear(vl_scan *s)
{
    for (size_t i = 0; i < s->count; i++) {
        vl_frame *f = &s->frames[i];
        f->rows = 0;
        for (int32_t k = 0; k < f->width; k++)
            f->columns[k].count = f->columns[k].text_used = 0;
    }
}

void vl_free(vl_scan *s)
{
    for (size_t i = 0; i < s->count; i++) {
        vl_frame *f = &s->frames[i];
        for (int32_t k = 0; k < f->width; k++) {
            free(f->columns[k].end);
            free(f->columns[k].text_end);
            free(f->columns[k].text);
            free(f->columns[k].number);
        }
        free(f->columns);
        free(f->words);
        free(f->unit);
    }
    free(s->frames);
    px_document_free(&s->document);
}

/* -- values */

typedef struct {
    vl_column *column;
    int32_t wanted;
} target;

static int put(px_context *c, const target *to, px_bytes at, size_t length, double number)
{
    vl_column *column = to->column;
    if ((c->document->budget -= (int64_t)length + 1) < 0)
        return -PX_COSTLY;
    if (to->wanted & VL_STRINGS) {
        if (px_grow(&column->text, &column->text_room, column->text_used + length + 1, 1) != PX_OK ||
            px_grow(&column->text_end, &column->text_end_room, column->count + 1,
                    sizeof *column->text_end) != PX_OK)
            return -PX_MEMORY;
        if (length)
            memcpy(column->text + column->text_used, at, length);
        column->text_used += length;
        column->text_end[column->count] = (int64_t)column->text_used;
    }
    if (to->wanted & VL_NUMBERS) {
        if (px_grow(&column->number, &column->number_room, column->count + 1, sizeof *column->number) !=
            PX_OK)
            return -PX_MEMORY;
        column->number[column->count] = number;
    }
    column->count++;
    return 0;
}

static int put_node(px_context *c, void *context, int32_t node)
{
    const target *to = context;
    const px_value *value = px_value_of(c->document, node);
    double number = 0;
    if (value == NULL)
        return -PX_MEMORY;
    if (to->wanted & VL_NUMBERS && px_value_number(c->document, node, &number) != PX_OK)
        return -PX_MEMORY;
    return put(c, to, value->at, value->length, number);
}

static int put_first(px_context *c, target *to, const int32_t *operands, int32_t node)
{
    int32_t first = node;
    if (operands[1] > 0 || operands[0]) {
        int code = px_first_of(c, operands + 1, operands[0] ? -1 : node, &first);
        if (code < 0)
            return code;
    }
    if (first >= 0)
        return put_node(c, to, first);
    double none = 0;
    return put(c, to, (px_bytes) "", 0, none / none);
}

static int put_count(px_context *c, target *to, const int32_t *operands, int32_t node)
{
    px_document *d = c->document;
    size_t begin = d->set_count;
    int code = px_select(c, operands + 1, operands[0] ? -1 : node);
    double count = (double)(d->set_count - begin);
    d->set_count = begin;
    return code < 0 ? code : put(c, to, (px_bytes) "", 0, count);
}

static int put_column(px_context *c, target *to, int32_t kind, const int32_t *operands, int32_t node)
{
    int code;
    switch (kind) {
    case VL_NODES:
        code = px_visit_path(c, operands + 1, operands[0] ? -1 : node, put_node, to);
        break;
    case VL_FIRST:
        return put_first(c, to, operands, node);
    case VL_COUNT:
        return put_count(c, to, operands, node);
    default:
        code = px_holds(c, operands, node);
        return code < 0 ? code : put(c, to, (px_bytes) "", 0, code);
    }
    return code;
}

/* -- rows */

typedef struct {
    vl_scan *s;
    vl_frame *f;
    int32_t unit;
    size_t before; /* rows of earlier documents */
    int32_t at[VL_LEVELS]; /* the node of each level */
} work;

static int put_row(work *w)
{
    vl_frame *f = w->f;
    px_context *c = &w->s->context;
    const int32_t *words = f->words;
    int32_t number = 0;
    if (f->is_product && f->rows - w->before >= VL_PRODUCT)
        return -PX_COSTLY;
    if (px_grow(&f->unit, &f->unit_room, f->rows + 1, sizeof *f->unit) != PX_OK)
        return -PX_MEMORY;
    for (int32_t level = 0; level < f->levels; level++) {
        const int32_t *at = words + 2 + words[1];
        int32_t columns = *at++;
        for (int32_t k = 0; k < columns; k++, number++) {
            vl_column *column = &f->columns[number];
            target to = {column, at[1]};
            int code = put_column(c, &to, at[0], at + 3, w->at[level]);
            if (code < 0)
                return code;
            if (px_grow(&column->end, &column->end_room, f->rows + 1, sizeof *column->end) != PX_OK)
                return -PX_MEMORY;
            column->end[f->rows] = (int64_t)column->count;
            at += 3 + at[2];
        }
        words = at;
    }
    f->unit[f->rows++] = w->unit;
    return 0;
}

static int descend(work *w, const int32_t *words, int32_t level)
{
    px_document *d = &w->s->document;
    if (level == w->f->levels)
        return put_row(w);
    size_t begin = d->set_count;
    int code = px_select(&w->s->context, words + 2, words[0] < 0 ? -1 : w->at[words[0]]);
    size_t end = d->set_count;
    const int32_t *next = next_level(words);
    for (size_t i = begin; code == 0 && i < end; i++) {
        w->at[level] = d->set[i];
        code = descend(w, next, level + 1);
    }
    d->set_count = begin;
    return code;
}

/* Takes back what a document has added. */
static void drop(vl_frame *f, size_t rows)
{
    f->rows = rows;
    for (int32_t k = 0; k < f->width; k++) {
        vl_column *column = &f->columns[k];
        column->count = rows ? (size_t)column->end[rows - 1] : 0;
        column->text_used = column->count && column->text_end ? (size_t)column->text_end[column->count - 1] : 0;
    }
}

int vl_document(vl_scan *s, const px_input *in, int32_t unit)
{
    s->document.set_count = 0;
    s->document.budget = s->budget;
    s->context = (px_context){&s->document, &s->registry, NULL};
    int code = px_document_begin(&s->document, in, s->with_texts);
    if (code != PX_OK)
        return code;
    for (size_t i = 0; i < s->count; i++) {
        vl_frame *f = &s->frames[i];
        work w = {s, f, unit, f->rows, {0}};
        code = descend(&w, f->words, 0);
        if (code == 0)
            continue;
        for (size_t k = 0; k <= i; k++) {
            size_t rows = s->frames[k].rows;
            while (rows > 0 && s->frames[k].unit[rows - 1] == unit)
                rows--;
            drop(&s->frames[k], rows);
        }
        return -code;
    }
    return PX_OK;
}

/* -- pairs */

/* Where a run of ascending numbers ends. */
static size_t run_end(const int64_t *numbers, size_t begin, size_t end)
{
    size_t i = begin + 1;
    while (i < end && numbers[i - 1] <= numbers[i])
        i++;
    return i;
}

/* Sorts numbers that are a few ascending runs, as they come from a join: neighbours are merged. */
static void sort_runs(int64_t *numbers, size_t count, int64_t *room)
{
    while (count > 1 && run_end(numbers, 0, count) < count) {
        size_t begin = 0;
        while (begin < count) {
            size_t middle = run_end(numbers, begin, count);
            size_t end = middle < count ? run_end(numbers, middle, count) : middle;
            size_t left = begin, right = middle;
            for (size_t i = begin; i < end; i++) {
                int from_left = left < middle && (right == end || numbers[left] <= numbers[right]);
                room[i] = from_left ? numbers[left++] : numbers[right++];
            }
            begin = end;
        }
        memcpy(numbers, room, count * sizeof *numbers);
    }
}

size_t vl_order(const int32_t *unit, const int64_t *seq, size_t count, int32_t documents, size_t *at,
                int64_t *room, int32_t *units, int64_t *seqs)
{
    size_t kept = 0;
    memset(at, 0, ((size_t)documents + 1) * sizeof *at);
    for (size_t i = 0; i < count; i++)
        at[unit[i] + 1]++;
    for (int32_t k = 0; k < documents; k++)
        at[k + 1] += at[k];
    for (size_t i = 0; i < count; i++)
        seqs[at[unit[i]]++] = seq[i];
    for (int32_t k = 0; k < documents; k++) { /* now each number is where the next document begins */
        size_t begin = k ? at[k - 1] : 0, first = kept;
        sort_runs(seqs + begin, at[k] - begin, room);
        for (size_t i = begin; i < at[k]; i++)
            if (kept == first || seqs[kept - 1] != seqs[i]) {
                units[kept] = k;
                seqs[kept++] = seqs[i];
            }
    }
    return kept;
}
