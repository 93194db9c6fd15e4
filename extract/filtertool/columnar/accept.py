"""Which expressions columns can answer exactly; all others are declined, with the reason."""

from __future__ import annotations

from functools import lru_cache

from extract.filtertool.columnar.functions import SUPPORTED
from extract.xpath.ast import Expr, FilterPath, FunctionCall, LocationPath, Variable
from extract.xpath.functions import Type
from extract.xpath.traverse import children
from extract.xpath.types import type_of

_DECLINED_AXES = frozenset({"following", "preceding", "namespace"})


@lru_cache(maxsize=1 << 18)
def reason_against(expr: Expr) -> str:
    """Why an expression cannot be answered; empty if it can."""
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
