# cython: language_level=3, boundscheck=False, wraparound=False
"""Descriptions of nodes in C: see `extract.filtertool.results.describe_nodes`."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

# The numbers of `extract.markup.node_kinds.NodeKind`.
cdef enum:
    ELEMENT = 0
    TEXT = 1
    COMMENT = 4
    ATTRIBUTE = 6


cdef inline bint is_white(char c) noexcept:
    return c == c" " or c == c"\t" or c == c"\n" or c == c"\r"


cdef class _Table:
    """The columns of a node table that descriptions need, and its bytes in UTF-8."""

    cdef const int32_t[::1] parent, position, leaf_parent, leaf_number
    cdef const int64_t[::1] start, content, end, leaf_start, leaf_end
    cdef const int8_t[::1] leaf_kind
    cdef bytes data
    cdef const char *at
    cdef dict paths, names
    cdef int32_t *first_leaf  # by element: its first leaf, and from there on the next ones
    cdef int32_t *next_leaf

    def __cinit__(self, elements, leaves, bytes data):
        self.parent, self.position = elements.parent, elements.position
        self.start, self.content, self.end = elements.start, elements.content, elements.end
        self.leaf_parent, self.leaf_number = leaves.parent, leaves.number
        self.leaf_start, self.leaf_end = leaves.start, leaves.end
        self.leaf_kind = leaves.kind
        self.data = data
        self.at = PyBytes_AS_STRING(data)
        self.paths = {-1: ""}
        self.names = {}

    def __dealloc__(self):
        free(self.first_leaf)
        free(self.next_leaf)

    cdef str decoded(self, int64_t start, int64_t end):
        return PyUnicode_DecodeUTF8(self.at + start, end - start, NULL)

    cdef int64_t name_end(self, int64_t row) noexcept:
        """Where the name in the start tag of an element ends."""
        cdef int64_t at = self.start[row] + 1
        while not is_white(self.at[at]) and self.at[at] != c"/" and self.at[at] != c">":
            at += 1
        return at

    cdef str name(self, int64_t row):
        name = self.names.get(row)
        if name is None:
            name = self.names[row] = self.decoded(self.start[row] + 1, self.name_end(row))
        return name

    cdef str path(self, int64_t row):
        """The unique path of an element; those of its ancestors are kept for others."""
        known = self.paths.get(row)
        if known is not None:
            return known
        above = [row]
        cdef int64_t parent = self.parent[row]
        while parent not in self.paths:
            above.append(parent)
            parent = self.parent[parent]
        cdef str path = self.paths[parent]
        for each in reversed(above):
            path = f"{path}/{self.name(each)}[{self.position[<int64_t>each]}]"
            self.paths[each] = path
        return path

    cdef int64_t leaf_from(self, int64_t offset) noexcept:
        """The first leaf that begins at an offset or after it."""
        cdef int64_t low = 0, high = self.leaf_start.shape[0], middle
        while low < high:
            middle = (low + high) // 2
            if self.leaf_start[middle] < offset:
                low = middle + 1
            else:
                high = middle
        return low

    cdef object string_value(self, int64_t row, int64_t most, values):
        """The string value of an element; None if it is too long."""
        cdef int64_t first = self.leaf_from(self.start[row]), last, i, size = 0, texts = 0, one = 0
        cdef bint plain = True
        last = first
        while last < self.leaf_start.shape[0] and self.leaf_start[last] < self.end[row]:
            if self.leaf_kind[last] < COMMENT:
                texts += 1
                one = last
                size += self.leaf_end[last] - self.leaf_start[last]
                plain = plain and self.leaf_kind[last] == TEXT
            last += 1
        if not texts:
            return ""
        if not plain:
            parts = [
                values.text(self.data[self.leaf_start[i]:self.leaf_end[i]], self.leaf_kind[i])
                for i in range(first, last)
                if self.leaf_kind[i] < COMMENT
            ]
            text = "".join(parts)
            return None if 0 <= most < len(text.encode()) else text
        if 0 <= most < size:
            return None
        if texts == 1:
            return self.decoded(self.leaf_start[one], self.leaf_end[one])
        cdef char *buffer = <char *>malloc(size + 1)
        if buffer == NULL:
            raise MemoryError
        cdef int64_t filled = 0, length
        try:
            for i in range(first, last):
                if self.leaf_kind[i] < COMMENT:
                    length = self.leaf_end[i] - self.leaf_start[i]
                    memcpy(buffer + filled, self.at + self.leaf_start[i], length)
                    filled += length
            return PyUnicode_DecodeUTF8(buffer, filled, NULL)
        finally:
            free(buffer)

    cdef int link_leaves(self) except -1:
        """Finds the leaves of each element."""
        cdef int64_t i, rows = self.start.shape[0], count = self.leaf_start.shape[0]
        self.first_leaf = <int32_t *>malloc((rows + 2) * sizeof(int32_t))
        self.next_leaf = <int32_t *>malloc((count + 1) * sizeof(int32_t))
        if self.first_leaf == NULL or self.next_leaf == NULL:
            raise MemoryError
        for i in range(rows + 1):
            self.first_leaf[i] = -1
        for i in range(count - 1, -1, -1):  # outside of the root: after all others
            self.next_leaf[i] = self.first_leaf[(self.leaf_parent[i] + rows + 1) % (rows + 1)]
            self.first_leaf[(self.leaf_parent[i] + rows + 1) % (rows + 1)] = <int32_t>i
        return 0

    cdef int64_t leaf_of(self, int8_t kind, int64_t row, int32_t number) except -2:
        """The first leaf of a text, comment or processing instruction."""
        cdef int64_t rows = self.start.shape[0]
        cdef int64_t leaf
        if self.first_leaf == NULL:
            self.link_leaves()
        leaf = self.first_leaf[(row + rows + 1) % (rows + 1)]
        while leaf >= 0:
            if self.leaf_number[leaf] == number and (
                self.leaf_kind[leaf] < COMMENT if kind == TEXT else self.leaf_kind[leaf] == kind
            ):
                return leaf
            leaf = self.next_leaf[leaf]
        raise KeyError("a text, comment or processing instruction is not in the node table")

    cdef tuple attribute(self, int64_t row, int32_t number):
        """The name of an attribute and its value; None if the value is not the bytes in quotes."""
        cdef int64_t at = self.name_end(row), first, name, name_end
        cdef char quote, c
        cdef bint plain
        while True:
            while is_white(self.at[at]):
                at += 1
            name = at
            while not is_white(self.at[at]) and self.at[at] != c"=":
                at += 1
            name_end = at
            while self.at[at] != c'"' and self.at[at] != c"'":
                at += 1
            quote = self.at[at]
            at += 1
            first = at
            plain = True
            while self.at[at] != quote:
                c = self.at[at]
                if c == c"&" or c == c"\t" or c == c"\n" or c == c"\r":
                    plain = False
                at += 1
            if number == 0:
                value = self.decoded(first, at) if plain else None
                return self.decoded(name, name_end), value, at - first
            number -= 1
            at += 1


def describe(
    elements,
    leaves,
    bytes data,
    const int8_t[::1] kind,
    const int32_t[::1] row,
    const int32_t[::1] number,
    int64_t most,
    values,
    one_by_one,
):
    """Describes nodes of a table, whose bytes are UTF-8 and have the types of attributes from no
    declaration.

    Args:
        elements, leaves: The columns of the table.
        data: Its bytes.
        kind, row, number: The nodes, as in `NodeRefs`.
        most: How many bytes a value may have; -1 for any.
        values: Decodes texts with references.
        one_by_one: Returns name and value of a node that is rare, given kind, row, number, leaf,
            start and end.

    Returns:
        Lists with kind, name, start, end, path, value and text of each.
    """
    cdef _Table table = _Table(elements, leaves, data)
    cdef Py_ssize_t count = kind.shape[0], i
    cdef int64_t r, start, end, leaf, size
    cdef str path
    nodes, names, starts, ends, paths, contents, texts = [], [], [], [], [], [], []
    for i in range(count):
        r = row[i]
        path = table.path(r)
        if r >= 0:
            start, end = table.start[r], table.end[r]
        if kind[i] == ELEMENT:
            nodes.append("element")
            names.append(table.name(r))
            contents.append(None if 0 <= most < end - start else table.decoded(start, end))
            texts.append(table.string_value(r, most, values))
        elif kind[i] == ATTRIBUTE:
            name, value, size = table.attribute(r, number[i])
            if value is None:
                name, value = one_by_one(ATTRIBUTE, r, number[i], -1, start, end)
            elif 0 <= most < size:
                value = None
            nodes.append("attribute")
            names.append(name)
            path = f"{path}/@{name}"
            contents.append(value)
            texts.append(value)
        else:
            leaf = table.leaf_of(kind[i], r, number[i])
            if kind[i] != TEXT:
                start, end = table.leaf_start[leaf], table.leaf_end[leaf]
            name = None
            if kind[i] == TEXT and table.leaf_kind[leaf] == TEXT and (
                leaf + 1 == table.leaf_start.shape[0]
                or table.leaf_parent[leaf + 1] != r
                or table.leaf_number[leaf + 1] != number[i]
                or table.leaf_kind[leaf + 1] >= COMMENT
            ):
                size = table.leaf_end[leaf] - table.leaf_start[leaf]
                value = None
                if not 0 <= most < size:
                    value = table.decoded(table.leaf_start[leaf], table.leaf_end[leaf])
            else:
                name, value = one_by_one(kind[i], r, number[i], leaf, start, end)
            if kind[i] == TEXT:
                nodes.append("text")
                path = f"{path}/text()[{number[i]}]"
            elif kind[i] == COMMENT:
                nodes.append("comment")
                path = f"{path}/comment()[{number[i]}]"
            else:
                nodes.append("pi")
                path = f"{path}/processing-instruction()[{number[i]}]"
            names.append(name)
            contents.append(value)
            texts.append(value)
        starts.append(start)
        ends.append(end)
        paths.append(path)
    return nodes, names, starts, ends, paths, contents, texts


def distinct_rows(
    const int32_t[::1] query, const int8_t[::1] kind, const int32_t[::1] row, const int32_t[::1] number
):
    """The nodes of rows that are sorted by query, each node once.

    Returns:
        For each row its node, and its number among the rows of its query; and for each node a row
        that has it.
    """
    cdef Py_ssize_t count = query.shape[0], i
    cdef int32_t ordinal = 0
    cdef dict known = {}
    nodes, ordinals, firsts = [], [], []
    for i in range(count):
        key = ((<int64_t>row[i] + 1) << 35) | (<int64_t>number[i] << 3) | kind[i]
        place = known.get(key)
        if place is None:
            place = known[key] = len(firsts)
            firsts.append(i)
        nodes.append(place)
        ordinal = ordinal + 1 if i and query[i] == query[i - 1] else 0
        ordinals.append(ordinal)
    return nodes, ordinals, firsts
