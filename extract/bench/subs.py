"""``extract bench subs``: revising a large scheme, next to preparing it again.

100,000 queries that are all different, and 1,000,000 alerts of one template.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TypeVar

from extract.bench.stock import alerts, stock_schema
from extract.bench.table import ResultTable
from extract.preptool.prepare import prepare
from extract.preptool.revise import Reviser
from extract.scenarios import scenario
from extract.scenarios.queries import random_queries
from extract.schema.model import Schema
from extract.scheme import Scheme
from extract.subscriptions import Subscription, Subscriptions

T = TypeVar("T")

_QUERIES, _CHANGES = 100_000, 1_000
_MEMBERS, _MORE = 1_000_000, 100_000
_CHUNKS = 8


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Prepares, loads and revises schemes; every step in processor seconds of one core."""
    rows: list[list[str | int | float]] = []
    remarks = ["x prepare: how many times it could be done while the queries are prepared once."]
    for name, schema, registered, others in _inputs(data, scale):
        rows.extend([name, *row] for row in _measure(schema, registered, others))
    if data is None:
        remarks.append("Own queries over a built-in schema: ../shared/data is not there.")
    columns = ("queries", "step", "count", "seconds", "goal", "x prepare")
    return ResultTable("Revising a scheme, one core", columns, rows, tuple(remarks))


def _inputs(
    data: Path | None, scale: float
) -> list[tuple[str, Schema, Subscriptions, list[Subscription]]]:
    """Queries to register, and as many others as will be added."""
    many, few = max(2, int(_QUERIES * scale)), max(1, int(_CHANGES * scale))
    members, more = max(2, int(_MEMBERS * scale)), max(1, int(_MORE * scale))
    every = Subscriptions.of(alerts(members))
    others = Subscriptions.of(alerts(more, seed=2))
    stock = ("stock alerts", stock_schema(), every, _renamed(others))
    if data is not None:
        nitf = data / "nitf"
        schema = Schema.load(nitf / "nitf.dtd", "nitf")
        one, two = (Subscriptions.load(nitf / f"nested{n}.tsv.gz") for n in (1, 2))
        return [
            ("nitf nested1", schema, one[:many], _renamed(two[:few])),
            ("nitf nested2", schema, two[:many], _renamed(one[:few])),
            stock,
        ]
    schema = scenario("nitf").schema()
    one, two = (Subscriptions.of(random_queries(schema, many, filters)) for filters in (1, 2))
    return [("nested1", schema, one, _renamed(two[:few])), stock]


def _renamed(subscriptions: Subscriptions) -> list[Subscription]:
    return [replace(one, id=f"new {one.id}") for one in subscriptions]


def _measure(
    schema: Schema, registered: Subscriptions, others: list[Subscription]
) -> list[list[str | int | float]]:
    rows: list[list[str | int | float]] = []

    def step(name: str, count: int, goal: str, work: Callable[[], T]) -> T:
        gc.collect()
        started = time.process_time()
        result = work()
        seconds = time.process_time() - started
        rows.append([name, count, seconds, goal, seconds])
        return result

    def add() -> Scheme:
        for one in others:
            reviser.add(one)
        return reviser.scheme()

    def remove() -> Scheme:
        for identifier in gone:
            reviser.remove(identifier)
        return reviser.scheme()

    def add_together() -> Scheme:
        again = Reviser(scheme)
        again.add_all(Subscriptions.of(others))
        return again.scheme()

    def add_one() -> Scheme:
        reviser.add(replace(others[0], id="once more"))
        return reviser.scheme()

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheme.json"
        count = len(registered)
        scheme = step("prepare", count, "", lambda: prepare(schema, registered, _CHUNKS))
        scheme.save(file)
        del scheme
        scheme = step("load", count, "< 2", lambda: Scheme.load(file))
        reviser = step("start", count, "", lambda: Reviser(scheme))
        step("add together", len(others), "", add_together)
        step("add", len(others), "< 10", add)
        gone = Random(1).sample([one.id for one in registered], len(others))
        revised = step("remove", len(gone), "", remove)
        step("add one more", 1, "", add_one)
        step("save", count, "", lambda: revised.save(file))
    whole = rows[0][2]
    assert isinstance(whole, float)
    return [[*row[:4], whole / float(row[4] or 1e-9)] for row in rows]
