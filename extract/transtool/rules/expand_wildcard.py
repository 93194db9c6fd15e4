"""Replaces ``*`` by the names that the schema allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from extract.transtool.branch import PartialBranch
from extract.transtool.knowledge import elements_only
from extract.xpath.ast import ANY_NODE, NameTest
from extract.xpath.types import has_positions

if TYPE_CHECKING:
    from extract.transtool.context import Context


def expand_wildcard(branch: PartialBranch, context: Context) -> Sequence[PartialBranch] | None:
    """Makes one branch for each child that the rest of the path can continue from.

    ``/a/b/*/c`` ==> ``/a/b/l/c`` and ``/a/b/m/c``

    ``node()`` is a ``*`` where the path goes on downwards, since only elements have children.
    Declines on positions (``*[2]`` counts children of every name) and where the schema is open.
    """
    step, rest = branch.tail[0], branch.tail[1:]
    if step.axis != "child":
        return None
    if step.test == ANY_NODE:
        if not elements_only(branch.tail):
            return None
    elif not isinstance(step.test, NameTest) or step.test.local != "*":
        return None
    spine, know = branch.spine, context.know
    if context.is_dead(branch):
        return ()
    if has_positions(step):
        return (PartialBranch(spine, branch.tail, f"{step} counts children of any name"),)
    if spine.place.open:
        return (PartialBranch(spine, branch.tail, f"the schema is open below {spine.text or '/'}"),)
    targets = know.targets(branch.tail)
    out: list[PartialBranch] = []
    for name, place in spine.place.children.items():
        if place.bit & targets:
            longer = context.enter(spine, know.prefixes.test(name), place, step.predicates)
            if longer is not None:
                out.append(PartialBranch(longer, rest))
    return out
