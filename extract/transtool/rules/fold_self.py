"""Folds ``self::`` steps into the step before them."""

from __future__ import annotations

from extract.xpath.ast import (
    ANY_NODE,
    HERE,
    KindTest,
    LocationPath,
    NameTest,
    NodeTest,
    Step,
    make_path,
    make_step,
)
from extract.xpath.types import has_positions


def fold_self(path: LocationPath) -> tuple[LocationPath, ...] | None:
    """Drops ``.`` and merges ``self::b[q]`` into the step before it.

    Declines where the step before counts positions that a narrower test would change
    (``*[2]/self::b``), and where ``q`` itself is a position.

    >>> from extract.xpath.parser import parse
    >>> [str(p) for p in fold_self(parse("/a/./b"))]
    ['/a/b']
    >>> [str(p) for p in fold_self(parse("/a/*/self::b[x]"))]
    ['/a/b[x]']
    >>> fold_self(parse("/a/*[2]/self::b")) is None
    True
    """
    steps = path.steps
    for i, step in enumerate(steps):
        if step.axis != "self":
            continue
        if step == HERE:
            if len(steps) > 1 or path.absolute:
                return (make_path(path.absolute, steps[:i] + steps[i + 1 :]),)
        elif i and not has_positions(step):
            before = steps[i - 1]
            test = _narrow(before, step.test)
            if test is None:
                return ()
            if test == before.test or not has_positions(before):
                merged = make_step(before.axis, test, before.predicates + step.predicates)
                return (make_path(path.absolute, (*steps[: i - 1], merged, *steps[i + 1 :])),)
    return None


def _narrow(before: Step, test: NodeTest) -> NodeTest | None:
    """Returns the test for nodes that pass both tests; None if there are none."""
    first = before.test
    if test == ANY_NODE:
        return first
    if before.axis in ("attribute", "namespace"):
        return None  # self:: sees elements by name, and an attribute is no text or comment either
    if first in (ANY_NODE, test):
        return test
    if isinstance(first, NameTest) and isinstance(test, NameTest):
        if first.local == "*" and (not first.prefix or first.prefix == test.prefix):
            return test
        if test.local == "*" and (not test.prefix or first.prefix == test.prefix):
            return first
    if isinstance(first, KindTest) and isinstance(test, KindTest) and first.kind == test.kind:
        if first.target is None:
            return test
        if test.target is None:
            return first
    return None
