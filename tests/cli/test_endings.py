"""A command that is interrupted leaves nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.commands import SCHEMA, run
from tests.support.paths import ROOT


def _heed_signals() -> None:
    """A shell lets its background jobs ignore Ctrl-C, as nohup does with SIGHUP; so do children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def started(*command: str, stdin: int | None = None) -> subprocess.Popen[str]:
    """A command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "extract", *command],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        preexec_fn=_heed_signals,
    )


def check_ended(child: subprocess.Popen[str], partial: str, number: int, here: Path) -> None:
    """Ends a command when it has begun to write; then there is nothing half."""
    until = time.monotonic() + 60
    while not list(here.glob(partial)) and time.monotonic() < until and child.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            child.wait(0.01)
    if number == signal.SIGINT:
        os.killpg(child.pid, number)  # as a terminal does
    else:
        os.kill(child.pid, number)
    child.wait(timeout=60)  # before its standard input ends
    _, stderr = child.communicate()
    assert child.returncode in (128 + number, -number), stderr  # a shell shows both as 128 + n
    assert ("Interrupted" if number == signal.SIGINT else "Terminated") in stderr
    assert "Traceback" not in stderr
    assert not list(here.rglob("*out*"))
    assert not list(here.rglob("*.partial"))


ENDINGS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ENDINGS)
def test_an_interrupted_run_leaves_nothing_half(here: Path, number: int) -> None:
    students = "".join(f"<student id='a{n}'><name/></student>" for n in range(4_000))
    for n in range(120):
        Path(f"docs/large{n}.xml").write_text(f"<db>{students}</db>")
    Path("q.tsv").write_text("\n".join(f"//student[name][{n}]" for n in range(2, 40)))
    args = ("run", *SCHEMA, "--queries", "q.tsv", "docs", "-o", "out", "--engine", "local")
    check_ended(started(*args, "--jobs", "2"), ".out.*", number, here)


@pytest.mark.parametrize("number", ENDINGS)
def test_an_interrupted_chunk_leaves_nothing_half(here: Path, number: int) -> None:
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "2", "-o", "scheme.json")
    child = started("chunk", "--scheme", "scheme.json", "-", "-o", "out", stdin=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write("<db>")  # and no more: it waits for the rest
    child.stdin.flush()
    check_ended(child, "out/.*", number, here)


@pytest.mark.parametrize("number", ENDINGS)
def test_an_interrupted_filter_leaves_nothing_half(here: Path, number: int) -> None:
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "2", "-o", "scheme.json")
    assert run("chunk", "--scheme", "scheme.json", "docs", "-o", "chunks").exit_code == 0
    Path("chunks/1/1.xml").unlink()
    os.mkfifo("chunks/1/1.xml")  # nobody writes: it waits
    child = started("filter", "--scheme", "scheme.json", "chunks", "-o", "out.jsonl")
    check_ended(child, ".out.jsonl.*", number, here)
