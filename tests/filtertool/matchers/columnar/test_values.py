"""String values as numbers of a dictionary: in C as in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.filtertool.matchers.columnar.native import native_built, native_module
from extract.filtertool.matchers.columnar.strings import Coded, NativeCoded, Words, sought

pytestmark = pytest.mark.skipif(not native_built(), reason="the parts in C are not built")

LETTERS = st.sampled_from(list("ab")) | st.characters(exclude_characters="\0", codec="utf-8")
WORDS = st.text(LETTERS, max_size=40).map(str.encode)
PARTS = st.lists(st.tuples(WORDS.filter(bool), st.booleans()), min_size=1, max_size=20)


def slices_of(texts: list[bytes]) -> Any:
    """The texts as slices of two buffers, with other bytes between them."""
    buffers = [b"", b""]
    slices = []
    for number, text in enumerate(texts):
        which = number % 2
        buffers[which] += b"ab\0"
        slices.append((which, len(buffers[which]), len(buffers[which]) + len(text)))
        buffers[which] += text
    columns = np.array(slices, np.int64).reshape(-1, 3).T
    return native_module("values").Slices(buffers, *map(np.ascontiguousarray, columns))


@given(st.lists(WORDS, max_size=30), PARTS)
def test_as_in_python(texts: list[bytes], parts: list[tuple[bytes, bool]]) -> None:
    native, python = NativeCoded(slices_of(texts)), Coded(texts)
    assert native.words == python.words
    assert native.code.tolist() == python.code.tolist()
    for word in [*texts, b"", b"no such text"]:
        assert native.find(word) == python.find(word)
        assert native.where(word).tolist() == python.where(word).tolist()
    numbers = np.arange(0, len(python.words), 2)
    assert native.places(numbers).tolist() == python.places(numbers).tolist()
    wanted = [sought(*part) for part in parts]
    found = native.search(wanted)
    assert [each.tolist() for each in found] == [each.tolist() for each in python.search(wanted)]
    for (part, begin), numbers in zip(parts, found, strict=True):
        held = [word.startswith(part) if begin else part in word for word in python.words]
        assert numbers.tolist() == np.flatnonzero(held).tolist()


@given(st.lists(WORDS, max_size=30), st.lists(WORDS, max_size=10))
def test_words_among_texts(texts: list[bytes], wanted: list[bytes]) -> None:
    words = Words()
    for word in wanted:
        words.add(word)
    numbers, places = words.in_slices(slices_of(texts))
    found = [(words.numbers[text], at) for at, text in enumerate(texts) if text in wanted]
    assert list(zip(numbers.tolist(), places.tolist(), strict=True)) == found


def test_more_is_found_than_there_was_room_for() -> None:
    texts = [b"a%d" % number for number in range(9_000)]
    (found,) = NativeCoded(slices_of(texts)).search([b"a"])
    assert found.tolist() == list(range(9_000))


@pytest.mark.parametrize("bad", [(0, 0, 4), (0, -1, 2), (0, 2, 1), (1, 0, 0), (-1, 0, 0)])
def test_a_slice_beyond_its_buffer(bad: tuple[int, int, int]) -> None:
    columns = [np.array([value], np.int64) for value in bad]
    with pytest.raises(IndexError):
        native_module("values").Slices([b"abc"], *columns)
