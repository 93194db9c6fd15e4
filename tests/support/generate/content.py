"""Random content models that validators accept and documents can satisfy.

Elements are numbered from 0, the root. Two rules make every schema here usable:

* **Everything ends.** What element ``i`` *requires* has a higher number; an edge back, up or to
  itself is optional, or one of several alternatives. So a finite document always exists.
* **Nothing is ambiguous.** A name stands once in a model, or where a Glushkov automaton shows that
  a parser with one name of look-ahead still knows which particle it is at (DTD determinism, XSD's
  unique particle attribution).

Content models are `Particle` values whose ``element`` is that number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random
from typing import Literal

from extract.schema.model import Particle
from tests.support.generate.draw import between, chance, pick, sample, weighted

Bounds = tuple[int, int | None]

DTD_BOUNDS: tuple[tuple[int, Bounds], ...] = (
    (4, (1, 1)),
    (3, (0, None)),
    (2, (0, 1)),
    (2, (1, None)),
)
XSD_BOUNDS: tuple[tuple[int, Bounds], ...] = (*DTD_BOUNDS, (1, (0, 3)), (1, (2, 2)), (1, (1, 4)))

ANYTHING = "*"  # a symbol that overlaps with every name: xs:any of every namespace


def skeleton(rng: Random, count: int) -> list[list[int]]:
    """For each of so many elements its children: all reachable from 0, some recursive.

    A tree to begin with, so that everything is used, then a few edges from anywhere to anywhere.
    """
    children: list[list[int]] = [[] for _ in range(count)]
    for element in range(1, count):
        children[between(rng, max(0, element - 3), element - 1)].append(element)
    for owner in range(count):
        # A direct cycle, a shared child, a cycle through others: whatever comes.
        for other in sample(rng, range(count), weighted(rng, ((5, 0), (4, 1), (2, 2)))):
            if other not in children[owner]:
                children[owner].append(other)
    return children


def content_model(
    rng: Random,
    owner: int,
    children: Sequence[int],
    bounds: Sequence[tuple[int, Bounds]],
    repeat: bool = True,
) -> Particle:
    """A sequence or choice over these children, nested at random, that always can end.

    Args:
        rng: Source of randomness.
        owner: The element whose content it is.
        children: Its child elements, at least one.
        bounds: How often a particle may occur, weighted.
        repeat: Whether a child may stand in two places of the model.
    """
    model = _nested(rng, sample(rng, children, len(children)), bounds, top=True)
    if repeat and model.kind == "sequence" and chance(rng, 30):
        again = Particle("element", *weighted(rng, bounds), element=pick(rng, children))
        longer = replace(model, parts=(*model.parts, again))
        if is_deterministic(can_end(longer, owner)):
            model = longer
    return can_end(model, owner)


def _nested(
    rng: Random, children: Sequence[int], bounds: Sequence[tuple[int, Bounds]], top: bool = False
) -> Particle:
    if len(children) == 1 and not top:
        return Particle("element", *weighted(rng, bounds), element=children[0])
    kind: Literal["sequence", "choice"] = weighted(rng, ((3, "sequence"), (2, "choice")))
    cuts = sorted(sample(rng, range(1, len(children)), between(rng, 1, 3)))
    pieces = [children[a:b] for a, b in zip([0, *cuts], [*cuts, len(children)], strict=True)]
    parts = tuple(_nested(rng, piece, bounds) for piece in pieces)
    # Counting a group whose parts are counted too is where validators disagree: only ? * + there.
    low, high = weighted(rng, ((3, (1, 1)), (1, (0, 1)), (1, (0, None)), (1, (1, None))))
    return Particle(kind, low, high, parts=parts)


def can_end(model: Particle, owner: int) -> Particle:
    """The same model with just enough parts optional that ``owner`` needs no lower number."""
    if _ends(model, owner):
        return model
    if model.kind in ("sequence", "all"):
        return replace(model, parts=tuple(can_end(part, owner) for part in model.parts))
    return replace(model, low=0)


def _ends(model: Particle, owner: int) -> bool:
    if model.low == 0 or model.kind == "any":
        return True
    if model.kind == "element":
        return model.element > owner
    check = any if model.kind == "choice" else all
    return check(_ends(part, owner) for part in model.parts)


def is_deterministic(
    model: Particle, symbols_of: Callable[[Particle], frozenset[str]] | None = None
) -> bool:
    """Whether one name of look-ahead tells which particle of the model comes next.

    Args:
        model: The content model.
        symbols_of: The names that a leaf particle admits, `ANYTHING` for all; by default just its
            element.
    """
    automaton = _Glushkov(symbols_of or (lambda leaf: frozenset((str(leaf.element),))))
    start = automaton.add(model)
    return all(
        not automaton.overlap(one, other)
        for together in (start.first, *automaton.follow)
        for one, other in combinations(sorted(together), 2)
    )


@dataclass(frozen=True, slots=True)
class _Ends:
    nullable: bool
    first: frozenset[int]
    last: frozenset[int]


@dataclass(slots=True)
class _Glushkov:
    """The position automaton of a model: which leaf may come after which."""

    symbols_of: Callable[[Particle], frozenset[str]]
    leaves: list[frozenset[str]] = field(default_factory=list)
    follow: list[set[int]] = field(default_factory=list)

    def overlap(self, one: int, other: int) -> bool:
        mine, others = self.leaves[one], self.leaves[other]
        return bool(mine & others) or ANYTHING in mine or ANYTHING in others

    def add(self, model: Particle) -> _Ends:
        ends = self._once(model)
        if model.high != 1:  # any counter is taken for a loop: strict, never wrong
            for position in ends.last:
                self.follow[position] |= ends.first
        return replace(ends, nullable=ends.nullable or model.low == 0)

    def _once(self, model: Particle) -> _Ends:
        if model.kind in ("element", "any"):
            position = len(self.leaves)
            self.leaves.append(self.symbols_of(model))
            self.follow.append(set())
            return _Ends(False, frozenset((position,)), frozenset((position,)))
        parts = [self.add(part) for part in model.parts]
        if model.kind == "choice":
            return _Ends(
                any(part.nullable for part in parts),
                frozenset().union(*(part.first for part in parts)),
                frozenset().union(*(part.last for part in parts)),
            )
        ends = parts[0]
        for part in parts[1:]:
            for position in ends.last:
                self.follow[position] |= part.first
            ends = _Ends(
                ends.nullable and part.nullable,
                ends.first | part.first if ends.nullable else ends.first,
                ends.last | part.last if part.nullable else part.last,
            )
        return ends
