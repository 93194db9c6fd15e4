"""`Filter`: one compiled filter for many batches of documents, whose queries come and go.

f = extract.Filter(scheme)                         # which queries match which documents
f.table([("m1", b"<stock>...</stock>"), ...])      # a pyarrow.Table
f.add({"new": "/stock[symbol = 'IBM']"})           # holds from the next call on
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from extract.chunktool.input.source import Document, check_documents
from extract.errors import ExtractError, SchemeError, SubscriptionsError
from extract.filtertool.batch_filter import BatchFilter
from extract.filtertool.job import Job, JobFilter
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.push.shared_lock import SharedLock
from extract.filtertool.matchers.registry import AUTO, SQL, load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.arrow import (
    DICTIONARY,
    REJECTED,
    SCHEMAS,
    id_column,
    integer_column,
    joined_batches,
    rejected_batch,
)
from extract.filtertool.output.growing_ids import GrowingIds, document_column
from extract.filtertool.output_filter import OutputFilter
from extract.filtertool.results.batch_outcome import BatchOutcome, FilterOutcome, document_outcomes
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.filtertool.sql_filter import SqlFilter
from extract.filtertool.sql_scheme import SqlScheme, open_sql_scheme, refreshed_scheme
from extract.limits import DEFAULTS, Limits
from extract.live_queries import LiveQueries, QueryChange
from extract.scheme.database import is_database
from extract.scheme.database.changes import StoredChanges
from extract.scheme.database.errors import LostConnection
from extract.scheme.database.follow import FollowedDatabase, follow_database
from extract.scheme.database.read import StoredScheme, load_state
from extract.scheme.model import Scheme
from extract.subscriptions import Subscription, Subscriptions

Queries: TypeAlias = (
    Subscription | Mapping[str, str] | Iterable[str | tuple[str, str] | Subscription]
)
_T = TypeVar("_T")

_EACH_DOCUMENTS: Final = 256  # that `Filter.each` filters together
_EACH_BYTES: Final = 1 << 22
# Without batches: the first array that Arrow makes of values in Python has it import pandas.
_NO_ROWS: Final[dict[str, Any]] = {
    select: pa.Table.from_batches(
        [], pa.schema([("document", DICTIONARY), ("query", DICTIONARY), *more])
    )
    for select, more in (("doc", ()), ("count", (("count", pa.int64()),)))
}

_NONE_REJECTED: Final = pa.Table.from_batches([], REJECTED)


class Filter:
    """Filters documents for the queries of a scheme; compiled once, for any number of calls.

    Several threads may use one filter. A change waits for the calls that are under way, and holds
    for all calls after it. The matchers ``auto`` and ``push`` take a change over at the cost of the
    change; with any other the next call compiles all queries again.

    A filter can be pickled and copied: what comes out is compiled anew, with the present queries.

    Args:
        scheme: The queries, from `extract.prepare` or `Scheme.load`; it is not changed. Or the name
            of a file, or the URL of a database: then `refresh` takes over what others have changed
            there.
        select: ``"doc"`` for which queries match, ``"count"`` for how many nodes they select,
            ``"nodes"`` for the nodes, ``"output"`` for what FLWR queries make of them.
        matcher: The matcher that evaluates; ``"auto"`` for the best.
        on_nonconforming: What to do with a document that breaks the schema: evaluate it all the
            same (``"fallback"``), or reject it (``"reject"``).
        assume_valid: Trust that documents keep to the schema, and check less.
        limits: How large documents may be, how long values, and so on.

    Raises:
        MatcherError: There is no such matcher, or it is not compiled.
        SchemeError: The file or database cannot be read.
        ValueError: An option has no such value.

    >>> import extract
    >>> scheme = extract.prepare(extract.Subscriptions.of({"ibm": "/stock[symbol = 'IBM']"}))
    >>> ready = Filter(scheme)
    >>> message = b"<stock><symbol>IBM</symbol><price>99</price></stock>"
    >>> ready.table([("m1", message), ("m2", b"<stock/>")]).to_pylist()
    [{'document': 'm1', 'query': 'ibm'}]
    >>> ready.add({"dear": "/stock[price > 50]"})
    >>> ready.remove(["ibm"])
    >>> ready.table([("m3", message)]).to_pylist()
    [{'document': 'm3', 'query': 'dear'}]
    """

    def __init__(
        self,
        scheme: Scheme | str | Path,
        select: Select = "doc",
        matcher: str = AUTO,
        *,
        on_nonconforming: Literal["fallback", "reject"] = "fallback",
        assume_valid: bool = False,
        limits: Limits | None = None,
    ) -> None:
        _check_choice("select", select, SCHEMAS)
        _check_choice("on_nonconforming", on_nonconforming, ("fallback", "reject"))
        options = Options(select, on_nonconforming, assume_valid, limits=limits or DEFAULTS)
        self._followed: FollowedDatabase | None = None
        if (
            isinstance(scheme, str)
            and is_database(scheme)
            and matcher == SQL
            and select != "output"
        ):
            self._followed, scheme = _followed_in_database(scheme, select)
        elif isinstance(scheme, str) and is_database(scheme):
            self._followed, scheme = follow_database(scheme)
        elif not isinstance(scheme, Scheme):
            scheme = Scheme.load(scheme)
        self._start(Job(scheme, load_matcher(matcher), options))

    def _start(self, job: Job) -> None:
        self._job = job
        self._calls = SharedLock()  # alone, for changes of what calls use
        self._changes = threading.RLock()  # one at a time; taken before the other lock
        self._in_turn = threading.Lock()  # for a filter that only one thread may use at a time
        self._of_thread = threading.local()
        self._queries: LiveQueries | None = None  # from the first change on
        self._compile(job.scheme)

    def _compile(self, scheme: Scheme) -> None:
        ready = replace(self._job, scheme=scheme).filter()
        self._compiled: tuple[JobFilter[Document], GrowingIds] = (
            ready,
            GrowingIds(id_column(ready.ids)),
        )
        self._scheme = scheme
        self._stale = False  # whether a filter that cannot change has to be compiled again

    def __getstate__(self) -> Job:
        return replace(self._job, scheme=self.scheme)

    def __setstate__(self, job: Job) -> None:
        self._followed = None  # a copy has the queries as they were
        self._start(job)

    def __repr__(self) -> str:
        name = self._job.factory.name
        return f"<Filter: {len(self):,} queries, select {self._job.options.select}, matcher {name}>"

    # -- documents

    def table(self, documents: Iterable[tuple[str, Document]]) -> Any:
        """Filters a batch of documents.

        Args:
            documents: Names and documents: bytes, paths or file objects, compressed or not. Two may
                have one name.

        Returns:
            A ``pyarrow.Table`` with a row for each document and query that matches (``nodes``: and
            node), and the columns of ``DIR/matches``; ``document`` and ``query`` may be
            dictionaries. Rows are in the order of the documents, then of the subscriptions. What
            was rejected is in `rejected`.

        Raises:
            TypeError: One is no document (a string is a path), or its name is no string; then none
                is read.
        """
        return self._filtered(list(documents), self._table)

    def each(self, documents: Iterable[tuple[str, Document]]) -> Iterator[tuple[str, Any]]:
        """Filters documents, and yields the name and the table of each, in their order.

        Documents are read some at a time; `rejected` has the rejections of those so far.
        """
        rejections: list[Rejection] = []
        for batch in _batches(documents):
            for done, table in self._filtered(batch, self._tables):
                rejections += done.rejections
                self._of_thread.rejections = rejections
                yield done.document, table

    def _filtered(
        self,
        documents: list[tuple[str, Document]],
        made: Callable[[Sequence[FilterOutcome], GrowingIds], _T],
    ) -> _T:
        """Filters documents, and makes something of the outcomes before queries can change."""
        self._of_thread.rejections = []
        if self._stale:
            with self._changes:
                self._compile(self._live().view().scheme)
        self._calls.share()
        try:
            ready, ids = self._compiled
            if isinstance(ready, BatchFilter):
                outcomes: Sequence[FilterOutcome] = ready.process_quietly(documents)
            else:
                check_documents(documents)
                with self._in_turn:
                    outcomes = ready.process(documents)
            self._of_thread.rejections = [one for done in outcomes for one in done.rejections]
            return made(outcomes, ids)
        finally:
            self._calls.release()

    @property
    def rejected(self) -> Any:
        """What the last call of this thread rejected: a ``pyarrow.Table`` as ``DIR/rejected``."""
        rejections: list[Rejection] = getattr(self._of_thread, "rejections", [])
        return pa.Table.from_batches([rejected_batch(rejections)]) if rejections else _NONE_REJECTED

    def figures(self) -> Mapping[str, float]:
        """What was done so far, as ``figures`` in ``report.json``."""
        return self._compiled[0].figures()

    def _tables(
        self, outcomes: Sequence[FilterOutcome], ids: GrowingIds
    ) -> list[tuple[DocumentOutcome, Any]]:
        """A table for each document."""
        return [(done, self._table([done], ids)) for done in document_outcomes(outcomes)]

    def _table(self, outcomes: Sequence[FilterOutcome], ids: GrowingIds) -> Any:
        if self._job.options.select in ("nodes", "output"):
            return _document_rows(outcomes, ids, self._job.options.select)
        names: list[str] = []
        units: list[Any] = []
        rows: list[Any] = []
        for done in outcomes:
            if isinstance(done, BatchOutcome):
                units.append(done.unit + np.int32(len(names)) if names else done.unit)
                names += done.names
                rows.append(done)
            else:
                units.append(np.full(len(done.findings), len(names), np.int32))
                names.append(done.document)
                rows.append(done.findings)
        select, unit = self._job.options.select, _joined(units)
        if not len(unit):
            return _NO_ROWS[select]
        subscriber = _joined([one.subscriber for one in rows])
        columns = [document_column(unit, names), ids.column(subscriber)]
        if select == "count":
            columns.append(integer_column(_joined([one.count for one in rows], np.int64)))
        return pa.Table.from_arrays(columns, schema=_NO_ROWS[select].schema)

    # -- queries

    @property
    def scheme(self) -> Scheme:
        """The scheme of the present queries."""
        return self._scheme if self._queries is None else self._queries.view().scheme

    def __len__(self) -> int:
        """The number of queries, rejected ones included."""
        return self._scheme.registered if self._queries is None else len(self._queries)

    def __contains__(self, identifier: object) -> bool:
        return isinstance(identifier, str) and identifier in self._live()

    def query(self, identifier: str) -> Subscription:
        """The query with an id, such that another filter answers it in the same way.

        An XPath comes in its canonical form, from the document node and with the prefixes of all.

        Raises:
            SchemeError: There is no query with such an id.
        """
        return self._live().query(identifier)

    def selects_nodes(self, identifier: str) -> bool:
        """Whether the query with an id is a node set; the value of any other one is a row of every
        document, where nodes are asked for."""
        return self._live().selects_nodes(identifier)

    def add(self, queries: Queries) -> None:
        """Adds queries: a mapping from ids to XPaths, a `Subscription`, `Subscriptions`, or what
        they are made of. Prefixes that queries do not bind are those of the scheme that the filter
        was made for; `Subscriptions` have bound theirs.

        Raises:
            QuerySyntaxError: One cannot be evaluated.
            SubscriptionsError: There is a query with such an id, or two of these have one id. In
                both cases nothing has changed.
        """
        self._check_own()
        chosen = _subscriptions(queries, self._job.scheme.namespaces)
        self._change((), lambda live: live.add(chosen))

    def remove(self, identifiers: Iterable[str]) -> None:
        """Removes the queries with these ids.

        Raises:
            SchemeError: There is no query with such an id, or one is named twice; then nothing has
                changed.
        """
        self._check_own()
        chosen = [identifiers] if isinstance(identifiers, str) else list(identifiers)
        _check_ids(chosen)
        self._change(chosen, lambda live: live.remove(chosen))

    def replace(self, queries: Queries) -> None:
        """Puts queries in the place of those with their ids.

        Raises:
            QuerySyntaxError: One cannot be evaluated.
            SchemeError: There is no query with such an id.
            SubscriptionsError: Two of these have one id. In all cases nothing has changed.
        """
        self._check_own()
        chosen = _subscriptions(queries, self._job.scheme.namespaces)
        self._change([one.id for one in chosen], lambda live: live.replace(chosen))

    def refresh(self) -> bool:
        """Takes over what has changed in the database since the last call, as far as it has.

        It costs one query where nothing has changed, else as much as the change; so call it before
        each batch, or every second. There is no thread that does it in the background: so the
        queries of a call are those of one revision, and the caller knows which.

        Returns:
            Whether something has changed.

        Raises:
            SchemeError: The database cannot be read; then nothing has changed here.
            ValueError: The filter was not made from the URL of a database.
        """
        if self._followed is None:
            raise ValueError("only a filter that was made from the URL of a database can follow it")
        with self._changes:
            followed = self._followed
            if isinstance(self._scheme, SqlScheme):
                return self._refresh_in_database(followed)
            changes = followed.changes()
            if changes is None:
                return False
            self._followed = followed.at(None)  # until all is taken over
            if self._job.options.select == "output" and isinstance(changes, StoredChanges):
                changes = self._followed.changes()  # a change does not say what FLWR queries make
            if isinstance(changes, StoredChanges):
                taken = changes
                try:
                    self._change(
                        taken.removed,
                        lambda live: live.follow(taken.removed, taken.added, taken.later),
                    )
                except ExtractError:  # a limit of this filter: it holds for one change, not for all
                    changes = followed.at(None).changes()
            if isinstance(changes, StoredScheme):
                self._queries = None
                self._compile(changes.scheme)
            assert changes is not None
            self._followed = followed.at(changes.state)
            return True

    def _refresh_in_database(self, followed: FollowedDatabase) -> bool:
        """The same where the database matches."""
        if load_state(followed.url) == followed.state:
            return False
        select = self._job.options.select
        assert isinstance(self._scheme, SqlScheme)
        with self._calls.exclusive():
            try:
                revised = refreshed_scheme(self._scheme, select)
            except LostConnection:
                revised = None  # another one takes all of them
            if revised is not None:
                assert revised.stored is not None
                self._compile(revised)
                self._followed = followed.at(revised.stored.state)
                return True
        present, scheme = _followed_in_database(followed.url, select)
        with self._calls.exclusive():
            before = self._compiled[0]
            self._compile(scheme)
            self._followed = present
        if isinstance(before, SqlFilter):
            before.close()
        return True

    @property
    def revision(self) -> int | None:
        """The revision of the database that the queries are of; None without a database."""
        state = None if self._followed is None else self._followed.state
        return None if state is None else state.revision

    def _check_own(self) -> None:
        """Makes sure that the queries are the filter's own."""
        if self._followed is not None:
            reason = "the queries of this filter are in a database"
            hint = "change them there, with `extract subs`, and call refresh()"
            raise SubscriptionsError(reason, hint, self._followed.shown)

    def _live(self) -> LiveQueries:
        with self._changes:
            if self._queries is None:
                self._queries = LiveQueries(self._scheme, self._job.options.limits)
            return self._queries

    def _change(self, gone: Sequence[str], change: Callable[[LiveQueries], QueryChange]) -> None:
        """Changes the queries, and takes that over into the compiled filter.

        Args:
            gone: The ids of queries that are removed.
            change: Makes the change.
        """
        with self._changes:
            live = self._live()
            ready, ids = self._compiled
            with self._calls.exclusive():
                done = change(live)
                if isinstance(ready, BatchFilter):
                    ids.change(gone, done.added)
                    taken = live.apply(done, ready.queries)
                    ready.changed(live.view, rest=not taken)
                elif isinstance(ready, OutputFilter) and ready.queries is not None:
                    ids.change(gone, done.added)
                    ready.name(done.first, live.outputs(done))
                    live.apply(done, ready.queries)
                    ready.changed(live.view, done.removed)
                else:
                    self._stale = True
                    return
            if live.crowded:
                self._compile(live.view().scheme)
                self._queries = None


def _followed_in_database(url: str, select: Select) -> tuple[FollowedDatabase, SqlScheme]:
    """Opens a database that matches itself, to follow it from there."""
    scheme = open_sql_scheme(url, select)
    assert scheme.stored is not None
    return FollowedDatabase(url, scheme.stored.state), scheme


def _document_rows(outcomes: Sequence[FilterOutcome], ids: GrowingIds, select: Select) -> Any:
    """The rows of documents that each have their own: nodes, or results."""
    rows = []
    for done in outcomes:
        assert not isinstance(done, BatchOutcome)
        if len(done.findings):
            rows.append((done.document, done.findings))
    batches = joined_batches(rows, ids.array(), select) if rows else ()
    return pa.Table.from_batches(batches, SCHEMAS[select])


def _joined(columns: Sequence[Any], dtype: Any = np.int32) -> Any:
    return columns[0] if len(columns) == 1 else np.concatenate([np.empty(0, dtype), *columns])


def _subscriptions(queries: Queries, namespaces: Mapping[str, str]) -> Subscriptions:
    if isinstance(queries, Subscriptions):
        return queries
    if isinstance(queries, Subscription):
        return Subscriptions.of([queries], namespaces)
    if isinstance(queries, (str, bytes)):
        raise TypeError('a query has an id: give a mapping, as in {"id": "//xpath"}')
    return Subscriptions.of(queries, namespaces)


def _check_ids(identifiers: Sequence[str]) -> None:
    """Makes sure that these are ids, each once."""
    for one in identifiers:
        if not isinstance(one, str):
            raise TypeError(f"an id is a string, not {type(one).__name__}")
    if len(set(identifiers)) < len(identifiers):
        twice = next(one for one, count in Counter(identifiers).items() if count > 1)
        raise SchemeError(f"the query {twice!r} is named twice", "name each query once")


def _check_choice(option: str, value: str, values: Iterable[str]) -> None:
    if value not in values:
        raise ValueError(f"{option} is {value!r}, and must be one of {', '.join(values)}")


def _batches(documents: Iterable[tuple[str, Document]]) -> Iterator[list[tuple[str, Document]]]:
    """Some documents at a time."""
    batch: list[tuple[str, Document]] = []
    size = 0
    for name, document in documents:
        batch.append((name, document))
        size += len(document) if isinstance(document, bytes) else 0
        if len(batch) >= _EACH_DOCUMENTS or size >= _EACH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
