"""XSCL queries as frozen values: two trees of variables, equalities, a window and an output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final

from extract.flwr.ast import ElementConstructor
from extract.xpath.ast import LocationPath

EVERY_STREAM: Final = "S"  # every input stream, but no published one


class JoinOperator(Enum):
    """How the times of two documents are to each other."""

    FOLLOWED_BY = "FOLLOWED BY"
    JOIN = "JOIN"


@dataclass(frozen=True, slots=True)
class JoinWindow:
    """How far two documents may be from each other.

    Attributes:
        operator: The operator.
        size: Microseconds, or a number of documents.
        events: Whether it is a number of documents.
    """

    operator: JoinOperator
    size: int
    events: bool = False

    def takes_times(self, left: int, right: int) -> bool:
        """Whether documents of these times, in microseconds, are in the window.

        >>> window = JoinWindow(JoinOperator.FOLLOWED_BY, 10)
        >>> [window.takes_times(0, right) for right in (-1, 0, 1, 10, 11)]
        [False, False, True, True, False]
        """
        if self.operator is JoinOperator.JOIN:
            return -self.size <= right - left <= self.size
        return 0 < right - left <= self.size

    def __str__(self) -> str:
        return f"{self.size} EVENTS" if self.events else f"{self.size / 1_000_000:.15g}"


@dataclass(frozen=True, slots=True)
class PatternNode:
    """A node of a tree pattern: where its nodes are, seen from the node above.

    Attributes:
        variable: The variable that is bound to it; empty for a node that only has others below.
        path: From the document for the root of a tree, else from the node above.
        children: The nodes below.
        hidden: Whether the variable was made by the normal form, and is no part of results.
    """

    variable: str
    path: LocationPath
    children: tuple[PatternNode, ...] = ()
    hidden: bool = False

    def walk(self) -> Iterator[PatternNode]:
        """Yields the node and all below, each before its children."""
        yield self
        for child in self.children:
            yield from child.walk()

    def __str__(self) -> str:
        name = f"->{self.variable}" if self.variable and not self.hidden else ""
        return f"{self.path}{name}" + "".join([f"[{child}]" for child in self.children])


@dataclass(frozen=True)
class JoinSide:
    """One side of a join: a stream, and the tree pattern that its documents have to match.

    Attributes:
        stream: The name of the stream; `EVERY_STREAM` for all that are given from outside.
        root: The root of the tree pattern.
        same: Pairs of variables of this side whose values have to be equal.
    """

    stream: str
    root: PatternNode
    same: tuple[tuple[str, str], ...] = ()

    @cached_property
    def nodes(self) -> tuple[PatternNode, ...]:
        """The nodes of the pattern, each before its children."""
        return tuple(self.root.walk())

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables that results tell, in the order of the text."""
        return tuple([one.variable for one in self.nodes if one.variable and not one.hidden])

    def __str__(self) -> str:
        return f"{self.stream}{self.root}"


@dataclass(frozen=True, slots=True)
class Equality:
    """A variable of the left side and one of the right whose string values have to be equal."""

    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.left}={self.right}"


@dataclass(frozen=True)
class XsclQuery:
    """An XSCL query, in value-join normal form.

    Attributes:
        text: The query as written.
        namespaces: Prefix to namespace URI, for its patterns and its constructor.
        left, right: The two sides.
        equalities: What has to be equal, between the sides.
        window: The operator, and how far the documents may be from each other.
        output: The element that is made of a result; None for ``<join>`` with the root nodes.
        publish: The stream that outputs become documents of; empty if they do not.
    """

    text: str
    namespaces: Mapping[str, str]
    left: JoinSide
    right: JoinSide
    equalities: tuple[Equality, ...]
    window: JoinWindow
    output: ElementConstructor | None = None
    publish: str = ""

    @property
    def streams(self) -> tuple[str, str]:
        """The streams that it reads."""
        return self.left.stream, self.right.stream

    def __str__(self) -> str:
        terms = [str(one) for one in self.equalities]
        for side in (self.left, self.right):
            terms += [f"{one}={other}" for one, other in side.same]
        operator = self.window.operator.value
        return f"{self.left} {operator}{{{' AND '.join(terms)}, {self.window}}} {self.right}"
