"""How far Spark is, while it works.

An accumulator carries what each finished task says. It is kept by the number of the task: an
attempt that is repeated, or two attempts at one task, count once.
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

from extract.filtertool.progress import Progress, ProgressStep

_LOOK: Final = 0.5  # seconds between two looks
_T = TypeVar("_T")

Finished = dict[int, ProgressStep]


class ByTask(AccumulatorParam[Finished]):
    """Steps of tasks, each once."""

    def zero(self, value: Finished) -> Finished:
        """Nothing is done."""
        return {}

    def addInPlace(self, value1: Finished, value2: Finished) -> Finished:
        """Both; a new dictionary, because somebody may be reading the old one."""
        return value1 | value2


def aside(call: Callable[[], _T], look: Callable[[], None] = lambda: None) -> _T:
    """Calls what talks with the JVM in a thread of its own, and waits.

    So Ctrl-C, or whatever else ends a command, finds this thread waiting, and not in the middle of
    a talk, where py4j would complain at length.

    Args:
        call: What to call.
        look: Is called from time to time while this waits.
    """
    found: list[_T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            found.append(call())
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
    return found[0]


def watched(collect: Callable[[], _T], finished: Accumulator[Finished], progress: Progress) -> _T:
    """Waits for a job, and tells how far it is.

    Args:
        collect: Runs the job.
        finished: Where its tasks say what they did.
        progress: Is told. A step may be empty, as a sign of life.
    """
    told = ProgressStep()

    def tell() -> None:
        nonlocal told
        told = _tell(finished, told, progress)

    try:
        done = aside(collect, tell)
    finally:
        # Nobody else adds to it any more. Spark would hold it for as long as the driver lives: a
        # stream of a million batches would have a million of them.
        accumulators._accumulatorRegistry.pop(finished.aid, None)
    tell()
    return done


def _tell(finished: Accumulator[Finished], told: ProgressStep, progress: Progress) -> ProgressStep:
    now = ProgressStep(*map(sum, zip(ProgressStep(), *finished.value.values(), strict=True)))
    progress(ProgressStep(*(a - b for a, b in zip(now, told, strict=True))))
    return now
