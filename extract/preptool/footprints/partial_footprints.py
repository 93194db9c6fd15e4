"""Footprints of a million branches, composed from those of a few thousand parts.

The parts of a branch are the filters of each spine step, and the tail. The footprint of a part does
not depend on the other parts, because filters do not change where a path leads. Nor, as a rule, on
the
spine: a part that only looks below its own step does so below any other. So each text is followed
once, below a step that stands for any spine; only parts that leave that subtree (``..``, absolute
paths, ``following::``) are followed again for each spine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from extract.preptool.footprints.footprint import Footprint, Pattern, filter_footprint, footprint
from extract.preptool.query_tree import NamePath
from extract.scheme.model import Branch, Need
from extract.scheme.spine import BranchParts, take_apart
from extract.transtool.branch_syntax import BranchSyntax
from extract.xpath.ast import LocationPath, make_step, name_test

Wants: TypeAlias = frozenset[tuple[Pattern, Need]]

# No query can contain it: it is not a name.
_HERE = make_step("child", name_test("#here"))


# There is one or more of the next two for each branch: a frozen one takes three times as long to
# make. Nobody changes them.
@dataclass(slots=True, eq=False)
class PartialFootprint:
    """The footprint of a part of a branch. The same text at the same spine is one object.

    Attributes:
        above: The names of the spine down to the step that the part belongs to.
        below: The wants of the part, in patterns that start from that step; None if it looks
            outside of the step's subtree.
        beyond: The footprint of the part if it looks outside of the step's subtree.
    """

    above: NamePath
    below: Wants | None
    beyond: Footprint

    @property
    def wants(self) -> Wants:
        """Returns the wants of the part, in patterns that start from the document node."""
        if self.below is None:
            return self.beyond.wants
        start = child_steps(self.above)
        return frozenset([((*start, *rest), need) for rest, need in self.below])


@dataclass(slots=True, eq=False)
class SpineFootprint:
    """The footprint of a spine with its filters, which many branches share.

    Attributes:
        spine: The parsed spine; its tail is empty.
        filters: The footprints of its filters.
        filtered: The steps with a filter, from 1; one with two filters twice.
        indivisible: Whether a branch with this spine has a footprint only as a whole.
        whole: Why its filters need the whole document; empty if they do not.
    """

    spine: BranchParts
    filters: tuple[PartialFootprint, ...]
    filtered: tuple[int, ...]
    indivisible: bool
    whole: str


class PartialFootprints:
    """Computes the footprints of the parts of branches, each once.

    Args:
        syntax: The parts as expressions, as far as they are known.
    """

    def __init__(self, syntax: BranchSyntax | None = None) -> None:
        self._syntax = syntax or BranchSyntax()
        self._spines: dict[tuple[str, int, bool], SpineFootprint] = {}
        self._below: dict[str, Wants | None] = {}
        self._partials: dict[tuple[NamePath, str], PartialFootprint] = {}

    def of(self, branch: Branch) -> tuple[PartialFootprint, ...]:
        """Returns the footprints of a branch's parts; their union is that of the branch."""
        tail = take_apart(branch).tail
        spine = self.of_spine(branch, tail)
        return (*spine.filters, self.of_tail(branch, spine, tail))

    def of_spine(self, branch: Branch, tail: str) -> SpineFootprint:
        """Returns the footprint of a branch without its tail."""
        xpath, steps = branch
        # Without a spine there is nothing to share; and whether preceding:: is supported depends on
        # the other parts.
        indivisible = not steps or "preceding::" in xpath
        key = (xpath[: len(xpath) - len(tail)], steps, indivisible)
        on_spine = self._spines.get(key)
        if on_spine is None:
            spine = self._syntax.spine(key[0], steps)
            texts = () if indivisible else spine.filters
            filters = tuple([self._partial(spine.names[:step], text) for step, text in texts])
            whole = next((part.beyond.whole for part in filters if part.beyond.whole), "")
            filtered = tuple([step for step, _ in spine.filters])
            on_spine = SpineFootprint(spine, filters, filtered, indivisible, whole)
            self._spines[key] = on_spine
        return on_spine

    def of_tail(self, branch: Branch, spine: SpineFootprint, tail: str) -> PartialFootprint:
        """Returns the footprint of a branch's tail; of the whole branch if it is indivisible."""
        if spine.indivisible:
            return self._partial((), branch.xpath)
        return self._partial(spine.spine.names, tail)

    def _partial(self, above: NamePath, text: str) -> PartialFootprint:
        partial = self._partials.get((above, text))
        if partial is None:
            below, beyond = None, _NOTHING
            if not above:
                beyond = footprint(self._syntax.value(text))
            elif (below := self._wants_below(text)) is None:
                beyond = self._follow(child_steps(above), text)
            partial = self._partials[above, text] = PartialFootprint(above, below, beyond)
        return partial

    def _wants_below(self, text: str) -> Wants | None:
        below = self._below.get(text, _UNKNOWN)
        if below is _UNKNOWN:
            below = self._below[text] = _without_spine(self._follow((_HERE,), text))
        return below

    def path(self, spine: Pattern, text: str) -> LocationPath:
        """Returns a spine with a filter of its last step, or with a tail."""
        if not text.startswith("["):
            return LocationPath(True, (*spine, *self._syntax.tail(text)))
        filtered = make_step("child", spine[-1].test, (self._syntax.filter(text),))
        return LocationPath(True, (*spine[:-1], filtered))

    def _follow(self, spine: Pattern, text: str) -> Footprint:
        """Returns the footprint of a filter or tail at the end of a spine."""
        if text.startswith("["):
            return filter_footprint(self._syntax.filter(text), spine)
        return footprint(self.path(spine, text))


_UNKNOWN: Wants = frozenset([((), Need(0))])
_NOTHING = Footprint()


def _without_spine(part: Footprint) -> Wants | None:
    """Returns the wants from the step that stands for any spine; None if it looks beyond it."""
    # From the document node, which is right above that step, a part may want the whole document
    # where it does not from further down.
    if part.whole or any(pattern[:1] != (_HERE,) for pattern, _ in part.wants):
        return None
    return frozenset([(pattern[1:], need) for pattern, need in part.wants])


@lru_cache(maxsize=1 << 16)
def child_steps(names: NamePath) -> Pattern:
    """Returns names as the steps of a pattern."""
    return tuple([make_step("child", name_test(*_local_and_prefix(name))) for name in names])


def _local_and_prefix(name: str) -> tuple[str, str]:
    prefix, colon, local = name.partition(":")
    return (local, prefix) if colon else (name, "")
