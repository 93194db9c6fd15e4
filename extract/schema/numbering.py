"""The final numbers of declarations: only what the roots reach, breadth first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from extract.schema.model import Declaration, Particle


def numbered(
    declarations: Sequence[Declaration],
    roots: Sequence[int],
    abstract: Mapping[int, tuple[int, ...]],
) -> tuple[tuple[Declaration, ...], tuple[int, ...]]:
    """The reachable declarations with new keys, and the new keys of the roots.

    Args:
        declarations: All of them, each at the index of its key.
        roots: Keys of those that a document may start with.
        abstract: For each key those of the abstract declarations that its content model names.
            They are no children, but kept at the end, as facts to explain things by.
    """
    order: dict[int, int] = {}
    later = list(roots)
    while later:
        waiting = [key for key in dict.fromkeys(later) if key not in order]
        order |= {key: len(order) + i for i, key in enumerate(waiting)}
        later = []
        for key in waiting:
            for child in declarations[key].children:
                if child not in order:
                    order[child] = len(order)
                    waiting.append(child)
            later += abstract[key]
    kept = tuple(
        replace(
            declarations[key],
            key=new,
            children=tuple(order[child] for child in declarations[key].children),
            content=_renumbered(declarations[key].content, order),
        )
        for key, new in order.items()
    )
    return kept, tuple(order[key] for key in dict.fromkeys(roots))


def _renumbered(particle: Particle | None, order: Mapping[int, int]) -> Particle | None:
    if particle is None:
        return None
    if particle.kind == "element":
        return replace(particle, element=order[particle.element])
    parts = tuple(cast(Particle, _renumbered(part, order)) for part in particle.parts)
    return replace(particle, parts=parts)


def named(particle: Particle | None) -> Iterable[int]:
    """The keys of the declarations that a content model names."""
    if particle is None:
        return ()
    if particle.kind == "element":
        return (particle.element,)
    return (key for part in particle.parts for key in named(part))
