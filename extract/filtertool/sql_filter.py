"""`SqlFilter`: from batches of documents to rows, with a database in front.

The database says which subscriptions match which documents. Where only that is asked for, these are
the rows. Where nodes or counts are, the matching subscriptions, a few of all, are read from the
database, and answered on the documents in the usual way. The usual way is also that of queries that
the database does not decide, and tells what is to be told of documents that break the schema.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extract.filtertool.batch_filter import BatchFilter
from extract.filtertool.guarded_filter import GuardedFilter
from extract.filtertool.loaded_batch import LoadedBatch, NamedDocument
from extract.filtertool.matchers.push.native import require_native
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.matchers.sql.joiner import JoinedPairs
from extract.filtertool.matchers.sql.reference_values import reference_values
from extract.filtertool.matchers.sql.stored_subscriptions import (
    StoredSubscriptions,
    subscriptions_in_memory,
)
from extract.filtertool.options import Options
from extract.filtertool.results.account import added
from extract.filtertool.results.batch_outcome import (
    BatchOutcome,
    FilterOutcome,
    document_outcomes,
)
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import DocumentOutcome
from extract.filtertool.results.owners import Indices
from extract.filtertool.results.seconds import Seconds
from extract.filtertool.sql_scheme import SqlScheme
from extract.scheme.database.member_rows import read_columns
from extract.scheme.model import Scheme
from extract.subscriptions.columns import TextColumn

MOST_BYTES: Final = 1 << 28  # larger documents are answered by all subscriptions in memory

_Usual: TypeAlias = BatchFilter | GuardedFilter


class SqlFilter:
    """Filters batches of documents for the subscriptions of a database.

    Args:
        stored: The subscriptions.
        options: How to filter.
        guarded: Whether documents have limits of time and memory.

    Attributes:
        options: How to filter.
        ids: The ids of all subscribers.
    """

    def __init__(
        self, stored: StoredSubscriptions, options: Options, guarded: bool = False
    ) -> None:
        self.options = options
        self._guarded = guarded
        self._stored = stored
        self._joiner = stored.joiner(options.limits)
        later = [one.subscriber.id for one in stored.empty.later]
        self.ids: TextColumn = TextColumn.concat([stored.ids, TextColumn.of(later)])
        self._past: dict[str, float] = {}
        self._pairs = 0

    def process(self, documents: Iterable[NamedDocument]) -> list[FilterOutcome]:
        """Filters a batch of documents, each with its name; outcomes are in their order."""
        started = time.perf_counter()
        batch = LoadedBatch(documents, MOST_BYTES, self.options.limits)
        seconds = Seconds()
        seconds.since("chunk", started)
        started = time.perf_counter()
        pairs = self._matched(batch)
        seconds.since("match", started)
        self._pairs += int(np.count_nonzero(pairs.done == 1)) * self._stored.decided
        if self.options.select == "doc":
            outcomes = self._which(batch, pairs, seconds)
        else:
            outcomes = self._rows(batch, pairs, seconds)
        batch.close()
        if outcomes:
            outcomes[-1] = replace(outcomes[-1], worker=os.getpid(), figures=self.figures())
        return outcomes

    def close(self) -> None:
        """Removes what there is in the database for this filter."""
        for name in {"_rest", "_everything"} & self.__dict__.keys():
            _close(getattr(self, name)[0])
        self._stored.tables.close()

    def figures(self) -> Mapping[str, float]:
        """Returns what was done so far."""
        own = {
            "sql_questions": self._stored.decided,
            "sql_templates": len(self._stored.plan.decided),
            "sql_shapes": len(self._stored.plan.shapes),
            "pairs_sql": self._pairs,
            **self._joiner.figures,
        }
        parts: list[Mapping[str, float]] = [own, self._past]
        if "_rest" in self.__dict__:
            parts.append(self._rest[0].figures())
        return added(parts)

    # -- pairs

    def _matched(self, batch: LoadedBatch) -> JoinedPairs:
        """Pairs of all documents of a batch, by their places."""
        values = self.options.select != "doc"
        found = self._joiner.match(batch.loaded, values)
        places = batch.places
        odd = np.flatnonzero(found.done != 1)
        unit, seq = places[found.unit].astype(np.int32), found.seq
        done = np.zeros(len(batch), np.int8)
        done[places] = found.done
        if len(odd):
            more = self._joiner.match_any([batch.loaded[n] for n in odd.tolist()], values)
            done[places[odd]] = np.where(more.done == 1, 2, more.done)
            unit = np.concatenate([unit, places[odd][more.unit].astype(np.int32)])
            seq = np.concatenate([seq, more.seq])
            order = np.argsort(unit, kind="stable")
            unit, seq = unit[order], seq[order]
        return JoinedPairs(done, unit, seq)

    # -- only which subscriptions match

    def _which(self, batch: LoadedBatch, pairs: JoinedPairs, seconds: Seconds) -> list[Any]:
        numbers = self._stored.places(pairs.seq)
        if (pairs.done == 1).all() and len(batch) and not self._stored.has_rest:
            every = (batch.names, batch.sizes(0, len(batch)), pairs.unit, numbers)
            return [BatchOutcome(*every, np.empty(0, np.int64), seconds)]
        outcomes: list[Any] = []
        for place, done in enumerate(self._undecided(batch)):
            if done.error is None and pairs.done[place] not in (1, 2):
                done = self._whole(batch, place)
            elif done.error is None:
                own = slice(*np.searchsorted(pairs.unit, [place, place + 1]).tolist())
                done = replace(done, findings=_joined(done.findings, numbers[own]))
            outcomes.append(replace(done, seconds=seconds))
            seconds = Seconds()
        return outcomes

    def _undecided(self, batch: LoadedBatch) -> Sequence[DocumentOutcome]:
        """The outcomes of what the database does not decide."""
        parts = self._stored.undecided()
        rest, numbers = self._rest
        next(parts)  # which is the one that stays
        return self._with_more(self._usual(rest, batch, numbers), parts, batch)

    def _with_more(
        self, outcomes: Sequence[DocumentOutcome], parts: Iterable[Any], batch: LoadedBatch
    ) -> Sequence[DocumentOutcome]:
        """Outcomes, with those of further members that are read some at a time."""
        for rows in parts:
            numbers = self._stored.places(np.asarray(rows["seq"]))
            with self._filter_once(self._stored.scheme_of(rows, later=False)) as some:
                more = self._usual(some, batch, numbers)
            pairs = zip(outcomes, more, strict=True)
            outcomes = [_united(first, second) for first, second in pairs]
        return outcomes

    @cached_property
    def _rest(self) -> tuple[_Usual, Indices]:
        """The filter for what the database does not decide, and the numbers of its subscribers."""
        rows = self._stored.rest
        return self._filter(self._stored.scheme_of(rows)), self._numbers(rows)

    # -- nodes, and how many

    def _rows(self, batch: LoadedBatch, pairs: JoinedPairs, seconds: Seconds) -> list[Any]:
        stored = self._stored
        undecided = stored.undecided()
        rows = next(undecided)
        if len(pairs.seq):
            rows = pa.concat_tables([rows, stored.tables.rows(np.unique(pairs.seq))])
            rows = rows.sort_by("seq").combine_chunks()
        outcomes: list[Any] = []
        with reference_values(self._joiner.held):
            with self._filter_once(stored.scheme_of(rows)) as chosen:
                usual = self._usual(chosen, batch, self._numbers(rows))
            usual = self._with_more(usual, undecided, batch)
        for place, done in enumerate(usual):
            if done.error is None and pairs.done[place] not in (1, 2):
                done = self._whole(batch, place)
            outcomes.append(done)
        return outcomes

    # -- the usual way

    def _filter(self, scheme: Scheme) -> _Usual:
        made = BatchFilter(scheme, load_matcher(), self.options)
        return GuardedFilter(made) if self._guarded else made

    @contextlib.contextmanager
    def _filter_once(self, scheme: Scheme) -> Iterator[_Usual]:
        """A filter for one batch."""
        made = self._filter(scheme)
        try:
            yield made
        finally:
            _close(made)
        self._past = added([self._past, made.figures()])

    def _numbers(self, rows: Any) -> Indices:
        """The numbers of the subscribers of a scheme that was made of rows."""
        members = self._stored.places(np.asarray(rows["seq"]))
        first = len(self._stored.ids)
        later = np.arange(first, first + len(self._stored.empty.later), dtype=np.int32)
        return np.concatenate([members, later])

    def _usual(
        self, filter_: _Usual, batch: LoadedBatch, numbers: Indices
    ) -> Sequence[DocumentOutcome]:
        """The outcomes of a batch with another filter, document by document."""
        named = [batch.document(place) for place in range(len(batch))]
        found = list(document_outcomes(filter_.process(named)))
        loaded = set(batch.places.tolist())
        for place, done in enumerate(found):
            if not done.bytes and done.error is None and place in loaded:
                done = replace(done, bytes=len(batch.data(place)))
            found[place] = _renumbered(done, numbers)
        return found

    def _whole(self, batch: LoadedBatch, place: int) -> DocumentOutcome:
        """The outcome of a document whose values cannot be read, with all subscriptions."""
        stored, outcome = self._stored, None
        if isinstance(stored.home, Scheme):
            every, numbers = self._everything
            (done,) = document_outcomes(every.process([batch.document(place)]))
            return _renumbered(done, numbers)
        for rows in chain([read_columns().empty_table()], stored.all_members()):
            numbers = stored.places(np.asarray(rows["seq"]))
            if outcome is None:
                numbers = self._numbers(rows)
            with self._filter_once(stored.scheme_of(rows, later=outcome is None)) as some:
                (done,) = document_outcomes(some.process([batch.document(place)]))
            done = _renumbered(done, numbers)
            outcome = done if outcome is None else _united(outcome, done)
        assert outcome is not None
        return outcome

    @cached_property
    def _everything(self) -> tuple[_Usual, NDArray[np.int32]]:
        scheme, places = self._stored.everything()
        later = np.arange(len(self._stored.ids), len(self.ids), dtype=np.int32)
        return self._filter(scheme), np.concatenate([places, later])


def sql_filter(scheme: Scheme, options: Options, guarded: bool = False) -> SqlFilter:
    """A filter for a scheme: in its database, or in one that is made for it.

    Args:
        scheme, options, guarded: As for `SqlFilter`.

    Raises:
        MatcherError: The parts in C are not compiled.
        DatabaseError: DuckDB is not installed.
    """
    require_native()
    stored = scheme.stored if isinstance(scheme, SqlScheme) else None
    if stored is None:
        members, values = options.select != "doc", options.select == "nodes"
        stored = subscriptions_in_memory(scheme, members, values)
    return SqlFilter(stored, options, guarded)


def _close(filter_: _Usual) -> None:
    if isinstance(filter_, GuardedFilter):
        filter_.close()


def _joined(findings: Findings, numbers: Indices) -> Findings:
    """Findings, and rows for further subscribers, where only these are asked for."""
    if not len(numbers):
        return findings
    own = Findings.none()
    count = np.ones(len(numbers), np.int64)
    return Findings.together(
        [findings, Findings(numbers, count, own.node, own.ordinal, own.described)]
    )


def _united(first: DocumentOutcome, second: DocumentOutcome) -> DocumentOutcome:
    """The outcome of one document with the members of two parts."""
    if first.error is not None or second.error is not None:
        return first if first.error is not None else second
    findings = Findings.together([first.findings, second.findings])
    return replace(first, findings=findings, rejections=first.rejections + second.rejections)


def _renumbered(done: DocumentOutcome, numbers: Indices) -> DocumentOutcome:
    if not len(done.findings):
        return done
    return replace(
        done, findings=replace(done.findings, subscriber=numbers[done.findings.subscriber])
    )
