"""`GuardedFilter`: limits of time and memory for documents, in a process that must not end.

A worker of the local engine ends when a document takes too much: see
`extract.filtertool.processes.guard`. The process that has the connection to a database, and tables
there, must stay. So what the database leaves to others is filtered in a child of this process,
which is forked when the first documents come.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from extract.chunktool.input.source import Document
from extract.filtertool.batch_filter import BatchFilter
from extract.filtertool.isolated_documents import process_isolated
from extract.filtertool.loaded_batch import NamedDocument
from extract.filtertool.processes.isolation import each_in_child
from extract.filtertool.processes.memory import keep_memory
from extract.filtertool.processes.workers import ChildExit
from extract.filtertool.results.account import added
from extract.filtertool.results.batch_outcome import FilterOutcome

_Done: TypeAlias = tuple[list[FilterOutcome], Mapping[str, float]]


class GuardedFilter:
    """Filters batches of documents in a child; a document that kills it is rejected alone.

    Args:
        filter_: What the child does.
    """

    def __init__(self, filter_: BatchFilter) -> None:
        self._filter = filter_
        self._limits = filter_.options.limits
        self._past: Mapping[str, float] = {}  # figures of children that have ended
        self._present: Mapping[str, float] = {}
        self._asked: deque[list[NamedDocument]] = deque()
        batches = iter(self._asked.popleft, None)
        self._answers = each_in_child(batches, self._process, self._limits, keep_memory)

    def process(self, documents: Iterable[NamedDocument]) -> list[FilterOutcome]:
        """Filters a batch of documents, each with its name; see `BatchFilter.process`."""
        named = [(name, _sent(document)) for name, document in documents]
        self._asked.append(named)
        answer = next(self._answers)
        if isinstance(answer, ChildExit):
            self._past, self._present = added([self._past, self._present]), {}
            return list(process_isolated(named, self._one, _name, self._limits, keep_memory))
        outcomes, self._present = answer
        return outcomes

    def figures(self) -> Mapping[str, float]:
        """Returns what was done so far."""
        return added([self._past, self._present])

    def close(self) -> None:
        """Ends the child."""
        self._answers.close()

    # -- in the child

    def _process(self, documents: list[NamedDocument]) -> _Done:
        outcomes = self._filter.process(documents)
        # Figures come beside them: those of a child would be added to what its parent reports.
        plain = [replace(one, worker=0, figures={}) if one.figures else one for one in outcomes]
        return plain, dict(self._filter.figures())

    def _one(self, document: NamedDocument) -> FilterOutcome:
        (done,) = self._process([document])[0]
        return done


def _name(document: NamedDocument) -> str:
    return document[0]


def _sent(document: Document) -> Document:
    """A document as another process can read it: an open file by the name that the system has."""
    if isinstance(document, memoryview):
        return bytes(document)
    if isinstance(document, (bytes, bytearray, str, os.PathLike)):
        return document
    try:
        number: Any = document.fileno()
    except (AttributeError, OSError):
        return document
    return f"/proc/{os.getpid()}/fd/{number}"
