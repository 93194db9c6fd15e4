"""A stream of documents that may be killed: python -m tests.support.spark_stream DIR FAULT

Batches have two documents. With ``before`` the process dies in its second batch, when results are
written and have no name yet; with ``after`` when they have it, and Spark has not noted the batch.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from extract.filtertool.spark import local_session, stream, streaming


def main(directory: str, fault: str) -> None:
    top = Path(directory)
    here: Any = streaming
    named = here.result_directory
    begun: list[Path] = []

    @contextmanager
    def result_directory(path: Path) -> Iterator[Path]:
        begun.append(path)
        # The first run dies in its second batch, the second in its first: that is the same one.
        ours = fault and len(begun) == (2 if fault == "before" else 1)
        with named(path) as partial:
            yield partial
            if ours and fault == "before":
                os._exit(9)
        if ours and fault == "after":
            os._exit(9)

    here.result_directory = result_directory
    spark = local_session("local[2]")
    args = (top / "scheme.json", top / "incoming", top / "out", top / "checkpoint")
    stream(spark, *args, most=2, seconds=None).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
