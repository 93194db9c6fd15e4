"""``spark.read.format("extract")``: documents as a table, for those who think in tables.

    spark.dataSource.register(extract.spark.ExtractSource)
    spark.read.format("extract").option("scheme", "scheme.json").load("docs/")

A Python data source cannot have broadcasts (TRAPS 26): workers read the scheme's file themselves,
once for each version of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from extract.errors import ExtractError, SchemeError
from extract.filtertool.arrow import SCHEMAS
from extract.filtertool.filtering import Options
from extract.filtertool.local import Job
from extract.filtertool.matcher import Select
from extract.filtertool.registry import AUTO, load_matcher
from extract.filtertool.spark import worker
from extract.filtertool.spark.frames import spark_schema
from extract.filtertool.spark.locations import find
from extract.filtertool.spark.planning import Task, plan_tasks
from extract.scheme.model import Scheme

_SELECTS: Final = tuple(SCHEMAS)


class ExtractSource(DataSource):
    """Matches as a table. Options: ``path``, ``scheme`` (its file; all workers must see it),
    ``select`` (``nodes``, ``count`` or ``doc``), ``matcher``, and ``tagged`` for rejections and
    accounts as well, as `extract.spark.results` gives them."""

    @classmethod
    def name(cls) -> str:
        """What users call it."""
        return "extract"

    def schema(self) -> StructType:
        """The columns of the contract, or with all kinds of rows."""
        select, tagged = self._asked()
        return spark_schema(worker.tagged_schema(select) if tagged else SCHEMAS[select])

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads them."""
        select, tagged = self._asked()
        for needed in ("path", "scheme"):
            if not self.options.get(needed):
                raise ExtractError(
                    f"the option {needed!r} is missing", 'set it with .option(…, "…")'
                )
        matcher = self.options.get("matcher", AUTO)
        return _Reader(self.options["path"], self.options["scheme"], select, matcher, tagged)

    def _asked(self) -> tuple[Select, bool]:
        select = self.options.get("select", "nodes")
        if select not in _SELECTS:
            raise ExtractError(f"select is {select!r}", f"it is one of {', '.join(_SELECTS)}")
        return cast(Select, select), self.options.get("tagged", "false").lower() == "true"


class _Part(InputPartition):
    def __init__(self, task: Task) -> None:
        super().__init__(task)


class _Reader(DataSourceReader):
    def __init__(self, path: str, scheme: str, select: Select, matcher: str, tagged: bool) -> None:
        self._paths = [path]
        self._scheme = str(Path(scheme).absolute())
        self._digest = hashlib.sha256(Path(scheme).read_bytes()).hexdigest()
        self._select = select
        self._matcher = matcher
        self._tagged = tagged

    def partitions(self) -> Sequence[InputPartition]:
        spark = SparkSession.getActiveSession()
        cores = spark.sparkContext.defaultParallelism if spark is not None else 8
        return [_Part(task) for task in plan_tasks(find(self._paths), cores).tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        key = f"{self._digest} {self._matcher} {self._select}"
        kept = worker.known(key) or worker.keep(key, self._job())
        documents = (worker.located(batch) for batch in partition.value.batches)
        for rows in worker.tagged_rows(kept, documents, self._select):
            if self._tagged:
                yield rows
            else:
                yield worker.matches_of(rows, self._select)

    def _job(self) -> Job:
        data = Path(self._scheme).read_bytes()
        if hashlib.sha256(data).hexdigest() != self._digest:
            raise SchemeError("the scheme has changed since the table was read", "", self._scheme)
        options = Options(self._select)
        return Job(
            Scheme.load(self._scheme),
            load_matcher(self._matcher, options.limits.query_seconds),
            options,
        )
