"""Joins give the rows of the definition: all pairs, for random queries, streams and restarts."""

from __future__ import annotations

import tempfile
from contextlib import AbstractContextManager, ExitStack
from random import Random
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extract.joins import Joins
from tests.support.join_oracle import JoinOracle

VALUES = st.sampled_from(["1", "2", "", "x"])
PATTERNS = [
    "//a->{0}0{1}[k->{0}1{1}]",
    "//a->{0}0{1}[.//k->{0}1{1}]",
    "//a[k->{0}1{1}]",
    "//a->{0}0{1}[@id->{0}1{1}]",
    "//k->{0}1{1}",
    "/*->{0}0{1}[.//k->{0}1{1}][.//b->{0}2{1}]",
    "/*->{0}0{1}[.//b->{0}2{1}][.//k->{0}1{1}]",
    "//a->{0}0{1}/k->{0}1{1}",
    "//a->{0}0{1}[k->{0}1{1}][2]",
    "//a->{0}0{1}[k->{0}1{1} and b]",
    "//a[@id]->{0}0{1}[text()->{0}1{1}]",
    "//a AS {0}0{1}[k AS {0}1{1} = '1']",
    "//a->{0}0{1}[k->{0}1{1}]/b",
    "//*->{0}0{1}[k->{0}1{1}][k->{0}2{1}]",
    "//a->{0}0{1}[b->{0}2{1}[k->{0}1{1}]]",
    "//k->{0}1{1}[../@id]",
    "//a[b->{0}2{1}]/k->{0}1{1}",
    "/*->{0}0{1}[.//@id->{0}1{1}][.//a->{0}2{1}[k->{0}3{1}]]",
]


@st.composite
def elements(draw: st.DrawFn, depth: int = 0) -> str:
    """An element with few names and few values, so that joins happen."""
    name = draw(st.sampled_from("abk" if depth else "ra"))
    attribute = f' id="{draw(VALUES)}"' if draw(st.booleans()) else ""
    if name == "k" or depth > 2:
        return f"<{name}{attribute}>{draw(VALUES)}</{name}>"
    parts = draw(st.lists(st.one_of(elements(depth + 1), VALUES), max_size=4))
    return f"<{name}{attribute}>{''.join(parts)}</{name}>"


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A query; some publish, and some read what others publish."""
    quote = draw(st.sampled_from(["", "'"]))
    ones = draw(st.sampled_from(PATTERNS)).format("l", "")
    others = draw(st.sampled_from(PATTERNS)).format("r", quote)
    terms = [f"l1=r1{quote}"]
    if "l0" in ones and draw(st.booleans()):
        terms.append(draw(st.sampled_from([f"l0/k=r1{quote}", f"l0//k=r1{quote}", "l1=l0/@id"])))
    if "l2" in ones and "r2" in others and draw(st.booleans()):
        terms.append(f"r2{quote} = l2")
    window = draw(st.sampled_from(["0", "1", "2.5", "6", "1 EVENTS", "2 EVENTS", "4 EVENTS"]))
    operator = draw(st.sampled_from(["JOIN", "FOLLOWED BY"]))
    publish = draw(st.sampled_from(["", "", " PUBLISH p"]))
    streams = ["S", "s", "t"] if publish else ["S", "s", "t", "p"]
    left, right = draw(st.sampled_from(streams)), draw(st.sampled_from(streams))
    select = draw(
        st.sampled_from(
            ["", "SELECT * FROM ", f'SELECT <a id="{{l1}}"><k>{{r1{quote}}}</k></a> FROM ']
        )
    )
    condition = " AND ".join(terms)
    return f"{select}{left}{ones} {operator}{{{condition}, {window}}} {right}{others}{publish}"


DOCUMENTS = st.tuples(
    st.sampled_from("st"), elements(), st.sampled_from([0, 1, 1.5, "2", 3, 4.0, 7, 11])
)
CHANGES = st.one_of(
    DOCUMENTS, DOCUMENTS, DOCUMENTS, st.tuples(st.just("add"), queries()), st.just("restart"),
    st.just("remove"),
)  # fmt: skip


def dense(seed: int, most: int) -> tuple[list[str], list[Any]]:
    """Queries and steps with many rows: nearly all documents have nodes for all patterns."""
    random = Random(seed)

    def element(depth: int) -> str:
        name = random.choice("aab" if depth < 2 else "k")
        attribute = f' id="{random.choice("12x")}"' if random.random() < 0.6 else ""
        if depth == 2:
            return f"<{name}{attribute}>{random.choice('12')}</{name}>"
        parts = [f"<k>{random.choice('12')}</k>"] * (random.random() < 0.8)
        parts += [element(depth + 1) for _ in range(random.randint(0, 2))]
        parts += [f"<b>{random.choice('12')}</b>"] * (random.random() < 0.4)
        random.shuffle(parts)
        return f"<{name}{attribute}>{''.join(parts)}</{name}>"

    def query(publishes: bool) -> str:
        ones = random.choice(PATTERNS).format("l", "")
        others = random.choice(PATTERNS).format("r", "")
        terms = ["l1=r1"]
        if "l0" in ones and random.random() < 0.2:
            terms.append(random.choice(["l0/k=r1", "l0//k=r1", "l1=l0/@id"]))
        if "l2" in ones and "r2" in others and random.random() < 0.3:
            terms.append("r2 = l2")
        window = random.choice(["0", "1", "2.5", "6", "1 EVENTS", "2 EVENTS", "4 EVENTS"])
        operator = random.choice(["JOIN", "FOLLOWED BY"])
        streams = ["S", "s", "t"] if publishes else ["S", "s", "t", "s", "t", "p"]
        left, right = random.choice(streams), random.choice(streams)
        made = '<a id="{l1}"><k>{r1}</k></a>'
        select = random.choice(["", f"SELECT {made} FROM "]) if not publishes else ""
        select = f"SELECT {made} FROM " if publishes else select
        end = " PUBLISH p" if publishes else ""
        condition = " AND ".join(terms)
        return f"{select}{left}{ones} {operator}{{{condition}, {window}}} {right}{others}{end}"

    queries = [query(random.random() < 0.15) for _ in range(random.randint(1, 6))]
    steps: list[Any] = []
    for place in range(random.randint(3, most)):
        kind = random.random()
        if kind < 0.08:
            steps.append(("add", query(False)))
        elif kind < 0.16:
            steps.append("restart")
        elif kind < 0.2:
            steps.append("remove")
        else:
            time = place / 2 - random.choice([0, 0, 0, 0.5, 1.5, 4])
            steps.append((random.choice("st"), f"<r>{element(0)}</r>", time))
    return queries, steps


def check(first: list[str], lateness: int | None, steps: list[Any]) -> None:
    texts = {f"q{n}": text for n, text in enumerate(first)}
    joins = Joins(texts, lateness=lateness)
    oracle = JoinOracle(None if lateness is None else lateness * 1_000_000)
    assert not joins.rejected_queries
    for name, text in texts.items():
        oracle.add(name, text)
    for number, step in enumerate(steps):
        if step == "restart":
            with tempfile.TemporaryDirectory() as directory:
                joins.save(directory)
                joins = Joins.restore(directory)
        elif step == "remove":
            for name in list(oracle.queries)[:1]:
                joins.remove([name])
                oracle.remove(name)
        elif step[0] == "add":
            joins.add({f"n{number}": step[1]})
            oracle.add(f"n{number}", step[1])
        else:
            stream, xml, time = step
            rows = joins.process(stream, f"d{number}", xml.encode(), time)
            ours = [(*row[:7], tuple(row.bindings.items()), row.output) for row in rows]
            theirs = oracle.process(stream, f"d{number}", xml.encode(), time)
            assert [row[:7] for row in ours] == [row[:7] for row in theirs]
            assert sorted(ours) == sorted(theirs)
            assert len({row[:8] for row in ours}) == len(ours)
            late = [(one.query, one.document) for one in joins.rejected if one.stage == "late"]
            assert late == oracle.rejected


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(queries(), min_size=1, max_size=6),
    st.sampled_from([None, 20]),
    st.lists(CHANGES, max_size=8),
)
def test_rows_are_the_same_where_a_filter_says_which_patterns_may_match(
    first: list[str], lateness: int | None, steps: list[Any]
) -> None:
    with mock.patch("extract.join_patterns.FEW", 0):
        check(first, lateness, steps)


def small_blocks(documents: int, few: int, listed: int) -> AbstractContextManager[object]:
    """Blocks of so many documents, merged when there are more than a few."""
    stack = ExitStack()
    room = "extract.filtertool.joins.store"
    stack.enter_context(mock.patch(f"{room}.BLOCK_DOCUMENTS", documents))
    stack.enter_context(mock.patch(f"{room}.FEW_BLOCKS", few))
    stack.enter_context(mock.patch(f"{room}._SHARE", 1))
    stack.enter_context(mock.patch(f"{room}.FEW", listed))
    return stack


BLOCKS = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2))
LATENESS = st.sampled_from([None, 0, 2, 20])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 32), LATENESS, BLOCKS)
def test_rows_do_not_depend_on_the_blocks_of_the_state(
    seed: int, lateness: int | None, blocks: tuple[int, int, int]
) -> None:
    first, steps = dense(seed, 16)
    with small_blocks(*blocks):
        check(first, lateness, steps)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(queries(), min_size=1, max_size=6),
    LATENESS,
    st.lists(CHANGES, max_size=14),
)
def test_rows_are_those_of_all_pairs(
    first: list[str], lateness: int | None, steps: list[Any]
) -> None:
    check(first, lateness, steps)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 32), LATENESS, BLOCKS, st.sampled_from([0, 32]))
def test_rows_are_those_of_all_pairs_at_length(
    seed: int, lateness: int | None, blocks: tuple[int, int, int], few: int
) -> None:
    first, steps = dense(seed, 24)
    with small_blocks(*blocks), mock.patch("extract.join_patterns.FEW", few):
        check(first, lateness, steps)
