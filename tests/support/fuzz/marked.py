"""Documents whose names say what is to be kept of them, and what a scan must therefore find.

An element ``s0`` is kept whole by output 0, of ``t1`` output 1 keeps the tags, of ``c0`` output 0
keeps tags, texts, comments and processing instructions; below ``x`` nothing matters; ``z`` is an
element and ``bad`` an attribute that no schema has. All else is only kept for what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from extract.chunktool.automaton.automaton import StateInfo
from extract.markup.node_kinds import NodeKind

OUTPUTS = 3
_MARKED = frozenset(f"{mark}{output}" for mark in "stc" for output in range(OUTPUTS))


class Marks:
    """The automaton that goes by the names."""

    START, ILLEGAL, FULL = 0, -1, -2

    def __init__(self, assume_valid: bool = False, max_states: int = 1000) -> None:
        self.outputs = tuple(range(OUTPUTS))
        self.assume_valid = assume_valid
        self._names: dict[str, int] = {}
        # name, outputs that keep it whole, and whether the name's output did so above already
        self._states: list[tuple[str, frozenset[int], bool]] = [("", frozenset(), False)]
        self._max_states = max_states

    def symbol(self, uri: str, local: str) -> int:
        return self._names.setdefault(local, len(self._names))

    def attribute_symbol(self, uri: str, local: str) -> int:
        return int(local == "bad")

    def step(self, state: int, symbol: int) -> int:
        name = list(self._names)[symbol]
        if name == "z":
            return self.ILLEGAL
        inside = self._states[state][1]
        mark, number = _mark(name)
        new = (name, inside | {number} if mark == "s" else inside, number in inside)
        if new not in self._states:
            if len(self._states) >= self._max_states:
                return self.FULL
            self._states.append(new)
        return self._states.index(new)

    def allows(self, state: int, attribute: int) -> bool:
        return not attribute

    def info(self, state: int) -> StateInfo:
        name, inside, already = self._states[state]
        if state == self.START:
            return StateInfo((), (), (0,), False, False)
        mark, number = _mark(name)
        mine = () if already else (number,)
        return StateInfo(
            mine if mark == "s" else (),
            mine if mark in ("t", "c") else (),
            mine if mark == "c" else (),
            bool(inside),
            mark == "x" and not inside,
        )


def _mark(name: str) -> tuple[str, int]:
    """The letter of a name and the output it is about; an empty letter if it is about none."""
    if name == "x":
        return name, -1
    return (name[0], int(name[1])) if name in _MARKED else ("", -1)


@dataclass
class Node:
    """A part of a document: where it is, and what is in it."""

    kind: int | str  # a kind of leaf, or the name of an element
    start: int
    end: int = 0
    content: int = 0  # of an element, behind the start tag
    close: int = 0  # of an element, the end tag
    children: list[Node] = field(default_factory=list)


_LOCAL = ["s0", "s1", "t0", "t1", "t2", "c0", "c1", "x", "n", "n", "m"]
_TEXTS: list[tuple[int, str]] = [
    (NodeKind.TEXT, "t"),
    (NodeKind.TEXT, " a ] b "),
    (NodeKind.REFERENCES, "&lt;"),
    (NodeKind.REFERENCES, "x\ry"),
    (NodeKind.TEXT, "é"),
]
_ASIDES: list[tuple[int, str]] = [
    (NodeKind.CDATA, "<![CDATA[<]]>"),
    (NodeKind.COMMENT, "<!-- c -->"),
    (NodeKind.PI, "<?p x?>"),
    (NodeKind.PI, "<?q?>"),
]


def marked(random: Random, broken: float = 0.0) -> tuple[bytes, Node]:
    """A document, and the node above its root; with violations of the schema if asked for."""
    out = bytearray()
    document = Node("", 0)

    def write(text: str) -> None:
        out.extend(text.encode())

    def leaf(parent: Node, choices: list[tuple[int, str]]) -> None:
        kind, text = random.choice(choices)
        parent.children.append(Node(kind, len(out)))
        write(text)
        parent.children[-1].end = len(out)

    def element(parent: Node, depth: int) -> None:
        local = "z" if random.random() < broken else random.choice(_LOCAL)
        prefix = random.choice(["", "", "p:", "q:"])
        node = Node(prefix + local, len(out))
        parent.children.append(node)
        write(f"<{prefix}{local}")
        if not depth:
            write(" xmlns='urn:d' xmlns:p='urn:p' xmlns:q='urn:p'")
        if random.random() < 0.3:
            write(random.choice([" k='v>'", ' k="1"  p:k="2"', "\n\tk=''", " xmlns:r='urn:r'"]))
        if random.random() < broken:
            write(" bad=''")
        if random.random() < 0.2:
            write("/>")
            node.content = node.close = node.end = len(out)
            return
        write(">")
        node.content = len(out)
        last = -1
        while random.random() < (0.8 if depth < 5 else 0.3):
            if depth < 5 and random.random() < 0.5:
                element(node, depth + 1)
                last = -1
            else:  # two texts in a row would be one
                leaf(
                    node,
                    _ASIDES if last in (NodeKind.TEXT, NodeKind.REFERENCES) else _TEXTS + _ASIDES,
                )
                last = int(node.children[-1].kind)
        node.close = len(out)
        write(f"</{prefix}{local}{random.choice(['', ' '])}>")
        node.end = len(out)

    if random.random() < 0.5:
        write("<?xml version='1.0'?>\n")
    if random.random() < 0.3:
        leaf(document, _ASIDES[1:])
    element(document, 0)
    if random.random() < 0.3:
        leaf(document, _ASIDES[1:])
    write("\n")
    return bytes(out), document


def kept(data: bytes, document: Node) -> list[list[tuple[int, int]]]:
    """The ranges of each output."""
    ranges = []
    for output in range(OUTPUTS):
        flags = bytearray(len(data))
        declaration = data.find(b"?>") + 2 if data.startswith(b"<?xml ") else 0
        flags[:declaration] = b"\1" * declaration
        _keep(document, output, flags, output == 0, False)
        ranges.append(list(_runs(flags)))
    return ranges


def _keep(node: Node, output: int, flags: bytearray, content: bool, inside: bool) -> bool:
    """Flags the bytes that an output keeps of what is in a node; says whether there are any."""
    any_kept = False
    for child in node.children:
        if isinstance(child.kind, int):
            if content:
                flags[child.start : child.end] = b"\1" * (child.end - child.start)
                any_kept = True
            continue
        local = child.kind.rpartition(":")[2]
        if local == f"s{output}":
            flags[child.start : child.end] = b"\1" * (child.end - child.start)
            any_kept = True
            continue
        mine = local in (f"t{output}", f"c{output}") or node.kind == ""
        within = inside or local[0] == "s"  # what another output keeps whole is not skipped
        if local != "x" or within:
            mine |= _keep(child, output, flags, local == f"c{output}", within)
        if mine:
            flags[child.start : child.content] = b"\1" * (child.content - child.start)
            flags[child.close : child.end] = b"\1" * (child.end - child.close)
            any_kept = True
    return any_kept


def _runs(flags: bytearray) -> Iterator[tuple[int, int]]:
    start = flags.find(1)
    while start >= 0:
        end = flags.find(0, start)
        end = len(flags) if end < 0 else end
        yield start, end
        start = flags.find(1, end)


@dataclass
class Table:
    """The node table: rows without states and symbols, ends in the order of rows, leaves."""

    elements: list[tuple[int, int, int, int]] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)
    leaves: list[tuple[int, int, int, int, int]] = field(default_factory=list)


def table(document: Node) -> Table:
    """The node table that a scan must give."""
    found = Table()
    _rows(document, -1, False, True, found)
    return found


def _rows(node: Node, row: int, inside: bool, content: bool, found: Table) -> None:
    counts: dict[object, int] = {}
    texts = asides = 0
    numbers: dict[int, int] = {NodeKind.COMMENT: 0, NodeKind.PI: 0}
    joined = False
    for child in node.children:
        if isinstance(child.kind, int):
            if child.kind in numbers:
                number = numbers[child.kind] = numbers[child.kind] + 1
                joined = False
            else:
                texts += not joined
                joined, number = True, texts
            asides += 1
            if inside or content:
                found.leaves.append((row, child.kind, child.start, child.end, number))
            continue
        joined = False
        prefix, _, local = child.kind.rpartition(":")
        key = (bool(prefix), local)
        counts[key] = counts.get(key, 0) + 1
        within = inside or local[0] == "s"
        if not (within or node.kind == "" or _wanted(child)):
            continue
        mine = len(found.elements)
        found.elements.append((row, child.start, child.content, counts[key]))
        found.ends.append((child.close, child.end))
        if local != "x" or within:
            _rows(child, mine, within, local[0] == "c", found)


def _wanted(node: Node) -> bool:
    """Whether an element is kept by some output, or anything in it."""
    assert isinstance(node.kind, str)
    local = node.kind.rpartition(":")[2]
    if local[0] in "stc":
        return True
    return local != "x" and any(isinstance(c.kind, str) and _wanted(c) for c in node.children)
