"""Joins of Structured Streaming: documents that arrive in batches, with Spark's own state store.

    read      any task      witnesses, time and values of each document
    number    one task      places of documents; its state is what is known of all earlier ones
    join      by value      documents of one value; its state is what later ones may join

Spark saves both states with each batch; after a crash it repeats the last batch from there.

Spark's check of streams refuses a second step with a state from Python, for it does not pass
watermarks from one to the next. There are no watermarks here, and no timeouts: `number` itself
tells values whose documents are past their windows. So the check has to be switched off.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import lit

from extract.errors import JoinError
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.spark.frames import spark_schema
from extract.filtertool.spark.worker.join_states import join_value, number_documents, with_keys
from extract.filtertool.spark.worker.join_tasks import (
    JOINED,
    joins_of,
    read_rows,
    record_batches,
)

_NUMBERED: Final = "key binary, clock bigint, document binary"
_CHECK: Final = "spark.sql.streaming.unsupportedOperationCheck"
_STATE: Final = "data binary"
_PACKED: Final = pa.schema([("row", pa.binary())])


def join_stream(frame: DataFrame, job: JoinJob, by_time: bool) -> DataFrame:
    """Returns rows and rejections as a stream, with the columns of `JOINED`.

    Args:
        frame: Documents: position, stream, name, content and time as text.
        job: The queries.
        by_time: Whether the documents of a batch arrive by time, then by name.

    Raises:
        JoinError: A query reads a stream that is published; or Spark's check of streams is on.
    """
    if any(job.stages().values()):
        reason = "on a stream of Spark, no query can read what another publishes"
        raise JoinError(reason, "write those rows, and read them as documents of another stream")
    if frame.sparkSession.conf.get(_CHECK) != "false":
        reason = "Spark's check of streams refuses a query with two steps that have a state"
        raise JoinError(reason, f'call spark.conf.set("{_CHECK}", "false") before')
    key, shipped = uuid.uuid4().hex, frame.sparkSession.sparkContext.broadcast(job)
    limits = job.limits

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        joins = joins_of(key, shipped.value)
        given = (row for b in batches for row in zip(*[c.to_pylist() for c in b], strict=True))
        return record_batches(with_keys(joins, read_rows(joins, limits, given)), _PACKED)

    def number(_: Any, parts: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas

        rows = [bytes(row) for part in parts for row in part["row"]]
        before = bytes(state.get[0]) if state.exists else None
        after, numbered = number_documents(shipped.value, before, rows, by_time)
        state.update((after,))
        yield pandas.DataFrame(numbered, columns=["key", "clock", "document"])

    def join(group: Any, parts: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas

        rows = [
            (int(clock), bytes(document))
            for part in parts
            for clock, document in zip(part["clock"], part["document"], strict=True)
        ]
        before = bytes(state.get[0]) if state.exists else None
        joins = joins_of(key, shipped.value)
        after, found = join_value(joins, bytes(group[0]), before, rows)
        if after is not None:
            state.update((after,))
        elif state.exists:
            state.remove()
        yield pandas.DataFrame({"row": found})

    def unpacked(batches: Iterator[Any]) -> Iterator[Any]:
        rows = (pickle.loads(one) for b in batches for one in b.column(0).to_pylist())
        return record_batches(rows, JOINED)

    contents = frame.mapInArrow(read, spark_schema(_PACKED)).withColumn("every", lit(0))
    numbered = contents.groupBy("every").applyInPandasWithState(
        number, _NUMBERED, _STATE, "append", "NoTimeout"
    )
    # Spark cannot shuffle what a step with a state returns; a projection makes rows that it can.
    numbered = numbered.selectExpr("key", "clock + 1 as clock", "document")
    found = numbered.groupBy("key").applyInPandasWithState(
        join, "row binary", _STATE, "append", "NoTimeout"
    )
    return found.mapInArrow(unpacked, spark_schema(JOINED))
