"""One document leads to so many published ones at most, the same on every engine."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from extract.broker.settings import BrokerSettings, limits_from
from extract.filtertool.joins.inputs import JoinInput
from extract.filtertool.joins.joined import Joined
from extract.filtertool.results.outcome import Rejection
from extract.joins import Joins
from extract.limits import Limits
from tests.support.broker_server import served
from tests.support.commands import run

COPIES = 10
LINKS = {
    f"c{n}": f"SELECT <o><k>{{i}}</k></o> FROM s{n}//o->x[k->i] JOIN{{i=j, 9 EVENTS}} "
    f"s//o->y[k->j] PUBLISH s{n + 1}"
    for n in range(1, 12)
}
BEGIN = "SELECT <o><k>{i}</k></o> FROM a//o->x[k->i] JOIN{i=j, 9 EVENTS} s//o->y[k->j] PUBLISH s1"
CHAIN = {"c0": BEGIN, **LINKS}
MANY = b"<r>" + b"<o><k>1</k></o>" * COPIES + b"</r>"
ONE = b"<o><k>1</k></o>"


def outcome(most: int) -> tuple[list[Any], list[Any]]:
    joins = Joins(CHAIN, limits=Limits(published=most))
    assert joins.process("s", "s1", MANY, 0) == []
    rows = joins.process("a", "a1", ONE, 1)
    return rows, list(joins.rejected)


def test_a_chain_of_joins_ends_at_a_limit() -> None:
    rows, rejected = outcome(1_000)
    # 10 + 100 + 890 are published, and each of these 1,000 and a1 has ten rows.
    assert len(rows) == 10 * (1 + 1_000)
    assert [(one.document, one.query, one.stage) for one in rejected] == [
        ("a1", "c2", "publish"),
        ("a1", "c3", "publish"),
    ]
    assert "more than 1,000 published ones (--max-published)" in rejected[0].reason


@pytest.mark.parametrize("most", [0, 1, 10, 11, 57])
def test_the_first_are_published_and_joined(most: int) -> None:
    rows, rejected = outcome(most)
    assert len(rows) == 10 * (1 + most)
    assert len({row.left for row in rows}) == 1 + most
    assert {(one.document, one.stage) for one in rejected} == {("a1", "publish")}
    assert outcome(most) == (rows, rejected)


def test_the_next_document_publishes_again_and_what_nobody_reads_is_not_counted() -> None:
    joins = Joins({"c0": BEGIN}, limits=Limits(published=3))
    joins.process("s", "s1", MANY, 0)
    assert len(joins.process("a", "a1", ONE, 1)) == 10
    assert not joins.rejected
    joins.add({"c1": LINKS["c1"]})
    joins.process("s", "s2", MANY, 2)
    for name in ("a2", "a3"):
        rows = joins.process("a", name, ONE, 3)
        assert len({row.left for row in rows if row.query == "c1"}) == 3
        assert [(one.document, one.query) for one in joins.rejected] == [(name, "c0")]


def test_several_processes_publish_the_same() -> None:
    queries = {**CHAIN, "b0": CHAIN["c0"].replace("s1", "z1"), "b1": "z1/o->x JOIN{x=y, 1} a/o->y"}
    named = [("s", "s1", MANY), ("a", "a1", ONE), ("a", "a2", ONE)]
    inputs = [JoinInput(*one, Decimal(time)) for time, one in enumerate(named)]
    limits = Limits(published=57)
    joins = Joins(queries, limits=limits)
    rows: list[Joined] = []
    rejected: list[Rejection] = []
    for one in inputs:
        rows += joins.process(*one)
        rejected += joins.rejected
    parallel = Joins(queries, limits=limits).parallel(2)
    try:
        results = list(parallel.results(inputs))
    finally:
        parallel.close()
    assert [row for one in results for row in one.rows] == rows
    assert [why for one in results for why in one.rejections] == rejected
    assert {one.document for one in rejected} == {"a1", "a2"}


def test_the_command_has_the_limit(tmp_path: Path) -> None:
    queries = tmp_path / "joins.tsv"
    queries.write_text("".join([f"{name}\t{text}\n" for name, text in CHAIN.items()]))
    for stream, data in (("s", MANY), ("a", ONE)):
        (tmp_path / f"{stream}.xml").write_bytes(data)
    given = [f"s={tmp_path / 's.xml'}", f"a={tmp_path / 'a.xml'}", "-o", str(tmp_path / "out")]
    options = ["--queries", str(queries), "--limit", "published=11", "--engine", "local"]
    result = run("join", *options, *given)
    assert result.exit_code == 1, result.output
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["rows"] == 120
    assert report["rejections"] == {"publish": 2}
    assert report["documents"] == {"seen": 2, "processed": 2, "rejected": 0, "late": 0}


def test_a_broker_tells_owners_what_was_not_published(tmp_path: Path) -> None:
    settings = BrokerSettings(limits=limits_from(["published=11"]))
    with served(tmp_path, settings, synchronous=False) as asked:
        for feed in ("a", "s"):
            asked.put_feed(feed)
        asked.put("all", "a", xpath="/*", select="doc")
        for number, (name, text) in enumerate(CHAIN.items()):
            assert asked.put(name, "a", xscl=text).status == 201, name
            asked.post("<z/>", "z", feed="a")  # when it is told, what is read is published
            asked.all_notifications("all", number + 1)
        asked.post(MANY, "s1", feed="s")
        asked.post(ONE, "a1", feed="a")
        assert len(asked.all_notifications("c2", 10)) == 10
        told = asked.ask("GET", "/feeds/a/rejections").json["rejections"]
        assert {(one["document"], one["query"], one["stage"]) for one in told} == {
            ("a1", "c1", "publish"),
            ("a1", "c2", "publish"),
        }
