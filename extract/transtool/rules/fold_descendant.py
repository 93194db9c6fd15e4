"""Folds ``//`` into a ``descendant`` step."""

from __future__ import annotations

from extract.xpath.ast import (
    ANY_DEPTH,
    ANY_NODE,
    Axis,
    KindTest,
    LocationPath,
    NameTest,
    Step,
    make_path,
    make_step,
)
from extract.xpath.types import has_positions

_TOGETHER: dict[str, Axis] = {
    "child": "descendant",
    "descendant": "descendant",
    "descendant-or-self": "descendant-or-self",
}


def fold_descendant(path: LocationPath) -> tuple[LocationPath, ...] | None:
    """Rewrites ``a//b`` to ``a/descendant::b``.

    Declines where the second step counts positions: ``//b[1]`` is the first ``b`` of *each* parent.

    >>> from extract.xpath.parser import parse
    >>> [str(p) for p in fold_descendant(parse("/a//b[x]"))]
    ['/a/descendant::b[x]']
    >>> fold_descendant(parse("/a//b[1]")) is None
    True
    >>> [str(p) for p in fold_descendant(parse("/a/descendant-or-self::text()[1]"))]
    ['/a/descendant::text()[1]']
    """
    steps = path.steps
    for i, step in enumerate(steps):
        if step.axis != "descendant-or-self":
            continue
        after = steps[i + 1] if i + 1 < len(steps) else None
        if step == ANY_DEPTH and after is not None:
            if after.axis in _TOGETHER and not has_positions(after):
                both = make_step(_TOGETHER[after.axis], after.test, after.predicates)
                return (make_path(path.absolute, (*steps[:i], both, *steps[i + 2 :])),)
        elif _is_never_one(step, path, i):
            below = make_step("descendant", step.test, step.predicates)
            return (make_path(path.absolute, (*steps[:i], below, *steps[i + 1 :])),)
    return None


def _is_never_one(step: Step, path: LocationPath, i: int) -> bool:
    """Whether a step selects leaves from nodes that cannot be leaves themselves."""
    if not isinstance(step.test, KindTest) or step.test == ANY_NODE:
        return False
    return isinstance(path.steps[i - 1].test, NameTest) if i else path.absolute
