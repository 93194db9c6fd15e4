"""Joins keep to limits: what passes one is told, once for each query."""

from __future__ import annotations

from typing import Any

import pytest

from extract.filtertool.processes.sandbox import Before, Sandbox, TimeLimit
from extract.joins import Joins
from extract.limits import Limits
from extract.subscriptions import Subscription

PAIRS = "S//a->x[k->y] FOLLOWED BY{y=v, 100} S//a->u[k->v]"
MANY = b"<r>" + b"<a><k>1</k></a>" * 30 + b"</r>"


def test_rows_of_one_document_are_bounded() -> None:
    joins = Joins({}, limits=Limits(joined_bytes=200_000))
    for name in ("one", "two"):
        joins.add(Subscription(name, PAIRS))
    assert joins.process("s", "first", MANY, 1.0) == []
    rows = joins.process("s", "second", MANY, 2.0)
    assert 50 < len(rows) < 2 * 900
    rejected = [(one.document, one.query, one.stage) for one in joins.rejected]
    assert set(rejected) == {("second", "one", "join"), ("second", "two", "join")}
    assert len(rejected) == 2
    assert "one document leads to rows of more than 200,000 bytes" in joins.rejected[0].reason
    assert joins.process("s", "third", b"<r><a><k>2</k></a></r>", 3.0) == []
    assert not joins.rejected


def test_what_published_documents_lead_to_counts_as_well() -> None:
    joins = Joins({}, limits=Limits(joined_bytes=400_000))
    joins.add(Subscription("pairs", f"SELECT <a>{{y}}</a> FROM {PAIRS} PUBLISH p"))
    joins.add(Subscription("again", "p//a->x[k->y] JOIN{y=v, 1000} p//a->u[k->v]"))
    joins.process("s", "first", b"<r>" + b"<a><k>1</k></a>" * 4 + b"</r>", 1.0)
    rows = joins.process("s", "second", MANY, 2.0)
    assert {row.query for row in rows} == {"pairs", "again"}
    assert {one.query for one in joins.rejected} == {"again"}
    assert sum(len(row.output) for row in rows) < 400_000


def test_a_pattern_that_takes_for_ever_is_given_up_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A regular expression holds Python's lock, so it has a process of its own."""
    asked = Sandbox.call
    slow = b"x" * 60

    def call(sandbox: Sandbox, *args: Any, before: Before, **limits: Any) -> Any:
        if slow in before.args[0]:
            raise TimeLimit("it took too long")
        return asked(sandbox, *args, before=before, **limits)

    monkeypatch.setattr(Sandbox, "call", call)
    space = {"re": "http://exslt.org/regular-expressions"}
    pattern = "S//a->x[k[re:test(., '(x+x+)+y')]->y] FOLLOWED BY{y=v, 100} S//a->u[k->v]"
    joins = Joins({})
    joins.add(Subscription("bad", pattern, space))
    joins.add(Subscription("good", PAIRS))
    document = b"<r><a><k>xxy</k></a><a><k>" + slow + b"</k></a></r>"
    joins.process("s", "first", document, 1.0)
    (one,) = joins.rejected
    assert (one.document, one.query, one.stage) == ("first", "bad", "cost")
    assert "--max-query-seconds" in one.reason
    rows = joins.process("s", "second", b"<r><a><k>xxy</k></a></r>", 2.0)
    assert [row.query for row in rows] == ["good"], "there is no row of the rejected pair"
    assert not joins.rejected
    rows = joins.process("s", "third", b"<r><a><k>xxy</k></a></r>", 3.0)
    assert [(row.query, row.left) for row in rows] == [
        ("bad", "second"),
        ("good", "first"),
        ("good", "second"),
    ]


def test_a_pattern_that_fails_is_rejected_alone() -> None:
    space = {"re": "http://exslt.org/regular-expressions"}
    joins = Joins({})
    joins.add(Subscription("bad", PAIRS.replace("k->y", "k[re:test('x', string(.))]->y"), space))
    joins.add(Subscription("good", PAIRS))
    document = b"<a><k>(</k></a>"  # no regular expression
    joins.process("s", "first", document, 1.0)
    assert [(one.query, one.stage) for one in joins.rejected] == [("bad", "join")]
    assert {row.query for row in joins.process("s", "second", document, 2.0)} == {"good"}
