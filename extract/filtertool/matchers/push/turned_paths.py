"""Paths that turn: a step up, or to what is beside a node, as a condition on where it leads.

The engine goes down from the document node to the nodes that a query selects. What
``//a/following::b`` selects is each ``//b[preceding::a]``: wherever an axis leads from one of some
nodes, the opposite axis leads back to one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extract.filtertool.matchers.push.conditions import (
    ANY_TEST,
    TRUE,
    Condition,
    Not,
    Path,
    PathAxis,
    PathStep,
    There,
    both,
)

_BACK: Final = {
    PathAxis.CHILD: PathAxis.PARENT,
    PathAxis.DESCENDANT: PathAxis.ANCESTOR,
    PathAxis.NEAR: PathAxis.ABOVE,
    PathAxis.FOLLOWING: PathAxis.PRECEDING,
    PathAxis.PRECEDING: PathAxis.FOLLOWING,
    PathAxis.BEHIND: PathAxis.BEFORE,
    PathAxis.BEFORE: PathAxis.BEHIND,
    PathAxis.ANCESTOR: PathAxis.DESCENDANT,
    PathAxis.ABOVE: PathAxis.NEAR,
    PathAxis.PARENT: PathAxis.CHILD,
}
_IS_ROOT: Final = Not(There(Path(False, (PathStep(PathAxis.PARENT, ANY_TEST),))))


def way_back(axis: PathAxis, steps: Sequence[PathStep]) -> Condition:
    """Whether an axis leads to a node from one of those that steps select.

    Args:
        axis: The axis.
        steps: The steps, which go down from the document node.

    >>> way_back(PathAxis.BEHIND, [PathStep(PathAxis.DESCENDANT, 7)]).path.steps
    (PathStep(axis=<PathAxis.BEFORE: 11>, test=7, condition=None, parts=None),)
    """
    back: list[PathStep] = []
    for step in reversed(steps):
        back.append(step._replace(axis=_BACK[axis]))
        axis = step.axis
    path = Path(False, tuple(back))
    return There(with_condition(path, _IS_ROOT) if axis is PathAxis.CHILD else path)


def with_condition(path: Path, condition: Condition) -> Path:
    """The path with another condition on its last step."""
    last = path.steps[-1]
    own = [] if last.condition is None else [last.condition]
    every = both([*own, condition])
    last = last._replace(condition=None if every == TRUE else every)
    return path._replace(steps=(*path.steps[:-1], last))
