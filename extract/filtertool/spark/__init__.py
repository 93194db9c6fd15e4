"""FILTERTOOL on Spark: the same rows as on one machine, from many machines.

Usage:
    A directory of results, as ``extract run --engine spark`` writes it (`run_into_directory`):

        with open_context() as context:
            run_into_directory(context, Job(scheme, load_matcher(), Options()),
                               find_inputs(["docs/"]), Path("results"))

    A lazy DataFrame (`run`, `match`, `project`; `results` has rejections and accounts, too):

        df = extract.spark.run(spark, scheme, "docs/")
        df = extract.spark.match(kafka, scheme, content="value", id="key")

    Joins between documents (`join`), with the rows of `extract.Joins`.

    A table (`ExtractSource`), and documents that arrive one by one (`stream`).

When to use which:
    `run_into_directory` is the fastest, because rows pass neither through the JVM nor over the
    network, and it resumes an interrupted run. A DataFrame is for further processing of the rows in
    Spark. The table is for SQL; it plans without knowing the cluster. A stream writes a directory
    of results for each batch of documents that arrive.

What always holds:
    Every document is accounted for once, however often its task was tried. Rows, rejections and
    accounts come from one evaluation. An error in a document or a query is a row and never an
    exception. The bytes of documents never pass through the JVM, unless they are in a column.

How it flows:
    driver    find documents, survey large ones, plan tasks; broadcast the job once   `driver`
    tasks     one for some small documents, or for a part of the work on a large one  `driver.jobs`
    workers   filter, in processes that keep what they have compiled from the scheme  `worker`
    commit    files of tasks become the results, whole or not at all                  `engine`

    Nothing in `worker` imports pyspark; `java` finds a Java, `jvm` launches Spark's JVM, `session`
    starts Spark in it, and `master` checks whether one answers.

How to add one:
    Another source of documents or form of rows is a module beside `frames`: it makes tasks with
    `driver.planner`, and the workers call `worker.frame_tasks`, or `worker.run_task` for files.
    Another step of a run is a function in `driver`, called by `engine`, and a line in
    `driver.explain`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from extract.chunktool.input.messages.form import MessageOptions
    from extract.filtertool.spark.engine import run_into_directory
    from extract.filtertool.spark.frames import match, project, results, run
    from extract.filtertool.spark.joins import join
    from extract.filtertool.spark.session import local_session
    from extract.filtertool.spark.source import ExtractSource
    from extract.filtertool.spark.streaming import stream

__all__ = [
    "ExtractSource",
    "MessageOptions",
    "join",
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
    "join": "joins",
    "local_session": "session",
    "run_into_directory": "engine",
    "stream": "streaming",
}


def __getattr__(name: str) -> Any:
    """Imports pyspark only when a name that needs it is used: workers and `java` do without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'frames')}"), name)
