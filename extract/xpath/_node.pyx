# cython: language_level=3, auto_pickle=False
"""What all nodes of the syntax tree share, in C: see `extract.xpath.node`, which says the same.

The fields of a node are slots, whose places in memory are known: they are set and read there.
"""

from dataclasses import MISSING, fields, is_dataclass

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF, Py_XINCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

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


cdef class Layout:
    """The fields of a class of nodes: where they are, what they are called, and their defaults."""

    cdef Py_ssize_t offsets[MOST]
    cdef int count
    cdef tuple names
    cdef list defaults
    cdef str kind

    def __cinit__(self, type kind):
        own = fields(kind) if is_dataclass(kind) else ()
        assert len(own) <= MOST
        self.count = len(own)
        self.names = tuple([one.name for one in own])
        self.defaults = [one.default for one in own]
        self.kind = kind.__name__
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


cdef tuple values_of(Node node):
    cdef Layout layout = layout_of(node)
    cdef tuple values = PyTuple_New(layout.count)
    cdef object value
    for i in range(layout.count):
        if field(node, layout, i)[0] is NULL:
            raise AttributeError(layout.names[i])
        value = <object>field(node, layout, i)[0]
        Py_INCREF(value)
        PyTuple_SET_ITEM(values, i, value)
    return values


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


def initialised_here(kind):
    """Has nodes of a dataclass initialised by `Node`, several times as fast."""
    del kind.__init__
