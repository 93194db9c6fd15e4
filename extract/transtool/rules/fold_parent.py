"""Replaces ``..`` and ``parent::`` by filters on the step before."""

from __future__ import annotations

from extract.xpath.ast import LocationPath, make_path, make_step
from extract.xpath.types import has_positions


def fold_parent(path: LocationPath) -> tuple[LocationPath, ...] | None:
    """Rewrites ``/a/b/../c`` to ``/a[b]/c``: the paper's cleaning step.

    A position on the child stays exact (``b[1]/..`` is ``self::node()[b[1]]``), since the filter
    counts among the same siblings. On ``descendant::`` it does not, nor does a position on the
    parent
    step: then the rule declines.

    >>> from extract.xpath.parser import parse
    >>> [str(p) for p in fold_parent(parse("/a/b[1]/.."))]
    ['/a/self::node()[b[1]]']
    >>> [str(p) for p in fold_parent(parse("/a/descendant::b/parent::c"))]
    ['/a/descendant-or-self::c[b]']
    """
    steps = path.steps
    for i, step in enumerate(steps):
        if step.axis != "parent" or has_positions(step):
            continue
        if not i:
            if path.absolute:
                return ()  # the document node has no parent
            continue
        before, head, rest = steps[i - 1], steps[: i - 1], steps[i + 1 :]
        if before.axis in ("child", "attribute"):
            child = make_path(False, (before,))
            folded = make_step("self", step.test, (*step.predicates, child))
        elif before.axis == "descendant" and not has_positions(before):
            child = make_path(False, (make_step("child", before.test, before.predicates),))
            folded = make_step("descendant-or-self", step.test, (*step.predicates, child))
        else:
            continue
        return (make_path(path.absolute, (*head, folded, *rest)),)
    return None
