"""The path automaton: finds what the outputs keep of an element, by the element's path of names.

A state holds the element's place in the schema, the patterns that have matched on the way to the
element, and the outputs that keep the element's whole subtree. States are sets, not paths
(TRAPS 16), so there are few; each is made, and numbered, when a document first reaches it.

Two things decide what a scan must look at: the *wants* of the outputs, and the schema, by which
    wants
can be nowhere else. The schema only holds for documents that keep to its edges, so a scan checks
edges also where no output wants anything (TRAPS 8). It may skip only below an element where no
query as written can look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.automaton.outputs import Output
from extract.chunktool.automaton.patterns import (
    ANY,
    CHILD,
    CONTENT,
    DESCENDANT,
    DESCENDANT_OR_SELF,
    SUBTREE,
    TAG,
    Steps,
    originals_trie,
    wants_trie,
)
from extract.chunktool.automaton.symbols import attribute_names, element_names
from extract.schema.model import Schema
from extract.schema.places import Place
from extract.scheme.model import Scheme, empty_scheme

_EVERYTHING: Final = -1  # a node of the trie of originals: queries may look anywhere below

Nodes = frozenset[int]


class StateInfo(NamedTuple):
    """What a scanner does with an element in this state.

    An output that already keeps the subtree around the element is in none of the lists: a scanner
        does
    nothing for this output until the subtree ends. Tags of ancestors are in no list: a scanner
    writes them when an output keeps the first node below them.

    Attributes:
        subtree: Outputs for which a subtree that is kept whole begins with this element. At the
            document node, those that are the whole document.
        tag: Outputs that keep the tags of this element.
        content: Those of them that also keep its own texts, comments and processing instructions.
            At the document node, the comments and processing instructions outside of the root.
        inside: Whether some output keeps this element and everything below.
        skip: Whether nothing below the element can matter to any query, and no output keeps
            anything of it: a scan only has to find the end, and whether that is well-formed.
    """

    subtree: tuple[int, ...]
    tag: tuple[int, ...]
    content: tuple[int, ...]
    inside: bool
    skip: bool


class _State(NamedTuple):
    """The fields that distinguish a state. Sets of outputs are bit sets.

    Attributes:
        place: Index of the place in the schema.
        near: Nodes of the trie that selected this element and have child steps.
        far: Nodes that selected it or an ancestor and have steps to descendants.
        originals: The same as ``near`` in the trie of the queries as written, or `_EVERYTHING`.
        inside: Outputs that keep this element and everything below.
        subtree, tag, content: As in `StateInfo`.
    """

    place: int
    near: Nodes
    far: Nodes
    originals: Nodes
    inside: int
    subtree: int
    tag: int
    content: int


@dataclass(frozen=True, slots=True)
class Tables:
    """All states made so far, as flat arrays.

    Lists of lists are two arrays, as in a sparse matrix: the list of state ``s`` is ``x[x_at[s] :
    x_at[s + 1]]``.

    Attributes:
        symbol, target: The target state of each symbol, sorted by symbol; may be
            `Automaton.ILLEGAL`.
        step_at: Where the steps of each state begin.
        subtree, tag, content: Outputs, as in `StateInfo`, with ``subtree_at`` and so on.
        inside, skip: As in `StateInfo`.
    """

    step_at: NDArray[np.int32]
    symbol: NDArray[np.int32]
    target: NDArray[np.int32]
    subtree_at: NDArray[np.int32]
    subtree: NDArray[np.int32]
    tag_at: NDArray[np.int32]
    tag: NDArray[np.int32]
    content_at: NDArray[np.int32]
    content: NDArray[np.int32]
    inside: NDArray[np.bool_]
    skip: NDArray[np.bool_]


class Automaton:
    """Finds what the outputs keep of an element, by the element's path of names.

    Not safe for use by several threads at a time: states are made on demand.

    Args:
        scheme: The scheme whose schema is checked.
        outputs: The outputs, from `chunk_outputs` or `projection_output`.
        assume_valid: Trust that documents keep to the schema: then a scan may skip whatever no
            output wants.
        max_states: The largest number of states.

    Attributes:
        outputs: The outputs; lists of outputs are indices into this tuple.
        assume_valid: As above; a scan may then skip an element by looking for its end tag alone.
    """

    START: Final = 0  # the state of the document node
    ILLEGAL: Final = -1  # the schema has no such edge
    FULL: Final = -2  # the automaton has `max_states` states

    def __init__(
        self,
        scheme: Scheme,
        outputs: Sequence[Output],
        assume_valid: bool = False,
        max_states: int = 50_000,
    ) -> None:
        self.outputs = tuple(outputs)
        self.assume_valid = assume_valid
        self._max_states = max(1, max_states)
        self._places = scheme.schema.places
        self._names = element_names(scheme.schema)
        self._attributes = attribute_names(scheme.schema)
        steps = Steps(self._names, scheme.namespaces)
        self._trie = wants_trie(steps, self.outputs)
        self._originals = originals_trie(steps, scheme.originals)
        self._others = [self._names.others(n) for n in range(len(self._names))]
        self._leads: dict[tuple[int, int, bool], bool] = {}
        self._allowed: dict[tuple[int, int], bool] = {}
        self._lists: dict[int, tuple[int, ...]] = {}
        self._numbers: dict[_State, int] = {}
        self._states: list[_State] = []
        self._infos: list[StateInfo] = []
        self._steps: list[dict[int, int]] = []
        self._number(self._start())

    # -- the scanners' interface

    @property
    def states(self) -> int:
        """The number of states made so far."""
        return len(self._states)

    @property
    def symbols(self) -> int:
        """The number of symbols; symbols are the integers below it."""
        return len(self._names)

    def symbol(self, uri: str, local: str) -> int:
        """Returns the symbol of an element name; names that nothing distinguishes share one."""
        return self._names.find(uri, local)

    def attribute_symbol(self, uri: str, local: str) -> int:
        """Returns the symbol of an attribute name, for `allows`."""
        return self._attributes.find(uri, local)

    def step(self, state: int, symbol: int) -> int:
        """Returns the state of a child element; `ILLEGAL` or `FULL` if there is none.

        Args:
            state: The parent's state.
            symbol: The symbol of the child's name.
        """
        target = self._steps[state].get(symbol)
        if target is None:
            target = self._step(state, symbol)
            if target != self.FULL:
                self._steps[state][symbol] = target
        return target

    def allows(self, state: int, attribute_symbol: int) -> bool:
        """Whether the schema has an edge from an element in a state to an attribute."""
        key = (self._states[state].place, attribute_symbol)
        allowed = self._allowed.get(key)
        if allowed is None:
            name = self._attributes.expanded[attribute_symbol]
            allowed = self._allowed[key] = self._places.all[key[0]].has_attribute(name)
        return allowed

    def info(self, state: int) -> StateInfo:
        """Returns what a scanner does with an element in a state."""
        return self._infos[state]

    def tables(self) -> Tables:
        """Returns all states made so far as flat arrays."""
        steps = [sorted(step.items()) for step in self._steps]
        step_at, symbol = _flat([[symbol for symbol, _ in step] for step in steps])
        _, target = _flat([[target for _, target in step] for step in steps])
        infos = self._infos
        return Tables(
            step_at,
            symbol,
            target,
            *_flat([info.subtree for info in infos]),
            *_flat([info.tag for info in infos]),
            *_flat([info.content for info in infos]),
            np.array([info.inside for info in infos], np.bool_),
            np.array([info.skip for info in infos], np.bool_),
        )

    # -- states

    def _start(self) -> _State:
        whole = sum(1 << number for number, output in enumerate(self.outputs) if output.whole)
        return self._settled(
            self._places.document,
            active=[0],
            above=frozenset(),
            originals=frozenset([0]),
            inside=whole,
            subtree=whole,
            tag=0,
            content=self._trie.marks[CONTENT][0],
        )

    def _step(self, state: int, symbol: int) -> int:
        above = self._states[state]
        place = self._places.all[above.place].step(self._names.expanded[symbol])
        if place is None:
            return self.ILLEGAL
        active = self._selected(above, symbol)
        marked = [0, 0, 0]
        for kind, marks in enumerate(self._trie.marks):
            for node in active:
                marked[kind] |= marks[node]
        subtree = marked[SUBTREE] & ~above.inside
        inside = above.inside | subtree
        content = marked[CONTENT] & ~inside
        tag = marked[TAG] | content
        # An output that keeps all children of the parent has this one as tags; all have the root.
        tag |= (1 << len(self.outputs)) - 1 if state == self.START else above.content
        originals = self._originals_below(above, symbol)
        return self._number(
            self._settled(
                place, active, above.far, originals, inside, subtree, tag & ~inside, content
            )
        )

    def _tests(self, symbol: int) -> tuple[int, int, int]:
        """Returns the tests that a name passes."""
        return symbol, ANY, ANY - 1 - self._others[symbol]

    def _selected(self, above: _State, symbol: int) -> list[int]:
        """Returns the nodes of the trie that select a child with this name."""
        child, descendant, itself = self._trie.edges
        tests = self._tests(symbol)
        nodes = dict.fromkeys(_follow(above.near, child, tests))
        nodes.update(dict.fromkeys(_follow(above.far, descendant, tests)))
        nodes.update(dict.fromkeys(_follow(above.far, itself, tests)))
        todo = list(nodes)
        while todo:  # a descendant-or-self step may follow another one at the same element
            fresh = [n for n in _follow([todo.pop()], itself, tests) if n not in nodes]
            nodes.update(dict.fromkeys(fresh))
            todo += fresh
        return list(nodes)

    def _originals_below(self, above: _State, symbol: int) -> Nodes:
        if _EVERYTHING in above.originals:
            return above.originals
        edges = self._originals.edges[CHILD]
        return frozenset(_follow(above.originals, edges, self._tests(symbol)))

    def _settled(
        self,
        place: Place,
        active: Iterable[int],
        above: Nodes,
        originals: Nodes,
        inside: int,
        subtree: int,
        tag: int,
        content: int,
    ) -> _State:
        """Returns the state without the parts that make no difference below the element."""
        trie = self._trie
        near = [n for n in active if trie.near[n] & ~inside and self._leads_on(place, n, False)]
        far = {n for n in active if trie.far[n]} | above
        far = {n for n in far if trie.far[n] & ~inside and self._leads_on(place, n, True)}
        if place.unknown:
            originals = frozenset()  # no document can break a schema that allows everything
        elif any(self._originals.marks[0][n] for n in originals if n != _EVERYTHING):
            originals = frozenset([_EVERYTHING])
        return _State(
            place.index, frozenset(near), frozenset(far), originals, inside, subtree, tag, content
        )

    def _leads_on(self, place: Place, node: int, far: bool) -> bool:
        """Whether the steps of a node of the trie can select anything below a place.

        Args:
            place: The place in the schema.
            node: The node of the trie.
            far: Whether to try the steps to descendants instead of the child steps.

        Only conforming documents matter: a document that breaks the schema is not cut at all.
        """
        key = (place.index, node, far)
        possible = self._leads.get(key)
        if possible is None:
            if far:
                edges = [self._trie.edges[axis][node] for axis in (DESCENDANT, DESCENDANT_OR_SELF)]
            else:
                edges = [self._trie.edges[CHILD][node]]
            possible = self._leads[key] = any(
                self._can_be(place, test, far) for column in edges for test in column
            )
        return possible

    def _can_be(self, place: Place, test: int, far: bool) -> bool:
        if test < 0:
            return place.reach != 0
        name = self._names.expanded[test]
        if far:
            return bool(place.reach & self._places.named(name))
        return place.step(name) is not None

    def _number(self, state: _State) -> int:
        number = self._numbers.get(state)
        if number is None:
            number = len(self._states)
            if number >= self._max_states:
                return self.FULL
            self._numbers[state] = number
            self._states.append(state)
            self._steps.append({})
            self._infos.append(self._info(state, number == self.START))
        return number

    def _info(self, state: _State, start: bool) -> StateInfo:
        wanted = state.inside or state.content or state.near or state.far
        matters = state.originals and not self.assume_valid
        return StateInfo(
            self._list(state.subtree),
            self._list(state.tag),
            self._list(state.content),
            state.inside != 0,
            not (start or wanted or matters),
        )

    def _list(self, outputs: int) -> tuple[int, ...]:
        indices = self._lists.get(outputs)
        if indices is None:
            indices = tuple(n for n in range(len(self.outputs)) if outputs >> n & 1)
            self._lists[outputs] = indices
        return indices


def scheme_of_anything() -> Scheme:
    """Returns a scheme without queries that accepts any document, for scans without a schema."""
    return empty_scheme(Schema.none())


def _follow(
    nodes: Iterable[int], edges: Sequence[dict[int, int]], tests: tuple[int, ...]
) -> Iterator[int]:
    for node in nodes:
        column = edges[node]
        if column:
            for test in tests:
                if test in column:
                    yield column[test]


def _flat(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    ends = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return ends, np.array([item for part in lists for item in part], np.int32)
