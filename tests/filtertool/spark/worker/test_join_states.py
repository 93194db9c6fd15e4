"""Joins of a stream, with a dictionary for Spark's state store."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pytest

from extract.errors import JoinError
from extract.filtertool.joins.arriving import queries_digest
from extract.filtertool.joins.by_value import ValueJoins
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.results.outcome import Rejection
from extract.filtertool.spark.worker.join_states import (
    GroupState,
    StreamJoins,
    join_group,
    packed_documents,
)
from extract.filtertool.spark.worker.join_tasks import read_rows
from extract.joins import Joins
from extract.limits import Limits
from tests.support.join_streams import (
    DEEP_QUERIES,
    QUERIES,
    comparable,
    deep_stream,
    locally,
    stream_of,
)

TIMES = {name: QUERIES[name] for name in ("follows", "both", "hidden", "p1")}
EVENTS = {name: QUERIES[name] for name in ("last", "after")}
CHAIN = {name: QUERIES[name] for name in ("p1", "p2", "ps")}
AFTER = (10**6, "c", "after", b"<z/>", "1000000")  # later than all windows


class States:
    """What Spark does with a batch: a row of its state store for each group."""

    def __init__(self, job: JoinJob, shares: int = 3, by_time: bool = False) -> None:
        self.job = job
        self.shares = shares
        self.by_time = by_time
        self.states: dict[int, bytes] = {}

    @property
    def stream(self) -> StreamJoins:
        digest = queries_digest(self.job)
        return StreamJoins(self.job, ValueJoins(self.job), self.shares, self.by_time, digest)

    def take(self, batch: list[Any]) -> list[tuple[Any, ...]]:
        stream = self.stream  # as after a restart
        packs: dict[int, list[bytes]] = {}
        for task, start in enumerate(range(0, len(batch), 3)):
            rows = read_rows(stream.joins, self.job.limits, batch[start : start + 3])
            for group, pack in packed_documents(stream, rows, task):
                packs.setdefault(group, []).insert(0, pack)  # shuffles keep no order
        found: list[tuple[Any, ...]] = []
        for group, some in packs.items():
            state, packed = join_group(stream, group, self.states.get(group), some)
            self.states[group] = state
            found += [row for one in packed for row in pickle.loads(one)]
        return found

    def kept(self) -> int:
        states = [GroupState.load(state, self.stream) for state in self.states.values()]
        return sum([len(block) for state in states for block in state.kept])


@pytest.mark.parametrize(
    "queries",
    [TIMES, EVENTS, TIMES | EVENTS, CHAIN, QUERIES],
    ids=["times", "events", "both", "chain", "all"],
)
def test_batches_give_the_rows_of_one_process_and_let_go_of_state(queries: dict[str, str]) -> None:
    for seed in range(6):
        random = Random(seed)
        documents = [*stream_of(random, 40), AFTER]
        documents += [(10**6 + n, *AFTER[1:]) for n in range(1, 6)]  # past windows in events
        documents += [(10**6 + n, "a", *AFTER[2:]) for n in range(6, 9)]
        documents += [(10**6 + n, "b", *AFTER[2:]) for n in range(9, 12)]
        joins = Joins(queries)
        rows, rejected = locally(joins, documents)
        states = States(Joins(queries).job(), random.choice([1, 2, 16]))
        found, most = [], 0
        while documents:
            size = random.randint(1, 9)
            found += states.take(documents[:size])
            documents = documents[size:]
            most = max(most, states.kept())
        joined = [(*row[:7], dict(row[7]), row[8]) for row in found if row[9] is None]
        assert comparable(joined) == comparable(rows)
        assert len(rows) > 20
        told = [Rejection(**row[9]) for row in found if row[9] is not None]
        assert sorted(map(repr, told)) == sorted(map(repr, rejected))
        assert most > 0
        if queries is not QUERIES:  # which keep the last documents of published streams
            assert joins.state.documents == 0
            assert states.kept() == 0


def compare(seed: int) -> int:
    """Compares batches of a random stream with one process; returns how many rows there are."""
    random = Random(seed)
    names = random.sample(list(QUERIES), random.randint(1, len(QUERIES)))
    queries = {name: QUERIES[name] for name in QUERIES if name in names}
    lateness = random.choice([None, 0, 1, 30])
    limits = Limits(published=random.choice([0, 1, 3, 1_000]))
    alone = Joins(queries, lateness=lateness, limits=limits)
    job = Joins(queries, lateness=lateness, limits=limits).job()
    states = States(job, random.choice([1, 2, 5, 16]), by_time=random.random() < 0.5)
    documents = stream_of(random, random.randint(1, 60))
    expected: list[Any] = []
    found: list[Any] = []
    rejected: list[Any] = []
    while documents:
        size = random.randint(1, 20)
        batch, documents = documents[:size], documents[size:]
        if states.by_time:
            batch = [(0, *one[1:]) for one in batch]
        found += states.take(batch)
        if states.by_time:
            batch.sort(key=lambda one: (float(one[4]), one[2]))
        rows, some = locally(alone, batch)
        expected += rows
        rejected += some
    joined = [(*row[:7], dict(row[7]), row[8]) for row in found if row[9] is None]
    assert comparable(joined) == comparable(expected)
    told = [Rejection(**row[9]) for row in found if row[9] is not None]
    assert sorted(map(repr, told)) == sorted(map(repr, rejected))
    return len(expected)


def test_random_batches_by_time_or_by_number_give_the_rows_of_one_process() -> None:
    assert sum([compare(seed) for seed in range(12)]) > 1_000


@pytest.mark.slow
def test_many_random_batches_give_the_rows_of_one_process() -> None:
    assert sum([compare(seed) for seed in range(12, 400)]) > 30_000


def test_a_published_document_that_cannot_be_read_stops_nothing() -> None:
    rows, rejected = locally(Joins(DEEP_QUERIES), deep_stream())
    states = States(Joins(DEEP_QUERIES).job())
    found = [row for one in deep_stream() for row in states.take([one])]
    joined = [(*row[:7], dict(row[7]), row[8]) for row in found if row[9] is None]
    assert comparable(joined) == comparable(rows)
    assert [Rejection(**row[9]) for row in found if row[9] is not None] == rejected != []


def test_a_checkpoint_of_other_queries_is_refused() -> None:
    states = States(Joins(TIMES).job())
    states.take([(0, "a", "d", b"<o/>", "0")])
    states.job = Joins(EVENTS).job()
    with pytest.raises(JoinError, match="other queries"):
        states.take([(1, "a", "d", b"<o/>", "0")])
    states = States(Joins(TIMES).job())
    states.take([(0, "a", "d", b"<o/>", "0")])
    states.shares += 1
    with pytest.raises(JoinError, match="or shares"):
        states.take([(1, "a", "d", b"<o/>", "0")])


def test_a_published_stream_takes_no_documents() -> None:
    with pytest.raises(JoinError, match="published by a query"):
        States(Joins(TIMES).job()).take([(0, "p", "d", b"<o/>", "0")])


def test_a_state_runs_no_code() -> None:
    states = States(Joins(TIMES).job())
    states.states[0] = pickle.dumps(print)
    with pytest.raises(JoinError, match=r"the checkpoint has a builtins\.print"):
        states.take([(0, "a", "d", b"<o/>", "0")])
