"""Columns of described nodes, for the parts in C that fill them."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    STRINGS = 5  # node, name, path, value, text


cdef class NodeColumns:
    cdef readonly Py_ssize_t count
    cdef bytes block
    cdef char *at
    cdef Py_ssize_t[STRINGS] ends_at, valid_at, bytes_at, sizes, holes

    cdef int reserve(self, Py_ssize_t count, const Py_ssize_t *sizes, const Py_ssize_t *holes) except -1
    cdef int64_t *starts(self) noexcept
    cdef int32_t *ends(self, int column) noexcept
    cdef uint8_t *valid(self, int column) noexcept
    cdef uint8_t *bytes_of(self, int column) noexcept
    cdef bint is_missing(self, int column, Py_ssize_t row) noexcept
    cdef list strings(self, int column, Py_ssize_t first, Py_ssize_t end)
