"""Joins between documents on Spark: the same rows as `extract.Joins` gives, from many tasks.

    read      a Spark job   workers find times and witnesses; contents stay with Spark, on disk
    number    the driver    by time, then by path; for which queries documents are late
    join      a Spark job   documents go to the shares of the values that queries may join them by;
                            those of a share are joined, in the order of their arrival, by the
                            local engine
    follow    one task      what rows publish is joined, by the queries that read it

Published documents are numbered, counted and joined in one order, so one task follows all chains.
"""

from __future__ import annotations

import contextlib
import pickle
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from time import time_ns
from typing import Any, Final, Protocol

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import monotonically_increasing_id

from extract.chunktool.file_names import document_path
from extract.chunktool.input.find import InputFile, search_inputs
from extract.chunktool.input.messages.form import AS_NAMED, MessageOptions
from extract.errors import JoinError
from extract.filtertool.joins.inputs import ARRIVAL
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.joined import Joined
from extract.filtertool.joins.numbering import Arrival, DocumentNumbers
from extract.filtertool.results.outcome import Rejection
from extract.filtertool.results.report import rejected_files
from extract.filtertool.spark.frames import spark_schema
from extract.filtertool.spark.join_streams import join_stream
from extract.filtertool.spark.session import open_context, use_this_python
from extract.filtertool.spark.worker.join_tasks import (
    JOINED,
    PLACES,
    READ,
    SHARED,
    TimeOfDocuments,
    followed_rows,
    joined_rows,
    joins_of,
    later_documents,
    published_rows,
    read_files,
    read_rows,
    record_batches,
    rejection_row,
    shared_rows,
)

_COLUMNS: Final = tuple(Joined.__annotations__)
_TASKS: Final = 4  # for each core
_SHARES: Final = 1  # of the join values, for each core
STREAM_SHARES: Final = 16
_ORDER: Final = "position"  # a column of documents that says in which order they arrived


class JoinQueries(Protocol):
    """What has queries: `extract.Joins`."""

    def job(self) -> JoinJob:
        """Returns its queries and options."""


def join(
    spark: SparkSession,
    joins: JoinQueries,
    documents: DataFrame | Mapping[str, str | Sequence[str]],
    *,
    time: str = ARRIVAL,
    namespaces: Mapping[str, str] | None = None,
    messages: MessageOptions = AS_NAMED,
    tagged: bool = False,
    shares: int = STREAM_SHARES,
) -> DataFrame:
    """Returns the rows of joins, with the columns of `extract.filtertool.joins.joined.Joined`.

    They are those that ``joins.process`` would return, had it remembered nothing before. Of a
    stream of Spark they are a stream, in the mode ``append``; the documents of each batch come
    after those of the batch before. Otherwise documents are read when this is called, and what
    Spark keeps of them on disk is gone with the session, or after ``spark.catalog.clearCache()``.

    Args:
        spark: The session.
        joins: The queries, an `extract.Joins`. It does not change, and what it remembers of
            documents does not count.
        documents: From each stream to its paths, which workers and driver must see alike. Or a
            frame of documents, also a stream of Spark: columns ``stream``, ``name``, ``content``
            and ``time`` (seconds, ISO 8601 or a timestamp). They arrive by time, then by name; or
            as the numbers in a column ``position`` say.
        time: Of files: ``arrival``, ``mtime`` or an XPath.
        namespaces: Prefix to namespace URI, for that XPath.
        messages: What is known of files that hold many documents.
        tagged: Whether to return rejections as well, in a column ``rejection``, in rows that have
            nothing else. Without it, each rejected document is a warning; those of a stream are
            not told.
        shares: Of a stream of Spark: into how many shares the join values are divided, each of
            which one task joins. It cannot change with a checkpoint.

    Raises:
        JoinError: A stream is published by a query.
        QuerySyntaxError: The XPath does not parse.
        ValueError: There is no share.
    """
    if shares < 1:
        raise ValueError("shares must be 1 or more")
    columns = (*_COLUMNS, "rejection") if tagged else _COLUMNS
    job = joins.job()
    if isinstance(documents, DataFrame) and documents.isStreaming:
        use_this_python(spark.sparkContext)
        chosen, in_order = _document_columns(documents)
        rows = join_stream(chosen, job, by_time=not in_order, shares=shares)
        return (rows if tagged else rows.where("rejection is null")).select(*columns)
    found = JoinedFrames(spark, job)
    if isinstance(documents, DataFrame):
        found.add_rows(documents)
    else:
        files = []
        for stream, paths in documents.items():
            inputs = search_inputs([paths] if isinstance(paths, str) else paths, messages)
            files += [(stream, one) for one in inputs.documents]
            found.before += rejected_files(inputs.skipped)
        found.add_files(files, time, dict(namespaces or {}))
    found.run()
    if tagged:
        return found.tagged().select(*columns)
    for one in found.before:
        warnings.warn(f"{one.document}: {one.reason}", stacklevel=2)
    return found.rows


@contextlib.contextmanager
def open_joined_frames(
    job: JoinJob, files: Sequence[tuple[str, InputFile]], time: str, namespaces: dict[str, str]
) -> Iterator[JoinedFrames]:
    """Joins documents of files in a Spark that runs already, or one that ends with the block.

    Raises:
        ExtractError: Spark does not start, or a stream is published by a query.
    """
    with open_context() as context:
        found = JoinedFrames(SparkSession(context), job)
        try:
            found.add_files(files, time, namespaces)
            found.run()
            yield found
        finally:
            found.close()


class JoinedFrames:
    """The joins of some documents on Spark, step by step.

    Args:
        spark: The session.
        job: The queries.

    Attributes:
        before: What was rejected when documents were read and numbered.
        documents: How many documents there are, rejected ones included.
    """

    def __init__(self, spark: SparkSession, job: JoinJob) -> None:
        self._spark = spark
        self._job = job
        self._key = uuid.uuid4().hex
        use_this_python(spark.sparkContext)
        self._shipped = spark.sparkContext.broadcast(job)
        self._shares = _share_names(spark, spark.sparkContext.defaultParallelism * _SHARES)
        self._numbers = DocumentNumbers(job)
        self._contents: list[DataFrame] = []
        self._joined: list[DataFrame] = []
        self.before: list[Rejection] = []
        self.documents = 0

    def add_files(
        self, files: Sequence[tuple[str, InputFile]], time: str, namespaces: dict[str, str]
    ) -> None:
        """Reads documents of files; see `join`.

        Raises:
            JoinError: A stream is published by a query.
        """
        for stream, one in files:
            self._check(stream, one.name)
        tasks = [pickle.dumps((number, *one)) for number, one in enumerate(files)]
        how, limits = TimeOfDocuments(time, namespaces), self._job.limits

        def rows(joins: Any, batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
            given = (pickle.loads(one) for b in batches for one in b.column(0).to_pylist())
            return read_files(joins, limits, how, given)

        self._number(self._read(self._parallel(tasks), rows), by_time=time != ARRIVAL)

    def add_rows(self, frame: DataFrame) -> None:
        """Reads documents of columns; see `join`.

        Raises:
            JoinError: A stream is published by a query.
        """
        limits = self._job.limits
        chosen, in_order = _document_columns(frame)

        def rows(joins: Any, batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
            given = (row for b in batches for row in zip(*[c.to_pylist() for c in b], strict=True))
            return read_rows(joins, limits, given)

        self._number(self._read(chosen, rows), by_time=not in_order)

    def run(self) -> None:
        """Joins all documents; first for queries that read input streams alone."""
        numbered = list(self._numbers.arrivals())
        arrivals = {one.key: arrival for one, arrival in numbered}
        shipped = self._spark.sparkContext.broadcast(arrivals)
        shares = self._shares

        def shared(joins: Any, batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
            return shared_rows(joins, shipped.value, shares, batches)

        def joined(joins: Any, batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
            return joined_rows(joins, shares, batches)

        contents = reduce(DataFrame.unionAll, self._contents)
        rows = self._mapped(contents, shared, SHARED).repartition(len(shares), "share")
        ordered = rows.sortWithinPartitions("share", "clock")
        first = self._mapped(ordered, joined, JOINED).persist(StorageLevel.DISK_ONLY)
        self._joined.append(first)
        if self._job.chained:
            streams = [(one.stream, arrival) for one, arrival in numbered]
            self._joined.append(self._follow(contents, first, shipped, streams))

    def _follow(
        self,
        contents: DataFrame,
        first: DataFrame,
        arrivals: Any,
        streams: Sequence[tuple[str, Arrival]],
    ) -> DataFrame:
        """Joins what is published, in one task: it is numbered and joined in one order."""
        limits, shipped = self._job.limits, self._spark.sparkContext.broadcast(streams)

        def documents(joins: Any, batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
            return later_documents(joins, arrivals.value, batches)

        def followed(joins: Any, batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
            return followed_rows(joins, limits, shipped.value, batches)

        given = self._mapped(contents, documents, SHARED)
        given = given.unionAll(self._mapped(first, published_rows, SHARED))
        ordered = given.repartition(1).sortWithinPartitions("clock")
        return self._mapped(ordered, followed, JOINED).persist(StorageLevel.DISK_ONLY)

    @property
    def accepted(self) -> int:
        """How many documents were accepted."""
        return len(self._numbers)

    @property
    def rows(self) -> DataFrame:
        """All rows."""
        return self._all().where("rejection is null").select(*_COLUMNS)

    def tagged(self) -> DataFrame:
        """All rows and all rejections, with the columns of `JOINED`."""
        schema = spark_schema(JOINED)
        before = [rejection_row(one) for one in self.before]
        return self._all().unionAll(self._spark.createDataFrame(before, schema))

    def ordered(self) -> Iterator[Joined | Rejection]:
        """Yields all rows, in an order that does not depend on Spark, and then rejections."""
        frame = self._all().orderBy("rejection", *PLACES)
        names = {
            member.id: (*query.left.variables, *query.right.variables)
            for member, query in self._job.queries
        }
        for row in frame.toLocalIterator():
            if row["rejection"] is None:
                values = {name: row[name] for name in _COLUMNS}
                bindings = values["bindings"]  # Spark does not keep their order
                values["bindings"] = {name: bindings[name] for name in names[values["query"]]}
                left, right = document_path(values["left"]), document_path(values["right"])
                yield Joined(**values)._replace(left=left, right=right)
            else:
                one = Rejection(*row["rejection"])
                yield one._replace(document=one.document and document_path(one.document))

    def close(self) -> None:
        """Lets go of what Spark keeps; rows are gone then."""
        for frame in (*self._contents, *self._joined):
            frame.unpersist()
        self._shipped.destroy()

    def _all(self) -> DataFrame:
        return reduce(DataFrame.unionAll, self._joined)

    def _check(self, stream: str, name: str) -> None:
        if stream in self._job.published:
            reason = f"the stream {stream!r} is published by a query"
            raise JoinError(reason, "give documents of another stream", name)

    def _parallel(self, tasks: Sequence[Any]) -> DataFrame:
        context = self._spark.sparkContext
        slices = max(1, min(len(tasks), context.defaultParallelism * _TASKS))
        given = context.parallelize([(one,) for one in tasks], slices)
        return self._spark.createDataFrame(given, "task binary")

    def _read(
        self, frame: DataFrame, rows: Callable[[Any, Iterator[Any]], Iterator[tuple[Any, ...]]]
    ) -> DataFrame:
        contents = self._mapped(frame, rows, READ).persist(StorageLevel.DISK_ONLY)
        self._contents.append(contents)
        return contents

    def _mapped(
        self,
        frame: DataFrame,
        rows: Callable[[Any, Iterator[Any]], Iterator[tuple[Any, ...]]],
        schema: Any,
    ) -> DataFrame:
        """Record batches through a function that gets the joins of a worker."""
        key, shipped = self._key, self._shipped

        def evaluate(batches: Iterator[Any]) -> Iterator[Any]:
            return record_batches(rows(joins_of(key, shipped.value), batches), schema)

        return frame.mapInArrow(evaluate, spark_schema(schema))

    def _number(self, contents: DataFrame, by_time: bool) -> None:
        """Numbers input documents."""
        rows = contents.drop("document").collect()
        known = [(document_path(row["name"]), row) for row in rows]
        known.sort(key=lambda one: (one[1]["file"], one[1]["item"]))
        self.documents += len(known)
        for name, row in known:
            self._check(row["stream"], name)
        if by_time:
            known.sort(key=lambda one: (one[1]["time"] is not None, one[1]["time"] or 0, one[0]))
        now = time_ns() // 1_000
        for arrival, (name, row) in enumerate(known):
            moment = now + arrival if row["time"] is None else row["time"]
            late = self._numbers.late(row["stream"], name, moment)
            if late.whole:
                self.before += late.rejections
                continue
            self.before += pickle.loads(row["rejections"])
            if not row["rejected"]:
                self.before += late.rejections
                key = (row["file"], row["item"])
                self._numbers.accept(key, row["stream"], name, moment, late)


def _share_names(spark: SparkSession, shares: int) -> Sequence[int]:
    """What shares are called, so that Spark gives each to a task of its own."""
    numbers = spark.range(64 * shares).selectExpr("id", f"pmod(hash(id), {shares}) as task")
    names = {row["task"]: row["id"] for row in numbers.collect()}
    return sorted(names.values())


def _document_columns(frame: DataFrame) -> tuple[DataFrame, bool]:
    """The columns of documents, and whether they have numbers of their own."""
    in_order = _ORDER in frame.columns
    text = "cast(time as string)"
    if dict(frame.dtypes)["time"] == "timestamp":
        text = "concat(cast(unix_micros(time) as string), 'e-6')"
    chosen = frame.selectExpr(
        f"cast({_ORDER if in_order else '0'} as bigint) {_ORDER}",
        "coalesce(cast(stream as string), '') stream",
        "coalesce(cast(name as string), '') name",
        "cast(content as binary) content",
        f"{text} time",
    )
    if not in_order and not frame.isStreaming:
        chosen = chosen.withColumn(_ORDER, monotonically_increasing_id())
    return chosen, in_order
