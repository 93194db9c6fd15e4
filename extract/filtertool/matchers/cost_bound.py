"""An upper bound for the time of an expression, from its text and a number of nodes.

The bound is for libxml2's algorithm, which unites node sets by comparing every pair of nodes, and
evaluates an absolute path in a filter again for every node. It is coarse, wrong by factors; it only
has to distinguish ``//a[.//b]`` from ``//a[preceding::a/following::a]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from extract.xpath.ast import (
    ANY_NODE,
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    NameTest,
    Negate,
    Step,
    Union,
)
from extract.xpath.parser import parse

LIMIT: Final = 1e9  # a few seconds of libxml2's time
_A_SECOND: Final = 1.5e8  # about; measured on the data of `extract bench`

_FEW: Final = 8.0  # children of an element: many have none, few have many
_DEPTH: Final = 32.0  # ancestors of an element, and the average number of descendants
_TEXT: Final = 20.0  # cost of reading a node's text, relative to finding the node
_TRANSLATE: Final = 10.0  # factor for replacing characters
_WIDE: Final = frozenset({"following", "preceding", "following-sibling", "preceding-sibling"})
_SIBLINGS: Final = frozenset({"following-sibling", "preceding-sibling"})
_DEEP: Final = frozenset({"descendant", "descendant-or-self"})
_HIGH: Final = frozenset({"ancestor", "ancestor-or-self"})
_NARROW: Final = frozenset({"child", "attribute", "namespace"})
_DOWN: Final = _DEEP | _NARROW | {"self"}
_BELOW: Final = frozenset({"child", "descendant"})
_OTHERS: Final = frozenset({"attribute", "namespace"})  # axes to nodes that are no elements
_LARGEST: Final = 40  # as a power of two: more nodes than memory holds


def limit_for(seconds: float) -> float:
    """Returns the cost from which an expression may take longer than the given time."""
    return min(LIMIT, seconds * _A_SECOND)


class _Cost(NamedTuple):
    """The cost of evaluating an expression once, and the largest number of nodes it returns."""

    work: float
    size: float = 1.0


def nodes_allowed(xpath: str, limit: float = LIMIT) -> float:
    """Returns the number of nodes on which an expression costs no more than a limit.

    >>> nodes_allowed("/db/student[name = 'x']/email") > 1e7
    True
    >>> nodes_allowed("//a[preceding::a/following::a/preceding::a]") < 1000
    True
    >>> nodes_allowed("//a[contains(string(/), .)]") < 100_000
    True
    >>> nodes_allowed("re:test(/a, '(x+x+)+y')")
    0.0
    """
    if not any(sign in xpath for sign in ("[", "::", "//", "(")):
        return float("inf")
    expr = parse(xpath)
    low, high = 0, _LARGEST
    if _cost(expr, Sizes(2.0**high), True).work <= limit:
        return float("inf")
    if _cost(expr, Sizes(1.0), True).work > limit:
        return 0.0
    while high - low > 1:
        middle = (low + high) // 2
        if _cost(expr, Sizes(2.0**middle), True).work <= limit:
            low = middle
        else:
            high = middle
    return 2.0**low


class Sizes:
    """The numbers of nodes in a document.

    Args:
        elements: The number of elements.
        named: The number of elements by local name; None if it is not known.
        widest: The most nodes that have one parent.
    """

    __slots__ = ("all", "named", "widest")

    def __init__(
        self,
        elements: float,
        named: Mapping[str, int] | None = None,
        widest: float = math.inf,
    ) -> None:
        self.all = elements
        self.named = named
        self.widest = min(widest, elements)

    def of(self, step: Step) -> float:
        """Returns the largest number of nodes that a step can lead to."""
        test = step.test
        if self.named is None or not isinstance(test, NameTest) or test.local == "*":
            return self.all
        return self.all if step.axis in _OTHERS else float(self.named.get(test.local, 0))


class Bound:
    """Decides for many documents whether an expression may take very long.

    Args:
        xpath: The expression.
        limit: The cost from which it may.

    Attributes:
        allowed: The number of elements up to which it is fast enough, whatever their names.
    """

    __slots__ = ("_expr", "_limit", "_xpath", "allowed")

    def __init__(self, xpath: str, limit: float = LIMIT) -> None:
        self._xpath = xpath
        self._limit = limit
        self.allowed = nodes_allowed(xpath, limit)
        self._expr: Expr | None = None

    def affords(
        self,
        elements: int,
        named: Callable[[], Mapping[str, int]] | None = None,
        widest: Callable[[], float] = lambda: math.inf,
    ) -> bool:
        """Whether the expression is fast enough on a document.

        Args:
            elements: The number of elements.
            named: Counts them by local name; called only if their number alone does not decide.
            widest: Returns the most nodes that have one parent; called only if their names do not
                decide.

        >>> Bound("//a//b").affords(1_000_000)
        False
        >>> siblings = Bound("//a[preceding-sibling::a = .]")
        >>> siblings.affords(100_000, lambda: {"a": 100_000})
        False
        >>> siblings.affords(100_000, lambda: {"a": 100_000}, lambda: 20)
        True
        >>> Bound("//a//b").affords(1_000_000, lambda: {"a": 1_000, "b": 5_000})
        True
        """
        if elements <= self.allowed:
            return True
        if named is None:
            return False
        if self._expr is None:
            self._expr = parse(self._xpath)
        names = named()
        if _cost(self._expr, Sizes(elements, names), True).work <= self._limit:
            return True
        return _cost(self._expr, Sizes(elements, names, widest()), True).work <= self._limit


def _cost(expr: Expr, n: Sizes, outermost: bool = False) -> _Cost:
    if isinstance(expr, LocationPath):
        return _path(expr.steps, n, _Cost(0.0), expr.absolute or outermost)
    if isinstance(expr, FilterPath):
        start = _cost(expr.primary, n, outermost)
        work = start.work + start.size * _sum(expr.predicates, n)
        return _path(expr.steps, n, _Cost(work, start.size), outermost)
    if isinstance(expr, Union):
        parts = [_cost(part, n, outermost) for part in expr.parts]
        size = min(n.all, sum(part.size for part in parts))
        return _Cost(sum(part.work for part in parts) + (size * size if size > _DEPTH else 0), size)
    if isinstance(expr, Binary):
        left, right = _cost(expr.left, n, outermost), _cost(expr.right, n, outermost)
        texts = _text(expr.left, n) + _text(expr.right, n)
        return _Cost(left.work + right.work + left.size * right.size + texts)
    if isinstance(expr, Negate):
        return _cost(expr.operand, n, outermost)
    if isinstance(expr, FunctionCall):
        if expr.prefix:  # EXSLT: some regular expressions never end
            return _Cost(float("inf"))
        texts = sum(_text(argument, n) for argument in expr.arguments)
        texts *= _TRANSLATE if expr.name == "translate" else 1.0
        work = sum(_cost(argument, n, outermost).work for argument in expr.arguments) + texts + 1
        return _Cost(work + n.all, n.all) if expr.name == "id" else _Cost(work)
    return _Cost(1.0)


def _text(expr: Expr, n: Sizes) -> float:
    """Returns the cost of reading the text of an argument's nodes, relative to finding them.

    The text of the document, or of an absolute path, is as long as the document; that of a node in
    a filter is short, on average.
    """
    return _TEXT * n.all if isinstance(expr, LocationPath) and expr.absolute else 0.0


def _sum(exprs: Iterable[Expr], n: Sizes) -> float:
    return sum(_cost(expr, n).work for expr in exprs)


def _path(steps: Iterable[Step], n: Sizes, start: _Cost, anywhere: bool) -> _Cost:
    """Returns the cost of steps.

    Args:
        steps: The steps.
        n: The numbers of nodes.
        start: The cost of the expression before the steps.
        anywhere: Whether the steps may lead to all nodes. Those of a filter do not, as long as they
            go down: all elements together have no more than `_DEPTH` times as many descendants.
    """
    work, size = start
    near = _DEPTH  # how many nodes a step of a filter leads to
    for step in _rewritten(steps):
        siblings = step.axis in _SIBLINGS and n.widest < n.all
        if step.axis not in _DOWN and not siblings:
            anywhere = True
        targets = n.of(step)
        most = targets if anywhere else min(targets, near)
        if siblings:
            each = min(targets, n.widest)
            reached = min(targets, size * each)
            work += size * n.widest
            if size > 1:  # as below, but only some of the nodes are siblings
                work += size * each * reached
            near = max(near, reached * _FEW)
        elif step.axis in _WIDE:
            reached = targets
            work += size * n.all
            if (
                size > 1
            ):  # libxml2 unites the nodes of each start with those of all others, one by one
                work += size * reached * reached
        elif step.axis == "self":
            reached = size
            work += size
        elif step.axis in _NARROW:
            reached = most if anywhere else min(most, size * _FEW)
            work += reached
        else:
            reached = min(most, size * (most if step.axis in _DEEP else _reach(step)))
            work += size * min(_DEPTH, n.all) if size > 1 else n.all
            if size > _DEPTH:
                work += reached * reached
        size = reached
        work += size * _sum(step.predicates, n)
    return _Cost(work, size)


def _rewritten(steps: Iterable[Step]) -> Iterator[Step]:
    """Yields the steps as libxml2 rewrites them: ``//b`` without a filter is one step."""
    before: Step | None = None
    for step in steps:
        if before is not None:
            if step.axis in _BELOW and not step.predicates:
                step = replace(step, axis="descendant")
            else:
                yield before
        before = None
        if step.axis == "descendant-or-self" and step.test == ANY_NODE and not step.predicates:
            before = step
        else:
            yield step
    if before is not None:
        yield before


def _reach(step: Step) -> float:
    """Returns the number of nodes that a step up, or to the node itself, leads to."""
    return _DEPTH if step.axis in _HIGH else 1.0
