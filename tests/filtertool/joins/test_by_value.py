"""Documents by join value: each share of the values gives its part of the rows of one process."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pytest

from extract.errors import DocumentError
from extract.filtertool.joins.by_value import PlacedRow, ValueJoins
from extract.filtertool.joins.chains import ChainJoins
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.joined import Joined
from extract.filtertool.joins.numbering import DocumentNumbers
from extract.filtertool.joins.shares import of_share
from extract.joins import Joins
from extract.limits import DEFAULTS, Limits
from extract.xscl.times import microseconds
from tests.support.join_streams import QUERIES, comparable, locally, stream_of


def by_value(
    queries: dict[str, str], documents: list[Any], shares: int, limits: Limits = DEFAULTS
) -> list[Joined]:
    """What Spark's tasks do, one after the other: share by share, and then what was published."""
    job = Joins(queries, limits=limits).job()
    joins, numbers = ValueJoins(job), DocumentNumbers(job)
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
    found: list[PlacedRow] = []
    for share in range(shares):
        joins.begin()
        mine = of_share(share, shares)
        for one, arrival in numbers.arrivals():
            document = pickle.loads(contents[one.key])
            if any(map(mine, joins.keys(document, joins.first))):
                arrival.number(document)
                found += joins.go_on(document, arrival, joins.first, mine)
    joins.begin()
    chain = ChainJoins(joins, joins.later, 0, {}, job.limits)
    rows: list[Joined] = []
    for one, arrival in numbers.arrivals():
        joins.times.accept(one.stream, one.time)
        own = [placed for placed in found if placed.trigger == arrival.clock]
        rows += chain.follow(one.stream, pickle.loads(contents[one.key]), arrival, own).rows
    return rows


@pytest.mark.parametrize(("seed", "block", "shares"), [(1, 2, 1), (2, 128, 3), (3, 4, 50)])
def test_rows_of_all_shares_are_those_of_one_process(
    seed: int, block: int, shares: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.filtertool.joins.store.BLOCK_DOCUMENTS", block)
    documents = stream_of(Random(seed), 30)
    expected, _ = locally(Joins(QUERIES), documents)
    assert {"follows", "ps", "pq"} <= {row.query for row in expected}
    assert comparable(by_value(QUERIES, documents, shares)) == comparable(expected)
    few = Limits(published=2)
    fewer, rejected = locally(Joins(QUERIES, limits=few), documents)
    assert len(fewer) < len(expected)
    assert "publish" in {one.stage for one in rejected}
    assert comparable(by_value(QUERIES, documents, shares, few)) == comparable(fewer)


def test_chains_are_queries_that_publish_what_others_read_and_these() -> None:
    def count(*names: str) -> tuple[int, int, int]:
        joins = ValueJoins(Joins({name: QUERIES[name] for name in names}).job())
        return len(joins.alone.pairs), len(joins.chained.pairs), len(joins.later.pairs)

    assert count("follows", "both", "p1") == (3, 0, 0)
    assert count("follows", "p1", "ps", "last") == (2, 2, 1)
    assert count("p1", "ps", "q", "qs", "follows") == (1, 4, 3)
    assert count(*QUERIES)[1] == len(QUERIES) - 5 - 1  # p2 has the graph of follows
