"""Workers: whatever ends one, and whenever, is seen by who waits for its answer."""

from __future__ import annotations

import errno
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import wait
from typing import Any

import pytest

from extract.filtertool.processes.workers import FORKS, ChildExit, Worker, open_workers
from tests.support.processes import children, failing_instead_of_hanging

if not FORKS:
    pytest.skip("these calls are closures, which only a fork has", allow_module_level=True)

LARGE = 8 << 20  # bytes: more than any pipe takes while nobody reads
KILLED = ChildExit(-signal.SIGKILL)


@pytest.fixture(autouse=True)
def others() -> Iterator[list[int]]:
    """Children of this process that other tests have started, such as Spark; no more are left."""
    before = children()
    with failing_instead_of_hanging():
        yield before
    assert children() == before


def large(item: int) -> bytes:
    return bytes([item]) * LARGE


def test_a_worker_that_is_killed_while_it_writes_its_answer_has_ended() -> None:
    worker = Worker(large, None)
    answer = worker.send(1)
    assert wait([worker.pipe], 60), "the answer has begun"  # and nobody reads it
    worker.kill()
    worker.receive()
    worker.join()
    assert answer.result() == KILLED


def test_another_answers_in_its_place(others: list[int]) -> None:
    with open_workers(2, large) as workers:
        answers = [workers.send(1), workers.send(2)]
        assert workers.send(3) is None
        os.kill(next(one for one in children() if one not in others), signal.SIGKILL)
        while not all(one is not None and one.done() for one in answers):
            workers.receive()
        ends = [one.result() for one in answers if one is not None]
        assert KILLED in ends
        assert {2: large(2), 1: large(1)}[2 - ends.index(KILLED)] in ends
        again = workers.send(3), workers.send(4)
        while not all(one is not None and one.done() for one in again):
            workers.receive()
        assert [one.result() for one in again if one is not None] == [large(3), large(4)]


def test_one_that_is_killed_while_it_is_idle_is_seen_with_its_next_item(others: list[int]) -> None:
    with open_workers(1, abs) as workers:
        first = workers.send(-1)
        workers.receive()
        (process,) = [one for one in children() if one not in others]
        os.kill(process, signal.SIGKILL)
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        second = workers.send(-2)
        workers.receive()
        third = workers.send(-3)
        workers.receive()
        assert first is not None
        assert second is not None
        assert third is not None
        assert [first.result(), second.result(), third.result()] == [1, KILLED, 3]


@pytest.mark.parametrize("call", [large, lambda _: signal.pause()], ids=["writing", "busy"])
def test_none_is_left_when_the_block_ends(call: Any, others: list[int]) -> None:
    with open_workers(3, call) as workers:
        for item in range(3):
            workers.send(item)
        assert len(children()) == 3 + len(others)
    assert children() == others


@pytest.mark.parametrize("call", [large, lambda _: signal.pause()], ids=["writing", "busy"])
def test_none_is_left_when_the_parent_is_killed(call: Any) -> None:
    read, write = os.pipe()  # all have the end to write to, and it is closed when all have ended
    parent = os.fork()
    if parent == 0:
        with open_workers(2, call) as workers:
            workers.send(1)
            workers.send(2)
            os.write(write, b"x")
            signal.pause()
    os.close(write)
    assert os.read(read, 1) == b"x"
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert select.select([read], [], [], 60)[0], "a worker is still there"
    assert os.read(read, 1) == b""
    os.close(read)


class Unpicklable(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("cannot be pickled")


def test_what_is_raised_comes_back_also_if_it_cannot_be_pickled() -> None:
    def call(item: int) -> Any:
        if item == 0:
            raise Unpicklable("never mind")
        return 1 / 0 if item == 1 else (lambda: item)

    with open_workers(1, call) as workers:
        for item, kind in enumerate([RuntimeError, ZeroDivisionError, Exception]):
            answer = workers.send(item)
            workers.receive()
            assert answer is not None
            with pytest.raises(kind):
                answer.result()


def test_a_beginning_that_fails_is_told() -> None:
    def begin() -> None:
        raise ValueError("no matcher")

    with open_workers(1, abs, begin) as workers:
        answer = workers.send(1)
        workers.receive()
        assert answer is not None
        with pytest.raises(ValueError, match="no matcher"):
            answer.result()


def answers(items: list[int], call: Any) -> list[Any]:
    """The answers of one worker after the other."""
    done = []
    with open_workers(1, call) as workers:
        for item in items:
            done.append(workers.send(item))
            workers.receive()
    return [one.result() for one in done if one is not None]


def kills_itself(item: int) -> int:
    if item == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_one_is_replaced_also_where_nobody_learns_how_it_ended() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert answers([0, 1, 2, 3], kills_itself) == [0, ChildExit(None), 2, 3]
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_its_end_is_seen_though_what_it_has_forked_goes_on() -> None:
    read, write = os.pipe()

    def call(item: int) -> int:
        if item == 1 and os.fork() == 0:
            os.close(write)
            os.read(read, 1)  # until the test ends
            os._exit(0)
        return kills_itself(item)

    assert answers([0, 1, 2], call) == [0, KILLED, 2]
    os.close(write)
    os.close(read)


def test_its_end_is_seen_though_another_thread_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    pipe, threads, forked = multiprocessing.Pipe, [], []

    def fork() -> None:
        forked.append(os.fork())
        if forked[-1] == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)

    def pipe_and_fork() -> Any:
        ends = pipe()
        threads.append(threading.Thread(target=fork))
        threads[-1].start()
        threads[-1].join(0.5)  # it may have to wait for the worker
        return ends

    monkeypatch.setattr(multiprocessing, "Pipe", pipe_and_fork)
    try:
        assert answers([0, 1, 2], kills_itself) == [0, KILLED, 2]
    finally:
        os.close(write)
        os.close(read)
        for thread in threads:
            thread.join()
        for one in forked:
            os.waitpid(one, 0)


@pytest.mark.parametrize("others_first", [True, False])
def test_forks_take_the_locks_of_other_modules_in_one_order(others_first: bool) -> None:
    """Hooks of forks cannot be taken back, so a program of its own has them."""
    modules = ["from extract.filtertool.processes.workers import open_workers"]
    modules.insert(0 if others_first else 1, "import concurrent.futures.thread")
    code = (
        "\n".join(modules)
        + """
import multiprocessing, os, threading
pipe = multiprocessing.Pipe
def fork():
    if os.fork() == 0:
        os._exit(0)
def pipe_and_fork():
    ends = pipe()
    one = threading.Thread(target=fork, daemon=True)
    one.start()
    one.join(0.2)  # it may have to wait for the worker
    return ends
multiprocessing.Pipe = pipe_and_fork
with open_workers(2, abs) as workers:
    done = [workers.send(-1), workers.send(-2)]
    while not all(one.done() for one in done):
        workers.receive()
    print([one.result() for one in done])
"""
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[1, 2]\n", "")


def test_a_worker_without_a_pipe_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_pipe() -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(multiprocessing, "Pipe", no_pipe)
    with pytest.raises(OSError, match="Too many open files"):
        answers([1], abs)


def test_a_fork_of_the_parent_ends_none_of_its_workers() -> None:
    with open_workers(1, abs) as workers:
        first = workers.send(-1)
        workers.receive()
        fork = os.fork()
        if fork == 0:
            workers.kill()
            os._exit(0)
        os.waitpid(fork, 0)
        second = workers.send(-2)
        workers.receive()
        assert first is not None
        assert second is not None
        assert [first.result(), second.result()] == [1, 2]
