# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The constants of many queries in C: a dictionary of strings, and a search for all of them at once."""

import os

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

cdef extern from "hashing.h":
    uint64_t hash_of(const uint8_t*, size_t, const uint64_t*) nogil

cdef enum:
    WINDOW = 8  # bytes that are compared at once
    BITS = 16  # of the filter, for each string that is sought

cdef uint64_t[2] SECRET
SECRET[0] = int.from_bytes(os.urandom(8), "little")
SECRET[1] = int.from_bytes(os.urandom(8), "little")


cdef int check_slices(bytes buffer, const int64_t[::1] starts, const int64_t[::1] stops) except -1:
    cdef int64_t size = PyBytes_GET_SIZE(buffer)
    cdef Py_ssize_t i
    if starts.shape[0] != stops.shape[0]:
        raise IndexError("slices without an end")
    for i in range(starts.shape[0]):
        if not 0 <= starts[i] <= stops[i] <= size:
            raise IndexError("a slice beyond its buffer")
    return 0


cdef class Lexicon:
    """Numbers the distinct strings of a column, in the order in which they occur first."""

    cdef bytes buffer
    cdef const uint8_t* at
    cdef const int64_t[::1] starts, stops
    cdef Py_ssize_t mask
    cdef int32_t* slots
    cdef int32_t* first  # for each number the first string that has it
    cdef readonly Py_ssize_t count

    def __cinit__(self):
        self.slots = self.first = NULL

    def __dealloc__(self):
        free(self.slots)
        free(self.first)

    def __init__(
        self, bytes buffer, const int64_t[::1] starts, const int64_t[::1] stops, int32_t[::1] codes
    ):
        """Takes the strings as slices of a buffer; writes the number of each."""
        cdef Py_ssize_t i, slot
        if starts.shape[0] >= INT32_MAX // 4:
            raise MemoryError
        check_slices(buffer, starts, stops)
        self.buffer, self.starts, self.stops = buffer, starts, stops
        self.at = <const uint8_t*>PyBytes_AS_STRING(buffer)
        self.resize(64)
        for i in range(starts.shape[0]):
            slot = self.slot_of(self.at + starts[i], stops[i] - starts[i])
            if self.slots[slot] < 0:
                if 2 * self.count >= self.mask:
                    self.resize(2 * (self.mask + 1))
                    slot = self.slot_of(self.at + starts[i], stops[i] - starts[i])
                self.slots[slot] = <int32_t>self.count
                self.first[self.count] = <int32_t>i
                self.count += 1
            codes[i] = self.slots[slot]

    cdef int resize(self, Py_ssize_t size) except -1:
        """Makes room for half as many numbers as there are slots."""
        cdef int32_t* first = <int32_t*>realloc(self.first, (size // 2 + 1) * sizeof(int32_t))
        cdef Py_ssize_t number
        cdef int32_t i
        if first == NULL:
            raise MemoryError
        self.first = first
        free(self.slots)
        self.slots = <int32_t*>malloc(size * sizeof(int32_t))
        if self.slots == NULL:
            raise MemoryError
        memset(self.slots, 255, size * sizeof(int32_t))
        self.mask = size - 1
        for number in range(self.count):
            i = first[number]
            self.slots[self.slot_of(self.at + self.starts[i], self.stops[i] - self.starts[i])] = <int32_t>number
        return 0

    cdef inline Py_ssize_t slot_of(self, const uint8_t* at, int64_t size) noexcept nogil:
        cdef Py_ssize_t slot = hash_of(at, size, SECRET) & self.mask
        cdef int32_t i
        while self.slots[slot] >= 0:
            i = self.first[self.slots[slot]]
            if self.stops[i] - self.starts[i] == size and memcmp(self.at + self.starts[i], at, size) == 0:
                break
            slot = (slot + 1) & self.mask
        return slot

    def copy_first(self, int64_t[::1] out):
        """Writes for each number the first string that has it."""
        cdef Py_ssize_t i
        for i in range(self.count):
            out[i] = self.first[i]

    def find_all(
        self, bytes text, const int64_t[::1] starts, const int64_t[::1] stops, int64_t[::1] out
    ):
        """Writes the number of each slice of a text; -1 for a slice that is none of the strings."""
        cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(text)
        cdef Py_ssize_t i
        check_slices(text, starts, stops)
        for i in range(starts.shape[0]):
            out[i] = self.slots[self.slot_of(at + starts[i], stops[i] - starts[i])]


def group(const int32_t[::1] codes, int64_t[::1] at, int32_t[::1] items):
    """Sorts indices by code: those of a code are ``items[at[code] : at[code + 1]]``.

    Args:
        codes: The codes.
        at: One more than there are codes; filled in.
        items: Filled in.
    """
    cdef Py_ssize_t i, groups = at.shape[0] - 1
    cdef int64_t total = 0, size
    at[:] = 0
    for i in range(codes.shape[0]):
        if not 0 <= codes[i] < groups:
            raise IndexError("a code that is none")
        at[codes[i]] += 1
    for i in range(groups):
        size = at[i]
        at[i] = total
        total += size
    for i in range(codes.shape[0]):
        items[at[codes[i]]] = <int32_t>i
        at[codes[i]] += 1
    for i in range(groups, 0, -1):  # each is now where the next one starts
        at[i] = at[i - 1]
    at[0] = 0


cdef struct Key:
    uint64_t window  # the first bytes, as a number that sorts like them
    int32_t number


cdef inline uint64_t bytes_at(const uint8_t* at, int64_t size) noexcept nogil:
    """The first eight bytes, the first one lowest; zeros after the end."""
    cdef uint64_t word = 0
    memcpy(&word, at, WINDOW if size >= WINDOW else size)
    return word


cdef inline uint64_t window_of(const uint8_t* at, int64_t size) noexcept nogil:
    cdef uint64_t word = 0
    cdef int64_t i
    for i in range(WINDOW):
        word = (word << 8) | (at[i] if i < size else 0)
    return word


cdef inline int compared(const uint8_t* one, int64_t size, const uint8_t* other, int64_t other_size) noexcept nogil:
    cdef int order = memcmp(one, other, size if size < other_size else other_size)
    return order if order else (size > other_size) - (size < other_size)


cdef class PrefixSearch:
    """Finds which of many distinct strings occur in a text, or at the start of it.

    The strings are sorted. Those that are prefixes of the text from a place on are all among the
    last string that is not greater, its longest prefix among the strings, the longest prefix of
    that, and so on.
    """

    cdef bytes buffer
    cdef const uint8_t* at
    cdef const int64_t[::1] starts, stops
    cdef Key* keys  # sorted
    cdef int32_t* above  # for each of them the longest prefix of it, or -1
    cdef int32_t* far  # and a prefix of that, so far away that few lead to any
    cdef int64_t* seen  # for each number the last slice that it was found in, of all so far
    cdef uint8_t* bits  # a filter by the first bytes
    cdef Py_ssize_t count
    cdef int shift
    cdef int64_t empty, shortest, slices
    cdef uint64_t mask

    def __cinit__(self):
        self.keys = NULL
        self.above = NULL
        self.far = NULL
        self.seen = NULL
        self.bits = NULL

    def __dealloc__(self):
        free(self.keys)
        free(self.above)
        free(self.far)
        free(self.seen)
        free(self.bits)

    def __init__(self, bytes buffer, const int64_t[::1] starts, const int64_t[::1] stops):
        """Takes the strings as slices of a buffer."""
        cdef Py_ssize_t i, n = starts.shape[0]
        cdef int64_t size
        cdef uint64_t slot
        if n >= INT32_MAX // 4:
            raise MemoryError
        check_slices(buffer, starts, stops)
        self.buffer, self.starts, self.stops = buffer, starts, stops
        self.at = <const uint8_t*>PyBytes_AS_STRING(buffer)
        self.empty, self.shortest, self.shift, self.slices = -1, WINDOW, 58, 0
        while self.shift > 34 and (<Py_ssize_t>1 << (64 - self.shift)) < BITS * n:
            self.shift -= 1
        self.keys = <Key*>malloc((n + 1) * sizeof(Key))
        self.above = <int32_t*>malloc((n + 1) * sizeof(int32_t))
        self.far = <int32_t*>malloc((n + 1) * sizeof(int32_t))
        self.seen = <int64_t*>malloc((n + 1) * sizeof(int64_t))
        self.bits = <uint8_t*>malloc(<size_t>1 << (64 - self.shift - 3))
        if not (self.keys and self.above and self.far and self.seen and self.bits):
            raise MemoryError
        for i in range(n):
            size = stops[i] - starts[i]
            if size == 0:
                self.empty = i
                continue
            self.shortest = min(self.shortest, size)
            self.keys[self.count].window = window_of(self.at + starts[i], size)
            self.keys[self.count].number = <int32_t>i
            self.count += 1
        self.sort()
        self.link()
        self.mask = ~(<uint64_t>0) if self.shortest == WINDOW else bytes_at(b"\xff" * WINDOW, self.shortest)
        memset(self.seen, 255, n * sizeof(int64_t))
        memset(self.bits, 0, <size_t>1 << (64 - self.shift - 3))
        for i in range(self.count):
            slot = self.slot_of(bytes_at(self.head(i), self.size(i)))
            self.bits[slot >> 3] |= <uint8_t>(1 << (slot & 7))

    cdef inline const uint8_t* head(self, Py_ssize_t place) noexcept nogil:
        return self.at + self.starts[self.keys[place].number]

    cdef inline int64_t size(self, Py_ssize_t place) noexcept nogil:
        cdef int32_t number = self.keys[place].number
        return self.stops[number] - self.starts[number]

    cdef inline uint64_t slot_of(self, uint64_t word) noexcept nogil:
        return ((word & self.mask) * <uint64_t>0x9E3779B97F4A7C15U) >> self.shift

    cdef inline bint before(self, const Key* one, const Key* other) noexcept nogil:
        if one.window != other.window:
            return one.window < other.window
        return compared(
            self.at + self.starts[one.number], self.stops[one.number] - self.starts[one.number],
            self.at + self.starts[other.number], self.stops[other.number] - self.starts[other.number],
        ) < 0

    cdef int sort(self) except -1:
        """Merges runs of doubling length."""
        cdef Py_ssize_t width = 1, low, middle, high, i, j, k, n = self.count
        cdef Key* source = self.keys
        cdef Key* target = <Key*>malloc((n + 1) * sizeof(Key))
        cdef Key* other
        if target == NULL:
            raise MemoryError
        while width < n:
            low = 0
            while low < n:
                middle, high = min(low + width, n), min(low + 2 * width, n)
                i, j = low, middle
                for k in range(low, high):
                    if i < middle and (j >= high or not self.before(&source[j], &source[i])):
                        target[k] = source[i]
                        i += 1
                    else:
                        target[k] = source[j]
                        j += 1
                low += 2 * width
            other = source
            source = target
            target = other
            width *= 2
        self.keys = source
        free(target)
        return 0

    cdef int link(self) except -1:
        """Finds the longest prefix of each string: it is the one before, or a prefix of that.

        The second links are those of a skew binary list: from any string to any prefix of it they
        and the first ones together lead in a logarithmic number of steps.
        """
        cdef Py_ssize_t i
        cdef int32_t above, far
        cdef int32_t* depth = <int32_t*>malloc((self.count + 1) * sizeof(int32_t))  # the first is that of no string
        if depth == NULL:
            raise MemoryError
        depth[0] = 0
        for i in range(self.count):
            above = <int32_t>i - 1
            while above >= 0 and not (
                self.size(above) < self.size(i) and memcmp(self.head(above), self.head(i), self.size(above)) == 0
            ):
                above = self.above[above]
            self.above[i], self.far[i], depth[i + 1] = above, above, depth[above + 1] + 1
            far = self.far[above] if above >= 0 else -1
            if far >= 0 and depth[above + 1] - depth[far + 1] == depth[far + 1] - depth[self.far[far] + 1]:
                self.far[i] = self.far[far]
        free(depth)
        return 0

    cdef inline Py_ssize_t last_prefix(self, const uint8_t* at, int64_t size) noexcept nogil:
        """The longest string that a text starts with; -1 for none."""
        cdef Py_ssize_t low = 0, high = self.count, middle, far
        cdef uint64_t window = window_of(at, size)
        cdef int64_t same = 0, most
        while low < high:
            middle = (low + high) // 2
            if self.keys[middle].window < window or (
                self.keys[middle].window == window
                and compared(self.head(middle), self.size(middle), at, size) <= 0
            ):
                low = middle + 1
            else:
                high = middle
        low -= 1
        if low < 0:
            return -1
        most = min(size, self.size(low))
        while same + WINDOW <= most and memcmp(self.head(low) + same, at + same, WINDOW) == 0:
            same += WINDOW
        while same < most and self.head(low)[same] == at[same]:
            same += 1
        while low >= 0 and self.size(low) > same:
            far = self.far[low]
            low = far if far >= 0 and self.size(far) > same else self.above[low]
        return low

    def find_all(
        self, bytes text, const int64_t[::1] starts, const int64_t[::1] stops, bint begin, int64_t[:, ::1] out
    ):
        """Finds the strings that occur in slices of a text.

        Args:
            text: The text.
            starts, stops: Its slices.
            begin: Whether a string must be at the start of a slice.
            out: Slices and the numbers of strings in them, as far as there is room; each pair once.

        Returns:
            The number of pairs.
        """
        cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(text)
        cdef Py_ssize_t i, place, found = 0, room = out.shape[1]
        cdef int64_t here, last
        cdef int32_t number
        cdef uint64_t slot
        check_slices(text, starts, stops)
        for i in range(starts.shape[0]):
            if self.empty >= 0:
                if found < room:
                    out[0, found], out[1, found] = i, self.empty
                found += 1
            last = stops[i] - self.shortest
            if begin:
                last = min(last, starts[i])
            for here in range(starts[i], last + 1):
                slot = self.slot_of(bytes_at(at + here, stops[i] - here))
                if not (self.bits[slot >> 3] >> (slot & 7)) & 1:
                    continue
                place = self.last_prefix(at + here, stops[i] - here)
                while place >= 0:
                    number = self.keys[place].number
                    if self.seen[number] == self.slices + i:
                        break  # and so were its prefixes
                    self.seen[number] = self.slices + i
                    if found < room:
                        out[0, found], out[1, found] = i, number
                    found += 1
                    place = self.above[place]
        self.slices += starts.shape[0]
        return found


cdef inline bint holds_part(const uint8_t* at, int64_t size, const uint8_t* part, int64_t length) noexcept nogil:
    cdef const uint8_t* end = at + size - length
    if length == 0:
        return True
    while at <= end:
        at = <const uint8_t*>memchr(at, part[0], end - at + 1)
        if at == NULL:
            return False
        if memcmp(at, part, length) == 0:
            return True
        at += 1
    return False


def contained(
    bytes texts, const int64_t[::1] starts, const int64_t[::1] stops, const int64_t[::1] which,
    bytes parts, const int64_t[::1] part_starts, const int64_t[::1] part_stops, const int64_t[::1] which_part,
    bint begin, uint8_t[::1] out,
):
    """Fills in, for pairs of a text and a part, whether the text contains the part, or begins with it."""
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(texts)
    cdef const uint8_t* part_at = <const uint8_t*>PyBytes_AS_STRING(parts)
    cdef const uint8_t* text
    cdef const uint8_t* part
    cdef int64_t size, length, t, p
    cdef int64_t end = PyBytes_GET_SIZE(texts), part_end = PyBytes_GET_SIZE(parts)
    cdef Py_ssize_t i
    for i in range(out.shape[0]):  # there may be far more strings than pairs
        t, p = which[i], which_part[i]
        if not (0 <= t < starts.shape[0] and 0 <= p < part_starts.shape[0]):
            raise IndexError("a string that is none")
        if not (0 <= starts[t] <= stops[t] <= end and 0 <= part_starts[p] <= part_stops[p] <= part_end):
            raise IndexError("a slice beyond its buffer")
        text, size = at + starts[t], stops[t] - starts[t]
        part, length = part_at + part_starts[p], part_stops[p] - part_starts[p]
        if begin:
            out[i] = length <= size and memcmp(text, part, length) == 0
        else:
            out[i] = holds_part(text, size, part, length)
