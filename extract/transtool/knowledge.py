"""Answers questions about paths from the schema: where they can match, and where they first occur.

Answers may err towards "perhaps", never towards "no". They are sets of places, computed for all
places at once and cached by path, so that thousands of similar queries share the work.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from extract.schema.model import local_of, namespace_of
from extract.schema.places import Place, Places
from extract.transtool.expansion import Expansion
from extract.transtool.prefixes import Prefixes
from extract.xpath.ast import (
    Binary,
    Expr,
    FunctionCall,
    KindTest,
    LocationPath,
    NameTest,
    NodeTest,
    Step,
    Union,
)
from extract.xpath.functions import Type
from extract.xpath.name_functions import asks_name, truth_of_name
from extract.xpath.types import is_positional, type_of

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
DOWNWARD = frozenset({"child", "descendant", "attribute"})
_MOST_REMEMBERED = 200_000
_DEEPEST = 200
_MOST_STARTS = 4  # places that are looked at for each occurrence that is allowed


class Occurrence(NamedTuple):
    """One way down to a target.

    Attributes:
        path: The places passed on the way; the last one is the target, or where the way stops.
        stopped: Whether the schema recurses or is open here: targets may follow at any depth below.
    """

    path: tuple[Place, ...]
    stopped: bool


class Knowledge:
    """Answers questions about paths in one schema."""

    def __init__(self, places: Places, prefixes: Prefixes, limits: Expansion) -> None:
        self.places = places
        self.prefixes = prefixes
        self.limits = limits
        self._matching: dict[NodeTest, int] = {}
        self._live: dict[tuple[Step, ...], int] = {}
        self._possible: dict[Expr, int] = {}
        self._attribute: dict[NodeTest, int] = {}
        self._occurrences: dict[tuple[int, int, int, bool], tuple[Occurrence, ...] | None] = {}
        self._ways: dict[tuple[int, int], tuple[list[Place], int]] = {}

    # -- where a path can match

    def matching(self, test: NodeTest) -> int:
        """Returns the places whose nodes pass a test; the document node passes only ``node()``."""
        bits = self._matching.get(test)
        if bits is None:
            places = self.places
            if isinstance(test, KindTest):
                bits = places.everywhere if test.kind == "node" else 0
            elif test.local != "*":
                bits = places.named(self.prefixes.expanded(test))
            elif not test.prefix:
                bits = places.elements
            else:
                uri, bits = self.prefixes.uri(test.prefix), places.unknown.bit
                for name, where in places.by_name.items():
                    if namespace_of(name) == uri:
                        bits |= where
            self._matching[test] = bits
        return bits

    def live(self, steps: tuple[Step, ...]) -> int:
        """Returns the places from whose nodes a relative path may select something.

        Computed backwards: the places where the last step may succeed, those from which it is
            reached, and
        so on.
        """
        if not steps:
            return self.places.everywhere
        bits = self._live.get(steps)
        if bits is None:
            _forget_when_large(self._live)
            bits = self._live[steps] = self._find_live(steps)
        return bits

    def _find_live(self, steps: tuple[Step, ...]) -> int:
        step, places = steps[0], self.places
        only_elements = elements_only(steps)
        if step.axis == "child":
            if isinstance(step.test, KindTest) and not only_elements:
                if step.test.kind == "text":
                    return places.elements
                return places.everywhere
            return places.parents(self.targets(steps))
        if step.axis == "attribute":
            return 0 if goes_down(steps[1:]) else self._with_attribute(step.test)
        if step.axis in ("descendant", "descendant-or-self"):
            if isinstance(step.test, KindTest) and not only_elements:
                return places.everywhere
            targets = self.targets(steps)
            above = places.ancestors(targets)
            return above if step.axis == "descendant" else above | targets
        if step.axis == "self":
            return self.targets(steps)
        if not self._exists(step):
            return 0
        if step.axis in ("parent", "ancestor"):
            return places.elements  # nothing is above the document
        if step.axis == "ancestor-or-self":
            return places.elements | self.targets(steps)
        return places.everywhere

    def _exists(self, step: Step) -> bool:
        """Whether the name in a step on another axis occurs anywhere."""
        if not isinstance(step.test, NameTest) or step.axis == "namespace":
            return True
        return bool(self.matching(step.test) & self.places.document.reach)

    def targets(self, steps: tuple[Step, ...]) -> int:
        """Returns the places that the first step may select with its filters and the rest."""
        step = steps[0]
        where = self.matching(step.test) & self.live(steps[1:])
        for predicate in step.predicates:
            if not is_positional(predicate):
                where &= self.possible(predicate)
        return where

    def _with_attribute(self, test: NodeTest) -> int:
        bits = self._attribute.get(test)
        if bits is None:
            if isinstance(test, NameTest) and test.local != "*":
                bits = self.places.with_attribute(self.prefixes.expanded(test))
            else:
                bits = 0
                for place in self.places.members(self.places.elements):
                    if self._has_any(place, test):
                        bits |= place.bit
            self._attribute[test] = bits
        return bits

    def _has_any(self, place: Place, test: NodeTest) -> bool:
        """Whether a place has an attribute that passes a test for more than one name."""
        if isinstance(test, KindTest) and test.kind != "node":
            return False
        names = place.attributes
        if names is None:
            return True
        prefix = test.prefix if isinstance(test, NameTest) else ""
        return any(not prefix or namespace_of(n) == self.prefixes.uri(prefix) for n in names)

    def possible(self, expr: Expr) -> int:
        """Returns the places at whose nodes a filter may be true."""
        bits = self._possible.get(expr)
        if bits is None:
            _forget_when_large(self._possible)
            bits = self._possible[expr] = self._find_possible(expr)
        return bits

    def _find_possible(self, expr: Expr) -> int:
        if isinstance(expr, LocationPath):
            where = self.live(expr.steps)
            if expr.absolute:
                return self.places.everywhere if where & self.places.document.bit else 0
            return where
        if isinstance(expr, Union):
            where = 0
            for part in expr.parts:
                where |= self.possible(part)
            return where
        if isinstance(expr, Binary):
            if expr.op == "and":
                return self.possible(expr.left) & self.possible(expr.right)
            if expr.op == "or":
                return self.possible(expr.left) | self.possible(expr.right)
            if expr.op in COMPARISONS:
                where = self._named_so(expr)
                for operand, other in ((expr.left, expr.right), (expr.right, expr.left)):
                    # An empty node set compares as false with everything but a boolean.
                    if type_of(operand) is Type.NODES and type_of(other) is not Type.BOOLEAN:
                        where &= self.possible(operand)
                return where
        if isinstance(expr, FunctionCall) and not expr.prefix:
            if expr.name == "boolean":
                return self.possible(expr.arguments[0])
            if expr.name == "false":
                return 0
        return self._named_so(expr)

    def _named_so(self, expr: Expr) -> int:
        """The places for whose names a question about the name may be true; all for any other."""
        places = self.places
        if not asks_name(expr):
            return places.everywhere
        bits = places.unknown.bit
        if truth_of_name(expr, "", "") is not False:
            bits |= places.document.bit
        for name, where in places.by_name.items():
            if truth_of_name(expr, namespace_of(name), local_of(name)) is not False:
                bits |= where
        return bits

    # -- where a path first occurs

    def occurrences(
        self, place: Place, targets: int, on_path: int, with_self: bool
    ) -> Sequence[Occurrence] | None:
        """Returns the first occurrences of targets below a place, up to where the schema recurses.

        Args:
            place: The start.
            targets: Bit set of the places to find.
            on_path: Bit set of the places on the way here: a return to one of them is recursion.
            with_self: Whether the start itself counts.

        Returns:
            The occurrences, or None if there are more than the limit.
        """
        key = (place.index, targets, on_path & place.reach, with_self)
        if key not in self._occurrences:
            search = _Search(self, targets, with_self)
            hits: _Hits | None = None
            if not search.are_too_many(place, on_path | place.bit):
                with suppress(_TooDeep):
                    hits = search.below(place, 0, on_path | place.bit)
            self._occurrences[key] = None if hits is None else hits.occurrences
        return self._occurrences[key]

    def common_prefix(
        self, place: Place, targets: int, on_path: int, with_self: bool
    ) -> tuple[Place, ...]:
        """Returns the longest common proper prefix of all paths to the targets (TRAPS 13)."""
        path: list[Place] = []
        while not place.open and not (with_self and place.bit & targets):
            ways = self.ways(place, targets)
            on_path |= place.bit
            if len(ways) != 1 or ways[0].bit & on_path:
                break
            if not with_self and ways[0].bit & targets:
                break
            place = ways[0]
            path.append(place)
        return tuple(path)

    def ways(self, place: Place, targets: int) -> list[Place]:
        """Returns the children that are targets or lead to some."""
        return self.ways_down(place, targets)[0]

    def ways_down(self, place: Place, targets: int) -> tuple[list[Place], int]:
        """Returns the children that are targets or lead to some, and the set of them."""
        key = (place.index, targets)
        ways = self._ways.get(key)
        if ways is None:
            _forget_when_large(self._ways)
            children = [c for c in place.children.values() if c.span & targets]
            together = 0
            for child in children:
                together |= child.bit
            ways = self._ways[key] = (children, together)
        return ways


class _Hits(NamedTuple):
    """The first occurrences below a place, and how many steps were looked at."""

    occurrences: tuple[Occurrence, ...]
    depth: int


class _TooDeep(Exception):
    """A way is longer than queries are expanded."""


class _Search:
    """Finds the first occurrences of targets, depth first.

    Ways meet again further down, so each place is searched once for all that lead there; what is on
    the way matters only where the schema recurses.
    """

    __slots__ = ("_hits", "_know", "_most", "_targets", "_with_self")

    def __init__(self, know: Knowledge, targets: int, with_self: bool) -> None:
        self._know = know
        self._most = know.limits.branches
        self._targets = targets
        self._with_self = with_self
        self._hits: dict[tuple[int, int], _Hits] = {}

    def are_too_many(self, place: Place, on_path: int) -> bool:
        """Whether a few steps below a place show that there are too many occurrences.

        Every way leads to one at least. In large schemas most names are too many, and this sees it
        long before all ways have been followed.
        """
        targets, places = self._targets, self._know.places
        above = places.ancestors(targets)
        further = above | targets if self._with_self else above
        starts = [(place, on_path)]
        least = 1  # occurrences
        for place, on_path in starts:  # which grows
            ways = place.child_bits & (above | targets)
            if place.open or ways & on_path:
                continue
            least -= 1
            hits = place.bit if self._with_self else ways
            least += (hits & targets).bit_count() + (ways & further).bit_count()
            if least > self._most or len(starts) > _MOST_STARTS * self._most:
                break
            starts += [(one, on_path | one.bit) for one in places.members(ways & further)]
        return least > self._most

    def below(self, place: Place, depth: int, on_path: int) -> _Hits | None:
        """Returns the occurrences below a place that is so many steps down; None if too many.

        Raises:
            _TooDeep: A way is too long.
        """
        key = (place.index, on_path & place.reach)
        hits = self._hits.get(key)
        if hits is None:
            hits = self._find(place, depth, on_path)
            if hits is not None:
                self._hits[key] = hits
        elif depth + hits.depth > _DEEPEST:
            raise _TooDeep
        return hits

    def _find(self, place: Place, depth: int, on_path: int) -> _Hits | None:
        targets, with_self = self._targets, self._with_self
        ways, together = self._know.ways_down(place, targets)
        occurrences: list[Occurrence] = []
        deepest = 0
        if place.open or together & on_path:
            occurrences.append(Occurrence((), True))
            ways = []
        elif with_self and place.bit & targets:
            occurrences.append(Occurrence((), False))
        for child in ways:
            if depth >= _DEEPEST:
                raise _TooDeep
            deepest = max(deepest, 1)
            hit = child.bit & targets
            if hit and not with_self:
                occurrences.append(Occurrence((child,), False))
            if child.reach & targets or (with_self and hit):
                hits = self.below(child, depth + 1, on_path | child.bit)
                if hits is None:
                    return None
                deepest = max(deepest, hits.depth + 1)
                occurrences += [Occurrence((child, *path), end) for path, end in hits.occurrences]
            if len(occurrences) > self._most:
                return None
        return None if len(occurrences) > self._most else _Hits(tuple(occurrences), deepest)


def goes_down(steps: tuple[Step, ...]) -> bool:
    """Whether a path goes down first: only elements and the document have such paths."""
    for step in steps:
        if step.axis not in ("self", "descendant-or-self"):
            return step.axis in DOWNWARD
    return False


def elements_only(steps: tuple[Step, ...]) -> bool:
    """Whether only elements (or the document) matter among the nodes of the first step."""
    return (
        isinstance(steps[0].test, NameTest)
        or goes_down(steps[1:])
        or any(
            isinstance(p, LocationPath) and not p.absolute and goes_down(p.steps)
            for p in steps[0].predicates
        )
    )


def _forget_when_large(memory: MutableMapping[Any, Any]) -> None:
    if len(memory) > _MOST_REMEMBERED:
        memory.clear()
