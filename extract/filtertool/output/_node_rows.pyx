# cython: language_level=3, boundscheck=False, wraparound=False
"""Rows of nodes as one record batch, through Arrow's C data interface.

For a small document, to make ten arrays one by one takes longer than to find what is in them: so all
columns are filled into one block of memory, and handed over in one call. The structures are those of
https://arrow.apache.org/docs/format/CDataInterface.html.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from extract.filtertool.matchers.push._node_columns cimport STRINGS, NodeColumns

import pyarrow as pa

cdef enum:
    DOCUMENT, QUERY, NODE, NAME, START, END, ORDINAL, PATH, VALUE, TEXT, COLUMNS


cdef struct ArrowArray:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void **buffers
    ArrowArray **children
    ArrowArray *dictionary
    void (*release)(ArrowArray *) noexcept nogil
    void *private_data


cdef struct Exported:
    int owners  # the batch and its columns: each may be released alone
    char *block
    ArrowArray columns[COLUMNS]
    ArrowArray *children[COLUMNS]
    const void *buffers[COLUMNS][3]
    const void *none[1]


cdef extern from *:
    """
    #ifdef _MSC_VER
    #include <intrin.h>
    static int fewer(int *count) { return (int)_InterlockedDecrement((volatile long *)count); }
    #else
    static int fewer(int *count) { return __atomic_sub_fetch(count, 1, __ATOMIC_ACQ_REL); }
    #endif
    """
    int fewer(int *count) noexcept nogil  # any thread may release an array


cdef void _release_column(ArrowArray *array) noexcept nogil:
    cdef Exported *shared = <Exported *>array.private_data
    array.release = NULL
    if fewer(&shared.owners) == 0:
        free(shared.block)
        free(shared)


cdef void _release_batch(ArrowArray *batch) noexcept nogil:
    cdef int i
    for i in range(COLUMNS):
        if batch.children[i].release != NULL:
            batch.children[i].release(batch.children[i])
    _release_column(batch)


cdef inline Py_ssize_t _padded(Py_ssize_t size) noexcept nogil:
    return (size + 63) & ~<Py_ssize_t>63


cdef class _Filling:
    """The columns of a batch while they are filled.

    Args:
        rows: How many rows it has.
    """

    cdef Py_ssize_t rows, used
    cdef Exported *out
    cdef Py_ssize_t[COLUMNS][3] places  # of validity, of offsets or numbers, of bytes
    cdef Py_ssize_t[COLUMNS] sizes  # of bytes; -1 for numbers
    cdef bint[COLUMNS] has_holes

    def __cinit__(self, Py_ssize_t rows):
        self.rows = rows
        self.out = <Exported *>calloc(1, sizeof(Exported))
        if self.out == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.out != NULL:  # it was not handed over
            free(self.out.block)
            free(self.out)

    cdef Py_ssize_t place(self, Py_ssize_t size) noexcept:
        cdef Py_ssize_t at = self.used
        self.used += _padded(size)
        return at

    cdef int reserve(self) except -1:
        """Makes room, once the sizes of all columns are known."""
        cdef int column
        for column in range(COLUMNS):
            self.places[column][0] = self.place((self.rows + 7) // 8 if self.has_holes[column] else 0)
            if self.sizes[column] < 0:
                self.places[column][1] = self.place(8 * self.rows)
            else:
                self.places[column][1] = self.place(4 * (self.rows + 1))
                self.places[column][2] = self.place(self.sizes[column])
        self.out.block = <char *>malloc(self.used + 1)
        if self.out.block == NULL:
            raise MemoryError
        for column in range(COLUMNS):
            if self.has_holes[column]:
                memset(self.at(column, 0), 0xFF, (self.rows + 7) // 8)
            if self.sizes[column] >= 0:
                self.ends(column)[0] = 0
        return 0

    cdef char *at(self, int column, int part) noexcept:
        return self.out.block + self.places[column][part]

    cdef int32_t *ends(self, int column) noexcept:
        return <int32_t *>self.at(column, 1)

    cdef int64_t *numbers(self, int column) noexcept:
        return <int64_t *>self.at(column, 1)

    cdef void hole(self, int column, Py_ssize_t row) noexcept:
        (<uint8_t *>self.at(column, 0))[row >> 3] &= <uint8_t>~(1 << (row & 7))
        self.out.columns[column].null_count += 1

    cdef void put(self, int column, Py_ssize_t row, const void *text, Py_ssize_t length) noexcept:
        """Adds a string; rows come in order."""
        cdef int32_t *ends = self.ends(column)
        if length:
            memcpy(self.at(column, 2) + ends[row], text, length)
        ends[row + 1] = ends[row] + <int32_t>length

    cdef void hand_over(self, ArrowArray *batch) noexcept:
        """Fills in the structures; from then on Arrow frees the memory."""
        cdef Exported *out = self.out
        cdef ArrowArray *array
        cdef int column
        for column in range(COLUMNS):
            array = &out.columns[column]
            array.length = self.rows
            array.n_buffers = 2 if self.sizes[column] < 0 else 3
            out.buffers[column][0] = self.at(column, 0) if self.has_holes[column] else NULL
            out.buffers[column][1] = self.at(column, 1)
            out.buffers[column][2] = self.at(column, 2)
            array.buffers = out.buffers[column]
            array.release = _release_column
            array.private_data = out
            out.children[column] = array
        memset(batch, 0, sizeof(ArrowArray))
        batch.length = self.rows
        batch.n_buffers = 1
        batch.buffers = out.none
        batch.n_children = COLUMNS
        batch.children = out.children
        batch.release = _release_batch
        batch.private_data = out
        out.owners = COLUMNS + 1
        self.out = NULL


cdef class IdTexts:
    """The ids of subscribers, to be looked up by number.

    Args:
        ids: An Arrow array of strings.
    """

    cdef readonly object ids
    cdef const int32_t *ends
    cdef const char *bytes
    cdef Py_ssize_t count

    def __init__(self, ids):
        self.ids = ids
        _, ends, data = ids.buffers()
        self.count = len(ids)
        self.ends = <const int32_t *><uintptr_t>(0 if ends is None else ends.address) + <Py_ssize_t>ids.offset
        self.bytes = <const char *><uintptr_t>(0 if data is None else data.address)


def node_rows(
    schema,
    NodeColumns nodes,
    IdTexts ids,
    list names,
    list counts,
    const int32_t[::1] node,
    const int32_t[::1] subscriber,
    const int64_t[::1] ordinal,
    Py_ssize_t most,
):
    """Returns rows of nodes as a record batch; None if they have too many bytes.

    Args:
        schema: The columns: document, query, node, name, start, end, ordinal, path, value, text.
        nodes: The nodes.
        ids: The ids of subscribers.
        names: The names of documents, as bytes.
        counts: How many rows each document has.
        node, subscriber, ordinal: Of each row its node, the number of its subscriber, and its
            number among the rows of its document and query.
        most: How many bytes the strings of nodes may have.
    """
    cdef Py_ssize_t rows = node.shape[0], row, length, document, end, taken = 0
    cdef int32_t number
    cdef int column, into
    cdef const int32_t *ends
    cdef bytes name
    cdef ArrowArray batch
    cdef int[STRINGS] columns = [NODE, NAME, PATH, VALUE, TEXT]
    cdef _Filling out = _Filling(rows)
    if subscriber.shape[0] != rows or ordinal.shape[0] != rows or sum(counts) != rows:
        raise ValueError("columns of rows have different lengths")
    for row in range(rows):
        if not 0 <= node[row] < nodes.count or not 0 <= subscriber[row] < ids.count:
            raise IndexError("there is no such node or subscriber")
        out.sizes[QUERY] += ids.ends[subscriber[row] + 1] - ids.ends[subscriber[row]]
    for column in range(STRINGS):
        into, ends = columns[column], nodes.ends(column)
        out.has_holes[into] = nodes.holes[column] > 0
        for row in range(rows):
            out.sizes[into] += ends[node[row] + 1] - ends[node[row]]
        taken += out.sizes[into]
    for name, length in zip(names, counts):
        out.sizes[DOCUMENT] += len(name) * length
    if taken > most or out.sizes[DOCUMENT] > 0x7FFFFFFF or out.sizes[QUERY] > 0x7FFFFFFF:
        return None
    for into in (START, END, ORDINAL):
        out.sizes[into] = -1
    cdef int64_t *starts = nodes.starts()
    for row in range(rows):
        if starts[node[row]] < 0:
            out.has_holes[START] = out.has_holes[END] = True
    out.reserve()
    row = 0
    for name, length in zip(names, counts):
        end = row + length
        while row < end:
            out.put(DOCUMENT, row, <const char *>name, len(name))
            row += 1
    for row in range(rows):
        number = subscriber[row]
        out.put(QUERY, row, ids.bytes + ids.ends[number], ids.ends[number + 1] - ids.ends[number])
        out.numbers(START)[row] = starts[node[row]]
        out.numbers(END)[row] = starts[nodes.count + node[row]]
        out.numbers(ORDINAL)[row] = ordinal[row]
        if starts[node[row]] < 0:
            out.hole(START, row)
            out.hole(END, row)
    for column in range(STRINGS):
        into, ends = columns[column], nodes.ends(column)
        for row in range(rows):
            number = node[row]
            out.put(into, row, nodes.bytes_of(column) + ends[number], ends[number + 1] - ends[number])
            if nodes.is_missing(column, number):
                out.hole(into, row)
    out.hand_over(&batch)
    return pa.RecordBatch._import_from_c(<uintptr_t>&batch, schema)
