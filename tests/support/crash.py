"""Kills ``extract`` at random moments: ``python -m tests.support.crash`` looks at what it leaves.

A child does `prep`, `subs` or `run` and is killed (SIGKILL) somewhere between start and end. Then
whatever has the name of a result must be whole: the old one, or the new one. At the end each
command is let through, and must give what it gives when nobody kills it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from extract.scenarios import scenario
from extract.scheme import Scheme

QUERIES = 300
DOCUMENTS = 12
SIZE_BYTES = 200_000


class Command(NamedTuple):
    """A command to kill.

    Attributes:
        arguments: Of ``extract``.
        state: What there is where its result belongs; raises if that is not whole.
    """

    arguments: tuple[str, ...]
    state: Callable[[], str]


def rows_of(folder: Path) -> str:
    """A digest of all rows, in any order."""
    texts = [path.read_text("utf-8") for path in sorted(folder.glob("matches/*.jsonl"))]
    report = json.loads((folder / "report.json").read_bytes())
    lines = sorted("".join(texts).splitlines())
    if len(lines) != report["matches"]:
        raise AssertionError(f"{len(lines)} rows, but the report has {report['matches']}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def scheme_state(path: Path) -> str:
    """A digest of a scheme, which must load."""
    if not path.exists():
        return "none"
    scheme = Scheme.load(path)
    return hashlib.sha256("".join(scheme.lines()).encode()).hexdigest()


def results_state(path: Path) -> str:
    """A digest of results, which must be whole."""
    return rows_of(path) if path.exists() else "none"


def prepare(place: Path, documents: int) -> None:
    """Files to work on."""
    university = scenario("university")
    (place / "docs").mkdir(parents=True)
    shutil.copy(university.folder / university.generator.SCHEMA, place / "schema.dtd")
    lines = [f"{one.id}\t{one.xpath}\n" for one in university.queries(QUERIES)]
    (place / "queries.tsv").write_text("".join(lines))
    (place / "more.tsv").write_text("".join([f"more-{line}" for line in lines[:50]]))
    for number, data in enumerate(university.documents(documents, SIZE_BYTES)):
        (place / "docs" / f"{number}.xml").write_bytes(data)


def commands(place: Path, engine: str) -> dict[str, Command]:
    """What is killed."""
    base, revised, out = (place / name for name in ("scheme.json", "revised.json", "out"))
    prep = ("prep", "-s", f"{place}/schema.dtd", "--root", "db", "-q", f"{place}/queries.tsv")
    run = ("run", "--no-config", "--scheme", str(base), f"{place}/docs", "-o", str(out))
    how = ("--engine", engine, "--format", "jsonl", *(["--resume"] if engine == "spark" else []))
    return {
        "prep": Command((*prep, "--chunks", "4", "-o", str(base)), lambda: scheme_state(base)),
        "subs": Command(
            ("subs", "--scheme", str(revised), "add", "-q", f"{place}/more.tsv"),
            lambda: scheme_state(revised),
        ),
        "run": Command((*run, *how), lambda: results_state(out)),
    }


def start(command: Command) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-m", "extract", *command.arguments]
    # A session of its own, so that its workers are killed with it, as if the machine went down.
    return subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill_at(command: Command, seconds: float) -> bool:
    """Runs a command and kills it after some time; says whether it was still running."""
    child = start(command)
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return True
    return False


def through(command: Command) -> float:
    """Lets a command through; how long it took."""
    started = time.monotonic()
    if start(command).wait() not in (0, 1):
        raise AssertionError(f"{command.arguments[0]} fails when nobody kills it")
    return time.monotonic() - started


def torture(
    rounds: int, seed: int, engine: str = "local", only: str = "", documents: int = DOCUMENTS
) -> Counter[str]:
    """Kills, and looks; returns what was seen how often.

    Raises:
        AssertionError: Something that is not whole had the name of a result.
    """
    rng, seen = Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="extract-crash-") as folder:
        place = Path(folder)
        prepare(place, documents)
        every = commands(place, engine)
        durations = {"prep": through(every["prep"])}
        shutil.copy(place / "scheme.json", place / "revised.json")
        old = every["subs"].state()
        durations["subs"], durations["run"] = through(every["subs"]), through(every["run"])
        good = {name: one.state() for name, one in every.items()}
        # Sometimes there is an old result, and sometimes there is none.
        allowed = {name: {"none", state} for name, state in good.items()}
        allowed["subs"] = {old, good["subs"]}
        for number in range(rounds):
            name = only or rng.choice(list(every))
            if name == "subs":
                shutil.copy(place / "scheme.json", place / "revised.json")
            elif name == "run" and rng.random() < 0.5:
                shutil.rmtree(place / "out", ignore_errors=True)
            elif name == "prep" and rng.random() < 0.3:
                (place / "scheme.json").unlink(missing_ok=True)
            killed = kill_at(every[name], rng.uniform(0.2, 1.1) * durations[name])
            state = every[name].state()
            if state not in allowed[name]:
                raise AssertionError(f"round {number}: {name} left {state}, not {allowed[name]}")
            what = "nothing" if state == "none" else "old" if state == old else "whole"
            seen[f"{name} {'killed' if killed else 'ended'}, then {what}"] += 1
            if name == "prep" and not (place / "scheme.json").exists():
                through(every["prep"])
        shutil.copy(place / "scheme.json", place / "revised.json")
        for name, command in every.items():
            through(command)
            if command.state() != good[name]:
                raise AssertionError(f"{name} does not give the same after it was killed")
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=["local", "spark"], default="local")
    parser.add_argument("--only", choices=["prep", "subs", "run"], default="")
    asked = parser.parse_args()
    seen = torture(asked.rounds, asked.seed, asked.engine, asked.only)
    for what, times in sorted(seen.items()):
        print(f"{times:>6} {what}")
    print(f"{sum(seen.values()):>6} rounds with the seed {asked.seed}: nothing half")
    return 0


if __name__ == "__main__":
    sys.exit(main())
