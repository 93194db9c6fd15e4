#include "push.h"

/* The first documents are counted, then one of so many. Few slots are in the cache anyway. */
enum { FIRST = 256, COUNTED = 64, FEW_SLOTS = 1024 };

px_machine *px_machine_new(const px_registry *r, int select, size_t most_bytes, int64_t steps)
{
    px_machine *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->registry = m->states.registry = r;
    m->states.most_bytes = most_bytes;
    m->shapes.most_bytes = most_bytes / 4;
    m->select = select;
    m->steps = steps;
    m->context = (px_context){&m->document, r, NULL, {0, 0, 0}};
    m->tally.secret = r->lists.secret;
    return m;
}

static void results_free(px_results *results)
{
    free(results->unit);
    free(results->query);
    free(results->value);
    free(results->number);
}

void px_machine_free(px_machine *m)
{
    if (m == NULL)
        return;
    px_forget_values(m);
    px_states_free(&m->states);
    px_map_free(&m->spent);
    px_shapes_free(&m->shapes);
    px_document_free(&m->document);
    free(m->state);
    free(m->rank);
    free(m->bit);
    free(m->open);
    free(m->seen);
    free(m->anchors);
    free(m->arrivals);
    free(m->mask);
    free(m->first);
    free(m->last);
    free(m->presence);
    free(m->present);
    free(m->heavy);
    free(m->found);
    free(m->at_anchors);
    free(m->ordered);
    free(m->prepared);
    free(m->operands);
    free(m->tests);
    free(m->chosen);
    free(m->nodes);
    free(m->visited);
    free(m->hits.bits);
    free(m->hits.marks);
    free(m->maybe.bits);
    free(m->maybe.marks);
    free(m->ahead);
    free(m->reached);
    free(m->posted);
    px_bindings_free(&m->bindings);
    results_free(&m->results);
    results_free(&m->candidates);
    results_free(&m->values.rows);
    free(m->values.bytes);
    free(m);
}

/* Makes room in an array whose new items are bytes of one value, also if other arrays then fail. */
static int grow_filled(void *array_of_pointer, size_t *room, size_t n, size_t size, int byte)
{
    size_t before = *room;
    if (px_grow(array_of_pointer, room, n, size) != PX_OK)
        return PX_MEMORY;
    char *array;
    memcpy(&array, array_of_pointer, sizeof array);
    memset(array + before * size, byte, (*room - before) * size);
    return PX_OK;
}

static int set_grow(px_set *set, size_t numbers)
{
    size_t words = (numbers >> 6) / 64 * 64 + 64;
    int shift = 12; /* at least 64 words */
    while (numbers >> shift >= 64)
        shift++;
    if (grow_filled(&set->bits, &set->bit_room, words, sizeof *set->bits, 0) != PX_OK ||
        grow_filled(&set->marks, &set->mark_room, words, sizeof *set->marks, 0) != PX_OK)
        return PX_MEMORY;
    set->shift = shift; /* the set is empty */
    return PX_OK;
}

/* Makes room for all that the registry has. */
static int grow(px_machine *m)
{
    size_t slots = m->registry->slot_count + 1, clauses = m->registry->clause_count + 1;
    size_t owners = m->registry->owner_room + 1;
    if (grow_filled(&m->mask, &m->mask_room, slots, sizeof *m->mask, 0) != PX_OK ||
        grow_filled(&m->first, &m->first_room, slots, sizeof *m->first, 255) != PX_OK ||
        grow_filled(&m->presence, &m->presence_room, slots, sizeof *m->presence, 0) != PX_OK ||
        grow_filled(&m->ordered, &m->ordered_room, slots, sizeof *m->ordered, 0) != PX_OK ||
        grow_filled(&m->prepared, &m->prepared_room, clauses, sizeof *m->prepared, 0) != PX_OK ||
        px_grow(&m->last, &m->last_room, slots, sizeof *m->last) != PX_OK ||
        px_grow(&m->present, &m->present_room, slots, sizeof *m->present) != PX_OK ||
        px_grow(&m->heavy, &m->heavy_room, slots, sizeof *m->heavy) != PX_OK)
        return PX_MEMORY;
    return set_grow(&m->hits, owners) == PX_OK && set_grow(&m->maybe, owners) == PX_OK ? PX_OK : PX_MEMORY;
}

/* What was counted of slots with other numbers does not count any more. */
static void begin_counting(px_machine *m)
{
    if (m->numbering != m->registry->numbering) {
        memset(m->presence, 0, m->presence_room * sizeof *m->presence);
        px_forget_values(m);
        m->counted = 0;
        m->numbering = m->registry->numbering;
    }
}

static void count_presence(px_machine *m)
{
    m->counted++;
    for (size_t i = 0; i < m->present_count; i++)
        m->presence[m->present[i]]++;
}

static int begin(px_machine *m, const px_input *in)
{
    int code = px_states_begin(&m->states);
    if (code != PX_OK)
        return code;
    if (grow(m) != PX_OK || px_grow(&m->open, &m->open_room, 8, sizeof *m->open) != PX_OK)
        return PX_MEMORY;
    m->stamp++;
    m->counting = m->stamp <= FIRST || m->stamp % COUNTED == 0;
    if (m->counting)
        begin_counting(m);
    m->seen_count = m->anchor_count = m->arrival_count = 0;
    m->present_count = m->heavy_count = m->found_count = m->at_anchor_count = 0;
    m->bindings.count = m->crowded = 0;
    m->bindings.failed = 0;
    m->operand_count = m->test_count = m->node_count = m->document.set_count = 0;
    m->preparation++;
    code = px_document_begin(&m->document, in, m->registry->with_texts > 0);
    px_accounts_begin(m);
    return code;
}

/* Tries simple postings window by window; afterwards no slots are found. */
static int try_windows(px_machine *m)
{
    int code = PX_OK;
    for (int32_t window = 0; window < m->windows && code == PX_OK; window++) {
        px_forget_slots(m);
        px_find_slots_in(m, window);
        code = px_try_simple(m);
    }
    return code;
}

/* Finds what matches, but for the owners in `known`. */
static int find(px_machine *m, const px_shape *known)
{
    int code = px_find_states(m);
    if (code != PX_OK)
        return code;
    px_find_slots(m);
    m->figures.slots += m->present_count;
    if (m->counting)
        count_presence(m);
    if (known == NULL && m->windows <= 1) {
        code = px_try_simple(m);
        if (code == PX_OK && m->shapes.keep && !m->overrun)
            code = px_keep_matches(m);
    }
    if (code == PX_OK)
        code = px_try_others(m);
    return code == PX_OK && m->windows > 1 && m->registry->simple_slots ? try_windows(m) : code;
}

int px_match(px_machine *m, const px_input *in, int32_t unit)
{
    const px_shape *known = NULL;
    int code = begin(m, in);
    if (code == PX_OK)
        code = px_shapes_find(m, &known);
    if (code != PX_OK)
        return code;
    m->figures.known += known != NULL;
    if (known == NULL || m->counting || m->registry->more_slots)
        code = find(m, known);
    if (code == PX_OK) {
        px_accounts_end(m, known);
        code = px_add_results(m, unit, known);
    } else {
        px_drop_matches(m);
    }
    px_forget_slots(m);
    for (size_t i = 0; i < m->heavy_count; i++)
        m->first[m->heavy[i]] = -1;
    m->figures.documents += code == PX_OK;
    m->figures.elements += (uint64_t)in->rows;
    return code;
}

int px_adapt(px_registry *r, px_machine *m)
{
    int known = m->numbering == r->numbering;
    px_presence seen = {m->presence, m->presence_room, m->tally, m->samples, m->sample_room,
                        known ? (double)m->counted : 0};
    for (size_t i = 0; i < r->template_count; i++)
        if (r->templates[i].words != NULL && px_template_choose(r, (int32_t)i, &seen) != PX_OK)
            return PX_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < m->states.count; i++) {
        const px_state *state = &m->states.items[i];
        count += state->group_count ? state->groups[state->group_count - 1].end : 0;
    }
    int32_t *order = malloc((count + 1) * sizeof *order);
    if (order != NULL && r->slot_count > FEW_SLOTS) {
        size_t n = 0;
        for (size_t i = 0; i < m->states.count; i++) {
            const px_state *state = &m->states.items[i];
            uint32_t slots = state->group_count ? state->groups[state->group_count - 1].end : 0;
            if (slots)
                memcpy(order + n, state->slots, slots * sizeof *order);
            n += slots;
        }
        (void)px_slots_renumber(r, order, n); /* without memory they stay as they are */
    }
    free(order);
    return PX_OK;
}
