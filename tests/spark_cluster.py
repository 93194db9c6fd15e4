"""A job on a small cluster, in a process of its own: python -m tests.spark_cluster DOCS OUT MARKER

One of the two executors is killed in the middle of a task.
"""

from __future__ import annotations

import sys
from pathlib import Path

from extract import Scheme
from extract.filtertool.filtering import Options
from extract.filtertool.local import Job
from extract.filtertool.spark.engine import run_into_directory
from extract.filtertool.spark.locations import find
from extract.filtertool.spark.session import open_context
from tests.spark_faults import FaultyFactory


def main(scheme: str, documents: str, out: str, marker: str) -> None:
    job = Job(Scheme.load(scheme), FaultyFactory("executor", marker), Options())
    with open_context("local-cluster[2,1,1024]") as context:
        report = run_into_directory(context, job, find([documents]), Path(out))
    print(report.documents["seen"], report.matches)


if __name__ == "__main__":
    main(*sys.argv[1:])
