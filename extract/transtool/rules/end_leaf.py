"""Ends a path in an attribute, a text, a comment or a processing instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from extract.transtool.branch import PartialBranch
from extract.xpath.ast import ANY_NODE, KindTest, NameTest, make_step

if TYPE_CHECKING:
    from extract.transtool.context import Context


def end_leaf(branch: PartialBranch, context: Context) -> Sequence[PartialBranch] | None:
    """Keeps the leaf step, if the schema allows it.

    ``/a/@x`` without such an attribute ==> nothing; ``/a/@*`` with just one attribute ==> ``/a/@x``

    Text, comments and processing instructions may be in any element (TRAPS 5), so they are never
    pruned; below the document node there is no text. ``@*`` is not expanded: all attributes of an
    element are in its start tag anyway.
    """
    step, rest = branch.tail[0], branch.tail[1:]
    if step.axis == "child":
        if not isinstance(step.test, KindTest):
            return None
    elif step.axis != "attribute":
        return None
    spine, know = branch.spine, context.know
    if context.is_dead(branch):
        return ()
    if step.axis == "attribute" and not rest:
        names = spine.place.attributes
        test = step.test
        if names is not None and len(names) == 1 and test in (NameTest("*"), ANY_NODE):
            (only,) = names
            step = make_step("attribute", know.prefixes.test(only), step.predicates)
    stop = f"{rest[0].axis} after {step}" if rest else "leaf"
    return (PartialBranch(spine, (step, *rest), stop),)
