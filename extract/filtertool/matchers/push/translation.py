"""What the parts of the translation of a query share: constants, and where in it they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Final, NamedTuple, TypeVar

from extract.filtertool.matchers.push.conditions import (
    Always,
    Calculation,
    Cell,
    Condition,
    NameNumbers,
)
from extract.xpath.ast import Expr

_T = TypeVar("_T")
_ATTEMPTS: Final = 100  # to translate a part in another way, for one query


class Kinds(IntFlag):
    """The kinds of nodes that an expression may select."""

    ELEMENT = 1
    DOCUMENT = 2
    ATTRIBUTE = 4
    TEXT = 8
    OTHER = 16  # comments and processing instructions


class Mark(NamedTuple):
    """A state of a translation, to go back to."""

    cells: tuple[Cell, ...]
    searched: frozenset[int]
    exact: bool
    texts: bool
    inside: int
    placed: bool
    kinds: Kinds


@dataclass
class Translation(ABC):
    """The translation of one query. Its fields are filled in on the way.

    Attributes:
        names: Numbers names.
        empty: Parameters that are empty strings: whether a text contains one is known.
        cells: The constants that conditions compare with.
        exact: Whether nothing was left out.
        texts: Whether a path selects text nodes.
        searched: Parameters that are compared with the value of a first node, or looked for in it.
        references: Whether columns of tables are known; else what depends on them is left out.
        further: Whether to take what can only be evaluated node by node: axes that lead up or
            elsewhere, positions among all nodes of a path, and names as strings.
        general: Whether to take what is evaluated as XPath defines it: any axis, positions among
            any nodes, and values of one type as those of another.
        attempts: How often a part was translated in such a way.
        truths: How many truths are translated at most, those of one part that is translated again
            included; what comes after them is left out. Where a part is translated in two ways,
            what is inside of it is translated in both, and so on.
        inside: How many predicates are around; in none, the context is the document node.
        placed: Whether the context has a position: among the nodes that a step leads to, and that
            the predicates before leave.
        kinds: The kinds of nodes of which one is the context; in no predicate, it is the document
            node.
    """

    names: NameNumbers
    empty: frozenset[int] = frozenset()
    cells: list[Cell] = field(default_factory=list)
    exact: bool = True
    texts: bool = False
    searched: set[int] = field(default_factory=set)
    references: bool = False
    further: bool = False
    general: bool = False
    attempts: int = 0
    truths: int = 1 << 14
    inside: int = 0
    placed: bool = False
    kinds: Kinds = Kinds.ELEMENT

    @property
    def element(self) -> bool:
        """Whether the context is an element, or the document node."""
        return self.kinds == Kinds.ELEMENT

    @abstractmethod
    def truth(self, expr: Expr, above: bool) -> Condition:
        """Translates the truth of an expression.

        Args:
            expr: The expression.
            above: Whether the condition may hold where the expression is false; else it may not
                hold where that is true.
        """

    @abstractmethod
    def number(self, expr: Expr) -> Calculation | None:
        """Translates a number, or what is made one; None if that is not possible."""

    @abstractmethod
    def predicate(self, predicate: Expr, above: bool) -> Condition:
        """Translates a predicate: a truth, or a position."""

    def mark(self) -> Mark:
        """The present state."""
        return Mark(
            tuple(self.cells),
            frozenset(self.searched),
            self.exact,
            self.texts,
            self.inside,
            self.placed,
            self.kinds,
        )

    def back(self, mark: Mark) -> None:
        """Goes back to a state."""
        cells, searched, self.exact, self.texts, self.inside, self.placed, self.kinds = mark
        self.cells[:] = cells
        self.searched.clear()
        self.searched |= searched

    def exactly(self, usual: Callable[[], _T], other: Callable[[], _T | None]) -> _T:
        """A translation by which queries are found if that is exact; else one that is evaluated as
        XPath defines it, if that is.

        Args:
            usual: Translates as far as possible, and says whether that is `exact`.
            other: Translates exactly, or returns None; called if everything may be taken.
        """
        if not self.general:
            return usual()
        before, self.exact = self.mark(), True
        translated = usual()
        is_open = not self.exact
        if is_open and self.attempts < _ATTEMPTS:
            self.attempts += 1
            after = self.mark()
            self.back(before._replace(exact=True))
            found = other()
            if found is not None and self.exact:
                translated = found
            else:
                self.back(after)
        self.exact &= before.exact
        return translated

    def unknown(self, above: bool) -> Condition:
        """What to put in place of something that has no translation."""
        self.exact = False
        return Always(above)

    def cell(self, cell: Cell) -> int:
        """Adds a constant; returns its number."""
        self.cells.append(cell)
        return len(self.cells) - 1
