"""``extract bench frames``: messages in a column of a Spark DataFrame, next to `extract.Filter`.

Processor seconds of the JVM and of the Python workers count, as the system reports them; so it runs
on Linux only. The first evaluation starts workers and warms the JVM up, and does not count.
"""

from __future__ import annotations

import os
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from extract.bench.stock import alerts, messages, stock_schema
from extract.bench.table import ResultTable
from extract.errors import ExtractError
from extract.live_filter import Filter
from extract.pipeline import prepare
from extract.scheme.model import Scheme
from extract.subscriptions import Subscriptions

_MESSAGES: Final = 1_000_000
_ALERTS: Final = 100_000
_GROUP: Final = 62_500  # rows of a row group
_BATCH: Final = 4_096
_CORES: Final = 2
_TIMES: Final = 5
# A session of somebody's own; that of extract starts sooner, and compiles less of Spark.
_ORDINARY: Final = {"spark.driver.extraJavaOptions": "-XX:+UseParallelGC"}

Row = list[str | int | float]


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Measures both, in processor seconds."""
    if not os.path.isdir("/proc/self"):
        raise ExtractError("the benchmark frames needs Linux, which says what processes use")
    count, registered = max(100, int(_MESSAGES * scale)), max(20, int(_ALERTS * scale))
    scheme = prepare(stock_schema(), Subscriptions.of(alerts(registered)), 1)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/messages.parquet"
        _write(path, count)
        here = _in_process(scheme, path)
        rows: list[Row] = [["extract.Filter", "this process", here, int(count / here), 1.0]]
        rows += _on_spark(scheme, path, count, here)
    columns = ("way", "processes", "seconds", "messages a second and core", "x Filter")
    title = f"{count:,} messages in a column, {registered:,} alerts, --select doc"
    remarks = (
        f"Spark on local[{_CORES}], from Parquet, without its start; rows go nowhere.",
        "An ordinary session: that of extract.spark.local_session starts sooner, and is slower.",
    )
    return ResultTable(title, columns, rows, remarks)


def _write(path: str, count: int) -> None:
    """Writes the messages as a Parquet file."""
    schema = pa.schema([("id", pa.string()), ("body", pa.binary())])
    every = messages(count)
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, count, _GROUP):
            some = list(islice(every, _GROUP))
            ids = [f"m{start + number}" for number in range(len(some))]
            writer.write_table(pa.table({"id": ids, "body": some}, schema))


def _in_process(scheme: Scheme, path: str) -> float:
    """The best time of `Filter.table` on all messages."""
    ready, times = Filter(scheme), []
    for _ in range(_TIMES):
        spent = 0.0
        for batch in parquet.ParquetFile(path).iter_batches(_BATCH):
            ids, bodies = (column.to_pylist() for column in batch.columns)
            documents = list(zip(ids, bodies, strict=True))
            started = time.process_time()
            ready.table(documents)
            spent += time.process_time() - started
        times.append(spent)
    return min(times)


def _on_spark(scheme: Scheme, path: str, count: int, here: float) -> list[Row]:
    from extract.filtertool import spark as engine

    best: dict[str, float] = {}
    with engine.local_session(f"local[{_CORES}]", conf=_ORDINARY) as spark:
        frame = spark.read.parquet(path)
        for number in range(1 + _TIMES):
            before = _seconds_by_name()
            found: Any = engine.match(frame, scheme, "body", "id", "doc")
            found.write.format("noop").mode("overwrite").save()
            spent = {k: n - before.get(k, 0.0) for k, n in _seconds_by_name().items()}
            if number and (not best or sum(spent.values()) < sum(best.values())):
                best = spent
    jvm = sum(seconds for name, seconds in best.items() if name.startswith("java"))
    total = sum(best.values())
    parts = {"JVM and Python": total, "Python alone": total - jvm}
    return [
        ["extract.spark.match", which, n, int(count / max(0.01, n)), here / max(0.01, n)]
        for which, n in parts.items()
    ]


def _seconds_by_name() -> dict[str, float]:
    """Processor seconds of this process and all below it, by the names of programs."""
    parents, used, names = {}, {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            head, _, rest = Path("/proc", entry, "stat").read_text().rpartition(")")
        except OSError:  # it has ended
            continue
        fields = rest.split()
        number = int(entry)
        parents[number], names[number] = int(fields[1]), head.partition("(")[2]
        used[number] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total: dict[str, float] = {}
    for number, seconds in used.items():
        above = number
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid():
            total[names[number]] = total.get(names[number], 0.0) + seconds
    return total
