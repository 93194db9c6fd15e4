"""The reference scanner: expat's events and libxml2's verdict, in pure Python.

It reads every document that libxml2 reads, in any encoding that Python knows, with internal subsets
and entities, or gives a reason. Two parsers read each window side by side: expat finds the offsets,
and libxml2, whose verdict counts, judges whether the document is well-formed. Where the two differ,
and where a document has nodes that are not in its bytes, the scanner hands the document over to be
evaluated whole; it does so at the end, when the document is known to be well-formed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.protocol import (
    Batch,
    Elements,
    Ends,
    HandOver,
    Leaves,
    Numbers,
    Violation,
)
from extract.chunktool.scan.reference.automaton_arrays import SEPARATOR, split_name
from extract.chunktool.scan.reference.internal_subset import Subset
from extract.chunktool.scan.reference.sweep import Sweep
from extract.chunktool.scan.reference.table_sweep import Columns, TableSweep
from extract.chunktool.scan.wellformed import Judge, ParserRejection, id_problem
from extract.errors import DocumentError
from extract.limits import DEFAULTS, RAISE, Limits
from extract.markup.encodings import Encoding, Transcoder, Unmappable, find_encoding
from extract.markup.tags import MISC, TAG

_BLOCK: Final = 1 << 20  # bytes per call of the parsers; expat is slow if long tokens are torn
_LARGE: Final = 1 << 16  # bytes of a token from which expat waits until it has doubled
_INTERNED: Final = 100_000  # names that expat remembers
_XML_ID: Final = f"http://www.w3.org/XML/1998/namespace{SEPARATOR}id{SEPARATOR}xml"
_ID: Final = re.compile(rb"xml:id")  # several times as fast as `in`
_ENTITY: Final = b"<!ENTITY"
_BOMB_HINT: Final = f"{RAISE}, or expand them with xmllint --noent"


class ReferenceScanner:
    """Scans one document with expat, and with libxml2 as the judge.

    Args:
        automaton: The automaton to follow.
        limits: The largest document, depth and so on.
        table: Whether to fill the node table.
    """

    def __init__(
        self, automaton: Automaton, limits: Limits | None = None, table: bool = False
    ) -> None:
        self._automaton = automaton
        self._limits = limits or DEFAULTS
        self._table = table
        self._begun = False
        # Positions in bytes of the document.
        self._consumed = 0
        self._rows_taken = 0
        self._seen = 0
        self._head = b""  # bytes read before the encoding was known
        self._waiting: list[bytes] = []  # bytes that libxml2 has not read
        # Positions in the bytes that expat reads.
        self._buffer = b""  # bytes that are still needed, or not yet fed
        self._base = 0  # offset of the buffer
        self._fed = 0  # end of the bytes fed to expat
        self._torn = -1  # start of a token that was incomplete at that point
        self._prolog = 0  # end of the consumed part of the prolog; -1 after the prolog
        self._lines = 0  # line ends before the buffer
        self._failure: tuple[int, int, int] | None = None  # expat's error: line, column, byte
        self._unread = 0  # where expat stopped
        self._decoded = True  # whether the transcoder could read all bytes
        self._obstacle = ""
        self._complaint: DocumentError | None = None  # an error that libxml2 reports for trees only
        self._ids: set[str] = set()
        self._expanded = 0
        self._references = 0
        self._tags: dict[int, bytes] = {}

    @property
    def violation(self) -> Violation | None:
        """The first edge that the schema does not have; None as long as the document conforms."""
        return self._sweep.violation if self._begun else None

    # -- windows

    def feed(self, data: bytes | memoryview) -> int:
        """Scans a window.

        Args:
            data: The bytes after the consumed ones.

        Returns:
            The number of bytes consumed. The caller passes the others again.

        Raises:
            DocumentError: The document is not well-formed, or exceeds a limit.
        """
        view = memoryview(data)
        consumed = self._consumed
        block = max(1, min(_BLOCK, self._limits.token_bytes))
        for start in range(self._seen - consumed, len(view), block):
            self._block(bytes(view[start : start + block]), False)
            self._seen = consumed + min(start + block, len(view))
        if not self._begun:
            return 0
        self._consumed = self._original(self._base)
        self._remember_tags(view, consumed)
        return self._consumed - consumed

    def finish(self) -> None:
        """Ends the document: no bytes follow.

        Raises:
            DocumentError: The document ends too early, or has an error that can only be judged at
                its end.
            HandOver: The document is well-formed, but must be evaluated whole.
        """
        self._block(b"", True)
        rejection = self._judge.finish()
        if rejection is not None:
            raise self._rejected(rejection)
        if self._complaint is not None:
            if not self._judge.warned:
                raise self._complaint
            self._obstacle = "libxml2 may forgive it"
        if self._judge.misses_entity:
            self._obstacle = self._obstacle or "an entity is used that is not declared"
        obstacle = self._obstacle or self._sweep.obstacle
        self._parser.StartElementHandler = self._parser.EndElementHandler = None
        if obstacle:
            raise HandOver(obstacle)
        if self._sweep.violation is None:
            self._sweep.end(self._seen)
        self._consumed = self._seen

    def take(self) -> Batch:
        """Returns the report since the last call; the scanner drops it."""
        outputs = range(len(self._automaton.outputs))
        if not self._begun:
            ranges = [np.zeros((0, 2), np.int64) for _ in outputs]
            return Batch(ranges, {}, *(_table([], [], [], 0) if self._table else ()))
        ranges = [self._sweep.take(output, self._consumed) for output in outputs]
        now = set(self._originals(self._sweep.open_tags()[0]).tolist())
        tags = {start: tag for start, tag in self._tags.items() if start in now}
        self._tags = {}
        if not isinstance(self._sweep, TableSweep):
            return Batch(ranges, tags)
        parts = self._sweep.elements, self._sweep.ends, self._sweep.leaves
        table = _table(*parts, self._rows_taken)
        self._rows_taken += len(table[0].start)
        for part in parts:
            part.clear()
        return Batch(ranges, tags, *table)

    # -- blocks

    def _block(self, data: bytes, ended: bool) -> None:
        """Lets both parsers read the next bytes."""
        if not self._begun:
            self._head += data
            encoding = find_encoding(self._head, ended)
            if encoding is None:
                return
            data, self._head = self._head, b""
            self._begin(encoding)
        text = data
        if self._transcoder is not None and self._decoded:
            try:
                text = self._transcoder.feed(data, ended)
            except Unmappable:
                self._decoded = False
                if self._failure is None:
                    self._fail(0, 0, self._base + len(self._buffer))
        self._buffer += text
        self._waiting.append(text if self._judge_reads_ours else data)
        held = self._fed - self._base
        if held > _LARGE and len(self._buffer) < 2 * held and not ended:
            return
        if self._failure is None:
            self._parse(ended)
        if self._failure is not None:
            self._guard()
        if not (self._sweep.begun or self._failure or ended):
            # Fed in pieces, libxml2 takes a "]>" in a processing instruction for the end of the
            # subset.
            self._advance()
            return
        waiting, self._waiting = b"".join(self._waiting), []
        rejection = self._judge.feed(waiting) if waiting else None
        if rejection is not None:
            raise self._rejected(rejection)
        self._advance()

    def _begin(self, encoding: Encoding) -> None:
        if not encoding.codec:
            reason = f"the encoding {encoding.name} is not supported"
            raise DocumentError(reason, "convert the document to UTF-8", "", 1, 1, 0)
        self._begun = True
        self._encoding = encoding
        self._transcoder = None if encoding.direct else Transcoder(encoding.codec)
        # libxml2 reads UTF-32 only if it gets the whole document at once.
        self._judge_reads_ours = encoding.codec.startswith("utf-32")
        self._judge = Judge("utf-8" if self._judge_reads_ours else None)
        codec = encoding.codec if encoding.direct else "utf-8"
        self._subset = Subset()
        parser: Any = expat.ParserCreate("us-ascii" if codec == "ascii" else codec, SEPARATOR)
        self._parser = parser
        parser.namespace_prefixes = True
        parser.ordered_attributes = True
        parser.specified_attributes = True  # as in libxml2 without attribute_defaults
        parser.DefaultHandler = None  # so expat does not expand entities in content
        if hasattr(parser, "SetReparseDeferralEnabled"):
            parser.SetReparseDeferralEnabled(False)  # the scanner does this itself
        kind = TableSweep if self._table else Sweep
        self._sweep = kind(parser, self._automaton, self._limits, self._originals)
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EndDoctypeDeclHandler = self._end_doctype
        parser.EntityDeclHandler = self._entity
        parser.AttlistDeclHandler = self._attribute
        parser.SkippedEntityHandler = self._reference

    def _parse(self, ended: bool) -> None:
        """Lets expat read the bytes that it has not read yet."""
        if not self._base and self._fed == 0 and self._buffer.startswith(b"\xef\xbb\xbf"):
            self._sweep.keep(0, 3)
            self._prolog = 3
        if self._fed == 0 and b"\0" in self._buffer[:4]:
            self._fail(1, 1, 0)  # expat would guess UTF-16; libxml2 does not
            return
        self._sweep.move(self._buffer, self._base)
        if not self._sweep.careful and _ID.search(self._buffer):
            self._sweep.be_careful(self._check)
        fresh = self._buffer[self._fed - self._base :]
        self._fed += len(fresh)
        try:
            self._parser.Parse(fresh, ended)
            self._sweep.digest()
        except expat.ExpatError as error:
            at = self._parser.ErrorByteIndex
            if error.code == expat.errors.codes.get(_AMPLIFICATION):
                place = error.lineno, error.offset + 1, self._original(at)
                reason = self._limits.passed("entity_bytes")
                raise DocumentError(reason, _BOMB_HINT, "", *place) from None
            back = 2 * (self._buffer[: at - self._base][-2:] == b"</")  # at the < of an end tag
            self._fail(error.lineno, error.offset + 1 - back, at - back)
        except DocumentError as error:
            raise self._mapped(error) from None

    def _fail(self, line: int, column: int, offset: int) -> None:
        """Notes an error of expat and goes on with libxml2 alone."""
        self._failure = (line, column, self._original(offset))
        self._unread = offset
        self._obstacle = "libxml2 reads it, expat does not"
        self._sweep.give_up()

    def _guard(self) -> None:
        """Checks entity expansion where libxml2 would read the rest without expat."""
        unread = max(0, self._unread - self._base)
        if self._subset.entities or self._buffer.find(_ENTITY, unread) >= 0:
            assert self._failure is not None
            reason = "it declares entities, and has characters that only libxml2 reads"
            hint = "then the expansion of entities cannot be bounded; expand them first"
            raise DocumentError(reason, hint, "", *self._failure)

    def _advance(self) -> None:
        """Stores the report, and drops the bytes that are no longer needed."""
        sweep = self._sweep
        end = self._base + len(self._buffer)
        index = end - len(_ENTITY) if self._failure else self._parser.CurrentByteIndex
        index = min(max(index, self._base), end)
        if self._failure is None:
            self._check_tokens(index, end)
            keep = sweep.pending(index)
            if self._prolog >= 0:
                keep = self._pass_prolog(keep)
        else:
            keep = max(self._base, index)
        self._lines += self._buffer.count(b"\n", 0, keep - self._base)
        self._buffer = self._buffer[keep - self._base :]
        self._base = keep
        if self._transcoder is not None:
            needed = np.concatenate(sweep.open_tags())
            self._transcoder.forget(keep, needed[needed < keep])
        if len(self._parser.intern) > _INTERNED:
            self._parser.intern.clear()

    def _pass_prolog(self, keep: int) -> int:
        """Consumes comments before the root; a DOCTYPE stays until it is complete."""
        if self._sweep.begun:
            self._prolog = -1
            return keep
        misc = MISC.match(self._buffer, max(0, self._prolog - self._base))
        assert misc is not None
        self._prolog = misc.end() + self._base
        if len(self._buffer) - misc.end() > self._limits.token_bytes:
            reason = self._limits.passed("token_bytes")
            raise DocumentError(reason, RAISE, "", 0, 0, self._original(self._prolog))
        return min(keep, self._prolog)

    def _check_tokens(self, index: int, end: int) -> None:
        """Rejects tokens that are too long; all such tokens are torn between blocks."""
        longest = self._limits.token_bytes
        torn = self._torn
        self._torn = index if index < end else -1
        too_long = end - index > longest
        if not too_long and 0 <= torn < index:
            too_long = _end_of_token(self._buffer, torn - self._base) + self._base - torn > longest
        if too_long:
            at = torn if torn >= 0 else index
            reason = self._limits.passed("token_bytes")
            raise DocumentError(reason, RAISE, "", 0, 0, self._original(at))

    # -- the report

    def _remember_tags(self, view: memoryview, consumed: int) -> None:
        """Stores the open start tags that begin in a window."""
        starts, stops = map(self._originals, self._sweep.open_tags())
        for number in np.flatnonzero(starts >= consumed).tolist():
            start, stop = int(starts[number]), int(stops[number])
            self._tags[start] = bytes(view[start - consumed : stop - consumed])

    def _original(self, offset: int) -> int:
        return offset if self._transcoder is None else self._transcoder.original(offset)

    def _originals(self, offsets: Numbers) -> Numbers:
        return offsets if self._transcoder is None else self._transcoder.originals(offsets)

    # -- events other than elements

    def _declaration(self, *_: object) -> None:
        at = self._parser.CurrentByteIndex
        stop = self._buffer.index(b"?>", at - self._base) + 2 + self._base
        self._sweep.keep(self._prolog, stop)
        self._prolog = stop

    def _doctype(self, *_: object) -> None:
        misc = MISC.match(self._buffer, self._prolog - self._base)
        assert misc is not None
        self._prolog = misc.end() + self._base
        self._sweep.in_doctype = True
        self._parser.DefaultHandler = self._declared

    def _declared(self, text: str) -> None:
        if text.startswith("%"):
            reason = f"the internal subset refers to a parameter entity, {text}"
            hint = "parameter entities are never read; write out what it stands for"
            raise self._sweep.error(reason, hint)

    def _end_doctype(self) -> None:
        self._parser.DefaultHandler = None
        self._sweep.in_doctype = False
        stop = self._parser.CurrentByteIndex + 1
        self._sweep.keep(self._prolog, stop)
        self._prolog = stop
        self._obstacle = self._obstacle or self._subset.obstacle
        if not self._subset.plain:
            self._sweep.be_careful(self._check)

    def _entity(self, name: str, parameter: int, value: str | None, *_: object) -> None:
        if not parameter and value is not None:
            self._subset.entity(name, value)
        elif not parameter:
            self._judge.external.add(name)

    def _attribute(self, element: str, name: str, kind: str, default: str | None, _: int) -> None:
        self._subset.attribute(element, name, kind, default)

    def _reference(self, name: str, parameter: int) -> None:
        if not parameter:
            self._references += 1
            self._expand(self._subset.expansion(name))
            self._obstacle = self._obstacle or self._subset.obstacle

    def _expand(self, count: int) -> None:
        self._expanded += count
        limits, passed = self._limits, ""
        if self._expanded > limits.entity_bytes:
            passed = "entity_bytes"
        elif self._references > limits.entity_references:
            passed = "entity_references"
        elif self._expanded > limits.entity_free_bytes:
            read = max(1, self._parser.CurrentByteIndex)
            passed = "entity_ratio" if self._expanded > limits.entity_ratio * read else ""
        if passed:
            raise self._sweep.error(limits.passed(passed), _BOMB_HINT)

    def _check(self, name: str, attributes: list[str]) -> None:
        """Looks at a start tag in a document that has IDs, or an internal subset."""
        subset = self._subset
        element = split_name(name)[2]
        if not subset.plain:
            at = self._parser.CurrentByteIndex
            values = sum(map(len, attributes[1::2]))
            self._expand(max(0, values - (self._sweep.end_of_tag(at) - at)))
            self._expand(subset.defaults.get(element, 0))
        declared = subset.ids.get(element, ())
        for attribute, value in zip(attributes[::2], attributes[1::2], strict=True):
            if attribute == _XML_ID or (declared and split_name(attribute)[2] in declared):
                problem = id_problem(value) if attribute == _XML_ID else ""
                if value in self._ids:
                    problem = problem or f"the ID {value[:100]!r} is there twice"
                self._ids.add(value)
                if problem and self._complaint is None:
                    error = self._sweep.error(problem, "IDs are names, each used only once")
                    self._complaint = self._mapped(error)

    # -- errors

    def _mapped(self, error: DocumentError) -> DocumentError:
        """Maps the offset of an error from the bytes that expat reads to the document."""
        place = error.line, error.column, self._original(error.offset)
        return DocumentError(error.reason, error.hint, "", *place)

    def _rejected(self, rejection: ParserRejection) -> DocumentError:
        """Returns libxml2's reason, with expat's position where both report the same error."""
        reason, hint, line, column = rejection
        offset = -1
        if self._failure is not None and self._failure[0] in (line, 0):
            line, column, offset = self._failure
        elif line > self._lines:
            offset = self._original(self._find(line, column))
        return DocumentError(reason, hint, "", line, column, offset)

    def _find(self, line: int, column: int) -> int:
        """Returns the offset of a line and column of the buffer, in the bytes that expat reads."""
        at = 0
        for _ in range(line - self._lines - 1):
            at = self._buffer.find(b"\n", at) + 1
        return self._base + min(at + max(0, column - 1), len(self._buffer))


def _table(
    elements: list[Columns], ends: list[Columns], leaves: list[Columns], first: int
) -> tuple[Elements, Ends, Leaves]:
    """Joins columns to a node table; ``first`` is its first row."""
    state, parent, start, content, position, symbol = _joined(elements, "iiqqii")
    close, end = np.full((2, len(start)), -1, np.int64)
    row, closed, ended = _joined(ends, "iqq")
    own = row >= first
    close[row[own] - first] = closed[own]
    end[row[own] - first] = ended[own]
    return (
        Elements(state, parent, start, content, position, symbol, close, end),
        Ends(row[~own], closed[~own], ended[~own]),
        Leaves(*_joined(leaves, "ibqqi")),
    )


def _joined(parts: list[Columns], types: str) -> Iterator[NDArray[Any]]:
    for number, kind in enumerate(types):
        column = [part[number] for part in parts]
        yield np.concatenate([np.zeros(0, np.int64), *column]).astype(kind)


_AMPLIFICATION: Final = "limit on input amplification factor (from DTD and entities) breached"


def _end_of_token(buffer: bytes, at: int) -> int:
    """Returns the end of a complete tag, comment or processing instruction."""
    for start, stop in ((b"<!--", b"-->"), (b"<?", b"?>"), (b"<!", b">"), (b"</", b">")):
        if buffer.startswith(start, at):
            return buffer.find(stop, at) + len(stop)
    if buffer.startswith(b"<", at):
        tag = TAG.match(buffer, at)
        return tag.end() if tag else len(buffer)
    return at
