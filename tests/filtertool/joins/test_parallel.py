"""Joins in several processes: the rows of one process, in the same order, from any state on."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from extract.errors import JoinError
from extract.filtertool.joins import parallel as parallel_module
from extract.filtertool.joins.inputs import JoinInput
from extract.joins import Joins
from tests.support.join_streams import DEEP_QUERIES, QUERIES, deep_stream, locally, stream_of


def inputs(documents: list[Any]) -> Iterator[JoinInput]:
    for _, stream, name, data, time in documents:
        yield JoinInput(stream, name, data, Decimal(time))


def in_processes(joins: Joins, documents: list[Any], jobs: int) -> tuple[list[Any], list[Any]]:
    """Rows and rejections of several processes; afterwards ``joins`` remembers what they did."""
    shared = joins.parallel(jobs)
    rows: list[Any] = []
    rejected: list[Any] = []
    try:
        for result in shared.results(inputs(documents)):
            rows += result.rows
            rejected += result.rejections
        joins.take_over(shared.end())
    finally:
        shared.close()
    return rows, rejected


@pytest.mark.parametrize(("seed", "jobs"), [(1, 2), (2, 3)])
def test_rows_and_their_order_are_those_of_one_process(
    seed: int, jobs: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parallel_module, "BATCH", 7)
    documents = stream_of(Random(seed), 60)
    alone, several = Joins(QUERIES), Joins(QUERIES)
    expected = locally(alone, documents[:34])
    assert {"follows", "qs", "end"} <= {row.query for row in expected[0]}
    assert in_processes(several, documents[:34], jobs) == expected
    several.save(tmp_path / "state")
    several = Joins.restore(tmp_path / "state")
    assert in_processes(several, documents[34:48], jobs) == locally(alone, documents[34:48])
    assert locally(several, documents[48:]) == locally(alone, documents[48:])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 30))
def test_rows_are_those_of_one_process_for_more_streams(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    monkeypatch.setattr(parallel_module, "BATCH", random.choice([1, 5, 20]))
    names = random.sample(list(QUERIES), random.randint(3, len(QUERIES)))
    queries = {name: QUERIES[name] for name in QUERIES if name in names}
    documents = stream_of(random, 120)
    alone, several = Joins(queries), Joins(queries)
    cut = random.randrange(120)
    for part in (documents[:cut], documents[cut:]):
        assert in_processes(several, part, random.choice([2, 3])) == locally(alone, part)


def test_a_published_document_that_cannot_be_read_stops_nothing() -> None:
    expected = locally(Joins(DEEP_QUERIES), deep_stream())
    assert len(expected[1]) == 5
    assert in_processes(Joins(DEEP_QUERIES), deep_stream(), 2) == expected


def test_errors_of_several_processes() -> None:
    shared = Joins({"p": QUERIES["p1"]}).parallel(2)
    with pytest.raises(JoinError, match="published by a query"):
        list(shared.results([JoinInput("p", "x", b"<o/>", Decimal(0))]))
    shared.close()


def test_all_processes_together_keep_to_the_limit_and_tell_what_they_drop() -> None:
    queries = {name: QUERIES[name] for name in ("both", "last", "hidden")}
    documents = stream_of(Random(4), 80)
    expected, rejected = locally(Joins(queries), documents)
    joins = Joins(queries, max_state=30_000, when_full="drop")
    shared = joins.parallel(3)
    rows, told, most = [], [], 0
    try:
        for result in shared.results(inputs(documents)):
            rows += result.rows
            told += result.rejections
            most = max(most, shared.state.bytes)
    finally:
        shared.close()
    dropped = [one.document for one in told if one.stage == "state"]
    assert len(set(dropped)) == len(dropped) > 0  # each is told once
    assert [one for one in told if one.stage != "state"] == rejected
    assert 0 < most <= 30_000
    missing = [row for row in expected if row not in rows]
    assert missing
    assert all(row.left in dropped or row.right in dropped for row in missing)
    assert [row for row in expected if row in rows] == rows


def test_a_process_that_is_full_stops_all() -> None:
    shared = Joins(QUERIES, max_state=30_000).parallel(2)
    with pytest.raises(JoinError, match="10,000 bytes") as raised:
        list(shared.results(inputs(stream_of(Random(4), 80))))
    assert "--when-full drop" in str(raised.value)
    shared.close()
