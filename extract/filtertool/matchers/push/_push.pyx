# cython: language_level=3, boundscheck=False, wraparound=False
"""The Cython binding of the push engine."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from extract.chunktool.scan.kernel._kernel cimport ScanCore
from extract.chunktool.scan.kernel.c_scan cimport CT_OK, ct_rows
from extract.filtertool.matchers.push._node_columns cimport STRINGS, NodeColumns
from extract.filtertool.matchers.push.core.c_push cimport (
    PX_OK, px_adapt, px_cell, px_describe, px_describe_nothing, px_descriptions,
    px_descriptions_begin, px_descriptions_free, px_give_back, px_input, px_machine, px_machine_free, px_machine_memory, px_machine_new,
    px_match, px_outputs, px_outputs_free, px_program, px_program_add, px_program_assign, px_programs,
    px_programs_free, px_registry, px_registry_free, px_registry_memory, px_registry_new, px_results,
    px_values_made,
    px_row_add, px_row_remove, px_row_soon, px_rows_expect, px_strings_release, px_strings_use,
    px_template_add, px_template_order, px_template_remove, px_write_outputs,
)

cdef extern from "number.h" nogil:
    double number_of(const uint8_t *at, int64_t length)

cdef extern from "hashing.h" nogil:
    void prefetch(const void *at)

import os

import numpy as np

cdef enum:
    SOON = 16  # rows between asking for a place in memory and using it


cdef class Registry:
    """The templates and queries of an engine. Not to be changed while a `Machine` matches."""

    cdef px_registry *r
    cdef px_programs programs
    cdef object namespaces  # kept as long as the registry points to it

    def __cinit__(self):
        cdef uint64_t[2] secret
        secret[0] = int.from_bytes(os.urandom(8), "little")
        secret[1] = int.from_bytes(os.urandom(8), "little")
        self.r = px_registry_new(secret)
        if self.r == NULL:
            raise MemoryError

    def __dealloc__(self):
        px_programs_free(&self.programs)
        px_registry_free(self.r)

    def set_namespaces(self, namespaces):
        """Takes the namespace of each symbol, an array of 32-bit integers."""
        cdef const int32_t[::1] view = namespaces
        self.namespaces = namespaces
        self.r.symbols = view.shape[0]
        self.r.namespaces = &view[0] if view.shape[0] else NULL

    def add_template(self, const int32_t[::1] words):
        """Adds a template; returns its number."""
        cdef int32_t number = px_template_add(self.r, &words[0], words.shape[0])
        if number < 0:
            raise MemoryError
        return number

    def remove_template(self, int32_t number):
        """Removes a template, which has no queries any more."""
        if not 0 <= number < <int32_t>self.r.template_count or self.r.templates[number].live:
            raise IndexError("there is no such template, or it has queries")
        px_template_remove(self.r, number)

    def add_queries(self, int32_t number, const int32_t[::1] queries, columns):
        """Adds queries to a template: all, or none if there is no memory.

        Args:
            number: The template.
            queries: Their numbers, which are new.
            columns: For each constant an array of numbers, or a buffer with starts and stops.
        """
        cdef Py_ssize_t width = len(columns), count = queries.shape[0], i, made = 0
        cdef px_cell *cells = <px_cell *>malloc((width * count + 1) * sizeof(px_cell))
        cdef const int64_t[::1] order
        cdef bint failed = False
        if cells == NULL:
            raise MemoryError
        try:
            strings = self.fill_cells(cells, count, columns)
            order = self.order_of(number, cells, count, strings)
            failed = px_rows_expect(self.r, <size_t>count) != PX_OK
            for i in range(0 if failed else count):
                if i + 2 * SOON < count:
                    prefetch(cells + order[i + 2 * SOON] * width)
                    prefetch(cells + (order[i + 2 * SOON] + 1) * width - 1)
                if i + SOON < count:
                    px_row_soon(self.r, number, cells + order[i + SOON] * width)
                if px_row_add(self.r, number, cells + order[i] * width, queries[order[i]]) != PX_OK:
                    failed = True
                    break
                made += 1
            if failed:
                for i in range(made):
                    px_row_remove(self.r, queries[order[i]])
                for i in range(made, count):
                    self.release(cells + order[i] * width, strings)
                raise MemoryError
        finally:
            free(cells)

    def add_query(self, int32_t number, int32_t query, tuple constants):
        """Adds one query, as `add_queries` does; its constants are texts.

        Args:
            number: The template.
            query: Its number, which is new.
            constants: For each constant a text, whether it is a string, and whether it is negated.
        """
        cdef Py_ssize_t width = len(constants), k, made = 0
        cdef px_cell *cells = <px_cell *>malloc((width + 1) * sizeof(px_cell))
        cdef const uint8_t *at
        cdef Py_ssize_t size
        cdef bint failed = cells == NULL
        cdef double value
        strings = []
        try:
            for k in range(0 if failed else width):
                text, is_string, negative = constants[k]
                at = <const uint8_t *>PyBytes_AS_STRING(text)
                size = PyBytes_GET_SIZE(text)
                if is_string:
                    cells[k].string = px_strings_use(&self.r.strings, at, <size_t>size)
                    failed = cells[k].string < 0
                else:
                    value = number_of(at, size)
                    cells[k].number = -value if negative else value
                if failed:
                    break
                strings.append(is_string)
            if failed or px_row_add(self.r, number, cells, query) != PX_OK:
                if cells != NULL:
                    self.release(cells, strings)
                raise MemoryError
        finally:
            free(cells)

    cdef object fill_cells(self, px_cell *cells, Py_ssize_t count, columns):
        """Fills in constants row by row; returns which of them are strings, each with a use."""
        cdef Py_ssize_t width = len(columns), i, k
        cdef const double[::1] numbers
        cdef const int64_t[::1] starts, stops
        cdef const uint8_t *at
        cdef int32_t string
        strings = [isinstance(column, tuple) for column in columns]
        for k in range(width):
            if not strings[k]:
                numbers = np.ascontiguousarray(columns[k], np.float64)
                for i in range(count):
                    cells[i * width + k].number = numbers[i]
                continue
            buffer = columns[k][0]
            starts = np.ascontiguousarray(columns[k][1], np.int64)
            stops = np.ascontiguousarray(columns[k][2], np.int64)
            at = <const uint8_t *>PyBytes_AS_STRING(buffer)
            for i in range(count):
                string = px_strings_use(&self.r.strings, at + starts[i], <size_t>(stops[i] - starts[i]))
                if string < 0:
                    self.release_columns(cells, count, width, k, i, strings)
                    raise MemoryError
                cells[i * width + k].string = string
        return strings

    cdef object order_of(self, int32_t number, const px_cell *cells, Py_ssize_t count, strings):
        """The order in which rows are found side by side."""
        cdef int32_t cell = px_template_order(self.r, number)
        cdef Py_ssize_t i, width = len(strings)
        cdef double[::1] keys
        if cell < 0 or count < 2:
            return np.arange(count)
        column = np.empty(count, np.float64)
        keys = column
        if strings[cell]:
            for i in range(count):
                keys[i] = cells[i * width + cell].string
        else:
            for i in range(count):
                keys[i] = cells[i * width + cell].number
        return np.argsort(column, kind="stable")

    cdef int release(self, const px_cell *cells, strings) except -1:
        for k, is_string in enumerate(strings):
            if is_string:
                px_strings_release(&self.r.strings, cells[<Py_ssize_t>k].string)
        return 0

    cdef int release_columns(
        self, const px_cell *cells, Py_ssize_t count, Py_ssize_t width, Py_ssize_t last, Py_ssize_t rows, strings
    ) except -1:
        """Releases the strings of all columns before the last one, and those of its first rows."""
        cdef Py_ssize_t i, k
        for k in range(last + 1):
            if strings[k]:
                for i in range(rows if k == last else count):
                    px_strings_release(&self.r.strings, cells[i * width + k].string)
        return 0

    def has_queries(self, int32_t number):
        """Whether a template has queries."""
        return self.r.templates[number].live > 0

    def remove_query(self, int32_t query):
        """Removes a query, if it is there; returns its template if that has no queries any more,
        else -1."""
        if not 0 <= query < <int32_t>self.r.owner_room or self.r.owners[query].template_ < 0:
            return -1
        cdef int32_t number = self.r.owners[query].template_
        px_row_remove(self.r, query)
        return -1 if self.r.templates[number].live else number

    def add_program(self, const int32_t[::1] words, bytes text, columns, bint texts):
        """Adds a program that writes results; returns its number.

        Args:
            words: The operations.
            text: The characters that they write.
            columns: For each constant of conditions its value, as for `add_queries`.
            texts: Whether it looks at text nodes.
        """
        cdef px_program program
        cdef Py_ssize_t k
        memset(&program, 0, sizeof(px_program))
        program.count = words.shape[0]
        program.width = len(columns)
        program.texts = texts
        program.words = <int32_t *>malloc(program.count * sizeof(int32_t))
        program.text = <uint8_t *>malloc(len(text) + 1)
        program.cells = <px_cell *>malloc((program.width + 1) * sizeof(px_cell))
        program.strings = <uint8_t *>malloc(program.width + 1)
        cdef int32_t number = -1
        strings = []
        if program.words != NULL and program.text != NULL and program.cells != NULL and program.strings != NULL:
            memcpy(program.words, &words[0], program.count * sizeof(int32_t))
            memcpy(program.text, PyBytes_AS_STRING(text), len(text))
            strings = self.fill_cells(program.cells, 1, columns)
            for k, is_string in enumerate(strings):
                program.strings[k] = is_string
            number = px_program_add(&self.programs, self.r, program)
        if number < 0:
            self.release(program.cells, strings)
            free(program.words)
            free(program.text)
            free(program.cells)
            free(program.strings)
            raise MemoryError
        return number

    def assign_program(self, int32_t query, int32_t program):
        """Gives a query a program, or none (-1); one that no query has is dropped."""
        if px_program_assign(&self.programs, self.r, query, program) != PX_OK:
            raise MemoryError

    @property
    def queries(self):
        """The number of queries."""
        return self.r.members

    @property
    def memory(self):
        """How much memory there is for them, in bytes."""
        return px_registry_memory(self.r)


_INT8, _INT32, _INT64 = np.dtype(np.int8), np.dtype(np.int32), np.dtype(np.int64)
_NONE = {one: np.empty(0, one) for one in (_INT8, _INT32, _INT64)}


cdef object _column(const void *data, size_t count, dtype):
    if count == 0:
        return _NONE[dtype]
    array = np.empty(count, dtype)
    cdef char[::1] view = array.view(np.int8)
    memcpy(&view[0], data, count * <size_t>dtype.itemsize)
    return array


cdef tuple _columns(const px_results *results, int select, const int64_t[::1] ends):
    """The columns of results; without ``ends``, which say where the results of each document end,
    the engine names their documents."""
    return (
        _column(results.unit, results.count, _INT32) if ends is None else _units(ends, results.count),
        _column(results.query, results.count, _INT32),
        _column(results.value, results.count if select > 0 else 0, _INT64),
        _column(results.number, results.count if select > 1 else 0, _INT32),
    )


cdef tuple _values(const px_values_made *made):
    """The columns of values, and the bytes of all texts."""
    texts = PyBytes_FromStringAndSize(<const char *>made.bytes, made.used)
    return (*_columns(&made.rows, 2, None), texts)


cdef object _units(const int64_t[::1] ends, size_t count):
    if count == 0:
        return _NONE[_INT32]
    array = np.empty(count, _INT32)
    cdef int32_t[::1] view = array
    cdef int32_t *units = &view[0]
    cdef Py_ssize_t unit
    cdef int64_t i, first = 0, end
    for unit in range(ends.shape[0]):
        end = ends[unit]
        for i in range(first, end):
            units[i] = <int32_t>unit
        first = end
    return array


cdef tuple _described(const px_descriptions *d):
    """Rows: query, node and number of each; the nodes; and for each document whether it was
    described, and where its rows and its nodes end."""
    cdef Py_ssize_t[STRINGS] sizes
    cdef Py_ssize_t[STRINGS] holes
    cdef NodeColumns nodes = NodeColumns.__new__(NodeColumns)
    cdef Py_ssize_t i, count = <Py_ssize_t>d.nodes
    cdef int column
    for column in range(STRINGS):
        sizes[column] = <Py_ssize_t>d.strings[column].used
        holes[column] = <Py_ssize_t>d.strings[column].holes
    nodes.reserve(count, sizes, holes)
    if count:
        memcpy(nodes.starts(), d.start, count * sizeof(int64_t))
        memcpy(nodes.starts() + count, d.end, count * sizeof(int64_t))
        for column in range(STRINGS):
            memcpy(nodes.ends(column) + 1, d.strings[column].ends, count * sizeof(int32_t))
            if sizes[column]:
                memcpy(nodes.bytes_of(column), d.strings[column].bytes, sizes[column])
            for i in range(count if holes[column] else 0):
                if not d.strings[column].missing[i]:
                    nodes.valid(column)[i >> 3] |= 1 << (i & 7)
    return (
        _column(d.query, d.rows, _INT32),
        _column(d.node, d.rows, _INT32),
        _column(d.ordinal, d.rows, _INT64),
        nodes,
        [d.described[i] == 1 for i in range(<Py_ssize_t>d.units)],
        [d.row_end[i] for i in range(<Py_ssize_t>d.units)],
        [d.node_end[i] for i in range(<Py_ssize_t>d.units)],
    )


cdef class Machine:
    """Matches documents with the queries of a registry; for one thread at a time.

    Args:
        registry: The queries.
        automaton: Numbers names, and checks edges of the schema.
        limits: How large documents and their parts may be.
        select: 0 for which queries match, 1 for how many nodes they select, 2 for the nodes, 3 for
            what programs write for these.
        state_bytes: The memory that states may take.
        steps: How many steps a query may take for each node of a document and step of its own.
        other: Matches documents that break the schema, with other queries; or None.
    """

    cdef px_machine *m
    cdef px_outputs outputs
    cdef px_descriptions descriptions
    cdef bint writes, describes, failed
    cdef Registry registry
    cdef Machine other
    cdef object automaton, limits
    cdef size_t most_broken
    cdef list broken
    cdef int64_t[::1] ends  # of the results of each document of the batch
    cdef ScanCore core

    def __cinit__(
        self,
        Registry registry,
        automaton,
        limits,
        int select,
        size_t state_bytes,
        int64_t steps,
        Machine other=None,
    ):
        self.registry = registry
        self.automaton = automaton
        self.limits = limits
        self.other = other
        self.most_broken = limits.whole_bytes
        self.writes = select == 3
        self.describes = select == 2
        self.m = px_machine_new(registry.r, 0 if self.writes else select, state_bytes, steps)
        self.outputs.most = limits.query_bytes
        self.descriptions.value_bytes = -1 if limits.value_bytes is None else limits.value_bytes
        self.descriptions.most_rows = limits.query_rows
        self.descriptions.most_bytes = limits.query_bytes
        if self.m == NULL:
            raise MemoryError
        self.m.bindings.wanted = self.writes
        self.begin()

    cdef int begin(self) except -1:
        """Starts with a scanner that has seen no document."""
        self.core = ScanCore(len(self.automaton.outputs))
        self.core.begin(self.automaton, self.limits, True)
        self.core.follow_everywhere(self.automaton)
        self.core.s.table_attributes = 1
        return 0

    def __dealloc__(self):
        px_machine_free(self.m)
        px_outputs_free(&self.outputs)
        px_descriptions_free(&self.descriptions)

    def match(self, tuple documents, const int32_t[::1] conditions, const int32_t[::1] others):
        """Matches documents.

        Args:
            documents: The documents, as bytes.
            conditions: Queries that are true or false of a document, ascending; looked at where
                nodes are described.
            others: The same for the other machine.

        Returns:
            For each document 1 if it was matched, 2 if the other machine did it, 3 if it breaks
            the schema and is for neither, 0 if the scan does not take it, -1 if it takes too long;
            what was found, and what the other machine found, or None if it did nothing: the
            columns of results and of queries that may match, descriptions of nodes, or None, and
            columns of the values of queries that are numbers or texts, with the bytes of all texts,
            or None;
            and the first edges that are not in the schema, by document.
        """
        cdef Py_ssize_t count = len(documents), i
        cdef const uint8_t **data = <const uint8_t **>malloc((count + 1) * sizeof(void *))
        cdef size_t *lengths = <size_t *>malloc((count + 1) * sizeof(size_t))
        done = np.zeros(count, np.int8)
        cdef int8_t[::1] matched = done
        self.broken = []
        try:
            if data == NULL or lengths == NULL:
                raise MemoryError
            for i in range(count):
                if not isinstance(documents[i], bytes):
                    raise TypeError("a document that is not bytes")
                data[i] = <const uint8_t *>PyBytes_AS_STRING(documents[i])
                lengths[i] = <size_t>PyBytes_GET_SIZE(documents[i])
            self.begin_batch(conditions, count)
            if self.other is not None:
                self.other.begin_batch(others, count)
            with nogil:
                for i in range(count):
                    matched[i] = self.match_one(data[i], lengths[i], <int32_t>i)
        finally:
            free(data)
            free(lengths)
        if self.failed or (self.other is not None and self.other.failed):
            raise MemoryError
        if self.core.crowded():
            self.begin()
        others_found = self.other.found() if self.broken and self.other is not None else None
        answers = (done, self.found(), others_found, self.broken)
        px_give_back(self.m)
        if self.other is not None:
            px_give_back(self.other.m)
        return answers

    cdef int begin_batch(self, const int32_t[::1] conditions, Py_ssize_t documents) except -1:
        self.ends = np.empty(documents, np.int64)
        self.m.results.count = self.m.candidates.count = self.m.values.rows.count = self.m.values.used = 0
        self.outputs.count = self.outputs.texts = self.outputs.used = 0
        px_descriptions_begin(&self.descriptions)
        self.descriptions.condition_count = <size_t>conditions.shape[0]
        self.descriptions.conditions = &conditions[0] if conditions.shape[0] else NULL
        self.failed = False
        return 0

    cdef tuple found(self):
        return (
            _columns(&self.m.results, self.m.select, None if self.m.select else self.ends),
            _columns(&self.m.candidates, 0, None),
            _described(&self.descriptions) if self.describes else None,
            _values(&self.m.values) if self.m.values.rows.count else None,
        )

    cdef int8_t match_one(self, const uint8_t *data, size_t length, int32_t unit) noexcept nogil:
        """Matches a document: the code of it is as for `match`."""
        cdef px_input document
        cdef int8_t code = -1, other = 0
        if length <= INT32_MAX:
            code = self.scanned(data, length, &document)
        if code == 1:
            code = self.match_scanned(&document, unit)
        elif code == 3:
            with gil:
                self.broken.append((unit, self.core.violation()))
            if self.other is not None and length <= self.most_broken:
                other = self.other.match_scanned(&document, unit)
                code = 2 if other == 1 else other
        if self.describes:
            self.describe(unit, code == 1, self.core.s.rows.position)
            if self.other is not None:
                self.other.describe(unit, code == 2, self.core.s.rows.position)
        self.ends[unit] = <int64_t>self.m.results.count
        if self.other is not None:
            self.other.ends[unit] = <int64_t>self.other.m.results.count
        return code

    cdef int8_t scanned(self, const uint8_t *data, size_t length, px_input *document) noexcept nogil:
        """Scans a document: the code of it is as for `match`."""
        cdef ct_rows *rows
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
        return 1 if self.core.s.violation_at < 0 else 3

    cdef int8_t match_scanned(self, const px_input *document, int32_t unit) noexcept nogil:
        """Matches a document that was scanned; returns 1, or -1 if it takes too long."""
        cdef size_t first = self.m.results.count
        if px_match(self.m, document, unit) != PX_OK:
            return -1
        if not self.writes:
            return 1
        if self.m.overrun:  # what a query writes must be known to the end
            while self.m.candidates.count > 0 and self.m.candidates.unit[self.m.candidates.count - 1] == unit:
                self.m.candidates.count -= 1
            self.m.results.count = first
            return -1
        if px_write_outputs(&self.outputs, &self.registry.programs, self.m, first, unit) == PX_OK:
            return 1
        self.m.results.count = first
        return -1

    cdef void describe(self, int32_t unit, bint matched, const int32_t *position) noexcept nogil:
        """Describes what was found in the last document, or notes that nothing was."""
        cdef size_t first = self.m.results.count, open = self.m.candidates.count
        cdef size_t value = self.m.values.rows.count
        while first > 0 and self.m.results.unit[first - 1] == unit:
            first -= 1
        while open > 0 and self.m.candidates.unit[open - 1] == unit:
            open -= 1
        while value > 0 and self.m.values.rows.unit[value - 1] == unit:
            value -= 1
        if matched:
            if px_describe(&self.descriptions, self.m, position, first, open, value) != PX_OK:
                self.failed = True
        elif px_describe_nothing(&self.descriptions) != PX_OK:
            self.failed = True

    def written(self):
        """What programs have written for the last documents.

        Returns:
            The document, the query and the text of each result; where the bytes of each text end,
            whether it was too long and has none, and the bytes of all.
        """
        cdef px_outputs *o = &self.outputs
        return (
            _column(o.unit, o.count, _INT32),
            _column(o.query, o.count, _INT32),
            _column(o.text, o.count, _INT32),
            _column(o.end, o.texts, _INT64),
            _column(o.too_long, o.texts, _INT8),
            PyBytes_FromStringAndSize(<const char *>o.bytes, o.used),
        )

    def adapt(self):
        """Reorganises the registry by what was seen; no other machine may be matching."""
        if px_adapt(self.registry.r, self.m) != PX_OK:
            raise MemoryError
        if self.other is not None and self.other.m.figures.documents:
            self.other.adapt()

    def figures(self):
        """What was done so far."""
        f = &self.m.figures
        return {
            "documents": f.documents,
            "elements": f.elements,
            "slots": f.slots,
            "candidates": f.candidates,
            "checks": f.evaluated,
            "matches": f.matches,
            "sorted": self.outputs.sorted,
            "known_shapes": f.known,
            "steps": f.steps,
            "overrun": f.overrun,
            "states": self.m.states.count,
            "states_made": self.m.states.made,
            "states_dropped": self.m.states.dropped,
            "state_bytes": self.m.states.bytes,
        }

    @property
    def memory(self):
        """How much memory the machine has, in bytes."""
        return px_machine_memory(self.m) + (0 if self.other is None else self.other.memory)


def _parts_of_pair(pair):
    try:
        name, document = pair
    except (TypeError, ValueError):
        raise TypeError("documents come as pairs of a name and a document") from None
    return name, document


def named_documents(pairs):
    """Divides pairs of a name and a document.

    Args:
        pairs: Any iterable of them.

    Returns:
        The names, as a list, and the documents, as a tuple.

    Raises:
        TypeError: One is no such pair, or a name is not a string.
    """
    cdef list names = [], documents = []
    for pair in pairs:
        if type(pair) is tuple and len(<tuple>pair) == 2:
            name, document = <tuple>pair
        else:
            name, document = _parts_of_pair(pair)
        if not isinstance(name, str):
            kind = type(name).__name__
            raise TypeError(f"the name of a document is a string, not {kind}")
        names.append(name)
        documents.append(document)
    return names, tuple(documents)


def plain_documents(tuple documents, Py_ssize_t most):
    """Which documents are bytes that begin like XML in UTF-8, and not too many.

    Args:
        documents: The documents, of whatever type.
        most: The largest number of bytes.

    Returns:
        Their places, how many bytes each of them has, and the most of these.
    """
    cdef Py_ssize_t count = len(documents), i, found = 0, size, largest = 0
    cdef const uint8_t *at
    array, lengths = np.empty(count, np.int64), np.empty(count, np.int64)
    cdef int64_t[::1] places = array, sizes = lengths
    for i in range(count):
        document = documents[i]
        if type(document) is not bytes:
            continue
        size = PyBytes_GET_SIZE(document)
        at = <const uint8_t *>PyBytes_AS_STRING(document)
        if 0 < size <= most and (at[0] == c"<" or (at[0] == 0xEF and size > 3 and at[1] == 0xBB)):
            places[found] = i
            sizes[found] = size
            found += 1
            largest = max(largest, size)
    return array[:found], lengths[:found], largest
