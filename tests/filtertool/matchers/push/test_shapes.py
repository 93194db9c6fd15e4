"""Documents of a shape that was seen before: what queries without values say of them is known."""

from __future__ import annotations

import numpy as np
import pytest
from lxml import etree

from extract.filtertool.matchers.protocol import Question, Select
from extract.filtertool.matchers.push.engine import STATE_BYTES, PushEngine
from extract.filtertool.matchers.push.engine_answers import EngineAnswers
from extract.filtertool.matchers.push.literals import with_parameters
from extract.schema.model import Schema

XPATHS = ("/a/b[c]/d", "/a/b[@x]", "//b[c]//d", "/a/text()", "/a/b[d]/text()", "//c", "/a[b]/c")
SHAPES = (
    "<a><b><c/><d/></b></a>",
    "<a><b><c/></b><b><d/></b></a>",  # as above, but for the parents
    "<a><b x='1'><c/><d/></b></a>",
    "<a><b><c x='1'/><d/></b></a>",
    "<a>t<b><c/><d/></b></a>",
    "<a><b>t<d/></b><c/></a>",
    "<a><c/><b>t</b></a>",
)


def engine_of(
    xpaths: tuple[str, ...], select: Select = "doc", state_bytes: int = STATE_BYTES
) -> PushEngine:
    engine = PushEngine(Schema.none(), {}, select, state_bytes=state_bytes)
    for number, xpath in enumerate(xpaths):
        add(engine, number, xpath)
    return engine


def add(engine: PushEngine, number: int, xpath: str) -> None:
    question = with_parameters(Question((xpath,)))
    assert engine.takes(xpath, question)
    engine.add(xpath, question, np.array([number], np.int32))


def pairs(answers: EngineAnswers) -> list[tuple[int, int]]:
    return list(zip(answers.matches.unit.tolist(), answers.matches.query.tolist(), strict=True))


def expected(documents: list[bytes], xpaths: tuple[str, ...]) -> list[tuple[int, int]]:
    trees = [etree.fromstring(document) for document in documents]
    return [
        (unit, query)
        for unit, tree in enumerate(trees)
        for query, xpath in enumerate(xpaths)
        if tree.getroottree().xpath(xpath)
    ]


@pytest.fixture
def documents() -> list[bytes]:
    """Each shape often enough that it is known and documents are not counted any more."""
    return [shape.encode() for shape in SHAPES] * 100


def test_documents_of_known_shapes_have_the_same_answers(documents: list[bytes]) -> None:
    engine = engine_of(XPATHS)
    assert pairs(engine.match(documents)) == expected(documents, XPATHS)
    figures = engine.figures()
    assert figures["known_shapes"] > 0.9 * len(documents)
    assert figures["matches"] == len(expected(documents, XPATHS))


def test_values_are_looked_at_in_documents_of_known_shapes(documents: list[bytes]) -> None:
    xpaths = (*XPATHS, "/a/b[c = 'one']", "/a[b/c = 'two']/b[d]")
    some = [
        one.replace(b"<c/>", b"<c>%s</c>" % (b"one", b"two", b"three")[n % 3])
        for n, one in enumerate(documents)
    ]
    engine = engine_of(xpaths)
    assert pairs(engine.match(some)) == expected(some, xpaths)
    assert engine.figures()["known_shapes"] > len(some) // 2


def test_a_query_that_comes_or_goes_is_seen_on_known_shapes(documents: list[bytes]) -> None:
    engine = engine_of(XPATHS[:5])
    engine.match(documents)
    add(engine, 5, XPATHS[5])
    assert pairs(engine.match(documents)) == expected(documents, XPATHS[:6])
    add(engine, 6, XPATHS[5])  # the same again: the row has two owners
    assert pairs(engine.match(documents)) == expected(documents, (*XPATHS[:6], XPATHS[5]))
    engine.remove([5])
    given = pairs(engine.match(documents))
    assert [pair for pair in given if pair[1] == 6]
    assert not [pair for pair in given if pair[1] == 5]


def test_documents_without_queries_on_texts_any_more(documents: list[bytes]) -> None:
    xpaths = ("//c", "//b/text()", "//text()")
    engine = engine_of(xpaths)
    engine.match(documents)
    engine.remove([1, 2])  # the paths to texts are still there
    longer = [b"<a>%s</a>" % (b"<b>t<c/>t</b>" * n) for n in range(100)]
    assert pairs(engine.match(longer)) == expected(longer, xpaths[:1])


@pytest.mark.parametrize("select", ["count", "nodes"])
def test_nodes_of_documents_of_known_shapes(select: Select, documents: list[bytes]) -> None:
    engine = engine_of(XPATHS, select)
    first, last = engine.match(documents), engine.match(documents)
    assert first.matches.value.tolist() == last.matches.value.tolist()
    assert first.matches.number.tolist() == last.matches.number.tolist()
    assert sorted(set(pairs(last))) == expected(documents, XPATHS)


def test_shapes_take_a_bounded_amount_of_memory() -> None:
    engine = engine_of(XPATHS, state_bytes=200_000)
    documents = [b"<a>" + b"<b/>" * (n % 200) + b"<c/>" * (n % 7) + b"</a>" for n in range(20_000)]
    sizes = []
    for first in range(0, len(documents), 2_000):
        some = documents[first : first + 2_000]
        engine.match(some)
        sizes.append(engine.memory()[1])
    assert pairs(engine.match(documents[-300:])) == expected(documents[-300:], XPATHS)
    assert max(sizes) < 1_000_000


def test_guards_refuse_only_what_cannot_match() -> None:
    xpaths = tuple(
        f"/r[a = '{a}' and b = {b} and c/d = '{d}']" for a in "xy" for b in (0, 1) for d in "pq"
    )
    documents = [
        f"<r><a>{a}</a><b>{b}</b><c><d>{d}</d>{more}</c></r>".encode()
        for a in "xyz"
        for b in ("0", "-0", "1.0", "one")
        for d in "pq"
        for more in ("", "<d>p</d>")
    ]
    engine = engine_of(xpaths)
    assert pairs(engine.match(documents)) == expected(documents, xpaths)
    figures = engine.figures()
    assert figures["checks"] < figures["candidates"]
    assert figures["matches"] == len(expected(documents, xpaths))
