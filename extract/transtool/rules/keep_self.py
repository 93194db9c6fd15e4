"""Checks ``self::`` steps that could not be folded against the place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from extract.transtool.branch import PartialBranch
from extract.xpath.ast import HERE
from extract.xpath.types import has_positions

if TYPE_CHECKING:
    from extract.transtool.context import Context


def keep_self(branch: PartialBranch, context: Context) -> Sequence[PartialBranch] | None:
    """Decides ``self::b`` by the schema: at an element ``b`` it is ``.``, elsewhere nothing.

    ``/a/b[self::b]`` ==> ``/a/b``; ``/a/b[self::c]`` ==> nothing
    """
    step, rest = branch.tail[0], branch.tail[1:]
    if step.axis != "self":
        return None
    spine = branch.spine
    if context.is_dead(branch):
        return ()
    if step == HERE or (not step.predicates and not spine.place.unknown):
        return (PartialBranch(spine, rest),)
    if spine.step is not None and not has_positions(step) and not spine.place.unknown:
        simple = context.simplify(spine, (*spine.step.predicates, *step.predicates))
        return () if simple is None else (PartialBranch(spine.where(simple), rest),)
    return (PartialBranch(spine, branch.tail, f"{step} stays as it is"),)
