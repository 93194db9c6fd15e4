# cython: language_level=3, auto_pickle=False
"""What all nodes of the syntax tree share, in C: see `extract.xpath.node`, which says the same."""

from dataclasses import fields
from operator import attrgetter

cdef dict GETTERS = {}  # for each class of nodes a function that gets the values of its fields


cdef object values_of(Node node):
    kind = type(node)
    getter = GETTERS.get(kind)
    if getter is None:
        getter = GETTERS[kind] = attrgetter(*[one.name for one in fields(kind)])
    return getter(node)


cdef class Node:
    cdef Py_hash_t cached_hash  # 0 if it is not known
    cdef str cached_text

    def __hash__(self):
        if self.cached_hash == 0:
            self.cached_hash = hash((type(self).__name__, values_of(self))) or 1
        return self.cached_hash

    def __eq__(self, other):
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return hash(self) == hash(other) and values_of(self) == values_of(other)

    def __str__(self):
        if self.cached_text is None:
            self.cached_text = self._format()
        return self.cached_text

    def _format(self):
        raise NotImplementedError
