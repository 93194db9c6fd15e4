"""The characters of names are those that libxml2 takes in an expression: asked one by one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from lxml import etree

from extract.xpath.names import NCNAME
from extract.xpath.parser import parse
from tests.support.xpath_corpus import compiles

ASTRAL_SAMPLE = [*range(0x10000, 0x10100), *range(0x10100, 0x110000, 997), 0x1FFFF, 0x10FFFF]


def check_characters(codes: Iterable[int]) -> int:
    """Compares what starts a name, and what goes on with one; the number of comparisons."""
    count = 0
    for code in codes:
        if 0xD800 <= code < 0xE000:
            continue  # lone surrogates are in no XPath at all
        char = chr(code)
        assert bool(NCNAME.fullmatch(char)) == compiles(f"@{char}") or char == "*", hex(code)
        assert bool(NCNAME.fullmatch(f"a{char}b")) == compiles(f"@a{char}b") or char in _SIGNS, hex(
            code
        )
        count += 2
    print(f"{count:,} characters compared")
    return count


_SIGNS = ":=<>/|+*\t\n\r "  # what may stand between two names, but is part of none


def test_names_in_the_basic_plane_are_those_of_libxml2() -> None:
    assert check_characters(range(0x10000)) > 100_000


def test_no_character_beyond_the_basic_plane_is_in_a_name() -> None:
    check_characters(ASTRAL_SAMPLE)


@pytest.mark.slow
def test_all_characters_are_those_of_libxml2() -> None:
    check_characters(range(0x110000))


@pytest.mark.parametrize("frame", ["{}", "@{}", "p:{}", "{}:a", "child::{}", "${}", "{}()", "a/{}"])
def test_names_of_every_kind_have_the_same_characters(frame: str) -> None:
    for name in ("é", "a\u0300", "Ω", "汉字", "かな", "한글", "_", "a·", "ⅰ", "\u2180"):
        xpath = frame.replace("{}", name)
        assert bool(NCNAME.fullmatch(name)) == compiles(xpath)
        if compiles(xpath):
            assert str(parse(xpath)) == (f"{name}" if frame == "child::{}" else xpath)


def test_documents_have_names_that_no_query_can_write() -> None:
    root = etree.fromstring("<\u2c00/>")
    assert not compiles("/\u2c00")
    assert etree.XPath("/*[local-name() = '\u2c00']")(root) == [root]
