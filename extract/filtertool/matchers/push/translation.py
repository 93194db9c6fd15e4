"""What the parts of the translation of a query share: constants, and where in it they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from extract.filtertool.matchers.push.conditions import (
    Always,
    Calculation,
    Cell,
    Condition,
    NameNumbers,
    Path,
    PathStep,
)
from extract.xpath.ast import Expr


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
        inside: How many predicates are around; in none, the context is the document node.
        place: Among what the context has its position: siblings, or all nodes of some paths.
        element: Whether the context is an element, or the document node.
    """

    names: NameNumbers
    empty: frozenset[int] = frozenset()
    cells: list[Cell] = field(default_factory=list)
    exact: bool = True
    texts: bool = False
    searched: set[int] = field(default_factory=set)
    references: bool = False
    further: bool = False
    inside: int = 0
    place: PathStep | tuple[Path, ...] | None = None
    element: bool = True

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

    def unknown(self, above: bool) -> Condition:
        """What to put in place of something that has no translation."""
        self.exact = False
        return Always(above)

    def cell(self, cell: Cell) -> int:
        """Adds a constant; returns its number."""
        self.cells.append(cell)
        return len(self.cells) - 1
