"""The automaton as numpy arrays, for the reference scanner: names, steps, and what states keep."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.protocol import Numbers

SEPARATOR: Final = "\x01"  # between the parts of expat's names; XML does not allow this character
NOTHING: Final = -1  # the state of elements inside a skipped element
_MANY: Final = 100_000  # names with their attributes, before the arrays are made anew
_BITS: Final = 32  # of the number of a name
_MASK: Final = (1 << _BITS) - 1

Key = str | tuple[str, ...]
"""An element name as expat reports it, followed by the names of its attributes if it has any."""

Flags = NDArray[np.bool_]
Bits = NDArray[np.uint64]
"""Sets of outputs: output ``n`` is bit ``n % 64`` of word ``n // 64``."""


def split_name(name: str) -> tuple[str, str, str]:
    """Splits a name of expat into namespace, local name and name as written."""
    parts = name.split(SEPARATOR)
    if len(parts) == 1:
        return "", name, name
    if len(parts) == 2:
        return parts[0], parts[1], parts[1]
    return parts[0], parts[1], f"{parts[2]}:{parts[1]}"


class TagNames(dict[Key, int]):
    """Numbers for element names together with their attribute names.

    Attributes:
        keys_: The keys by number.
        written: Element names as written, by number.
        symbol: The automaton's symbol, by number.
        expanded: By number; equal for equal expanded names.
        attributes: The number of attributes, by number.
    """

    def __init__(self, automaton: Automaton) -> None:
        super().__init__()
        self._automaton = automaton
        self._same: dict[tuple[str, str], int] = {}
        self._columns: list[list[int]] = [[], [], []]
        self._made = 0
        self.keys_: list[Key] = []
        self.written: list[str] = []
        self.symbol = self.expanded = self.attributes = np.zeros(0, np.int64)

    def __missing__(self, key: Key) -> int:
        uri, local, written = split_name(key if isinstance(key, str) else key[0])
        number = self[key] = len(self.keys_)
        self.keys_.append(key)
        self.written.append(written)
        symbols, expanded, attributes = self._columns
        symbols.append(self._automaton.symbol(uri, local))
        expanded.append(self._same.setdefault((uri, local), len(self._same)))
        attributes.append(0 if isinstance(key, str) else len(key) - 1)
        return number

    def numbers(self, keys: list[Key]) -> Numbers:
        """Returns the numbers of keys."""
        numbers = np.fromiter([self[key] for key in keys], np.int64, len(keys))
        if self._made < len(self.keys_):
            self._made = len(self.keys_)
            self.symbol, self.expanded, self.attributes = (
                np.array(column, np.int64) for column in self._columns
            )
        return numbers


class _CachedFunction:
    """A function of integers, called once for each argument and cached for arrays.

    Args:
        ask: The function: maps a list of arguments to their values.
    """

    def __init__(self, ask: Callable[[list[int]], dict[int, int]]) -> None:
        self._ask = ask
        self._values = {-1: NOTHING}
        self._keys = np.array([-1], np.int64)
        self._found = np.array([NOTHING], np.int64)

    def of(self, codes: Numbers) -> Numbers:
        """Returns the values in the order of the arguments; `NOTHING` for -1."""
        at = self._keys.searchsorted(codes)
        at[at == len(self._keys)] = 0
        unknown = self._keys[at] != codes
        if unknown.any():
            self._values.update(self._ask(np.unique(codes[unknown]).tolist()))
            keys = sorted(self._values)
            self._keys = np.array(keys, np.int64)
            self._found = np.array([self._values[key] for key in keys], np.int64)
            at = self._keys.searchsorted(codes)
        return self._found[at]


class StateArrays:
    """The states of an automaton that documents have reached, as arrays.

    The last column of each array belongs to `NOTHING`.

    Attributes:
        words: The number of words in a set of outputs.
        own: By word and state, the outputs that keep the element, or its subtree.
        subtree: The outputs that keep the element's subtree.
        content: The outputs that keep the element's texts, comments and processing instructions.
        skip: By state, whether a scan may skip everything below.
        texts: Whether the element's texts are in the node table.
        asides: Whether its comments and processing instructions are.
        outside: The outputs that keep comments around the root.
        whole: The outputs that are the whole document.
    """

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.names = TagNames(automaton)
        start = automaton.info(Automaton.START)
        self.outside, self.whole = start.content, start.subtree
        self.words = len(automaton.outputs) // 64 + 1
        self._filled = 0
        self._steps = _CachedFunction(self._ask_steps)
        self._attributes = _CachedFunction(self._ask_attributes)
        sets = [np.zeros((self.words, 2), np.uint64) for _ in range(3)]
        self.own, self.subtree, self.content = sets
        flags = [np.zeros(2, np.bool_) for _ in range(3)]
        self.skip, self.texts, self.asides = flags
        self.skip[NOTHING] = True
        self._fill()

    def _fill(self) -> None:
        """Adds the automaton's new states."""
        states = self.automaton.states
        if states >= len(self.skip):
            more = max(64, 2 * states) - len(self.skip)
            self.own, self.subtree, self.content = (
                np.insert(bits, [self._filled] * more, 0, axis=1)
                for bits in (self.own, self.subtree, self.content)
            )
            self.skip, self.texts, self.asides = (
                np.insert(flags, [self._filled] * more, False)
                for flags in (self.skip, self.texts, self.asides)
            )
        for state in range(self._filled, states):
            info = self.automaton.info(state)
            start = state == Automaton.START
            if not start:
                self._set(self.own, state, info.subtree + info.tag)
                self._set(self.content, state, info.content)
            self._set(self.subtree, state, info.subtree)
            self.skip[state] = info.skip
            self.asides[state] = bool(info.content or info.inside)
            self.texts[state] = self.asides[state] and not start
        self._filled = states

    def _set(self, bits: Bits, state: int, outputs: tuple[int, ...]) -> None:
        for output in outputs:
            bits[output // 64, state] |= np.uint64(1 << output % 64)

    def step(self, states: Numbers, symbols: Numbers) -> Numbers:
        """Returns the states of children; `Automaton.ILLEGAL` - 1 or `FULL` - 1 for none."""
        codes = states * self.automaton.symbols + symbols
        codes[self.skip[states] | (states < 0)] = -1
        return self._steps.of(codes)

    def _ask_steps(self, codes: list[int]) -> dict[int, int]:
        width, step = self.automaton.symbols, self.automaton.step
        targets = {code: step(*divmod(code, width)) for code in codes}
        self._fill()
        return {code: state if state >= 0 else state - 1 for code, state in targets.items()}

    def bad_attributes(self, states: Numbers, names: Numbers) -> Flags:
        """Returns a mask of the elements with attributes that the schema does not have."""
        bad: Flags = self._attributes.of((states << _BITS) + names) != 0
        return bad

    def _ask_attributes(self, codes: list[int]) -> dict[int, int]:
        return {c: int(bool(self.bad_attribute(c >> _BITS, c & _MASK))) for c in codes}

    def bad_attribute(self, state: int, name: int) -> str:
        """Returns the first attribute that the schema does not have, as written."""
        automaton = self.automaton
        for attribute in self.names.keys_[name][1:]:
            uri, local, written = split_name(attribute)
            if not automaton.allows(state, automaton.attribute_symbol(uri, local)):
                return written
        return ""

    @property
    def overgrown(self) -> bool:
        """Whether the cache of names has grown too large."""
        return len(self.names) > _MANY


@lru_cache(maxsize=8)
def _cached_arrays(automaton: Automaton) -> list[StateArrays]:
    return []


def state_arrays(automaton: Automaton) -> StateArrays:
    """Returns the arrays of an automaton, shared by all its documents."""
    cached = _cached_arrays(automaton)
    if not cached or cached[0].overgrown:
        cached[:] = [StateArrays(automaton)]
    return cached[0]
