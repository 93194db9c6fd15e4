"""Queries come and go: answers and memory are those of a fresh start; failures change nothing."""

from __future__ import annotations

import threading
from random import Random
from typing import Any

import numpy as np
import pytest

from extract.filtertool.matchers.protocol import Question, Select
from extract.filtertool.matchers.push.engine import PushEngine
from extract.schema.model import Schema
from extract.subscriptions.constants import Constants
from extract.xpath.ast import ParameterType

TEMPLATES: tuple[tuple[str, tuple[ParameterType, ...]], ...] = (
    ("/s[symbol = $string1]", ("string",)),
    ("/s[symbol = $string1][price > $number2]", ("string", "number")),
    ("/s[price > $number1 and price < $number2]", ("number", "number")),
    ("/s[price >= $number1]", ("number",)),
    ("/s[$number1 > volume]", ("number",)),
    ("/s[contains(name, $string1)]", ("string",)),
    ("/s[starts-with(name, $string1)]/symbol", ("string",)),
    ("/s[symbol = $string1 or volume = $number2]", ("string", "number")),
    ("/s[symbol = $string1][volume = $number2]", ("string", "number")),
    ("/s[not(symbol = $string1)][volume = $number2]", ("string", "number")),
    ("/s[volume = $number1] | /s/name[. = $string2]", ("number", "string")),
    ("//name[@x = $string1]", ("string",)),
    ("//@x[. = $number1]", ("number",)),
    ("/s[name and symbol]", ()),
    ("/s[name]/price", ()),
    ("/s/price", ()),
)
PREFIXES = "abcdefgh"


def constants(random: Random, types: tuple[ParameterType, ...]) -> tuple[str, ...]:
    """Of few values in all, so that queries are equal at times, and of many."""
    letters = [random.choice(PREFIXES) * random.randrange(5) + str(random.randrange(40)), ""]
    return tuple(
        [
            random.choices(letters, (30, 1))[0]
            if one == "string"
            else str(random.randrange(500) / 2)
            for one in types
        ]
    )


def documents(random: Random, count: int) -> list[bytes]:
    out = []
    for _ in range(count):
        name = random.choice(PREFIXES) * random.randrange(6) + str(random.randrange(40))
        price, volume = random.randrange(500) / 2, random.randrange(250)
        symbol = random.choice(PREFIXES) + str(random.randrange(40))
        out.append(
            f"<s><symbol>{symbol}</symbol><price>{price}</price><volume>{volume}</volume>"
            f"<name x='{symbol}'>{name}</name><z x='{volume}'/></s>".encode()
        )
    return out


class Online:
    """An engine whose queries come and go; numbers of queries that are gone are given again."""

    def __init__(self, random: Random, select: Select = "count") -> None:
        self.random = random
        self.engine = PushEngine(Schema.none(), {}, select)
        self.present: dict[int, tuple[int, tuple[str, ...]]] = {}
        self.order: list[int] = []
        self.free: list[int] = []

    def add(self, template: int, rows: list[tuple[str, ...]]) -> None:
        numbers = [
            self.free.pop() if self.free else len(self.present) + n for n in range(len(rows))
        ]
        self.engine_add(self.engine, template, rows, numbers)
        self.present.update({n: (template, row) for n, row in zip(numbers, rows, strict=True)})
        self.order += numbers

    @staticmethod
    def engine_add(
        engine: PushEngine, template: int, rows: list[tuple[str, ...]], numbers: list[int]
    ) -> None:
        text, types = TEMPLATES[template]
        question = Question((text,), constants=Constants.of(types, rows) if types else None)
        if not types:
            for number in numbers:
                assert engine.takes(template, question)
                engine.add(template, question, np.array([number], np.int32))
            return
        assert engine.takes(template, question)
        engine.add(template, question, np.array(numbers, np.int32))

    def add_some(self, count: int) -> None:
        template = self.random.randrange(len(TEMPLATES))
        types = TEMPLATES[template][1]
        self.add(template, [constants(self.random, types) for _ in range(count)])

    def remove_some(self, count: int) -> None:
        gone = []
        for _ in range(min(count, len(self.order))):
            place = self.random.randrange(len(self.order))
            self.order[place], self.order[-1] = self.order[-1], self.order[place]
            gone.append(self.order.pop())
        self.engine.remove(gone)
        for number in gone:
            del self.present[number]
        self.free += gone

    def fresh(self) -> PushEngine:
        """An engine with the present queries, from the start."""
        engine = PushEngine(Schema.none(), {}, "count")
        by_template: dict[int, list[int]] = {}
        for number, (template, _) in sorted(self.present.items()):
            by_template.setdefault(template, []).append(number)
        for template, numbers in by_template.items():
            self.engine_add(engine, template, [self.present[n][1] for n in numbers], numbers)
        return engine

    def check(self, count: int = 60) -> None:
        """Compares with a fresh start."""
        fresh, batch = self.fresh(), documents(self.random, count)
        assert len(self.engine) == len(fresh) == len(self.present)
        _same(self.engine.match(batch), fresh.match(batch))


def _same(ours: Any, theirs: Any) -> None:
    assert (ours.done == theirs.done).all()
    for own, other in zip(ours.matches, theirs.matches, strict=True):
        assert np.array_equal(own, other)


def churn(random: Random, changes: int, live: int) -> Online:
    """Adds and removes queries in random order, with about so many there at a time."""
    one = Online(random)
    done, checked = 0, 0
    while done < changes:
        count = random.choice((1, 1, 1, 10, 100))
        if random.random() * 2 * live < len(one.present):
            one.remove_some(count)
        else:
            one.add_some(count)
        done += count
        if done - checked > changes / 20:
            checked = done
            one.engine.match(documents(random, 30))  # so that it is reorganised meanwhile
            one.check(20)
    return one


def check_churn(changes: int, live: int) -> None:
    one = churn(Random(changes), changes, live)
    one.check(300)
    fresh = one.fresh()
    assert one.engine.memory()[0] < 2 * fresh.memory()[0] + 100_000
    one.remove_some(len(one.order))
    assert len(one.engine) == 0
    # The array of owners is as long as the largest number; nearly all else is gone.
    assert one.engine.memory()[0] < 0.5 * fresh.memory()[0] + 200_000
    one.add(0, [("a1",)])
    assert one.engine.match([b"<s><symbol>a1</symbol></s>"]).matches.value.tolist() == [1]


def test_adds_and_removes_in_random_order() -> None:
    check_churn(40_000, 2_000)


@pytest.mark.slow
def test_a_million_adds_and_removes() -> None:
    check_churn(1_000_000, 5_000)


def test_a_peak_leaves_its_places_for_others() -> None:
    one = Online(Random(4))
    for _ in range(100):
        one.add_some(200)
    peak = one.engine.memory()[0]
    for _ in range(5):
        one.remove_some(15_000)
        one.check(30)
        while len(one.present) < 20_000:
            one.add_some(200)
        one.check(30)
    assert one.engine.memory()[0] < 1.3 * peak


def test_a_query_is_not_posted_where_another_was_seen_often() -> None:
    """Slots get the numbers of others, and what was counted for these says nothing of them."""
    engine = PushEngine(Schema.none(), {}, "doc")
    engine._adapt_at = 10**9
    for n in range(300):
        question = Question((f"/r/x{n}[y{n} and z{n}]",))
        assert engine.takes(n, question)
        engine.add(n, question, np.array([n], np.int32))
    often = "".join([f"<x{n}><y{n}/></x{n}>" for n in range(300) if n % 2])
    engine.match([f"<r>{often}</r>".encode()] * 100)
    engine.remove(range(300))
    for n in range(200):
        question = Question((f"/r/a{n}[b{n} and c{n}]",))
        assert engine.takes(1_000 + n, question)
        engine.add(1_000 + n, question, np.array([n], np.int32))
    engine._adapt_at = 0
    engine.match([b"<r/>"])
    assert engine._adapt_at == 0
    engine._adapt_at = 1
    engine.match([b"<r/>"])
    for only in ("b", "c", ""):
        parts = [f"<a{n}>{f'<{only}{n}/>' if only else ''}</a{n}>" for n in range(200)]
        data = f"<r>{''.join(parts)}</r>".encode()
        assert not len(engine.match([data]).matches.query)
    parts = [f"<a{n}><b{n}/><c{n}/></a{n}>" for n in range(200)]
    found = engine.match([f"<r>{''.join(parts)}</r>".encode()]).matches.query.tolist()
    assert found == list(range(200))


def test_more_empty_constants_than_bits() -> None:
    """70 places, of which any may be the empty string, which every text contains."""
    types: tuple[ParameterType, ...] = ("string",) * 70
    text = f"/r[{' and '.join([f'contains(a, $string{n + 1})' for n in range(70)])}]"
    rows = [tuple(["" if n != k else "x" for n in range(70)]) for k in range(70)]
    engine = PushEngine(Schema.none(), {}, "doc")
    question = Question((text,), constants=Constants.of(types, rows))
    assert engine.takes(0, question)
    engine.add(0, question, np.arange(70, dtype=np.int32))
    done, matches, _ = engine.match([b"<r/>", b"<r><a>x</a></r>"])
    assert (done == 1).all()
    assert matches.unit.tolist() == [1] * 70


def test_a_question_comes_back_while_its_queries_with_empty_constants_stay() -> None:
    """Only C has the program of a question that is in use: it is compiled again."""
    engine = PushEngine(Schema.none(), {}, "doc")

    def add(number: int, constant: str) -> None:
        constants = Constants.of(("string",), [(constant,)])
        question = Question(("/s[contains(name, $string1)]",), constants=constants)
        assert engine.takes(0, question)
        engine.add(0, question, np.array([number], np.int32))

    def matches() -> list[int]:
        found: list[int] = engine.match([b"<s><name>abc</name></s>"]).matches.query.tolist()
        return found

    add(1, "")
    add(2, "b")
    add(3, "x")
    assert matches() == [1, 2]
    engine.remove([2, 3])
    assert matches() == [1]
    add(4, "c")
    assert matches() == [1, 4]
    engine.remove([1, 4])
    assert not len(engine)
    add(5, "")
    assert matches() == [5]


@pytest.mark.parametrize(
    "text",
    [
        "/s[b = $string1 or b = $string2 or b = $string3 or b = $string4]",
        "/s[b = $string1] | /s[b = $string2][b] | /s/b[. = $string3] | /s[b = $string4][not(c)]",
        f"/s[{' or '.join([f'contains(b, $string{n})' for n in range(1, 5)])}]",
    ],
)
def test_queries_that_are_found_several_times_by_one_value(text: str) -> None:
    """Several postings of a query are in one list, where the last one fills gaps."""
    random, engine = Random(6), PushEngine(Schema.none(), {}, "doc")
    types: tuple[ParameterType, ...] = ("string",) * 4
    present: dict[int, tuple[str, ...]] = {}
    for _ in range(300):
        numbers = random.sample([n for n in range(60) if n not in present], random.randrange(5))
        rows = [tuple(random.choices("abc", k=4)) for _ in numbers]
        if rows:
            question = Question((text,), constants=Constants.of(types, rows))
            assert engine.takes(0, question)
            engine.add(0, question, np.array(numbers, np.int32))
            present.update(zip(numbers, rows, strict=True))
        gone = random.sample(sorted(present), random.randrange(min(5, len(present) + 1)))
        engine.remove(gone)
        for number in gone:
            del present[number]
        for value in "abc":
            found = engine.match([f"<s><b>{value}</b></s>".encode()]).matches.query.tolist()
            assert found == sorted([n for n, row in present.items() if value in row])
    engine.remove(list(present))
    assert not len(engine)


# -- several threads


def test_threads_match_while_queries_change() -> None:
    """A query that is there throughout always matches; one that is gone never does."""
    engine = PushEngine(Schema.none(), {}, "doc")
    always = Question(("/s[not(new0)]",))
    assert engine.takes("always", always)
    engine.add("always", always, np.array([0], np.int32))
    batch = [f"<s><new{n}>1</new{n}></s>".encode() for n in range(1, 60)]
    stop = threading.Event()
    wrong: list[object] = []

    def match() -> None:
        while not stop.is_set():
            try:
                done, matches, _ = engine.match(batch)
                assert (done == 1).all()
                pairs = set(zip(matches.unit.tolist(), matches.query.tolist(), strict=True))
                assert {(unit, 0) for unit in range(len(batch))} <= pairs
                for unit, query in pairs:  # query n: there is no new{n}
                    assert query != unit + 1, (unit, query)
            except Exception as error:  # a thread's, to be seen by the test
                wrong.append(error)
                return

    threads = [threading.Thread(target=match) for _ in range(3)]
    for thread in threads:
        thread.start()
    random = Random(5)
    present: list[int] = []
    for n in random.sample(range(1, 60), 59) * 3:
        if n in present:
            engine.remove([n])
            present.remove(n)
            continue
        # The name is new, and the query true wherever it is not known: never in its document.
        question = Question((f"/s[not(new{n})]",))
        assert engine.takes(n, question)
        engine.add(n, question, np.array([n], np.int32))
        present.append(n)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]
    assert len(engine) == 1 + len(present)
