"""Programs are as long as their queries, and so is the work of preparing and compiling these.

Nothing here is measured in seconds: words of programs, and lines of Python that were executed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import extract
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.automaton import EngineNames
from extract.filtertool.matchers.push.program import WORDS, CompiledTemplate, compile_question
from extract.schema.model import Schema
from extract.xpath.check import parse_checked
from extract.xpath.types import type_of
from tests.support.push.whole import compare_filter

Family = Callable[[int], str]

NESTED: dict[str, Family] = {
    "last": lambda n: "//b" + "[last()]" * n,
    "first": lambda n: "//b" + "[1]" * n,
    "conditions between": lambda n: "//b" + "[position() < 5][c]" * n,
    "filters": lambda n: "(" * n + "//b" + ")[1]" * n,
    "filters of unions": lambda n: "(" * n + "//b" + " | //c)[1]" * n,
    "steps of filters": lambda n: "(" * n + "/a" + "/*)[2]" * n,
    "inside": lambda n: "//b" + "[c" * n + "[1]" + "][2]" * (n - 1) + "]",
    "steps": lambda n: "/a" + "/b[c][2]" * n,
    "strings": lambda n: "//b[" + "string(c[" * n + "d" + "])" * n + "]",
    "empty strings": lambda n: "//b[" + "string(c[" * n + "d" + "]) = ''" * n + "]",
    "compared node sets": lambda n: "(//text()[self::a < " * n + "c" + "])/ancestor::b" * n,
}
WIDE: dict[str, Family] = {
    "differs": lambda n: f"//b[{' and '.join(f'c != {i}' for i in range(n))}]",
    "filters": lambda n: "//b" + "".join(f"[c != {i}]" for i in range(n)),
    "filters of parentheses": lambda n: "(//b)" + "".join(f"[c != {i}]" for i in range(n)),
    "ancestors": lambda n: "//b" + "".join(f"[ancestor::c{i}]" for i in range(n)),
    "branches": lambda n: " | ".join(f"//b{i}" for i in range(n)),
    "position in a union": lambda n: f"({' | '.join(f'//b{i}' for i in range(n))})[last()]",
    "filters of a union": lambda n: f"({' | '.join(f'//b{i}' for i in range(n))}){'[c]' * n}",
    "steps of a union": lambda n: f"({' | '.join(f'//b{i}' for i in range(n))}){'/c' * n}",
    "filtered steps": lambda n: "/a" + "/b[c]" * n,
    "counted steps": lambda n: "/a" + "/b[1]" * n,
    "steps far below": lambda n: "/a" + "//b" * n,
    "steps up": lambda n: "//c" + "/ancestor::*" * n,
    "filters on parents": lambda n: "/a" + "/b[../c = 1]" * n,
}
DOCUMENTS = [
    b"<a><b><c/><b><c>1</c><c/><d/></b></b><b><c/><c><c/></c></b><b/></a>",
    b"<a><a><b/><b><c><d/></c></b></a><c/><b0/><b1><c/></b1></a>",
    b"<b><b><c/></b><b/><b><c/><c/></b></b>",
]


def _program(xpath: str) -> CompiledTemplate:
    type_ = type_of(parse_checked(xpath, {}))
    names = EngineNames(Schema.none(), {})
    return compile_question(Question((xpath,), type_, xpath), names, frozenset())


def _lines(action: Callable[[], object]) -> int:
    """How many lines of Python an action executes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def _compile(xpath: str) -> None:
    extract.Filter(extract.prepare(extract.Subscriptions.of({"q": xpath})), "count")


def _work(xpath: str) -> int:
    return _lines(lambda: _compile(xpath))


@pytest.mark.parametrize("family", NESTED.values(), ids=NESTED)
def test_a_condition_stands_once_in_a_program(family: Family) -> None:
    few, more, many = [len(_program(family(n)).words) for n in (4, 8, 12)]
    assert many - more <= 2 * (more - few)  # beside its slots, each of which is a path
    assert many <= WORDS * len(family(12))


@pytest.mark.parametrize("family", [*NESTED.values(), *WIDE.values()], ids=[*NESTED, *WIDE])
def test_answers_are_those_of_libxml2(family: Family) -> None:
    compare_filter([family(n) for n in (1, 2, 3, 5, 9, 20)], DOCUMENTS)


@pytest.mark.parametrize("family", WIDE.values(), ids=WIDE)
def test_work_grows_as_queries_do(family: Family) -> None:
    _compile(family(3))  # imports
    assert _work(family(1_200)) <= 6 * _work(family(300))


@pytest.mark.parametrize("family", NESTED.values(), ids=NESTED)
def test_work_grows_as_queries_are_nested(family: Family) -> None:
    _compile(family(3))
    assert _work(family(16)) <= 6 * _work(family(8))


def test_a_program_is_not_longer_than_its_query_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    query = "//b[c][2]"
    assert _program(query).exact
    monkeypatch.setattr("extract.filtertool.matchers.push.program.WORDS", 1)
    assert not _program(query).exact  # libxml2 answers it
    compare_filter([query], DOCUMENTS)
