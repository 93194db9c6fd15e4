"""Splits branches: a spine of named child steps, filters, and a tail.

This works on the text of a branch, for there may be a million of them; filters and tails repeat,
and each is parsed once. Spines are nodes of one trie. A *stem* is a spine with filters: those of
its last step, and the stem of the step above.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from extract.filtertool.matchers.columnar.accept import reason_against
from extract.filtertool.matchers.columnar.hops import Hop, NodePattern, hops
from extract.scheme.spine import end_of_filter
from extract.xpath.ast import Expr, LocationPath, Step, make_path, name_test
from extract.xpath.parser import parse

_LETTER: Final = r"""[^/\[\]()@:*|\s'"=<>!,+$]"""
# Names before a step, a filter or the end: no functions, axes, node types, wildcards, operators.
_NAMES = re.compile(rf"(?:/(?![.\-0-9]){_LETTER}+(?::{_LETTER}+)?(?=[/\[]|$))+")

ALL: Final = -1  # as a filter: none; as a stem: the one without filters
RESULT: Final = 0  # the tail of a branch that ends with its spine

# The axes with which a tail selects different nodes from different rows of a spine.
_DOWN: Final = frozenset({"child", "descendant", "descendant-or-self", "self", "attribute"})


class Tail(NamedTuple):
    """The steps after a spine.

    Attributes:
        path: Its steps.
        hops: The same steps as hops.
        down: Whether it always selects different nodes from different rows of a spine.
    """

    path: LocationPath
    hops: tuple[Hop, ...]
    down: bool


class Declined(Exception):
    """A branch that columns cannot answer, with the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Spines:
    """All branches that have a spine.

    Attributes:
        above: For each spine the spine of one step less; spine 0 is the document node.
        tests: For each spine the name of its last step, as written.
        filters: The filters of steps, each once, as node patterns.
        tails: The tails, each once.
        stem_spine, stem_above, stem_filter: For each stem its spine, the stem of one step less or
            `ALL`, and the filter of its last step or `ALL`.
        spine, stem, tail, question: For each branch.
    """

    def __init__(self) -> None:
        self.above: list[int] = [-1]
        self.tests: list[str] = [""]
        self.filters: list[NodePattern] = []
        self.tails: list[Tail] = [Tail(make_path(False, ()), (), True)]
        self.stem_spine, self.stem_above, self.stem_filter = array("i"), array("i"), array("i")
        self.spine, self.stem, self.tail, self.question = (array("i") for _ in range(4))
        self._below: list[dict[str, int]] = [{}]
        self._runs: dict[tuple[int, int, str], tuple[int, int, str]] = {}
        self._filters: dict[tuple[str, str], int | str] = {}
        self._tails: dict[str, int | str] = {"": RESULT}
        self._stems: dict[tuple[int, int, int], int] = {}

    def read(self, xpath: str) -> tuple[int, int, int] | None:
        """Returns the spine, stem and tail of a branch; None if it has no spine.

        Raises:
            Declined: Columns cannot answer a part of it.
        """
        at, spine, stem = 0, 0, ALL
        run = _NAMES.match(xpath)
        while run:
            key = (spine, stem, run[0])
            walked = self._runs.get(key)
            if walked is None:
                walked = self._runs[key] = self._walk(spine, stem, run[0])
            spine, stem, word = walked
            end = at = run.end()
            while xpath.startswith("[", end):
                end = end_of_filter(xpath, end)
            filter_ = ALL
            if end > at:
                filter_ = self._filter(word, xpath[at:end])
                at = end
            if filter_ != ALL or stem != ALL:
                stem = self._stem(spine, stem, filter_)
            run = _NAMES.match(xpath, at)
        if not spine:
            return None
        tail = self._tail(xpath[at:])
        return None if tail is None else (spine, stem, tail)

    def spine_of(self, names: Sequence[str]) -> int:
        """Returns the spine of child steps with these names, which need not be a branch's."""
        return self._walk(0, ALL, f"/{'/'.join(names)}")[0] if names else 0

    def _walk(self, spine: int, stem: int, names: str) -> tuple[int, int, str]:
        """Returns the spine of a run of names, the stem of one step less, and the last name."""
        words = names[1:].split("/")
        for number, word in enumerate(words):
            below = self._below[spine]
            if word not in below:
                below[word] = self._new_spine(spine, word)
            spine = below[word]
            if number < len(words) - 1 and stem != ALL:
                stem = self._stem(spine, stem, ALL)
        return spine, stem, words[-1]

    def add(self, question: int, parts: tuple[int, int, int]) -> None:
        """Adds a branch of a question."""
        spine, stem, tail = parts
        self.spine.append(spine)
        self.stem.append(stem)
        self.tail.append(tail)
        self.question.append(question)

    def _new_spine(self, above: int, word: str) -> int:
        self.above.append(above)
        self.tests.append(word)
        self._below.append({})
        return len(self.above) - 1

    def _stem(self, spine: int, above: int, filter_: int) -> int:
        key = (spine, above, filter_)
        stem_ = self._stems.get(key)
        if stem_ is None:
            stem_ = self._stems[key] = len(self.stem_spine)
            self.stem_spine.append(spine)
            self.stem_above.append(above)
            self.stem_filter.append(filter_)
        return stem_

    def _filter(self, word: str, text: str) -> int:
        key = (word, text)
        number = self._filters.get(key)
        if number is None:
            number = self._filters[key] = self._new_filter(word, text)
        if isinstance(number, str):
            raise Declined(number)
        return number

    def _new_filter(self, word: str, text: str) -> int | str:
        predicates = parsed_filter(text)
        reason = next((r for r in map(reason_against, predicates) if r), "")
        if reason:
            return reason
        prefix, _, local = word.rpartition(":")
        self.filters.append(NodePattern(False, name_test(local, prefix), predicates))
        return len(self.filters) - 1

    def _tail(self, text: str) -> int | None:
        number = self._tails.get(text)
        if number is None:
            made = self._new_tail(text)
            if made is None:
                return None
            number = self._tails[text] = made
        if isinstance(number, str):
            raise Declined(number)
        return number

    def _new_tail(self, text: str) -> int | str | None:
        path = parse(f".{text}")
        if not isinstance(path, LocationPath):
            return None  # the text goes on after the path
        reason = reason_against(path)
        if reason:
            return reason
        self.tails.append(Tail(path, hops(path.steps), all(map(_goes_down, path.steps))))
        return len(self.tails) - 1


def _goes_down(step: Step) -> bool:
    return step.axis in _DOWN


_parsed: dict[str, tuple[Expr, ...]] = {}


def parsed_filter(text: str) -> tuple[Expr, ...]:
    """Returns the predicates in a text of brackets; equal texts are parsed once."""
    predicates = _parsed.get(text)
    if predicates is None:
        path = parse(f"x{text}")
        assert isinstance(path, LocationPath)
        if len(_parsed) > 1 << 17:
            _parsed.clear()
        predicates = _parsed[text] = path.steps[0].predicates
    return predicates
