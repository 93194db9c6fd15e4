"""Joins of a stream, with a dictionary for Spark's state store."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pytest

from extract.errors import JoinError
from extract.filtertool.joins.by_value import ValueJoins
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.results.outcome import Rejection
from extract.filtertool.spark.worker.join_states import join_value, number_documents, with_keys
from extract.filtertool.spark.worker.join_tasks import JOINED, read_rows
from extract.joins import Joins
from tests.support.join_streams import QUERIES, comparable, locally, stream_of

FIRST = JOINED.names.index("query")
TIMES = {name: QUERIES[name] for name in ("follows", "both", "hidden", "p1")}
EVENTS = {name: QUERIES[name] for name in ("last", "after")}
AFTER = (10**6, "c", "after", b"<z/>", "1000000")  # later than all windows


class States:
    """What Spark does with a batch: one state for all numbers, and one for each value."""

    def __init__(self, job: JoinJob) -> None:
        self.job = job
        self.numbers: bytes | None = None
        self.values: dict[bytes, bytes] = {}

    def take(self, batch: list[Any]) -> list[tuple[Any, ...]]:
        joins = ValueJoins(self.job)  # as after a restart
        packed = [row for (row,) in with_keys(joins, read_rows(joins, self.job.limits, batch))]
        self.numbers, numbered = number_documents(self.job, self.numbers, packed, by_time=False)
        rows: dict[bytes, list[tuple[int, bytes]]] = {}
        for key, clock, document in numbered:
            rows.setdefault(key, []).append((clock, document))
        found: list[tuple[Any, ...]] = []
        for key, of_key in rows.items():
            state, packed_rows = join_value(joins, key, self.values.pop(key, None), of_key)
            if state is not None:
                self.values[key] = state
            found += [pickle.loads(one)[FIRST:] for one in packed_rows]
        return found


@pytest.mark.parametrize("queries", [TIMES, EVENTS, TIMES | EVENTS], ids=["times", "events", "all"])
def test_batches_give_the_rows_of_one_process_and_let_go_of_state(queries: dict[str, str]) -> None:
    for seed in range(8):
        random = Random(seed)
        documents = [*stream_of(random, 40), AFTER]
        documents += [(10**6 + n, *AFTER[1:]) for n in range(1, 6)]  # past windows in events
        documents += [(10**6 + n, "a", *AFTER[2:]) for n in range(6, 9)]
        documents += [(10**6 + n, "b", *AFTER[2:]) for n in range(9, 12)]
        joins = Joins(queries)
        rows, rejected = locally(joins, documents)
        states, found, most = States(Joins(queries).job()), [], 0
        while documents:
            size = random.randint(1, 9)
            found += states.take(documents[:size])
            documents = documents[size:]
            most = max(most, len(states.values))
        joined = [(*row[:7], dict(row[7]), row[8]) for row in found if row[9] is None]
        assert comparable(joined) == comparable(rows)
        assert {row[0] for row in rows} == set(queries)
        told = [Rejection(**row[9]) for row in found if row[9] is not None]
        assert sorted(map(repr, told)) == sorted(map(repr, rejected))
        assert most > 0
        assert joins.state.documents == 0
        assert states.values == {}


def test_a_checkpoint_of_other_queries_is_refused() -> None:
    states = States(Joins(TIMES).job())
    states.take([(0, "a", "d", b"<o/>", "0")])
    states.job = Joins(EVENTS).job()
    with pytest.raises(JoinError, match="other queries"):
        states.take([(1, "a", "d", b"<o/>", "0")])


def test_a_published_stream_takes_no_documents() -> None:
    with pytest.raises(JoinError, match="published by a query"):
        States(Joins(TIMES).job()).take([(0, "p", "d", b"<o/>", "0")])


def test_a_state_runs_no_code() -> None:
    states = States(Joins(TIMES).job())
    states.numbers = pickle.dumps(print)
    with pytest.raises(JoinError, match=r"the checkpoint has a builtins\.print"):
        states.take([(0, "a", "d", b"<o/>", "0")])
