"""Drawing from a source of randomness, so that small draws mean simple things.

Every generator here takes a `random.Random` or anything like it (Hypothesis hands out its own) and
asks it only for ``randrange`` of small ranges: the same on every Python version, cheap for
Hypothesis to record, and shrinking towards 0. Hence the order in these functions: the lowest draw
gives "no", the first item, the shortest list.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def chance(rng: Random, percent: int) -> bool:
    """True in so many of a hundred cases."""
    return rng.randrange(100) >= 100 - percent


def pick(rng: Random, items: Sequence[T]) -> T:
    """One of the items, all alike."""
    return items[rng.randrange(len(items))]


def weighted(rng: Random, choices: Sequence[tuple[int, T]]) -> T:
    """One of the items, each as often as the weight before it says."""
    ticket = rng.randrange(sum(weight for weight, _ in choices))
    for weight, item in choices:
        ticket -= weight
        if ticket < 0:
            return item
    raise AssertionError("unreachable: the ticket is below the sum of the weights")


def sample(rng: Random, items: Sequence[T], count: int) -> list[T]:
    """So many different items (or all, where there are fewer), in the order they were drawn."""
    left = list(items)
    return [left.pop(rng.randrange(len(left))) for _ in range(min(count, len(left)))]


def subset(rng: Random, items: Sequence[T], percent: int) -> list[T]:
    """Each item with this chance, in the order given."""
    return [item for item in items if chance(rng, percent)]


def between(rng: Random, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``, both included."""
    return low + rng.randrange(high - low + 1)
