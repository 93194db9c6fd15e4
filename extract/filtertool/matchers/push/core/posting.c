#include "push.h"

/* Rows are posted by the atoms of their clauses' covers. */

/* -- numbers that are compared for equality, each once */

static int32_t number_use(px_registry *r, uint64_t bits)
{
    uint64_t *at = px_map_get(&r->number_ids, bits);
    if (at != NULL) {
        r->numbers[*at].uses++;
        return (int32_t)*at;
    }
    uint32_t number = r->number_free;
    if (number == 0 &&
        px_grow(&r->numbers, &r->number_room, r->number_count + 1, sizeof *r->numbers) != PX_OK)
        return -1;
    number = number ? number - 1 : (uint32_t)r->number_count;
    if (px_map_put(&r->number_ids, bits, number) != PX_OK)
        return -1;
    if (number == r->number_count)
        r->number_count++;
    else
        r->number_free = r->numbers[number].next;
    r->numbers[number].bits = bits;
    r->numbers[number].uses = 1;
    return (int32_t)number;
}

static void number_release(px_registry *r, int32_t number)
{
    if (--r->numbers[number].uses)
        return;
    px_map_remove(&r->number_ids, r->numbers[number].bits);
    r->numbers[number].next = r->number_free;
    r->number_free = (uint32_t)number + 1;
}

/* -- postings */

static px_values *values_of(px_registry *r, int32_t slot)
{
    if (r->values[slot] == NULL)
        r->values[slot] = calloc(1, sizeof *r->values[slot]);
    return r->values[slot];
}

/* Slots without postings are passed over when they are found. */
static void flag(px_registry *r, int32_t slot)
{
    px_values *v = r->values[slot];
    uint8_t flags = r->slot_flags[slot] & PX_KEPT;
    if (r->simple[slot].count)
        flags |= PX_SIMPLE;
    if (v != NULL) {
        v->others = v->general.count || v->parts[0].count || v->parts[0].fresh_count || v->parts[0].empty ||
                    v->parts[1].count || v->parts[1].fresh_count || v->parts[1].empty || v->ranges[0].items ||
                    v->ranges[1].items || v->ranges[2].items || v->ranges[3].items;
        flags |= v->others || v->equal[0] || v->equal[1] ? PX_MORE : 0;
    }
    px_slot_flag(r, slot, flags);
}

/* The kind of list that an atom's postings are in; -1: another one. */
static int list_kind(int32_t kind)
{
    switch (kind) {
    case PX_EQUAL_STRING:
        return PX_LIST_STRING;
    case PX_EQUAL_NUMBER:
        return PX_LIST_NUMBER;
    case PX_CONTAINS:
        return PX_LIST_CONTAINS;
    case PX_STARTS:
        return PX_LIST_STARTS;
    default:
        return -1;
    }
}

static int is_range(int32_t kind) { return kind >= PX_RANGE && kind < PX_RANGE + 4; }

/* Whether the clause's postings are simple: one or two slots with a common anchor decide, and it is
 * posted by one of them. */
static int is_simple(const px_template *t, const px_clause *c)
{
    const int32_t *groups = t->words + c->groups, slot = t->words[c->chosen + 2];
    return t->width == 0 && t->exact && c->decides && groups[0] == 1 && groups[2] <= 2 &&
           t->words[c->chosen + 1] == 1 && (slot == groups[3] || (groups[2] == 2 && slot == groups[4]));
}

/* Whether postings name an owner, and not the row. */
static int names_owner(const px_template *t, const px_clause *c, const int32_t *atom)
{
    return is_simple(t, c) || c->pair || (atom[3] && t->exact && !is_range(atom[1]));
}

static int32_t other_slot(const px_template *t, const px_clause *c, int32_t slot)
{
    const int32_t *group = t->words + c->groups + 2; /* behind the slot of the anchor */
    if (group[0] < 2)
        return -1;
    return group[1] == slot ? group[2] : group[1];
}

/* The owner of a row as postings name it. */
static int32_t named_owner(const px_registry *r, const px_template *t, int32_t row)
{
    int32_t owner = t->owner[row], crowd = r->owners[owner].crowd;
    return crowd < 0 ? owner : ~crowd;
}

static px_item item_of(const px_registry *r, const px_template *t, const px_clause *c, int32_t clause,
                       const int32_t *atom, int32_t row)
{
    if (is_simple(t, c))
        return (px_item){other_slot(t, c, atom[0]), named_owner(r, t, row)};
    if (c->pair) {
        const int32_t *other = t->words + c->guards[0];
        return (px_item){px_pair_of(other[0], other[1] == PX_EQUAL_STRING), named_owner(r, t, row)};
    }
    return names_owner(t, c, atom) ? (px_item){PX_SURE, named_owner(r, t, row)} : (px_item){clause, row};
}

static int64_t list_add(px_registry *r)
{
    if (r->pool_free >= 0) {
        int64_t number = r->pool_free;
        px_item next = r->pool[number].at.one;
        r->pool_free = (int64_t)((uint64_t)(uint32_t)next.clause << 32 | (uint32_t)next.row);
        r->pool[number] = (px_list){.guarded = 1};
        return number;
    }
    if (px_grow(&r->pool, &r->pool_room, r->pool_count + 1, sizeof *r->pool) != PX_OK)
        return -1;
    r->pool[r->pool_count] = (px_list){.guarded = 1};
    return (int64_t)r->pool_count++;
}

static void list_drop(px_registry *r, int64_t number)
{
    px_list_free(&r->pool[number]);
    r->pool[number].at.one = (px_item){(int32_t)(r->pool_free >> 32), (int32_t)r->pool_free};
    r->pool_free = number;
}

/* The list of an atom's postings; with `make` it is there afterwards, else it may be NULL. */
static px_list *list_of(px_registry *r, const int32_t *atom, int32_t constant, int simple, int make)
{
    if (simple)
        return &r->simple[atom[0]];
    px_values *values = values_of(r, atom[0]);
    if (values == NULL)
        return NULL;
    if (atom[1] == PX_EXISTS)
        return &values->general;
    int kind = list_kind(atom[1]);
    px_list *list = px_value_list(r, atom[0], kind, constant);
    if (list != NULL || !make)
        return list;
    int64_t number = list_add(r);
    if (number < 0)
        return NULL;
    if (px_map_put(&r->lists, px_key(atom[0] << 2 | kind, constant), (uint64_t)number) != PX_OK) {
        list_drop(r, number);
        return NULL;
    }
    if (kind < PX_LIST_CONTAINS) {
        values->equal[kind]++;
    } else if (px_parts_add(&values->parts[kind - PX_LIST_CONTAINS], &r->strings, constant) != PX_OK) {
        px_map_remove(&r->lists, px_key(atom[0] << 2 | kind, constant));
        list_drop(r, number);
        return NULL;
    }
    return &r->pool[number];
}

static void list_emptied(px_registry *r, const int32_t *atom, int32_t constant)
{
    int kind = list_kind(atom[1]);
    if (kind < 0)
        return;
    uint64_t key = px_key(atom[0] << 2 | kind, constant);
    list_drop(r, (int64_t)*px_map_get(&r->lists, key));
    px_map_remove(&r->lists, key);
    if (kind < PX_LIST_CONTAINS)
        r->values[atom[0]]->equal[kind]--;
    else
        px_parts_remove(&r->values[atom[0]]->parts[kind - PX_LIST_CONTAINS], &r->strings, constant);
}

/* The constant by which an atom's postings are listed; -1: none, or one that nothing equals. */
static int32_t constant_of(const px_registry *r, const px_template *t, const int32_t *atom, int32_t row)
{
    if (list_kind(atom[1]) < 0)
        return -1;
    const px_cell *cell = &t->cells[(size_t)row * (size_t)t->width + (size_t)atom[2]];
    return atom[1] == PX_EQUAL_NUMBER ? px_number_find(r, cell->number) : cell->string;
}

/* The guard of a row's posting. *found is 0 if the row has a pair with a value that nothing equals. */
static int guard_use(px_registry *r, const px_template *t, const px_clause *c, int32_t row, uint32_t *guard,
                     int *found)
{
    const int32_t *atom = t->words + c->guards[0];
    uint64_t bits;
    *found = 1;
    if (!c->pair || atom[1] == PX_EQUAL_STRING) {
        *guard = px_guard_of(r, t, c, row);
        return PX_OK;
    }
    *found = px_number_bits(t->cells[(size_t)row * (size_t)t->width + (size_t)atom[2]].number, &bits);
    int32_t number = *found ? number_use(r, bits) : 0;
    *guard = (uint32_t)number;
    return number < 0 ? PX_MEMORY : PX_OK;
}

static void guard_release(px_registry *r, const px_template *t, const px_clause *c, uint32_t guard)
{
    if (c->pair && t->words[c->guards[0] + 1] == PX_EQUAL_NUMBER)
        number_release(r, (int32_t)guard);
}

/* Posts a row by one atom. */
static int post(px_registry *r, px_template *t, int32_t clause, const int32_t *atom, int32_t row,
                int32_t *place)
{
    const px_clause *c = &r->clauses[clause];
    px_item item = item_of(r, t, c, clause, atom, row);
    uint32_t guard = 0;
    int found = 1;
    *place = -1;
    if (is_range(atom[1])) {
        double number = t->cells[(size_t)row * (size_t)t->width + (size_t)atom[2]].number;
        px_values *values = values_of(r, atom[0]);
        if (values == NULL)
            return PX_MEMORY;
        if (number != number)
            return PX_OK; /* nothing compares with NaN */
        return px_sorted_add(&values->ranges[atom[1] - PX_RANGE], number, item);
    }
    int32_t constant = -1;
    if (atom[1] == PX_EQUAL_NUMBER) {
        uint64_t bits;
        double number = t->cells[(size_t)row * (size_t)t->width + (size_t)atom[2]].number;
        if (!px_number_bits(number, &bits) || bits == UINT64_MAX)
            return PX_OK;
        if ((constant = number_use(r, bits)) < 0)
            return PX_MEMORY;
    } else {
        constant = constant_of(r, t, atom, row);
    }
    int code = guard_use(r, t, c, row, &guard, &found);
    if (code == PX_OK && found) {
        px_list *list = list_of(r, atom, constant, is_simple(t, c), 1);
        if (list != NULL && px_list_add(list, item, guard) == PX_OK) {
            *place = (int32_t)list->count - 1;
            return PX_OK;
        }
        if (list != NULL && list->count == 0)
            list_emptied(r, atom, constant);
        guard_release(r, t, c, guard);
        code = PX_MEMORY;
    }
    if (atom[1] == PX_EQUAL_NUMBER)
        number_release(r, constant);
    return code;
}

/* A posting has moved in its list: its row gets to know. */
static void posting_moved(px_registry *r, const int32_t *atom, int32_t constant, int simple, px_item item,
                          int32_t from, int32_t to)
{
    int by_owner = simple || item.clause <= PX_SURE;
    int32_t owner = by_owner ? px_some_owner(r, item.row) : -1;
    int32_t number = by_owner ? r->owners[owner].template_ : r->clauses[item.clause].template_;
    int32_t row = by_owner ? r->owners[owner].row : item.row;
    px_template *t = &r->templates[number];
    for (int32_t clause = t->clause; clause >= 0; clause = r->clauses[clause].next) {
        const px_clause *c = &r->clauses[clause];
        const int32_t *cover = t->words + c->chosen;
        for (int32_t i = 0; i < cover[1]; i++) {
            const int32_t *other = cover + 2 + 4 * i;
            int32_t *place = &t->place[(size_t)row * (size_t)t->posts + (size_t)(c->posts + i)];
            if (*place == from && other[0] == atom[0] && other[1] == atom[1] &&
                is_simple(t, c) == simple && constant_of(r, t, other, row) == constant) {
                *place = to;
                return;
            }
        }
    }
}

static void unpost(px_registry *r, px_template *t, int32_t clause, const int32_t *atom, int32_t row,
                   int32_t place)
{
    const px_clause *c = &r->clauses[clause];
    int simple = is_simple(t, c);
    if (is_range(atom[1])) {
        double number = t->cells[(size_t)row * (size_t)t->width + (size_t)atom[2]].number;
        if (number == number)
            px_sorted_remove(&r->values[atom[0]]->ranges[atom[1] - PX_RANGE], number,
                             item_of(r, t, c, clause, atom, row));
        return;
    }
    if (place < 0)
        return;
    int32_t constant = constant_of(r, t, atom, row);
    px_list *list = list_of(r, atom, constant, simple, 0);
    uint32_t last = list->count - 1;
    if (c->pair)
        guard_release(r, t, c, px_guards(list)[place]);
    px_list_remove(list, (uint32_t)place);
    if (list->count == 0)
        list_emptied(r, atom, constant);
    else if ((uint32_t)place != last)
        posting_moved(r, atom, constant, simple, px_items(list)[place], (int32_t)last, place);
    if (atom[1] == PX_EQUAL_NUMBER)
        number_release(r, constant);
}

int px_next_atom(const px_registry *r, const px_template *t, px_atom *a)
{
    int32_t i = a->atom == NULL ? 0 : a->post - a->clause->posts + 1;
    if (a->atom == NULL)
        a->number = t->clause;
    for (; a->number >= 0; a->number = a->clause->next, i = 0) {
        a->clause = &r->clauses[a->number];
        const int32_t *cover = t->words + a->clause->chosen;
        if (i < cover[1]) {
            a->atom = cover + 2 + 4 * i;
            a->post = a->clause->posts + i;
            return 1;
        }
    }
    return 0;
}

static void unpost_some(px_registry *r, px_template *t, int32_t row, int32_t posts)
{
    px_atom a = {0};
    while (px_next_atom(r, t, &a) && a.post < posts) {
        int32_t *place = &t->place[(size_t)row * (size_t)t->posts + (size_t)a.post];
        unpost(r, t, a.number, a.atom, row, *place);
        *place = -1; /* other postings of the row may be in the same list, and move to where this one was */
        flag(r, a.atom[0]);
    }
}

void px_unpost_row(px_registry *r, px_template *t, int32_t row)
{
    r->changes++;
    unpost_some(r, t, row, t->posts);
}

int px_post_row(px_registry *r, px_template *t, int32_t row)
{
    r->changes++;
    px_atom a = {0};
    while (px_next_atom(r, t, &a)) {
        int32_t *place = &t->place[(size_t)row * (size_t)t->posts + (size_t)a.post];
        if (post(r, t, a.number, a.atom, row, place) != PX_OK) {
            unpost_some(r, t, row, a.post);
            return PX_MEMORY;
        }
        flag(r, a.atom[0]);
    }
    return PX_OK;
}

/* The row has one owner instead of a crowd, or the reverse: postings that name them change. */
void px_rename_postings(px_registry *r, px_template *t, int32_t row)
{
    px_atom a = {0};
    int32_t owner = named_owner(r, t, row);
    while (px_next_atom(r, t, &a)) {
        int32_t place = t->place[(size_t)row * (size_t)t->posts + (size_t)a.post];
        if (place >= 0 && names_owner(t, a.clause, a.atom))
            px_items(list_of(r, a.atom, constant_of(r, t, a.atom, row), is_simple(t, a.clause), 0))[place].row =
                owner;
    }
}
