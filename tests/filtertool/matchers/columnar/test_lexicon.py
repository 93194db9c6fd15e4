"""The constants of queries as numbers of a lexicon, and joins with nodes: in C as in Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.filtertool.matchers.columnar.candidates import QueryRanges, blocks
from extract.filtertool.matchers.columnar.comparison import OPERATORS
from extract.filtertool.matchers.columnar.constant_columns import ConstantColumns, SortedNumbers
from extract.filtertool.matchers.columnar.lexicon import Lexicon, NativeLexicon, contained
from extract.filtertool.matchers.columnar.native import (
    ENVIRONMENT,
    native_available,
    native_built,
    native_module,
)
from extract.filtertool.matchers.columnar.node_values import ConstantCheck
from extract.filtertool.matchers.columnar.strings import Coded
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.constants import Constants

needs_native = pytest.mark.skipif(not native_built(), reason="the parts in C are not built")

LETTERS = st.sampled_from(list("ab")) | st.characters(exclude_characters="\0", codec="utf-8")
WORD = st.text(LETTERS, max_size=20)
LONG = st.text(st.sampled_from(list("ab")), max_size=40)
WORDS = st.lists(WORD | LONG, max_size=40)
NUMBER = st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, 2.0, 2.5, 3.0, 1e300])


@needs_native
@given(WORDS, WORDS)
def test_lexicons_are_the_same(constants: list[str], texts: list[str]) -> None:
    column, values = TextColumn.of(constants), Coded([text.encode() for text in texts])
    native, python = NativeLexicon(column), Lexicon(column)
    assert native.codes.tolist() == python.codes.tolist()
    assert native.size == python.size == len(set(constants))
    (at, items), (python_at, python_items) = native.groups, python.groups
    assert (at.tolist(), items.tolist()) == (python_at.tolist(), python_items.tolist())
    assert native.numbers_of(values).tolist() == python.numbers_of(values).tolist()


@needs_native
@given(WORDS, WORDS, st.booleans())
def test_all_constants_are_found(constants: list[str], texts: list[str], begin: bool) -> None:
    column, values = TextColumn.of(constants), Coded([text.encode() for text in texts])
    distinct = list(dict.fromkeys(constants))
    expected = [
        (number, part)
        for number, word in enumerate(values.words)
        for part, constant in enumerate(distinct)
        if (word.startswith(constant.encode()) if begin else constant.encode() in word)
    ]
    for lexicon in (NativeLexicon(column), Lexicon(column)):
        for _ in range(2):  # a search leaves nothing behind
            text, number = lexicon.found_in(values, begin)
            pairs = sorted(zip(text.tolist(), number.tolist(), strict=True))
            assert pairs == expected
            assert sorted(text.tolist()) == text.tolist()


def test_more_constants_are_found_than_there_was_room_for() -> None:
    constants = TextColumn.of([f"{n}" for n in range(1000)])
    texts = Coded(["".join(f"{n:03}" for n in range(1000)).encode()])
    text, number = NativeLexicon(constants).found_in(texts, False)
    assert sorted(number.tolist()) == list(range(1000))
    assert set(text.tolist()) == {0}


@needs_native
@given(st.lists(WORD, min_size=1, max_size=20), st.lists(WORD, min_size=1), st.booleans())
def test_pairs_of_a_text_and_a_part(texts: list[str], parts: list[str], begin: bool) -> None:
    which, part = np.divmod(np.arange(len(texts) * len(parts)), len(parts))
    expected = [text.startswith(one) if begin else one in text for text in texts for one in parts]
    with pytest.MonkeyPatch.context() as patch:
        for setting in ("on", "off"):
            patch.setenv(ENVIRONMENT, setting)
            columns = (TextColumn.of(texts), which, TextColumn.of(parts), part)
            assert contained(*columns, begin).tolist() == expected


@given(st.lists(NUMBER, max_size=20), st.lists(NUMBER, max_size=20))
def test_ranges_of_sorted_constants(constants: list[float], values: list[float]) -> None:
    index = SortedNumbers.of(np.array(constants, np.float64))
    for op in ("=", "<", "<=", ">", ">="):
        low, high = index.ranges(op, np.array(values, np.float64))
        for value, first, last in zip(values, low.tolist(), high.tolist(), strict=True):
            found = sorted(index.queries[first:last].tolist())
            holds = [n for n, one in enumerate(constants) if OPERATORS[op](value, one)]
            assert found == holds, (op, value)


@st.composite
def joins(draw: st.DrawFn) -> tuple[QueryRanges, list[ConstantCheck]]:
    queries, places = draw(st.integers(1, 30)), draw(st.integers(1, 6))
    order = np.array(draw(st.permutations(range(queries))), np.int32)
    ends = st.tuples(st.integers(0, queries), st.integers(0, queries)).map(sorted)
    rows = draw(st.lists(st.tuples(st.integers(0, places - 1), ends), max_size=8))
    place = np.array([one for one, _ in rows], np.int64)
    low = np.array([first for _, (first, _) in rows], np.int64)
    high = np.array([last for _, (_, last) in rows], np.int64)
    checks = []
    for op in draw(st.lists(st.sampled_from(["=", "<", "<=", ">", ">=", "same"]), max_size=3)):
        numbers = NUMBER if op != "same" else st.sampled_from([math.nan, -1.0, 0.0, 1.0])
        values = draw(st.lists(numbers, min_size=places, max_size=places))
        if op == "same":
            codes = draw(st.lists(st.integers(0, 2), min_size=queries, max_size=queries))
            constants = np.array(codes, np.int32)
        else:
            numbers_ = draw(st.lists(NUMBER, min_size=queries, max_size=queries))
            constants = np.array(numbers_, np.float64)
        checks.append(ConstantCheck("=" if op == "same" else op, np.array(values), constants))
    return QueryRanges(place, low, high, order), checks


@given(joins(), st.integers(1, 40), st.booleans())
def test_blocks_of_candidates(
    join: tuple[QueryRanges, list[ConstantCheck]], size: int, arranged: bool
) -> None:
    ranges, checks = join
    constants = ConstantColumns(Constants.of(["string"], [("",)] * len(ranges.queries)))
    expected = [
        (place, query)
        for place, low, high in zip(*map(np.ndarray.tolist, ranges[:3]), strict=True)
        for query in ranges.queries[low:high].tolist()
        if all(OPERATORS[one.op](one.values[place], one.constants[query]) for one in checks)
    ]
    module = "extract.filtertool.matchers.columnar.constant_columns.ARRANGED"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, 0 if arranged else 1_000)
        for setting in ("on", "off") if native_available() else ("off",):
            patch.setenv(ENVIRONMENT, setting)
            pairs: list[tuple[int, int]] = []
            for place, query in blocks([ranges], checks, constants, size):
                assert 0 < len(place) <= size
                pairs += zip(place.tolist(), query.tolist(), strict=True)
            assert pairs == expected


@needs_native
@pytest.mark.parametrize("bad", [(0, 4), (-1, 2), (2, 1)])
def test_a_string_beyond_its_buffer(bad: tuple[int, int]) -> None:
    start, stop = [np.array([value], np.int64) for value in bad]
    module, codes = native_module("lexicon"), np.empty(1, np.int32)
    with pytest.raises(IndexError):
        module.Lexicon(b"abc", start, stop, codes)
    with pytest.raises(IndexError):
        module.PrefixSearch(b"abc", start, stop)
