# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Values in the bytes of documents, in C: attributes, texts of elements, and a dictionary of strings."""

import os

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, int8_t, int32_t, int64_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from extract.markup.node_kinds import NodeKind

cdef extern from "hashing.h":
    uint64_t hash_of(const uint8_t*, size_t, const uint64_t*) nogil

cdef enum:
    NAME_SLOTS = 4096
    WINDOW = 8  # bytes of a part that are compared first
    FILTER = 1 << 15
    TEXT = 1  # as `NodeKind.TEXT`
    SHORTEST = 7  # a tag with an attribute, after its bracket: a name, white space, `a=""` and `>`

assert TEXT == NodeKind.TEXT
PADDING = WINDOW  # bytes after the last value in `Dictionary.joined`

cdef uint64_t[2] SECRET
SECRET[0] = int.from_bytes(os.urandom(8), "little")
SECRET[1] = int.from_bytes(os.urandom(8), "little")


cdef struct Slice:
    const uint8_t* at
    int64_t size


cdef inline bint same(const Slice* one, const Slice* other) noexcept nogil:
    return one.size == other.size and memcmp(one.at, other.at, one.size) == 0


cdef class Slices:
    """Slices of byte strings."""

    cdef object buffers  # keeps them alive
    cdef Slice* every
    cdef readonly Py_ssize_t size
    cdef const int64_t[::1] which, start, stop

    def __cinit__(self):
        self.every = NULL

    def __dealloc__(self):
        free(self.every)

    def __init__(
        self, list buffers, const int64_t[::1] which, const int64_t[::1] start, const int64_t[::1] stop
    ):
        """Takes for each slice the number of its buffer, and its start and end there."""
        cdef Py_ssize_t i, many = len(buffers)
        cdef bytes buffer
        self.buffers, self.size = buffers, start.shape[0]
        self.which, self.start, self.stop = which, start, stop
        self.every = <Slice*>malloc((many + 1) * sizeof(Slice))
        if self.every == NULL:
            raise MemoryError
        for i in range(many):
            buffer = buffers[i]
            self.every[i].at = <const uint8_t*>PyBytes_AS_STRING(buffer)
            self.every[i].size = PyBytes_GET_SIZE(buffer)
        for i in range(self.size):
            if not 0 <= which[i] < many or not 0 <= start[i] <= stop[i] <= self.every[which[i]].size:
                raise IndexError("a slice beyond its buffer")

    cdef inline Slice at(self, Py_ssize_t i) noexcept nogil:
        cdef Slice here
        here.at = self.every[self.which[i]].at + self.start[i]
        here.size = self.stop[i] - self.start[i]
        return here


cdef class Dictionary:
    """A dictionary of slices: equal bytes get the same number. Slices of a number are a chain."""

    cdef object slices  # keeps the bytes alive
    cdef Py_ssize_t mask
    cdef readonly Py_ssize_t count
    cdef Slice* words
    cdef int32_t* slots
    cdef int32_t* codes
    cdef int32_t* first
    cdef int32_t* last
    cdef int32_t* following
    cdef int32_t* many

    def __cinit__(self):
        self.words = NULL
        self.slots = self.codes = self.first = self.last = self.following = self.many = NULL

    def __dealloc__(self):
        free(self.words)
        free(self.slots)
        free(self.codes)
        free(self.first)
        free(self.last)
        free(self.following)
        free(self.many)

    def __init__(self, Slices slices):
        cdef Py_ssize_t i, n = slices.size, slots = 64
        cdef int32_t code
        cdef Slice here
        if n >= INT32_MAX // 4:
            raise MemoryError
        while slots < 2 * n:
            slots *= 2
        self.slices, self.mask = slices, slots - 1
        self.words = <Slice*>malloc((n + 1) * sizeof(Slice))
        self.slots = <int32_t*>malloc(slots * sizeof(int32_t))
        self.codes = <int32_t*>malloc((n + 1) * sizeof(int32_t))
        self.first = <int32_t*>malloc((n + 1) * sizeof(int32_t))
        self.last = <int32_t*>malloc((n + 1) * sizeof(int32_t))
        self.following = <int32_t*>malloc((n + 1) * sizeof(int32_t))
        self.many = <int32_t*>malloc((n + 1) * sizeof(int32_t))
        if not (
            self.words and self.slots and self.codes
            and self.first and self.last and self.following and self.many
        ):
            raise MemoryError
        memset(self.slots, 255, slots * sizeof(int32_t))
        for i in range(n):
            here = slices.at(i)
            code = self.enter(&here)
            self.codes[i] = code
            self.following[i] = -1
            if self.many[code]:
                self.following[self.last[code]] = <int32_t>i
            else:
                self.first[code] = <int32_t>i
            self.last[code] = <int32_t>i
            self.many[code] += 1

    cdef Py_ssize_t slot_of(self, const Slice* word) noexcept nogil:
        cdef Py_ssize_t slot = hash_of(word.at, word.size, SECRET) & self.mask
        while self.slots[slot] >= 0 and not same(&self.words[self.slots[slot]], word):
            slot = (slot + 1) & self.mask
        return slot

    cdef int32_t enter(self, const Slice* word) noexcept nogil:
        cdef Py_ssize_t slot = self.slot_of(word)
        if self.slots[slot] < 0:
            self.slots[slot] = <int32_t>self.count
            self.words[self.count] = word[0]
            self.many[self.count] = 0
            self.count += 1
        return self.slots[slot]

    def find(self, bytes word):
        """Returns the number of a value; -1 if there is none."""
        cdef Slice here
        here.at, here.size = <const uint8_t*>PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word)
        return self.slots[self.slot_of(&here)]

    def find_all(self, Slices slices, int64_t[:, ::1] out):
        """Finds the slices that have a number in this dictionary.

        Args:
            slices: The slices.
            out: Numbers and slices, as far as there is room; in the order of slices.

        Returns:
            How many there are.
        """
        cdef Py_ssize_t i, found = 0, room = out.shape[1]
        cdef int32_t number
        cdef Slice here
        for i in range(slices.size):
            here = slices.at(i)
            number = self.slots[self.slot_of(&here)]
            if number >= 0:
                if found < room:
                    out[0, found] = number
                    out[1, found] = i
                found += 1
        return found

    def many_of(self, const int64_t[::1] numbers):
        """Returns the number of slices with these numbers."""
        cdef Py_ssize_t i, n = 0
        for i in range(numbers.shape[0]):
            n += self.many[numbers[i]]
        return n

    def list_of(self, const int64_t[::1] numbers, int64_t[::1] out):
        """Writes the slices with these numbers, those of one number in order."""
        cdef Py_ssize_t i, n = 0
        cdef int32_t at
        for i in range(numbers.shape[0]):
            at = self.first[numbers[i]]
            while at >= 0:
                out[n] = at
                n += 1
                at = self.following[at]

    def copy_codes(self, int64_t[::1] out):
        """Writes the number of each slice."""
        cdef Py_ssize_t i
        for i in range(out.shape[0]):
            out[i] = self.codes[i]

    def list_words(self):
        """Returns the value of each number."""
        cdef Py_ssize_t i
        return [
            PyBytes_FromStringAndSize(<const char*>self.words[i].at, self.words[i].size)
            for i in range(self.count)
        ]

    def joined(self, int64_t[::1] starts):
        """Returns all values, each after a zero byte, and eight bytes more; and their offsets."""
        cdef Py_ssize_t i, size = 0
        cdef bytes out
        cdef char* at
        for i in range(self.count):
            starts[i] = size
            size += self.words[i].size + 1
        out = PyBytes_FromStringAndSize(NULL, size + WINDOW)
        at = PyBytes_AS_STRING(out)
        memset(at + size, 0, WINDOW)
        for i in range(self.count):
            at[starts[i]] = 0
            memcpy(at + starts[i] + 1, self.words[i].at, self.words[i].size)
        return out


cdef inline uint64_t window_at(const uint8_t* at, uint64_t mask) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, at, WINDOW)
    return word & mask


cdef inline Py_ssize_t filter_of(uint64_t window) noexcept nogil:
    return (window * <uint64_t>0x9E3779B97F4A7C15U) >> 49


def search(bytes text, const int64_t[::1] starts, list parts, Py_ssize_t shortest, int64_t[:, ::1] out):
    """Searches many parts in many values at once.

    Args:
        text: All values, each after a zero byte, and eight more bytes.
        starts: The offsets of these zero bytes.
        parts: The parts.
        shortest: The least number of bytes of a part; at least 1.
        out: Parts and values that contain them, as far as there is room; each pair once.

    Returns:
        The number of pairs.
    """
    cdef Py_ssize_t i, word = 0, found = 0, many = len(parts), slot, room = out.shape[1]
    cdef Py_ssize_t size = PyBytes_GET_SIZE(text) - WINDOW
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(text)
    cdef uint64_t mask = ~(<uint64_t>0), window
    cdef uint8_t start[WINDOW]
    cdef bytes part
    cdef int32_t part_number
    cdef Slice* every = <Slice*>malloc((many + 1) * sizeof(Slice))
    cdef int32_t* following = <int32_t*>malloc((many + 1) * sizeof(int32_t))
    cdef Py_ssize_t* last = <Py_ssize_t*>malloc((many + 1) * sizeof(Py_ssize_t))
    cdef int32_t* heads = <int32_t*>malloc(FILTER * sizeof(int32_t))
    if not (every and following and last and heads):
        free(every); free(following); free(last); free(heads)
        raise MemoryError
    if shortest < WINDOW:
        memset(start, 0, WINDOW)
        memset(start, 255, shortest)
        memcpy(&mask, start, WINDOW)
    memset(heads, 255, FILTER * sizeof(int32_t))
    try:
        for i in range(many):
            part = parts[i]
            every[i].at, every[i].size = <const uint8_t*>PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part)
            last[i] = -1
            memset(start, 0, WINDOW)
            memcpy(start, every[i].at, min(every[i].size, <int64_t>WINDOW))
            slot = filter_of(window_at(start, mask))
            following[i] = heads[slot]
            heads[slot] = <int32_t>i
        for i in range(size):
            part_number = heads[filter_of(window_at(at + i, mask))]
            while part_number >= 0:
                if i + every[part_number].size <= size and memcmp(
                    at + i, every[part_number].at, every[part_number].size
                ) == 0:
                    while word + 1 < starts.shape[0] and starts[word + 1] <= i:
                        word += 1
                    if last[part_number] != word:
                        last[part_number] = word
                        if found < room:
                            out[0, found], out[1, found] = part_number, word
                        found += 1
                part_number = following[part_number]
    finally:
        free(every); free(following); free(last); free(heads)
    return found


def texts_of_rows(
    const int64_t[::1] begin,
    const int64_t[::1] end,
    const int64_t[::1] place,
    const int8_t[::1] kind,
    int64_t[::1] piece,
    uint8_t[::1] odd,
):
    """Finds the only piece of text of each element.

    Args:
        begin, end: For each element its place and the place after it; best in this order.
        place, kind: The pieces of text.
        piece: For each element its piece; -1 for none.
        odd: Whether there are several pieces, or the piece's value is not its bytes.
    """
    cdef Py_ssize_t i, low, high, middle, step, at = 0, pieces = place.shape[0]
    for i in range(begin.shape[0]):
        if i and begin[i] < begin[i - 1]:
            at = 0
        low, step = at, 1  # the next piece is not far, as a rule
        while low + step < pieces and place[low + step] < begin[i]:
            low += step
            step *= 2
        high = low + step if low + step < pieces else pieces
        while low < high:
            middle = (low + high) // 2
            if place[middle] < begin[i]:
                low = middle + 1
            else:
                high = middle
        at = low
        piece[i] = at if at < pieces and place[at] < end[i] else -1
        odd[i] = piece[i] >= 0 and (kind[at] != TEXT or (at + 1 < pieces and place[at + 1] < end[i]))


cdef inline bint is_space(uint8_t c) noexcept nogil:
    return c == 32 or c == 9 or c == 10 or c == 13
def attributes(
    const uint8_t[::1] data, const int64_t[::1] start, const int64_t[::1] content, int64_t[:, ::1] out
):
    """Finds the attributes in start tags, including namespace declarations.

    Args:
        data: A well-formed document.
        start, content: The start and the end of each start tag.
        out: For each attribute, while there is room: the number of its tag, its own number in the
            tag, where its name begins and ends, where its value begins and ends, whether the value
            has to be normalised, and the number of the first attribute of the same name, or its own
            if there are too many names to remember.

    Returns:
        The number of attributes.
    """
    cdef Py_ssize_t i, n = 0, room = out.shape[1], slot, names = 0
    cdef int64_t at, end, name, name_end, value, number, known
    cdef uint8_t quote, c
    cdef bint odd
    cdef int64_t slots[NAME_SLOTS]
    memset(slots, 255, sizeof(slots))
    for i in range(start.shape[0]):
        at, end, number = start[i] + 1, content[i], 0
        if at < 1 or end > data.shape[0]:
            raise IndexError("a tag beyond the document")
        if end - at < SHORTEST:
            continue
        while at < end and not is_space(data[at]) and data[at] != 47 and data[at] != 62:
            at += 1
        while True:
            while at < end and is_space(data[at]):
                at += 1
            if at >= end or data[at] == 47 or data[at] == 62:
                break
            name = at
            while at < end and data[at] != 61 and not is_space(data[at]):
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
                slot = hash_of(&data[name], name_end - name, SECRET) & (NAME_SLOTS - 1)
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
