"""Footprints of a million branches, put together from those of a few thousand pieces.

The pieces of a branch are the filters of each spine step, and the tail. What a piece looks at does
not depend on the other pieces, for filters do not change where a path leads. Nor, as a rule, on the
spine: a piece that only looks below its own step does so below any other. So each text is followed
once, below a step that stands for any spine; only what climbs out of there (``..``, absolute paths,
``following::``) is followed again for each spine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from extract.preptool.footprint import Footprint, Pattern, footprint
from extract.preptool.tree import Path
from extract.scheme.model import Branch, Need
from extract.scheme.spine import Spine, take_apart
from extract.xpath.ast import LocationPath, Step, make_step, name_test
from extract.xpath.parser import parse

Wants: TypeAlias = frozenset[tuple[Pattern, Need]]

# No query can say these: they are no names.
_HERE = make_step("child", name_test("#here"))
_RESULT = make_step("child", name_test("#result"))


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A part of a branch, and what it looks at. The same text at the same spine is one object.

    Attributes:
        above: The names of the spine down to the step that it belongs to.
        below: What it looks at, in patterns that start from that step; None if it goes elsewhere.
        beyond: What it looks at if it goes elsewhere.
    """

    above: Path
    below: Wants | None
    beyond: Footprint

    @property
    def wants(self) -> Wants:
        """What it looks at, in patterns that start from the document node."""
        if self.below is None:
            return self.beyond.wants
        start = child_steps(self.above)
        return frozenset([((*start, *rest), need) for rest, need in self.below])


@dataclass(frozen=True, slots=True, eq=False)
class Stem:
    """What branches with the same spine, filters included, have in common.

    Attributes:
        spine: The spine taken apart; its tail is empty.
        pieces: Its filters.
        alone: Whether nothing of these branches can be shared.
        whole: Why its filters need the whole document; empty if they do not.
    """

    spine: Spine
    pieces: tuple[Piece, ...]
    alone: bool
    whole: str


class Pieces:
    """Takes branches to pieces, and remembers what each piece looks at."""

    def __init__(self) -> None:
        self._stems: dict[tuple[str, int, bool], Stem] = {}
        self._below: dict[str, Wants | None] = {}
        self._known: dict[tuple[Path, str], Piece] = {}

    def of(self, branch: Branch) -> tuple[Piece, ...]:
        """The pieces of a branch; together they look at what the branch looks at."""
        tail = take_apart(branch).tail
        stem = self.stem(branch, tail)
        return (*stem.pieces, self.end(branch, stem, tail))

    def stem(self, branch: Branch, tail: str) -> Stem:
        """The pieces of a branch but for its tail."""
        xpath, steps = branch
        # Without a spine there is nothing to share; and whether preceding:: is understood depends
        # on the other pieces.
        alone = not steps or "preceding::" in xpath
        key = (xpath[: len(xpath) - len(tail)], steps, alone)
        known = self._stems.get(key)
        if known is None:
            spine = take_apart(Branch(key[0], steps))
            filters = () if alone else spine.filters
            pieces = tuple([self._piece(spine.names[:step], text) for step, text in filters])
            whole = next((p.beyond.whole for p in pieces if p.beyond.whole), "")
            known = self._stems[key] = Stem(spine, pieces, alone, whole)
        return known

    def end(self, branch: Branch, stem: Stem, tail: str) -> Piece:
        """The last piece of a branch: its tail, or all of it if nothing can be shared."""
        if stem.alone:
            return self._piece((), branch.xpath)
        return self._piece(stem.spine.names, tail)

    def _piece(self, above: Path, text: str) -> Piece:
        piece = self._known.get((above, text))
        if piece is None:
            below, beyond = None, _NOTHING
            if not above:
                beyond = footprint(parse(text))
            elif (below := self._piece_below(text)) is None:
                beyond = _follow(child_steps(above), text)
            piece = self._known[above, text] = Piece(above, below, beyond)
        return piece

    def _piece_below(self, text: str) -> Wants | None:
        below = self._below.get(text, _UNKNOWN)
        if below is _UNKNOWN:
            below = self._below[text] = _without_spine(_follow((_HERE,), text))
        return below


_UNKNOWN: Wants = frozenset([((), Need(0))])
_NOTHING = Footprint()


def _follow(spine: Pattern, text: str) -> Footprint:
    """The footprint of a filter or tail at the end of a spine."""
    first, *tail = _steps(f"x{text}")
    if not text.startswith("["):
        return footprint(LocationPath(True, (*spine, *tail)))
    filtered = make_step("child", spine[-1].test, first.predicates)
    found = footprint(LocationPath(True, (*spine[:-1], filtered, _RESULT)))
    return Footprint(found.wants - {((*spine, _RESULT), Need.SUBTREE)}, found.whole)


def _steps(text: str) -> tuple[Step, ...]:
    path = parse(text)
    assert isinstance(path, LocationPath)
    return path.steps


def _without_spine(found: Footprint) -> Wants | None:
    """The wants from the step that stands for any spine; None if it looks beyond that step."""
    # From the document node, which is right above that step, it may want the whole document where
    # from further down it does not.
    if found.whole or any(pattern[:1] != (_HERE,) for pattern, _ in found.wants):
        return None
    return frozenset([(pattern[1:], need) for pattern, need in found.wants])


@lru_cache(maxsize=1 << 16)
def child_steps(names: Path) -> Pattern:
    """Names as the steps of a pattern."""
    return tuple([make_step("child", name_test(*_local_and_prefix(name))) for name in names])


def _local_and_prefix(name: str) -> tuple[str, str]:
    prefix, colon, local = name.partition(":")
    return (local, prefix) if colon else (name, "")
