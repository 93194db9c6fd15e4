"""The work that is repeated: each job is a generator that does one round at a time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Generator
from functools import cache
from pathlib import Path

import extract
from extract.filtertool.spark.session import local_session
from extract.pipeline import run
from extract.scenarios import scenario
from tests.support.soak.broker_job import serve_broker

QUERIES = 200
SIZE_BYTES = 8_000
# One of each kind of trouble in every round: what goes wrong must not leave anything behind.
TROUBLE = {
    "broken.xml": b"<db><student>",
    "deep.xml": b"<db>" * 3_000,
    "nonconforming.xml": b"<db><zz><name/></zz></db>",
    "entities.xml": b'<!DOCTYPE db [<!ENTITY e "<name>x</name>">]><db>&e;</db>',
}


def prepared() -> extract.Scheme:
    """The scheme of all jobs."""
    university = scenario("university")
    return extract.prepare(university.schema(), university.queries(QUERIES), 4)


@cache
def content(count: int) -> dict[str, bytes]:
    """The documents of a round."""
    fine = scenario("university").documents(count - len(TROUBLE), SIZE_BYTES)
    return {f"{n}.xml": data for n, data in enumerate(fine)} | TROUBLE


def write_documents(folder: Path, number: int, count: int) -> list[Path]:
    """The documents of a round, put in place whole."""
    folder.mkdir(parents=True, exist_ok=True)
    waiting = folder.parent / "waiting"
    waiting.mkdir(exist_ok=True)
    paths = []
    for name, data in content(count).items():
        (waiting / name).write_bytes(data)
        paths.append(folder / f"{number}-{name}")
        os.replace(waiting / name, paths[-1])
    return paths


def run_in_a_loop(place: Path, count: int) -> Generator[int, None, None]:
    """`extract run --engine local --jobs 1`, over the same names again and again."""
    scheme = prepared()
    while True:
        paths = write_documents(place / "docs", 0, count)
        report = run(scheme, [str(path) for path in paths], place / "results", jobs=1)
        check(report.documents["seen"], report.documents["rejected"], count)
        yield count


def stream(place: Path, count: int) -> Generator[int, None, None]:
    """A stream on Spark; documents and results go when they are done, as somebody would have it."""
    prepared().save(place / "scheme.json")
    spark = local_session("local[1]")
    out = place / "out"
    (place / "incoming").mkdir()
    query = extract.spark.stream(
        spark, place / "scheme.json", place / "incoming", out, place / "checkpoint", seconds=0.2
    )
    number = 0
    try:
        while True:
            number += 1
            paths = write_documents(place / "incoming", number, count)
            query.processAllAvailable()
            seen = rejected = 0
            for folder in sorted(out.iterdir()):
                report = counts_of(folder)
                seen += report["seen"]
                rejected += report["rejected"]
                shutil.rmtree(folder)
            check(seen, rejected, count)
            for path in paths:
                path.unlink()
            yield count
    finally:
        query.stop()
        spark.stop()


def counts_of(folder: Path) -> dict[str, int]:
    """What a report says of documents."""
    documents: dict[str, int] = json.loads((folder / "report.json").read_bytes())["documents"]
    return documents


def check(seen: int, rejected: int, count: int) -> None:
    """Makes sure that the round did what it should."""
    if (seen, rejected) != (count, 2):
        raise RuntimeError(f"{seen} documents seen, {rejected} rejected; not {count} and 2")


JOBS = {"run": run_in_a_loop, "stream": stream, "broker": serve_broker}
