"""Joins between documents of streams: `Joins`, which takes documents one by one.

Usage:
    >>> joins = Joins({"q": "a//order->x[id->i] FOLLOWED BY{i=j, 60} b//bill->y[order->j]"})
    >>> joins.process("a", "o1.xml", b"<order><id>7</id></order>", 0)
    []
    >>> [row] = joins.process("b", "b1.xml", b"<bill><order>7</order></bill>", 30)
    >>> row.left, row.right, row.bindings["i"], row.output
    ('o1.xml', 'b1.xml', '/order[1]/id[1]', \
'<join><order><id>7</id></order><bill><order>7</order></bill></join>')

Queries are described in `extract.xscl`, how they are evaluated in `extract.filtertool.joins`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import time_ns
from typing import Any, Literal

from extract.chunktool.input.source import Document, check_document, open_source
from extract.errors import DocumentError, JoinError, QuerySyntaxError, SubscriptionsError
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.engine import JoinEngine
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.joined import Joined, JoinState
from extract.filtertool.joins.lateness import Late, Lateness
from extract.filtertool.joins.members import JoinMember
from extract.filtertool.joins.parallel import ParallelJoins, Progress
from extract.filtertool.joins.plan import StreamCounts
from extract.filtertool.joins.publishing import Publishing
from extract.filtertool.joins.room import StateLimit, dropped_document
from extract.filtertool.joins.snapshot import SavedQuery, Snapshot
from extract.filtertool.results.outcome import Rejection
from extract.join_patterns import PatternFilter, pattern_candidates
from extract.limits import DEFAULTS, Limits
from extract.schema.model import Schema
from extract.subscriptions.model import Subscription, Subscriptions
from extract.xpath.later import FIRST
from extract.xscl.ast import EVERY_STREAM, XsclQuery
from extract.xscl.parser import parse_xscl
from extract.xscl.streams import StreamGraph
from extract.xscl.times import Time, microseconds

WhenFull = Literal["stop", "drop"]


class Joins:
    """XSCL queries, and what they need to remember of documents.

    Queries that cannot be evaluated are in `rejected_queries`; the others go on. All methods may be
    called by several threads, and take effect one after the other.

    Args:
        queries: The queries: `Subscriptions`, or a mapping from ids to XSCL.
        schemas: The schema of each stream that has one. It does not change the rows.
        lateness: By how many seconds a document may be behind the latest of the streams that a
            query reads; by default by the longest window in time of queries that read one of them.
        max_state: How many bytes the state may take, about.
        when_full: What happens then: ``stop`` raises an error, ``drop`` forgets the oldest
            documents, each of which is a rejection.
        limits: How large queries, documents and outputs may be.
        namespaces: Bindings for prefixes that the queries do not bind.

    Raises:
        SubscriptionsError: Two queries have one id.
        ValueError: An option has no such value.
    """

    def __init__(
        self,
        queries: Subscriptions | Mapping[str, str] = (),  # type: ignore[assignment]
        schemas: Mapping[str, Schema] | None = None,
        *,
        lateness: Time | None = None,
        max_state: int | None = None,
        when_full: WhenFull = "stop",
        limits: Limits | None = None,
        namespaces: Mapping[str, str] | None = None,
    ) -> None:
        if when_full not in ("stop", "drop"):
            raise ValueError(f"when_full is {when_full!r}, and must be stop or drop")
        self._lateness = None if lateness is None else microseconds(lateness)
        if self._lateness is not None and self._lateness < 0:
            raise ValueError("lateness cannot be negative")
        self._times = Lateness(self._lateness)
        if max_state is not None and max_state < 0:
            raise ValueError("max_state cannot be negative")
        self.schemas = dict(schemas or {})
        self._max_state = max_state
        self._when_full: WhenFull = when_full
        self._limits = limits or DEFAULTS
        self._lock = threading.RLock()
        self._engine = JoinEngine(self._limits)
        self._limit = None if max_state is None else StateLimit(max_state, when_full == "drop")
        if max_state is not None:
            self._engine.store.limit(max_state)
        self._patterns = PatternFilter(self._engine.edges, self.schemas, self._limits)
        self._streams = StreamGraph()
        self._queries: dict[str, tuple[XsclQuery, JoinMember]] = {}
        self._next_order = 0
        self._clock = 0
        self._counts = StreamCounts()
        self._rejected: list[Rejection] = []
        self.rejected_queries: tuple[Rejection, ...] = ()
        self._take(_subscriptions(queries, namespaces))

    @classmethod
    def load(
        cls, path: str | Path, schemas: Mapping[str, Schema] | None = None, **options: Any
    ) -> Joins:
        """Loads a file of queries: lines ``id<TAB>query``, or ``.jsonl`` with the key ``xscl``.

        Args:
            path: The file.
            schemas: The schema of each stream that has one.
            options: As for `Joins`.

        Raises:
            SubscriptionsError: The file cannot be read or is malformed, or two queries have one id.
        """
        limits: Limits | None = options.get("limits")
        namespaces: Mapping[str, str] | None = options.get("namespaces")
        return cls(Subscriptions.load(path, namespaces, limits), schemas, **options)

    def __repr__(self) -> str:
        state = self.state
        return f"<Joins: {len(self):,} queries, {state.documents:,} documents kept>"

    # -- queries

    def __len__(self) -> int:
        return len(self._queries)

    def __contains__(self, identifier: object) -> bool:
        return identifier in self._queries

    @property
    def queries(self) -> Mapping[str, XsclQuery]:
        """The queries by their ids."""
        return {name: query for name, (query, _) in self._queries.items()}

    @property
    def published(self) -> frozenset[str]:
        """The streams that queries publish."""
        return self._streams.published

    def add(self, queries: Subscriptions | Mapping[str, str] | Subscription) -> None:
        """Adds queries, which see the documents from now on.

        Raises:
            QuerySyntaxError: One cannot be evaluated, or reads what it publishes.
            SubscriptionsError: There is a query with such an id. In both cases nothing has changed.
        """
        with self._lock:
            added: list[str] = []
            try:
                for one in _subscriptions(queries, None):
                    if one.id in self._queries:
                        hint = "remove it before, or give the new one another id"
                        raise SubscriptionsError(f"there is a query with the id {one.id!r}", hint)
                    self._add(one)
                    added.append(one.id)
            except (QuerySyntaxError, SubscriptionsError):
                self.remove(added)
                raise

    def remove(self, identifiers: Iterable[str]) -> None:
        """Removes the queries with these ids.

        Raises:
            SubscriptionsError: There is no query with such an id; then nothing has changed.
        """
        with self._lock:
            names = [identifiers] if isinstance(identifiers, str) else list(identifiers)
            for name in names:
                if name not in self._queries:
                    raise SubscriptionsError(f"there is no query with the id {name!r}")
            for name in dict.fromkeys(names):
                query, _ = self._queries.pop(name)
                self._engine.remove(name)
                self._times.remove(name, query)
                self._streams.remove(name, query)

    def replace_all(self, queries: Subscriptions | Mapping[str, str]) -> None:
        """Makes these the queries: those that are the same go on, others come or go.

        Those that cannot be evaluated are in `rejected_queries`.
        """
        with self._lock:
            wanted = {one.id: one for one in _subscriptions(queries, None)}
            texts = {name: (query.text, query.namespaces) for name, query in self.queries.items()}
            same = {n for n, one in wanted.items() if texts.get(n) == (one.xpath, one.namespaces)}
            self.remove([name for name in texts if name not in same])
            source = queries.source if isinstance(queries, Subscriptions) else ""
            new = tuple([one for name, one in wanted.items() if name not in same])
            self._take(Subscriptions(new, source))

    def _take(self, subscriptions: Subscriptions) -> None:
        """Adds queries; those that cannot be evaluated are rejected."""
        rejections: list[Rejection] = []
        parsed: dict[object, XsclQuery] = {}
        for one in subscriptions:
            try:
                self._add(one, parsed=parsed)
            except QuerySyntaxError as error:
                placed = error.at(subscriptions.source, one.line, one.column)
                offset = error.offset if error.offset >= 0 else None
                rejections.append(
                    Rejection(None, one.id, "prepare", str(placed), one.line or None, offset)
                )
        self.rejected_queries = tuple(rejections)

    def _add(
        self,
        one: Subscription,
        saved: SavedQuery | None = None,
        parsed: dict[object, XsclQuery] | None = None,
    ) -> None:
        if one.version != FIRST:
            reason = f"XSCL is in XPath {FIRST}, not {one.version}"
            raise QuerySyntaxError(reason, "leave the version out", xpath=one.xpath)
        key = one.xpath, tuple(sorted(one.namespaces.items()))
        query = parsed.get(key) if parsed else None  # of a query with the same text
        if query is None:
            query = parse_xscl(one.xpath, one.namespaces, self._limits)
        if parsed is not None:
            parsed[key] = query
        self._streams.check(one.id, query)
        if saved is None:
            saved = SavedQuery(one.id, "", {}, self._clock, self._next_order)
            self._next_order += 1
        timeline = self._times.add(one.id, saved.order, query, saved.timeline)
        size, publish = query.window.size, query.publish
        member = JoinMember(saved.order, one.id, size, saved.since, publish, timeline)
        self._engine.add(member, query)
        self._streams.add(one.id, query)
        self._queries[one.id] = query, member

    def job(self) -> JoinJob:
        """Returns the queries and options without any state, for engines in other processes."""
        times = Lateness(self._lateness)
        return self._job(
            (replace(m, since=0, timeline=times.add(m.id, m.order, query)), query)
            for query, m in self._queries.values()
        )

    def _job(self, queries: Iterable[tuple[JoinMember, XsclQuery]]) -> JoinJob:
        with self._lock:
            return JoinJob(
                tuple(queries),
                self._limits,
                self._lateness,
                self._streams.published,
                partial(pattern_candidates, self.schemas, self._limits),
            )

    # -- several processes

    def parallel(self, jobs: int) -> ParallelJoins:
        """Returns joins in several processes, which go on from here; see `take_over`.

        Each process has an equal part of the limit for the state.
        """
        with self._lock:
            progress = Progress(
                self._clock,
                StreamCounts(self._counts.inputs, self._counts.places),
                deepcopy(self._times),
                tuple(self._engine.store.needed()),
            )
            job = self._job([(member, query) for query, member in self._queries.values()])
        return ParallelJoins(job, jobs, progress, self._limit)

    def take_over(self, progress: Progress) -> None:
        """Goes on from where joins in several processes have ended."""
        with self._lock:
            self._engine.store.clear()
            self._engine.forget()
            self._clock, self._counts = progress.clock, progress.counts
            self._times = progress.times
            self._keep(progress.kept)

    # -- documents

    def process(
        self, stream: str, name: str, document: Document, time: Time | None = None
    ) -> list[Joined]:
        """Takes a document, and returns the rows that it leads to.

        That includes what published documents lead to. A document that is not well-formed, or late
        for all queries that read its stream, is in `rejected`, and changes nothing else; one that
        is late for some is joined by the others.

        Args:
            stream: The stream that it belongs to.
            name: Its name.
            document: Bytes, a path or a file object.
            time: Seconds, or a time in ISO 8601; by default the time of its arrival.

        Returns:
            The rows in the order of queries; then those of published documents.

        Raises:
            JoinError: The stream is published by a query, or the state is full.
            TypeError: It is no document, or its name or stream is not a string.
            ValueError: The time is none.
        """
        check_document(name, document)
        if not isinstance(stream, str):
            raise TypeError(f"the name of a stream is a string, not {type(stream).__name__}")
        with self._lock:
            self._rejected = []
            if stream in self._streams.published:
                reason = f"the stream {stream!r} is published by a query"
                raise JoinError(reason, "give documents of another stream", name)
            if time is None:
                moment = self._times.arrival(stream, time_ns() // 1_000)
            else:
                moment = microseconds(time)
            late = self._times.late(stream, name, moment)
            if late.whole:
                self._rejected += late.rejections
                return []
            try:
                with open_source(document, name, self._limits) as source:
                    data = source.load(self._limits.whole_bytes)
                if data is None:
                    raise DocumentError(self._limits.passed("whole_bytes"), file=name)
                first = self._new(stream, name, moment, data, published=False)
                return self._process(first, late)
            except DocumentError as error:
                place = error.offset if error.offset >= 0 else None
                self._rejected.append(
                    Rejection(name, None, "read", error.reason, error.line or None, place)
                )
                return []

    @property
    def rejected(self) -> Sequence[Rejection]:
        """What the last call of `process` rejected."""
        return tuple(self._rejected)

    @property
    def accepted(self) -> int:
        """How many documents were accepted, ever."""
        return self._counts.inputs

    @property
    def state(self) -> JoinState:
        """What is kept of documents: how many, and about how much memory that takes."""
        return self._engine.state

    def figures(self) -> dict[str, int]:
        """Returns numbers of queries, join graphs, templates and kept documents."""
        state, engine = self._engine.state, self._engine
        return {
            "queries": len(self._queries),
            "join_graphs": engine.graphs(),
            "templates": engine.templates(),
            "edges": len(engine.edges),
            "state_documents": state.documents,
            "state_witnesses": state.witnesses,
            "state_bytes": state.bytes,
        }

    def _new(self, stream: str, name: str, time: int, data: bytes, published: bool) -> JoinDocument:
        place = self._counts.places[stream]
        seq = place if published else self._counts.inputs
        named = f"{stream}#{seq}" if published else name
        return JoinDocument(stream, named, time, seq, place, self._clock, published, data)

    def _process(self, first: JoinDocument, late: Late) -> list[Joined]:
        rows: list[Joined] = []
        spent = 0
        waiting = deque([first])
        publishing = Publishing(first.name, self._limits)
        while waiting:
            document = waiting.popleft()
            if document is not first:  # numbered when its turn comes
                document = self._new(
                    document.stream, "", document.time, document.data, published=True
                )
                late = self._times.late(document.stream, document.name, document.time, True)
            self._rejected += self._engine.read(document, self._patterns.candidates)
            self._rejected += late.rejections
            document.late = late.timelines
            if self._limit is not None:
                dropped = self._limit.make_room(self._engine.store, document)
                self._rejected += [dropped_document(one) for one in dropped]
            latest = self._times.latest.get(EVERY_STREAM)
            done = self._engine.join(document, self._counts, latest, spent=spent)
            spent = done.bytes
            self._accept(document)
            self._rejected += done.rejections
            for member, row in done.rows:
                rows.append(row)
                if not member.publish:
                    continue
                is_published = True
                if self._engine.reads(member.publish):
                    is_published, refused = publishing.take(member.id)
                    self._rejected += refused
                if is_published:
                    later = max(row.left_time, row.right_time)
                    data = row.output.encode()
                    waiting.append(JoinDocument(member.publish, "", later, 0, 0, 0, True, data))
        return rows

    def _accept(self, document: JoinDocument) -> None:
        self._clock += 1
        self._counts.places[document.stream] += 1
        if not document.published:
            self._counts.inputs += 1
            self._times.accept(document.stream, document.time)
        self._engine.keep(document)
        self._engine.release(self._times.horizon, self._counts)

    # -- snapshots

    def save(self, directory: str | Path) -> None:
        """Writes all that `restore` needs into a directory; whole, or not at all.

        Raises:
            JoinError: The directory has something else in it.
            OSError: It cannot be written.
        """
        with self._lock:
            saved = [
                SavedQuery(name, query.text, query.namespaces, m.since, m.order, m.timeline)
                for name, (query, m) in self._queries.items()
            ]
            facts = {
                "clock": self._clock,
                "next_order": self._next_order,
                "inputs": self._counts.inputs,
                "places": dict(self._counts.places),
                "times": self._times.dump(),
                "lateness": self._lateness,
                "max_state": self._max_state,
                "when_full": self._when_full,
            }
            Snapshot(saved, list(self._engine.store.needed()), facts).save(directory)

    @classmethod
    def restore(
        cls,
        directory: str | Path,
        schemas: Mapping[str, Schema] | None = None,
        *,
        lateness: Time | None = None,
        max_state: int | None = None,
        when_full: WhenFull | None = None,
        limits: Limits | None = None,
    ) -> Joins:
        """Goes on where `save` was called: the same documents give the same rows.

        Queries that cannot be evaluated any more are in `rejected_queries`; the others go on.

        Args:
            directory: Where `save` wrote.
            schemas: As for `Joins`; they are not saved.
            lateness, max_state, when_full: As for `Joins`; those of before by default.
            limits: As for `Joins`.

        Raises:
            JoinError: There is no snapshot, or it is damaged or of another version.
        """
        snapshot = Snapshot.load(directory)
        facts = snapshot.facts
        joins = cls(
            {},
            schemas,
            lateness=lateness,
            max_state=facts["max_state"] if max_state is None else max_state,
            when_full=when_full or facts["when_full"],
            limits=limits,
        )
        if lateness is None and facts["lateness"] is not None:
            joins._lateness = facts["lateness"]
            joins._times = Lateness(joins._lateness)
        joins._resume(snapshot)
        return joins

    def _resume(self, snapshot: Snapshot) -> None:
        facts = snapshot.facts
        parsed: dict[object, XsclQuery] = {}
        rejections: list[Rejection] = []
        for one in snapshot.queries:
            query = Subscription(one.id, one.xscl, one.namespaces)
            try:
                self._add(query, one, parsed)
            except QuerySyntaxError as error:  # another version took it
                rejections.append(Rejection(None, one.id, "prepare", error.reason))
        self.rejected_queries = tuple(rejections)
        self._clock, self._next_order = facts["clock"], facts["next_order"]
        self._counts = StreamCounts(facts["inputs"], facts["places"])
        if "times" in facts:
            self._times.load(facts["times"])
        elif facts["latest"] is not None:  # of the first format: of all queries alike
            self._times.latest[EVERY_STREAM] = facts["latest"]
            self._times.stay(facts["horizon"])
        self._keep(snapshot.documents)

    def _keep(self, documents: Iterable[JoinDocument]) -> None:
        for document in documents:
            self._engine.read(document, self._patterns.candidates)
            self._engine.keep(document)
        self._engine.release(self._times.horizon, self._counts)


def _subscriptions(
    queries: Subscriptions | Mapping[str, str] | Subscription,
    namespaces: Mapping[str, str] | None,
) -> Subscriptions:
    if isinstance(queries, Subscriptions):
        return queries.with_defaults(namespaces) if namespaces else queries
    if isinstance(queries, Subscription):
        return Subscriptions.of([queries], namespaces)
    return Subscriptions.of(queries, namespaces)
