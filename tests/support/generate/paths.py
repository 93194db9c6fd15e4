"""Random location paths, token by token, over the edges of a schema."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from tests.support.generate.draw import between, chance, pick, weighted
from tests.support.generate.vocabulary import PI_TARGETS, UNKNOWN_NAMES
from tests.support.generate.walk import DOCUMENT, Keys, Walk

Tokens = list[str]
Weights = tuple[tuple[int, str], ...]

_FORWARD: Weights = ((12, "child"), (4, "descendant-or-self"), (1, "descendant"))
_ALL: Weights = (
    (12, "child"),
    (4, "descendant-or-self"),
    (4, "parent"),
    (3, "self"),
    (3, "descendant"),
    (3, "ancestor"),
    (2, "ancestor-or-self"),
    (3, "following-sibling"),
    (3, "preceding-sibling"),
    (2, "following"),
    (2, "preceding"),
    (3, "attribute"),
    (1, "namespace"),
)
_WIDE = {
    "descendant",
    "descendant-or-self",
    "ancestor",
    "ancestor-or-self",
    "following",
    "preceding",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What queries of a profile look like; numbers are percentages.

    Attributes:
        axes: The axes of steps, weighted.
        predicates: Steps with a predicate (and again for a second one).
        tests: Steps that test for text, comments, PIs or any node.
        values: Queries that are not a node set.
        operators: Queries that are a union or a filter expression.
        relative: Queries that do not begin with a slash.
        loose: Queries with whitespace in unusual places.
    """

    axes: Weights
    predicates: int = 0
    tests: int = 0
    values: int = 0
    operators: int = 0
    relative: int = 5
    loose: int = 3


PROFILES = {
    "linear": Profile(_FORWARD),
    "filtered": Profile(_FORWARD, predicates=30),
    "axes": Profile(_ALL, predicates=12, tests=15, relative=20, loose=10),
    "wild": Profile(_ALL, predicates=25, tests=12, values=25, operators=25, relative=30, loose=20),
}


@dataclass(frozen=True, slots=True)
class Where:
    """What a path may have reached: elements (or the document), or nodes that belong to them."""

    kind: Literal["element", "attribute", "other"]
    keys: Keys


START = Where("element", frozenset((DOCUMENT,)))


class Paths:
    """Writes location paths; `Expressions` adds what stands in their predicates."""

    def __init__(self, rng: Random, walk: Walk, profile: Profile) -> None:
        self.rng = rng
        self.walk = walk
        self.profile = profile
        self.steps_left = 14
        self.wide_left = 3

    def absolute(self, depth: int) -> tuple[Tokens, Where]:
        """A path from the document node."""
        if chance(self.rng, 2):
            return ["/"], START
        count = weighted(self.rng, ((3, 1), (6, 2), (6, 3), (3, 4), (2, 5)))
        tokens, where = self._steps(START, count, depth)
        return (tokens if tokens[0] == "//" else ["/", *tokens]), where

    def relative(self, where: Where, depth: int, longest: int = 3) -> tuple[Tokens, Where]:
        """A path from a node that may be at these places."""
        tokens, end = self._steps(where, between(self.rng, 1, longest), depth)
        return ([".", *tokens] if tokens[0] == "//" else tokens), end

    def predicate(self, where: Where, depth: int) -> Tokens:
        """What stands between the brackets of a predicate."""
        raise NotImplementedError

    def steps_after(self, where: Where, depth: int) -> tuple[Tokens, Where]:
        """One or two steps with the slash before the first."""
        tokens, end = self._steps(where, between(self.rng, 1, 2), depth)
        return (tokens if tokens[0] == "//" else ["/", *tokens]), end

    def _steps(self, where: Where, count: int, depth: int) -> tuple[Tokens, Where]:
        """Steps with slashes between; the first token is ``//`` or that of the first step."""
        tokens: Tokens = []
        for number in range(count):
            last = number == count - 1 or self.steps_left <= 0
            step, where = self._step(where, depth, last, first=number == 0)
            if number and step[0] != "//":
                tokens.append("/")
            tokens += step
            if last or (self._leads_nowhere(where) and not chance(self.rng, 5)):
                break
        return tokens, where

    def _leads_nowhere(self, where: Where) -> bool:
        return where.kind != "element" or not self.walk.along("child", where.keys)

    def _step(self, where: Where, depth: int, last: bool, first: bool) -> tuple[Tokens, Where]:
        self.steps_left -= 1
        axis = self._axis(where, last)
        tokens: Tokens = []
        if axis in _WIDE:
            self.wide_left -= 1
        if axis == "descendant-or-self" and chance(self.rng, 85):
            tokens, axis = ["//"], "child"
            where = Where("element", self.walk.along("descendant-or-self", where.keys))
        elif axis in ("parent", "self") and not self._abbreviated(where, axis):
            pass
        elif axis in ("parent", "self"):
            keys = self.walk.along(axis, where.keys)
            return [".." if axis == "parent" else "."], Where("element", keys or where.keys)
        test, end = self._node_test(axis, where, last)
        tokens += [*self._written_axis(axis), *test]
        for more in (self.profile.predicates, 10):
            if depth <= 0 or not chance(self.rng, more):
                break
            tokens += ["[", *self.predicate(end, depth - 1), "]"]
        return tokens, end

    def _axis(self, where: Where, last: bool) -> str:
        if where.kind != "element":
            return pick(self.rng, ("parent", "ancestor", "self"))
        axes = self.profile.axes
        if where.keys == START.keys:
            axes = _FORWARD if chance(self.rng, 90) else axes
        axis = weighted(self.rng, axes)
        if axis in _WIDE and self.wide_left <= 0:
            axis = "child"
        if last and axis in ("child", "attribute", "descendant-or-self"):
            # A path may end at an attribute or a text, and has to where there is no child.
            owners = self.walk.attributes(where.keys)
            childless = not self.walk.elements(self.walk.along("child", where.keys))
            if owners and chance(self.rng, 70 if childless else 15):
                return "attribute"
        return axis

    def _abbreviated(self, where: Where, axis: str) -> bool:
        return chance(self.rng, 90 if axis == "self" and where.keys == START.keys else 60)

    def _written_axis(self, axis: str) -> Tokens:
        if axis == "child" and not chance(self.rng, 8):
            return []
        if axis == "attribute" and not chance(self.rng, 15):
            return ["@"]
        return [axis, "::"]

    def _node_test(self, axis: str, where: Where, last: bool) -> tuple[Tokens, Where]:
        if axis == "attribute":
            names = self.walk.attributes(where.keys)
            name = self._name(names, where.keys) if names and not chance(self.rng, 15) else ["*"]
            return name, Where("attribute", where.keys)
        if axis == "namespace":
            return [weighted(self.rng, ((3, "*"), (1, "xml"), (1, "p")))], Where(
                "other", where.keys
            )
        reached = self.walk.along(axis, where.keys)
        elements = self.walk.elements(reached)
        textual = 60 if last and not elements and axis == "child" else self.profile.tests
        if chance(self.rng, textual):
            return self._kind_test(axis, where, reached)
        if not elements or chance(self.rng, 2):
            return self._name([], reached), Where("element", reached)
        kind = weighted(self.rng, ((16, "name"), (4, "*"), (1, "p:*")))
        if kind == "*":
            return ["*"], Where("element", frozenset(elements))
        written = self.walk.name(pick(self.rng, elements))
        prefix, colon, _ = written.rpartition(":")
        if kind == "p:*" and colon:
            return [f"{prefix}:*"], Where("element", frozenset(elements))
        keys = frozenset(key for key in elements if self.walk.name(key) == written)
        return [written], Where("element", keys)

    def _name(self, names: list[str], keys: Keys) -> Tokens:
        """One of the names; without any, one of the schema that cannot be here, or of no schema."""
        if names and not chance(self.rng, 4):
            return [pick(self.rng, names)]
        if chance(self.rng, 60):
            return [self.walk.name(pick(self.rng, sorted(self.walk.everywhere)))]
        return [pick(self.rng, UNKNOWN_NAMES)]

    def _kind_test(self, axis: str, where: Where, reached: Keys) -> tuple[Tokens, Where]:
        kind = weighted(
            self.rng,
            ((5, "text"), (4, "node"), (2, "comment"), (2, "processing-instruction")),
        )
        tokens = [kind, "(", ")"]
        if kind == "processing-instruction" and chance(self.rng, 50):
            tokens.insert(2, f"'{pick(self.rng, PI_TARGETS)}'")
        if kind == "node" and reached:
            return tokens, Where("element", reached)
        return tokens, Where("other", where.keys if axis == "child" else reached or where.keys)
