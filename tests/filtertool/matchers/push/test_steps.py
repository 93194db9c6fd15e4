"""Steps of the push engine: as many as a document has nodes, for each step of a query."""

from __future__ import annotations

import numpy as np
import pytest

import extract
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push import engine as engine_module
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.literals import with_parameters
from extract.schema.model import Schema

LINEAR = [
    "//c" + "/ancestor::*/descendant::*" * 6,
    "//a[.//b[ancestor::*/descendant::*[ancestor::*/descendant::*[. = 'q']]]]",
    "//a[preceding::a/following::a/preceding::a]",
    "//*[ancestor::*[b = 'q']]",
    "//*[ancestor::*[.//q]]",
    "//*[following-sibling::*/following-sibling::*/following-sibling::*/q]",
    "//*[../*/../*/../*/../*/q]",
    "//*[preceding::*[following::*[preceding::* = 'q']]]",
    "//*[not(ancestor::*[not(descendant::*[not(ancestor::q)])])]",
    "//*[preceding-sibling::q[1] or following::q[1] or ancestor::q[1]]",
]
SQUARES = [  # XPath has a number, or a node set, of its own for each node
    "//*[count(ancestor::*) > 2][following::*[1][preceding::*]]",
    "//*[count(preceding::*[count(following::*) = 7]) = 77777]",
    "//*[. = following::*]",
    "//*[preceding::*[last()] = 'q']",
]


def shapes(size: int) -> list[bytes]:
    """Documents of a size: flat, deep, and both."""
    return [
        b"<r>" + b"<a>1</a><b>2</b><c/>" * (size // 3) + b"</r>",
        b"<a><b>" * (size // 2) + b"<c/>" + b"</b></a>" * (size // 2),
        b"<a><b>" * (size // 4) + b"<c>1</c><a/>" * (size // 4) + b"</b></a>" * (size // 4),
    ]


def engine_of(*queries: str) -> PushEngine:
    engine = PushEngine(Schema.none(), {}, "count")
    for number, xpath in enumerate(queries):
        question = with_parameters(Question((xpath,)))
        assert engine.takes(xpath, question)
        engine.add(xpath, question, np.array([number], np.int32))
    return engine


def steps_of(xpath: str, documents: list[bytes]) -> list[int]:
    """The steps of a query on each document."""
    engine, steps = engine_of(xpath), [0]
    for document in documents:
        assert engine.match([document]).done.tolist() == [1]
        steps.append(engine.figures()["steps"])
    return np.diff(steps).tolist()


@pytest.mark.parametrize("xpath", LINEAR)
def test_steps_are_as_many_as_nodes(xpath: str) -> None:
    for small, large in zip(steps_of(xpath, shapes(60)), steps_of(xpath, shapes(480)), strict=True):
        assert large <= 12 * small + 480  # eight times as many nodes
        assert large <= 100 * 480


@pytest.mark.parametrize("xpath", SQUARES)
def test_steps_are_at_most_as_many_as_pairs_of_nodes(
    xpath: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "STEPS", 1_000_000)
    for small, large in zip(steps_of(xpath, shapes(60)), steps_of(xpath, shapes(480)), strict=True):
        assert large <= 80 * small + 480


def test_values_that_differ_from_no_other_are_compared_once_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_module, "STEPS", 1_000_000)
    documents = [b"<r>" + b"<b>1</b>" * size + b"</r>" for size in (30, 240)]
    small, large = steps_of("//b[preceding::b != following::b]", documents)
    assert large <= 80 * small


def test_a_long_text_that_is_compared_takes_more_steps() -> None:
    long = b"1" * 64_000
    same, other = [
        b"<r><a>" + long + b"</a><b>" + long[:size] + b"2</b></r>" for size in (63_999, 9)
    ]
    for operator in ("=", "!="):
        many, few = steps_of(f"/r[a {operator} b]", [same, other])
        assert many >= few + 64_000 // 64


def test_steps_are_those_of_the_query_alone() -> None:
    """Queries that share conditions, others that are costly, and those that have texts and comments
    numbered change nothing."""
    documents = [data.replace(b"<c>", b"<!--x--><c>7") for data in shapes(240)]
    texts = ["//b[text() = 'q']", "//b[comment()]"]
    alone = [steps_of(xpath, documents) for xpath in [*LINEAR, *texts]]
    engine = engine_of(*LINEAR, *SQUARES, *texts)
    for document in documents * 3:
        engine.match([document])
    together = engine.figures()["steps"]
    squares = [steps_of(xpath, documents) for xpath in SQUARES]
    assert together == 3 * sum(map(sum, [*alone, *squares]))


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
def test_a_pair_of_too_many_steps_is_answered_by_libxml2(
    select: extract.Select, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = {str(number): xpath for number, xpath in enumerate([*LINEAR, *SQUARES, "//b"])}
    documents = [(str(number), data) for number, data in enumerate(shapes(16))]
    scheme = extract.prepare(extract.Subscriptions.of(queries))
    usual = extract.Filter(scheme, select).table(documents).to_pylist()
    monkeypatch.setattr(engine_module, "STEPS", 1)
    matching = extract.Filter(scheme, select)
    assert matching.table(documents).to_pylist() == usual
    assert not len(matching.rejected)
