"""The progress of a Spark job.

An accumulator carries the step of each finished task, by the number of the task: repeated and
    parallel
attempts at one task count once.
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

_LOOK: Final = 0.5  # seconds between two reports
_T = TypeVar("_T")

FinishedSteps = dict[int, ProgressStep]


class StepsByTask(AccumulatorParam[FinishedSteps]):
    """An accumulator of tasks' steps; each task counts once."""

    def zero(self, value: FinishedSteps) -> FinishedSteps:
        """Returns the steps of no task."""
        return {}

    def addInPlace(self, value1: FinishedSteps, value2: FinishedSteps) -> FinishedSteps:
        """Returns both in a new dictionary, because another thread may be reading the old one."""
        return value1 | value2


def in_thread(call: Callable[[], _T], look: Callable[[], None] = lambda: None) -> _T:
    """Makes a call to the JVM in a thread of its own, and waits for it.

    So Ctrl-C, or another signal that ends the command, finds this thread waiting, and not inside a
    call of py4j, which would log a long error.

    Args:
        call: The call.
        look: Is called from time to time during the wait.
    """
    results: list[_T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            results.append(call())
        except Exception as error:  # raised again in the waiting thread
            failed.append(error)

    # The thread inherits the properties of jobs if a context is active.
    active = SparkContext._active_spark_context is not None
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
    """Waits for a job, and reports its progress.

    Args:
        collect: Runs the job.
        finished: The accumulator of its tasks' steps.
        progress: Receives the steps since the last call; a step may be empty, as a sign of life.
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
        # No task adds to the accumulator any more. Spark would hold it for as long as the driver
        # lives: a stream of a million batches would have a million of them.
        accumulators._accumulatorRegistry.pop(finished.aid, None)
    report()
    return done
