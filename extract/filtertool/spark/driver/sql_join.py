"""Which subscriptions match any document, by joins of Spark SQL.

    read values     a Spark job    workers write what templates compare, as Parquet
    export          the database   constants of members, as Parquet
    join            Spark SQL      the same statements as in a database; Spark's planner chooses
                                   between broadcast and shuffle
    [try members]   Spark jobs     in the usual way, one part of the members after the other: those
                                   that no join decides, if they are very many; all, for documents
                                   whose values cannot be read

Only the members that match something are then read from the database. There are far fewer of them
than of all, and the usual tasks give their rows. So no process has all subscriptions in memory.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext, TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from extract.chunktool.input.find import InputFile
from extract.errors import MatcherError
from extract.filtertool.batching import batches
from extract.filtertool.job import Job
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.matchers.sql.formulas import MatchShape
from extract.filtertool.matchers.sql.statements import match_sql
from extract.filtertool.matchers.sql.stored_subscriptions import (
    StoredSubscriptions,
    subscriptions_in_memory,
)
from extract.filtertool.spark.driver.jobs import job_error
from extract.filtertool.spark.worker.member_rows import members_with_rows
from extract.filtertool.spark.worker.value_files import ValueFile, ValueJob, write_values
from extract.filtertool.sql_scheme import SqlScheme
from extract.scheme.model import Scheme

_TASKS_A_CORE: Final = 4


def matching_job(
    context: SparkContext, job: Job, documents: Sequence[InputFile], directory: Path
) -> Job:
    """Returns a job with those subscriptions that may have rows.

    Args:
        context: Spark.
        job: The scheme and options, for the matcher ``sql``.
        documents: The documents.
        directory: A directory to make for files; driver and workers must see the same.

    Raises:
        ExtractError: Spark gave up.
        MatcherError: A query joins a table of its owner's.
    """
    stored = job.scheme.stored if isinstance(job.scheme, SqlScheme) else None
    if stored is None:
        stored = subscriptions_in_memory(job.scheme, True, job.options.select == "nodes")
    try:
        return Job(
            _reduced(context, job, stored, documents, directory), load_matcher(), job.options
        )
    finally:
        stored.tables.close()


def _reduced(
    context: SparkContext,
    job: Job,
    stored: StoredSubscriptions,
    documents: Sequence[InputFile],
    directory: Path,
) -> Scheme:
    for reference in stored.plan.references():
        reason = f"a query joins the table {reference.table!r}, which Spark does not have"
        raise MatcherError(reason, "use --engine local")
    directory.mkdir()
    try:
        files, unread = _read_values(context, job, stored, documents, directory)
        if unread and isinstance(stored.home, Scheme):  # they are in memory anyway
            return stored.everything()[0]
        undecided = stored.undecided()
        rows = next(undecided)
        found = [_joined(context, stored, files, directory)]
        found += [_tried(context, job, stored, part, documents) for part in undecided]
        if unread:
            found += [_tried(context, job, stored, part, unread) for part in stored.all_members()]
        seqs = np.setdiff1d(np.concatenate(found), np.asarray(rows["seq"]))
        if len(seqs):
            rows = pa.concat_tables([rows, stored.tables.rows(seqs)])
            rows = rows.sort_by("seq").combine_chunks()
        return stored.scheme_of(rows)
    except (PySparkException, Py4JError) as error:
        raise job_error(error, str(directory)) from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _read_values(
    context: SparkContext,
    job: Job,
    stored: StoredSubscriptions,
    documents: Sequence[InputFile],
    directory: Path,
) -> tuple[list[ValueFile], list[InputFile]]:
    """The files of values, and input files with a document whose values cannot be read."""
    forms = stored.empty.templates.forms
    satisfiable = tuple(stored.numbers.templates[forms >= 0].tolist())
    key = uuid.uuid4().hex
    sent = context.broadcast(
        ValueJob(key, stored.plan, satisfiable, job.options.limits, str(directory))
    )

    def work(
        some: Iterable[Sequence[InputFile]],
    ) -> Iterator[tuple[list[ValueFile], list[InputFile]]]:
        for files in some:
            yield write_values(sent.value, files)

    parts = _in_batches(context, documents).mapPartitions(work).collect()
    return [one for files, _ in parts for one in files], [one for _, some in parts for one in some]


def _in_batches(context: SparkContext, documents: Sequence[InputFile]) -> RDD[Sequence[InputFile]]:
    """Documents in batches, a task for each."""
    size = sum([one.size for one in documents])
    most = max(1, size // (_TASKS_A_CORE * context.defaultParallelism))
    items = list(batches(documents, lambda one: one.size, most, lambda one: False))
    return context.parallelize(items, max(1, len(items)))


def _tried(
    context: SparkContext,
    job: Job,
    stored: StoredSubscriptions,
    rows: Any,
    documents: Sequence[InputFile],
) -> NDArray[np.int64]:
    """The sequence numbers of those of some members that have rows, found in the usual way."""
    key = uuid.uuid4().hex
    options = replace(job.options, joined=())
    sent = context.broadcast(Job(stored.scheme_of(rows, later=False), load_matcher(), options))

    def work(some: Iterable[Sequence[InputFile]]) -> Iterator[list[int]]:
        current: Any = TaskContext.get()
        for files in some:
            yield members_with_rows(key, sent.value, files, current.attemptNumber())

    numbers = set[int]().union(*_in_batches(context, documents).mapPartitions(work).collect())
    sent.destroy()
    found: NDArray[np.int64] = np.asarray(rows["seq"])[sorted(numbers)]
    return found


def _joined(
    context: SparkContext, stored: StoredSubscriptions, files: Sequence[ValueFile], directory: Path
) -> NDArray[np.int64]:
    """The sequence numbers of members that a join finds to match any document, ascending."""
    spark = SparkSession(context)
    frames: list[DataFrame] = []
    groups: dict[tuple[int, frozenset[int]], list[str]] = {}
    for file in files:
        groups.setdefault((file.shape, file.lists), []).append(file.path)
    exported: set[int] = set()
    for (number, lists), paths in groups.items():
        shape, members = stored.plan.shapes[number], str(directory / f"members_{number}.parquet")
        if number not in exported:
            stored.tables.export(shape, members)
            exported.add(number)
        single = shape in stored.plan.single
        frames.append(_matches(spark, shape, lists, paths, members, single))
    seqs: list[int] = []
    if frames:
        every = frames[0]
        for frame in frames[1:]:
            every = every.union(frame)
        seqs = [row[0] for row in every.distinct().collect()]
    return np.array(sorted(seqs), np.int64)


def _matches(
    spark: SparkSession,
    shape: MatchShape,
    lists: frozenset[int],
    paths: list[str],
    members: str,
    single: bool,
) -> DataFrame:
    names = [f"extract_{uuid.uuid4().hex}" for _ in range(2)]
    spark.read.parquet(*paths).createOrReplaceTempView(names[0])
    spark.read.parquet(members).createOrReplaceTempView(names[1])
    found = spark.sql(match_sql(shape, lists, names[0], names[1], "spark", single=single)).select(
        "seq"
    )
    for name in names:
        spark.catalog.dropTempView(name)
    return found
