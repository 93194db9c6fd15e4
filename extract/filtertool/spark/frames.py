"""The DataFrame interface: lazy, one evaluation for rows, rejections and accounts alike.

df = extract.spark.run(spark, scheme, "docs/")                 # the rows of the contract
df = extract.spark.match(kafka, scheme, content="value", id="key")
small = extract.spark.project(df, scheme)                       # the pre-filter

everything = extract.spark.results(spark, scheme, "docs/").cache()
everything.where("kind = 'rejected'")                           # without evaluating twice
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from extract.chunktool.input.find import search_inputs
from extract.chunktool.input.messages.form import AS_NAMED, MessageOptions
from extract.errors import DocumentError
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.arrow import rows_schema
from extract.filtertool.output.joined import joined_columns
from extract.filtertool.spark.driver import planner
from extract.filtertool.spark.driver.broadcast import broadcast_job
from extract.filtertool.spark.driver.planner import plan_frame
from extract.filtertool.spark.session import use_this_python
from extract.filtertool.spark.worker.frame_rows import (
    FrameRows,
    match_rows,
    tagged_rows,
    tagged_schema,
)
from extract.filtertool.spark.worker.frame_tasks import column_batches, column_rows, task_rows
from extract.scheme.model import Scheme

EvaluateRows = Callable[[str, Job, Iterator[Any], int], Iterator[FrameRows]]


def run(
    spark: SparkSession,
    scheme: Scheme | str | Path,
    paths: str | Sequence[str],
    select: Select = "nodes",
    matcher: str = AUTO,
    options: Options | None = None,
    messages: MessageOptions = AS_NAMED,
) -> DataFrame:
    """Returns all matches of all queries in all documents, as a lazy DataFrame.

    Args:
        spark: The session.
        scheme: The queries, from `extract.prepare` or `Scheme.load`; or the scheme's file.
        paths: Files, directories or globs that all workers can open.
        select: ``"nodes"``, ``"count"``, ``"doc"`` or ``"output"``, as in `extract run`.
        matcher: The name of the matcher.
        options: How to filter; its ``select`` does not count.
        messages: What is known of files that hold many documents.

    Raises:
        DocumentError: There is no document at these paths.
        MatcherError: There is no such matcher.
    """
    return _results(spark, scheme, paths, select, matcher, options, messages, tagged=False)


def results(
    spark: SparkSession,
    scheme: Scheme | str | Path,
    paths: str | Sequence[str],
    select: Select = "nodes",
    matcher: str = AUTO,
    options: Options | None = None,
    messages: MessageOptions = AS_NAMED,
) -> DataFrame:
    """Returns matches, rejections and accounts: ``kind`` is ``match``, ``rejected`` or ``account``.

    Every document has one row of kind ``account``: its fate, size and number of matches. A large
    document whose queries several tasks share has one for each; only the first task's row has fate
    and size, so that numbers can be added up, and ``fate is not null`` counts documents.
    """
    return _results(spark, scheme, paths, select, matcher, options, messages, tagged=True)


def _results(
    spark: SparkSession,
    scheme: Scheme | str | Path,
    paths: str | Sequence[str],
    select: Select,
    matcher: str,
    options: Options | None,
    messages: MessageOptions,
    tagged: bool,
) -> DataFrame:
    context = spark.sparkContext
    use_this_python(context)
    found = search_inputs([paths] if isinstance(paths, str) else paths, messages)
    for skipped in found.skipped:
        warnings.warn(str(skipped), stacklevel=2)
    job = _job(scheme, select, matcher, options)
    tasks = plan_frame(
        found.documents, context.defaultParallelism, job.scheme, job.options.in_parts
    ).tasks
    rows = [(pickle.dumps(task),) for task in tasks]
    frame = spark.createDataFrame(context.parallelize(rows, len(rows)), "task binary")

    def evaluate(key: str, job: Job, batches: Iterator[Any], attempt: int) -> Iterator[FrameRows]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from task_rows(key, job, pickle.loads(task), attempt)

    return _evaluated(spark, frame, job, evaluate, tagged)


def match(
    frame: DataFrame,
    scheme: Scheme | str | Path,
    content: str = "content",
    id: str = "path",  # noqa: A002
    select: Select = "nodes",
    matcher: str = AUTO,
    options: Options | None = None,
    tagged: bool = False,
) -> DataFrame:
    """Returns the matches in documents of a column: Kafka values, tables, binary files.

    Args:
        frame: The documents.
        scheme: The queries.
        content: The column of the documents, binary or string.
        id: The column with their names, of any type; it becomes ``document``.
        select, matcher, options: As for `run`.
        tagged: Whether to return rejections and accounts as well, as `results` does.
    """
    use_this_python(frame.sparkSession.sparkContext)
    rows = frame.selectExpr(f"cast(`{id}` as string) id", f"cast(`{content}` as binary) content")
    large, piece = planner.LARGE, planner.PIECE

    def evaluate(key: str, job: Job, batches: Iterator[Any], attempt: int) -> Iterator[FrameRows]:
        return column_rows(key, job, column_batches(batches, large), large, piece, attempt)

    job = _job(scheme, select, matcher, options)
    return _evaluated(frame.sparkSession, rows, job, evaluate, tagged)


def project(
    frame: DataFrame,
    scheme: Scheme | str | Path,
    content: str = "content",
    options: Options | None = None,
) -> DataFrame:
    """Returns the projections of the documents in a column, for another matcher.

    The column ``error`` says why a document could not be read; such a document stays as it is.
    """
    options = options or Options()
    spark = frame.sparkSession
    use_this_python(spark.sparkContext)
    shipped = spark.sparkContext.broadcast(_loaded(scheme))
    others = [name for name in frame.columns if name != content]
    position = frame.columns.index(content)
    typed = frame.selectExpr(
        *[f"cast(`{n}` as binary) as `{n}`" if n == content else f"`{n}`" for n in frame.columns]
    )

    def reduce(batches: Iterator[Any]) -> Iterator[Any]:
        from extract.chunktool.prefilter import Prefilter

        prefilter = Prefilter(
            shipped.value, options.on_nonconforming, options.assume_valid, options.limits
        )
        for batch in batches:
            small: list[bytes | None] = []
            errors: list[str | None] = []
            for document in batch.column(position).to_pylist():
                try:
                    small.append(None if document is None else prefilter.project(document))
                    errors.append(None)
                except DocumentError as error:
                    small.append(document)
                    errors.append(str(error))
            columns = [batch.column(name) for name in others]
            columns += [pa.array(small, pa.binary()), pa.array(errors, pa.string())]
            yield pa.RecordBatch.from_arrays(columns, [*others, content, "error"])

    columns_kept = ", ".join(
        f"`{f.name}` {f.dataType.simpleString()}" for f in typed.schema if f.name != content
    )
    schema = f"{columns_kept + ', ' if columns_kept else ''}`{content}` binary, error string"
    return typed.mapInArrow(reduce, schema)


def _loaded(scheme: Scheme | str | Path) -> Scheme:
    return scheme if isinstance(scheme, Scheme) else Scheme.load(scheme)


def _job(scheme: Scheme | str | Path, select: Select, matcher: str, options: Options | None) -> Job:
    chosen = replace(options or Options(), select=select)
    return Job(_loaded(scheme), load_matcher(matcher), chosen)


def _evaluated(
    spark: SparkSession, frame: DataFrame, job: Job, evaluate: EvaluateRows, tagged: bool
) -> DataFrame:
    """Returns rows of all kinds, or only matches: then workers make no others."""
    select = job.options.select
    joined = joined_columns(job.scheme, job.options.joined)
    every = tagged_schema(select, joined)  # checks names, so that `run` and `results` take the same
    schema = spark_schema(every if tagged else rows_schema(select, joined))
    shipped = broadcast_job(spark.sparkContext, job)

    def record_batches(batches: Iterator[Any]) -> Iterator[Any]:
        job = shipped.job.value
        joined = joined_columns(job.scheme, job.options.joined)
        rows = evaluate(shipped.key, job, batches, attempts_before())
        return tagged_rows(rows, select, joined) if tagged else match_rows(rows, select, joined)

    return frame.mapInArrow(record_batches, schema)


def attempts_before() -> int:
    """Returns the number of earlier attempts at the running task."""
    current = TaskContext.get()
    return 0 if current is None else current.attemptNumber()


def spark_schema(schema: Any) -> StructType:
    """Converts a schema of Arrow to Spark."""
    return StructType(list(from_arrow_schema(schema)))
