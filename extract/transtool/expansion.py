"""Bounds of expansion, beyond which a query keeps its ``//`` and ``*``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Expansion:
    """Bounds on the size of a normal form. Beyond them a query still works, only less precisely.

    Attributes:
        branches: Branches of one query.
        size: Characters of one normal form, including filters.
        filter_branches: Branches of one path inside a filter. More would not make a chunk smaller:
            the needs of a filter are found by following its path through the schema, expanded or
            not.
        total: Characters of all branches together; later queries are not expanded. So a million
            queries that are written to have many branches do not fill the memory.
    """

    branches: int = 64
    size: int = 16_384
    filter_branches: int = 4
    total: int = 1_000_000_000  # each takes some twelve bytes while queries are prepared

    @property
    def none(self) -> Expansion:
        """The bounds for queries beyond ``total``."""
        return replace(self, branches=1, size=1, filter_branches=1)

    @classmethod
    def of(cls, values: Mapping[str, int]) -> Expansion:
        """Returns the bounds in a scheme's settings; unknown names are ignored.

        >>> Expansion.of({"branches": 3, "another": 5}).branches
        3
        """
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in names})
