"""Keeps steps that leave the path downwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from extract.transtool.branch import PartialBranch
from extract.xpath.ast import NameTest, Step

if TYPE_CHECKING:
    from extract.transtool.context import Context


def keep_elsewhere(branch: PartialBranch, context: Context) -> Sequence[PartialBranch] | None:
    """Keeps siblings, ``following``, ``preceding`` and the remaining upward axes.

    Only a name that the schema does not have prunes the branch:
    ``/a/b/following::zzz`` ==> nothing
    """
    step = branch.tail[0]
    spine, know = branch.spine, context.know
    possible = know.live(branch.tail)
    if step.axis.endswith("-sibling") and spine.parent is not None and _is_named(step):
        possible = know.matching(step.test) & spine.parent.place.child_bits
    if not possible:
        context.missing(spine, branch.tail)
        return ()
    return (PartialBranch(spine, branch.tail, f"{step.axis} leaves the path"),)


def _is_named(step: Step) -> bool:
    return isinstance(step.test, NameTest)
