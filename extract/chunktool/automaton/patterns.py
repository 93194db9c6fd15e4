"""Patterns: the paths of all wants as one trie.

A pattern is an XPath without filters whose steps go down: ``/db/student/descendant::name``.
    Patterns
with a common prefix share its nodes, so the cost of following thousands of patterns through a
document depends only on the few that have matched so far.

A *test* is the node test of a step as a number: the number of a name, `ANY` for ``*``, or a number
below `ANY` for the ``*`` of one namespace. `NameSymbols` assigns the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from extract.chunktool.automaton.outputs import Output
from extract.chunktool.automaton.symbols import NameSymbols
from extract.errors import SchemeError
from extract.schema.model import XML_NAMESPACE
from extract.scheme.model import Need
from extract.xpath.names import NCNAME

ANY: Final = -1
CHILD, DESCENDANT, DESCENDANT_OR_SELF = range(3)  # axes
TAG, CONTENT, SUBTREE = range(3)  # kinds of marks: what a want needs of the selected element

_ROOT_ELEMENT: Final = [(CHILD, ANY)]
_AXES: Final = ("child", "descendant", "descendant-or-self")


class Steps:
    """Parses patterns; equal steps are parsed once.

    Args:
        names: Numbers the names of the patterns.
        namespaces: Prefix to namespace URI.
    """

    def __init__(self, names: NameSymbols, namespaces: Mapping[str, str]) -> None:
        self._names = names
        self._namespaces = {**namespaces, "xml": XML_NAMESPACE}
        self._read: dict[str, tuple[int, int]] = {}

    def of(self, pattern: str) -> list[tuple[int, int]]:
        """Returns the steps of a pattern, each as the number of its axis (as in `Trie`) and its
        test.

        Raises:
            SchemeError: The string is not a pattern.
        """
        out: list[tuple[int, int]] = []
        if pattern in ("", "/"):
            return out
        start, *texts = pattern.split("/")
        below = False  # whether "//" stands before
        for text in texts:
            if not text and not below and texts[-1]:
                below = True
                continue
            step = self._read.get(text)
            if step is None:
                step = self._read[text] = self._step(text, pattern)
            if below and step[0] == CHILD:
                step = (DESCENDANT, step[1])  # //a is descendant::a where there are no filters
            out.append(step)
            below = False
        if start:
            raise _no_pattern(pattern)
        return out

    def _step(self, text: str, pattern: str) -> tuple[int, int]:
        axis, double, test = text.rpartition("::")
        if not double:
            axis = "child"
        if axis not in _AXES:
            raise _no_pattern(pattern)
        prefix, _, local = test.rpartition(":")
        if (local != "*" and not NCNAME.fullmatch(local)) or test.startswith(":"):
            raise _no_pattern(pattern)
        if prefix and prefix not in self._namespaces:
            raise SchemeError(f"nothing says which namespace {prefix}: is in {pattern}")
        uri = self._namespaces[prefix] if prefix else ""
        if local != "*":
            number = self._names.add(uri, local)
        elif prefix:
            number = ANY - 1 - self._names.add_namespace(uri)
        else:
            number = ANY
        return _AXES.index(axis), number


def _no_pattern(pattern: str) -> SchemeError:
    hint = "prepare the queries again with `extract prep`"
    return SchemeError(f"{pattern} is not a path that documents can be cut at", hint)


class Trie:
    """A trie of patterns, each marked with the outputs that want the nodes it selects.

    Nodes are numbers; node 0 is the document node, where all patterns begin. Sets of outputs are
    bit sets.

    Attributes:
        edges: For each axis (``child``, ``descendant``, ``descendant-or-self``) and each node: the
            node that each test leads to.
        marks: For each kind of mark and each node: the outputs with this mark.
        near: For each node: the outputs with a mark behind one of its child steps.
        far: The same for steps on the other axes.
    """

    def __init__(self, kinds: int) -> None:
        self.edges: tuple[list[dict[int, int]], ...] = ([], [], [])
        self.marks: tuple[list[int], ...] = tuple([] for _ in range(kinds))
        self.near: list[int] = []
        self.far: list[int] = []
        self._node()

    def _node(self) -> int:
        for column in self.edges:
            column.append({})
        for marks in (*self.marks, self.near, self.far):
            marks.append(0)
        return len(self.near) - 1

    def add(self, steps: Iterable[tuple[int, int]], kind: int, outputs: int) -> None:
        """Marks the end of a pattern with outputs."""
        node = 0
        for axis, test in steps:
            sums = self.far if axis else self.near
            sums[node] |= outputs
            below = self.edges[axis][node]
            target = below.get(test)
            if target is None:
                target = below[test] = self._node()
            node = target
        self.marks[kind][node] |= outputs


def wants_trie(steps: Steps, outputs: Sequence[Output]) -> Trie:
    """Builds the trie of all outputs' wants, with the marks `TAG`, `CONTENT` and `SUBTREE`."""
    trie = Trie(3)
    for number, output in enumerate(outputs):
        if not output.whole:
            for path, need in output.wants:
                _mark(trie, steps.of(path), need, 1 << number)
    return trie


def _mark(trie: Trie, steps: list[tuple[int, int]], need: Need, output: int) -> None:
    """Adds one want to the trie."""
    below = bool(need & (Need.STRING | Need.SUBTREE))
    if steps:
        kind = SUBTREE if below else CONTENT if need & Need.CHILDREN else TAG
        trie.add(steps, kind, output)
        return
    if need & (Need.CHILDREN | Need.SUBTREE):  # of the document node
        trie.add([], CONTENT, output)
    if below:
        trie.add(_ROOT_ELEMENT, SUBTREE, output)


def originals_trie(steps: Steps, originals: Iterable[str]) -> Trie:
    """Builds the trie of the paths below which queries as written may look, if all are plain."""
    trie = Trie(1)
    for path in originals:
        plain = []
        for axis, test in steps.of(path):
            if axis != CHILD:
                break
            plain.append((axis, test))
        trie.add(plain, 0, 1)
    return trie
