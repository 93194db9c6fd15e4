# cython: language_level=3, boundscheck=False, wraparound=False
"""Counts the nodes in node tables for schema inference, without Python code for each tag.

States of the automaton are edges here: see `extract.chunktool.inference.edges.EdgeAutomaton`.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memchr, memcmp, memcpy

from extract.chunktool.scan.kernel.namespaces import Contexts
from extract.chunktool.scan.protocol import HandOver

cdef extern from "scan.h":
    enum:
        CDATA "CT_CDATA"
        REFERENCES "CT_REFERENCES"

cdef enum:
    SPACES = 1  # kinds of content, as in extract.schema.observations.ElementContent
    CHARACTERS = 2
    OTHER = 4

ctypedef struct Edge:
    int64_t count  # elements in this state
    int64_t parents  # elements with at least one such child
    int32_t repeated  # whether an element has several
    int32_t content  # kinds of content
    int32_t signature  # of the last start tag; -1

ctypedef struct Open:
    int32_t row
    int32_t state
    int32_t last  # state of its last child; -1
    int32_t context


cdef inline bint _is_space(uint8_t c) noexcept nogil:
    return c == 32 or c == 10 or c == 9 or c == 13


cdef bint _is_blank(const uint8_t *p, const uint8_t *end, bint references) noexcept nogil:
    """Whether a text is white space, including character references such as ``&#10;``."""
    cdef int64_t number
    cdef int base
    while p < end:
        if _is_space(p[0]):
            p += 1
            continue
        if not references or end - p < 4 or p[0] != 38 or p[1] != 35:  # &#
            return False
        p += 2
        base, number = 10, 0
        if p[0] == 120:  # x
            base = 16
            p += 1
        while p < end and p[0] != 59 and number < 64:  # ;
            number = number * base + (p[0] - 48 if p[0] < 58 else (p[0] | 32) - 87)
            p += 1
        if p == end or p[0] != 59 or number > 32 or not _is_space(<uint8_t>number):
            return False
        p += 1
    return True


cdef class Tally:
    """Counts elements, attributes, texts and successions of children.

    Attributes:
        bindings: Namespace declarations as (state, prefix, URI).
    """

    cdef Edge *edges
    cdef size_t edge_room
    cdef Open *stack
    cdef size_t depth, stack_room
    cdef uint64_t *pairs  # a hash table of pairs of states; 0 is free
    cdef size_t pair_count, pair_mask
    cdef uint8_t *key
    cdef size_t key_length, key_room
    cdef int64_t *times
    cdef size_t time_room
    cdef int32_t rows
    cdef list keys
    cdef dict numbers, scopes
    cdef object contexts
    cdef readonly set bindings

    def __cinit__(self):
        self.keys, self.numbers, self.scopes, self.bindings = [], {}, {}, set()
        self.contexts = Contexts()
        self.pair_mask = 1023
        self.pairs = <uint64_t *>calloc(self.pair_mask + 1, sizeof(uint64_t))
        if self.pairs == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.edges)
        free(self.stack)
        free(self.pairs)
        free(self.key)
        free(self.times)

    def __len__(self):
        """The number of different start tags, by names."""
        return len(self.keys)

    def begin(self):
        """Begins another document."""
        self.depth = 0
        self.rows = 0

    def add(self, data, int64_t start, elements, leaves, int32_t states):
        """Counts a window of a document.

        Args:
            data: Its bytes.
            start: Its offset in the document.
            elements, leaves: Its rows of the node table.
            states: The number of states of the automaton.

        Raises:
            HandOver: There are too many namespace contexts.
        """
        cdef Py_buffer buffer
        self.room_for_states(states)
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        try:
            self.add_leaves(<const uint8_t *>buffer.buf, buffer.len, start, elements.state,
                            leaves.parent, leaves.kind, leaves.start, leaves.end)
            self.add_elements(<const uint8_t *>buffer.buf, buffer.len, start, elements.state,
                              elements.parent, elements.position, elements.start,
                              elements.content)
        finally:
            PyBuffer_Release(&buffer)

    # -- the counts

    def edges_seen(self):
        """Returns rows (state, elements, parents with one, whether one has several, content)."""
        cdef size_t i
        cdef Edge *e
        rows = []
        for i in range(self.edge_room):
            e = &self.edges[i]
            if e.count:
                rows.append((i, e.count, e.parents, bool(e.repeated), e.content))
        return rows

    def successions(self):
        """Returns pairs of states: a child in the second state followed one in the first."""
        cdef size_t i
        return [
            (self.pairs[i] >> 32, self.pairs[i] & 0xffffffff)
            for i in range(self.pair_mask + 1) if self.pairs[i]
        ]

    def tags(self):
        """Returns rows (state, name as written, attributes, times).

        Attributes are (URI, name as written); declarations are left out.
        """
        rows = []
        for number, key in enumerate(self.keys):
            state = int.from_bytes(key[:4], "little")
            context = int.from_bytes(key[4:8], "little")
            name, *attributes = key[8:].decode().split("\0")
            names = [
                (self.contexts.expand(context, attribute, True)[0] if ":" in attribute else "", attribute)
                for attribute in attributes
            ]
            rows.append((state, name, names, self.times[number]))
        return rows

    # -- counting

    cdef int room_for_states(self, size_t states) except -1:
        cdef size_t room = self.edge_room
        if states <= room:
            return 0
        room = states + states // 2 + 64
        cdef Edge *fresh = <Edge *>realloc(self.edges, room * sizeof(Edge))
        if fresh == NULL:
            raise MemoryError
        self.edges = fresh
        cdef size_t i
        for i in range(self.edge_room, room):
            fresh[i].count = fresh[i].parents = 0
            fresh[i].repeated = fresh[i].content = 0
            fresh[i].signature = -1
        self.edge_room = room
        return 0

    cdef int add_leaves(self, const uint8_t *data, Py_ssize_t length, int64_t base,
                        const int32_t[::1] states, const int32_t[::1] parent,
                        const int8_t[::1] kind, const int64_t[::1] start,
                        const int64_t[::1] end) except -1:
        """Counts texts, comments and instructions; the stack is that of the window before."""
        cdef Py_ssize_t i, at, stop, count = parent.shape[0]
        cdef int32_t state, content
        cdef bint blank
        for i in range(count):
            if parent[i] < 0:
                continue  # outside of the document element
            if parent[i] >= self.rows:
                state = states[parent[i] - self.rows]
            else:
                state = self.open_state(parent[i])
            content = self.edges[state].content
            if kind[i] > REFERENCES:
                content |= OTHER
            elif not content & CHARACTERS:
                at, stop = start[i] - base, end[i] - base
                if not 0 <= at <= stop <= length:
                    raise HandOver("a text that is not in its window")
                if kind[i] == CDATA:  # without <![CDATA[ and ]]>
                    at, stop = at + 9, stop - 3
                blank = at < stop and _is_blank(data + at, data + stop, kind[i] == REFERENCES)
                content |= SPACES if blank else CHARACTERS
            self.edges[state].content = content
        return 0

    cdef int32_t open_state(self, int32_t row) except -1:
        """Returns the state of an element that began in an earlier window."""
        cdef size_t low = 0, high = self.depth, middle
        while low < high:
            middle = (low + high) // 2
            if self.stack[middle].row < row:
                low = middle + 1
            else:
                high = middle
        if low == self.depth or self.stack[low].row != row:
            raise HandOver("a node without its parent")
        return self.stack[low].state

    cdef int add_elements(self, const uint8_t *data, Py_ssize_t length, int64_t base,
                          const int32_t[::1] states, const int32_t[::1] parent,
                          const int32_t[::1] position, const int64_t[::1] start,
                          const int64_t[::1] content) except -1:
        cdef Py_ssize_t i, count = states.shape[0]
        cdef int32_t state, context
        cdef Open *top
        cdef Edge *edge
        for i in range(count):
            while self.depth and self.stack[self.depth - 1].row != parent[i]:
                self.depth -= 1
            state, context = states[i], 0
            edge = &self.edges[state]
            edge.count += 1
            if position[i] == 1:
                edge.parents += 1
            else:
                edge.repeated = 1
            if self.depth:
                top = &self.stack[self.depth - 1]
                context = top.context
                if top.last >= 0 and top.last != state:
                    self.add_pair((<uint64_t>top.last << 32) | <uint64_t>state)
                top.last = state
            if not 0 <= start[i] - base < content[i] - base <= length:
                raise HandOver("a tag that is not in its window")
            context = self.add_tag(data + (start[i] - base), content[i] - start[i], state, context)
            self.push(self.rows + <int32_t>i, state, context)
        self.rows += <int32_t>count
        return 0

    cdef int push(self, int32_t row, int32_t state, int32_t context) except -1:
        cdef size_t room
        cdef Open *fresh
        if self.depth == self.stack_room:
            room = 2 * self.stack_room + 64
            fresh = <Open *>realloc(self.stack, room * sizeof(Open))
            if fresh == NULL:
                raise MemoryError
            self.stack, self.stack_room = fresh, room
        self.stack[self.depth].row = row
        self.stack[self.depth].state = state
        self.stack[self.depth].last = -1
        self.stack[self.depth].context = context
        self.depth += 1
        return 0

    cdef int add_pair(self, uint64_t pair) except -1:
        cdef size_t i, j, mask
        cdef uint64_t *fresh
        i = _slot(pair, self.pair_mask)
        while self.pairs[i]:
            if self.pairs[i] == pair:
                return 0
            i = (i + 1) & self.pair_mask
        self.pairs[i] = pair
        self.pair_count += 1
        if 2 * self.pair_count > self.pair_mask:
            mask = 4 * (self.pair_mask + 1) - 1
            fresh = <uint64_t *>calloc(mask + 1, sizeof(uint64_t))
            if fresh == NULL:
                raise MemoryError
            for j in range(self.pair_mask + 1):
                if self.pairs[j]:
                    i = _slot(self.pairs[j], mask)
                    while fresh[i]:
                        i = (i + 1) & mask
                    fresh[i] = self.pairs[j]
            free(self.pairs)
            self.pairs, self.pair_mask = fresh, mask
        return 0

    cdef int32_t add_tag(self, const uint8_t *tag, Py_ssize_t length, int32_t state,
                         int32_t context) except -1:
        """Counts a well-formed start tag; returns the context inside."""
        cdef const uint8_t *p = tag + 1
        cdef const uint8_t *end = tag + length - 1  # the closing >
        cdef const uint8_t *begin = p
        cdef const uint8_t *stop
        self.key_length = 8
        while p < end and not _is_space(p[0]) and p[0] != 47:
            p += 1
        self.append(begin, p - begin, 0)
        while True:
            while p < end and _is_space(p[0]):
                p += 1
            if p >= end or p[0] == 47:
                break
            begin = p
            while p < end and p[0] != 61 and not _is_space(p[0]):
                p += 1
            stop = p
            while p < end and p[0] != 34 and p[0] != 39:
                p += 1
            if p >= end:
                raise HandOver("a tag that cannot be read")
            p = <const uint8_t *>memchr(p + 1, p[0], end - p - 1)
            if p == NULL:
                raise HandOver("a tag that cannot be read")
            p += 1
            if (stop - begin >= 5 and memcmp(begin, b"xmlns", 5) == 0
                    and (stop - begin == 5 or begin[5] == 58)):
                context = self.declare(
                    state, context, PyBytes_FromStringAndSize(<const char *>begin, p - begin)
                )
            else:
                self.append(begin, stop - begin, 1)
        memcpy(self.key, &state, 4)
        memcpy(self.key + 4, &context, 4)
        self.count_key(state)
        return context

    cdef int append(self, const uint8_t *text, size_t length, int separated) except -1:
        cdef size_t room
        cdef uint8_t *fresh
        if self.key_length + length + 1 > self.key_room:
            room = 2 * (self.key_length + length) + 256
            fresh = <uint8_t *>realloc(self.key, room)
            if fresh == NULL:
                raise MemoryError
            self.key, self.key_room = fresh, room
        if separated:
            self.key[self.key_length] = 0
            self.key_length += 1
        memcpy(self.key + self.key_length, text, length)
        self.key_length += length
        return 0

    cdef int count_key(self, int32_t state) except -1:
        """Counts the tag with the present key; usually it is the last one of its state."""
        cdef Edge *edge = &self.edges[state]
        cdef bytes key
        cdef size_t room
        cdef int64_t *fresh
        if edge.signature >= 0:
            key = <bytes>self.keys[edge.signature]
            if (<size_t>PyBytes_GET_SIZE(key) == self.key_length
                    and memcmp(PyBytes_AS_STRING(key), self.key, self.key_length) == 0):
                self.times[edge.signature] += 1
                return 0
        key = PyBytes_FromStringAndSize(<const char *>self.key, self.key_length)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.keys)
            self.keys.append(key)
            if <size_t>len(self.keys) > self.time_room:
                room = 2 * self.time_room + 256
                fresh = <int64_t *>realloc(self.times, room * sizeof(int64_t))
                if fresh == NULL:
                    raise MemoryError
                self.times, self.time_room = fresh, room
            self.times[<size_t>number] = 0
        edge.signature = number
        self.times[edge.signature] += 1
        return 0

    cdef int32_t declare(self, int32_t state, int32_t context, bytes declaration) except -1:
        """Returns the context inside an element with a namespace declaration."""
        inner = self.scopes.get((state, context, declaration))
        if inner is None:
            inner = self.contexts.declare(context, declaration)
            if inner < 0:
                raise HandOver("too many names")
            self.scopes[state, context, declaration] = inner
            prefix = declaration.partition(b"=")[0].strip().decode().partition(":")[2]
            if prefix != "xml":
                self.bindings.add((state, prefix, self.contexts.uri(inner, prefix)))
        return inner


cdef inline size_t _slot(uint64_t pair, size_t mask) noexcept nogil:
    return <size_t>((pair * <uint64_t>0x9E3779B97F4A7C15) >> 20) & mask
