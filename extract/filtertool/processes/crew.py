"""A crew: processes that each have an object of their own, and answer calls of its methods.

For work that goes on from call to call, with a state in each process. Documents are not guarded
one by one: if a process dies, the crew does.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from extract.errors import ExtractError
from extract.filtertool.processes.signals import deferred_signals, reset_signals
from extract.filtertool.processes.workers import FORKS


class Crew:
    """Processes that answer calls at the same time.

    Args:
        make: Makes the object. Where the system has forks it is called once, before them; otherwise
            it is pickled, and each process calls it.
        size: How many processes.
    """

    def __init__(self, make: Callable[[], object], size: int) -> None:
        given: object = make() if FORKS else None
        context: Any = multiprocessing.get_context("fork" if FORKS else "spawn")
        self._members: list[tuple[Any, Connection]] = []
        for _ in range(size):
            ours, theirs = multiprocessing.Pipe()
            ends = [ours, *[pipe for _, pipe in self._members]] if FORKS else []
            process = context.Process(target=_serve, args=(theirs, ends, given, make), daemon=True)
            with warnings.catch_warnings(), deferred_signals():
                # Python 3.12 warns of threads, such as Arrow's. A child does not use their locks.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            theirs.close()
            self._members.append((process, ours))

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._members)

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Calls a method in each process, with arguments of its own.

        Returns:
            Their answers, in order.

        Raises:
            ExtractError: A process has died.
            Exception: What the first method that failed has raised.
        """
        try:
            for (_, pipe), some in zip(self._members, arguments, strict=True):
                pipe.send((method, some))
            answers = [pipe.recv() for _, pipe in self._members]
        except (EOFError, OSError) as error:
            self.close()
            hint = "start fewer processes at a time: each has a memory of its own"
            raise ExtractError("a process was killed, for want of memory perhaps", hint) from error
        for succeeded, answer in answers:
            if not succeeded:
                raise answer
        return [answer for _, answer in answers]

    def close(self) -> None:
        """Ends the processes."""
        for process, pipe in self._members:
            process.kill()
            process.join()
            pipe.close()
        self._members = []


def _serve(
    pipe: Connection, ends: Sequence[Connection], given: object, make: Callable[[], object]
) -> None:
    """Answers calls until the parent closes its end of the pipe, or ends."""
    reset_signals()
    for end in ends:  # a fork has them as well, and so would wait for itself
        end.close()
    own = make() if given is None else given
    while True:
        try:
            method, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = True, getattr(own, method)(*arguments)
        except Exception as error:
            answer = False, error
        pipe.send(answer)
