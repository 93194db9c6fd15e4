# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The inner loops of the columnar matcher in C: what `dense` and `bulk` do, some ten times faster.

Sets of rows are bit sets. In these, rows have *positions*: the rows of one spine are neighbours, so
that an operation on a spine handles 64 rows at once (`_spines`). This module does not know questions:
it runs programs (`extract.filtertool.matchers.columnar.program`) and joins their results with spines.
"""

from array import array

from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static int first_bit(unsigned long long x) { unsigned long i; _BitScanForward64(&i, x); return (int)i; }
    static int bits_of(unsigned long long x) { return (int)__popcnt64(x); }
    #else
    static int first_bit(unsigned long long x) { return __builtin_ctzll(x); }
    static int bits_of(unsigned long long x) { return __builtin_popcountll(x); }
    #endif
    """
    int first_bit(uint64_t) nogil
    int bits_of(uint64_t) nogil

cdef enum:
    HOP = 0
    DEEP_HOP = 1
    SEED = 2
    DEEP_SEED = 3
    AND = 4
    OR = 5
    NOT = 6
    ROWS = -1
    PAIRS = -2
    AT_ONCE = 1 << 23  # words


cdef inline bint has(const uint64_t* bits, int64_t at) noexcept nogil:
    return (bits[at >> 6] >> (at & 63)) & 1


cdef inline void put(uint64_t* bits, int64_t at) noexcept nogil:
    bits[at >> 6] |= (<uint64_t>1) << (at & 63)


cdef inline void drop(uint64_t* bits, int64_t at) noexcept nogil:
    bits[at >> 6] &= ~((<uint64_t>1) << (at & 63))


cdef inline uint64_t at_most(int64_t left) noexcept nogil:
    """Returns the first bits of a word, at most 64."""
    return ~(<uint64_t>0) if left >= 64 else ((<uint64_t>1) << left) - 1


cdef inline uint64_t word_of(const uint64_t* bits, int64_t at, int64_t left) noexcept nogil:
    """Returns the bits from a position on, at most 64; NULL has all."""
    cdef uint64_t word
    if bits == NULL:
        return at_most(left)
    word = bits[at >> 6] >> (at & 63)
    if at & 63 and left > 64 - (at & 63):
        word |= bits[(at >> 6) + 1] << (64 - (at & 63))
    return word & at_most(left)


cdef int64_t summed(
    const uint64_t* some, bint others, int64_t many, const int32_t* fan
) noexcept nogil:
    """Returns the sum of the numbers at the positions in a set, or at all others."""
    cdef int64_t total = 0, at
    cdef uint64_t x
    for at in range(0, many, 64):
        x = some[at >> 6]
        if others:
            x = ~x & at_most(many - at)
        while x:
            total += fan[at + first_bit(x)]
            x &= x - 1
    return total


cdef int64_t every_of(int64_t many, const int32_t* fan) noexcept nogil:
    """Returns the sum of the numbers at all positions."""
    cdef int64_t i, total = 0
    for i in range(many):
        total += fan[i]
    return total


cdef int64_t count_in(
    const uint64_t* selected, int64_t many, const int32_t* fan, int64_t every
) noexcept nogil:
    """Returns the number of nodes below rows of a spine.

    Args:
        selected: The rows; NULL for all.
        many: The number of rows of the spine.
        fan: The number of nodes below each row.
        every: The number of nodes below all rows.
    """
    cdef int64_t at, chosen = 0
    if selected == NULL:
        return every
    for at in range(0, many, 64):
        chosen += bits_of(selected[at >> 6])
    if 2 * chosen <= many:
        return summed(selected, False, many, fan)
    return every - summed(selected, True, many, fan)


cdef class Sets:
    """The results of a program's operations on one batch: a set of rows for each."""

    cdef uint64_t* bits
    cdef Py_ssize_t rows, words, count, room, operations
    cdef int32_t* place
    cdef const int32_t[::1] item, position, parent
    cdef const int64_t[::1] up

    def __cinit__(self):
        self.bits = NULL
        self.place = NULL

    def __dealloc__(self):
        free(self.bits)
        free(self.place)

    def __init__(
        self,
        const int32_t[::1] op,
        const int32_t[::1] name,
        const int32_t[::1] first,
        const int32_t[::1] second,
        const int64_t[::1] given,
        const int64_t[::1] seed_at,
        const int64_t[::1] seeds,
        const int64_t[::1] without_at,
        const int64_t[::1] without,
        const int64_t[::1] named_at,
        const int64_t[::1] named,
        const int64_t[::1] row_name,
        const int64_t[::1] up,
        const int32_t[::1] item,
        const int32_t[::1] position,
        const int32_t[::1] parent,
    ):
        """Runs a program.

        Args:
            op, name, first, second: The program.
            given: For each seed the number of its set; equal sets may share a number.
            seed_at, seeds: The start of each set's rows, and the rows.
            without_at, without: For each seed, the rows to leave out.
            named_at, named: The start of each name's rows, and the rows.
            row_name, up: For each row its name and its parent.
            item, position: For each position its row, and the other way round.
            parent: For each position that of the row's parent; -1 for a document node.
        """
        cdef Py_ssize_t i, place
        cdef int32_t a, b
        cdef uint64_t* here
        cdef bint some
        self.item, self.position, self.parent, self.up = item, position, parent, up
        self.rows = item.shape[0]
        self.words = (self.rows + 63) // 64
        self.operations = op.shape[0]
        self.place = <int32_t*>malloc((self.operations + 1) * sizeof(int32_t))
        if self.place == NULL:
            raise MemoryError
        cdef int32_t[::1] made = array('i', [-1]) * (2 * seed_at.shape[0])  # sets of seeds
        for i in range(self.operations):
            a, b = first[i], second[i]
            self.place[i] = -1
            if op[i] == OR:
                if self.place[a] < 0:
                    self.place[i] = self.place[b]
                    continue
                if self.place[b] < 0:
                    self.place[i] = self.place[a]
                    continue
            elif op[i] == SEED or op[i] == DEEP_SEED:
                a = name[i]
                self.place[i] = self.seed(
                    op[i] == DEEP_SEED,
                    <int32_t>given[a],
                    seed_at,
                    seeds,
                    without[without_at[a] : without_at[a + 1]],
                    made,
                )
                continue
            elif op[i] != NOT and ((a >= 0 and self.place[a] < 0) or (b >= 0 and self.place[b] < 0)):
                continue
            here = self.fresh()
            if op[i] == HOP or op[i] == DEEP_HOP:
                some = self.hop(here, op[i] == DEEP_HOP, name[i], a, b, named_at, named, row_name)
            else:
                some = self.join(here, op[i], self.set_of(a), self.set_of(b))
            if some:
                self.place[i] = self.keep()

    cdef const uint64_t* set_of(self, int32_t number):
        if number < 0 or self.place[number] < 0:
            return NULL
        return self.bits + self.place[number] * self.words

    cdef uint64_t* fresh(self) except? NULL:
        """Reserves room for a set, after all others."""
        cdef uint64_t* grown
        cdef Py_ssize_t room
        if self.count >= self.room:
            room = self.room * 2
            if self.room == 0:  # enough for all, or for many at once, so that they are not moved
                room = max(64, min(self.operations, AT_ONCE // self.words))
            grown = <uint64_t*>realloc(self.bits, (room * self.words + 1) * sizeof(uint64_t))
            if grown == NULL:
                raise MemoryError
            self.bits = grown
            self.room = room
        return self.bits + self.count * self.words

    cdef int32_t keep(self):
        """Returns the place of the last set."""
        self.count += 1
        return <int32_t>(self.count - 1)

    cdef inline void climb(self, uint64_t* out, int64_t row, bint deep) noexcept nogil:
        """Adds a row and, if deep, its ancestors; a set with a row already has these."""
        if not deep:
            if row >= 0:
                put(out, self.position[row])
            return
        while row >= 0 and not has(out, self.position[row]):
            put(out, self.position[row])
            row = self.up[row]

    cdef bint hop(
        self,
        uint64_t* out,
        bint deep,
        int32_t name,
        int32_t filter_,
        int32_t rest,
        const int64_t[::1] named_at,
        const int64_t[::1] named,
        const int64_t[::1] row_name,
    ):
        cdef const uint64_t* a = self.set_of(filter_)
        cdef const uint64_t* b = self.set_of(rest)
        cdef Py_ssize_t w
        cdef int64_t row, at
        cdef uint64_t bits
        cdef bint some = False
        if name >= named_at.shape[0] - 1:
            return False
        memset(out, 0, self.words * sizeof(uint64_t))
        # Few rows have the name, as a rule; if any name will do, the filter leaves fewer rows.
        if name >= 0 and (named_at[name + 1] - named_at[name] < 4 * self.words or (a == NULL and b == NULL)):
            for w in range(named_at[name], named_at[name + 1]):
                row = named[w]
                at = self.position[row]
                if (a == NULL or has(a, at)) and (b == NULL or has(b, at)):
                    self.climb(out, self.up[row], deep)
                    some = True
            return some
        for w in range(self.words):
            bits = at_most(self.rows - 64 * w)
            if a != NULL:
                bits &= a[w]
            if b != NULL:
                bits &= b[w]
            while bits:
                row = self.item[w * 64 + first_bit(bits)]
                bits &= bits - 1
                if row_name[row] == name or (name < 0 and row_name[row] >= 0):
                    self.climb(out, self.up[row], deep)
                    some = True
        return some

    cdef int32_t seed(
        self,
        bint deep,
        int32_t number,
        const int64_t[::1] seed_at,
        const int64_t[::1] seeds,
        const int64_t[::1] without,
        int32_t[::1] made,
    ) except -2:
        """Returns the place of the set of a seed; -1 if it is empty."""
        cdef uint64_t* out
        cdef Py_ssize_t i
        cdef int64_t row
        cdef bint some = False
        if not without.shape[0]:
            if made[2 * number + deep] >= 0 or seed_at[number] == seed_at[number + 1]:
                return made[2 * number + deep]
            out = self.fresh()
            memset(out, 0, self.words * sizeof(uint64_t))
            for i in range(seed_at[number], seed_at[number + 1]):
                self.climb(out, seeds[i], deep)
            made[2 * number + deep] = self.keep()
            return made[2 * number + deep]
        if self.seed(False, number, seed_at, seeds, without[:0], made) < 0:
            return -1
        out = self.fresh()
        memcpy(out, self.bits + made[2 * number] * self.words, self.words * sizeof(uint64_t))
        for i in range(without.shape[0]):
            drop(out, self.position[without[i]])
        for i in range(self.words):
            if out[i]:
                some = True
                break
        if some and deep:
            for i in range(seed_at[number], seed_at[number + 1]):
                if has(out, self.position[seeds[i]]):
                    self.climb(out, self.up[seeds[i]], True)
        return self.keep() if some else -1

    cdef bint join(self, uint64_t* out, int32_t op, const uint64_t* a, const uint64_t* b):
        cdef Py_ssize_t w
        cdef uint64_t some = 0
        if op == AND:
            for w in range(self.words):
                out[w] = a[w] & b[w]
                some |= out[w]
        elif op == OR:
            for w in range(self.words):
                out[w] = a[w] | b[w]
            some = 1
        else:
            for w in range(self.words):
                out[w] = at_most(self.rows - 64 * w)
                if a != NULL:
                    out[w] &= ~a[w]
                some |= out[w]
        return some != 0

    # -- results

    def some(self, const int64_t[::1] numbers, uint8_t[::1] out):
        """Sets which operations have rows."""
        cdef Py_ssize_t i
        for i in range(numbers.shape[0]):
            out[i] = self.place[numbers[i]] >= 0

    def matching(
        self,
        const int64_t[::1] spines,
        const int64_t[::1] spine_above,
        const int64_t[::1] row_at,
        const int64_t[::1] row_count,
        const int64_t[::1] stem_at,
        const int64_t[::1] stem_items,
        const int64_t[::1] stem_above,
        const int64_t[::1] stem_filter,
        const int64_t[::1] branch_at,
        const int64_t[::1] stem,
        const int64_t[::1] tail,
        const int64_t[::1] question,
        const int64_t[::1] unit,
        uint8_t[:, ::1] out,
        int64_t[:, ::1] pairs,
        const int64_t[::1] counted,
        const int32_t[:, ::1] fans,
        int64_t[:, ::1] counts,
    ):
        """Finds the rows that branches select and from which their tails select nodes.

        Args:
            spines: The spines of the batch, parents first.
            spine_above: For each spine the one above.
            row_at, row_count: For each spine the position of its first row, and the number of rows.
            stem_at, stem_items: The stems of each spine.
            stem_above, stem_filter: For each stem, the stem above and the operation that its filter
                is; -1 for none.
            branch_at: The branches of each spine.
            stem, tail, question: For each branch its stem, the operation that its tail is, -1 for
                none, and its question.
            unit: For each row.
            out: For each unit a bit for each question that matches; or empty.
            pairs: Branches and their rows, while there is room.
            counted: For each branch whether its rows need only be counted: `PAIRS` for no, `ROWS`
                for the rows themselves, else which of the fans says how many nodes its tail leads
                to; or nothing at all, for no.
            fans: For each counted tail, the number of nodes that it selects from each position.
            counts: For each unit and question the number of nodes of the counted branches.

        Returns:
            How many pairs there are.
        """
        cdef Py_ssize_t stems = stem_above.shape[0]
        cdef Py_ssize_t used = 0, room = 1 << 16, i, j, k
        cdef uint64_t* pool = <uint64_t*>malloc(room * sizeof(uint64_t))
        cdef int64_t* stem_place = <int64_t*>malloc((stems + 1) * sizeof(int64_t))
        cdef int64_t* totals = <int64_t*>malloc((fans.shape[0] + 1) * sizeof(int64_t))
        cdef int64_t spine, many, s, a, t, q, row, at, base, base_above, fan, total
        cdef const uint64_t* bits
        cdef const uint64_t* selected
        cdef const uint64_t* leading
        cdef const uint64_t* above
        cdef uint64_t* here
        cdef uint64_t* grown
        cdef uint64_t x, left, some
        cdef bint mark = out.shape[0] > 0
        cdef bint counting = counted.shape[0] > 0
        cdef bint one = counts.shape[0] == 1
        cdef Py_ssize_t found = 0, places = pairs.shape[1]
        if not (pool and stem_place and totals):
            free(pool)
            free(stem_place)
            free(totals)
            raise MemoryError
        for i in range(stems):
            stem_place[i] = -1
        try:
            for i in range(spines.shape[0]):
                spine = spines[i]
                base, many = row_at[spine], row_count[spine]
                base_above = row_at[spine_above[spine]] if spine else 0
                for k in range(fans.shape[0]):
                    totals[k] = -1
                for k in range(stem_at[spine], stem_at[spine + 1]):
                    s = stem_items[k]
                    a, t = stem_above[s], stem_filter[s]
                    if (a >= 0 and stem_place[a] < 0) or (t >= 0 and self.place[t] < 0):
                        continue
                    if used + many // 64 + 1 > room:
                        room = 2 * room + many // 64 + 1
                        grown = <uint64_t*>realloc(pool, room * sizeof(uint64_t))
                        if grown == NULL:
                            raise MemoryError
                        pool = grown
                    here = pool + used
                    above = NULL if a < 0 else pool + stem_place[a]
                    bits = self.set_of(<int32_t>t)
                    some = 0
                    for at in range(0, many, 64):
                        x = left = word_of(bits, base + at, many - at)
                        if above != NULL:
                            while left:
                                if not has(above, self.parent[base + at + first_bit(left)] - base_above):
                                    x &= ~(left & (~left + 1))
                                left &= left - 1
                        here[at >> 6] = x
                        some |= x
                    if some:
                        stem_place[s] = used
                        used += (many + 63) // 64
                for j in range(branch_at[spine], branch_at[spine + 1]):
                    s, t, q = stem[j], tail[j], question[j]
                    if (s >= 0 and stem_place[s] < 0) or (t >= 0 and self.place[t] < 0):
                        continue
                    selected = NULL if s < 0 else pool + stem_place[s]
                    leading = self.set_of(<int32_t>t)
                    fan = counted[j] if counting else PAIRS
                    if fan >= 0 and one:
                        if totals[fan] < 0:
                            totals[fan] = every_of(many, &fans[fan, base])
                        counts[0, q] += count_in(selected, many, &fans[fan, base], totals[fan])
                        continue
                    total = 0
                    for at in range(0, many, 64):
                        x = word_of(leading, base + at, many - at)
                        if selected != NULL:
                            x &= selected[at >> 6]
                        if fan == ROWS and one:
                            total += bits_of(x)
                            continue
                        while x:
                            row = self.item[base + at + first_bit(x)]
                            if fan != PAIRS:
                                counts[unit[row], q] += 1 if fan == ROWS else fans[fan, base + at + first_bit(x)]
                            elif mark:
                                out[unit[row], q >> 3] |= <uint8_t>(1 << (q & 7))
                            else:
                                if found < places:
                                    pairs[0, found] = j
                                    pairs[1, found] = row
                                found += 1
                            x &= x - 1
                    if total:
                        counts[0, q] += total
        finally:
            free(pool)
            free(stem_place)
            free(totals)
        return found


def count_bits(const uint8_t[:, ::1] bits):
    """Returns the number of set bits."""
    cdef Py_ssize_t i, j, n = 0
    cdef uint8_t x
    for i in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            x = bits[i, j]
            while x:
                n += 1
                x &= x - 1
    return n


def list_bits(const uint8_t[:, ::1] bits, int64_t[:, ::1] out):
    """Writes row and column of each set bit, in this order."""
    cdef Py_ssize_t i, j, n = 0
    cdef uint8_t x
    for i in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            x = bits[i, j]
            while x:
                out[0, n] = i
                out[1, n] = j * 8 + first_bit(x)
                n += 1
                x &= x - 1
