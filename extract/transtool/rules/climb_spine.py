"""Upward steps from a spine become filters along it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from extract.transtool.branch import PartialBranch
from extract.xpath.ast import ANY_NODE, Axis, Step, make_path, make_step
from extract.xpath.types import has_positions

if TYPE_CHECKING:
    from extract.transtool.context import Context


def climb_spine(branch: PartialBranch, context: Context) -> Sequence[PartialBranch] | None:
    """Replaces an upward step where the spine determines the elements above.

    ``//d/..`` ==> ``/a/b/k[d]``; ``/a/*/c/ancestor::a`` ==> ``/a[b[c]]``

    `fold_parent` and `fold_ancestor` do the same on paths whose steps are adjacent; this rule
    handles steps that only expansion makes adjacent. Declines on positions, and at a filter's
    context node, above which the elements are unknown.
    """
    step, rest, spine = branch.tail[0], branch.tail[1:], branch.spine
    if step.axis not in ("parent", "ancestor", "ancestor-or-self") or has_positions(step):
        return None
    if spine.step is None or spine.parent is None:
        if not spine.absolute:
            return None
        if step.axis == "ancestor-or-self":
            return (PartialBranch(spine, (make_step("self", step.test, step.predicates), *rest)),)
        context.missing(spine, branch.tail)
        return ()
    itself = make_step("self", step.test, step.predicates)
    if step.axis == "ancestor-or-self":
        further = make_step("ancestor", step.test, step.predicates)
        return (PartialBranch(spine, (itself, *rest)), PartialBranch(spine, (further, *rest)))
    above, below = spine.parent, make_path(False, (spine.step,))
    if above.step is not None:
        simple = context.simplify(above, (*above.step.predicates, below))
        if simple is None:
            return ()
        return (PartialBranch(above.where(simple), (_at_or_above(step), *rest)),)
    if above.absolute or step.axis == "parent":
        return (
            PartialBranch(above, (itself.where(below), *rest)),
        )  # nothing is above the document
    return (
        PartialBranch(above, (make_step("self", ANY_NODE, (below,)), _at_or_above(step), *rest)),
    )


def _at_or_above(step: Step) -> Step:
    """Returns the upward step as it continues one level up."""
    axis: Axis = "self" if step.axis == "parent" else "ancestor-or-self"
    return make_step(axis, step.test, step.predicates)
