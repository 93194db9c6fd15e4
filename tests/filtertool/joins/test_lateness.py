"""Lateness goes by the streams that a query reads: the time of others makes nothing late."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from extract.filtertool.joins.inputs import JoinInput
from extract.filtertool.joins.joined import Joined
from extract.filtertool.results.outcome import Rejection
from extract.joins import Joins
from extract.xscl.times import microseconds
from tests.support.broker_server import XML, served

PAIR = "{0}//o->x[k->i] {1}{{i=j, {2}}} {3}//p->y[k->j]"
ORDER, PACK, OTHER = b"<o><k>7</k></o>", b"<p><k>7</k></p>", b"<z/>"


def late(joins: Joins) -> list[tuple[str | None, str | None]]:
    assert {one.stage for one in joins.rejected} <= {"late"}
    return [(one.query, one.document) for one in joins.rejected]


def test_a_feed_that_no_join_reads_makes_nothing_late() -> None:
    joins = Joins({"q": PAIR.format("a", "FOLLOWED BY", 10, "b")})
    joins.process("a", "a1", ORDER, 0)
    joins.process("other", "future", OTHER, 3600)
    [row] = joins.process("b", "b1", PACK, 5)
    assert (row.left, row.right, joins.rejected) == ("a1", "b1", ())


def test_a_document_that_is_late_for_one_query_is_joined_by_another() -> None:
    ab, bc = PAIR.format("a", "JOIN", 10, "b"), PAIR.format("c", "JOIN", 10, "b")
    joins = Joins({"ab": ab, "bc": bc})
    joins.process("c", "c1", ORDER, 0)
    joins.process("a", "a1", ORDER, 1_000)
    [row] = joins.process("b", "b1", PACK, 5)
    assert (row.query, row.left) == ("bc", "c1")
    assert late(joins) == [("ab", "b1")]
    assert joins.process("a", "a2", ORDER, 991) == []  # not even what would be in the window of b1
    [row] = joins.process("c", "c2", ORDER, 6)
    assert (row.query, row.left, row.right, row.right_seq) == ("bc", "c2", "b1", 2)


def test_what_is_late_for_all_that_read_it_has_no_number() -> None:
    joins = Joins({n: PAIR.format("a", "JOIN", 10, "b") for n in ("q", "r")})
    joins.process("a", "a1", ORDER, 100)
    joins.process("b", "b1", PACK, 80)
    assert late(joins) == [("q", "b1"), ("r", "b1")]
    assert joins.accepted == 1
    assert [row.right_seq for row in joins.process("b", "b2", PACK, 90)] == [1, 1]


def test_windows_in_events_take_any_time_beside_windows_in_time() -> None:
    events, timed = PAIR.format("a", "JOIN", "5 EVENTS", "b"), PAIR.format("a", "JOIN", 10, "b")
    joins = Joins({"events": events, "time": timed})
    joins.process("a", "a1", ORDER, 1_000)
    [row] = joins.process("b", "b1", PACK, 0)
    assert (row.query, late(joins)) == ("events", [("time", "b1")])
    joins = Joins({"events": events}, lateness=10)  # which was asked for
    joins.process("a", "a1", ORDER, 1_000)
    assert joins.process("b", "b1", PACK, 0) == []
    assert late(joins) == [("events", "b1")]


def test_the_lateness_is_that_of_the_queries_that_are_there() -> None:
    wide, narrow = PAIR.format("a", "JOIN", 100, "b"), PAIR.format("a", "JOIN", 10, "b")
    joins = Joins({"wide": wide, "narrow": narrow})
    joins.process("a", "a1", ORDER, 1_000)
    assert len(joins.process("b", "b1", PACK, 995)) == 2
    joins.process("b", "b2", PACK, 950)
    assert late(joins) == []
    joins.remove(["wide"])
    joins.process("b", "b3", PACK, 950)
    assert late(joins) == [("narrow", "b3")]
    joins.add({"wide": wide})
    joins.process("b", "b4", PACK, 950)
    assert late(joins) == [("narrow", "b4")]  # what was late stays late
    assert [row.query for row in joins.process("a", "a2", ORDER, 960)] == ["wide"]
    assert late(joins) == [("narrow", "a2")]


def test_a_query_goes_by_all_streams_that_lead_to_it() -> None:
    joins = Joins(
        {
            "p": f"SELECT <o>{{i}}</o> FROM {PAIR.format('a', 'JOIN', 10, 'b')} PUBLISH p",
            "q": PAIR.format("p", "JOIN", 10, "c"),
        }
    )
    joins.process("a", "a1", ORDER, 0)
    joins.process("c", "c1", PACK, 100)
    rows = joins.process("b", "b1", PACK, 5)
    assert [row.query for row in rows] == ["p"]
    assert late(joins) == [("q", "p#0")]  # 5 is published when c is at 100
    joins.process("a", "a2", ORDER, 200)
    joins.process("c", "c2", PACK, 150)
    assert late(joins) == [("q", "c2")]


def test_a_stream_that_stands_still_keeps_nothing_of_others() -> None:
    joins = Joins(
        {
            "still": PAIR.format("a", "JOIN", 10, "b"),
            "busy": PAIR.format("c", "JOIN", 10, "d"),
            "half": PAIR.format("a", "JOIN", 10, "d"),
        }
    )
    joins.process("a", "a1", ORDER, 0)
    most = 0
    for number in range(2_000):
        joins.process("cd"[number % 2], f"n{number}", [ORDER, PACK][number % 2], number)
        most = max(most, joins.state.documents)
    assert most < 600  # a few blocks


def test_others_windows_keep_nothing_longer() -> None:
    wide = {"wide": PAIR.format("a", "JOIN", 10**6, "b")}
    joins = Joins({**wide, "q": PAIR.format("c", "JOIN", 10, "d")})
    for number in range(2_000):
        joins.process("cd"[number % 2], f"n{number}", [ORDER, PACK][number % 2], number)
    assert joins.state.documents < 600


def test_the_time_of_arrival_is_that_of_streams_that_are_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_000_000_000_000_000
    monkeypatch.setattr("extract.joins.time_ns", lambda: now * 1_000)
    joins = Joins({"q": PAIR.format("a", "FOLLOWED BY", 10, "b")})
    joins.process("other", "future", OTHER, now / 1e6 + 3600)
    joins.process("a", "a1", ORDER)
    now -= 7_200_000_000  # the clock of the machine goes back
    [row] = joins.process("b", "b1", PACK)
    assert (row.left_time, row.right_time) == (now + 7_200_000_000, now + 7_200_000_001)
    assert joins.rejected == ()


def test_a_snapshot_has_how_far_each_query_has_come(tmp_path: Path) -> None:
    ab, bc = PAIR.format("a", "JOIN", 10, "b"), PAIR.format("c", "JOIN", 10, "b")
    joins = Joins({"ab": ab, "bc": bc})
    joins.process("c", "c1", ORDER, 0)
    joins.process("a", "a1", ORDER, 1_000)
    joins.process("b", "b1", PACK, 5)
    joins.add({"wide": PAIR.format("a", "JOIN", 5_000, "b")})
    joins.save(tmp_path / "state")
    joins = Joins.restore(tmp_path / "state")
    assert joins.process("a", "a2", ORDER, 985) == []
    assert late(joins) == [("ab", "a2")]
    assert [row.query for row in joins.process("a", "a3", ORDER, 991)] == []  # b1 was late for it
    [row] = joins.process("c", "c2", ORDER, 6)
    assert (row.query, row.right) == ("bc", "b1")


def test_a_snapshot_of_the_first_format_goes_on(tmp_path: Path) -> None:
    joins = Joins({"q": PAIR.format("a", "JOIN", 10, "b")})
    joins.process("a", "a1", ORDER, 100)
    joins.save(tmp_path / "state")
    state = tmp_path / "state" / "joins.json"
    facts = json.loads(state.read_text())
    del facts["times"]
    facts |= {"format": 1, "latest": 100_000_000, "horizon": 90_000_000}
    state.write_text(json.dumps(facts))
    for name, column in (("documents", "late"), ("queries", "timeline")):
        place = tmp_path / "state" / f"{name}.parquet"
        pq.write_table(pq.read_table(place).drop_columns([column]), place)
    joins = Joins.restore(tmp_path / "state")
    joins.process("b", "b1", PACK, 89)
    assert late(joins) == [("q", "b1")]
    assert len(joins.process("b", "b2", PACK, 90)) == 1


def test_a_run_on_several_cores_goes_by_the_streams_of_each_query() -> None:
    ab, bc = PAIR.format("a", "JOIN", 10, "b"), PAIR.format("c", "JOIN", 10, "b")
    made = f"SELECT <o>{{i}}</o> FROM {PAIR.format('c', 'JOIN', 10, 'b')} PUBLISH p"
    queries = {"ab": ab, "bc": bc, "made": made, "read": PAIR.format("p", "JOIN", 10, "a")}
    documents = [("c", ORDER, 0), ("other", OTHER, 9_000), ("a", ORDER, 1_000), ("b", PACK, 5)]
    documents += [("a", PACK, 992), ("c", ORDER, 6), ("b", PACK, 1_001), ("a", OTHER, 20)]
    inputs = [
        JoinInput(stream, f"d{n}", data, microseconds(time) / 1_000_000)  # type: ignore[arg-type]
        for n, (stream, data, time) in enumerate(documents)
    ]
    joins = Joins(queries)
    rows: list[Joined] = []
    rejected: list[Rejection] = []
    for one in inputs:
        rows += joins.process(*one)
        rejected += joins.rejected
    parallel = Joins(queries).parallel(2)
    try:
        results = list(parallel.results(inputs))
    finally:
        parallel.close()
    assert [row for one in results for row in one.rows] == rows
    assert [why for one in results for why in one.rejections] == rejected
    assert {(why.query, why.document) for why in rejected} >= {("ab", "d3"), ("read", "p#0")}
    assert sum([one.is_accepted for one in results]) == joins.accepted == len(inputs) - 1


def test_in_a_broker_the_time_of_others_makes_nothing_late(tmp_path: Path) -> None:
    now = time.time()
    with served(tmp_path, synchronous=False) as asked:

        def post(feed: str, data: bytes, moment: float) -> None:
            path = f"/feeds/{feed}/documents?name={feed}&time={moment}"
            assert asked.ask("POST", path, data, XML).status == 202

        for feed in ("mine", "yours", "other"):
            asked.put_feed(feed)
        asked.put("j", "mine", xscl=PAIR.format("mine", "FOLLOWED BY", 5, "yours"))
        asked.put("k", "mine", xscl=PAIR.format("other", "FOLLOWED BY", 5, "yours"))
        post("mine", ORDER, now)
        post("other", OTHER, now + 55)
        post("yours", PACK, now + 1)
        [row] = asked.all_notifications("j", 1)
        assert (row["left"]["document"], row["right"]["document"]) == ("mine", "yours")
        [told] = asked.ask("GET", "/feeds/yours/rejections").json["rejections"]
        assert (told["query"], told["document"], told["stage"]) == ("k", "yours", "late")


def test_what_was_between_two_documents_makes_nothing_late() -> None:
    """A query that has answered nothing goes by the queries that there are, not that there were."""
    feeds = PAIR.format("other", "JOIN", 5, "other") + " PUBLISH p"
    joins = Joins()
    joins.process("other", "future", OTHER, 10_000)
    joins.add({"feeds": f"SELECT <o/> FROM {feeds}"})
    joins.add({"q": PAIR.format("a", "JOIN", 2, "p")})
    joins.remove(["feeds"])
    joins.process("a", "a1", ORDER, 4)
    assert joins.rejected == ()
    [row] = joins.process("p", "p1", PACK, 5)
    assert (row.left, joins.rejected) == ("a1", ())


@pytest.mark.parametrize("order", [("narrow", "wide"), ("wide", "narrow")])
def test_queries_that_come_together_have_one_lateness(order: tuple[str, str]) -> None:
    queries = {"narrow": PAIR.format("a", "JOIN", 1, "b"), "wide": PAIR.format("a", "JOIN", 9, "c")}
    joins = Joins()
    joins.process("a", "a1", ORDER, 100)
    for name in order:
        joins.add({name: queries[name]})
    joins.process("b", "b1", PACK, 95)
    assert joins.rejected == ()
