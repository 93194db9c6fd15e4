"""Questions about the names of nodes, which whoever knows these can answer."""

from __future__ import annotations

from typing import Final

from extract.xpath.ast import HERE, Binary, Expr, FunctionCall, StringLiteral, make_path

_FUNCTIONS: Final = frozenset({"local-name", "name", "namespace-uri"})
_HERE: Final = make_path(False, (HERE,))


def is_name(expr: Expr) -> bool:
    """Whether an expression is the name of a node, or a part of it.

    >>> from extract.xpath.parser import parse
    >>> [is_name(parse(text)) for text in ("local-name()", "name(..)", "string()")]
    [True, True, False]
    """
    return isinstance(expr, FunctionCall) and expr.name in _FUNCTIONS and not expr.prefix


def asks_name(expr: Expr) -> bool:
    """Whether an expression compares the name of the context node with a text.

    >>> from extract.xpath.parser import parse
    >>> [asks_name(parse(text)) for text in ("'b' = name(.)", "contains(name(), 'b')")]
    [True, True]
    >>> [asks_name(parse(text)) for text in ("a = 'b'", "name(..) = 'b'")]
    [False, False]
    """
    return _compared(expr) is not None


def truth_of_name(expr: Expr, uri: str, local: str) -> bool | None:
    """Whether what `asks_name` takes is true of a node; None if that is not known.

    Args:
        expr: The expression.
        uri: The namespace of the node; empty for none.
        local: Its local name; empty for a node without a name.

    >>> from extract.xpath.parser import parse
    >>> [truth_of_name(parse(f"local-name() {text}"), "u", "b") for text in ("= 'b'", "!= 'b'")]
    [True, False]
    >>> truth_of_name(parse("starts-with(name(), 'b')"), "u", "b") is None  # it may have a prefix
    True
    """
    compared = _compared(expr)
    if compared is None or (compared[0] == "name" and uri):
        return None
    function, text = compared
    name = uri if function == "namespace-uri" else local
    if isinstance(expr, Binary):
        return (name == text) == (expr.op == "=")
    assert isinstance(expr, FunctionCall)
    return name.startswith(text) if expr.name == "starts-with" else text in name


def _compared(expr: Expr) -> tuple[str, str] | None:
    """The function that gives the name, and the text that it is compared with."""
    if isinstance(expr, Binary):
        if expr.op not in ("=", "!="):
            return None
        first, second = expr.left, expr.right
        if isinstance(first, StringLiteral):
            first, second = second, first
    elif isinstance(expr, FunctionCall) and expr.name in ("starts-with", "contains"):
        first, second = expr.arguments
    else:
        return None
    if not isinstance(second, StringLiteral) or not is_name(first):
        return None
    assert isinstance(first, FunctionCall)
    return None if first.arguments not in ((), (_HERE,)) else (first.name, second.value)
