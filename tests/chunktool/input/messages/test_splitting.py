"""Where documents and records begin and end: in C and in Python, in windows of any size."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any, Final

import numpy as np
import pytest
from lxml import etree

from extract.chunktool.input.messages import reference_split

compiled: ModuleType | None
try:
    from extract.chunktool.input.messages import _split as compiled
except ImportError:
    compiled = None

IMPLEMENTATIONS: Final = [one for one in (reference_split, compiled) if one is not None]
both = pytest.mark.parametrize("code", IMPLEMENTATIONS, ids=lambda one: one.__name__[-15:])

DECLARATION: Final = b"<?xml version='1.0'?>"
ODD: Final = b"<!DOCTYPE a [<!ENTITY x '<]>'><!-- ] \" --><?p ]' ?>]>"


def windows(splitter: Any, data: bytes, width: int) -> Iterator[Any]:
    """What a splitter finds, window by window, each with what was not done with."""
    base = read = 0
    while True:
        read = min(len(data), read + width)
        last = read == len(data)
        yield splitter.split(data[base:read], base, last)
        if last or getattr(splitter, "broken", -1) >= 0:
            return
        base = splitter.at if splitter.start < 0 else min(splitter.at, splitter.start)


def documents(code: ModuleType, data: bytes, width: int = 0) -> tuple[list[bytes], bool]:
    splitter = code.DocumentSplitter()
    rows = [row for found in windows(splitter, data, width or len(data) + 1) for row in found]
    return [data[start:end] for start, end, *_ in rows], splitter.unfinished


def records(code: ModuleType, data: bytes, width: int = 0) -> list[Any]:
    splitter = code.RecordSplitter(b"r")
    found = list(windows(splitter, data, width or len(data) + 1))
    rows = [row.tolist() for one, _ in found for row in one]
    events = [row.tolist() for _, one in found for row in one]
    return [rows, events, splitter.start, splitter.broken, splitter.depth, splitter.open_scopes]


WHOLE: Final = [
    [b"<a/>", b"<b>x</b>"],
    [DECLARATION + b"<a/>", DECLARATION + ODD + b"<a><a/></a>", b"<b/>"],
    [b"<a b='>' c=\"'/>\"/>", b"<b><![CDATA[</b>]]]]></b>", b"<c><!-- </c> --></c>"],
    [b"<a><?p </a> ?></a><!-- behind --><?p?>", DECLARATION + b"<!-- before --><b/>"],
    [b"\xef\xbb\xbf" + DECLARATION + b"<a/>", b"\xef\xbb\xbf<b/>"],
    [b"<!-- first --><a><a><a/></a></a>", b"<a/>"],
    [b"<a\n/>", b"<\xc3\xa4>\xe2\x82\xac</\xc3\xa4\t>", b"<x:y xmlns:x='u'/>"],
]


@both
@pytest.mark.parametrize("parts", WHOLE)
@pytest.mark.parametrize("between", [b"", b" ", b"\r\n\t"])
def test_documents_one_after_the_other(
    code: ModuleType, parts: list[bytes], between: bytes
) -> None:
    for one in parts:
        etree.fromstring(one)  # they are documents
    data = between + between.join(parts) + between
    for width in (1, 2, 3, 5, 0):
        assert documents(code, data, width) == (parts, False)


BROKEN: Final = [
    ("an element is not closed", b"<a><b></a>|<c/>"),
    ("other names", b"<a></b>|<c/>"),
    ("too many end tags", b"<a></b>|</a>|<c/>"),
    ("not closed, up to a declaration", b"<a><b>\n|" + DECLARATION + b"<c/>"),
    ("not closed, up to a DOCTYPE", b"<a><b>|<!DOCTYPE c><c/>"),
    ("a tag in a tag, up to a declaration", b"<a><b </a> <c/>|" + DECLARATION + b"<d/>"),
    ("a quote is not closed", b"<a b='x></a><b/>|" + DECLARATION + b"<c/>"),
    ("a comment is not closed", b"<a/>|<!-- |" + DECLARATION + b"<c/>"),
    ("text between", b"<a/>|text |<b/>"),
    ("a CDATA section between", b"<a/>|<![CDATA[<c/>]]>|<b/>"),
    ("two declarations", DECLARATION + b"|" + DECLARATION + b"<a/>"),
]


@both
@pytest.mark.parametrize(("what", "marked"), BROKEN, ids=[what for what, _ in BROKEN])
def test_a_broken_document_leaves_the_next_ones_alone(
    code: ModuleType, what: str, marked: bytes
) -> None:
    parts = marked.split(b"|")
    for width in (1, 2, 4, 0):
        assert documents(code, b"".join(parts), width) == (parts, False), what


@both
@pytest.mark.parametrize(
    "last", [b"<b><c/>", b"<b", b"<!-- <b/>", b"<b x='<'/></b> <c/>", DECLARATION]
)
def test_a_document_without_an_end_has_the_rest(code: ModuleType, last: bytes) -> None:
    for width in (1, 2, 4, 0):
        assert documents(code, b"<a/>" + last, width) == ([b"<a/>", last], True)


@both
def test_nothing_and_white_space(code: ModuleType) -> None:
    assert documents(code, b"") == documents(code, b" \n\t") == ([], False)


@both
def test_records_with_scopes(code: ModuleType) -> None:
    data = b"<x xmlns='u'><r/><y xmlns:p='v'><r><r>1</r></r></y><!--<r/>--><r xmlns:q='w'/></x>"
    for width in (1, 2, 4, 0):
        rows, events, start, broken, depth, scopes = records(code, data, width)
        found = [(data[a:b], data[a:c], scope) for a, b, c, scope in rows]
        assert found == [
            (b"<r/>", b"<r", 1),
            (b"<r><r>1</r></r>", b"<r", 2),
            (b"<r xmlns:q='w'/>", b"<r", -2),
        ]
        assert [(kind, around) for kind, _, _, around in events] == [(0, 0), (0, 1)]
        assert (start, broken, depth, scopes) == (-1, -1, 0, [])


@both
@pytest.mark.parametrize(
    ("data", "ends"),
    [
        (b"<x><r><b></r><r/></x>", [13, 17]),  # broken inside of a record
        (b"<x><r><b <c></r><r/></x>", [16, 20]),
        (b"<x><r/></x></x><r/>", [7]),  # broken outside
        (b"<x><y <r/><r/></x>", []),
        (b"<x><r/><?xml version='1.0'?><r/></x>", [7]),
    ],
)
def test_records_of_broken_files(code: ModuleType, data: bytes, ends: list[int]) -> None:
    for width in (1, 3, 0):
        assert [end for _, end, _, _ in records(code, data, width)[0]] == ends


ATOMS: Final = [
    *(b"<a>", b"</a>", b"<b>", b"</b>", b"<a/>", b"<b x='>'>", b'<a x="<">', DECLARATION),
    *(b"<!DOCTYPE a>", ODD, b"<!--", b"-->", b"<!-- c -->", b"<![CDATA[", b"]]>", b"<?p?>"),
    *(b"<?p", b"?>", b"x", b" ", b"\n", b"\xef\xbb\xbf", b"\xef", b"<", b">", b"'", b'"', b"<r>"),
    *(b"</r>", b"<r/>", b"<r xmlns:p='u'>", b"<q xmlns='v'>", b"</q>", b"<!", b"</", b"< a>"),
    *(b"</ >", b"<!ELEMENT>", b"[", b"]", b"<?xml-s?>", b"<?>", b"<??>", b"<!>", b"<!-->", b"/"),
]


@pytest.mark.skipif(compiled is None, reason="nothing is compiled")
def test_both_implementations_and_all_windows_agree() -> None:
    assert compiled is not None
    rng = random.Random(16)
    for _ in range(1_500):
        data = b"".join(rng.choices(ATOMS, k=rng.randrange(1, 14)))
        wanted, held = documents(compiled, data), records(compiled, data)
        for width in (1, 2, 3, 7, 0):
            for code in IMPLEMENTATIONS:
                assert documents(code, data, width) == wanted, (data, width, code)
                assert records(code, data, width)[:4] == held[:4], (data, width, code)
        check_that_nothing_is_lost(data)


def check_that_nothing_is_lost(data: bytes) -> None:
    rows = next(windows(reference_split.DocumentSplitter(), data, len(data) + 1))
    edges = [0, *rows[:, :2].ravel().tolist(), len(data)]
    assert edges == sorted(edges)
    between = [data[start:end] for start, end in pairwise(edges)][::2]
    assert not b"".join(between).strip(b" \t\r\n"), data


@both
def test_pieces_of_bytes(code: ModuleType) -> None:
    data, starts, ends = b"abcdef", np.array([0, 2, 6]), np.array([2, 2, 6])
    assert code.pieces(data, starts, ends) == [b"ab", b"", b""]
    assert code.pieces(b"", starts[:0], ends[:0]) == []
    middles = np.array([1, 2, 6])
    assert code.completed(data, starts, ends, middles, b"<", b"|") == [b"<a|b", b"<|", b"<|"]


@pytest.mark.skipif(compiled is None, reason="nothing is compiled")
@pytest.mark.parametrize("call", ["pieces", "completed"])
def test_pieces_outside_of_the_bytes(call: str) -> None:
    make: Callable[..., Any] = getattr(compiled, call)
    more = () if call == "pieces" else (np.array([1]), b"", b"")
    for start, end in ((-1, 2), (1, 9), (2, 1)):
        with pytest.raises(IndexError):
            make(b"abc", np.array([start]), np.array([end]), *more)
