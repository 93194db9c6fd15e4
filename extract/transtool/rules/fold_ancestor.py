"""Replaces ``ancestor::`` and ``ancestor-or-self::`` by filters further up."""

from __future__ import annotations

from extract.xpath.ast import ANY_NODE, LocationPath, make_path, make_step
from extract.xpath.types import has_positions


def fold_ancestor(path: LocationPath) -> tuple[LocationPath, ...] | None:
    """Rewrites ``/a/b/ancestor::x`` to the union of the places up the path where ``x`` can be.

    ======================================= ====================================================
    before                                  after
    ======================================= ====================================================
    ``X/child::t/ancestor::u``              ``X/self::node()[t]/ancestor-or-self::u``
    ``X/child::t/ancestor-or-self::u``      ``X/child::t/self::u`` and ``X/child::t/ancestor::u``
    ``X/descendant::t/ancestor::u``         ``X/descendant-or-self::u[descendant::t]`` and
                                            ``X/self::node()[descendant::t]/ancestor::u``
    ``/ancestor-or-self::u``                ``/self::u``
    ======================================= ====================================================

    Declines on positions, which count from the inside out (``ancestor::x[1]``).

    >>> from extract.xpath.parser import parse
    >>> [str(p) for p in fold_ancestor(parse("/descendant::k/ancestor::l/m"))]
    ['/descendant-or-self::l[descendant::k]/m']
    """
    steps = path.steps
    for i, step in enumerate(steps):
        if step.axis not in ("ancestor", "ancestor-or-self") or has_positions(step):
            continue
        head, rest = steps[: max(i - 1, 0)], steps[i + 1 :]
        if not i:
            if not path.absolute:
                continue
            at_top = make_step("self", step.test, step.predicates)
            return () if step.axis == "ancestor" else (make_path(True, (at_top, *rest)),)
        before = steps[i - 1]
        upward = make_step("ancestor", step.test, step.predicates)
        if before.axis == "self" and has_positions(before):
            continue
        if step.axis == "ancestor-or-self":
            if before.axis not in ("child", "attribute", "descendant", "self"):
                continue
            itself = make_step("self", step.test, step.predicates)
            return (
                make_path(path.absolute, (*head, before, itself, *rest)),
                make_path(path.absolute, (*head, before, upward, *rest)),
            )
        if before.axis in ("child", "attribute"):
            filtered = make_step("self", ANY_NODE, (make_path(False, (before,)),))
            up = make_step("ancestor-or-self", step.test, step.predicates)
            return (make_path(path.absolute, (*head, filtered, up, *rest)),)
        if before.axis == "descendant" and not has_positions(before):
            below = make_path(False, (before,))
            inside = make_step("descendant-or-self", step.test, (*step.predicates, below))
            paths = [make_path(path.absolute, (*head, inside, *rest))]
            if head or not path.absolute:
                filtered = make_step("self", ANY_NODE, (below,))
                paths.append(make_path(path.absolute, (*head, filtered, upward, *rest)))
            return tuple(paths)
        if before.axis == "self" and not head and path.absolute:
            return ()  # nothing is above the document node
    return None
