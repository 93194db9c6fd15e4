"""Random parts of queries with whatever XPath allows: any axis, any position, any type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import Final

from tests.support.push.vocabulary import ATTRIBUTES, ELEMENTS

_AXES: Final = (
    *("child", "child", "descendant", "descendant-or-self", "self", "parent", "ancestor"),
    *("ancestor-or-self", "following-sibling", "preceding-sibling", "following", "preceding"),
)
_TESTS: Final = ("node()", "node()", "text()", "comment()", "processing-instruction()")
_LEAVES: Final = ("text()", "descendant::text()", "node()", "comment()", "processing-instruction()")
_UP: Final = ("parent::node()", "ancestor::node()", "ancestor-or-self::node()", "self::node()")
_OPERATORS: Final = ("=", "=", "!=", "<", "<=", ">", ">=")
_PLACES: Final = (
    *(
        "1",
        "1",
        "2",
        "last()",
        "position() > 1",
        "position() != last()",
        "last() - 1",
        "last() > 2",
    ),
    *("position() mod 2 = 1", "position() = 2 or last() = 1", "count(*) + 1", "string-length(.)"),
    *("number(@x)", "position() = count(../*)", "2.5", "-1", "'1'", "true()"),
)


class GeneralParts(ABC):
    """Writes parts of queries that are evaluated as XPath defines them.

    Args:
        random: Where choices come from.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    @abstractmethod
    def _condition(self, depth: int) -> str:
        """A condition on a node."""

    @abstractmethod
    def _name(self, names: tuple[str, ...]) -> str:
        """A name test."""

    def general_nodes(self, absolute: bool, depth: int) -> str:
        """A node set."""
        random, kind = self._random, self._random.randrange(8)
        if kind == 0:
            parts = [self.general_path(absolute, depth - 1) for _ in range(random.randint(1, 3))]
            nodes = f"({' | '.join(parts)}){self._predicates(depth)}"
            return f"{nodes}/{self.general_path(False, 0)}" if random.randrange(2) else nodes
        return self.general_path(absolute, depth)

    def general_path(self, absolute: bool, depth: int) -> str:
        """A location path."""
        random = self._random
        out = random.choice(("/", "//", "//")) if absolute else random.choice(("", "", "", ".//"))
        for number in range(random.choice((1, 1, 2, 2, 3))):
            if number:
                out += random.choice(("/", "/", "/", "//"))
            out += self._general_step(depth)
        return out

    def _general_step(self, depth: int) -> str:
        random, kind = self._random, self._random.randrange(24)
        if kind == 0:
            return random.choice((".", "..", ".."))
        if kind == 1:
            step = random.choice(_UP)
        elif kind == 2:
            step = f"@{self._name(ATTRIBUTES)}"
        elif kind == 3:
            step = random.choice(_LEAVES)
        elif kind == 4:
            step = f"{random.choice(_AXES)}::{random.choice(_TESTS)}"
        elif kind < 10:
            step = self._name(ELEMENTS)
        else:
            step = f"{random.choice(_AXES)}::{self._name(ELEMENTS)}"
        return step + self._predicates(depth)

    def _predicates(self, depth: int) -> str:
        random, out = self._random, ""
        for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
            if random.randrange(2) or depth <= 0:
                out += f"[{random.choice(_PLACES)}]"
            else:
                out += f"[{self._condition(depth - 1)}]"
        return out

    def general_condition(self, depth: int) -> str:
        """A condition."""
        random, kind = self._random, self._random.randrange(10)
        operator = random.choice(_OPERATORS)
        if kind < 2:
            return self.general_nodes(random.randrange(4) == 0, depth)
        if kind < 4:
            return f"{self.general_number(depth)} {operator} {self.general_number(depth)}"
        if kind < 6:
            return f"{self.general_string(depth)} {operator} {self.general_string(depth)}"
        sides = [self._side(depth), self._side(depth)]
        return f"{sides[0]} {operator} {sides[1]}"

    def _side(self, depth: int) -> str:
        """What is compared: of any type."""
        match self._random.randrange(5):
            case 0:
                return f"({self._condition(depth - 1)})"
            case 1:
                return self.general_number(depth)
            case 2:
                return self.general_string(depth)
            case 3:
                return self._random.choice(("true()", "false()", "'1'", "0", "1", "''", "'true'"))
            case _:
                return self.general_nodes(False, depth)

    def general_number(self, depth: int) -> str:
        """A number."""
        nodes = self.general_nodes(self._random.randrange(4) == 0, depth)
        numbers = (
            *(f"count({nodes})", f"count({nodes})", f"sum({nodes})", f"number({nodes})", "1 div 3"),
            *(f"number({self._side(depth - 1)})" if depth > 0 else "2", f"string-length({nodes})"),
            *(f"(count({nodes}) + 1)", "0.1", "position()", "last()", f"(number({nodes}) * 1.1)"),
        )
        return self._random.choice(numbers)

    def general_string(self, depth: int) -> str:
        """A string."""
        nodes = self.general_nodes(self._random.randrange(4) == 0, depth)
        side = self._side(depth - 1) if depth > 0 else "'x'"
        strings = (
            *(
                f"string({nodes})",
                f"string({nodes})",
                f"concat({nodes}, {side})",
                f"string({side})",
            ),
            *(f"substring({nodes}, {side})", f"normalize-space({nodes})", f"name({nodes})"),
            *(f"translate({side}, '1.', 'x')", f"substring-before({nodes}, {side})", "string()"),
        )
        return self._random.choice(strings)
