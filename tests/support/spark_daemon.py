"""The daemon that forks Spark's Python workers, with extract imported before it forks.

It is ``pyspark.daemon`` otherwise. There each worker imports everything for itself, which takes a
good part of a second, and tests that let workers fail need dozens of workers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

PRELOADED: Final = (
    "pyspark.worker",
    "extract.filtertool.spark.worker.run_task",
    "extract.filtertool.spark.worker.frame_tasks",
)


def main() -> None:
    """Imports what workers need, and waits for Spark to ask for workers."""
    for name in PRELOADED:
        import_module(name)
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
