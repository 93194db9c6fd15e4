"""Findings in a file, for results that the task which has found them cannot write.

Those are nodes of pieces, whose numbers depend on the pieces before; and the XML documents, one for
each subscription, which only the driver can write.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from extract.filtertool.output.writers import Writer
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection

_FILE: Final = "findings.pickle"


class FindingsFileWriter:
    """Writes findings into a file.

    Args:
        directory: Where the file goes.
        ids: The ids of the subscribers that the findings count by.
    """

    def __init__(self, directory: Path, ids: Sequence[str]) -> None:
        self._file = (directory / _FILE).open("wb")
        pickle.dump(tuple(ids), self._file, pickle.HIGHEST_PROTOCOL)

    def write(self, document: str, findings: Findings) -> None:
        """Adds the findings of a document."""
        if len(findings):
            pickle.dump((document, findings), self._file, pickle.HIGHEST_PROTOCOL)

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds rejections."""
        if rows := list(rejections):
            pickle.dump((None, rows), self._file, pickle.HIGHEST_PROTOCOL)

    def close(self) -> None:
        """Ends the file."""
        self._file.close()


class FindingsFile:
    """Reads what a `FindingsFileWriter` has written.

    The files are those that our own tasks wrote, in a directory that only we can write to.

    Args:
        directory: Where the file is.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / _FILE

    def findings(self, ids: Sequence[str] | None = None) -> Iterator[tuple[str, Findings]]:
        """Yields documents and their findings.

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
                    numbers = {one: number for number, one in enumerate(ids)}
                    places = np.array([numbers[one] for one in what], np.int32)
            elif places is None:
                yield document, what
            else:
                yield document, replace(what, subscriber=places[what.subscriber])

    def rejections(self) -> list[Rejection]:
        """Returns the rejections."""
        return [one for document, what in self._items() if document is None for one in what]

    def ids(self) -> tuple[str, ...]:
        """Returns the ids of the subscribers by which findings were written."""
        ids: tuple[str, ...] = next(iter(self._items()))[1]
        return ids

    def size(self) -> int:
        """Returns how many bytes the file has."""
        return self._path.stat().st_size

    def _items(self) -> Iterator[tuple[str | None, Any]]:
        """Yields the ids first, with an empty name; rejections have no name."""
        with self._path.open("rb") as file:
            yield "", pickle.load(file)
            while True:
                try:
                    yield pickle.load(file)
                except EOFError:
                    return


def copy_findings(
    directory: Path, writer: Writer, ids: Sequence[str], matches: bool = True, rejected: bool = True
) -> None:
    """Writes what is in a findings file with another writer.

    Args:
        directory: Where the file is.
        writer: Takes the findings.
        ids: The ids of the subscribers that this writer counts by.
        matches, rejected: What to copy.
    """
    file = FindingsFile(directory)
    if matches:
        for document, findings in file.findings(ids):
            writer.write(document, findings)
    if rejected:
        writer.reject(file.rejections())
