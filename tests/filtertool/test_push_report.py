"""``extract explain`` on the push engine: one query, or all of a scheme."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import extract
from extract import Subscription, Subscriptions
from extract.filtertool.push_report import explain_push, push_summary
from tests.support.commands import run

QUERIES = [
    *[Subscription(f"s{n}", f"/stock[symbol = 'S{n}'][price > {n}]") for n in range(5)],
    Subscription("same", "/stock[ symbol='S9'][price>4 ]"),
    Subscription("second", "//descendant::price[2]"),
    Subscription("third", "//descendant::price[3]"),
    Subscription("up", "//price[lang('en')]"),
    Subscription("truth", "//price > 3"),
    Subscription("later", "//price[. = (1, 2)]", version="2.0"),
    Subscription("bad", "//["),
]


@pytest.fixture(scope="module")
def scheme() -> extract.Scheme:
    return extract.prepare(Subscriptions.of(QUERIES))


def words(scheme: extract.Scheme, name: str) -> list[str]:
    report = explain_push(scheme, name)
    assert report is not None
    return list(report.lines())


def test_a_query_with_its_template(scheme: extract.Scheme) -> None:
    assert words(scheme, "s3") == [
        "push engine: one of 6 queries of its template",
        "  found by: /stock/symbol = 'S3'",
        "  or, if documents show that it is rarer: /stock/price > 3; /stock",
    ]


def test_queries_that_are_not_taken(scheme: extract.Scheme) -> None:
    end = "; other matchers answer the query"
    assert words(scheme, "up") == [f"push engine: does not decide the function lang(){end}"]
    assert words(scheme, "later") == [f"push engine: does not decide XPath 2.0{end}"]


def test_a_condition_is_taken_where_no_nodes_are_selected(scheme: extract.Scheme) -> None:
    assert words(scheme, "truth")[-1] == (
        "  with --select nodes its value is a row, also where it is false"
    )


def test_a_rejected_query_and_one_that_is_not_there(scheme: extract.Scheme) -> None:
    assert explain_push(scheme, "bad") is None
    assert explain_push(scheme, "nix") is None


def test_all_queries(scheme: extract.Scheme) -> None:
    summary = push_summary(scheme)
    assert summary.taken == 9
    assert sum(summary.refused.values()) == 2
    assert summary.refused["XPath 2.0"] == 1
    assert str(summary).startswith("push engine: decides 9 of 11 queries; not: ")


def test_the_figures_of_a_filter_are_the_same(scheme: extract.Scheme) -> None:
    figures = extract.Filter(scheme).figures()
    if "push_questions" in figures:  # it is compiled
        summary = push_summary(scheme)
        assert figures["push_questions"] == summary.taken
        assert figures["push_refused_questions"] == sum(summary.refused.values())


def test_a_query_is_taken_in_its_normal_form_if_only_that_can_be_expressed() -> None:
    """Without the schema, it is not known where a price is."""
    document = b"<stock><price>3</price><name/></stock>"
    schema = extract.infer_schema([document]).schema
    queries = Subscriptions.of({"self": "//*[self::price]", "second": "//a[2]"})
    report = explain_push(extract.prepare(queries), "self")
    assert report is not None
    assert [one.found_by for one in report.question.access] == ["//price"]
    scheme = extract.prepare(schema, queries)
    assert words(scheme, "self")[1] == "  found by: /stock/price"
    selects: list[Any] = ["doc", "count"]
    for select in selects:
        documents = [("m", document), ("odd", b"<odd><price/><stock/></odd>"), ("x", b"<stock/>")]
        ready = extract.Filter(scheme, select)
        rows = ready.table(documents).to_pylist()
        assert rows == extract.Filter(scheme, select, "lxml").table(documents).to_pylist()
        assert [(row["document"], row["query"]) for row in rows] == [
            ("m", "self"),
            ("odd", "self"),
        ]


def test_the_command(scheme: extract.Scheme, tmp_path: Path) -> None:
    scheme.save(tmp_path / "s.json")
    file = str(tmp_path / "s.json")
    assert "  found by: /stock/symbol = 'S1'\n" in run("explain", "--scheme", file, "s1").output
    assert "push engine: decides 9 of 11" in run("explain", "--scheme", file).output
    facts = json.loads(run("explain", "--scheme", file, "s1", "--json").output)
    assert facts["push"] == {
        "taken": True,
        "refused": "",
        "access": [
            {"found_by": "/stock/symbol = 'S1'", "or_by": ["/stock/price > 1", "/stock"]},
        ],
        "queries": 6,
    }
    facts = json.loads(run("explain", "--scheme", file, "up", "--json").output)
    assert facts["push"]["taken"] is False
    assert facts["push"]["refused"] == "the function lang()"
    assert json.loads(run("explain", "--scheme", file, "bad", "--json").output)["push"] is None
    facts = json.loads(run("explain", "--scheme", file, "--json").output)
    assert facts["push"] == push_summary(scheme).to_json()
