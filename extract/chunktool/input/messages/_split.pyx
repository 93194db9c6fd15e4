# cython: language_level=3, boundscheck=False, wraparound=False
"""The Cython binding of the splitters, and pieces of bytes as a list."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np

cdef extern from "splitter.h" nogil:
    ctypedef struct ms_rows:
        int64_t* items
        size_t count, room
    ctypedef struct ms_name:
        uint8_t* bytes
    ctypedef struct ms_documents:
        ms_rows found
        int64_t at, start
        int unfinished
        ms_name root
    ctypedef struct ms_records:
        ms_rows found, events, scopes
        int64_t at, start, depth, next, broken
        ms_name tag
    int ms_name_set(ms_name*, const uint8_t*, size_t)
    int ms_split_documents(ms_documents*, const uint8_t*, size_t, int64_t, int)
    int ms_split_records(ms_records*, const uint8_t*, size_t, int64_t, int)


cdef object taken(ms_rows* rows):
    """The rows so far, which are then forgotten."""
    array = np.empty((rows.count, 4), np.int64)
    cdef int64_t[:, ::1] view = array
    if rows.count:
        memcpy(&view[0, 0], rows.items, rows.count * 4 * sizeof(int64_t))
    rows.count = 0
    return array


cdef class DocumentSplitter:
    """Finds documents that stand one after the other in a file."""

    cdef ms_documents s

    def __cinit__(self):
        memset(&self.s, 0, sizeof(ms_documents))
        self.s.start = -1

    def __dealloc__(self):
        free(self.s.found.items)
        free(self.s.root.bytes)

    @property
    def at(self):
        """From where the file is to be read on."""
        return self.s.at

    @property
    def start(self):
        """Where the document begins that has not ended; -1 if there is none."""
        return self.s.start

    @property
    def unfinished(self):
        """Whether the last document does not end before the file does."""
        return bool(self.s.unfinished)

    def split(self, const uint8_t[::1] data, int64_t base, bint last):
        """Returns rows of start and end, for documents that end in these bytes.

        Args:
            data: The file from ``base`` on, up to where it was read.
            base: At most `at`, and at most `start` if a document has begun.
            last: Whether the file ends with them.
        """
        cdef const uint8_t* first = &data[0] if data.shape[0] else NULL
        cdef size_t size = <size_t>data.shape[0]
        cdef int done
        with nogil:
            done = ms_split_documents(&self.s, first, size, base, last)
        if not done:
            raise MemoryError
        return taken(&self.s.found)


cdef class RecordSplitter:
    """Finds the outermost elements of one name.

    Args:
        tag: The name, as it is written.
    """

    cdef ms_records s

    def __cinit__(self, bytes tag not None):
        memset(&self.s, 0, sizeof(ms_records))
        self.s.start = self.s.broken = -1
        self.s.next = 1
        cdef const uint8_t* name = tag
        if not ms_name_set(&self.s.tag, name, <size_t>len(tag)):
            raise MemoryError

    def __dealloc__(self):
        free(self.s.found.items)
        free(self.s.events.items)
        free(self.s.scopes.items)
        free(self.s.tag.bytes)

    @property
    def at(self):
        """From where the file is to be read on."""
        return self.s.at

    @property
    def start(self):
        """Where the record begins that has not ended; -1 if there is none."""
        return self.s.start

    @property
    def depth(self):
        """How many elements around records are open."""
        return self.s.depth

    @property
    def open_scopes(self):
        """The numbers of the scopes that have not ended."""
        return [self.s.scopes.items[4 * i + 1] for i in range(self.s.scopes.count)]

    @property
    def broken(self):
        """Where markup around the records is broken, so that nothing behind it is read; or -1."""
        return self.s.broken

    def split(self, const uint8_t[::1] data, int64_t base, bint last):
        """Returns rows of records that end in these bytes, and rows of events.

        Args:
            data, base, last: As for `DocumentSplitter.split`.

        Returns:
            For each record start, end, the end of the name in its start tag, and the number of its
            scope, n, or -1 - n if it has namespace declarations itself; for each event its kind, start and end, and for a scope the number of the one
            around it.
        """
        cdef const uint8_t* first = &data[0] if data.shape[0] else NULL
        cdef size_t size = <size_t>data.shape[0]
        cdef int done
        with nogil:
            done = ms_split_records(&self.s, first, size, base, last)
        if not done:
            raise MemoryError
        return taken(&self.s.found), taken(&self.s.events)


def pieces(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] ends):
    """Returns pieces of bytes as a list."""
    cdef Py_ssize_t count = starts.shape[0], i
    cdef const char* first = NULL
    if ends.shape[0] != count:
        raise ValueError("as many ends as starts")
    for i in range(count):
        if not 0 <= starts[i] <= ends[i] <= data.shape[0]:
            raise IndexError("a piece outside of the bytes")
    if data.shape[0]:
        first = <const char*>&data[0]
    cdef list made = PyList_New(count)
    for i in range(count):
        piece = b"" if ends[i] == starts[i] else PyBytes_FromStringAndSize(first + starts[i], ends[i] - starts[i])
        Py_INCREF(piece)
        PyList_SET_ITEM(made, i, piece)
    return made


def completed(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] ends, const int64_t[::1] middles,
    bytes before not None, bytes between not None,
):
    """Returns pieces of bytes, each with some bytes before it, and some in its middle."""
    cdef Py_ssize_t count = starts.shape[0], i
    cdef Py_ssize_t ahead = len(before), added = len(between), left, right
    cdef const char* first = NULL
    cdef const char* head = before
    cdef const char* middle = between
    cdef char* out
    if ends.shape[0] != count or middles.shape[0] != count:
        raise ValueError("as many ends and middles as starts")
    for i in range(count):
        if not 0 <= starts[i] <= middles[i] <= ends[i] <= data.shape[0]:
            raise IndexError("a piece outside of the bytes")
    if data.shape[0]:
        first = <const char*>&data[0]
    cdef list made = PyList_New(count)
    for i in range(count):
        left, right = middles[i] - starts[i], ends[i] - middles[i]
        piece = PyBytes_FromStringAndSize(NULL, ahead + left + added + right)
        out = PyBytes_AS_STRING(piece)
        memcpy(out, head, <size_t>ahead)
        if left:
            memcpy(out + ahead, first + starts[i], <size_t>left)
        memcpy(out + ahead + left, middle, <size_t>added)
        if right:
            memcpy(out + ahead + left + added, first + middles[i], <size_t>right)
        Py_INCREF(piece)
        PyList_SET_ITEM(made, i, piece)
    return made
