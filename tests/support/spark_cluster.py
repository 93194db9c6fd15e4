"""A job on a small cluster, in a process of its own.

python -m tests.support.spark_cluster MASTER SCHEME DOCS OUT MARKER executor|hang small|large

With ``executor`` one of the two executors is killed in the middle of a task. With ``hang`` a task
never ends, until Spark starts it a second time elsewhere, and takes what comes first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from extract import Scheme
from extract.chunktool.input.find import find_inputs
from extract.filtertool.job import Job
from extract.filtertool.options import Options
from extract.filtertool.spark.driver import planner
from extract.filtertool.spark.engine import run_into_directory
from extract.filtertool.spark.session import open_context
from tests.support.spark_faults import FaultyFactory

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.speculation.efficiency.enabled": "false",
    "spark.executor.memory": "512m",
}


def main(
    master: str, scheme: str, documents: str, out: str, marker: str, fault: Any, sizes: str
) -> None:
    small: Any = planner
    small.LEAST = 1  # several tasks
    if sizes == "large":
        small.LARGE, small.PIECE = 1, 30_000
    job = Job(Scheme.load(scheme), FaultyFactory(fault, marker), Options())
    conf = SPECULATION if fault == "hang" else {}
    with open_context(master, conf=conf) as context:
        report = run_into_directory(context, job, find_inputs([documents]), Path(out))
    print(report.documents["seen"], report.matches)


if __name__ == "__main__":
    main(*sys.argv[1:])
