"""``spark.read.format("extract")``: matches as a table, for SQL.

    spark.dataSource.register(extract.spark.ExtractSource)
    spark.read.format("extract").option("scheme", "scheme.json").load("docs/")

A Python data source cannot use broadcasts (TRAPS 26): workers read the scheme's file themselves,
once for each version of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from extract.chunktool.input.find import find_inputs
from extract.errors import ExtractError, SchemeError
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.arrow import SCHEMAS
from extract.filtertool.spark.driver.planner import plan_frame
from extract.filtertool.spark.frames import attempts_before, spark_schema
from extract.filtertool.spark.worker.filter_cache import cached_job
from extract.filtertool.spark.worker.frame_rows import match_rows, tagged_rows, tagged_schema
from extract.filtertool.spark.worker.frame_tasks import task_rows
from extract.filtertool.spark.worker.tasks import Task
from extract.scheme.fingerprint import absolute_scheme, scheme_fingerprint, shown_scheme
from extract.scheme.model import Scheme

_SELECTS: Final = tuple(SCHEMAS)
_CORES: Final = 8  # Spark plans in a process that does not know the number of cores


class ExtractSource(DataSource):
    """Matches as a table. Options: ``path``, ``scheme`` (its file; all workers must see it),
    ``select`` (``nodes``, ``count``, ``doc`` or ``output``), ``matcher``, ``tagged`` for rejections
    and accounts as well, as `extract.spark.results` gives them, and ``cores``, for how many of them
    to plan."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "extract"

    def schema(self) -> StructType:
        """Returns the columns of the contract, or those for all kinds of rows."""
        select, tagged = self._asked()
        return spark_schema(tagged_schema(select) if tagged else SCHEMAS[select])

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns the reader."""
        select, tagged = self._asked()
        for needed in ("path", "scheme"):
            if not self.options.get(needed):
                raise ExtractError(
                    f"the option {needed!r} is missing", 'set it with .option(…, "…")'
                )
        matcher = self.options.get("matcher", AUTO)
        path, scheme = self.options["path"], self.options["scheme"]
        return _Reader(path, scheme, select, matcher, tagged, self._cores())

    def _asked(self) -> tuple[Select, bool]:
        select = self.options.get("select", "nodes")
        if select not in _SELECTS:
            raise ExtractError(f"select is {select!r}", f"it is one of {', '.join(_SELECTS)}")
        return cast(Select, select), self.options.get("tagged", "false").lower() == "true"

    def _cores(self) -> int:
        cores = self.options.get("cores", str(_CORES))
        if not cores.isdecimal() or int(cores) < 1:
            raise ExtractError(f"cores is {cores!r}", "it is a number such as 8")
        return int(cores)


class _TaskPartition(InputPartition):
    def __init__(self, task: Task) -> None:
        super().__init__(task)


class _Reader(DataSourceReader):
    def __init__(
        self, path: str, scheme: str, select: Select, matcher: str, tagged: bool, cores: int
    ) -> None:
        self._paths = [path]
        self._scheme = absolute_scheme(scheme)
        self._digest = scheme_fingerprint(scheme)
        self._select = select
        self._matcher = matcher
        self._tagged = tagged
        self._cores = cores

    def partitions(self) -> Sequence[InputPartition]:
        scheme = Scheme.load(self._scheme)
        in_parts = Options(self._select).in_parts
        plan = plan_frame(find_inputs(self._paths), self._cores, scheme, in_parts)
        return [_TaskPartition(task) for task in plan.tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        key = f"{self._digest} {self._matcher} {self._select}"
        job = cached_job(key, self._job)
        documents = task_rows(key, job, partition.value, attempts_before())
        rows = tagged_rows if self._tagged else match_rows
        yield from rows(documents, self._select)

    def _job(self) -> Job:
        if scheme_fingerprint(self._scheme) != self._digest:
            reason = "the scheme has changed since the table was read"
            raise SchemeError(reason, "", shown_scheme(self._scheme))
        options = Options(self._select)
        return Job(
            Scheme.load(self._scheme),
            load_matcher(self._matcher),
            options,
        )
