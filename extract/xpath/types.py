"""Static types: what an expression gives, and whether a predicate counts positions.

Every XPath 1.0 expression has a type that can be read off its text. Whether a predicate is a number
(``b[2]``, ``b[count(c)]``) or asks for a position decides which rewrites keep its meaning
(TRAPS 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from extract.xpath.ast import (
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    KindTest,
    LocationPath,
    Negate,
    Number,
    Parameter,
    Step,
    StringLiteral,
    Union,
    Variable,
)
from extract.xpath.functions import EXSLT_REGEXP, FUNCTIONS, Type
from extract.xpath.traverse import children

_ARITHMETIC = frozenset({"+", "-", "*", "div", "mod"})
# An attribute of an enumeration takes longer to find than all else that `type_of` does.
_NODES, _BOOLEAN, _NUMBER, _STRING = Type.NODES, Type.BOOLEAN, Type.NUMBER, Type.STRING
_NODE = KindTest("node")


def type_of(expr: Expr) -> Type:
    """The type of the expression's value.

    >>> from extract.xpath.parser import parse
    >>> type_of(parse("count(a) > 1")), type_of(parse("-a")), type_of(parse("(a)[1]"))
    (<Type.BOOLEAN: 'boolean'>, <Type.NUMBER: 'number'>, <Type.NODES: 'nodes'>)
    """
    if isinstance(expr, (LocationPath, FilterPath, Union)):
        return _NODES
    if isinstance(expr, Binary):
        return _NUMBER if expr.op in _ARITHMETIC else _BOOLEAN
    if isinstance(expr, (Negate, Number)):
        return _NUMBER
    if isinstance(expr, FunctionCall):
        name = f"{{{EXSLT_REGEXP}}}{expr.name}" if expr.prefix else expr.name
        function = FUNCTIONS.get(name)
        # An unknown function is turned away by `check`; until then nothing is assumed of it.
        return function.result if function else _NODES
    if isinstance(expr, Parameter):
        return _STRING if expr.type == "string" else _NUMBER
    return _STRING if isinstance(expr, StringLiteral) else _NODES


@lru_cache(maxsize=1 << 16)
def is_positional(predicate: Expr) -> bool:
    """Whether a predicate's truth depends on where its node stands among the others.

    >>> from extract.xpath.parser import parse
    >>> [is_positional(parse(p)) for p in ("2", "count(c)", "last() > 1", "c[1]", "c", "c = 2")]
    [True, True, True, False, False, False]
    """
    return type_of(predicate) is _NUMBER or counts(predicate)


def counts(expr: Expr) -> bool:
    """Whether the expression calls ``position()`` or ``last()`` for its own context."""
    # Predicates and later steps have a context of their own; only the start shares this one.
    if isinstance(expr, (LocationPath, StringLiteral, Number, Parameter)):
        return False
    if isinstance(expr, Binary):
        return counts(expr.left) or counts(expr.right)
    if isinstance(expr, FunctionCall):
        if expr.name in ("position", "last") and not expr.prefix:
            return True
        return any(map(counts, expr.arguments))
    if isinstance(expr, FilterPath):
        return counts(expr.primary)
    return any(map(counts, children(expr)))


def conjuncts(expr: Expr) -> list[Expr]:
    """Splits ``a and b`` into two filters, unless one of them would become a position.

    >>> from extract.xpath.parser import parse
    >>> [str(one) for one in conjuncts(parse("a and b = 1"))], len(conjuncts(parse("a and 1")))
    (['a', 'b = 1'], 1)
    """
    if isinstance(expr, Binary) and expr.op == "and":
        parts = [*conjuncts(expr.left), *conjuncts(expr.right)]
        if not any(is_positional(p) for p in parts):
            return parts
    return [expr]


def has_positions(step: Step) -> bool:
    """Whether any predicate of the step is positional."""
    return bool(step.predicates) and any(map(is_positional, step.predicates))


def may_be_document(expr: Expr) -> bool:
    """Whether the document node may be among the nodes of an expression that is evaluated on it.

    >>> from extract.xpath.parser import parse
    >>> [may_be_document(parse(p)) for p in ("//a/..", "/ | //a", "(.//.)[2]", "$nodes")]
    [True, True, True, True]
    >>> [may_be_document(parse(p)) for p in ("//a[../b]", "(//a)[2]", "//node()", "id('a')")]
    [False, False, False, False]
    """
    if isinstance(expr, Union):
        return any(map(may_be_document, expr.parts))
    if isinstance(expr, LocationPath):
        return _ends_at_document(True, expr.steps)
    if isinstance(expr, FilterPath):
        return _ends_at_document(may_be_document(expr.primary), expr.steps)
    return isinstance(expr, Variable)


def _ends_at_document(start: bool, steps: Sequence[Step]) -> bool:
    for step in steps:
        if step.test != _NODE:
            start = False
        elif step.axis in ("parent", "ancestor", "ancestor-or-self"):
            start = True
        elif step.axis not in ("self", "descendant-or-self"):
            start = False
    return start
