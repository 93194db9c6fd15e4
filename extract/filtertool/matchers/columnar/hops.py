"""Location steps in the form in which columns are searched.

A *hop* names the nodes that it leads to, and their relation to the node it starts from. The nodes
do not depend on the start: positions count the children of each parent, wherever the parent is.
    Steps
for which this does not hold (``descendant::b[2]``, siblings) stay steps: `Hop.step`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from extract.xpath.ast import ANY_DEPTH, HERE, Expr, NodeTest, Step
from extract.xpath.types import has_positions

CHILD: Final = "child"
ATTRIBUTE: Final = "attribute"
DESCENDANT: Final = "descendant"


class NodePattern(NamedTuple):
    """A set of nodes, wherever they are in the document.

    Attributes:
        attribute: Whether they are attributes.
        test: Their node test.
        predicates: Their predicates; positions count the nodes with the same parent.
    """

    attribute: bool
    test: NodeTest
    predicates: tuple[Expr, ...]


class Hop(NamedTuple):
    """A step of a path.

    Attributes:
        axis: `CHILD` (of attributes, too), `DESCENDANT`, or the axis of ``step``.
        choice: The nodes that it may lead to; None for all other axes.
        step: The step, if its predicates count from its start, or for other axes.
    """

    axis: str
    choice: NodePattern | None
    step: Step | None = None


@lru_cache(maxsize=1 << 16)
def hops(steps: tuple[Step, ...]) -> tuple[Hop, ...]:
    """Returns the hops of the steps."""
    out: list[Hop] = []
    deep = False  # whether a "//" comes before
    for step in steps:
        if step == HERE and not deep:
            continue
        if step == ANY_DEPTH and not deep:
            deep = True
            continue
        hop = _hop(step)
        if deep:
            if hop.choice is not None and hop.axis == CHILD:
                hop = Hop(DESCENDANT, hop.choice)
            elif hop.choice is None or hop.axis != DESCENDANT:
                # //descendant::b is descendant::b, but //self::b is not self::b
                out.append(Hop(ANY_DEPTH.axis, None, ANY_DEPTH))
            deep = False
        out.append(hop)
    if deep:
        out.append(Hop(ANY_DEPTH.axis, None, ANY_DEPTH))
    return tuple(out)


def _hop(step: Step) -> Hop:
    if step.axis in (CHILD, ATTRIBUTE):
        return Hop(CHILD, NodePattern(step.axis == ATTRIBUTE, step.test, step.predicates))
    if step.axis == DESCENDANT and not has_positions(step):
        return Hop(DESCENDANT, NodePattern(False, step.test, step.predicates))
    return Hop(step.axis, None, step)
