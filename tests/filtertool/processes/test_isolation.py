"""Calls in a child process that may die: answers, errors, and how the child ended."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from extract.filtertool.processes.guard import OUT_OF_MEMORY, exit_reason
from extract.filtertool.processes.isolation import each_in_child
from extract.filtertool.processes.workers import FORKS, ChildExit
from extract.limits import Limits

if not FORKS:
    pytest.skip("these calls are closures, which only a fork has", allow_module_level=True)

LIMITS = Limits()


def test_one_child_answers_all_items_until_it_dies() -> None:
    def call(item: int) -> tuple[int, int]:
        if item == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return item, os.getpid()

    first, second, died, after = each_in_child([0, 1, 2, 3], call, LIMITS)
    assert died == ChildExit(-signal.SIGKILL)
    assert not isinstance(first, ChildExit)
    assert not isinstance(second, ChildExit)
    assert not isinstance(after, ChildExit)
    assert (first[0], second[0], after[0]) == (0, 1, 3)
    assert first[1] == second[1] != after[1]
    assert os.getpid() not in (first[1], after[1])


def test_every_child_begins_once(tmp_path: Path) -> None:
    def begin() -> None:
        (tmp_path / str(os.getpid())).touch()

    def call(item: int) -> int:
        if item == 1:
            os._exit(3)
        return item

    assert list(each_in_child([0, 1, 2, 3], call, LIMITS, begin)) == [0, ChildExit(3), 2, 3]
    assert len(list(tmp_path.iterdir())) == 2


def test_what_the_call_raises_is_raised_here() -> None:
    def call(item: int) -> float:
        return 1 / item

    answers = each_in_child([1, 0], call, LIMITS)
    assert next(answers) == 1.0
    with pytest.raises(ZeroDivisionError):
        next(answers)


def test_a_child_ends_with_its_parent() -> None:
    read, write = os.pipe()  # both have the end to write to, and it is closed when both have ended
    parent = os.fork()
    if parent == 0:
        answers = each_in_child([1, 2], lambda item: item, LIMITS)
        os.write(write, b"x" * (next(answers) == 1))  # and the child waits for the next item
        signal.pause()
    os.close(write)
    assert os.read(read, 1) == b"x"
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert select.select([read], [], [], 60)[0], "the child is still there"
    assert os.read(read, 1) == b""
    os.close(read)


def test_the_exit_says_which_limit_was_passed() -> None:
    def busy(_: int) -> None:
        while True:
            pass

    def greedy(size: int) -> int:
        return len(bytearray(size))

    limits = Limits(document_seconds=0.1, document_memory=100_000_000)
    (timed,) = each_in_child([0], busy, limits)
    assert timed == ChildExit(-signal.SIGPROF)
    assert exit_reason(-signal.SIGPROF, limits).reason == limits.passed("document_seconds")
    (full,) = each_in_child([1 << 40], greedy, limits)
    assert full == ChildExit(OUT_OF_MEMORY)
    assert exit_reason(OUT_OF_MEMORY, limits).reason == limits.passed("document_memory")
    assert "was killed" in exit_reason(-signal.SIGKILL, limits).reason


def test_a_child_ends_with_whoever_asks_it() -> None:
    def call(_: int) -> int:
        return os.getpid()

    answers: Iterator[int | ChildExit] = each_in_child([0, 1], call, LIMITS)
    child = next(answers)
    assert isinstance(child, int)
    del answers
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
    pytest.fail("the child is still there")
