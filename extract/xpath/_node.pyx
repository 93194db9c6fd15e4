# cython: language_level=3, auto_pickle=False
"""What all nodes of the syntax tree share, in C: see `extract.xpath.node`, which says the same.

The fields of a node are slots, whose places in memory are known: they are set and read there. The
texts of the most frequent nodes are made here, too, as their `_format` would make them.
"""

from dataclasses import MISSING, fields, is_dataclass

from cpython.object cimport Py_EQ, PyObject, PyObject_Hash, PyObject_RichCompareBool
from cpython.ref cimport Py_INCREF, Py_XDECREF

cdef extern from *:
    """
    #include <structmember.h> /* PyMemberDef, before Python 3.12 */

    /* Where a slot is in its objects; -1 if this is no slot. */
    static Py_ssize_t slot_offset(PyObject *slot) {
        if (!Py_IS_TYPE(slot, &PyMemberDescr_Type)) return -1;
        return ((PyMemberDescrObject *)slot)->d_member->offset;
    }
    """
    Py_ssize_t slot_offset(object slot)

cdef enum:
    MOST = 8  # fields of a node

# The kinds of nodes whose texts are made here; 0 for all others.
cdef enum:
    OTHER, NAME_TEST, STEP, LOCATION_PATH, UNION, FUNCTION_CALL, STRING_LITERAL, NUMBER

cdef dict FORMATS = {
    "NameTest": NAME_TEST,
    "Step": STEP,
    "LocationPath": LOCATION_PATH,
    "Union": UNION,
    "FunctionCall": FUNCTION_CALL,
    "StringLiteral": STRING_LITERAL,
    "Number": NUMBER,
}
cdef frozenset LOOSE = frozenset(("Binary", "Negate", "Union"))  # in parentheses as a part of a union


cdef class Layout:
    """The fields of a class of nodes: where they are, what they are called, and their defaults."""

    cdef Py_ssize_t offsets[MOST]
    cdef int count
    cdef tuple names
    cdef list defaults
    cdef str kind
    cdef int format
    cdef bint is_loose
    cdef Py_hash_t seed

    def __cinit__(self, type kind):
        own = fields(kind) if is_dataclass(kind) else ()
        assert len(own) <= MOST
        self.count = len(own)
        self.names = tuple([one.name for one in own])
        self.defaults = [one.default for one in own]
        self.kind = kind.__name__
        self.format = FORMATS.get(self.kind, OTHER)
        self.is_loose = self.kind in LOOSE
        self.seed = hash(self.kind)
        for i, name in enumerate(self.names):
            self.offsets[i] = slot_offset(kind.__dict__[name])
            assert self.offsets[i] > 0


cdef dict LAYOUTS = {}  # for each class of nodes


cdef inline Layout layout_of(object node):
    layout = LAYOUTS.get(type(node))
    if layout is None:
        layout = LAYOUTS[type(node)] = Layout(type(node))
    return layout


cdef inline PyObject** field(object node, Layout layout, int i) noexcept:
    return <PyObject**>(<char*><PyObject*>node + layout.offsets[i])


cdef int put(object node, Layout layout, int i, object value) except -1:
    cdef PyObject** place = field(node, layout, i)
    cdef PyObject* old = place[0]
    Py_INCREF(value)
    place[0] = <PyObject*>value
    Py_XDECREF(old)
    return 0


cdef object value_of(object node, Layout layout, int i):
    cdef PyObject* value = field(node, layout, i)[0]
    if value is NULL:
        raise AttributeError(layout.names[i])
    return <object>value


cdef Py_hash_t hash_of(Node node) except -1:
    cdef Layout layout = layout_of(node)
    cdef size_t own = <size_t>layout.seed
    cdef int i
    for i in range(layout.count):
        own = (own ^ <size_t>PyObject_Hash(value_of(node, layout, i))) * 1_000_003 + 97_531
    own ^= own >> 29
    if own == 0 or own == <size_t>-1:  # which stand for "not known" and for an error
        own = 1
    return <Py_hash_t>own


cdef bint are_equal(Node one, Node other) except -1:
    cdef Layout layout = layout_of(one)
    cdef int i
    for i in range(layout.count):
        mine, its = value_of(one, layout, i), value_of(other, layout, i)
        if not PyObject_RichCompareBool(mine, its, Py_EQ):
            return False
    return True


cdef class Node:
    cdef Py_hash_t cached_hash  # 0 if it is not known
    cdef str cached_text

    def __init__(self, *args, **named):
        cdef Layout layout = layout_of(self)
        cdef int given = len(args), i
        if given > layout.count:
            raise TypeError(f"{layout.kind} has {layout.count} fields, not {given}")
        for i in range(given):
            put(self, layout, i, args[i])
        for i in range(given, layout.count):
            value = named.pop(layout.names[i], layout.defaults[i]) if named else layout.defaults[i]
            if value is MISSING:
                raise TypeError(f"{layout.kind} needs a {layout.names[i]}")
            put(self, layout, i, value)
        if named:
            raise TypeError(f"{layout.kind} has no field {', '.join(named)} left")

    def __hash__(self):
        if self.cached_hash == 0:
            self.cached_hash = hash_of(self)
        return self.cached_hash

    def __eq__(self, other):
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return hash(self) == hash(other) and are_equal(self, other)

    def __str__(self):
        return text_of(self)

    def _format(self):
        raise NotImplementedError


# -- texts

cdef str text_of(Node node):
    if node.cached_text is None:
        node.cached_text = formatted(node)
    return node.cached_text


cdef str formatted(Node node):
    cdef Layout layout = layout_of(node)
    cdef int format = layout.format
    cdef str text, prefix
    if format == STEP:
        return step_text(node, layout)
    if format == LOCATION_PATH:
        return path_text(value_of(node, layout, 1), value_of(node, layout, 0))
    if format == NAME_TEST:
        text, prefix = value_of(node, layout, 0), value_of(node, layout, 1)
        return f"{prefix}:{text}" if prefix else text
    if format == UNION:
        return " | ".join([part_text(part) for part in <tuple>value_of(node, layout, 0)])
    if format == FUNCTION_CALL:
        text, prefix = value_of(node, layout, 0), value_of(node, layout, 2)
        name = f"{prefix}:{text}" if prefix else text
        return f"{name}({', '.join([text_of(one) for one in <tuple>value_of(node, layout, 1)])})"
    if format == STRING_LITERAL:
        text = value_of(node, layout, 0)
        return f'"{text}"' if "'" in text else f"'{text}'"
    if format == NUMBER:
        return value_of(node, layout, 0)
    return node._format()


cdef str part_text(Node part):
    """A part of a union."""
    return f"({text_of(part)})" if layout_of(part).is_loose else text_of(part)


cdef str step_text(Node step, Layout layout):
    cdef str axis = value_of(step, layout, 0), text = text_of(value_of(step, layout, 1))
    cdef tuple predicates = value_of(step, layout, 2)
    if axis == "attribute":
        text = f"@{text}"
    elif axis != "child":
        if not predicates and text == "node()":
            if axis == "parent":
                return ".."
            if axis == "self":
                return "."
        text = f"{axis}::{text}"
    if predicates:
        return text + "".join([f"[{text_of(one)}]" for one in predicates])
    return text


cdef str path_text(tuple steps, bint absolute):
    """The text of a path, with ``//`` for the steps that it abbreviates."""
    cdef Py_ssize_t i, last = len(steps) - 1
    cdef str slash = "/" if absolute else "", text
    cdef list out
    if last < 0:
        return slash
    out = []
    for i in range(last + 1):
        text = text_of(steps[i])
        if slash == "/" and i < last and text == "descendant-or-self::node()":
            slash = "//"
        else:
            out.append(slash)
            out.append(text)
            slash = "/"
    return "".join(out)


def initialised_here(kind):
    """Has nodes of a dataclass initialised by `Node`, several times as fast."""
    del kind.__init__
