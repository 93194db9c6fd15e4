"""How far Spark is, while it works.

An accumulator carries what each finished task says. It is kept by the number of the task: an
attempt that is repeated, or two attempts at one task, count once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from pyspark import Accumulator, AccumulatorParam, InheritableThread, accumulators

from extract.filtertool.progress import Progress, Step

_LOOK: Final = 0.5  # seconds between two looks
_T = TypeVar("_T")

Finished = dict[int, Step]


class ByTask(AccumulatorParam[Finished]):
    """Steps of tasks, each once."""

    def zero(self, value: Finished) -> Finished:
        """Nothing is done."""
        return {}

    def addInPlace(self, value1: Finished, value2: Finished) -> Finished:
        """Both; a new dictionary, because somebody may be reading the old one."""
        return value1 | value2


def watched(collect: Callable[[], _T], finished: Accumulator[Finished], progress: Progress) -> _T:
    """Waits for a job, and tells how far it is.

    The job has a thread of its own: so Ctrl-C finds nobody in the middle of a talk with the JVM.

    Args:
        collect: Runs the job.
        finished: Where its tasks say what they did.
        progress: Is told. A step may be empty, as a sign of life.
    """
    found: list[_T] = []
    failed: list[Exception] = []

    def call() -> None:
        try:
            found.append(collect())
        except Exception as error:  # for the thread that waits
            failed.append(error)

    thread = InheritableThread(target=call, daemon=True)
    thread.start()
    told = Step()
    try:
        while thread.is_alive():
            thread.join(_LOOK)
            told = _tell(finished, told, progress)
    finally:
        # Nobody else adds to it any more. Spark would hold it for as long as the driver lives: a
        # stream of a million batches would have a million of them.
        accumulators._accumulatorRegistry.pop(finished.aid, None)
    if failed:
        raise failed[0]
    _tell(finished, told, progress)
    return found[0]


def _tell(finished: Accumulator[Finished], told: Step, progress: Progress) -> Step:
    now = Step(*map(sum, zip(Step(), *finished.value.values(), strict=True)))
    progress(Step(*(a - b for a, b in zip(now, told, strict=True))))
    return now
