"""Takes questions with constants apart: where a query's parameters decide, and what follows.

The *anchors* of a branch are the nodes at which its last filters with parameters stand, as far as
they are independent of each other; they are found without parameters. The filters of steps above
become conditions at the anchor: ``/r[p = $string1]/s[q > $number2]/t`` selects the ``t`` of those
``/r/s`` at which ``q > $number2`` and ``..[p = $string1]``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from extract.filtertool.matchers.columnar.access import (
    Access,
    access_to,
    conjuncts,
    relaxed,
)
from extract.filtertool.matchers.columnar.operands import (
    comparison_of,
    search_of,
)
from extract.xpath.ast import (
    ANY_NODE,
    UP,
    Expr,
    FunctionCall,
    LocationPath,
    NameTest,
    Step,
    Union,
)
from extract.xpath.functions import Type
from extract.xpath.parameters import has_parameters
from extract.xpath.types import is_positional, type_of

_ROOT: Final = LocationPath(True, ())
_TO_ELEMENTS: Final = frozenset({"child", "descendant"})
_INSIDE: Final = frozenset({"child", "attribute"})  # axes whose way back is the parent


class AnchoredPath(NamedTuple):
    """One branch of a question with constants.

    Attributes:
        anchors: Selects the anchors, without parameters.
        exists: What must exist at an anchor for the result to be there, without parameters; None
            for nothing.
        conditions: What must be true at an anchor, each with parameters; the cheapest first.
        result: The nodes that are selected from an anchor; None for the anchor itself.
        access: What must hold at an anchor at which anything is selected; None if nothing is known.
    """

    anchors: LocationPath
    exists: LocationPath | None
    conditions: tuple[Expr, ...]
    result: Expr | None
    access: Access | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the child steps with which the way to the result begins."""
        names: list[str] = []
        for step in self._way:
            if step.axis != "child" or not isinstance(step.test, NameTest):
                break
            if step.test.local == "*":
                break
            names.append(str(step.test))
        return tuple(names)

    @property
    def last_name(self) -> NameTest | None:
        """The name of an element without which there is no result; None if there is no such."""
        for step in reversed(self._way):
            test = step.test
            if step.axis in _TO_ELEMENTS and isinstance(test, NameTest) and test.local != "*":
                return test
        return None

    @property
    def _way(self) -> tuple[Step, ...]:
        return self.anchors.steps + (() if self.exists is None else self.exists.steps)


class ConstantValue(NamedTuple):
    """A question with constants that is no node set.

    Attributes:
        expr: The expression.
        default: Its value where ``access`` does not hold; None if it has to be evaluated.
        access: What must hold in a document where it has another value.
    """

    expr: Expr
    default: bool | float | str | None
    access: Access | None


def anchored(expr: Expr) -> list[AnchoredPath]:
    """Takes a branch that selects nodes apart; each part of a union separately.

    >>> from extract.xpath.parameters import parse_shape
    >>> (path,) = anchored(parse_shape("/r[p = $string1]/s[x][q > $number2]/t"))
    >>> str(path.anchors), [str(one) for one in path.conditions], str(path.result)
    ('/r/s[x]', ['q > $number2', 'parent::node()[p = $string1]'], 't')
    """
    if isinstance(expr, Union):
        return [path for part in expr.parts for path in anchored(part)]
    if isinstance(expr, LocationPath) and expr.absolute:
        if not has_parameters(expr):
            return [AnchoredPath(expr, None, (), None, None)]
        return [_anchored_path(expr.steps)]
    return [AnchoredPath(_ROOT, None, (), expr, access_to([expr]))]


def constant_value(expr: Expr, kind: Type) -> ConstantValue:
    """Takes an expression that is no node set apart."""
    if kind is Type.BOOLEAN:
        access = access_to([expr])
        return ConstantValue(expr, None if access is None else False, access)
    if not isinstance(expr, FunctionCall) or expr.name not in _EMPTY:
        return ConstantValue(expr, None, None)
    if any(type_of(one) is not Type.NODES for one in expr.arguments):
        return ConstantValue(expr, None, None)
    access = access_to(expr.arguments)
    return ConstantValue(expr, None if access is None else _EMPTY[expr.name], access)


_EMPTY: Final[dict[str, float | str]] = {"count": 0.0, "string": ""}  # without any node


def _anchored_path(steps: tuple[Step, ...]) -> AnchoredPath:
    above = _anchor(steps)
    conditions: list[Expr] = []
    for number, step in enumerate(steps[:above], 1):
        conditions += [_seen_from(above - number, one) for one in _filters(step)]
    rest = LocationPath(False, steps[above:])
    result = rest if rest.steps else None
    exists = LocationPath(False, relaxed(rest.steps)) if rest.steps else None
    return AnchoredPath(
        LocationPath(True, relaxed(steps[:above])),
        exists,
        tuple(sorted(conditions, key=_cost)),
        result,
        access_to([*conditions, rest]),
    )


def _anchor(steps: tuple[Step, ...]) -> int:
    """Returns the number of steps to the anchors."""
    with_parameters = [n for n, step in enumerate(steps) if _filters(step)]
    first = last = with_parameters[0]
    if _is_entangled(steps[first]):
        return first
    for number in range(first + 1, with_parameters[-1] + 1):
        if steps[number].axis not in _INSIDE or _is_entangled(steps[number]):
            break
        if number in with_parameters:
            last = number
    return last + 1


def _filters(step: Step) -> list[Expr]:
    """Returns the filters of a step that have parameters, without the operands that have none."""
    parts = [part for one in step.predicates if not is_positional(one) for part in conjuncts(one)]
    parts += [one for one in step.predicates if is_positional(one)]
    return [part for part in parts if has_parameters(part)]


def _is_entangled(step: Step) -> bool:
    """Whether positions depend on parameters."""
    before = False
    for predicate in step.predicates:
        before = before or has_parameters(predicate)
        if before and is_positional(predicate):
            return True
    return False


def _seen_from(steps: int, condition: Expr) -> Expr:
    """Returns a condition at a node as one at its descendants, so many steps below."""
    if not steps:
        return condition
    up = (UP,) * (steps - 1)
    return LocationPath(False, (*up, Step("parent", ANY_NODE, (condition,))))


def _cost(condition: Expr) -> int:
    if comparison_of(condition) is not None:
        return 0
    return 1 if search_of(condition) is not None else 2
