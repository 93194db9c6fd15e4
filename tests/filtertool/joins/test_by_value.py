"""Documents by join value: each share of the values gives its part of the rows of one process."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pytest

from extract.errors import DocumentError
from extract.filtertool.joins.by_value import PlacedRow, ValueJoins
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.joined import Joined
from extract.filtertool.joins.numbering import Arrival, DocumentNumbers, PublishedBy
from extract.filtertool.joins.shares import of_share
from extract.joins import Joins
from extract.xscl.times import microseconds
from tests.support.join_streams import QUERIES, comparable, locally, stream_of


def by_value(queries: dict[str, str], documents: list[Any], shares: int) -> list[Joined]:
    """What Spark's tasks do, one after the other: stage by stage, and there share by share."""
    job = Joins(queries).job()
    joins, numbers, stages = ValueJoins(job), DocumentNumbers(job), job.stages()
    contents: dict[tuple[int, int], bytes] = {}
    for place, stream, name, data, time in documents:
        document = JoinDocument(stream, name, 0, 0, 0, -1, False, data)
        moment = microseconds(time)
        try:
            joins.read(document)
        except DocumentError:
            continue
        late = numbers.late(stream, name, moment)
        if not late.whole:
            numbers.accept((place, 0), stream, name, moment, late)
            contents[place, 0] = pickle.dumps(document)
    rows: list[Joined] = []
    waiting: list[tuple[str, PublishedBy, str]] = []
    for stage in range(max(stages.values()) + 1):
        complete = {
            stream: 1 + max(stages[m.id] for m, _ in job.queries if m.publish == stream)
            for stream in job.published
        }
        ready = [one for one in waiting if complete[one[0]] == stage]
        for number, (stream, made, output) in enumerate(ready):
            key = (-1 - stage, number)
            numbers.publish(key, stream, made)
            document = JoinDocument(stream, stream, 0, 0, 0, -1, True, output.encode())
            joins.read(document)
            contents[key] = pickle.dumps(document)
        arrivals = {one.key: arrival for one, arrival in numbers.arrivals()}
        found = _stage(joins, stage, shares, arrivals, contents)
        known = numbers.known
        for placed in found:
            assert isinstance(placed.row, Joined)
            rows.append(placed.row)
            made = PublishedBy(known[placed.left], known[placed.right], placed.order, placed.rank)
            if placed.publish:
                waiting.append((placed.publish, made, placed.row.output))
    return rows


def _stage(
    joins: ValueJoins,
    stage: int,
    shares: int,
    arrivals: dict[tuple[int, int], Arrival],
    contents: dict[tuple[int, int], bytes],
) -> list[PlacedRow]:
    part = joins.stage(stage)
    found: list[PlacedRow] = []
    for share in range(shares):
        joins.begin()
        mine = of_share(share, shares)
        for place, arrival in sorted(arrivals.items(), key=lambda one: one[1].clock):
            document: JoinDocument = pickle.loads(contents[place])
            if any(map(mine, joins.keys(document, part))):
                arrival.number(document)
                found += joins.go_on(document, arrival, part, mine)
    return found


@pytest.mark.parametrize(("seed", "block", "shares"), [(1, 2, 1), (2, 128, 3), (3, 4, 50)])
def test_rows_of_all_shares_are_those_of_one_process(
    seed: int, block: int, shares: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.filtertool.joins.store.BLOCK_DOCUMENTS", block)
    documents = stream_of(Random(seed), 30)
    expected, _ = locally(Joins(QUERIES), documents)
    assert {"follows", "ps", "pq"} <= {row.query for row in expected}
    assert comparable(by_value(QUERIES, documents, shares)) == comparable(expected)


def test_chains_are_queries_that_publish_and_read_one_stream() -> None:
    def count(*names: str) -> tuple[int, list[int]]:
        joins = ValueJoins(Joins({name: QUERIES[name] for name in names}).job())
        return len(joins.alone.pairs), [len(chain.pairs) for chain in joins.chains]

    assert count("follows", "both", "p1") == (3, [])
    assert count("follows", "p1", "ps", "last") == (2, [2])
    assert count("p1", "ps", "q", "qs", "follows") == (1, [4])
    assert count(*QUERIES)[1] == [len(QUERIES) - 5 - 1]  # p2 has the graph of follows
    chain = Joins(
        {
            "1": "SELECT <o/> FROM a//o->x JOIN{x=y, 1} a//o->y PUBLISH m",
            "2": "SELECT <o/> FROM b//o->x JOIN{x=y, 1} b//o->y PUBLISH n",
            "3": "m//o->x JOIN{x=y, 1} a//o->y",
            "4": "n//o->x JOIN{x=y, 1} a//o->y",
        }
    )
    parts = ValueJoins(chain.job()).chains
    assert [len(part.pairs) for part in parts] == [2, 2]
    chain.add({"5": "SELECT <o/> FROM b//o->x JOIN{x=y, 2} b//o->y PUBLISH m"})  # the graph of 2
    assert [len(part.pairs) for part in ValueJoins(chain.job()).chains] == [4]
