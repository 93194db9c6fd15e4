# cython: language_level=3, boundscheck=False, wraparound=False
"""The Cython binding of the extraction of values."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, int8_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from extract.chunktool.scan.kernel._kernel cimport ScanCore
from extract.chunktool.scan.kernel.c_scan cimport CT_OK, ct_rows
from extract.filtertool.matchers.push.core.c_push cimport PX_OK, px_input
from extract.filtertool.matchers.sql.core.c_values cimport (
    vl_clear, vl_column, vl_document, vl_frame_add, vl_free, vl_order, vl_scan,
)

import numpy as np

_INT32, _INT64, _DOUBLE = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64)


cdef object _array(const void *data, size_t count, dtype):
    array = np.empty(count, dtype)
    cdef char[::1] view
    if count:
        view = array.view(np.int8)
        memcpy(&view[0], data, count * <size_t>dtype.itemsize)
    return array


cdef class ValueMachine:
    """Reads the values that frames ask for out of documents; for one thread at a time.

    Args:
        automaton: Numbers names, and checks edges of the schema.
        namespaces: The namespace of each symbol, an array of 32-bit integers.
        limits: How large documents and their parts may be.
        texts: Whether frames look at text nodes.
        budget: How many nodes may be looked at, and bytes copied, in one document.
    """

    cdef vl_scan v
    cdef ScanCore core
    cdef object automaton, limits, namespaces

    def __cinit__(self, automaton, const int32_t[::1] namespaces, limits, bint texts, int64_t budget):
        memset(&self.v, 0, sizeof(vl_scan))
        self.automaton = automaton
        self.limits = limits
        self.namespaces = namespaces
        self.v.registry.symbols = namespaces.shape[0]
        self.v.registry.namespaces = &namespaces[0] if namespaces.shape[0] else NULL
        self.v.with_texts = texts
        self.v.budget = budget
        self.begin()

    cdef object begin(self):
        self.core = ScanCore(len(self.automaton.outputs))
        self.core.begin(self.automaton, self.limits, True)
        self.core.s.table_attributes = 1

    def __dealloc__(self):
        vl_free(&self.v)

    def add_frame(self, const int32_t[::1] words, int32_t levels, int32_t width):
        """Adds a frame; its words are described in ``values.h``."""
        if vl_frame_add(&self.v, &words[0], words.shape[0], levels, width) != PX_OK:
            raise MemoryError

    def read(self, tuple documents):
        """Reads the values of documents.

        Returns:
            For each document 1 if it was read, 0 if the scan does not take it, -1 if it takes too
            long; and for each frame the document of each row, and for each column where the values
            of each row end, where their texts end, the texts, and the numbers.
        """
        cdef Py_ssize_t count = len(documents), i
        cdef const uint8_t **data = <const uint8_t **>malloc((count + 1) * sizeof(void *))
        cdef size_t *lengths = <size_t *>malloc((count + 1) * sizeof(size_t))
        done = np.zeros(count, np.int8)
        cdef int8_t[::1] matched = done
        try:
            if data == NULL or lengths == NULL:
                raise MemoryError
            for i in range(count):
                if not isinstance(documents[i], bytes):
                    raise TypeError("a document that is not bytes")
                data[i] = <const uint8_t *>PyBytes_AS_STRING(documents[i])
                lengths[i] = <size_t>PyBytes_GET_SIZE(documents[i])
            vl_clear(&self.v)
            with nogil:
                for i in range(count):
                    matched[i] = self.read_one(data[i], lengths[i], <int32_t>i)
        finally:
            free(data)
            free(lengths)
        if self.core.crowded():
            self.begin()
        return done, [self.columns(<size_t>i) for i in range(<Py_ssize_t>self.v.count)]

    cdef object columns(self, size_t number):
        cdef size_t rows = self.v.frames[number].rows
        cdef vl_column *column
        cdef int32_t k
        columns = []
        for k in range(self.v.frames[number].width):
            column = &self.v.frames[number].columns[k]
            columns.append((
                _array(column.end, rows, _INT64),
                None if column.text_end == NULL else _array(column.text_end, column.count, _INT64),
                PyBytes_FromStringAndSize(<const char *>column.text, column.text_used),
                None if column.number == NULL else _array(column.number, column.count, _DOUBLE),
            ))
        return _array(self.v.frames[number].unit, rows, _INT32), columns

    cdef int8_t read_one(self, const uint8_t *data, size_t length, int32_t unit) noexcept nogil:
        cdef px_input document
        cdef ct_rows *rows
        if length > INT32_MAX:
            return -1
        if self.core.scan(self.automaton, data, length) != CT_OK:
            return 0
        rows = &self.core.s.rows
        if rows.elements > INT32_MAX or rows.leaves > INT32_MAX or rows.attributes > INT32_MAX:
            return -1
        document.data = data
        document.rows = <int32_t>rows.elements
        document.leaves = <int32_t>rows.leaves
        document.attributes = <int32_t>rows.attributes
        document.parent, document.symbol = rows.parent, rows.symbol
        document.start, document.content = rows.start, rows.content
        document.close, document.end = rows.close, rows.end
        document.leaf_parent, document.leaf_number = rows.leaf_parent, rows.leaf_number
        document.leaf_kind = rows.leaf_kind
        document.leaf_start, document.leaf_end = rows.leaf_start, rows.leaf_end
        document.attribute_row, document.attribute_symbol = rows.attribute_row, rows.attribute_symbol
        document.attribute_number = rows.attribute_number
        document.attribute_start, document.attribute_end = rows.attribute_start, rows.attribute_end
        return 1 if vl_document(&self.v, &document, unit) == PX_OK else -1


def ordered_pairs(const int32_t[::1] unit, const int64_t[::1] seq, int32_t documents):
    """Puts pairs of a document and a subscription in order, each once.

    Args:
        unit: The document of each pair, below ``documents``.
        seq: The subscription of each pair.
        documents: The number of documents.

    Returns:
        The documents, ascending, and the subscriptions, ascending for each document.
    """
    cdef size_t count = unit.shape[0], kept, i
    if <size_t>seq.shape[0] != count:
        raise ValueError("not as many documents as subscriptions")
    for i in range(count):
        if not 0 <= unit[i] < documents:
            raise ValueError("a document that is not there")
    units, seqs = np.empty(count, np.int32), np.empty(count, np.int64)
    if not count:
        return units, seqs
    cdef int32_t[::1] units_view = units
    cdef int64_t[::1] seqs_view = seqs
    cdef size_t *at = <size_t *>malloc((<size_t>documents + 1) * sizeof(size_t))
    cdef int64_t *room = <int64_t *>malloc(count * sizeof(int64_t))
    if at == NULL or room == NULL:
        free(at)
        free(room)
        raise MemoryError
    with nogil:
        kept = vl_order(
            &unit[0], &seq[0], count, documents, at, room, &units_view[0], &seqs_view[0]
        )
    free(at)
    free(room)
    return units[:kept], seqs[:kept]
