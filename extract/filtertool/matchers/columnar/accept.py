"""Which expressions columns can answer exactly, and on which documents; and why not others."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from extract.filtertool.matchers.columnar.functions import SUPPORTED
from extract.markup.encodings import find_encoding
from extract.xpath.ast import Expr, FilterPath, FunctionCall, LocationPath, Variable
from extract.xpath.functions import Type
from extract.xpath.traverse import children
from extract.xpath.types import type_of

_DECLARED: Final = re.compile(rb"&(?!#|(?:lt|gt|amp|quot|apos);)")  # or in a comment: as above
_DECLINED_AXES = frozenset({"following", "preceding", "namespace"})


@lru_cache(maxsize=1 << 18)
def reason_against(expr: Expr) -> str:
    """Returns why columns cannot answer an expression; empty if they can."""
    if isinstance(expr, Variable):
        return "a variable"
    if isinstance(expr, FunctionCall) and (expr.prefix or expr.name not in SUPPORTED):
        return f"the function {expr.name}()"
    if isinstance(expr, (LocationPath, FilterPath)):
        for step in expr.steps:
            if step.axis in _DECLINED_AXES:
                return f"the axis {step.axis}"
    if isinstance(expr, FilterPath) and type_of(expr.primary) is not Type.NODES:
        return "a path from a value"
    return next((reason for reason in map(reason_against, children(expr)) if reason), "")


def reason_against_document(data: bytes, root: int) -> str:
    """Returns why the bytes of a document do not determine its nodes; empty if they do.

    Args:
        data: A well-formed document.
        root: Offset of its root element.
    """
    encoding = find_encoding(data[:1024], True)
    if encoding is None or encoding.codec not in ("utf-8", "ascii"):
        return "another encoding than UTF-8"
    prolog = data[:root]
    # The match may be in a comment; then the document is only slower.
    if b"<!ENTITY" in prolog or b"<!ATTLIST" in prolog or b"%" in prolog:
        return "declarations of its own"
    if b"<!DOCTYPE" in prolog and _DECLARED.search(data, root):
        return "an entity that is declared elsewhere"
    return ""
