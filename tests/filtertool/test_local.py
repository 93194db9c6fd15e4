"""The local engine: however a run is stopped, it ends, and leaves no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

import extract
from extract.filtertool.job import Job
from extract.filtertool.local import run_local
from extract.filtertool.matchers.protocol import UnlimitedFactory
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.processes.workers import FORKS
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.pipeline import run_into
from extract.subscriptions import Subscriptions
from tests.support.full_disk import disk
from tests.support.paths import ROOT
from tests.support.processes import children, failing_instead_of_hanging, is_running, session

if not FORKS:
    pytest.skip("processes are looked for as Linux shows them", allow_module_level=True)

ROWS = 10_000  # of a document: more bytes than a pipe takes while nobody reads


@pytest.fixture(autouse=True)
def others() -> Iterator[list[int]]:
    """Children of this process that other tests have started, such as Spark; no more are left."""
    before = children()
    with failing_instead_of_hanging():
        yield before
    assert children() == before


@pytest.fixture
def documents(tmp_path: Path) -> list[str]:
    (tmp_path / "docs").mkdir()
    names = [str(tmp_path / "docs" / f"{number}.xml") for number in range(12)]
    for name in names:
        Path(name).write_text(f"<a>{'<b/>' * ROWS}</a>")
    return names


def job(name: str) -> Job:
    scheme = extract.prepare(Subscriptions.of({"b": "//b"}))
    return Job(scheme, DyingFactory(name) if name else load_matcher("auto"), Options("nodes"))


class _Dying:
    """Has its process killed once: when it begins to write the answer that follows."""

    def __init__(self, inner: Any, mark: str) -> None:
        self._inner = inner
        self._mark = mark

    def match(self, units: Any, select: Any) -> Any:
        if not os.path.exists(self._mark):
            Path(self._mark).touch()
            threading.Thread(target=_die_writing, daemon=True).start()
        return self._inner.match(units, select)

    def report(self) -> Any:
        return self._inner.report()


def _written() -> int:
    with open("/proc/self/io", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("wchar")).split()[1])


def _die_writing() -> None:
    before = _written()
    while _written() == before:  # until the first bytes, which say how many follow
        pass
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class DyingFactory(UnlimitedFactory):
    """Makes them."""

    mark: str
    name: str = "dying"
    consumes: Literal["xml", "table"] = "table"

    def build(self, questions: Any, namespaces: Any) -> Any:
        return _Dying(load_matcher("columnar").build(questions, namespaces), self.mark)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_dies_while_it_writes_its_rows_loses_none(
    documents: list[str], tmp_path: Path, workers: int
) -> None:
    mark = tmp_path / "died"
    done = list(document_outcomes(run_local(job(str(mark)), documents, workers)))
    assert mark.exists()
    assert [(one.document, len(one.findings)) for one in done] == [
        (name, ROWS) for name in documents
    ]


def test_outcomes_that_nobody_asks_for_any_more_leave_no_process(
    documents: list[str], others: list[int]
) -> None:
    outcomes = run_local(job(""), documents, 2)
    next(outcomes)
    assert children() != others
    outcomes.close()
    assert children() == others


class _Full:
    """A writer without room."""

    def write(self, document: str, findings: Any) -> None:
        raise OSError(28, "No space left on device")

    def reject(self, rejections: Any) -> None:
        pass

    def close(self) -> None:
        pass


def test_rows_that_cannot_be_written_leave_no_process(
    documents: list[str], others: list[int]
) -> None:
    chosen = job("")
    with pytest.raises(OSError, match="No space") as raised:
        run_into(_Full(), chosen.scheme, documents, chosen.factory, chosen.options, 2)
    assert children() == others
    del raised


# Commands, as processes of their own.


class Command:
    """``extract run`` on the documents, and its processes."""

    def __init__(
        self,
        documents: list[str],
        *args: str,
        stdout: int = subprocess.DEVNULL,
        before: Sequence[str] = (),
    ) -> None:
        queries = Path(documents[0]).parent / "queries.tsv"
        queries.write_text("b\t//b\n")
        command = [
            *before,
            sys.executable,
            "-m",
            "extract",
            "run",
            "--engine",
            "local",
            "--jobs",
            "2",
        ]
        command += ["--schema", "none", "--queries", str(queries), *args, *documents]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.popen = subprocess.Popen(
            command, env=env, stdout=stdout, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def workers(self) -> list[int]:
        """Waits for its workers."""
        while self.popen.poll() is None:
            if len(workers := children(self.popen.pid)) == 2:
                return workers
        return []

    def ended(self) -> int:
        """Waits for its end; returns its exit status."""
        status = self.popen.wait(120)
        while session(self.popen.pid):
            pass
        return status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_a_run_and_its_workers(
    documents: list[str], tmp_path: Path, number: signal.Signals
) -> None:
    command = Command(documents, "-o", str(tmp_path / "out"))
    assert command.workers()
    command.popen.send_signal(number)
    status = -number if number == signal.SIGKILL else 128 + number
    assert command.ended() == status
    assert not (tmp_path / "out").exists()


def test_a_worker_that_is_killed_while_nobody_reads_its_rows_ends_nothing(
    documents: list[str], tmp_path: Path
) -> None:
    command = Command(documents, "-o", str(tmp_path / "out"), "--format", "jsonl")
    workers = command.workers()
    command.popen.send_signal(signal.SIGSTOP)  # now workers wait for somebody to read their rows
    while is_running(command.popen.pid) or is_running(workers[0]):
        pass
    os.kill(workers[0], signal.SIGKILL)
    command.popen.send_signal(signal.SIGCONT)
    assert command.ended() == 0
    with (tmp_path / "out/matches/part-00000.jsonl").open() as lines:
        assert sum(1 for _ in lines) == ROWS * len(documents)


def test_a_reader_that_has_enough_ends_a_run(documents: list[str]) -> None:
    command = Command(documents, "-o", "-", stdout=subprocess.PIPE)
    assert command.popen.stdout is not None
    assert command.popen.stdout.readline().startswith(b"{")
    command.popen.stdout.close()
    assert command.ended() == 128 + signal.SIGPIPE


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_full_disk_ends_a_run(documents: list[str], tmp_path: Path, form: str) -> None:
    with disk(tmp_path / "disk", "64k") as place:
        command = Command(documents, "-o", str(place / "out"), "--format", form)
        assert command.ended() == 2
        assert list(place.iterdir()) == []


@pytest.mark.parametrize("mode", [0o500, 0o300])
def test_results_of_another_user_are_left_alone(
    documents: list[str], tmp_path: Path, mode: int
) -> None:
    out = tmp_path / "out"
    assert Command(documents[:1], "-o", str(out)).ended() == 0
    os.chown(out / "matches", 65534, 0)
    (out / "matches").chmod(mode)
    powerless = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]  # root with its own rights
    try:
        subprocess.run([*powerless, "true"], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root can be a user without its rights")
    assert Command(documents[:1], "-o", str(out), before=powerless).ended() == 2
    assert len(list((out / "matches").iterdir())) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"docs", "out"}
