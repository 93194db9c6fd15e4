# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The inner loops of the columnar matcher in C: what `dense` and `bulk` do, some ten times faster.

Sets of rows are bit sets. Nothing here knows what a question is: it runs programs
(`extract.filtertool.columnar.program`) and joins what they give with spines.
"""

from array import array

from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memset

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
    NAME_SLOTS = 4096
    ROWS = -1
    PAIRS = -2


cdef inline bint has(const uint64_t* bits, int64_t at) noexcept nogil:
    return (bits[at >> 6] >> (at & 63)) & 1


cdef inline void put(uint64_t* bits, int64_t at) noexcept nogil:
    bits[at >> 6] |= (<uint64_t>1) << (at & 63)


cdef class Sets:
    """What the operations of a program give on one batch: a set of rows each."""

    cdef uint64_t* bits
    cdef Py_ssize_t words, count, room, rows
    cdef int32_t* place
    cdef Py_ssize_t operations

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
        const int64_t[::1] named_at,
        const int64_t[::1] named,
        const int64_t[::1] row_name,
        const int64_t[::1] up,
    ):
        """Runs a program.

        Args:
            op, name, first, second: The program.
            given: For each set that is given, its number; the same sets may have the same.
            seed_at, seeds: Where the rows of each number begin, and the rows.
            named_at, named: Where the rows of each name begin, and the rows.
            row_name, up: For each row its name and its parent.
        """
        cdef Py_ssize_t i
        cdef int32_t a, b
        cdef uint64_t* here
        cdef bint some
        cdef int64_t known, known_at
        self.rows = row_name.shape[0]
        self.words = (self.rows + 63) // 64
        self.operations = op.shape[0]
        self.place = <int32_t*>malloc((self.operations + 1) * sizeof(int32_t))
        if self.place == NULL:
            raise MemoryError
        cdef int64_t[::1] done = array('q', [-1]) * (2 * seed_at.shape[0])  # by whom a set was made
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
            elif op[i] != NOT and ((a >= 0 and self.place[a] < 0) or (b >= 0 and self.place[b] < 0)):
                continue
            here = self.fresh()
            if op[i] == HOP or op[i] == DEEP_HOP:
                some = self.hop(here, op[i] == DEEP_HOP, name[i], a, b, named_at, named, row_name, up)
            elif op[i] == SEED or op[i] == DEEP_SEED:
                known = given[name[i]]
                known_at = 2 * known + (op[i] == DEEP_SEED)
                if done[known_at] >= 0:
                    self.place[i] = self.place[done[known_at]]
                    continue
                done[known_at] = i
                some = self.seed(here, op[i] == DEEP_SEED, seed_at[known], seed_at[known + 1], seeds, up)
            else:
                some = self.join(here, op[i], self.set_of(a), self.set_of(b))
            if some:
                self.place[i] = <int32_t>self.count
                self.count += 1

    cdef const uint64_t* set_of(self, int32_t number):
        if number < 0 or self.place[number] < 0:
            return NULL
        return self.bits + self.place[number] * self.words

    cdef uint64_t* fresh(self) except NULL:
        """An empty set, after all others."""
        cdef uint64_t* grown
        cdef Py_ssize_t room
        if self.count >= self.room:
            room = 64 if self.room == 0 else self.room * 2
            grown = <uint64_t*>realloc(self.bits, room * self.words * sizeof(uint64_t) + 8)
            if grown == NULL:
                raise MemoryError
            self.bits = grown
            self.room = room
        grown = self.bits + self.count * self.words
        memset(grown, 0, self.words * sizeof(uint64_t))
        return grown

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
        const int64_t[::1] up,
    ):
        cdef const uint64_t* a = self.set_of(filter_)
        cdef const uint64_t* b = self.set_of(rest)
        cdef const uint64_t* c
        cdef Py_ssize_t w, at, stop
        cdef int64_t row
        cdef uint64_t bits
        cdef bint some = False
        if name >= named_at.shape[0] - 1:
            return False
        # Few rows have the name, as a rule; but where any may do, those that are left are fewer.
        if name >= 0 and (named_at[name + 1] - named_at[name] < 4 * self.words or (a == NULL and b == NULL)):
            at, stop = named_at[name], named_at[name + 1]
            for w in range(at, stop):
                row = named[w]
                if (a == NULL or has(a, row)) and (b == NULL or has(b, row)):
                    climb(out, up[row], deep, up)
                    some = True
            return some
        for w in range(self.words):
            bits = ~(<uint64_t>0)
            if a != NULL:
                bits &= a[w]
            if b != NULL:
                bits &= b[w]
            while bits:
                row = w * 64 + first_bit(bits)
                bits &= bits - 1
                if row >= self.rows:
                    break
                if row_name[row] == name or (name < 0 and row_name[row] >= 0):
                    climb(out, up[row], deep, up)
                    some = True
        return some

    cdef bint seed(
        self,
        uint64_t* out,
        bint deep,
        int64_t at,
        int64_t stop,
        const int64_t[::1] seeds,
        const int64_t[::1] up,
    ):
        cdef int64_t i
        for i in range(at, stop):
            climb(out, seeds[i], deep, up)
        return stop > at

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
                out[w] = ~a[w] if a != NULL else ~(<uint64_t>0)
            if self.rows & 63:
                out[self.words - 1] &= ((<uint64_t>1) << (self.rows & 63)) - 1
            for w in range(self.words):
                some |= out[w]
        return some != 0

    # -- what they give

    def some(self, const int64_t[::1] numbers, uint8_t[::1] out):
        """Which operations give any rows."""
        cdef Py_ssize_t i
        for i in range(numbers.shape[0]):
            out[i] = self.place[numbers[i]] >= 0

    def at(self, const int64_t[::1] numbers, const int64_t[::1] rows, uint8_t[:, ::1] out):
        """What operations say of some rows, as a matrix."""
        cdef Py_ssize_t i, j
        cdef const uint64_t* bits
        for i in range(numbers.shape[0]):
            bits = self.set_of(<int32_t>numbers[i])
            for j in range(rows.shape[0]):
                out[i, j] = 0 if bits == NULL else has(bits, rows[j])

    def matching(
        self,
        const int64_t[::1] spines,
        const int64_t[::1] row_at,
        const int64_t[::1] row_items,
        const int64_t[::1] stem_at,
        const int64_t[::1] stem_items,
        const int64_t[::1] stem_above,
        const int64_t[::1] stem_filter,
        const int64_t[::1] branch_at,
        const int64_t[::1] stem,
        const int64_t[::1] tail,
        const int64_t[::1] question,
        const int64_t[::1] unit,
        const int64_t[::1] up,
        uint8_t[:, ::1] out,
        int64_t[:, ::1] pairs,
        const int64_t[::1] counted,
        const int64_t[:, ::1] fans,
        int64_t[:, ::1] counts,
    ):
        """Finds the rows that branches select and from which their tails lead on.

        Args:
            spines: Those that the batch has, the ones above first.
            row_at, row_items: The rows of each spine.
            stem_at, stem_items: The stems of each spine.
            stem_above, stem_filter: For each stem, the stem above and the operation that its filter
                is; -1 for none.
            branch_at: The branches of each spine.
            stem, tail, question: For each branch its stem, the operation that its tail is, -1 for
                none, and its question.
            unit, up: For each row.
            out: For each unit a bit for each question that has found anything; or nothing at all.
            pairs: Branches and their rows, while there is room.
            counted: For each branch whether its rows need only be counted: `PAIRS` for no, `ROWS`
                for the rows themselves, else which of the fans says how many nodes its tail leads
                to; or nothing at all, for no.
            fans: For each of some tails, to how many nodes it leads from each row.
            counts: For each unit and question how many nodes the branches that are counted have.

        Returns:
            How many pairs there are.
        """
        cdef Py_ssize_t stems = stem_above.shape[0]
        cdef Py_ssize_t used = 0, kept, room = 1 << 16, size, n, i, j, k, w
        cdef uint64_t* pool = <uint64_t*>malloc(room * sizeof(uint64_t))
        cdef int64_t* stem_place = <int64_t*>malloc((stems + 1) * sizeof(int64_t))
        cdef int64_t* tail_place = <int64_t*>malloc((self.operations + 1) * sizeof(int64_t))
        cdef int64_t* tail_spine = <int64_t*>malloc((self.operations + 1) * sizeof(int64_t))
        cdef int32_t* local = <int32_t*>malloc((self.rows + 1) * sizeof(int32_t))
        cdef int64_t spine, s, a, t, q, row
        cdef const uint64_t* bits
        cdef uint64_t* here
        cdef uint64_t* grown
        cdef uint64_t* above
        cdef uint64_t* selected
        cdef uint64_t* leading
        cdef uint64_t x, every
        cdef bint some
        cdef bint mark = out.shape[0] > 0
        cdef bint counting = counted.shape[0] > 0
        cdef bint one = counts.shape[0] == 1
        cdef int64_t fan, total
        cdef Py_ssize_t found = 0, places = pairs.shape[1]
        if not (pool and stem_place and tail_place and tail_spine and local):
            free(pool); free(stem_place); free(tail_place); free(tail_spine); free(local)
            raise MemoryError
        for i in range(stems):
            stem_place[i] = -1
        for i in range(self.operations):
            tail_spine[i] = -1
        try:
            for i in range(spines.shape[0]):
                spine = spines[i]
                n = row_at[spine + 1] - row_at[spine]
                size = (n + 63) // 64
                for j in range(n):
                    local[row_items[row_at[spine] + j]] = <int32_t>j
                for k in range(stem_at[spine], stem_at[spine + 1]):
                    s = stem_items[k]
                    a, t = stem_above[s], stem_filter[s]
                    if (a >= 0 and stem_place[a] < 0) or (t >= 0 and self.place[t] < 0):
                        continue
                    if used + size > room:
                        room = 2 * room + size
                        grown = <uint64_t*>realloc(pool, room * sizeof(uint64_t))
                        if grown == NULL:
                            raise MemoryError
                        pool = grown
                    here = pool + used
                    memset(here, 0, size * sizeof(uint64_t))
                    above = NULL if a < 0 else pool + stem_place[a]
                    bits = self.set_of(<int32_t>t)
                    some = False
                    for j in range(n):
                        row = row_items[row_at[spine] + j]
                        if (bits == NULL or has(bits, row)) and (above == NULL or has(above, local[up[row]])):
                            put(here, j)
                            some = True
                    if some:
                        stem_place[s] = used
                        used += size
                kept = used
                for j in range(branch_at[spine], branch_at[spine + 1]):
                    s, t, q = stem[j], tail[j], question[j]
                    if (s >= 0 and stem_place[s] < 0) or (t >= 0 and self.place[t] < 0):
                        continue
                    if t >= 0 and tail_spine[t] != spine:
                        if used + size > room:
                            room = 2 * room + size
                            grown = <uint64_t*>realloc(pool, room * sizeof(uint64_t))
                            if grown == NULL:
                                raise MemoryError
                            pool = grown
                        here = pool + used
                        memset(here, 0, size * sizeof(uint64_t))
                        bits = self.set_of(<int32_t>t)
                        some = False
                        for w in range(n):
                            if has(bits, row_items[row_at[spine] + w]):
                                put(here, w)
                                some = True
                        tail_spine[t] = spine
                        tail_place[t] = used if some else -1
                        if some:
                            used += size
                    if t >= 0 and tail_place[t] < 0:
                        continue
                    selected = NULL if s < 0 else pool + stem_place[s]
                    leading = NULL if t < 0 else pool + tail_place[t]
                    fan = counted[j] if counting else PAIRS
                    total = 0
                    for w in range(size):
                        every = ~(<uint64_t>0)
                        if w == size - 1 and n & 63:
                            every = ((<uint64_t>1) << (n & 63)) - 1
                        x = every
                        if selected != NULL:
                            x &= selected[w]
                        if leading != NULL:
                            x &= leading[w]
                        if fan == ROWS and one:
                            total += bits_of(x)
                            continue
                        while x:
                            row = row_items[row_at[spine] + w * 64 + first_bit(x)]
                            x &= x - 1
                            if fan != PAIRS:
                                counts[unit[row], q] += 1 if fan == ROWS else fans[fan, row]
                                continue
                            if mark:
                                out[unit[row], q >> 3] |= <uint8_t>(1 << (q & 7))
                            elif found < places:
                                pairs[0, found] = j
                                pairs[1, found] = row
                            found += 1
                    if total:
                        counts[0, q] += total
                used = kept
        finally:
            free(pool)
            free(stem_place)
            free(tail_place)
            free(tail_spine)
            free(local)
        return found


cdef inline bint is_space(uint8_t c) noexcept nogil:
    return c == 32 or c == 9 or c == 10 or c == 13


def attributes(
    const uint8_t[::1] data, const int64_t[::1] start, const int64_t[::1] content, int64_t[:, ::1] out
):
    """Finds the attributes in start tags, namespace declarations among them.

    Args:
        data: A well-formed document.
        start, content: Where each start tag begins, and where it ends.
        out: For each attribute, while there is room: the number of its tag, its own number in the
            tag, where its name begins and ends, where its value begins and ends, whether the value
            has to be normalised, and the number of the first attribute of the same name, or its own
            if there are too many names to remember.

    Returns:
        How many there are.
    """
    cdef Py_ssize_t i, n = 0, room = out.shape[1], slot, names = 0
    cdef int64_t at, end, name, name_end, value, number, known
    cdef uint64_t hashed
    cdef uint8_t quote, c
    cdef bint odd
    cdef int64_t slots[NAME_SLOTS]
    memset(slots, 255, sizeof(slots))
    for i in range(start.shape[0]):
        at, end, number = start[i] + 1, content[i], 0
        if at < 1 or end > data.shape[0]:
            raise IndexError("a tag beyond the document")
        while at < end and not is_space(data[at]) and data[at] != 47 and data[at] != 62:
            at += 1
        while True:
            while at < end and is_space(data[at]):
                at += 1
            if at >= end or data[at] == 47 or data[at] == 62:
                break
            name = at
            hashed = 14695981039346656037U
            while at < end and data[at] != 61 and not is_space(data[at]):
                hashed = (hashed ^ data[at]) * 1099511628211U
                at += 1
            name_end = at
            while at < end and data[at] != 34 and data[at] != 39:
                at += 1
            if at >= end:
                break
            quote, odd = data[at], False
            at += 1
            value = at
            while at < end and data[at] != quote:
                c = data[at]
                odd = odd or c == 38 or (c < 32)
                at += 1
            if n < room:
                out[0, n] = i
                out[1, n] = number
                out[2, n] = name
                out[3, n] = name_end
                out[4, n] = value
                out[5, n] = at
                out[6, n] = odd
                slot = (hashed ^ (hashed >> 29)) & (NAME_SLOTS - 1)
                while slots[slot] >= 0:
                    known = slots[slot]
                    if out[3, known] - out[2, known] == name_end - name and memcmp(
                        &data[out[2, known]], &data[name], name_end - name
                    ) == 0:
                        break
                    slot = (slot + 1) & (NAME_SLOTS - 1)
                if slots[slot] < 0 and names < NAME_SLOTS // 2:
                    slots[slot] = n
                    names += 1
                out[7, n] = slots[slot] if slots[slot] >= 0 else n
            n += 1
            number += 1
            at += 1
    return n


def encode(
    const uint8_t[::1] data,
    const int64_t[::1] start,
    const int64_t[::1] stop,
    int64_t[::1] code,
    int64_t[::1] first,
):
    """Numbers slices of a document: the same bytes get the same number.

    Args:
        data: The document.
        start, stop: The slices.
        code: For each slice its number.
        first: For each number the first slice that has it.

    Returns:
        How many numbers there are.
    """
    cdef Py_ssize_t i, n = start.shape[0], slot, size = 64, count = 0
    cdef int64_t at, end, known, longest = data.shape[0]
    cdef uint64_t hashed
    cdef int64_t* slots
    while size < 2 * n:
        size *= 2
    slots = <int64_t*>malloc(size * sizeof(int64_t))
    if slots == NULL:
        raise MemoryError
    memset(slots, 255, size * sizeof(int64_t))
    try:
        for i in range(n):
            at, end = start[i], stop[i]
            if at < 0 or end < at or end > longest:
                raise IndexError("a slice beyond the document")
            hashed = 14695981039346656037U
            while at < end:
                hashed = (hashed ^ data[at]) * 1099511628211U
                at += 1
            slot = (hashed ^ (hashed >> 29)) & (size - 1)
            while slots[slot] >= 0:
                known = first[slots[slot]]
                if stop[known] - start[known] == end - start[i] and (
                    end == start[i]
                    or memcmp(&data[start[known]], &data[start[i]], end - start[i]) == 0
                ):
                    break
                slot = (slot + 1) & (size - 1)
            if slots[slot] < 0:
                slots[slot] = count
                first[count] = i
                count += 1
            code[i] = slots[slot]
    finally:
        free(slots)
    return count


def count_bits(const uint8_t[:, ::1] bits):
    """How many bits are set."""
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
    """The row and column of each bit that is set, in this order."""
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


cdef inline void climb(uint64_t* out, int64_t row, bint deep, const int64_t[::1] up) noexcept nogil:
    """Adds a row and, if deep, all above it; a set that has a row then has those already."""
    if row < 0:
        return
    if not deep:
        put(out, row)
        return
    while row >= 0 and not has(out, row):
        put(out, row)
        row = up[row]
