# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The lines of a query file as columns, in C; `extract.subscriptions.reader` reads them in Python."""

import os

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcpy, memset

cdef extern from "key_table.h":
    ctypedef struct KeyTable:
        uint64_t secret[2]
    void key_table_free(KeyTable*) nogil
    int key_table_expect(KeyTable*, int64_t) nogil
    uint64_t key_table_hash(const KeyTable*, const uint8_t*, int64_t) nogil
    int64_t key_table_get(const KeyTable*, const uint8_t*, int64_t, uint64_t) nogil
    int key_table_put(KeyTable*, const uint8_t*, int64_t, uint64_t, int64_t) nogil

END, DIRECTIVE, DOUBTFUL, TAKEN = range(4)
SOME_BYTES = 1 << 16

cdef struct Row:
    int64_t id_stop, start, stop, line


cdef inline bint is_space(uint8_t byte) noexcept nogil:
    return byte == 32 or byte == 9 or byte == 10 or byte == 13


cdef bint splits_literal(const uint8_t* text, int64_t start, int64_t tab, int64_t stop) noexcept nogil:
    """Whether the tab is inside quotes that open before it and close after it."""
    cdef const uint8_t* quote
    cdef int64_t at = start
    while at < tab:
        if text[at] == 34 or text[at] == 39:
            quote = <const uint8_t*>memchr(text + at + 1, text[at], stop - at - 1)
            if quote != NULL:
                at = quote - text
            if at > tab:
                return True
        at += 1
    return False


cdef bint looks_spaced(const uint8_t* text, int64_t start, int64_t stop) noexcept nogil:
    """Whether spaces, and behind them a slash, follow the first word: perhaps an id without a tab."""
    cdef int64_t at = start
    while at < stop and text[at] != 32:
        at += 1
    while at < stop and text[at] == 32:
        at += 1
    return start < at < stop and text[at] == 47 and text[at - 1] == 32


cdef class LineScanner:
    """Reads rows of ``id<TAB>xpath`` or ``xpath`` until a line asks for more than that.

    Attributes:
        line: The number of the line where it stopped.
        start: Where that line starts.
        stop: Where it ends.
        first: Of an id that is taken, the line that has it.
        count: How many rows it has read.
    """

    cdef bytes data
    cdef KeyTable ids
    cdef int64_t at, pending, room, heap_size, heap_room
    cdef Row* rows
    cdef uint8_t* heap
    cdef readonly int64_t line, start, stop, first, count

    def __cinit__(self, bytes data not None):
        memset(&self.ids, 0, sizeof(KeyTable))
        self.ids.secret[0] = int.from_bytes(os.urandom(8), "little")
        self.ids.secret[1] = int.from_bytes(os.urandom(8), "little")
        self.data, self.rows, self.heap = data, NULL, NULL
        self.at = self.pending = self.room = self.heap_size = self.heap_room = 0
        self.line = self.start = self.stop = self.first = self.count = 0
        # As many ids as there would be if all lines were as long as the first: otherwise the table
        # grows, and each id is put in its place several times.
        lines = data.count(b"\n", 0, SOME_BYTES)
        if lines and not key_table_expect(&self.ids, len(data) // max(8, min(SOME_BYTES, len(data)) // lines)):
            raise MemoryError

    def __dealloc__(self):
        key_table_free(&self.ids)
        free(self.rows)
        free(self.heap)

    def read(self):
        """Reads rows from where it stopped; says why it stops."""
        cdef const uint8_t* text = <const uint8_t*>PyBytes_AS_STRING(self.data)
        cdef int64_t size = PyBytes_GET_SIZE(self.data), start, tab
        cdef const uint8_t* found
        while self.at < size:
            self.line += 1
            self.start = self.at
            found = <const uint8_t*>memchr(text + self.at, 10, size - self.at)
            self.stop = size if found == NULL else found - text
            self.at = self.stop + 1
            start = self.start
            while start < self.stop and is_space(text[start]):
                start += 1
            if start == self.stop:
                continue
            if text[start] == 35:  # number sign
                if start + 1 < self.stop and text[start + 1] == 33 and not (
                    start + 2 < self.stop and text[start + 2] == 47
                ):
                    return DIRECTIVE
                continue
            found = <const uint8_t*>memchr(text + self.start, 9, self.stop - self.start)
            tab = -1 if found == NULL else found - text
            if tab >= 0 and (start >= tab or splits_literal(text, self.start, tab, self.stop)):
                return DOUBTFUL
            if tab < 0 and looks_spaced(text, start, self.stop):
                return DOUBTFUL
            if not self.add(text, tab):
                return TAKEN
        return END

    def resume(self, bint query):
        """Adds the line that was doubtful, as a query or with an id; whether its id is free."""
        cdef const uint8_t* text = <const uint8_t*>PyBytes_AS_STRING(self.data)
        cdef const uint8_t* tab = <const uint8_t*>memchr(text + self.start, 9, self.stop - self.start)
        return self.add(text, -1 if query else tab - text)

    cdef bint add(self, const uint8_t* text, int64_t tab) except -1:
        """Adds the line at hand, with an id before the tab if there is one; whether it is free."""
        cdef int64_t name, name_stop, number, start = self.start, stop = self.stop
        cdef uint8_t[24] digits
        cdef const uint8_t* names = text
        cdef uint64_t hashed
        if tab < 0:
            names, number, name, name_stop = &digits[0], self.line, 24, 24
            while number:
                name -= 1
                digits[name] = <uint8_t>(48 + number % 10)
                number //= 10
        else:
            name, name_stop, start = start, tab, tab + 1
            while name < name_stop and is_space(text[name]):
                name += 1
            while name_stop > name and is_space(text[name_stop - 1]):
                name_stop -= 1
        while start < stop and is_space(text[start]):
            start += 1
        while stop > start and is_space(text[stop - 1]):
            stop -= 1
        hashed = key_table_hash(&self.ids, names + name, name_stop - name)
        self.first = key_table_get(&self.ids, names + name, name_stop - name, hashed)
        if self.first >= 0:
            return False
        self.make_room(name_stop - name)
        if not key_table_put(&self.ids, names + name, name_stop - name, hashed, self.line):
            raise MemoryError
        memcpy(self.heap + self.heap_size, names + name, name_stop - name)
        self.heap_size += name_stop - name
        self.rows[self.pending] = Row(self.heap_size, start, stop, self.line)
        self.pending += 1
        self.count += 1
        return True

    cdef int make_room(self, int64_t size) except -1:
        """Makes room for a row more, whose id has so many bytes."""
        cdef int64_t more
        cdef void* larger
        if self.pending == self.room:
            more = self.room + self.room // 2 + 256
            larger = realloc(self.rows, more * sizeof(Row))
            if larger == NULL:
                raise MemoryError
            self.rows, self.room = <Row*>larger, more
        if self.heap_room - self.heap_size < size:
            more = self.heap_room + self.heap_room // 2 + size + 1024
            larger = realloc(self.heap, more)
            if larger == NULL:
                raise MemoryError
            self.heap, self.heap_room = <uint8_t*>larger, more
        return 0

    def rows_since(self):
        """The rows since the last call.

        Returns:
            Their ids, one after the other; and for each row as 64-bit integers where its id ends
            there, where its query starts and ends in the data, and its line.
        """
        if not self.pending:
            return b"", b""
        names = PyBytes_FromStringAndSize(<char*>self.heap, self.heap_size)
        rows = PyBytes_FromStringAndSize(<char*>self.rows, self.pending * sizeof(Row))
        self.heap_size = self.pending = 0
        return names, rows
