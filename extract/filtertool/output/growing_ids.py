"""Columns of names for tables of rows: dictionaries in which each name is once.

Readers of Arrow take the values of a dictionary for distinct: with one name twice, pandas refuses
it, and groups come out double.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from extract.filtertool.output.arrow import dictionary_column, document_names

_FEW: Final = 1000  # rows, for which it is not worth putting all ids together


class GrowingIds:
    """The ids of subscribers as an Arrow array, to which more are added now and then."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self._fresh: list[str] = []
        self._gone: set[str] = set()
        self._repeats = False  # whether an id is there again after its query was removed
        self._lock = threading.Lock()  # threads that filter put the array together

    def change(self, gone: Iterable[str], added: Sequence[str]) -> None:
        """Adds ids; those that are gone keep their numbers, which no row has any more."""
        with self._lock:
            self._gone.update(gone)
            self._repeats = self._repeats or not self._gone.isdisjoint(added)
            self._fresh += added

    def array(self) -> Any:
        """All ids."""
        with self._lock:
            return self._together()

    def column(self, numbers: Any) -> Any:
        """The ids with these numbers, as a dictionary in which each id is once."""
        with self._lock:
            base, fresh = self._array, self._fresh
            new = bool(fresh) and len(numbers) > 0 and int(numbers.max()) >= len(base)
            if new and (len(numbers) > _FEW or len(fresh) * 8 > len(base)):
                base, fresh, new = self._together(), [], False
            if not new and not self._repeats:
                return dictionary_column(numbers, base)
            used, places = np.unique(numbers, return_inverse=True)
            known = used[used < len(base)]
            names = base.take(pa.array(known))
            if len(known) < len(used):
                later = [fresh[number - len(base)] for number in used[len(known) :].tolist()]
                names = pa.concat_arrays([names, pa.array(later, pa.string())])
            return dictionary_column(places.astype(np.int32), names)

    def _together(self) -> Any:
        if self._fresh:
            self._array = pa.concat_arrays([self._array, pa.array(self._fresh, pa.string())])
            self._fresh = []
        return self._array


def document_column(units: Any, names: Sequence[str]) -> Any:
    """The names of documents, as a dictionary in which each name is once."""
    column = dictionary_column(units, document_names(names))
    if len(set(names)) < len(names):
        return column.dictionary_decode().dictionary_encode()
    return column
