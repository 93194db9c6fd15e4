"""Which subscriptions match any document, by joins of Spark SQL.

    read values     a Spark job    workers write what templates compare, as Parquet
    export          the database   constants of members, as Parquet
    join            Spark SQL      the same statements as in a database; Spark's planner chooses
                                   between broadcast and shuffle

Only the members that match something are then read from the database. There are far fewer of them
than of all, and the usual tasks give their rows. So no process has all subscriptions in memory.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
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
        if unread:
            return stored.everything()[0]
        rows = pa.concat_tables(stored.undecided())
        seqs = _joined(context, stored, files, directory)
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
) -> tuple[list[ValueFile], bool]:
    """The files of values, and whether there is a document whose values cannot be read."""
    forms = stored.empty.templates.forms
    satisfiable = tuple(stored.numbers.templates[forms >= 0].tolist())
    key = uuid.uuid4().hex
    sent = context.broadcast(
        ValueJob(key, stored.plan, satisfiable, job.options.limits, str(directory))
    )
    size = sum([one.size for one in documents])
    most = max(1, size // (_TASKS_A_CORE * context.defaultParallelism))
    items = list(batches(documents, lambda one: one.size, most, lambda one: False))

    def work(
        some: Iterable[Sequence[InputFile]],
    ) -> Iterator[tuple[list[ValueFile], bool]]:
        for files in some:
            yield write_values(sent.value, files)

    parts = context.parallelize(items, max(1, len(items))).mapPartitions(work).collect()
    return [file for files, _ in parts for file in files], any(unread for _, unread in parts)


def _joined(
    context: SparkContext, stored: StoredSubscriptions, files: Sequence[ValueFile], directory: Path
) -> Any:
    """The sequence numbers of members that match any document, ascending."""
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
