# cython: language_level=3, boundscheck=False, wraparound=False
"""`NodeColumns`: what is reported of nodes, as one block of memory in the layout of Arrow."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

_COLUMNS = ("node", "name", "path", "value", "text")


cdef inline Py_ssize_t _padded(Py_ssize_t size) noexcept nogil:
    return (size + 7) & ~<Py_ssize_t>7


cdef class NodeColumns:
    """Kind, name, start, end, path, value and text of nodes. It does not change."""

    def __len__(self):
        return self.count

    cdef int reserve(self, Py_ssize_t count, const Py_ssize_t *sizes, const Py_ssize_t *holes) except -1:
        """Makes room for nodes, given the bytes of each column of strings and how many it lacks."""
        cdef Py_ssize_t at = 16 * count
        cdef int i
        self.count = count
        for i in range(STRINGS):
            self.ends_at[i] = at
            at += _padded(4 * (count + 1))
            self.valid_at[i] = at
            at += _padded((count + 7) // 8) if holes[i] else 0
            self.bytes_at[i] = at
            at += _padded(sizes[i])
            self.sizes[i], self.holes[i] = sizes[i], holes[i]
        self.block = PyBytes_FromStringAndSize(NULL, at)
        self.at = <char *>self.block
        for i in range(STRINGS):
            self.ends(i)[0] = 0
            if holes[i]:
                memset(self.valid(i), 0, (count + 7) // 8)
        return 0

    cdef int64_t *starts(self) noexcept:
        """The starts, then the ends of spans; -1 for what has none."""
        return <int64_t *>self.at

    cdef int32_t *ends(self, int column) noexcept:
        """0, then where each string ends."""
        return <int32_t *>(self.at + self.ends_at[column])

    cdef uint8_t *valid(self, int column) noexcept:
        """A bit for each string that is there; only where some are not."""
        return <uint8_t *>(self.at + self.valid_at[column])

    cdef uint8_t *bytes_of(self, int column) noexcept:
        return <uint8_t *>(self.at + self.bytes_at[column])

    cdef bint is_missing(self, int column, Py_ssize_t row) noexcept:
        return self.holes[column] and not self.valid(column)[row >> 3] >> (row & 7) & 1

    def lists(self, Py_ssize_t first, Py_ssize_t end):
        """Some nodes as lists: kind, name, start, end, path, value and text."""
        if not 0 <= first <= end <= self.count:
            raise IndexError("there are no such nodes")
        columns = [self.strings(column, first, end) for column in range(STRINGS)]
        cdef int64_t *spans = self.starts()
        cdef Py_ssize_t i
        starts = [None if spans[i] < 0 else spans[i] for i in range(first, end)]
        ends = [None if spans[i] < 0 else spans[self.count + i] for i in range(first, end)]
        node, name, path, value, text = columns
        return node, name, starts, ends, path, value, text

    cdef list strings(self, int column, Py_ssize_t first, Py_ssize_t end):
        cdef const char *at = <const char *>self.bytes_of(column)
        cdef const int32_t *ends = self.ends(column)
        cdef Py_ssize_t i
        return [
            None if self.is_missing(column, i)
            else PyUnicode_DecodeUTF8(at + ends[i], ends[i + 1] - ends[i], NULL)
            for i in range(first, end)
        ]

    def take(self, const int32_t[::1] rows):
        """The nodes with some numbers, in that order; one may be there several times."""
        cdef Py_ssize_t[STRINGS] sizes
        cdef Py_ssize_t[STRINGS] holes
        cdef Py_ssize_t count = rows.shape[0], i, row, length
        cdef NodeColumns chosen = NodeColumns.__new__(NodeColumns)
        cdef const int32_t *ends
        cdef int32_t *into
        cdef int column
        for i in range(count):
            if not 0 <= rows[i] < self.count:
                raise IndexError("there is no such node")
        for column in range(STRINGS):
            ends = self.ends(column)
            sizes[column] = holes[column] = 0
            for i in range(count):
                sizes[column] += ends[rows[i] + 1] - ends[rows[i]]
                holes[column] += self.is_missing(column, rows[i])
            if sizes[column] > 0x7FFFFFFF:
                raise OverflowError("too many bytes for one column")
        chosen.reserve(count, sizes, holes)
        cdef int64_t *spans = chosen.starts()
        for i in range(count):
            spans[i] = self.starts()[rows[i]]
            spans[count + i] = self.starts()[self.count + rows[i]]
        for column in range(STRINGS):
            ends, into = self.ends(column), chosen.ends(column)
            for i in range(count):
                row = rows[i]
                length = ends[row + 1] - ends[row]
                memcpy(chosen.bytes_of(column) + into[i], self.bytes_of(column) + ends[row], length)
                into[i + 1] = into[i] + <int32_t>length
                if holes[column] and not self.is_missing(column, row):
                    chosen.valid(column)[i >> 3] |= 1 << (i & 7)
        return chosen

    def taken_bytes(self, const int32_t[::1] rows):
        """How many bytes the strings of some nodes have."""
        cdef int64_t size = 0
        cdef Py_ssize_t i
        cdef int column
        for i in range(rows.shape[0]):
            if not 0 <= rows[i] < self.count:
                raise IndexError("there is no such node")
            for column in range(STRINGS):
                size += self.ends(column)[rows[i] + 1] - self.ends(column)[rows[i]]
        return size

    def layout(self):
        """For Arrow: the block; and for each column of strings its name, where its ends, its bits,
        and its bytes are, how many bytes there are, and how many strings are missing."""
        columns = [
            (
                _COLUMNS[column],
                self.ends_at[column],
                self.valid_at[column],
                self.bytes_at[column],
                self.sizes[column],
                self.holes[column],
            )
            for column in range(STRINGS)
        ]
        return self.block, columns

    @property
    def nbytes(self):
        """How many bytes they take."""
        return len(self.block)
