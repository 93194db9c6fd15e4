"""Two equalities at one anchor, which the engine decides where it finds one of them."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from lxml import etree

import extract
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions

pytest.importorskip("extract.filtertool.matchers.push._push")

_STRINGS = (
    *("1", "x") * 5,
    "",
    "0",
    "-0",
    "1",
    "1.0",
    "01",
    "x",
    "yy",
    "a longer string than others",
    "nan",
)
_NUMBERS = (*("1",) * 6, "0", "-0", "1", "1.0", "2", "(0 div 0)")
_LEAVES = ("a", "b", "c/a", "@k", "c/@k", ".//a", "*", "text()")
_CONTEXTS = ("/r", "/r/p", "//p", "/r/p/p", "//*", "//p/parent::*")


def _query(random: Random) -> str:
    parts = []
    for _ in range(2):
        constant = random.choice([f"'{random.choice(_STRINGS)}'", random.choice(_NUMBERS)])
        parts.append(f"{random.choice(_LEAVES)} = {constant}")
    joined = (
        f"[{parts[0]} and {parts[1]}]" if random.random() < 0.5 else f"[{parts[0]}][{parts[1]}]"
    )
    return random.choice(_CONTEXTS) + joined


def _element(random: Random, name: str, depth: int) -> str:
    attribute = f" k='{random.choice(_STRINGS)}'" if random.random() < 0.4 else ""
    if name not in ("r", "p", "c") or depth == 0:
        return f"<{name}{attribute}>{random.choice(_STRINGS)}</{name}>"
    inside = [
        _element(random, random.choice("aabbcp"), depth - 1) for _ in range(random.randrange(2, 7))
    ]
    return f"<{name}{attribute}>{''.join(inside)}</{name}>"


def _expected(queries: dict[str, str], documents: list[bytes]) -> set[tuple[str, str]]:
    compiled = {name: etree.XPath(text) for name, text in queries.items()}
    trees = [etree.fromstring(document) for document in documents]
    return {
        (str(number), name)
        for number, tree in enumerate(trees)
        for name, xpath in compiled.items()
        if xpath(tree)
    }


def _found(ready: extract.Filter, documents: list[bytes]) -> set[tuple[str, str]]:
    named = [(str(number), document) for number, document in enumerate(documents)]
    rows = ready.table(named).to_pylist()
    found = {(row["document"], row["query"]) for row in rows}
    assert len(rows) == len(found)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_answered_as_by_libxml2(seed: int) -> None:
    random = Random(seed)
    queries = {f"q{n}": _query(random) for n in range(120)}
    queries |= {f"again{n}": queries[f"q{n}"] for n in range(0, 120, 3)}  # several owners
    documents = [_element(random, "r", 4).encode() for _ in range(60)]
    ready = extract.Filter(extract.prepare(Schema.none(), Subscriptions.of(queries), chunks=1))
    expected = _expected(queries, documents)
    assert len(expected) > 300
    assert _found(ready, documents) == expected
    for _ in range(5):  # by now the engine has chosen anew by what it finds queries
        _found(ready, documents)
    assert _found(ready, documents) == expected
    gone = random.sample(sorted(queries), 80)
    ready.remove(gone)
    for name in gone:
        del queries[name]
    more = {f"new{n}": _query(random) for n in range(60)}
    ready.add(more)
    queries |= more
    assert _found(ready, documents) == _expected(queries, documents)


def test_a_pair_is_decided_without_a_check_of_its_row() -> None:
    queries = {f"q{n}": f"/r[a = 'a{n % 7}' and b = 'b{n}']" for n in range(200)}
    ready = extract.Filter(extract.prepare(Schema.none(), Subscriptions.of(queries), chunks=1))
    documents = [f"<r><a>a{n % 7}</a><b>b{n + 1}</b></r>".encode() for n in range(300)]
    assert _found(ready, documents) == _expected(queries, documents)
    figures = ready.figures()
    assert figures["push_checks"] <= 3 * figures["push_documents"]


def test_other_slots_of_pairs_are_numbered_anew() -> None:
    names = [f"n{n}" for n in range(1_100)]
    queries = {one: f"/r[{one} = 'x' and {other} = 'y']" for one, other in pairwise(names)}
    ready = extract.Filter(extract.prepare(Schema.none(), Subscriptions.of(queries), chunks=1))
    documents = [
        f"<r><{names[n]}>x</{names[n]}><{names[n + 1]}>y</{names[n + 1]}></r>".encode()
        for n in range(1_090, 880, -1)
    ]
    expected = {(str(n), names[1_090 - n]) for n in range(len(documents))}
    for _ in range(3):
        assert _found(ready, documents) == expected
