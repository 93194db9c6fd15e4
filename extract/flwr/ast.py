"""FLWR expressions as frozen values: clauses, and constructors of elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from extract.xpath.ast import Expr


@dataclass(frozen=True, slots=True)
class Characters:
    """Characters of the result, as they are: references are resolved."""

    value: str


@dataclass(frozen=True, slots=True)
class Enclosed:
    """``{ expression }``: its nodes are copied, or its value is written.

    Attributes:
        expr: The expression.
        offset: Where it stands in the text of the query.
    """

    expr: Expr
    offset: int


@dataclass(frozen=True, slots=True)
class Markup:
    """A comment or processing instruction of a constructor, with its delimiters."""

    text: str


@dataclass(frozen=True, slots=True)
class AttributeConstructor:
    """``name="text { expression }"``."""

    name: str
    value: tuple[Characters | Enclosed, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class ElementConstructor:
    """``<name attribute="…">content</name>``.

    Attributes:
        name: Its name, with a prefix if it has one.
        attributes: Its attributes; declarations of namespaces are not among them.
        namespaces: Prefix to URI as its ``xmlns`` attributes declare them; ``""`` is the default.
        content: What is inside, without boundary space.
        offset: Where its name stands in the text of the query.
    """

    name: str
    attributes: tuple[AttributeConstructor, ...]
    namespaces: tuple[tuple[str, str], ...]
    content: tuple[Content, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Let:
    """``let $name := expression``."""

    name: str
    expr: Expr
    offset: int


@dataclass(frozen=True, slots=True)
class OrderKey:
    """``order by expression descending``."""

    expr: Expr
    descending: bool
    offset: int


@dataclass(frozen=True, slots=True)
class Loop:
    """``for $name in path let … where … order by … return <element/>``.

    Attributes:
        name: The variable that is bound to each node in turn.
        path: The nodes.
        lets: Further variables.
        where: What must hold of a binding; None for all.
        order: The order of results; empty for that of the document.
        result: The element that is made for each binding.
        offset: Where the path stands in the text of the query.
        where_offset: Where the condition stands.
    """

    name: str
    path: Expr
    lets: tuple[Let, ...]
    where: Expr | None
    order: tuple[OrderKey, ...]
    result: ElementConstructor
    offset: int
    where_offset: int


Content: TypeAlias = Characters | Enclosed | Markup | ElementConstructor | Loop
