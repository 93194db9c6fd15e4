"""FILTERTOOL on Spark: the same rows as in this process, from as many machines as there are.

Comes in:
    A scheme, and documents: as paths that the workers open themselves, so that their bytes never
    pass through the JVM; or as a column of a DataFrame.

Goes out:
    A lazy DataFrame with the columns of the contract (`run`, `match`, `project`); or a directory of
    results (`run_into_directory`, behind ``extract run --engine spark``); or one for each batch of
    documents that arrive (`stream`).

Always holds:
    Every document is accounted for once, however often its task was tried: rows, rejections and
    accounts come out of one evaluation (`results`), told apart by their ``kind``. What is wrong
    with a document or a query is a row and never an exception.

The scheme is shipped once, by broadcast; what a worker compiles from it stays there for all tasks
that follow. `worker` is what runs in the workers, `planning` says who does what, `locations` finds
documents; `java` and `session` find a Java and start Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from extract.filtertool.spark.engine import run_into_directory
    from extract.filtertool.spark.frames import match, project, results, run
    from extract.filtertool.spark.session import local_session
    from extract.filtertool.spark.source import ExtractSource
    from extract.filtertool.spark.streaming import stream

__all__ = [
    "ExtractSource",
    "local_session",
    "match",
    "project",
    "results",
    "run",
    "run_into_directory",
    "stream",
]

_HOMES: Final = {
    "ExtractSource": "source",
    "local_session": "session",
    "run_into_directory": "engine",
    "stream": "streaming",
}


def __getattr__(name: str) -> Any:
    """Imports pyspark only when somebody asks for what needs it: workers do not, nor `java`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'frames')}"), name)
