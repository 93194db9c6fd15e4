"""Finds the queries that can be evaluated on pieces of a document, and where to cut for them.

A document is cut where a child of an *upper* element begins: the root, and other elements above the
records of chunks. Upper elements are in many pieces, every other element is in one. So a query can
be evaluated piece by piece if each of its branches passes through an element that is not upper, and
looks at nothing outside of that element but attributes of its ancestors (TRAPS 24).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from extract.chunktool.automaton.outputs import Output
from extract.scheme.model import Need, Scheme, Want
from extract.scheme.spine import all_names
from extract.scheme.splittable import why_not_splittable
from extract.xpath.functions import Type
from extract.xpath.parser import parse

_MOST_PARSED: Final = 20_000  # branches that are parsed; others are evaluated on whole documents


class Division(NamedTuple):
    """The queries that can be evaluated on pieces, with their records.

    Attributes:
        upper: The paths of upper elements.
        names: The expanded names of upper elements and of records: URI and local name.
        forms: The normal forms that can be evaluated on pieces, each with the names of its records,
            as indices into ``names``; by their indices in `Scheme.forms`.
    """

    upper: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    forms: dict[int, frozenset[int]]

    @property
    def output(self) -> Output:
        """The output that a survey scans: the children of upper elements."""
        return Output("survey", tuple([Want(path, Need.CHILDREN) for path in self.upper]), False)


def divide(scheme: Scheme) -> Division:
    """Finds the queries of a scheme that can be evaluated on pieces of a document."""
    spines = all_names(scheme.branches)
    upper = {f"/{names[0]}" for names in spines if names}
    for chunk in scheme.chunks:
        names = chunk.prefix[1:].split("/")
        upper |= {f"/{'/'.join(names[:n])}" for n in range(1, len(names))}
    records_of = _Records(scheme, spines, frozenset(upper))
    # Upper elements have positions among their siblings, too.
    above = sorted({path.rpartition("/")[2] for path in upper})
    numbers = {name: number for number, name in enumerate(above)}
    forms: dict[int, frozenset[int]] = {}
    whole = frozenset(scheme.document.branches)
    for number, form in enumerate(scheme.forms):
        if form.type is not Type.NODES or not whole.isdisjoint(form.branches):
            continue
        records = [records_of.name(branch) for branch in form.branches]
        if all(records):
            places = [numbers.setdefault(name, len(numbers)) for name in records]
            forms[number] = frozenset(places)
    return Division(tuple(sorted(upper)), tuple([_expanded(scheme, n) for n in numbers]), forms)


class _Records:
    """Finds the records of branches."""

    def __init__(self, scheme: Scheme, spines: list[tuple[str, ...]], upper: frozenset[str]):
        self._xpaths = scheme.branches.xpaths
        self._spines = spines
        self._upper = upper
        # The branches of these chunks stay inside their records, by construction of the scheme.
        self._depths: dict[int, int] = {}
        for chunk in scheme.chunks:
            if chunk.splittable and not chunk.whole:
                depth = chunk.prefix.count("/")
                self._depths |= dict.fromkeys(chunk.branches, depth)
        self._left = _MOST_PARSED
        self._names: dict[int, str] = {}

    def name(self, branch: int) -> str:
        """Returns the name of a branch's records; empty if it looks beyond a record."""
        name = self._names.get(branch)
        if name is None:
            name = self._names[branch] = self._record(branch)
        return name

    def _record(self, branch: int) -> str:
        names = self._spines[branch]
        for depth in range(1, len(names) + 1):
            if f"/{'/'.join(names[:depth])}" not in self._upper:
                break
        else:
            return ""
        # A branch that stays inside a record stays inside its ancestors.
        if self._depths.get(branch, 0) < depth:
            self._left -= 1
            if self._left < 0 or why_not_splittable(parse(self._xpaths[branch]), depth):
                return ""
        return names[depth - 1]


def _expanded(scheme: Scheme, name: str) -> tuple[str, str]:
    prefix, _, local = name.rpartition(":")
    return (scheme.namespaces[prefix] if prefix else "", local)
