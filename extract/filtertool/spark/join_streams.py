"""Joins of Structured Streaming: documents that arrive in batches, with Spark's own state store.

    read      any task      witnesses and time of each document, and the groups that may join it
    join      by group      numbers of all documents, rows of its own; its state is what later
                            documents may join
    unpack    any task      rows

A group is a share of the join values, as processes of one machine have them, or all queries that
read what others publish, with these others. Spark saves the states with each batch; after a crash
it repeats the last batch from there.

Spark takes one step with a state from Python in a query, and there is one here. To number documents
in a step of their own would need a second; so each group is told of all documents, in a few bytes,
and numbers them for itself. All come to the same numbers.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from extract.filtertool.joins.arriving import queries_digest
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.spark.frames import spark_schema
from extract.filtertool.spark.worker.join_states import StreamJoins, join_group, packed_documents
from extract.filtertool.spark.worker.join_tasks import (
    RESULTS,
    joins_of,
    read_rows,
    record_batches,
)

_STATE: Final = "data binary"
_PACKED: Final = pa.schema([("group", pa.int64()), ("documents", pa.binary())])


def join_stream(frame: DataFrame, job: JoinJob, by_time: bool, shares: int) -> DataFrame:
    """Returns rows and rejections as a stream, with the columns of `RESULTS`.

    Args:
        frame: Documents: position, stream, name, content and time as text.
        job: The queries.
        by_time: Whether the documents of a batch arrive by time, then by name.
        shares: How many shares the join values have.
    """
    key, shipped = uuid.uuid4().hex, frame.sparkSession.sparkContext.broadcast(job)

    queries = queries_digest(job)

    def stream() -> StreamJoins:
        return StreamJoins(shipped.value, joins_of(key, shipped.value), shares, by_time, queries)

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        given = (row for b in batches for row in zip(*[c.to_pylist() for c in b], strict=True))
        how, context = stream(), TaskContext.get()
        assert context is not None
        rows = read_rows(how.joins, how.job.limits, given)
        return record_batches(packed_documents(how, rows, context.partitionId()), _PACKED)

    def join(group: Any, parts: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas

        packs = [bytes(one) for part in parts for one in part["documents"]]
        before = bytes(state.get[0]) if state.exists else None
        after, found = join_group(stream(), int(group[0]), before, packs)
        state.update((after,))
        yield pandas.DataFrame({"rows": found})

    def unpacked(batches: Iterator[Any]) -> Iterator[Any]:
        packs = (one for b in batches for one in b.column(0).to_pylist())
        return record_batches((row for one in packs for row in pickle.loads(one)), RESULTS)

    packed = frame.mapInArrow(read, spark_schema(_PACKED))
    found = packed.groupBy("group").applyInPandasWithState(
        join, "rows binary", _STATE, "append", "NoTimeout"
    )
    return found.mapInArrow(unpacked, spark_schema(RESULTS))
