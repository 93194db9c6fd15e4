"""Counts the elements, edges and attributes of documents in the kernel's node table.

The automaton of this module learns instead of checking: it allows every step, and its states are
edges (the name of an element together with its parent's name). So a scan numbers the edges in the
document, the columns of the node table are enough to count them, and Python runs only for a new
edge.
"""

from __future__ import annotations

from typing import Final

from extract.chunktool.automaton.automaton import Automaton, StateInfo, scheme_of_anything
from extract.chunktool.automaton.outputs import Output
from extract.chunktool.scan.kernel._tally import Tally
from extract.schema.observations import ElementContent, Observations
from extract.scheme.model import Need, Want

_EVERYTHING: Final = Output("elements", (Want("//*", Need.CHILDREN),), whole=False)
_KEPT: Final = StateInfo(subtree=(), tag=(0,), content=(0,), inside=False, skip=False)
_OUTSIDE: Final = StateInfo(subtree=(), tag=(), content=(), inside=False, skip=False)
_MOST_EDGES: Final = 500_000  # states; documents with more are read by libxml2


class EdgeAutomaton(Automaton):
    """An automaton that allows everything and whose states are edges, for the kernel only.

    Attributes:
        names: The expanded names of elements; their indices are the symbols.
        edges: For each state the symbols of parent and element; -1 for no parent.
    """

    def __init__(self) -> None:
        super().__init__(scheme_of_anything(), [_EVERYTHING])
        self.names: list[str] = []
        self.edges: list[tuple[int, int]] = [(-1, -1)]
        self._by_name: dict[tuple[str, str], int] = {}
        self._by_edge: dict[tuple[int, int], int] = {}

    @property
    def states(self) -> int:
        """The number of edges so far, plus one for the document node."""
        return len(self.edges)

    def symbol(self, uri: str, local: str) -> int:
        """Returns the number of an element name; each name has its own."""
        number = self._by_name.setdefault((uri, local), len(self.names))
        if number == len(self.names):
            self.names.append(f"{{{uri}}}{local}" if uri else local)
        return number

    def attribute_symbol(self, uri: str, local: str) -> int:
        """Returns the number of an attribute name: one for all, since all are allowed."""
        return 0

    def step(self, state: int, symbol: int) -> int:
        """Returns the state of a child element: the edge from parent to child."""
        edge = (self.edges[state][1], symbol)
        number = self._by_edge.setdefault(edge, len(self.edges))
        if number == len(self.edges):
            if number > _MOST_EDGES:
                del self._by_edge[edge]
                return self.FULL
            self.edges.append(edge)
        return number

    def allows(self, state: int, attribute_symbol: int) -> bool:
        """Whether an element may have an attribute: always."""
        return True

    def info(self, state: int) -> StateInfo:
        """Returns what a scanner does: every element goes into the table with its content."""
        return _KEPT if state else _OUTSIDE


def observations_of(tally: Tally, automaton: EdgeAutomaton) -> Observations:
    """Converts a tally from states to names; leaves ``documents`` at zero."""
    observations = Observations()
    names, edges = automaton.names, automaton.edges
    for state, count, parents, repeated, content in tally.edges_seen():
        above, own = edges[state]
        element = observations.element(names[own])
        element.count += count
        element.content |= ElementContent(content)
        if above < 0:
            observations.roots[names[own]] = None
        else:
            child = observations.element(names[above]).child(names[own])
            child.parents += parents
            child.repeated |= repeated
    for before, after in tally.successions():
        above, first = edges[before]
        observations.element(names[above]).successions.add((names[first], names[edges[after][1]]))
    for state, written, attributes, times in tally.tags():
        element = observations.element(names[edges[state][1]])
        element.spellings.add(written)
        for uri, name in attributes:
            if uri:
                spelling, name = name, f"{{{uri}}}{name.rpartition(':')[2]}"
                observations.spell_attribute(name, spelling)
            element.attributes[name] += times
    for state, prefix, uri in tally.bindings:
        observations.element(names[edges[state][1]]).bind(prefix, uri)
    return observations
