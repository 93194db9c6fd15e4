"""Stores findings in a file, for results that the task itself cannot write.

These are nodes of pieces, whose numbers depend on the pieces before; and the XML documents, one for
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
        directory: The directory of the file.
        ids: The ids of the subscribers that the findings refer to by index.
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
        """Closes the file."""
        self._file.close()


class FindingsFile:
    """Reads the file of a `FindingsFileWriter`.

    The files are pickles, which is safe: they are written by extract's own tasks, in a directory
        that only
    this user can write to.

    Args:
        directory: The directory of the file.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / _FILE

    def findings(self, ids: Sequence[str] | None = None) -> Iterator[tuple[str, Findings]]:
        """Yields documents and their findings.

        Args:
            ids: The ids of the subscribers that the findings are to refer to; None for those in the
                file.
        """
        places: Any = None
        for document, what in self._items():
            if document is None:
                continue
            if document == "":
                if ids is not None:
                    numbers = {id_: number for number, id_ in enumerate(ids)}
                    places = np.array([numbers[id_] for id_ in what], np.int32)
            elif places is None:
                yield document, what
            else:
                yield document, replace(what, subscriber=places[what.subscriber])

    def rejections(self) -> list[Rejection]:
        """Returns the rejections."""
        return [item for document, what in self._items() if document is None for item in what]

    def ids(self) -> tuple[str, ...]:
        """Returns the ids of the subscribers that the findings refer to."""
        ids: tuple[str, ...] = next(iter(self._items()))[1]
        return ids

    def size(self) -> int:
        """Returns the size of the file in bytes."""
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
    """Writes the content of a findings file with another writer.

    Args:
        directory: The directory of the file.
        writer: The writer.
        ids: The ids of the writer's subscribers.
        matches, rejected: What to copy.
    """
    file = FindingsFile(directory)
    if matches:
        for document, findings in file.findings(ids):
            writer.write(document, findings)
    if rejected:
        writer.reject(file.rejections())
