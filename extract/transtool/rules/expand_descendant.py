"""Replaces ``//`` by the first occurrences of the step after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from extract.transtool.branch import PartialBranch, Spine
from extract.transtool.knowledge import elements_only
from extract.xpath.ast import ANY_DEPTH, ANY_NODE, KindTest, Step, make_step
from extract.xpath.types import has_positions

if TYPE_CHECKING:
    from extract.transtool.context import Context


def expand_descendant(branch: PartialBranch, context: Context) -> Sequence[PartialBranch] | None:
    """Makes one branch for each way to a first occurrence, up to where the schema recurses.

    ``//c`` ==> ``/a/b/l/c`` and ``/a/b/m//c``, if ``m`` may contain another ``a``

    Beyond the limit the ``//`` stays, behind the longest path that all occurrences share. Declines
    on positions (``descendant::c[1]`` counts over all depths) and where nodes other than elements
    matter.
    """
    step, rest = branch.tail[0], branch.tail[1:]
    if step.axis not in ("descendant", "descendant-or-self"):
        return None
    spine, know = branch.spine, context.know
    if context.is_dead(branch):
        return ()
    if has_positions(step):
        return (PartialBranch(spine, branch.tail, f"{step} counts nodes of any depth"),)
    with_self = step.axis == "descendant-or-self"
    if isinstance(step.test, KindTest) and not (
        step.test == ANY_NODE and elements_only(branch.tail)
    ):
        if with_self and step.test == ANY_NODE:
            return (PartialBranch(spine, branch.tail, f"{step} selects nodes of every kind"),)
        # descendant::text() is a child of some element at any depth
        below = make_step("child", step.test, step.predicates)
        return expand_descendant(PartialBranch(spine, (ANY_DEPTH, below, *rest)), context)
    targets = know.targets(branch.tail)
    place = spine.place
    hits = know.occurrences(place, targets, spine.on_path, with_self)
    if hits is None or not context.affords(len(hits)):
        return (keep_prefix(branch, context),)
    out: list[PartialBranch] = []
    for occurrence in hits:
        end = spine.walk(occurrence.path, know.prefixes)
        if occurrence.stopped:
            why = "is open" if end.place.open else "recurses"
            out.append(PartialBranch(end, branch.tail, f"the schema {why} below {end.text or '/'}"))
            continue
        if end.step is None and step.predicates:
            out.append(PartialBranch(end, (make_step("self", step.test, step.predicates), *rest)))
            continue
        filtered = _filtered(end, step, context)
        if filtered is not None:
            out.append(PartialBranch(filtered, rest))
    return out


def keep_prefix(branch: PartialBranch, context: Context) -> PartialBranch:
    """Keeps the ``//`` of a branch, behind the longest prefix that all its matches share."""
    spine, know, step = branch.spine, context.know, branch.tail[0]
    stop = f"more than {know.limits.branches} branches, or too long"
    if step.axis not in ("descendant", "descendant-or-self"):
        return PartialBranch(spine, branch.tail, stop)
    common = know.common_prefix(
        spine.place,
        know.targets(branch.tail),
        spine.on_path,
        step.axis == "descendant-or-self",
    )
    return PartialBranch(spine.walk(common, know.prefixes), branch.tail, stop)


def _filtered(end: Spine, step: Step, context: Context) -> Spine | None:
    """Adds the step's filters to the spine of an occurrence; None if they cannot hold."""
    if not step.predicates or end.step is None:
        return end
    simple = context.simplify(end, end.step.predicates + step.predicates)
    return None if simple is None else end.where(simple)
