# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds the spines of rows in C, and the order of rows in sets (see `_sets`)."""

import os

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef extern from "hashing.h":
    uint64_t hash_mix(uint64_t, uint64_t) nogil

cdef uint64_t[2] SECRET
SECRET[0] = int.from_bytes(os.urandom(8), "little")
SECRET[1] = int.from_bytes(os.urandom(8), "little")


cdef class Trie:
    """A trie of spines, with the names of children as edges."""

    cdef Py_ssize_t mask
    cdef int64_t* keys
    cdef int32_t* below

    def __cinit__(self):
        self.keys = NULL
        self.below = NULL

    def __dealloc__(self):
        free(self.keys)
        free(self.below)

    def __init__(self, const int64_t[::1] above, const int64_t[::1] name):
        """Takes, for each spine from the second on, the one above and the name of its last step."""
        cdef Py_ssize_t i, slot, slots = 64
        while slots < 4 * above.shape[0]:
            slots *= 2
        self.mask = slots - 1
        self.keys = <int64_t*>malloc(slots * sizeof(int64_t))
        self.below = <int32_t*>malloc(slots * sizeof(int32_t))
        if self.keys == NULL or self.below == NULL:
            raise MemoryError
        memset(self.keys, 255, slots * sizeof(int64_t))
        for i in range(1, above.shape[0]):
            slot = self.slot_of((above[i] << 32) + name[i])
            self.keys[slot] = (above[i] << 32) + name[i]
            self.below[slot] = <int32_t>i

    cdef inline Py_ssize_t slot_of(self, int64_t key) noexcept nogil:
        cdef Py_ssize_t slot = hash_mix(<uint64_t>key ^ SECRET[0], SECRET[1]) & self.mask
        while self.keys[slot] >= 0 and self.keys[slot] != key:
            slot = (slot + 1) & self.mask
        return slot

    def spines_of(
        self,
        const int64_t[::1] up,
        const int64_t[::1] name,
        int32_t[::1] spine,
        int64_t[::1] counts,
    ):
        """Finds the spine of each row.

        Args:
            up, name: For each row the row of its parent, which comes before, and its name; -1 for a
                document node.
            spine: For each row its spine: 0 for document nodes, the number after the last for rows
                that no spine leads to.
            counts: For each spine, and last for rows without one, the number of rows.
        """
        cdef Py_ssize_t i, slot
        cdef int32_t none = <int32_t>(counts.shape[0] - 1), above, here
        for i in range(up.shape[0]):
            here = 0
            if up[i] >= 0:
                above, here = spine[up[i]], none
                if above != none:
                    slot = self.slot_of((<int64_t>above << 32) + name[i])
                    if self.keys[slot] >= 0:
                        here = self.below[slot]
            spine[i] = here
            counts[here] += 1


def lay_out(
    const int32_t[::1] spine,
    const int64_t[::1] up,
    int64_t[::1] at,
    int32_t[::1] item,
    int32_t[::1] position,
    int32_t[::1] parent,
):
    """Assigns positions to rows.

    Args:
        spine, up: For each row its spine, and the row of its parent, which comes before.
        at: For each spine the next free position; updated.
        item: For each position its row.
        position: For each row its position.
        parent: For each position that of the row's parent; -1 for a document node.
    """
    cdef Py_ssize_t i
    cdef int64_t here
    for i in range(spine.shape[0]):
        here = at[spine[i]]
        at[spine[i]] = here + 1
        item[here] = <int32_t>i
        position[i] = <int32_t>here
        parent[here] = position[up[i]] if up[i] >= 0 else -1


def arrange(const int64_t[::1] numbers, const int32_t[::1] item, int32_t[::1] out):
    """Reorders one number for each row by position."""
    cdef Py_ssize_t i
    for i in range(item.shape[0]):
        out[i] = <int32_t>numbers[item[i]]
