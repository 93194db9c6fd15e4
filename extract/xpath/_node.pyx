# cython: language_level=3, auto_pickle=False
"""What all nodes of the syntax tree share, in C: see `extract.xpath.node`, which says the same.

The fields of a node are slots, whose places in memory are known: they are set and read there. The
texts of the most frequent nodes are made here, too, as their `_format` would make them, and
expressions are walked through as in `extract.xpath.traverse`.
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

# The classes of nodes that are told apart here; 0 for all others.
cdef enum:
    OTHER, NAME_TEST, STEP, LOCATION_PATH, UNION, FUNCTION_CALL, STRING_LITERAL, NUMBER
    FILTER_PATH, BINARY, NEGATE

cdef dict CODES = {
    "NameTest": NAME_TEST,
    "Step": STEP,
    "LocationPath": LOCATION_PATH,
    "Union": UNION,
    "FunctionCall": FUNCTION_CALL,
    "StringLiteral": STRING_LITERAL,
    "Number": NUMBER,
    "FilterPath": FILTER_PATH,
    "Binary": BINARY,
    "Negate": NEGATE,
}
cdef frozenset LOOSE = frozenset(("Binary", "Negate", "Union"))  # in parentheses as a part of a union


cdef class Layout:
    """The fields of a class of nodes: where they are, what they are called, and their defaults."""

    cdef Py_ssize_t offsets[MOST]
    cdef int count
    cdef tuple names
    cdef list defaults
    cdef str kind
    cdef int code
    cdef bint is_loose
    cdef Py_hash_t seed

    def __cinit__(self, type kind):
        own = fields(kind) if is_dataclass(kind) else ()
        assert len(own) <= MOST
        self.count = len(own)
        self.names = tuple([one.name for one in own])
        self.defaults = [one.default for one in own]
        self.kind = kind.__name__
        self.code = CODES.get(self.kind, OTHER)
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
    cdef int code = layout.code
    cdef str text, prefix
    if code == STEP:
        return step_text(node, layout)
    if code == LOCATION_PATH:
        return path_text(value_of(node, layout, 1), value_of(node, layout, 0))
    if code == NAME_TEST:
        text, prefix = value_of(node, layout, 0), value_of(node, layout, 1)
        return f"{prefix}:{text}" if prefix else text
    if code == UNION:
        return " | ".join([part_text(part) for part in <tuple>value_of(node, layout, 0)])
    if code == FUNCTION_CALL:
        text, prefix = value_of(node, layout, 0), value_of(node, layout, 2)
        name = f"{prefix}:{text}" if prefix else text
        return f"{name}({', '.join([text_of(one) for one in <tuple>value_of(node, layout, 1)])})"
    if code == STRING_LITERAL:
        text = value_of(node, layout, 0)
        return f'"{text}"' if "'" in text else f"'{text}'"
    if code == NUMBER:
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


# -- walking through expressions and changing them

cdef object make_path, make_step, union


def make_nodes_with(path, step, united):
    """Takes the functions that make paths, steps and unions."""
    global make_path, make_step, union
    make_path, make_step, union = path, step, united


def children(Node expr):
    """As in `extract.xpath.traverse`, as a tuple."""
    return children_of(expr, layout_of(expr))


cdef tuple children_of(Node expr, Layout layout):
    cdef int code = layout.code
    if code == LOCATION_PATH:
        return filters_of(value_of(expr, layout, 1))
    if code == BINARY:
        return value_of(expr, layout, 1), value_of(expr, layout, 2)
    if code == FUNCTION_CALL:
        return value_of(expr, layout, 1)
    if code == UNION or code == NEGATE:
        value = value_of(expr, layout, 0)
        return value if code == UNION else (value,)
    if code == FILTER_PATH:
        inner = (value_of(expr, layout, 0), *value_of(expr, layout, 1))
        return inner + filters_of(value_of(expr, layout, 2))
    return ()


cdef tuple filters_of(tuple steps):
    """The predicates of some steps."""
    cdef tuple out = (), own
    for step in steps:
        own = value_of(step, layout_of(step), 2)
        if own:
            out = out + own if out else own
    return out


def rebuild(Node expr, change):
    """As in `extract.xpath.traverse`."""
    return rebuilt(expr, change, None)


def substitute(Node expr, type kind, change):
    """As in `extract.xpath.traverse`."""
    return changed(expr, change, kind)


def any_in(Node expr, type kind, test):
    """As in `extract.xpath.traverse`."""
    return is_any(expr, kind, test)


cdef bint is_any(Node expr, type kind, test) except -1:
    if type(expr) is kind and test(expr):
        return True
    for inner in children_of(expr, layout_of(expr)):
        if is_any(inner, kind, test):
            return True
    return False


cdef object changed(Node expr, change, type kind):
    """What takes the place of a sub-expression: what ``change`` makes of it, if that is for all
    (``kind`` is None) or it is of that class; else itself, with changes inside."""
    if kind is None or type(expr) is kind:
        return change(expr)
    return rebuilt(expr, change, kind)


cdef object rebuilt(Node expr, change, type kind):
    """An expression with `changed` sub-expressions; itself if none changed."""
    cdef Layout layout = layout_of(expr)
    cdef int code = layout.code
    cdef tuple before, after, steps
    if code == LOCATION_PATH:
        before = value_of(expr, layout, 1)
        after = changed_steps(before, change, kind)
        return expr if after is before else make_path(value_of(expr, layout, 0), after)
    if code == BINARY:
        left, right = value_of(expr, layout, 1), value_of(expr, layout, 2)
        first, second = changed(left, change, kind), changed(right, change, kind)
        if first is left and second is right:
            return expr
        return type(expr)(value_of(expr, layout, 0), first, second)
    if code == FUNCTION_CALL:
        before = value_of(expr, layout, 1)
        after = all_changed(before, change, kind)
        if after is before:
            return expr
        return type(expr)(value_of(expr, layout, 0), after, value_of(expr, layout, 2))
    if code == UNION:
        before = value_of(expr, layout, 0)
        after = all_changed(before, change, kind)
        return expr if after is before else union(after)
    if code == NEGATE:
        operand = value_of(expr, layout, 0)
        first = changed(operand, change, kind)
        return expr if first is operand else type(expr)(first)
    if code == FILTER_PATH:
        primary, before = value_of(expr, layout, 0), value_of(expr, layout, 1)
        steps = value_of(expr, layout, 2)
        first = changed(primary, change, kind)
        after = all_changed(before, change, kind)
        others = changed_steps(steps, change, kind)
        if first is primary and after is before and others is steps:
            return expr
        return type(expr)(first, after, others)
    return expr


cdef tuple changed_steps(tuple steps, change, type kind):
    """The steps with changed predicates; the same tuple if none changed."""
    cdef Layout layout
    cdef tuple before, after
    cdef list out = None
    cdef Py_ssize_t i
    for i in range(len(steps)):
        step = steps[i]
        layout = layout_of(step)
        before = value_of(step, layout, 2)
        if before:
            after = all_changed(before, change, kind)
            if after is not before:
                if out is None:
                    out = list(steps)
                out[i] = make_step(value_of(step, layout, 0), value_of(step, layout, 1), after)
    return steps if out is None else tuple(out)


cdef tuple all_changed(tuple exprs, change, type kind):
    cdef list out = None
    cdef Py_ssize_t i
    for i in range(len(exprs)):
        before = exprs[i]
        after = changed(before, change, kind)
        if after is not before:
            if out is None:
                out = list(exprs)
            out[i] = after
    return exprs if out is None else tuple(out)
