"""The automaton that scans follow for the push engine: it keeps everything, and checks edges."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.automaton.automaton import StateInfo
from extract.chunktool.automaton.outputs import Output
from extract.chunktool.automaton.symbols import NameSymbols, attribute_names, element_names
from extract.filtertool.matchers.push.conditions import ANY_TEST
from extract.schema.model import XML_NAMESPACE, Schema
from extract.xpath.ast import NameTest

_NAMESPACE: Final = -2  # tests from there down: any name of a namespace


class EngineNames:
    """The names that queries or the schema mention, numbered; elements and attributes alike.

    Args:
        schema: The schema.
        bindings: Prefix to namespace URI, for the names in queries.

    Attributes:
        generation: Changes when a name is new: then scans must learn all names again.
    """

    def __init__(self, schema: Schema, bindings: dict[str, str]) -> None:
        elements, attributes = element_names(schema), attribute_names(schema)
        self.symbols = NameSymbols([], [])
        for names in (elements, attributes):
            for name in names.expanded:
                uri, local = _divided(name)
                if local == "\0":
                    self.symbols.add_namespace(uri)
                else:
                    self.symbols.add(uri, local)
        self.bindings = {"xml": XML_NAMESPACE, **bindings}
        self.generation = 0
        self._uris: dict[str, int] = {}
        self._tests: dict[NameTest, int] = {}  # with the prefixes of `bindings`

    def bind(self, bindings: Mapping[str, str]) -> None:
        """Binds more prefixes, or some to other namespaces."""
        self.bindings.update(bindings)
        self._tests.clear()

    def bound(self, bindings: Mapping[str, str]) -> OwnNames:
        """The same names, for a query with prefixes of its own."""
        return OwnNames(self, {"xml": XML_NAMESPACE, **bindings})

    def test(self, test: NameTest) -> int:
        """The engine's test for a name test of a query."""
        number = self._tests.get(test)
        if number is None:
            number = self._tests[test] = self.test_in(test, self.bindings)
        return number

    def test_in(self, test: NameTest, bindings: Mapping[str, str]) -> int:
        """The engine's test for a name test of a query with these prefixes."""
        uri = bindings[test.prefix] if test.prefix else ""
        before = len(self.symbols) + len(self._uris)
        if test.local != "*":
            number = self.symbols.add(uri, test.local)
        elif not test.prefix:
            return ANY_TEST
        else:
            self.symbols.add_namespace(uri)
            number = _NAMESPACE - self._uris.setdefault(uri, len(self._uris))
        self.generation += len(self.symbols) + len(self._uris) > before
        return number

    def namespaces(self) -> NDArray[np.int32]:
        """For each symbol the number of its namespace, as tests have it; -1 if no test has it."""
        uris = [_divided(name)[0] for name in self.symbols.expanded]
        return np.array([self._uris.get(uri, -1) for uri in uris], np.int32)


def _divided(name: str) -> tuple[str, str]:
    """Namespace and local name of an expanded name."""
    uri, brace, local = name[1:].rpartition("}") if name.startswith("{") else ("", "", name)
    return (uri, local) if brace or not name.startswith("{") else ("", name)


class OwnNames(NamedTuple):
    """Names for a query that has prefixes of its own."""

    names: EngineNames
    bindings: Mapping[str, str]

    def test(self, test: NameTest) -> int:
        """The engine's test for a name test."""
        return self.names.test_in(test, self.bindings)


class EngineAutomaton:
    """Checks the edges of a schema, and keeps all nodes. See `Automaton` for the interface.

    Several scans may ask it at a time.

    Args:
        schema: The schema.
        names: The names that are told apart.
    """

    START: Final = 0
    ILLEGAL: Final = -1
    FULL: Final = -2
    assume_valid: Final = False

    def __init__(self, schema: Schema, names: EngineNames) -> None:
        self.outputs = (Output("document", (), True),)
        places = schema.places
        # A state is the number of a place; scans start in state 0, at the document node.
        first = places.document.index
        self._states = [places.all[first], *places.all[:first], *places.all[first + 1 :]]
        self._numbers = {place.index: state for state, place in enumerate(self._states)}
        self.OPEN = len(self._states)  # below an edge that the schema does not have
        self._symbols = names.symbols
        self._lock = threading.Lock()

    def symbol(self, uri: str, local: str) -> int:
        """The symbol of an element name."""
        with self._lock:
            return self._symbols.find(uri, local)

    attribute_symbol = symbol

    def step(self, state: int, symbol: int) -> int:
        """The place of a child element; `ILLEGAL` if the schema has none."""
        if state == self.OPEN:
            return self.OPEN
        place = self._states[state].step(self._symbols.expanded[symbol])
        return self.ILLEGAL if place is None else self._numbers[place.index]

    def allows(self, state: int, attribute_symbol: int) -> bool:
        """Whether the schema has an edge to an attribute."""
        return state == self.OPEN or self._states[state].has_attribute(
            self._symbols.expanded[attribute_symbol]
        )

    def info(self, state: int) -> StateInfo:
        """What a scanner does with an element: it keeps it."""
        return StateInfo((0,) if state == self.START else (), (), (), True, False)
