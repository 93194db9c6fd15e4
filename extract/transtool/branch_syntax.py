"""The filters and tails of branches as expressions, for who would parse their texts again.

A scheme has branches as texts, and PREPTOOL looks at what they say: at each filter of the spine,
and at the tail. While queries are prepared, these parts have just been expressions; so they are
kept, each text once.
"""

from __future__ import annotations

from typing import Final, TypeVar

from extract.transtool.branch import PartialBranch, spell
from extract.xpath.ast import Expr, LocationPath, Step
from extract.xpath.parser import parse

_MOST_REMEMBERED: Final = 50_000
_T = TypeVar("_T")


class BranchSyntax:
    """Parts of branches as expressions, by their texts; a text that is not known is parsed.

    Attributes:
        values: Branches without a spine.
    """

    def __init__(self) -> None:
        self.values: dict[str, Expr] = {}
        self._filters: dict[str, Expr] = {}
        self._tails: dict[str, tuple[Step, ...]] = {}

    def add(self, branch: PartialBranch, residual: str) -> None:
        """Takes in the parts of a branch, whose tail is ``residual`` as text."""
        spine = branch.spine
        if spine.step is None:
            _bounded(self.values)[branch.xpath] = branch.path
            return
        if residual not in self._tails:
            _bounded(self._tails)[residual] = spell(branch.tail, True)
        while spine.filtered:
            assert spine.step is not None
            assert spine.parent is not None
            for predicate in spine.step.predicates:
                _bounded(self._filters)[f"[{predicate}]"] = predicate
            spine = spine.parent

    def filter(self, text: str) -> Expr:
        """The expression in a filter.

        >>> str(BranchSyntax().filter("[ a = 1 ]"))
        'a = 1'
        """
        known = self._filters.get(text)
        return _steps(f"x{text}")[0].predicates[0] if known is None else known

    def tail(self, text: str) -> tuple[Step, ...]:
        """The steps of a tail.

        >>> list(map(str, BranchSyntax().tail("/a/@b")))
        ['a', '@b']
        """
        known = self._tails.get(text)
        return _steps(f"x{text}")[1:] if known is None else known

    def value(self, text: str) -> Expr:
        """A branch without a spine."""
        known = self.values.get(text)
        return parse(text) if known is None else known


def _bounded(parts: dict[str, _T]) -> dict[str, _T]:
    if len(parts) > _MOST_REMEMBERED:
        parts.clear()
    return parts


def _steps(text: str) -> tuple[Step, ...]:
    path = parse(text)
    assert isinstance(path, LocationPath)
    return path.steps
