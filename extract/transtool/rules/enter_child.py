"""Moves a named child step to the spine, if the schema has the edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from extract.transtool.branch import PartialBranch
from extract.xpath.ast import NameTest

if TYPE_CHECKING:
    from extract.transtool.context import Context


def enter_child(branch: PartialBranch, context: Context) -> Sequence[PartialBranch] | None:
    """Follows one named edge; a branch ends where the schema has none.

    ``/a/d`` with ``<!ELEMENT a (b+)>`` ==> nothing: ``a`` has no child ``d``.

    Positions stay exact: the step counts among the same siblings as before.
    """
    step = branch.tail[0]
    if step.axis != "child" or not isinstance(step.test, NameTest) or step.test.local == "*":
        return None
    spine, know = branch.spine, context.know
    place = spine.place.step(know.prefixes.expanded(step.test))
    if place is None:
        context.missing(spine, branch.tail)
        return ()
    longer = context.enter(spine, step.test, place, step.predicates)
    return () if longer is None else (PartialBranch(longer, branch.tail[1:]),)
