"""What was found, as files that travel from the workers to the driver.

For results that only one can write: the documents with one subscription's matches each.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from extract.filtertool.findings import Findings
from extract.filtertool.outcome import Rejection
from extract.filtertool.writers import Writer

_FILE: Final = "findings.pickle"


class ParcelWriter:
    """Writes what was found, as it is.

    Args:
        directory: Where.
        ids: The ids of the subscribers that the findings count by.
    """

    def __init__(self, directory: Path, ids: Sequence[str]) -> None:
        self._file = (directory / _FILE).open("wb")
        pickle.dump(tuple(ids), self._file, pickle.HIGHEST_PROTOCOL)

    def write(self, document: str, findings: Findings) -> None:
        """Adds what was found in a document."""
        if len(findings):
            pickle.dump((document, findings), self._file, pickle.HIGHEST_PROTOCOL)

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds what was rejected."""
        if rows := list(rejections):
            pickle.dump((None, rows), self._file, pickle.HIGHEST_PROTOCOL)

    def close(self) -> None:
        """Ends the file."""
        self._file.close()


class Parcel:
    """What a `ParcelWriter` has written.

    The files are those that our own tasks wrote, in a directory that only we can write to.

    Args:
        directory: Where it has written.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / _FILE

    def findings(self, ids: Sequence[str] | None = None) -> Iterator[tuple[str, Findings]]:
        """Documents, and what was found in them.

        Args:
            ids: The ids of the subscribers that the findings are to count by; None for those by
                which they were written.
        """
        places: Any = None
        for document, what in self._items():
            if document is None:
                continue
            if document == "":
                if ids is not None:
                    known = {one: number for number, one in enumerate(ids)}
                    places = np.array([known[one] for one in what], np.int32)
            elif places is None:
                yield document, what
            else:
                yield document, replace(what, subscriber=places[what.subscriber])

    def rejections(self) -> list[Rejection]:
        """What was rejected."""
        return [one for document, what in self._items() if document is None for one in what]

    def ids(self) -> tuple[str, ...]:
        """The ids of the subscribers by which findings were written."""
        found: tuple[str, ...] = next(iter(self._items()))[1]
        return found

    def _items(self) -> Iterator[tuple[str | None, Any]]:
        """The ids first, with an empty name; rejections have none."""
        with self._path.open("rb") as file:
            yield "", pickle.load(file)
            while True:
                try:
                    yield pickle.load(file)
                except EOFError:
                    return


def unpack(
    directory: Path, writer: Writer, ids: Sequence[str], matches: bool = True, rejected: bool = True
) -> None:
    """Writes what a `ParcelWriter` has written, with another writer.

    Args:
        directory: Where it has written.
        writer: Takes it.
        ids: The ids of the subscribers that this writer counts by.
        matches, rejected: What to take.
    """
    parcel = Parcel(directory)
    if matches:
        for document, findings in parcel.findings(ids):
            writer.write(document, findings)
    if rejected:
        writer.reject(parcel.rejections())
