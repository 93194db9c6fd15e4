"""How far expansion may go before a query keeps its ``//`` and ``*``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on the size of a normal form. Past them a query still works, only less precisely.

    Attributes:
        branches: Branches of one query.
        size: Characters of one normal form, filters included.
        filter_branches: Branches of one path inside a filter. More would not make a chunk smaller:
            what a filter needs is found by following its path through the schema, expanded or not.
    """

    branches: int = 64
    size: int = 16_384
    filter_branches: int = 4
