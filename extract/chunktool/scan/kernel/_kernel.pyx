# cython: language_level=3, boundscheck=False, wraparound=False
"""The Cython binding between the scanner in C and the automaton in Python."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from extract.chunktool.scan.kernel.c_scan cimport (
    CT_BAD_QNAME, CT_CDATA, CT_COMMENT, CT_ERROR, CT_FOLLOW, CT_HAND_OVER, CT_MISS_ALLOWED,
    CT_MISS_CONTEXT, CT_MISS_ELEMENT, CT_MISS_STEP, CT_MORE, CT_NO_COLON, CT_OK, CT_PI,
    CT_REFERENCES, CT_TEXT, CT_UNBOUND, ct_cut_open, ct_finish, ct_frame, ct_key, ct_map,
    ct_map_get, ct_map_put, ct_name, ct_names, ct_output, ct_rows, ct_run, ct_scan, ct_scan_free,
    ct_scan_memory, ct_scan_new, ct_scan_reset, ct_tables, ct_tables_cells, ct_tables_free,
    ct_tables_new, ct_tables_put_state,
)

import os
import threading
import weakref

import numpy as np

from extract.chunktool.scan.kernel.namespaces import Contexts
from extract.chunktool.scan.protocol import Batch, Elements, Ends, HandOver, Leaves, Violation
from extract.chunktool.scan.wellformed import mismatched
from extract.errors import DocumentError
from extract.limits import DEFAULTS, RAISE
from extract.markup.node_kinds import NodeKind


cdef size_t MOST_NAMES = 1 << 20  # in tables; documents with more go to the reference scanner
cdef int32_t MOST_SHOWN = 200  # bytes of a name in a message
cdef size_t MOST_MEMORY = 1 << 27  # bytes that the next scanner may inherit

assert [CT_TEXT, CT_CDATA, CT_REFERENCES, CT_COMMENT, CT_PI] == [
    NodeKind.TEXT, NodeKind.CDATA, NodeKind.REFERENCES, NodeKind.COMMENT, NodeKind.PI
], "scan.h has other numbers for kinds of leaves than extract.markup.node_kinds"

_INT8, _INT32, _INT64 = np.dtype(np.int8), np.dtype(np.int32), np.dtype(np.int64)
_HINTS = {
    "]]> in a text": "write ]]&gt;",
    "< in an attribute value": "write &lt;",
    "an ampersand that begins no reference": "write &amp; for the character",
    "a reference to an entity that is not declared": "declare it in the internal subset",
    "a prefix that is bound to no namespace": "declare it with xmlns:prefix on an element around it",
    "an XML declaration that is not at the beginning": "remove what is before it, white space too",
    "bytes that are no character of XML in UTF-8": (
        "if the document is in another encoding, its XML declaration must say so"
    ),
}
_NO_RANGES = np.empty((0, 2), _INT64)


cdef class ScanCore:
    """The C structures that outlive a scanner: the answers of one automaton, and working memory."""

    def __cinit__(self, int32_t outputs):
        seed = int.from_bytes(os.urandom(8), "little")
        self.c = ct_tables_new(seed, MOST_NAMES)
        if self.c != NULL:
            self.s = ct_scan_new(self.c, outputs)
        if self.s == NULL:
            raise MemoryError
        self.contexts = Contexts()
        self.expanded = {}

    def __dealloc__(self):
        ct_scan_free(self.s)
        ct_tables_free(self.c)

    cdef bint crowded(self):
        """Whether a huge or hostile document has filled the tables, so that they are not reused."""
        return (
            self.c.names.count > MOST_NAMES // 4
            or len(self.contexts) > MOST_NAMES // 8
            or ct_scan_memory(self.s) > MOST_MEMORY
        )

    cdef int begin(self, automaton, limits, bint table) except -1:
        """Prepares for a document. The first time, this asks the automaton."""
        self.learn_state(automaton, automaton.START)
        ct_scan_reset(self.s)
        self.s.token_limit = limits.token_bytes
        self.s.name_limit = limits.name_bytes
        self.s.value_limit = limits.attribute_bytes
        self.s.tag_limit = min(limits.token_bytes, limits.name_bytes, limits.attribute_bytes)
        self.s.depth_limit = min(limits.depth, INT32_MAX - 1)
        self.s.attribute_limit = min(limits.attributes, INT32_MAX - 1)
        self.s.table = table
        self.s.assume_valid = bool(getattr(automaton, "assume_valid", False))
        for output in automaton.info(automaton.START).subtree:
            self.s.outputs[<int32_t>output].whole = 1
            self.s.outputs[<int32_t>output].open = 0
        return 0

    cdef int scan(self, automaton, const uint8_t *data, size_t length) noexcept nogil:
        """Scans a whole document; the limits are those of `begin`. Any code but CT_OK: another
        scanner must read it, or say what is wrong with it. With an open state, one that breaks the
        schema is scanned to its end, too."""
        cdef int32_t output
        cdef int code
        cdef size_t left
        ct_scan_reset(self.s)
        for output in range(self.s.output_count):
            self.s.outputs[output].whole = 1
            self.s.outputs[output].open = 0
        while True:
            code = ct_run(self.s, data, length)
            if code == CT_MORE or code >= CT_ERROR:
                break
            with gil:
                try:
                    self.learn(automaton, code)
                except Exception:  # it hands over, or there is no memory
                    return CT_HAND_OVER
        if code != CT_MORE:
            return code
        left = length - self.s.at
        self.s.base = <int64_t>self.s.at
        code = ct_finish(self.s, left)
        if code == CT_OK and self.s.violation_at >= 0 and self.s.open_state < 0:
            return CT_HAND_OVER
        return code

    cdef int follow_everywhere(self, automaton) except -1:
        """From now on, scans go on after an edge that the schema does not have."""
        self.learn_state(automaton, automaton.OPEN)
        self.s.open_state = automaton.OPEN
        return 0

    cdef object violation(self):
        """The first edge that the schema does not have; None if there is none."""
        cdef char *text = <char *>self.s.violation
        if self.s.violation_at < 0:
            return None
        path = PyBytes_FromStringAndSize(text, self.s.path_length)
        child = PyBytes_FromStringAndSize(text + self.s.path_length, self.s.child_length)
        return Violation(self.s.violation_at, path.decode(), child.decode())

    cdef int learn_state(self, automaton, int32_t state) except -1:
        if <size_t>state < self.c.state_room and self.c.states[state].known:
            return 0
        info = automaton.info(state)
        lists = (info.subtree, info.tag, info.content)
        numbers = [number for part in lists for number in part]
        cdef size_t count = len(numbers), i
        cdef size_t subtrees = len(info.subtree), tags = len(info.tag), contents = len(info.content)
        cdef int32_t *flat = <int32_t *>malloc((count + 1) * sizeof(int32_t))
        if flat == NULL:
            raise MemoryError
        try:
            for i in range(count):
                flat[i] = numbers[i]
                if not 0 <= flat[i] < self.s.output_count:
                    raise IndexError("the automaton names an output that does not exist")
            if ct_tables_put_state(self.c, state, bool(info.inside), bool(info.skip), flat,
                                   subtrees, flat + subtrees, tags, flat + subtrees + tags,
                                   contents) < 0:
                raise MemoryError
        finally:
            free(flat)
        return 0

    cdef bytes text(self, ct_names *names, int32_t number):
        cdef ct_name *name = &names.items[number]
        return PyBytes_FromStringAndSize(<char *>names.bytes + name.offset, name.length)

    cdef int learn(self, automaton, int code) except -1:
        """Gets the answer that the scan lacks from the automaton."""
        cdef int32_t first = self.s.miss_first, second = self.s.miss_second
        if code == CT_MISS_ELEMENT:
            self.learn_name(automaton, first, second, False)
        elif code == CT_MISS_STEP:
            self.learn_step(automaton, first, second)
        elif code == CT_MISS_CONTEXT:
            number = self.contexts.declare(first, self.text(&self.c.declarations, second))
            if number == Contexts.FULL:
                raise HandOver("too many names")
            _put(&self.c.contexts, first, second, number, 0)
        else:
            self.learn_attributes(automaton, code)
        return 0

    cdef int learn_step(self, automaton, int32_t state, int32_t symbol) except -1:
        cdef int32_t target = automaton.step(state, symbol)
        if target == automaton.FULL:
            raise HandOver("too many states")
        if target >= 0:
            self.learn_state(automaton, target)
        _put(&self.c.steps, state, symbol, target, 0)
        return 0

    cdef int learn_name(self, automaton, int32_t name, int32_t context, bint attribute) except -1:
        cdef ct_map *map = &self.c.attributes if attribute else &self.c.elements
        text = self.text(&self.c.names, name).decode()
        pair = self.contexts.expand(context, text, attribute)
        if pair is None:
            _put(map, name, context, CT_UNBOUND, CT_UNBOUND)
            return 0
        expanded = self.expanded.setdefault(pair, len(self.expanded))
        if ct_tables_cells(self.c, len(self.expanded)) < 0:
            raise MemoryError
        ask = automaton.attribute_symbol if attribute else automaton.symbol
        _put(map, name, context, ask(*pair), expanded)
        return 0

    cdef int learn_attributes(self, automaton, int code) except -1:
        """Gets the answers for all attributes of the tag, which is read again after each miss."""
        cdef size_t i
        cdef int32_t number, context
        cdef ct_name *name
        for i in range(self.s.attribute_count):
            number = self.s.attributes[i].name
            name = &self.c.names.items[number]
            if code == CT_MISS_ALLOWED:
                if not _has(&self.c.allowed, self.s.miss_first, name.attribute_symbol):
                    allowed = bool(automaton.allows(self.s.miss_first, name.attribute_symbol))
                    _put(&self.c.allowed, self.s.miss_first, name.attribute_symbol, allowed, 0)
            elif name.colon != CT_BAD_QNAME:
                context = 0 if name.colon == CT_NO_COLON else self.s.tag_context
                if not _has(&self.c.attributes, number, context):
                    self.learn_name(automaton, number, context, True)
        return 0


cdef inline bint _has(const ct_map *map, int32_t a, int32_t b):
    return ct_map_get(map, ct_key(a, b)) != NULL


cdef int _put(ct_map *map, int32_t a, int32_t b, int32_t first, int32_t second) except -1:
    if ct_map_put(map, ct_key(a, b), first, second) < 0:
        raise MemoryError
    return 0


class _Pool:
    """Cores of one automaton that no scanner is using.

    A scanner has its core for itself as long as it lives: look-ups in C run without the GIL and
    without locks, and no core is read while it is written. There are as many cores as there were
    scanners at a time. The lock lets one scanner at a time call the automaton.

    The list needs no lock, and must not have one: a scanner may be finalised in a garbage
    collection, which happens anywhere, even where another scanner holds the lock.
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.free = []


_pools = weakref.WeakKeyDictionary()
_pools_lock = threading.Lock()


def _pool_of(automaton):
    with _pools_lock:
        pool = _pools.get(automaton)
        if pool is None:
            pool = _pools[automaton] = _Pool()
        return pool


cdef class _Block:
    """Memory for all columns of a batch: one block is faster to allocate and to free."""

    cdef bytes memory
    cdef size_t used

    def __cinit__(self, size_t size):
        self.memory = PyBytes_FromStringAndSize(NULL, size)

    cdef object column(self, const void *data, size_t count, size_t size, dtype):
        """Returns a copy of a column as an array. Columns begin at multiples of eight."""
        cdef size_t start = self.used
        if count:
            memcpy(<char *>self.memory + start, data, count * size)
        self.used = _padded(start + count * size)
        return np.frombuffer(self.memory, dtype, count, start)


cdef inline size_t _padded(size_t size):
    return (size + 7) & ~<size_t>7


cdef class KernelScanner:
    """Scans one document, in C. See `extract.chunktool.scan.protocol.Scanner`.

    Args:
        automaton: The automaton to follow.
        limits: The largest document, depth and so on.
        table: Whether to fill the node table.
    """

    cdef ct_scan *s
    cdef object automaton, pool, reported, limits
    cdef ScanCore core
    cdef dict tags
    cdef size_t left
    cdef bint busy, over

    def __cinit__(self, automaton, limits=None, table=False):
        self.limits = limits = limits or DEFAULTS
        self.automaton = automaton
        self.pool = _pool_of(automaton)
        try:
            self.core = self.pool.free.pop()
        except IndexError:
            self.core = ScanCore(len(automaton.outputs))
        with self.pool.lock:
            self.core.begin(automaton, limits, table)
        self.s = self.core.s
        self.tags = {}

    def __del__(self):
        """Returns the core to the pool."""
        if self.core is not None and not self.busy and not self.core.crowded():
            self.pool.free.append(self.core)

    @property
    def violation(self):
        """The first edge that the schema does not have."""
        if self.reported is None:
            self.reported = self.core.violation()
        return self.reported

    def feed(self, data):
        """Scans a window; returns the number of bytes consumed."""
        cdef Py_buffer buffer
        cdef int code
        cdef size_t consumed
        if self.over or self.busy:
            raise RuntimeError("the scan is over, or under way in another thread")
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        self.busy = self.over = True  # until the window is scanned without an error
        try:
            while True:
                with nogil:
                    code = ct_run(self.s, <const uint8_t *>buffer.buf, <size_t>buffer.len)
                if code == CT_MORE:
                    break
                if code < CT_ERROR:
                    with self.pool.lock:
                        self.core.learn(self.automaton, code)
                else:
                    self.fail(code, <const char *>buffer.buf)
            consumed = self.s.at
            self.remember_tags(<const char *>buffer.buf)
            self.s.base += <int64_t>consumed
            self.s.at = 0
            self.left = <size_t>buffer.len - consumed
            self.over = False
        finally:
            PyBuffer_Release(&buffer)
            self.busy = False
        return consumed

    def finish(self):
        """Ends the document: no bytes follow."""
        if self.over:
            raise RuntimeError("the scan is over")
        self.over = True
        cdef int code = ct_finish(self.s, self.left)
        if code == CT_MORE:
            reason = f"the document ends in the middle of {self.s.reason.decode()}"
            if self.s.error_at == 0:
                reason = "the document is empty"
            hint = "it may have been cut off on its way"
            raise DocumentError(reason, hint, "", 0, 0, self.s.error_at)
        if code != CT_OK:
            self.fail(code, NULL)

    def take(self):
        """Returns the report since the last call."""
        if ct_cut_open(self.s) != CT_OK:
            raise MemoryError
        cdef _Block block = _Block(self.batch_size())
        cdef int32_t o
        cdef ct_output *output
        ranges = []
        for o in range(self.s.output_count):
            output = &self.s.outputs[o]
            if output.count == 0:
                ranges.append(_NO_RANGES)
                continue
            ranges.append(block.column(output.ends, 2 * output.count, 8, _INT64).reshape(-1, 2))
            output.count = 0
        tags = self.open_tags()
        if not self.s.table:
            return Batch(ranges, tags)
        return Batch(ranges, tags, self.elements(block), self.ends(block), self.leaves(block))

    def keep(self, data, int32_t output=0):
        """Scans a whole document in memory and returns the bytes of one output.

        Equivalent to `feed`, `finish`, `take` and `gather`, in one call.

        Returns:
            The bytes; None if the document breaks the schema.
        """
        self.feed(data)
        self.finish()
        if self.s.violation_at >= 0:
            return None
        cdef const uint8_t[::1] view = data
        if not 0 <= output < self.s.output_count or self.s.outputs[output].whole:
            raise ValueError("there is no such output, or it is the whole document")
        cdef ct_output *kept = &self.s.outputs[output]
        return _gathered(<const char *>&view[0], kept.ends, <Py_ssize_t>kept.count, 0)

    # -- within

    cdef object fail(self, int code, const char *window):
        if code == CT_HAND_OVER:
            raise HandOver(self.s.reason.decode())
        if code != CT_ERROR:
            raise MemoryError
        reason = self.s.reason.decode()
        hint = _HINTS.get(reason, "")
        if self.s.limit != NULL:
            reason, hint = self.limits.passed(reason), RAISE
        elif self.s.closing:
            reason, hint = self.mismatch(window + (self.s.error_at - self.s.base) + 2)
        raise DocumentError(reason, hint, "", 0, 0, self.s.error_at)

    cdef tuple mismatch(self, const char *name):
        """Returns reason and hint for an end tag that does not match the open element."""
        cdef ct_frame *frame = &self.s.frames[self.s.depth]
        closing = PyBytes_FromStringAndSize(name, min(self.s.closing, MOST_SHOWN))
        opened = PyBytes_FromStringAndSize(
            <char *>self.s.names + frame.name, min(frame.length, MOST_SHOWN)
        )
        return mismatched(closing.decode(errors="replace"), opened.decode(errors="replace"))

    cdef object remember_tags(self, const char *data):
        """Copies the start tags of open elements that begin in the window."""
        if self.s.violation_at >= 0:
            return
        cdef int32_t depth = self.s.depth
        cdef ct_frame *frame
        if self.s.mode != CT_FOLLOW:
            depth = self.s.check_depth  # no output keeps skipped elements
        while depth > 0:
            frame = &self.s.frames[depth]
            if frame.start < self.s.base:
                break
            self.tags[frame.start] = PyBytes_FromStringAndSize(
                data + (frame.start - self.s.base), frame.content - frame.start
            )
            depth -= 1

    cdef dict open_tags(self):
        """Returns the remembered start tags of elements that are still open."""
        cdef int32_t depth
        if not self.tags:
            return {}
        last = self.s.depth if self.s.mode == CT_FOLLOW else self.s.check_depth
        starts = {self.s.frames[depth].start for depth in range(1, last + 1)}
        tags = {start: tag for start, tag in self.tags.items() if start in starts}
        self.tags = {}
        return tags

    cdef size_t batch_size(self):
        cdef ct_rows *r = &self.s.rows
        cdef int32_t o
        cdef size_t sum = 0
        for o in range(self.s.output_count):
            sum += self.s.outputs[o].count * 16
        if self.s.table:
            sum += r.elements * 32 + 4 * _padded(r.elements * 4)
            sum += r.ends * 16 + _padded(r.ends * 4)
            sum += r.leaves * 16 + 2 * _padded(r.leaves * 4) + _padded(r.leaves)
        return sum + 8  # numpy needs a buffer even for empty columns

    cdef object elements(self, _Block block):
        cdef ct_rows *r = &self.s.rows
        cdef size_t n = r.elements
        r.first += <int32_t>n
        r.elements = 0
        return Elements(
            block.column(r.state, n, 4, _INT32),
            block.column(r.parent, n, 4, _INT32),
            block.column(r.start, n, 8, _INT64),
            block.column(r.content, n, 8, _INT64),
            block.column(r.position, n, 4, _INT32),
            block.column(r.symbol, n, 4, _INT32),
            block.column(r.close, n, 8, _INT64),
            block.column(r.end, n, 8, _INT64),
        )

    cdef object ends(self, _Block block):
        cdef ct_rows *r = &self.s.rows
        cdef size_t n = r.ends
        r.ends = 0
        return Ends(
            block.column(r.end_row, n, 4, _INT32),
            block.column(r.end_close, n, 8, _INT64),
            block.column(r.end_end, n, 8, _INT64),
        )

    cdef object leaves(self, _Block block):
        cdef ct_rows *r = &self.s.rows
        cdef size_t n = r.leaves
        r.leaves = 0
        return Leaves(
            block.column(r.leaf_parent, n, 4, _INT32),
            block.column(r.leaf_kind, n, 1, _INT8),
            block.column(r.leaf_start, n, 8, _INT64),
            block.column(r.leaf_end, n, 8, _INT64),
            block.column(r.leaf_number, n, 4, _INT32),
        )


def gather(data, ranges, int64_t start=0):
    """Returns the bytes of many ranges: `extract.chunktool.scan.byte_ranges.gather` in C."""
    cdef Py_buffer buffer
    cdef const int64_t[:, ::1] pairs = np.ascontiguousarray(ranges, _INT64)
    cdef Py_ssize_t i, count = pairs.shape[0]
    cdef bint good = pairs.shape[1] == 2
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    try:
        for i in range(count if good else 0):
            if not 0 <= pairs[i, 0] - start <= pairs[i, 1] - start <= buffer.len:
                good = False
                break
        if not good:
            raise ValueError("ranges that are not in the data")
        if count == 0:
            return b""
        return _gathered(<const char *>buffer.buf, &pairs[0, 0], count, start)
    finally:
        PyBuffer_Release(&buffer)


cdef bytes _gathered(const char *data, const int64_t *ends, Py_ssize_t count, int64_t start):
    """Returns the bytes of ranges that lie in the data."""
    cdef Py_ssize_t i
    cdef int64_t total = 0
    for i in range(count):
        total += ends[2 * i + 1] - ends[2 * i]
    result = PyBytes_FromStringAndSize(NULL, total)
    cdef char *target = <char *>result
    with nogil:
        for i in range(count):
            memcpy(target, data + (ends[2 * i] - start), <size_t>(ends[2 * i + 1] - ends[2 * i]))
            target += ends[2 * i + 1] - ends[2 * i]
    return result
