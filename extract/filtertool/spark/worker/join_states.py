"""What a worker does for joins of a stream: number documents, and join those of one value.

What it has to remember is in Spark's state store: bytes, one value for all numbers, and one for
each join value.
"""

from __future__ import annotations

import io
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from extract.errors import JoinError
from extract.filtertool.joins.arriving import ArrivingDocuments, queries_digest
from extract.filtertool.joins.by_value import ValueJoins
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.numbering import Arrival
from extract.filtertool.spark.worker.join_tasks import joined_row, rejection_row

_IN_STATES: Final = {
    (one.__module__, one.__qualname__): one for one in (ArrivingDocuments, JoinDocument, Counter)
}
NO_KEY: Final = b""  # of rejections

Numbered = tuple[bytes, int, bytes]
"""The key of a value, the clock of a document, and the document; or what else a task is told."""


def with_keys(joins: ValueJoins, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[bytes]]:
    """Adds to documents of rows of `READ` the keys of their values, and pickles the rows."""
    for row in rows:
        content = row[-1]
        if content is not None:
            content = pickle.dumps((joins.keys(pickle.loads(content), 0), content))
        yield (pickle.dumps((*row[:-1], content)),)


def number_documents(
    job: JoinJob, state: bytes | None, packed: Iterable[bytes], by_time: bool
) -> tuple[bytes, list[Numbered]]:
    """Numbers the documents of a batch.

    Args:
        job: The queries.
        state: What was returned for the batch before; None if there was none.
        packed: The batch, as `with_keys` yields it.
        by_time: Whether documents arrive by time, then by name; else by their numbers.

    Returns:
        What is to be remembered, and the documents at all their values.

    Raises:
        JoinError: The state is that of other queries, or a stream is published by a query.
    """
    rows = [pickle.loads(one) for one in packed]
    digest = queries_digest(job)
    arriving = ArrivingDocuments(digest) if state is None else _from_state(state)
    if arriving.queries != digest:
        hint = "go on with the queries of before, or choose another checkpoint"
        raise JoinError("the checkpoint is that of other queries", hint)
    if by_time:
        rows.sort(key=lambda row: (row[4] is not None, row[4] or 0, row[3], row[0]))
    else:
        rows.sort(key=lambda row: row[0])
    numbered: list[Numbered] = []
    for _, _, stream, name, time, rejected, rejections, content in rows:
        if stream in job.published:
            reason = f"the stream {stream!r} is published by a query"
            raise JoinError(reason, "give documents of another stream", name)
        late = None if time is None else arriving.late(name, time)
        found = [late] if late else pickle.loads(rejections)
        if found:
            numbered.append((NO_KEY, arriving.inputs, pickle.dumps(found)))
        if late or rejected:
            continue
        keys, document = (set(), b"") if content is None else pickle.loads(content)
        arrival = arriving.accept(stream, name, time, keys, job.lateness)
        whole = pickle.dumps((document, arrival), pickle.HIGHEST_PROTOCOL)
        numbered += [(key, arrival.clock, whole) for key in keys]
    clock = arriving.inputs  # after all documents
    told = Arrival("", 0, 0, 0, clock, arriving.counts(), arriving.horizon)
    past = pickle.dumps((None, told))
    numbered += [(key, clock, past) for key in arriving.past(job)]
    return pickle.dumps(arriving, pickle.HIGHEST_PROTOCOL), numbered


def join_value(
    joins: ValueJoins, key: bytes, state: bytes | None, rows: list[tuple[int, bytes]]
) -> tuple[bytes | None, list[bytes]]:
    """Joins the documents of one value.

    Args:
        joins: The joins.
        key: The key of the value.
        state: What was returned before; None if there is nothing.
        rows: Clocks, and documents or what else `number_documents` tells.

    Returns:
        What is to be remembered, None for nothing; and pickled rows of `JOINED`.
    """
    if key == NO_KEY:
        rejections = [one for _, found in sorted(rows) for one in pickle.loads(found)]
        return None, [pickle.dumps(rejection_row(one)) for one in rejections]
    documents: list[tuple[JoinDocument, Arrival]] = []
    for _, whole in sorted(rows, key=lambda row: row[0]):
        content, arrival = pickle.loads(whole)
        if content is not None:
            document = pickle.loads(content)
            arrival.number(document)
            documents.append((document, arrival))
    kept = [] if state is None else _from_state(state)
    found = [pickle.dumps(joined_row(0, one)) for one in joins.join(key, 0, documents, kept)]
    left = joins.kept(arrival.counts, arrival.horizon)
    data = pickle.dumps(left, pickle.HIGHEST_PROTOCOL) if left else None
    return data, found


class _StateReader(pickle.Unpickler):
    """Reads states, which lie in files of a checkpoint: nothing in them can run code."""

    def find_class(self, module: str, name: str) -> Any:
        """Returns a class that states have."""
        if (module, name) not in _IN_STATES:
            raise JoinError(f"the checkpoint has a {module}.{name}, which no state of joins has")
        return _IN_STATES[module, name]


def _from_state(state: bytes) -> Any:
    return _StateReader(io.BytesIO(state)).load()
