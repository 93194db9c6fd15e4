"""By what the engine finds queries: values that are rare, also in nested conditions; and owners."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.engine import PushEngine
from extract.schema.model import Declaration, Schema
from extract.subscriptions.constants import Constants
from extract.xpath.functions import Type

pytest.importorskip("extract.filtertool.matchers.push._push")

import numpy as np

_NAMES = ("r", "p", "often", "rare", "size")


def _engine() -> PushEngine:
    every = tuple(range(len(_NAMES)))
    declarations = [Declaration(n, name, children=every) for n, name in enumerate(_NAMES)]
    return PushEngine(Schema("test", "dtd", tuple(declarations), roots=(0,)), {})


def _add(engine: PushEngine, xpath: str, rows: Sequence[tuple[str, ...]], first: int = 0) -> None:
    kinds = ["string" if "'" in one else "number" for one in rows[0]]
    texts = [tuple([one.strip("'") for one in row]) for row in rows]
    question = Question((xpath,), Type.NODES, "", Constants.of(kinds, texts))  # type: ignore[arg-type]
    assert engine.takes(xpath, question)
    engine.add(xpath, question, np.arange(first, first + len(rows), dtype=np.int32))


def _document(often: str, rare: str, size: float = 0) -> bytes:
    return f"<r><p><often>{often}</often><rare>{rare}</rare></p><size>{size}</size></r>".encode()


def _candidates(engine: PushEngine, documents: list[bytes]) -> float:
    """How many queries are looked at for a document, once the engine knows what is rare."""
    engine.match(documents)
    before = engine.figures()
    engine.match(documents)
    after = engine.figures()
    return (after["candidates"] - before["candidates"]) / len(documents)


def test_a_rare_value_leads_to_queries_wherever_it_stands() -> None:
    documents = [_document("yes", str(n)) for n in range(400)]
    for xpath in (
        "/r/p[often = $string1 and rare = $string2]",
        "/r/p[rare = $string2 and often = $string1]",
        "/r[p[often = $string1 and rare = $string2]]",
        "/r[p[often = $string1][rare = $string2]]/size",
    ):
        engine = _engine()
        _add(engine, xpath, [("'yes'", f"'{n}'") for n in range(100)])
        assert _candidates(engine, documents) <= 0.5, xpath
        done, matches, _ = engine.match(documents)
        assert (done == 1).all()
        assert matches.query.tolist() == matches.unit.tolist() == list(range(100))


def test_the_rarest_range_leads_to_queries() -> None:
    rng = Random(1)
    documents = [_document(str(rng.random()), "5", rng.random()) for _ in range(400)]
    for xpath, often, size in (
        ("/r[p/often > $number1 and size > $number2]", 0.01, 0.99),
        ("/r[size > $number1 and p/often > $number2]", 0.99, 0.01),
    ):
        engine = _engine()
        _add(engine, xpath, [(str(often + n / 1e5), str(size + n / 1e5)) for n in range(50)])
        first = engine.match(documents).matches
        assert _candidates(engine, documents) < 5, xpath
        again = engine.match(documents).matches
        assert (again.unit.tolist(), again.query.tolist()) == (
            first.unit.tolist(),
            first.query.tolist(),
        )


@pytest.mark.parametrize("seed", range(5))
def test_queries_that_are_alike_come_and_go(seed: int) -> None:
    rng = Random(seed)
    engine, number = _engine(), 0
    there: dict[int, str] = {}
    documents = [_document("a", "x"), _document("b", "y")]
    xpath = "/r/p[often = $string1]"
    for _ in range(300):
        if there and rng.random() < 0.45:
            gone = rng.choice(list(there))
            del there[gone]
            engine.remove([gone])
        else:
            value = rng.choice("ab")
            _add(engine, xpath, [(f"'{value}'",)], number)
            there[number] = value
            number += 1
        rows = engine.match(documents).matches
        expected = [
            (n, q) for n, v in enumerate("ab") for q, own in sorted(there.items()) if own == v
        ]
        assert list(zip(rows.unit.tolist(), rows.query.tolist(), strict=True)) == expected
    assert len(engine) == len(there)


def test_a_query_that_is_not_there_can_be_removed() -> None:
    engine = _engine()
    _add(engine, "/r/p[often = $string1]", [("'a'",)])
    engine.remove([7])
    assert engine.match([_document("a", "x")]).matches.query.tolist() == [0]


def test_one_query_is_added_as_many_are() -> None:
    one, many = _engine(), _engine()
    xpath = "/r[p[often = $string1 and size > -$number2]]"
    rows = [("'a'", "5"), ("'é'", "1e1"), ("''", "0")]
    _add(many, xpath, rows)
    question = Question((xpath,), Type.NODES)
    for number, row in enumerate(rows):
        assert one.takes(xpath, question)
        one.add_one(xpath, question, [text.strip("'") for text in row], number)
    documents = [
        f"<r><p><often>{often}</often><size>{size}</size></p></r>".encode()
        for often in ("a", "é", "")
        for size in (-20, -7, -3, 1)
    ]
    expected = [(0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 3)]
    for engine in (one, many):
        rows_ = engine.match(documents).matches
        found = zip(rows_.unit.tolist(), rows_.query.tolist(), strict=True)
        assert [(unit // 4, unit % 4) for unit, _ in found] == expected
