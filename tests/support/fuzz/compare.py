"""What the kernel, lxml and expat think of a document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from xml.parsers import expat

from lxml import etree

from extract.chunktool.automaton.automaton import StateInfo
from extract.chunktool.scan.kernel import KernelScanner
from extract.chunktool.scan.protocol import Batch, HandOver
from extract.errors import DocumentError
from extract.markup.node_kinds import NodeKind

GOOD, BAD, HANDED_OVER = "well-formed", "ill-formed", "handed over"


class Anything:
    """An automaton that allows every document and has one output, which keeps all or nothing.

    Args:
        skip: Nothing below the root is looked at, only whether it is well-formed.
        assume_valid: And not even that.
    """

    START, ILLEGAL, FULL = 0, -1, -2
    outputs = ("all",)

    def __init__(self, skip: bool = False, assume_valid: bool = False) -> None:
        self.skip = skip
        self.assume_valid = assume_valid

    def symbol(self, uri: str, local: str) -> int:
        return 0

    def attribute_symbol(self, uri: str, local: str) -> int:
        return 0

    def step(self, state: int, symbol: int) -> int:
        return 1 if state == 0 else 2

    def allows(self, state: int, attribute: int) -> bool:
        return True

    def info(self, state: int) -> StateInfo:
        if state == 0:
            return StateInfo((), (), (0,), False, False)
        if self.skip:
            return StateInfo((), (0,) if state == 1 else (), (), False, True)
        return StateInfo((0,) if state == 1 else (), (), (), True, False)


def lxml_verdict(document: bytes) -> str:
    """lxml's verdict, which is the one that counts."""
    parser = etree.XMLParser(resolve_entities="internal", no_network=True, huge_tree=True)
    try:
        etree.fromstring(document, parser)
    except etree.XMLSyntaxError:
        return BAD
    return GOOD


class Answer(NamedTuple):
    """What the kernel says of a document; batches in the order in which they came."""

    verdict: str
    reason: str = ""
    batches: tuple[Batch, ...] = ()


def kernel_answer(
    automaton: Any, document: bytes, windows: Iterable[int] | None = None, table: bool = False
) -> Answer:
    """The kernel's answer.

    Args:
        automaton: What it follows.
        document: The document.
        windows: How many fresh bytes each window has; None for a single one.
        table: Whether to fill the node table.
    """
    scanner = KernelScanner(automaton, table=table)
    batches = []
    try:
        if windows is None:
            scanner.feed(document)
        else:
            at = seen = 0
            for size in windows:
                if seen >= len(document):
                    break
                seen = min(seen + size, len(document))
                # Copied, so that a sanitizer sees it if something behind the window is read.
                at += scanner.feed(document[at:seen])
                batches.append(scanner.take())
        scanner.finish()
    except HandOver as reason:
        return Answer(HANDED_OVER, reason.reason)
    except DocumentError as error:
        if not 0 <= error.offset <= len(document):
            return Answer("lost", f"{error.reason} at {error.offset}")
        return Answer(BAD, error.reason)
    batches.append(scanner.take())
    return Answer(GOOD, "", tuple(batches))


def kernel_events(batch: Batch) -> list[tuple[str, int, int]]:
    """What the node table says there is: kind, first byte, byte after, of everything but texts."""
    assert batch.elements is not None
    assert batch.leaves is not None
    extents = zip(batch.elements.start.tolist(), batch.elements.end.tolist(), strict=True)
    found = [(start, "element", end) for start, end in extents]
    kinds: dict[int, str] = {
        NodeKind.CDATA: "cdata",
        NodeKind.COMMENT: "comment",
        NodeKind.PI: "pi",
    }
    for kind, start, stop in zip(
        batch.leaves.kind, batch.leaves.start, batch.leaves.end, strict=True
    ):
        if int(kind) in kinds:
            found.append((int(start), kinds[int(kind)], int(stop)))
    return [(kind, start, stop) for start, kind, stop in sorted(found)]


def expat_events(document: bytes) -> list[tuple[str, int, int]] | None:
    """The same as expat sees it; None if expat does not read the document."""
    parser: Any = expat.ParserCreate(None, " ")
    found: list[tuple[int, str, int]] = []
    starts: list[int] = []

    def end(_: str) -> None:
        start, at = starts.pop(), parser.CurrentByteIndex
        # Of an empty-element tag expat gives the place of the end as that of the start, or after.
        stop = document.index(b">", at) + 1 if document.startswith(b"</", at) else at
        found.append((start, "element", stop))

    def aside(kind: str, stop: bytes, width: int) -> None:
        at = parser.CurrentByteIndex
        found.append((at, kind, document.index(stop, at + width) + len(stop)))

    parser.StartElementHandler = lambda *_: starts.append(parser.CurrentByteIndex)
    parser.EndElementHandler = end
    parser.CommentHandler = lambda *_: aside("comment", b"-->", 4)
    parser.ProcessingInstructionHandler = lambda *_: aside("pi", b"?>", 2)
    parser.StartCdataSectionHandler = lambda: aside("cdata", b"]]>", 9)

    def doctype(*_: Any) -> None:  # what is in the internal subset is no node of the document
        parser.CommentHandler = parser.ProcessingInstructionHandler = None

    def end_doctype() -> None:
        parser.CommentHandler = lambda *_: aside("comment", b"-->", 4)
        parser.ProcessingInstructionHandler = lambda *_: aside("pi", b"?>", 2)

    parser.StartDoctypeDeclHandler, parser.EndDoctypeDeclHandler = doctype, end_doctype
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, LookupError, ValueError):
        return None
    return [(kind, start, stop) for start, kind, stop in sorted(found)]


ALL: Any = Anything()
SKIP: Any = Anything(skip=True)


def difference(document: bytes, windows: Iterable[int] | None = None, events: bool = True) -> str:
    """How the kernel differs from lxml and expat, or from itself; empty if it does not.

    Args:
        document: The document.
        windows: Sizes of windows in which it is fed a second time; None to do without.
        events: Whether to compare what is where with what expat says.
    """
    answer = kernel_answer(ALL, document, table=events)
    verdict = lxml_verdict(document)
    if answer.verdict not in (verdict, HANDED_OVER):
        return f"the kernel says {answer.verdict} ({answer.reason}), lxml {verdict}"
    other = kernel_answer(SKIP, document)
    if other.verdict != answer.verdict:
        return f"{answer} when it looks, {other} when it skips"
    if windows is not None:
        parts = kernel_answer(ALL, document, windows)
        if parts.verdict != answer.verdict:
            return f"{answer} at once, {parts} in windows"
    if events and answer.verdict == GOOD:
        expected, found = expat_events(document), kernel_events(answer.batches[0])
        # expat puts the end of an empty-element tag at its start; the kernel behind it.
        if expected is not None and _same(document, expected, found) is False:
            return f"expat sees {expected}, the kernel {found}"
    return ""


def _same(
    document: bytes, expected: list[tuple[str, int, int]], found: list[tuple[str, int, int]]
) -> bool:
    """Whether events are the same, ends of empty-element tags aside, which expat does not tell."""
    if len(expected) != len(found):
        return False
    for (kind, start, stop), (other, first, last) in zip(expected, found, strict=True):
        empty = document[last - 2 : last] == b"/>" and kind == "element"
        if (kind, start) != (other, first) or (stop != last and not empty):
            return False
    return True
