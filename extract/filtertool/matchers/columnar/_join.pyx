# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Joins nodes with the queries whose constants they meet, in C."""

from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcpy

cdef enum:
    MOST_CHECKS = 64
    CHUNK = 256  # queries that are compared at once
    LESS = 0  # the comparisons
    LESS_EQUAL = 1
    GREATER = 2
    GREATER_EQUAL = 3
    EQUAL = 4
    SAME = 5  # numbers of strings

ZONE = CHUNK

ctypedef const double* Doubles
ctypedef const int32_t* Codes


cdef struct Check:
    int8_t op
    Doubles values  # of places
    Doubles numbers  # of queries
    Codes codes  # of queries, for `SAME`
    Doubles lowest  # constant of a zone of queries
    Doubles highest


cdef Py_ssize_t kept(const Check* check, int64_t place, int32_t* queries, Py_ssize_t many) noexcept nogil:
    """Keeps the queries that pass a comparison, without branches: half of them do, as a rule."""
    cdef Py_ssize_t i, k = 0
    cdef int32_t query, code
    cdef double value = check.values[place]
    cdef Doubles numbers = check.numbers
    if check.op == SAME:
        code = <int32_t>value
        for i in range(many):
            query = queries[i]
            queries[k] = query
            k += check.codes[query] == code
    elif check.op == LESS:
        for i in range(many):
            query = queries[i]
            queries[k] = query
            k += value < numbers[query]
    elif check.op == LESS_EQUAL:
        for i in range(many):
            query = queries[i]
            queries[k] = query
            k += value <= numbers[query]
    elif check.op == GREATER:
        for i in range(many):
            query = queries[i]
            queries[k] = query
            k += value > numbers[query]
    elif check.op == GREATER_EQUAL:
        for i in range(many):
            query = queries[i]
            queries[k] = query
            k += value >= numbers[query]
    else:
        for i in range(many):
            query = queries[i]
            queries[k] = query
            k += value == numbers[query]
    return k


cdef inline bint may_pass(const Check* check, int64_t place, int64_t zone) noexcept nogil:
    """Whether a comparison may hold for a query of a zone."""
    cdef double value = check.values[place]
    if check.op == LESS:
        return value < check.highest[zone]
    if check.op == LESS_EQUAL:
        return value <= check.highest[zone]
    if check.op == GREATER:
        return value > check.lowest[zone]
    if check.op == GREATER_EQUAL:
        return value >= check.lowest[zone]
    return check.lowest[zone] <= value <= check.highest[zone]


cdef Doubles doubles_in(object column, Py_ssize_t least) except? NULL:
    cdef const double[::1] doubles = column
    if doubles.shape[0] < least:
        raise IndexError("a column is too short")
    return &doubles[0] if doubles.shape[0] else NULL


def join(
    const int64_t[::1] place, const int64_t[::1] low, const int64_t[::1] high, const int32_t[::1] items,
    const int8_t[::1] ops, list values, list constants, list lowest, list highest,
    int64_t[::1] cursor, int64_t[:, ::1] out,
):
    """Joins places with ranges of queries, and keeps the pairs that pass some comparisons.

    Args:
        place, low, high: Each place has the queries ``items[low:high]``.
        items: Queries in some order; each must have a constant for every comparison.
        ops, values, constants: For each comparison its operator; for each place its left side, not
            NaN; for each query its right side.
        lowest, highest: If the constants come in the order of ``items`` and not of queries, the
            smallest and the largest of each zone of `ZONE` neighbours; otherwise empty.
        cursor: The range to begin with, and the first index in it; afterwards where to go on.
        out: Places and queries; filled in while there is room.

    Returns:
        How many pairs there are.
    """
    cdef Check checks[MOST_CHECKS]
    cdef int32_t queries[CHUNK]
    cdef const int32_t[::1] ints
    cdef Py_ssize_t i, j, check, many = ops.shape[0], found = 0, room = out.shape[1], size
    cdef Py_ssize_t places = 0, zones = (items.shape[0] + CHUNK - 1) // CHUNK
    cdef int64_t at, p, end
    cdef bint in_order = many and len(lowest)
    if many > MOST_CHECKS:
        raise ValueError("too many comparisons")
    for i in range(place.shape[0]):
        if place[i] < 0 or low[i] < 0 or high[i] > items.shape[0]:
            raise IndexError("a place or range that is none")
        places = max(places, place[i] + 1)
    for check in range(many):
        checks[check].op = ops[check]
        checks[check].values = doubles_in(values[check], places)
        if ops[check] == SAME:
            ints = constants[check]
            if ints.shape[0] < items.shape[0]:
                raise IndexError("queries without a constant")
            checks[check].codes = &ints[0] if ints.shape[0] else NULL
        else:
            checks[check].numbers = doubles_in(constants[check], items.shape[0])
        if in_order:
            checks[check].lowest = doubles_in(lowest[check], zones)
            checks[check].highest = doubles_in(highest[check], zones)
    for i in range(cursor[0], place.shape[0]):
        p = place[i]
        at = cursor[1] if cursor[1] > low[i] else low[i]
        while at < high[i]:
            if found == room:
                cursor[0], cursor[1] = i, at
                return found
            end = min(high[i], (at // CHUNK + 1) * CHUNK)
            if in_order:
                for check in range(many):
                    if not may_pass(&checks[check], p, at // CHUNK):
                        at = end
                        break
                if at == end:
                    continue
            size = min(end - at, <int64_t>(room - found))
            if in_order:
                for j in range(size):
                    queries[j] = <int32_t>(at + j)
            else:
                memcpy(queries, &items[at], size * sizeof(int32_t))
            at += size
            for check in range(many):
                size = kept(&checks[check], p, queries, size)
                if not size:
                    break
            for j in range(size):
                out[0, found + j] = p
                out[1, found + j] = items[queries[j]] if in_order else queries[j]
            found += size
        cursor[1] = 0
    cursor[0] = place.shape[0]
    return found
