#include "push.h"

/* The nodes that a query selects, for whoever wants more than whether it matches.
 *
 * Most rows are found by the value of a node below their anchor. Where the anchor is the last step of
 * the path, it is the node that the query selects: so whoever finds a row notes the anchor, and no
 * path is evaluated again. */

void px_note_anchor(px_machine *m, int32_t named, int32_t anchor)
{
    px_bindings *b = &m->bindings;
    const px_registry *r = m->registry;
    int32_t owner = px_first_owner(r, px_some_owner(r, named));
    size_t before = b->note_room;
    if (px_grow(&b->notes, &b->note_room, r->owner_room + 1, sizeof *b->notes) != PX_OK ||
        px_grow(&b->items, &b->room, b->count + 1, sizeof *b->items) != PX_OK) {
        b->failed = 1;
        return;
    }
    memset(b->notes + before, 0, (b->note_room - before) * sizeof *b->notes);
    px_note *note = &b->notes[owner];
    if (note->stamp != m->stamp)
        *note = (px_note){m->stamp, -1};
    b->items[b->count] = (px_noted){anchor, note->last};
    note->last = (int32_t)b->count++;
}

/* Whether all nodes that queries of a template select were noted. */
static int are_noted(const px_registry *r, const px_template *t)
{
    const px_clause *c = &r->clauses[t->clause];
    const int32_t *cover = t->words + c->chosen;
    if (c->next >= 0 || c->condition || c->anchor != t->words[c->path] - 1 || !(c->sure || c->checks))
        return 0;
    for (int32_t i = 0; i < cover[1]; i++)
        if (cover[2 + 4 * i + 1] == PX_EXISTS)
            return 0;
    return 1;
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Takes the nodes that were noted into the document's set; each once, ascending. */
static int take_noted(px_machine *m, int32_t owner)
{
    const px_bindings *b = &m->bindings;
    px_document *d = &m->document;
    size_t count = 0, kept = 0;
    int sorted = 1;
    if (b->failed)
        return PX_MEMORY;
    if ((size_t)owner >= b->note_room || b->notes[owner].stamp != m->stamp)
        return PX_OK;
    for (int32_t i = b->notes[owner].last; i >= 0; i = b->items[i].next) {
        if (px_grow(&d->set, &d->set_room, count + 1, sizeof *d->set) != PX_OK)
            return PX_MEMORY;
        sorted &= count == 0 || d->set[count - 1] > b->items[i].node; /* the last one is noted first */
        d->set[count++] = b->items[i].node;
    }
    for (size_t i = 0; sorted && i < count / 2; i++) {
        int32_t node = d->set[i];
        d->set[i] = d->set[count - 1 - i];
        d->set[count - 1 - i] = node;
    }
    if (!sorted)
        qsort(d->set, count, sizeof *d->set, ascending);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || d->set[kept - 1] != d->set[i])
            d->set[kept++] = d->set[i];
    d->set_count = kept;
    return PX_OK;
}

int px_bound_nodes(px_machine *m, int32_t query)
{
    const px_registry *r = m->registry;
    m->document.set_count = 0;
    if (!m->crowded && are_noted(r, &r->templates[r->owners[query].template_]))
        return take_noted(m, px_first_owner(r, query));
    return px_select_query(m, query);
}

void px_bindings_free(px_bindings *b)
{
    free(b->notes);
    free(b->items);
}
