"""Calls in a child process with limits of time and memory."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from extract.filtertool.processes.sandbox import (
    ChildDied,
    MemoryLimit,
    Sandbox,
    TimeLimit,
    calls_put_off,
)


def test_a_module_beside_a_script_does_not_hide_the_standard_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "encodings.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    sandbox = Sandbox()
    assert sandbox.call(max, 1, 2, seconds=60) == 2
    sandbox.close()


def test_a_child_that_dies_is_replaced() -> None:
    sandbox = Sandbox()
    with pytest.raises(ChildDied):
        sandbox.call(os._exit, 1, seconds=60)
    assert sandbox.call(max, 1, 2, seconds=60) == 2
    with pytest.raises(ZeroDivisionError):
        sandbox.call(divmod, 1, 0, seconds=60)
    with pytest.raises(TimeLimit):
        sandbox.call(time.sleep, 60, seconds=0.1)
    with pytest.raises(MemoryLimit):
        sandbox.call(bytes, 1 << 30, seconds=60, memory=1 << 26)
    assert sandbox.call(len, bytes(1 << 20), seconds=60, memory=1 << 26) == 1 << 20
    assert sandbox.call(max, 3, 2, seconds=60) == 3
    sandbox.close()


def test_calls_that_are_put_off_are_not_made() -> None:
    """For who asks again, when nobody waits: no process is started, in this thread alone."""
    with calls_put_off(), pytest.raises(TimeLimit):
        Sandbox().call(max, 1, 2, seconds=60)
    with calls_put_off(), ThreadPoolExecutor(1) as other:
        assert other.submit(Sandbox().call, max, 1, 2, seconds=60).result() == 2
    assert Sandbox().call(max, 1, 2, seconds=60) == 2
    with pytest.raises(TimeLimit):
        Sandbox().call(max, 1, 2, seconds=0)


ENDLESS = """
import os
from lxml import etree
tree = etree.fromstring("<a>" + "<b/>" * 5000 + "</a>")
os.write(2, b"x")
tree.xpath("count(//b[count(//b[count(//b[count(//b) > 1]) > 1]) > 1])")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it kills a parent")
def test_a_call_ends_when_the_parent_is_killed() -> None:
    read, write = os.pipe()
    parent = os.fork()
    if parent == 0:
        os.dup2(write, 2)  # which the child has as well, so that its end is seen
        with contextlib.suppress(BaseException):
            Sandbox().call(exec, ENDLESS, {}, seconds=3_600)
        os._exit(0)
    os.close(write)
    assert os.read(read, 1) == b"x"
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert select.select([read], [], [], 60)[0], "the child is still there"
    assert os.read(read, 100) == b""
    os.close(read)
