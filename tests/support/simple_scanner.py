"""A scanner that is easy to believe: it shows that the automaton alone leads to what is specified.

It keeps or drops whole pieces of a document (`tests.support.anatomy`), for one output at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lxml import etree

from extract.chunktool.automaton.automaton import Automaton, StateInfo
from extract.chunktool.scan.protocol import (
    Batch,
    Elements,
    Ends,
    HandOver,
    Leaves,
    Numbers,
    Violation,
)
from extract.errors import DocumentError
from tests.support.anatomy import Anatomy, Piece, expanded, written


class SimpleScanner:
    """The automaton over parsed documents: keeps or drops each piece, for one output at a time."""

    def __init__(self, automaton: Automaton, table: bool = False) -> None:
        self.violation: Violation | None = None
        self._automaton = automaton
        self._table = table
        self._data = b""
        self._batch: Batch | None = None

    def feed(self, data: bytes | memoryview) -> int:
        """Consumes nothing, so that all comes again with the next window."""
        self._data = bytes(data)
        return 0

    def take(self) -> Batch:
        """Everything, once it is known."""
        batch, self._batch = self._batch, None
        return batch or Batch([np.zeros((0, 2), np.int64) for _ in self._automaton.outputs])

    def finish(self) -> None:
        """Does all the work."""
        try:
            anatomy = Anatomy.of(self._data)
        except etree.XMLSyntaxError as error:
            raise DocumentError(str(error)) from None
        if not anatomy.parts:
            raise HandOver("markup in an entity, or an encoding without ASCII")
        states = self._walk(anatomy)
        kept = [self._kept(anatomy, states, o) for o in range(len(self._automaton.outputs))]
        ranges = [_merged([anatomy.parts[i] for i in sorted(keep)]) for keep in kept]
        self._batch = Batch(ranges)
        if self._table:
            parts = [anatomy.parts[i] for i in sorted(set().union(*kept))]
            self._batch = Batch(ranges, {}, *_table(anatomy, parts, states, self._automaton.symbol))

    def _walk(self, anatomy: Anatomy) -> list[int]:
        """The state of each element; -1 where the automaton need not be asked."""
        automaton = self._automaton
        states: dict[Any, int] = {None: automaton.START}
        for number, element in enumerate(anatomy.elements):
            states[element] = -1
            above = states[element.getparent()]
            if above < 0 or automaton.info(above).skip or self.violation:
                continue
            path, start = anatomy.path(number), anatomy.starts[number].start
            state = automaton.step(above, automaton.symbol(*expanded(element.tag)))
            if state == automaton.FULL:
                raise HandOver("too many states")
            if state == automaton.ILLEGAL:
                self.violation = Violation(start, path, written(element))
                continue
            states[element] = state
            for name in element.attrib:
                if not automaton.allows(state, automaton.attribute_symbol(*expanded(name))):
                    child = f"@{anatomy.written_attribute(number, str(name))}"
                    self.violation = Violation(start, f"{path}/{written(element)}", child)
                    break
        return [states[element] for element in anatomy.elements]

    def _kept(self, anatomy: Anatomy, states: Sequence[int], output: int) -> set[int]:
        """Which pieces an output keeps."""
        info = self._automaton.info
        start = info(self._automaton.START)
        if output in start.subtree:
            return set(range(len(anatomy.parts)))
        inside, tags, leaves = set[int](), set[int](), set[int]()
        for number, above in enumerate(anatomy.parents):
            found = info(states[number]) if states[number] >= 0 else _NOTHING
            if above in inside or output in found.subtree:
                inside.add(number)
            if number in inside or output in found.tag:
                tag = number
                while tag >= 0 and tag not in tags:  # with all ancestors
                    tags.add(tag)
                    tag = anatomy.parents[tag]
            if number in inside or output in found.content:
                leaves.add(number)
        keep = set()
        for at, part in enumerate(anatomy.parts):
            if part.kind in ("open", "empty", "close"):
                wanted = part.element in tags
            elif part.element < 0 and part.kind != "doctype":
                wanted = output in start.content and part.kind != "space"
            else:
                wanted = part.kind == "doctype" or part.element in leaves
            if wanted:
                keep.add(at)
        return keep


_NOTHING = StateInfo((), (), (), False, False)


def _merged(parts: Sequence[Piece]) -> Numbers:
    out: list[list[int]] = []
    for part in parts:
        if out and out[-1][1] == part.start:
            out[-1][1] = part.end
        else:
            out.append([part.start, part.end])
    return np.array(out, np.int64).reshape(-1, 2)


def _table(
    anatomy: Anatomy,
    kept: Sequence[Piece],
    states: Sequence[int],
    symbol: Callable[[str, str], int],
) -> tuple[Elements, Ends, Leaves]:
    numbers = [part.element for part in kept if part.is_start]
    starts, ends = [anatomy.starts[n] for n in numbers], [anatomy.ends[n] for n in numbers]
    rows = {number: row for row, number in enumerate(numbers)}
    leaves = [part for part in kept if part.number]
    symbols = [symbol(*expanded(anatomy.elements[n].tag)) for n in numbers]
    return (
        Elements(
            np.array([states[n] for n in numbers], np.int32),
            np.array([rows.get(anatomy.parents[n], -1) for n in numbers], np.int32),
            np.array([part.start for part in starts], np.int64),
            np.array([part.end for part in starts], np.int64),
            np.array([anatomy.positions[n] for n in numbers], np.int32),
            np.array(symbols, np.int32),
            np.array([part.start for part in ends], np.int64),
            np.array([part.end for part in ends], np.int64),
        ),
        Ends(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64)),
        Leaves(
            np.array([rows.get(part.element, -1) for part in leaves], np.int32),
            np.array([anatomy.kind(part) for part in leaves], np.int8),
            np.array([part.start for part in leaves], np.int64),
            np.array([part.end for part in leaves], np.int64),
            np.array([part.number for part in leaves], np.int32),
        ),
    )
