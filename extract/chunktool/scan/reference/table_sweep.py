"""The sweep of the reference scanner that also fills the node table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.protocol import Numbers
from extract.chunktool.scan.reference.blocks import ElementBlock
from extract.chunktool.scan.reference.sweep import Sweep
from extract.limits import Limits
from extract.markup.node_kinds import NodeKind

_AMPERSAND, _RETURN = b"&\r"

Columns = tuple[Numbers, ...]


class TableSweep(Sweep):
    """Collects ranges, and the rows of the node table.

    A text lies between two tokens, so texts need no handler; but the bytes of a text that has not
    ended must stay in the buffer.

    Attributes:
        elements, ends, leaves: Columns of `Elements`, `Ends` and `Leaves`, in parts.
    """

    def __init__(
        self,
        parser: Any,
        automaton: Automaton,
        limits: Limits,
        original: Callable[[Numbers], Numbers],
    ) -> None:
        self.elements: list[Columns] = []
        self.ends: list[Columns] = []
        self.leaves: list[Columns] = []
        self._count = 0
        self._row = np.full(1, -1, np.int64)  # rows of the open elements
        self._tally = np.zeros((1, 3), np.int64)  # their texts, comments and PIs so far
        self._children: list[dict[int, int]] = [{}]  # the number of their children so far, by name
        self._position = np.zeros(1, np.int64)
        self._cursor = 0  # end of the last token
        self._joined = False  # whether the last token was a CDATA section
        super().__init__(parser, automaton, limits, original)

    def _outside(self, kind: int, start: int, stop: int) -> None:
        super()._outside(kind, start, stop)
        if not self.begun and self._arrays.asides[Automaton.START]:
            which = int(_CLASSES[kind])
            self._tally[0, which] += 1
            span = self._original(np.array([start, stop], np.int64)).tolist()
            row = np.array([-1, kind, *span, self._tally[0, which]], np.int64)
            self.leaves.append(tuple(row[:, None]))

    def give_up(self, depth: int = -1) -> None:
        """Drops everything collected, and goes on only to check depth and sizes."""
        super().give_up(depth)
        for rows in (self.elements, self.ends, self.leaves):
            rows.clear()

    def pending(self, index: int) -> int:
        """Returns the first byte that is still needed, if expat needs bytes from ``index`` on."""
        if self._dead or not self._arrays.texts[self._open.state[-1]]:
            return index
        return self._cursor

    def _fill_table(self, block: ElementBlock, asides: Numbers, around: Numbers) -> None:
        fresh = self._number(block)
        position = self._count_children(block)
        if len(fresh):
            columns = (
                block.state[fresh],
                self._rows[block.parent[fresh]],
                self._original(block.start[fresh]),
                self._original(block.stop[fresh]),
                position[fresh],
                self._arrays.names.symbol[block.name[fresh]],
            )
            self.elements.append(columns)
        self._end(block)
        self._text(block, asides, around)
        self._position_now = position

    def _number(self, block: ElementBlock) -> Numbers:
        """Assigns rows to kept elements that have none; returns these elements."""
        self._rows = np.full(len(block.state), -1, np.int64)
        self._rows[: block.count] = self._row
        kept = np.bitwise_or.reduce(block.written | block.inside, axis=0) != 0
        kept[0] = False
        fresh = np.flatnonzero(kept & (self._rows < 0))
        self._rows[fresh] = self._count + np.arange(len(fresh))
        self._count += len(fresh)
        return fresh

    def _count_children(self, block: ElementBlock) -> Numbers:
        """Returns the positions of elements among siblings of the same name."""
        count = block.count
        position = np.zeros(len(block.state), np.int64)
        position[:count] = self._position
        self._later: dict[int, dict[int, int]] = {}
        if len(position) == count:
            return position
        name = self._arrays.names.expanded[block.name[count:]]
        parent = block.parent[count:]
        width = int(name.max()) + 1
        key = parent * width + name
        order = np.argsort(key, kind="stable")
        groups = key[order]
        heads = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
        sizes = np.diff(np.append(heads, len(groups)))
        base = np.zeros(len(heads), np.int64)
        parents, names = np.divmod(groups[heads], width)
        for group in np.flatnonzero(parents < count).tolist():
            base[group] = self._children[parents[group]].get(int(names[group]), 0)
        position[count + order] = np.arange(len(groups)) - np.repeat(heads - base, sizes) + 1
        for group in np.flatnonzero(block.first[parents] < 0).tolist():
            later = self._later.setdefault(int(parents[group]), {})
            later[int(names[group])] = int(base[group] + sizes[group])
        return position

    def _end(self, block: ElementBlock) -> None:
        ending = block.element[block.around != block.element]
        ending = ending[self._rows[ending] >= 0]
        if len(ending):
            first, end = self._original(block.first[ending]), self._original(block.end[ending])
            self.ends.append((self._rows[ending], first, end))

    def _text(self, block: ElementBlock, asides: Numbers, around_asides: Numbers) -> None:
        """Adds rows for texts, comments and processing instructions."""
        at, after, around = block.at, block.after, block.around
        tally = np.zeros((len(block.state), 3), np.int64)
        tally[: block.count] = self._tally
        self._tally_now = tally
        kind = np.full(len(at), -1, np.int64)
        if len(asides):
            at = np.concatenate([at, asides[:, 1]])
            order = np.argsort(at, kind="stable")
            at = at[order]
            after = np.concatenate([after, asides[:, 2]])[order]
            around = np.concatenate([around, around_asides])[order]
            kind = np.concatenate([kind, asides[:, 0]])[order]
        if not len(at):
            return
        before = np.concatenate([[self._cursor], after[:-1]])
        parent = np.concatenate([[block.count - 1], around[:-1]])
        is_cdata = kind == NodeKind.CDATA.value
        joined = np.concatenate([[self._joined], is_cdata[:-1]])
        self._cursor, self._joined = int(after[-1]), bool(is_cdata[-1])
        gap = (before < at) & self._arrays.texts[block.state][parent]
        texts = np.flatnonzero(gap)
        columns = [
            parent[texts],
            np.full(len(texts), NodeKind.TEXT, np.int64),
            before[texts],
            at[texts],
        ]
        begins = ~joined[texts]
        if len(asides):
            states = block.state[around]
            kept = np.where(is_cdata, self._arrays.texts[states], self._arrays.asides[states])
            chosen = np.flatnonzero((kind >= 0) & kept)
            more = around[chosen], kind[chosen], at[chosen], after[chosen]
            columns = [np.concatenate(pair) for pair in zip(columns, more, strict=True)]
            begins = np.concatenate([begins, ~(is_cdata & (joined | gap))[chosen]])
            order = np.argsort(columns[2], kind="stable")
            columns, begins = [column[order] for column in columns], begins[order]
        owner, kinds, start, stop = columns
        if len(owner):
            key = 3 * owner + _CLASSES[kinds]
            number = _running(key, begins.astype(np.int64)) + tally.reshape(-1)[key]
            tally += np.bincount(key[begins], minlength=tally.size).reshape(-1, 3)
            kinds = self._with_references(kinds, start, stop)
            span = self._original(start), self._original(stop)
            self.leaves.append((self._rows[owner], kinds, *span, number))

    def _with_references(self, kinds: Numbers, start: Numbers, stop: Numbers) -> Numbers:
        """Returns the kinds, with `REFERENCES` for texts whose value is not their bytes."""
        data = np.frombuffer(self._buffer, np.uint8)
        special = data == _AMPERSAND
        if b"\r" in self._buffer:
            special |= data == _RETURN
        places = np.flatnonzero(special) + self._base
        escaped = places.searchsorted(start) < places.searchsorted(stop)
        return np.where(escaped & (kinds == NodeKind.TEXT.value), int(NodeKind.REFERENCES), kinds)

    def _carry(self, block: ElementBlock) -> None:
        super()._carry(block)
        still = block.opened
        self._row = self._rows[still]
        self._position = self._position_now[still]
        self._tally = self._tally_now[still]
        old = self._children
        self._children = [
            {**(old[element] if element < block.count else {}), **self._later.get(element, {})}
            for element in still.tolist()
        ]


_CLASS = {NodeKind.COMMENT: 1, NodeKind.PI: 2}
_CLASSES = np.array([_CLASS.get(kind, 0) for kind in NodeKind], np.int64)


def _running(key: Numbers, values: Numbers) -> Numbers:
    """Running sums of the values with the same key."""
    order = np.argsort(key, kind="stable")
    groups = key[order]
    sums = np.cumsum(values[order])
    heads = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    base = np.concatenate([[0], sums])[heads]
    sizes = np.diff(np.append(heads, len(groups)))
    out = np.empty(len(key), np.int64)
    out[order] = sums - np.repeat(base, sizes)
    return out
