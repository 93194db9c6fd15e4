"""The progress of a Spark job.

An accumulator carries the step of each finished task, by the number of the task: an attempt that is
repeated, or two attempts at one task, count once.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Final, TypeVar

from pyspark import (
    Accumulator,
    AccumulatorParam,
    InheritableThread,
    SparkContext,
    accumulators,
)

from extract.filtertool.results.progress import Progress, ProgressStep

_LOOK: Final = 0.5  # seconds between two looks
_T = TypeVar("_T")

FinishedSteps = dict[int, ProgressStep]


class StepsByTask(AccumulatorParam[FinishedSteps]):
    """Steps of tasks, each once."""

    def zero(self, value: FinishedSteps) -> FinishedSteps:
        """Returns the steps of no task."""
        return {}

    def addInPlace(self, value1: FinishedSteps, value2: FinishedSteps) -> FinishedSteps:
        """Returns both in a new dictionary, because another thread may be reading the old one."""
        return value1 | value2


def in_thread(call: Callable[[], _T], look: Callable[[], None] = lambda: None) -> _T:
    """Calls what talks with the JVM in a thread of its own, and waits.

    So Ctrl-C, or whatever else ends a command, finds this thread waiting, and not in the middle of
    a talk, where py4j would complain at length.

    Args:
        call: What to call.
        look: Is called from time to time while this waits.
    """
    results: list[_T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            results.append(call())
        except Exception as error:  # for the thread that waits
            failed.append(error)

    active = SparkContext._active_spark_context is not None  # then it inherits what belongs to jobs
    thread = (InheritableThread if active else Thread)(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK)
        look()
    if failed:
        raise failed[0]
    return results[0]


def watched(
    collect: Callable[[], _T], finished: Accumulator[FinishedSteps], progress: Progress
) -> _T:
    """Waits for a job, and reports how far it is.

    Args:
        collect: Runs the job.
        finished: Where its tasks add their steps.
        progress: Told what was done since the last call. A step may be empty, as a sign of life.
    """
    reported = ProgressStep()

    def report() -> None:
        nonlocal reported
        now = ProgressStep(*map(sum, zip(ProgressStep(), *finished.value.values(), strict=True)))
        progress(ProgressStep(*(a - b for a, b in zip(now, reported, strict=True))))
        reported = now

    try:
        done = in_thread(collect, report)
    finally:
        # Nobody else adds to it any more. Spark would hold it for as long as the driver lives: a
        # stream of a million batches would have a million of them.
        accumulators._accumulatorRegistry.pop(finished.aid, None)
    report()
    return done
