"""Finds the tags in bytes, and how they nest, in numpy without Python code for each tag."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.protocol import Numbers
from extract.limits import Limits
from extract.markup.tags import TAG, tag_attributes, tag_name

_LESS, _GREATER, _SLASH, _DOUBLE, _SINGLE = b"<>/\"'"

Flags = NDArray[np.bool_]


class Tags(NamedTuple):
    """Tags in their order. An empty-element tag counts as two: a start tag, and an empty end tag.

    Attributes:
        begins: Whether it is a start tag.
        at, after: Offsets of the tag.
    """

    begins: Flags
    at: Numbers
    after: Numbers


def read_tags(
    buffer: bytes, base: int, low: int, high: int, others: Numbers, complex_: Flags
) -> Tags:
    """Returns the tags between two offsets of well-formed bytes.

    Args:
        buffer: The bytes.
        base: The offset of the first byte.
        low, high: The two offsets.
        others: Starts and ends of the tokens that may hold a ``<``: comments and the like.
        complex_: By start tag, whether it may have quotes.
    """
    data = np.frombuffer(buffer, np.uint8)
    where = np.flatnonzero(data[low - base : high - base] == _LESS) + (low - base)
    if len(others):
        where = where[np.searchsorted(others - base, where, "right") % 2 == 0]
    ends = data[where + 1] == _SLASH
    greater = np.flatnonzero(data == _GREATER)
    greater = greater[greater.searchsorted(low - base) : greater.searchsorted(high - base)]
    if len(greater) == len(where) and _alternate(where, greater):
        stops = greater + 1  # the usual case: each < has its >
    else:
        stops = greater[greater.searchsorted(where)] + 1
        starts = np.flatnonzero(~ends)
        stops[starts] = _unquoted(buffer, data, where[starts], stops[starts], complex_)
    empty = ~ends & (data[stops - 2] == _SLASH)
    if not empty.any():
        return Tags(~ends, where + base, stops + base)
    size = 1 + empty
    place = np.cumsum(size) - size
    count = len(where) + int(empty.sum())
    begins = np.zeros(count, np.bool_)
    begins[place] = ~ends
    at, after = np.empty(count, np.int64), np.empty(count, np.int64)
    at[place], after[place] = where, stops
    second = place[empty] + 1
    at[second] = after[second] = stops[empty]
    return Tags(begins, at + base, after + base)


def _alternate(first: Numbers, second: Numbers) -> bool:
    return bool((first < second).all() and (second[:-1] < first[1:]).all())


def _unquoted(
    buffer: bytes, data: NDArray[np.uint8], starts: Numbers, stops: Numbers, complex_: Flags
) -> Numbers:
    """Returns the ends of start tags, given the first > in each."""
    quoted = np.flatnonzero(complex_)
    if len(quoted):
        low, high = starts[quoted], stops[quoted]
        double, single = (
            quotes.searchsorted(high) - quotes.searchsorted(low)
            for quotes in (np.flatnonzero(data == _DOUBLE), np.flatnonzero(data == _SINGLE))
        )
        # If there is one kind of quote, an odd number of quotes means that the > is in a value.
        unsure = ((double & 1) | (single & 1) | ((double > 0) & (single > 0))) != 0
        for tag_ in quoted[unsure].tolist():
            tag = TAG.match(buffer, int(starts[tag_]))
            assert tag is not None, "expat has seen the whole tag"
            stops[tag_] = tag.end()
    return stops


class Nesting(NamedTuple):
    """The nesting of elements.

    Elements are numbered: those that were open before by depth, then those that begin.

    Attributes:
        element: By event, the element that begins or ends.
        parent: By element, its parent.
        levels: The elements that begin, by depth; children of one parent are neighbours.
    """

    element: Numbers
    parent: Numbers
    levels: list[Numbers]


def nest(begins: Flags, depth: Numbers, count: int) -> Nesting:
    """Finds the parents of elements.

    Args:
        begins: By event, whether an element begins.
        depth: By event, the depth of the element.
        count: The number of elements that were open before, including the document node.
    """
    number = count - 1 + np.cumsum(begins)  # of the element that begins
    # Events of one depth alternate: an element begins, it ends, the next one begins.
    order = np.argsort(depth.astype(np.int16), kind="stable")
    deep, opening = depth[order], begins[order]
    before = np.empty(len(order), np.bool_)  # whether an element of the same depth comes before
    before[0] = False
    before[1:] = deep[1:] == deep[:-1]
    numbers = number[order]
    previous = np.empty(len(order), np.int64)
    previous[1:] = numbers[:-1]
    element = np.empty(len(order), np.int64)
    element[order] = np.where(opening, numbers, np.where(before, previous, deep))
    # An element's parent begins right before it, or is the parent of the sibling before it.
    where = np.flatnonzero(opening)
    opened, levels, event = numbers[where], deep[where], order[where]
    size = len(event)
    direct = begins[event - 1] & (event > 0)
    first = np.ones(size, np.bool_)
    first[1:] = levels[1:] != levels[:-1]
    value = np.where(direct, number[event - 1], levels - 1)
    source = np.where(direct | first, np.arange(size), 0)
    parent = np.empty(count + size, np.int64)
    parent[:count] = np.maximum(np.arange(count) - 1, 0)
    parent[opened] = value[np.maximum.accumulate(source)]
    return Nesting(element, parent, np.split(opened, np.flatnonzero(first)[1:]) if size else [])


def long_part(tag: bytes, limits: Limits) -> str:
    """Returns the limit that a well-formed tag, or a name or value in it, exceeds; else ''.

    >>> long_part(b"<a bc='12345'>", Limits(name_bytes=1)), long_part(b"<a b = '>'/>", Limits())
    ('name_bytes', '')
    """
    if len(tag) > limits.token_bytes:
        return "token_bytes"
    attributes = tag_attributes(tag)
    names = [tag_name(tag), *[attribute.name for attribute in attributes]]
    if max(map(len, names)) > limits.name_bytes:
        return "name_bytes"
    longest = max([len(attribute.raw) for attribute in attributes], default=0)
    return "attribute_bytes" if longest > limits.attribute_bytes else ""
