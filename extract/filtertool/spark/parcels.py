"""What was found, as files that travel from the workers to the driver.

For results that only one can write: the documents with one subscription's matches each.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from extract.filtertool.processed import Rejection
from extract.filtertool.results import Findings
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


def unpack(
    directory: Path, writer: Writer, ids: Sequence[str], matches: bool = True, rejected: bool = True
) -> None:
    """Writes what a `ParcelWriter` has written, with another writer.

    The files are those that our own tasks wrote, in a directory that only we can write to.

    Args:
        directory: Where it has written.
        writer: Takes it.
        ids: The ids of the subscribers that this writer counts by.
        matches, rejected: What to take.
    """
    with (directory / _FILE).open("rb") as file:
        known = {one: number for number, one in enumerate(ids)}
        places = np.array([known[one] for one in pickle.load(file)], np.int32)
        while True:
            try:
                document, what = pickle.load(file)
            except EOFError:
                return
            if document is not None and matches:
                writer.write(document, replace(what, subscriber=places[what.subscriber]))
            elif document is None and rejected:
                writer.reject(what)
