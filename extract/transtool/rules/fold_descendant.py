"""``//`` becomes a step of its own kind."""

from __future__ import annotations

from extract.xpath.ast import ANY_DEPTH, Axis, LocationPath, make_path, make_step
from extract.xpath.types import has_positions

_TOGETHER: dict[str, Axis] = {
    "child": "descendant",
    "descendant": "descendant",
    "descendant-or-self": "descendant-or-self",
}


def fold_descendant(path: LocationPath) -> tuple[LocationPath, ...] | None:
    """``a//b`` to ``a/descendant::b``.

    Declines where the second step counts positions: ``//b[1]`` is the first ``b`` of *each* parent.

    >>> from extract.xpath.parser import parse
    >>> [str(p) for p in fold_descendant(parse("/a//b[x]"))]
    ['/a/descendant::b[x]']
    >>> fold_descendant(parse("/a//b[1]")) is None
    True
    """
    steps = path.steps
    for i in range(len(steps) - 1):
        after = steps[i + 1]
        if steps[i] == ANY_DEPTH and after.axis in _TOGETHER and not has_positions(after):
            both = make_step(_TOGETHER[after.axis], after.test, after.predicates)
            return (make_path(path.absolute, (*steps[:i], both, *steps[i + 2 :])),)
    return None
