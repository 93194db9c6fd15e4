"""Documents by join value: each value alone gives its part of the rows of one process."""

from __future__ import annotations

import pickle
from collections import defaultdict
from random import Random
from typing import Any

import pytest

from extract.errors import DocumentError
from extract.filtertool.joins.by_value import PlacedRow, ValueJoins
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.joined import Joined
from extract.filtertool.joins.numbering import Arrival, DocumentNumbers, PublishedBy
from extract.joins import Joins
from extract.xscl.times import microseconds
from tests.support.join_streams import QUERIES, comparable, locally, stream_of


def by_value(queries: dict[str, str], documents: list[Any]) -> list[Joined]:
    """What Spark's tasks do, one after the other: stage by stage, and there value by value."""
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
        if numbers.late(name, moment) is None:
            numbers.accept((place, 0), stream, name, moment)
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
        joins.begin()
        found = _stage(joins, stage, {one.key: a for one, a in numbers.arrivals()}, contents)
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
    arrivals: dict[tuple[int, int], Arrival],
    contents: dict[tuple[int, int], bytes],
) -> list[PlacedRow]:
    values: dict[bytes, list[tuple[JoinDocument, Arrival]]] = defaultdict(list)
    for place, arrival in arrivals.items():
        for key in joins.keys(pickle.loads(contents[place]), stage):
            document: JoinDocument = pickle.loads(contents[place])
            arrival.number(document)
            values[key].append((document, arrival))
    found: list[PlacedRow] = []
    for key, documents in values.items():
        found += joins.join(key, stage, sorted(documents, key=lambda one: one[1].clock))
    return found


@pytest.mark.parametrize(("seed", "block"), [(1, 2), (2, 128)])
def test_rows_of_all_values_are_those_of_one_process(
    seed: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.filtertool.joins.store.BLOCK_DOCUMENTS", block)
    documents = stream_of(Random(seed), 30)
    expected, _ = locally(Joins(QUERIES), documents)
    assert {"follows", "ps", "pq"} <= {row.query for row in expected}
    assert comparable(by_value(QUERIES, documents)) == comparable(expected)
