"""The sweep of the reference scanner: from expat's events to ranges of outputs, block by block.

Python code for every tag is slow, so the handlers only record events, and everything else happens
in numpy arrays, once for each block of about a megabyte. expat reports the elements, their
namespaces and their attributes; the offsets of their tags are found in the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.protocol import Numbers, Violation
from extract.chunktool.scan.reference.automaton_arrays import (
    NOTHING,
    Key,
    StateArrays,
    state_arrays,
)
from extract.chunktool.scan.reference.blocks import (
    ElementBlock,
    Open,
    OutputRanges,
    nothing,
    wanted,
    without_pairs,
)
from extract.chunktool.scan.reference.tokens import Tags, long_part, nest, read_tags
from extract.errors import DocumentError
from extract.limits import RAISE, Limits
from extract.markup.node_kinds import NodeKind
from extract.markup.tags import TAG

_NAMES: Final = 1_000_000  # different names with their attributes in one document
_NONE: Final = np.zeros(0, np.int64)

Start = Callable[[str, list[str]], None]


class Sweep:
    """Follows the automaton through a document and collects the ranges of its outputs.

    Args:
        parser: expat's parser; the sweep sets its handlers for elements.
        automaton: The automaton to follow.
        limits: The largest depth, number of attributes and so on.
        original: Maps offsets in the bytes that expat reads to the document.

    Attributes:
        violation: The first edge that the schema does not have.
        obstacle: Why the document must be evaluated whole; empty if it need not be.
        begun: Whether the root element has begun.
        in_doctype: Whether the parser is in the internal subset.
    """

    def __init__(
        self,
        parser: Any,
        automaton: Automaton,
        limits: Limits,
        original: Callable[[Numbers], Numbers],
    ) -> None:
        self.violation: Violation | None = None
        self.obstacle = ""
        self.begun = False
        self.in_doctype = False
        self._spans = [OutputRanges() for _ in automaton.outputs]
        self._arrays: StateArrays = state_arrays(automaton)
        self._parser = parser
        self._limits = limits
        self._long = min(limits.token_bytes, limits.name_bytes, limits.attribute_bytes)
        self._original = original
        self._buffer = b""
        self._base = 0
        self._check: Start | None = None
        self._dead = False
        self._cdata = -1  # start of the open CDATA section
        self._done = 0  # end of the bytes whose tags are processed
        self._last = 0  # end of the last processed tag
        self._keys: list[Key] = []  # keys of the start tags
        self._declaring: list[int] = []  # indices of start tags with namespace declarations
        self._asides: list[int] = []  # comments, instructions, CDATA sections: kind, start, end
        none = np.zeros((self._arrays.words, 1), np.uint64)
        zero = np.zeros(1, np.int64)
        inside = self._arrays.subtree[:, Automaton.START : Automaton.START + 1].copy()
        self._open = Open(zero, zero, zero + Automaton.START, zero, none, inside)
        self._start, namespace = self._make()
        self._current: Start = self._root
        self._use(self._root)
        self._parser.StartNamespaceDeclHandler = namespace
        parser.StartCdataSectionHandler = self._begin_cdata
        parser.EndCdataSectionHandler = self._end_cdata
        parser.CommentHandler = lambda _: self._aside(NodeKind.COMMENT, b"-->", 4)
        parser.ProcessingInstructionHandler = lambda *_: self._aside(NodeKind.PI, b"?>", 2)
        for output in self._arrays.whole:
            self._spans[output].add(np.zeros(1, np.int64))

    # -- handlers

    def _make(self) -> tuple[Start, Callable[[str, str], None]]:
        """Makes the handlers for start tags and for namespaces."""
        keys = self._keys
        put, declare = keys.append, self._declaring.append

        def start(name: str, attributes: list[str]) -> None:
            put((name, *attributes[::2]) if attributes else name)

        def namespace(_: str, __: str) -> None:
            declare(len(keys))

        return start, namespace

    def _root(self, name: str, attributes: list[str]) -> None:
        self.begun = True
        self._done = self._last = self._parser.CurrentByteIndex
        self._use(self._start)
        self._current(name, attributes)

    def _begin_cdata(self) -> None:
        self._cdata = self._parser.CurrentByteIndex

    def _end_cdata(self) -> None:
        stop = self._parser.CurrentByteIndex + len(b"]]>")
        self._asides.extend((NodeKind.CDATA, self._cdata, stop))
        self._cdata = -1

    def _aside(self, kind: int, stop: bytes, width: int) -> None:
        if self.in_doctype:  # libxml2 has it among the descendants of the document node
            self.obstacle = "a comment or processing instruction is in the DOCTYPE"
            return
        at = self._parser.CurrentByteIndex
        index = self._buffer.index(stop, at - self._base + width)
        span = at, index + len(stop) + self._base
        if self.begun:
            self._asides.extend((kind, *span))
        else:
            self._outside(kind, *span)

    def _outside(self, kind: int, start: int, stop: int) -> None:
        """Records a comment or processing instruction before or after the root."""
        span = self._original(np.array([start, stop], np.int64))
        for output in self._arrays.outside:
            if output not in self._arrays.whole:
                self._spans[output].add(span)

    def _use(self, start: Start) -> None:
        self._current = start
        self._parser.StartElementHandler = start if self._check is None else self._checked

    def _checked(self, name: str, attributes: list[str]) -> None:
        assert self._check is not None
        self._check(name, attributes)
        self._current(name, attributes)

    # -- the scanner's interface

    @property
    def careful(self) -> bool:
        """Whether a function checks every start tag."""
        return self._check is not None

    def be_careful(self, check: Start) -> None:
        """From now on calls a function with every start tag."""
        self._check = check
        self._use(self._current)

    def move(self, buffer: bytes, base: int) -> None:
        """Sets the bytes that can be read, and their offset; some are not yet parsed."""
        self._buffer = buffer
        self._base = base

    def keep(self, start: int, end: int) -> None:
        """Adds bytes of the prolog to every output."""
        if start < end:
            span = self._original(np.array([start, end], np.int64))
            for output, spans in enumerate(self._spans):
                if output not in self._arrays.whole:
                    spans.add(span)

    def end(self, length: int) -> None:
        """Ends the document."""
        for spans in self._spans:
            spans.end(length)

    def pending(self, index: int) -> int:
        """Returns the first byte that is still needed, if expat needs bytes from ``index`` on."""
        return index

    def end_of_tag(self, at: int) -> int:
        """Returns the end of the start tag that begins at a byte of the buffer."""
        tag = TAG.match(self._buffer, at - self._base)
        assert tag is not None, "expat has seen the whole tag"
        return tag.end() + self._base

    def open_tags(self) -> tuple[Numbers, Numbers]:
        """Returns starts and ends of the open start tags, in the bytes that expat reads."""
        return self._open.start[1:], self._open.stop[1:]

    def take(self, output: int, consumed: int) -> Numbers:
        """Returns the ranges of an output up to a byte of the document, and drops them."""
        return self._spans[output].take(consumed)

    # -- blocks

    def digest(self) -> None:
        """Processes the events that the handlers have recorded."""
        low, self._done = self._done, self._parser.CurrentByteIndex
        if self._dead or not self.begun:
            return
        base, high = self._base, self._done
        if self._buffer.find(b"<", low - base, high - base) < 0 and not self._asides:
            self._check_texts(_NONE, _NONE)
            return
        asides = np.array(self._asides, np.int64).reshape(-1, 3)
        others = asides[:, 1:].reshape(-1)
        if self._cdata >= 0:
            others = np.append(others, self._cdata)
        names = self._arrays.names.numbers(self._keys)
        complex_ = self._arrays.names.attributes[names] > 0
        complex_[self._declaring] = True
        tags = read_tags(self._buffer, base, low, high, others, complex_)
        declared = np.bincount(self._declaring, minlength=len(names))
        over = self._arrays.names.attributes[names] + declared > self._limits.attributes
        if over.any():
            raise self._beyond("attributes", int(tags.at[tags.begins][over.argmax()]))
        for number in np.flatnonzero(tags.after - tags.at > self._long).tolist():
            self._check_tag(int(tags.at[number]), int(tags.after[number]))
        self._check_texts(
            np.concatenate([tags.at, asides[:, 1]]), np.concatenate([tags.after, asides[:, 2]])
        )
        for written_down in (self._asides, self._keys, self._declaring):
            written_down.clear()
        block = self._arrange(tags, names) if len(tags.at) else nothing(self._open)
        if block is None:
            return
        before = np.searchsorted(block.at, asides[:, 1], "right")
        around = np.append(block.around, block.count - 1)[before - 1]
        if len(block.at):
            self._cut(block)
        self._fill_table(block, asides, around)
        for kind, start, stop in asides[around == 0].tolist():
            self._outside(kind, start, stop)
        self._carry(block)

    def _check_texts(self, at: Numbers, after: Numbers) -> None:
        """Rejects texts that are too long, given starts and ends of the other tokens."""
        if self._asides:
            at, after = np.sort(at), np.sort(after)
        ends = np.concatenate([[self._last], after])
        starts = np.append(at, self._done if len(self._open.start) > 1 else ends[-1])
        self._last = int(ends[-1])
        long = np.concatenate([starts - ends, after - at]) > self._limits.token_bytes
        if long.any():
            raise self._beyond("token_bytes", int(np.concatenate([ends, at])[long.argmax()]))

    def _check_tag(self, start: int, stop: int) -> None:
        """Rejects a tag with a name or value that is too long."""
        passed = long_part(self._buffer[start - self._base : stop - self._base], self._limits)
        if passed:
            raise self._beyond(passed, start)

    def _arrange(self, tags: Tags, names: Numbers) -> ElementBlock | None:
        """Returns the elements of a block; None if they break the schema."""
        begins, at, after = tags
        arrays, opened = self._arrays, self._open
        count = len(opened.start)
        level = count - 1 + np.cumsum(np.where(begins, 1, -1))
        depth = level + ~begins
        deepest = self._limits.depth
        if depth.max() > deepest:
            raise self._beyond("depth", int(at[np.argmax(depth > deepest)]))
        nesting = nest(begins, depth, count)
        element, parent = nesting.element, nesting.parent
        start = np.concatenate([opened.start, at[begins]])
        name = np.concatenate([opened.name, names])
        state = np.empty(len(name), np.int64)
        state[:count] = opened.state
        symbol = arrays.names.symbol[name]
        for elements in nesting.levels:
            state[elements] = arrays.step(state[parent[elements]], symbol[elements])
        if self._illegal(state, name, start, parent, count, int(level[-1])):
            return None
        stop = np.concatenate([opened.stop, after[begins]])
        first, end = np.full(len(name), -1, np.int64), np.full(len(name), -1, np.int64)
        ending = element[~begins]
        first[ending] = at[~begins]
        end[ending] = after[~begins]
        around = np.where(begins, element, parent[element])
        sets = wanted(arrays, opened, state, nesting)
        columns = state, name, parent, start, stop, first, end
        return ElementBlock(count, *columns, *sets, element, around, at, after)

    def _beyond(self, limit: str, offset: int) -> DocumentError:
        return DocumentError(self._limits.passed(limit), RAISE, "", 0, 0, offset)

    def _illegal(
        self, state: Numbers, name: Numbers, start: Numbers, parent: Numbers, count: int, depth: int
    ) -> bool:
        """Finds the first edge that the schema does not have; whether there is one."""
        arrays = self._arrays
        wrong = state < NOTHING
        attributed = np.flatnonzero((arrays.names.attributes[name] > 0) & (state >= 0))
        attributed = attributed[attributed >= count]
        bad = np.zeros(len(state), np.bool_)
        if len(attributed):
            bad[attributed] = arrays.bad_attributes(state[attributed], name[attributed])
        if not (wrong.any() or bad.any() or len(arrays.names) > _NAMES):
            return False
        number = int(np.argmax(wrong | bad))
        if state[number] == Automaton.FULL - 1:
            self.obstacle = "too many states"
        elif len(arrays.names) > _NAMES:
            self.obstacle = "too many names"
        else:
            path: list[str] = []
            above = int(parent[number])
            while above:
                path.append(arrays.names.written[name[above]])
                above = int(parent[above])
            path.reverse()
            child = arrays.names.written[name[number]]
            if bad[number]:
                path.append(child)
                child = f"@{arrays.bad_attribute(int(state[number]), int(name[number]))}"
            offset = int(self._original(start[number : number + 1])[0])
            self.violation = Violation(offset, "".join(f"/{name}" for name in path), child)
        self.give_up(depth)
        return True

    # -- ranges

    def _cut(self, block: ElementBlock) -> None:
        """Adds the ranges of a block to the outputs."""
        edges = np.empty(2 * len(block.at), np.int64)
        edges[::2] = block.at
        edges[1::2] = block.after
        flags = np.empty(len(edges) + 1, np.bool_)
        top = block.count - 1
        for word in range(self._arrays.words):
            inside, written = block.inside[word], block.written[word]
            gap = inside | self._arrays.content[word, block.state]
            tags, gaps = (written | inside)[block.element], gap[block.around]
            active = int(np.bitwise_or.reduce(tags) | np.bitwise_or.reduce(gaps) | gap[top])
            fresh = written[: block.count] & ~self._open.written[word]
            for output in range(64 * word, min(64 * word + 64, len(self._spans))):
                bit = np.uint64(1 << output % 64)
                if not active >> output % 64 & 1:
                    continue
                for above in np.flatnonzero(fresh & bit).tolist():
                    span = np.array([block.start[above], block.stop[above]])
                    self._spans[output].add(self._original(span))
                flags[0] = gap[top] & bit
                flags[1::2] = tags & bit
                flags[2::2] = gaps & bit
                offsets = edges[flags[1:] != flags[:-1]]
                if len(offsets):
                    self._spans[output].add(self._original(without_pairs(offsets)))

    def _fill_table(self, block: ElementBlock, asides: Numbers, around: Numbers) -> None:
        """Does nothing: there is no node table."""

    def _carry(self, block: ElementBlock) -> None:
        """Stores the elements that are open at the end of the block."""
        still = block.opened = np.flatnonzero(block.first < 0)
        self._open = Open(
            block.start[still],
            block.stop[still],
            block.state[still],
            block.name[still],
            block.written[:, still],
            block.inside[:, still],
        )

    # -- errors

    def give_up(self, depth: int = -1) -> None:
        """Drops everything collected, and goes on only to check depth and sizes."""
        self._dead = True
        depth = len(self._open.start) - 1 if depth < 0 else depth
        self._spans = [OutputRanges() for _ in self._spans]
        self._keys.clear()
        self._asides.clear()
        parser, deepest, most = self._parser, self._limits.depth, 2 * self._limits.attributes
        long = self._long // 4  # a character has up to four bytes

        def start(name: str, attributes: list[str]) -> None:
            nonlocal depth
            depth += 1
            at = parser.CurrentByteIndex
            if depth > deepest:
                raise self._beyond("depth", at)
            if len(attributes) > most:
                raise self._beyond("attributes", at)
            if len(name) + sum(map(len, attributes)) > long:
                self._check_tag(at, self.end_of_tag(at))

        def end(_: str) -> None:
            nonlocal depth
            depth -= 1

        parser.StartNamespaceDeclHandler = None
        parser.CommentHandler = parser.ProcessingInstructionHandler = None
        parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = None
        self._use(start)
        parser.EndElementHandler = end

    def error(self, reason: str, hint: str = "") -> DocumentError:
        """Returns an error at expat's position."""
        parser = self._parser
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        return DocumentError(reason, hint, "", line, column, parser.CurrentByteIndex)
