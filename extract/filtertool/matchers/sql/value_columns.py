"""The values that a frame has read, as columns that a statement compares.

libxml2's numbers are made once, in C, and handed on as doubles. What compares with nothing is null:
NaN is equal to itself and the largest number in databases, in XPath it is neither. So is -0, which
is another number to a hash, but equals 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extract.filtertool.matchers.sql.formulas import ColumnSource, Role

Longs = NDArray[np.int64]


class ValueLists(NamedTuple):
    """A column of a frame: a list of values for each row.

    Attributes:
        ends: Where the values of each row end.
        text_ends: Where the text of each value ends; None if texts were not asked for.
        text: The texts.
        numbers: The values as numbers; None if they were not asked for.
    """

    ends: Longs
    text_ends: Longs | None
    text: bytes
    numbers: NDArray[np.float64] | None

    @property
    def counts(self) -> Longs:
        """How many values each row has."""
        return np.diff(self.ends, prepend=0)

    @property
    def is_single(self) -> bool:
        """Whether no row has several values."""
        return not len(self.ends) or int(self.counts.max()) <= 1

    def texts(self) -> Any:
        """All values as strings: an Arrow array."""
        ends = np.empty(0, np.int64) if self.text_ends is None else self.text_ends
        return _strings(np.append(0, ends), self.text)

    def doubles(self) -> NDArray[np.float64]:
        """All values as numbers; -0 is 0."""
        return np.empty(0) if self.numbers is None else self.numbers + 0.0


def _strings(offsets: Longs, text: bytes, mask: Any = None) -> Any:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets, np.int64)), pa.py_buffer(text)]
    array = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    if mask is None or not mask.any():
        return array
    return array.take(pa.array(np.arange(len(array)), mask=mask))


def exploded(lists: ValueLists, is_string: bool) -> tuple[Longs, Any]:
    """Each value on a row of its own.

    Returns:
        The row that each value is of, and the values; those that equal nothing are left out.
    """
    rows = np.repeat(np.arange(len(lists.ends)), lists.counts)
    if is_string:
        return rows, lists.texts()
    numbers = lists.doubles()
    keep = ~np.isnan(numbers)
    return rows[keep], pa.array(numbers[keep])


def batch_column(lists: ValueLists, source: ColumnSource) -> tuple[Any, ...]:
    """The columns of a batch that a source stands for: one, or two for `Role.OTHER`."""
    match source.role:
        case Role.FLAG:
            return (pa.array(lists.doubles() != 0),)
        case Role.TEXT:
            return (lists.texts(),)
        case Role.EQUAL:
            return (_equal(lists, source.is_string),)
        case Role.LOW | Role.HIGH:
            return (_extreme(lists, source.role is Role.HIGH),)
        case Role.OTHER:
            return _other_texts(lists) if source.is_string else _other_numbers(lists)


def _equal(lists: ValueLists, is_string: bool) -> Any:
    """The value of each row; lists if a row has several."""
    if is_string:
        if lists.is_single:
            ends = np.empty(0, np.int64) if lists.text_ends is None else lists.text_ends
            offsets = np.append(0, np.append(0, ends)[lists.ends])
            return _strings(offsets, lists.text, lists.counts == 0)
        values = lists.texts().cast(pa.string())
    else:
        rows, values = exploded(lists, False)
        counts = np.bincount(rows, minlength=len(lists.ends))
        if int(counts.max(initial=0)) <= 1:
            full = np.full(len(counts), np.nan)
            full[rows] = np.asarray(values)
            return pa.array(full, mask=np.isnan(full))
        ends = np.append(0, np.cumsum(counts)).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(ends), values)
    ends = np.append(0, lists.ends).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), values)


def _extreme(lists: ValueLists, highest: bool) -> Any:
    """The smallest or largest number of each row; null if it has none."""
    counts, numbers = lists.counts, lists.doubles()
    found = np.full(len(counts), np.nan)
    filled = np.flatnonzero(counts)
    if len(filled):
        reduce = np.fmax if highest else np.fmin
        found[filled] = reduce.reduceat(numbers, (lists.ends - counts)[filled])
    return pa.array(found, mask=np.isnan(found))


def _other_numbers(lists: ValueLists) -> tuple[Any, Any]:
    """A number of each row, and whether the row has another one, or something that is no number."""
    counts, numbers = lists.counts, lists.doubles()
    low, high = np.full(len(counts), np.nan), np.full(len(counts), np.nan)
    filled = np.flatnonzero(counts)
    if len(filled):
        starts = (lists.ends - counts)[filled]
        low[filled] = np.minimum.reduceat(numbers, starts)  # NaN if there is one
        high[filled] = np.maximum.reduceat(numbers, starts)
    return pa.array(low, mask=np.isnan(low)), pa.array((counts > 0) & ~(low == high))


def _other_texts(lists: ValueLists) -> tuple[Any, Any]:
    """A text of each row, and whether the row has another one."""
    counts, texts = lists.counts, lists.texts()
    starts = lists.ends - counts
    first = texts.take(pa.array(starts, mask=counts == 0))
    several = np.zeros(len(counts), np.bool_)
    for row in np.flatnonzero(counts > 1).tolist():
        own = texts.slice(int(starts[row]), int(counts[row]))
        several[row] = len(own.unique()) > 1
    return first, pa.array(several)
