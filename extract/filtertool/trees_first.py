"""`TreesAlone` and `TreesFirst`: small documents for few queries, by libxml2 alone.

The push engine looks at a document before libxml2 evaluates what it leaves open. Where a query of
few is left open on each document, the look costs more than it saves: libxml2 has to parse the
document anyway, and to evaluate the other queries as well takes it little longer. What both ways
cost is measured while documents are filtered, apart for sizes that differ by a factor of two, and
for single documents and batches. The same holds for documents in other encodings and with an
internal subset, which are looked at by the engine in another form, or not at all.

A document that the engine does not take at all, for what it declares, is scanned in Python: there
libxml2 alone costs less even where queries are some hundred.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

import numpy as np

from extract.filtertool.loaded_batch import UNNAMED, NamedDocument
from extract.filtertool.options import Options
from extract.filtertool.push_queries import PushQueries, members_by_key, written_question
from extract.filtertool.results.batch_outcome import BatchOutcome, FilterOutcome
from extract.filtertool.results.seconds import Seconds
from extract.filtertool.scheme_view import SchemeView
from extract.filtertool.tree_queries import TreeQueries
from extract.limits import DEFAULTS, Limits
from extract.markup.plain_form import is_tame, plain_form

MOST_QUERIES: Final = 24
MOST_ON_ODD: Final = 64  # on documents that are no plain UTF-8
MOST_ALONE: Final = 300  # queries, on documents that the engine does not take
_MOST_EXPANDED: Final = 1 << 20  # bytes of a document with its entities
_MOST_BYTES: Final = 1 << 16
_SINGLE, _BATCHES = 16, 4  # turns of each way that are measured
_SAME: Final = 4  # a part of these is one after the other: the first turns are slower
_AGAIN: Final = 1000  # turns after which both ways are measured again
# A document in UTF-8 without a document type: others are looked at more closely.
_PLAIN: Final = re.compile(
    rb"""(?:\xef\xbb\xbf)?(?:<\?xml version=["']1\.0["'](?: encoding=["'](?i:utf-8)["'])?"""
    rb"""(?: standalone=["'](?:yes|no)["'])? ?\?>)?"""
    rb"""(?:[ \t\r\n]+|<!--(?:[^-]|-[^-]){,500}-->|<\?xml-stylesheet [^?]{,500}\?>){,8}<[A-Za-z_]"""
)

Usual = Callable[[Iterable[NamedDocument]], list[FilterOutcome]]


class Turns:
    """What two ways to filter documents of one kind cost.

    >>> turns = Turns(16)
    >>> while turns.measured:
    ...     turns.note(turns.trees, 3.0 if turns.trees else 4.0)
    >>> turns.trees
    True
    """

    __slots__ = ("_seconds", "_turn", "_turns", "measured", "trees")

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self._measure()

    def _measure(self) -> None:
        self.trees = False  # whether the next turn is libxml2's
        self.measured = True  # and what it costs is to be noted
        self._turn = 0
        self._seconds: tuple[list[float], list[float]] = ([], [])

    def note(self, trees: bool, seconds: float) -> None:
        """Takes note of what a turn cost."""
        self._seconds[trees].append(seconds)
        self._turn += 1
        self.trees = self._turn // (self._turns // _SAME) % 2 == 1
        if self._turn >= 2 * self._turns:
            usual, own = map(_typical, self._seconds)
            self.trees, self.measured = own < usual, False

    def count(self) -> None:
        """Takes note of a turn that was not measured."""
        self._turn += 1
        if self._turn >= _AGAIN:
            self._measure()


def _typical(seconds: Sequence[float]) -> float:
    """The mean without the slowest turns, when something else may have run meanwhile.

    >>> _typical([3.0, 9.0, 1.0, 2.0])
    2.0
    """
    chosen = sorted(seconds)[: max(1, 3 * len(seconds) // 4)]
    return sum(chosen) / len(chosen)


class TreesAlone:
    """Which queries match documents, or how often, by libxml2 alone.

    Args:
        view: The queries.
        options: How to filter: for ``doc`` or ``count``.
        turn: Held while libxml2 works.
    """

    def __init__(
        self, view: SchemeView, options: Options, turn: AbstractContextManager[object]
    ) -> None:
        scheme, numbers = view
        self.most = _most_bytes(options.limits)
        self._counting = options.select == "count"
        self._turn = turn
        self._queries = TreeQueries(scheme.namespaces, options.select, options.limits, False)
        chosen: list[int] = []
        for template, rows in members_by_key(scheme.directory.templates):
            self._queries.add(written_question(scheme, template, rows), numbers[rows])
            chosen += numbers[rows].tolist()
        self._numbers = sorted(chosen)

    @property
    def pairs(self) -> int:
        """How many times a query was evaluated on a document."""
        return self._queries.pairs

    def outcome(self, documents: Sequence[tuple[str, bytes]]) -> BatchOutcome | None:
        """The rows of documents; None if libxml2 does not take one, or a query on it."""
        units: list[int] = []
        subscribers: list[int] = []
        counts: list[int] = []
        started = time.perf_counter()
        with self._turn:
            for unit, (_, document) in enumerate(documents):
                found = self._queries.quick_counts(document, self._numbers)
                if found is None:
                    return None
                for number, count in found:
                    units.append(unit)
                    subscribers.append(number)
                    counts.append(count)
        seconds = Seconds()
        seconds["match"] = time.perf_counter() - started
        return BatchOutcome(
            [name or UNNAMED for name, _ in documents],
            np.array([len(document) for _, document in documents], np.int64),
            np.array(units, np.int32),
            np.array(subscribers, np.int32),
            np.array(counts if self._counting else (), np.int64),
            seconds=seconds,
        )


class TreesFirst:
    """Chooses between libxml2 alone and the usual way.

    Args:
        alone: Makes libxml2 alone, when it is needed.
        limits: How large documents may be.
        queries: The queries.
    """

    def __init__(
        self, alone: Callable[[], TreesAlone], limits: Limits, queries: PushQueries
    ) -> None:
        self._alone = alone
        self._limits = limits
        self._most = _most_bytes(limits)
        # Plain documents, too, where the engine leaves a query open.
        self._plain = len(queries.trees) > 0 and len(queries.engine) <= MOST_QUERIES
        self._kinds: dict[_Kind, Turns] = {}

    @staticmethod
    def is_useful(queries: PushQueries, options: Options) -> bool:
        """Whether it may be worth while for some queries: few of them.

        Nodes have places in the document, which libxml2 does not know.
        """
        return (
            options.select in ("doc", "count")
            and not options.standalone
            and 0 < len(queries.engine) <= MOST_ON_ODD
            and not len(queries.rest)
        )

    def process(self, documents: Iterable[NamedDocument], usual: Usual) -> list[FilterOutcome]:
        """Filters documents, one way or the other.

        Args:
            documents: The documents, with their names.
            usual: Filters them the usual way.
        """
        if not isinstance(documents, list):
            return usual(documents)
        kind = self._kind(documents)
        if kind is None:
            return usual(documents)
        turns = self._kinds.get(kind)
        if turns is None:
            turns = self._kinds[kind] = Turns(_BATCHES if kind.batch else _SINGLE)
        trees, measured = turns.trees, turns.measured
        started = time.thread_time() if measured else 0.0
        outcome = self._alone().outcome(documents) if trees else None
        outcomes: list[FilterOutcome] = usual(documents) if outcome is None else [outcome]
        if measured:
            turns.note(trees, (time.thread_time() - started) / len(documents))
        else:
            turns.count()
        return outcomes

    def _kind(self, documents: Sequence[NamedDocument]) -> _Kind | None:
        """The kind of documents; None if they are for the usual way."""
        size, plain = 0, True
        try:
            for name, document in documents:
                if type(document) is not bytes or len(document) > self._most:
                    return None
                if type(name) is not str:
                    return None
                if _PLAIN.match(document):
                    if not self._plain:
                        return None
                elif is_harmless(document, self._limits):
                    plain = False
                else:
                    return None
                size += len(document)
        except (TypeError, ValueError):
            return None
        count = len(documents)
        return _Kind((size // count).bit_length(), count > 1, plain) if count else None


class _Kind(NamedTuple):
    """A kind of documents: the magnitude of their size, whether they come in batches, and whether
    all of them are in UTF-8, without a document type."""

    magnitude: int
    batch: bool
    plain: bool


def is_harmless(document: bytes, limits: Limits) -> bool:
    """Whether libxml2 may read a document that is no plain UTF-8: it takes this as we do, and what
    is declared there passes no limit."""
    if document.count(b"&") > limits.entity_references:
        return False
    if b"<!DOCTYPE" in document:
        most = min(_MOST_EXPANDED, limits.entity_free_bytes, limits.entity_bytes)
        return is_tame(document, most)
    form = plain_form(document)
    if form is None or len(form.data) > _most_bytes(limits):
        return False
    return b"<!DOCTYPE" not in form.data


def _most_bytes(limits: Limits) -> int:
    """The bytes of a document up to which it passes no limit, whatever is in it."""
    # libxml2 itself gives up at the largest depth that may be asked for.
    deep = _MOST_BYTES if limits.depth == DEFAULTS.depth else 7 * (limits.depth - 1)  # <a></a>
    return min(
        _MOST_BYTES,
        deep,
        limits.document_bytes,
        limits.token_bytes,
        limits.name_bytes,
        limits.attribute_bytes,
        5 * limits.attributes,  # a space, a name, =, and two quotes
    )
