"""The filters and tails of branches as expressions, for who would parse their texts again.

A scheme has branches as texts, and PREPTOOL looks at what they say: at each filter of the spine,
and at the tail. While queries are prepared, these parts have just been expressions; so they are
kept, each text once.
"""

from __future__ import annotations

from typing import Final, TypeVar

from extract.scheme.model import Branch
from extract.scheme.spine import BranchParts, take_apart
from extract.transtool.branch import PartialBranch, Spine, spell
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
        self._spines: dict[str, BranchParts] = {}

    def add(self, branch: PartialBranch, residual: str) -> None:
        """Takes in the parts of a branch, whose tail is ``residual`` as text."""
        spine = branch.spine
        if spine.step is None:
            _bounded(self.values)[branch.xpath] = branch.path
            return
        if residual not in self._tails:
            _bounded(self._tails)[residual] = spell(branch.tail, True)
        if spine.text not in self._spines:
            _bounded(self._spines)[spine.text] = self._taken_apart(spine)

    def _taken_apart(self, spine: Spine) -> BranchParts:
        """The names and filters of a spine; its filters are taken in."""
        names = spine.names
        filters: list[tuple[int, str]] = []
        number, above = len(names), spine
        while above.filtered:
            assert above.step is not None
            assert above.parent is not None
            for predicate in reversed(above.step.predicates):
                own = f"[{predicate}]"
                filters.append((number, own))
                _bounded(self._filters)[own] = predicate
            number, above = number - 1, above.parent
        return BranchParts(names, tuple(reversed(filters)), "")

    def spine(self, text: str, steps: int) -> BranchParts:
        """The names and filters of a branch without a tail, which has so many steps.

        >>> BranchSyntax().spine("/a[x]/b", 2)
        BranchParts(names=('a', 'b'), filters=((1, '[x]'),), tail='')
        """
        known = self._spines.get(text)
        return take_apart(Branch(text, steps)) if known is None else known

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
