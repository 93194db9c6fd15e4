"""Expressions at a bound node of lxml, whatever kind of node it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lxml import etree

from extract.flwr.variables import mentions, replaced
from extract.xpath.ast import (
    ANY_NAME,
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    KindTest,
    LocationPath,
    Number,
    Step,
    StringLiteral,
    Variable,
)
from extract.xpath.functions import Type
from extract.xpath.types import type_of

OUTSIDE: Final = "it binds a node of the document type declaration, which has no place"

_OWNER: Final = "owner"  # of an attribute or text that is bound
_TEXTS: Final = etree.XPath("text()")


class BoundExpression:
    """An expression of a FLWR query, compiled.

    Args:
        expr: It starts at the bound node, or has the variable in it.
        value: The same, always with the variable.
        variable: The name of the variable.
        namespaces: Prefix to namespace URI.
        numbers: Whether to give a number as one, not as a string.

    Attributes:
        type: The type of its value; what is no node set is given as a string.
    """

    def __init__(
        self,
        expr: Expr,
        value: Expr,
        variable: str,
        namespaces: Mapping[str, str],
        numbers: bool = False,
    ) -> None:
        self.type = type_of(value)
        self._as_is = self.type is Type.NODES or (numbers and self.type is Type.NUMBER)
        self._value = value
        self._variable = variable
        self._namespaces = dict(namespaces)
        self._with_variable = mentions(expr)
        self._compiled = self._compile(expr)

    def _compile(self, expr: Expr) -> Any:
        text = str(expr) if self._as_is else f"string({expr})"
        return etree.XPath(text, namespaces=self._namespaces)

    def at(self, node: Any) -> Any:
        """The value at a node: a list of nodes, or a string.

        Raises:
            etree.XPathError: It cannot be evaluated.
        """
        if isinstance(node, str) or not isinstance(node.tag, str):
            return self._at_leaf(node)
        if self._with_variable:
            return self._compiled(node, **{self._variable: [node]})
        return self._compiled(node)

    def _at_leaf(self, node: Any) -> Any:
        """The value at a node that is no element: lxml evaluates nothing there."""
        owner, step = _located(node)
        if owner is None:  # a comment or processing instruction beside the root
            root = node.getroottree().getroot()
            expr = replaced(self._value, {self._variable: LocationPath(True, (step,))})
            return self._compile(expr)(root)
        bound = FilterPath(Variable(_OWNER), (), (step,))
        expr = replaced(self._value, {self._variable: bound})
        return self._compile(expr)(owner, **{_OWNER: [owner]})


def _located(node: Any) -> tuple[Any, Step]:
    """The element that a node is in, and the step from there.

    Raises:
        etree.XPathError: It is in the document type declaration, where no step leads.
    """
    if not isinstance(node, str):
        before = list(node.itersiblings(node.tag, preceding=True))
        kind = KindTest("comment" if node.tag is etree.Comment else "processing-instruction")
        parent = node.getparent()
        if parent is None and not _is_beside_root(node):
            raise etree.XPathEvalError(OUTSIDE)
        return parent, _numbered(kind, len(before) + 1)
    owner = node.getparent()  # type: ignore[attr-defined]
    if node.is_attribute:  # type: ignore[attr-defined]
        name = etree.QName(node.attrname)  # type: ignore[attr-defined]
        uri = name.namespace or ""
        tests = _equal("local-name", name.localname), _equal("namespace-uri", uri)
        return owner, Step("attribute", ANY_NAME, tests)
    if node.is_tail:  # type: ignore[attr-defined]
        owner = owner.getparent()
    if owner is None:
        raise etree.XPathEvalError(OUTSIDE)
    number = next(n for n, one in enumerate(_TEXTS(owner), 1) if _same(one, node))
    return owner, _numbered(KindTest("text"), number)


def _is_beside_root(node: Any) -> bool:
    root = node.getroottree().getroot()
    return any(one is node for way in (True, False) for one in root.itersiblings(preceding=way))


def _numbered(kind: KindTest, number: int) -> Step:
    return Step("child", kind, (Number(str(number)),))


def _equal(function: str, value: str) -> Expr:
    return Binary("=", FunctionCall(function), StringLiteral(value))


def _same(one: Any, other: Any) -> bool:
    return one.getparent() is other.getparent() and one.is_tail == other.is_tail
