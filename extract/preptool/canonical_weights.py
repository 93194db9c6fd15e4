"""How many canonical queries a normal form has, and what they weigh in the query tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from extract.preptool.query_tree import NamePath, Weigh, WeightedQuery, one_each
from extract.scheme.model import Branch, Scheme
from extract.scheme.templates import Form
from extract.subscriptions.member_table import FormColumns, MemberColumns

# How many canonical queries have a form, and subscribers of these weights.
QueryGroups: TypeAlias = Mapping[tuple[int, tuple[float, ...]], int]


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalWeights:
    """The canonical queries of all forms.

    Attributes:
        forms: For each canonical query that has members its form.
        sizes: For each the number of its members.
        weights: For each the weights of its members, if they do not all weigh 1; else None.
    """

    forms: NDArray[np.int32]
    sizes: NDArray[np.int64]
    weights: Sequence[tuple[float, ...]] | None

    @classmethod
    def of_members(cls, columns: MemberColumns, shapes: FormColumns) -> CanonicalWeights:
        """The canonical queries of members whose templates have these forms."""
        form_of = np.array(shapes.forms, np.int32)
        own = form_of[columns.templates] if len(form_of) else columns.templates
        return cls._of(columns.canonical, own, columns.members.weights)

    @classmethod
    def of_scheme(cls, scheme: Scheme) -> CanonicalWeights:
        """The canonical queries of a scheme."""
        directory = scheme.directory
        of_members = directory.canonical.of_members
        return cls._of(of_members, directory.forms, scheme.members.weights)

    @classmethod
    def _of(
        cls,
        canonical: NDArray[np.int32],
        forms: NDArray[np.int32],
        weights: NDArray[np.float64] | None,
    ) -> CanonicalWeights:
        rows = np.argsort(canonical, kind="stable")
        rows = rows[np.searchsorted(canonical[rows], 0) :]
        starts = np.flatnonzero(np.diff(canonical[rows], prepend=-1))
        sizes = np.diff(starts, append=len(rows))
        own: list[tuple[float, ...]] | None = None
        if weights is not None:
            ordered, ends = weights[rows].tolist(), (starts + sizes).tolist()
            own = [tuple(ordered[a:b]) for a, b in zip(starts.tolist(), ends, strict=True)]
        return cls(forms[rows[starts]], sizes, own)

    def branch_times(self, forms: Sequence[Form], branches: Sequence[Branch]) -> dict[int, int]:
        """For each branch that is needed, about how many there are of it with all constants."""
        times = np.bincount(self.forms, minlength=len(forms))
        total: dict[int, int] = {}
        for form, count in zip(forms, times.tolist(), strict=True):
            for number in form.branches if count else ():
                more = count if "$" in branches[number].xpath else 0
                total[number] = max(1, total.get(number, 0) + more)
        return total

    def groups(self, weigh: Weigh) -> QueryGroups:
        """Groups canonical queries that weigh the same."""
        if weigh is one_each:  # it does not look at weights
            counts = np.bincount(self.forms)
            forms = np.flatnonzero(counts)
            pairs = zip(forms.tolist(), counts[forms].tolist(), strict=True)
            return {(form, (1.0,)): times for form, times in pairs}
        weights = self.weights
        if weights is None:
            weights = [(1.0,) * size for size in self.sizes.tolist()]
        return Counter(zip(self.forms.tolist(), weights, strict=True))


def weighted_queries(
    groups: QueryGroups,
    forms: Sequence[Form],
    spines: Sequence[NamePath],
    whole: Container[int],
) -> Iterator[WeightedQuery]:
    """Yields queries for the tree: a branch for the whole document draws no chunk to its path.

    Args:
        groups: The queries.
        forms: The forms.
        spines: For each branch the names of its spine.
        whole: The branches that need the whole document.
    """
    for (form, weights), times in groups.items():
        paths = [() if n in whole else spines[n] for n in forms[form].branches]
        yield WeightedQuery(tuple(dict.fromkeys(paths)), weights, times)
