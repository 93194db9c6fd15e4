"""Chooses a scanner, and drives it over a document from the first byte to the last.

The kernel in C scans what it can. Where it meets something that it leaves to others it hands over
to the reference scanner, which starts again; and where that hands over too, the document is to be
evaluated whole. Nobody notices but in speed, and in the counts of `Outcome.handed_over`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Protocol

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.input.source import WINDOW, Source
from extract.chunktool.scan.byte_ranges import Window
from extract.chunktool.scan.protocol import Batch, HandOver, Scanner, Violation
from extract.errors import DocumentError, ExtractError
from extract.limits import DEFAULTS, RAISE, Limits

if TYPE_CHECKING:
    from extract.chunktool.scan.kernel import KernelScanner

ENVIRONMENT = "EXTRACT_KERNEL"  # "off": never use the kernel; "on": never do without


class Verdict(StrEnum):
    """What a scan says of a document that is well-formed.

    Attributes:
        CONFORMING: It keeps to the edges of the schema, so what was cut out of it counts.
        NONCONFORMING: It does not; nothing may be left out of it.
        WHOLE: No scanner could do it; it is to be evaluated whole, and may still be ill-formed.
    """

    CONFORMING = "conforming"
    NONCONFORMING = "nonconforming"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a scan.

    Attributes:
        verdict: What was found.
        size: Bytes of the document; -1 if it was not read to its end.
        scanner: Which scanner did it, ``kernel`` or ``reference``; empty if none could.
        handed_over: Why scanners handed over, in their order.
        violation: The first edge that the schema does not have.
        line, column: Where that is.
    """

    verdict: Verdict
    size: int = -1
    scanner: str = ""
    handed_over: tuple[str, ...] = ()
    violation: Violation | None = None
    line: int = 0
    column: int = 0

    @property
    def conforming(self) -> bool:
        """Whether what was cut out of the document counts."""
        return self.verdict is Verdict.CONFORMING

    @property
    def reason(self) -> str:
        """Why the document is to be evaluated whole, for people; empty if it is not."""
        if self.violation is not None:
            return _edge(self.violation)
        return self.handed_over[-1] if self.verdict is Verdict.WHOLE else ""

    def rejection(self, name: str) -> DocumentError:
        """The error that a nonconforming document is, where it is to be rejected."""
        assert self.violation is not None
        hint = "use --on-nonconforming fallback to evaluate such documents whole"
        place = (name, self.line, self.column, self.violation.offset)
        return DocumentError(f"the document breaks the schema: {self.reason}", hint, *place)


def _edge(violation: Violation) -> str:
    parent = violation.path or "the document"
    if violation.child.startswith("@"):
        return f"{parent} has an attribute {violation.child[1:]}, which the schema does not know"
    if not violation.path:
        return f"the document element is {violation.child}, which is none of the schema's roots"
    return f"{parent} has a child {violation.child}, which the schema does not know"


class Sink(Protocol):
    """Takes what a scan finds, window by window."""

    def restart(self) -> None:
        """Forgets everything: a scan begins, perhaps not for the first time."""

    def take(self, window: Window, batch: Batch) -> None:
        """Takes what was found in a window.

        Raises:
            HandOver: It cannot be dealt with; the document is to be evaluated whole.
        """


class BatchSink:
    """A sink that keeps what a scan says, and nothing of the windows.

    Attributes:
        batches: What was found, window by window.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def restart(self) -> None:
        """Forgets everything."""
        self.batches.clear()

    def take(self, window: Window, batch: Batch) -> None:
        """Keeps what was found in a window."""
        self.batches.append(batch)


MakeScanner = Callable[[Automaton, Limits, bool], Scanner]


@cache
def load_kernel() -> type[KernelScanner] | None:
    """The class of the kernel in C; None if it is not built."""
    try:
        module = importlib.import_module("extract.chunktool.scan.kernel")
        kernel: type[KernelScanner] = module.KernelScanner
    except (ImportError, AttributeError):
        return None
    return kernel


def kernel_available() -> bool:
    """Whether the kernel in C is there and may be used."""
    return os.environ.get(ENVIRONMENT, "") != "off" and load_kernel() is not None


def kernel_scanner() -> type[KernelScanner] | None:
    """The kernel itself, for what only it can do; None if it is not to be used.

    Raises:
        ExtractError: It is asked for and not there.
    """
    return load_kernel() if _wants_kernel(None) else None


def _wants_kernel(kernel: bool | None) -> bool:
    """Whether to use the kernel.

    Raises:
        ExtractError: It is asked for and not there.
    """
    if kernel is None:
        asked = os.environ.get(ENVIRONMENT, "")
        if asked not in ("", "on", "off"):
            raise ExtractError(f"{ENVIRONMENT} is {asked!r}", "set it to on or off, or not at all")
        kernel = {"on": True, "off": False}.get(asked, load_kernel() is not None)
    if kernel and load_kernel() is None:
        hint = "install a C compiler and install extract again; `extract doctor` says more"
        raise ExtractError("the native kernel is asked for, and is not built", hint)
    return kernel


def scanners(kernel: bool | None) -> Iterator[tuple[str, MakeScanner]]:
    """The scanners to try, in their order."""
    if _wants_kernel(kernel):
        make = load_kernel()
        assert make is not None
        yield "kernel", make
    yield (
        "reference",
        importlib.import_module("extract.chunktool.scan.reference.scanner").ReferenceScanner,
    )


def scan(
    source: Source,
    automaton: Automaton,
    sink: Sink,
    limits: Limits | None = None,
    table: bool = False,
    kernel: bool | None = None,
) -> Outcome:
    """Scans a document.

    Args:
        source: The document.
        automaton: What to look for.
        sink: Takes what is found. It counts only if the outcome says that the document conforms.
        limits: How large a document may be.
        table: Whether to fill the node table.
        kernel: Use the kernel, or the reference scanner; None leaves the choice to the environment
            variable ``EXTRACT_KERNEL`` (``on`` or ``off``), and without it to what is there.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or passes a limit; with
            file, byte offset, line and column.
        ExtractError: The kernel is asked for and not there.
    """
    limits = limits or DEFAULTS
    handed_over: list[str] = []
    for name, make in scanners(kernel):
        sink.restart()
        scanner = make(automaton, limits, table)
        try:
            size = _drive(source, scanner, sink, limits)
        except HandOver as cause:
            handed_over.append(cause.reason)
        except DocumentError as error:
            raise _placed(error, source) from error.__cause__
        else:
            return _outcome(scanner.violation, source, size, name, tuple(handed_over))
    return Outcome(Verdict.WHOLE, handed_over=tuple(handed_over))


def _outcome(
    violation: Violation | None, source: Source, size: int, name: str, handed_over: tuple[str, ...]
) -> Outcome:
    if violation is None:
        return Outcome(Verdict.CONFORMING, size, name, handed_over)
    place = source.place(violation.offset)
    return Outcome(Verdict.NONCONFORMING, size, name, handed_over, violation, *place)


def _placed(error: DocumentError, source: Source) -> DocumentError:
    """The error with file, line and column."""
    if error.line or error.offset < 0:
        return error.at(source.name, error.line, error.column)
    try:
        return error.at(source.name, *source.place(error.offset))
    except DocumentError:  # what cannot be unpacked cannot be read again up to there
        return error.at(source.name, 0, 0)


def _drive(source: Source, scanner: Scanner, sink: Sink, limits: Limits) -> int:
    """Feeds a document to a scanner and what it finds to a sink; returns the document's size."""
    if source.memory is not None:
        return _drive_at_once(source.memory, scanner, sink)
    source.rewind()
    buffer = memoryview(bytearray(WINDOW))
    start = 0  # where in the document the buffer begins
    filled = 0  # how much of it was left over by the last window
    while True:
        if 2 * filled > len(buffer):  # a token does not fit
            if filled > limits.token_bytes:
                raise DocumentError(limits.passed("token_bytes"), RAISE, "", 0, 0, start)
            larger = memoryview(bytearray(2 * len(buffer)))
            larger[:filled] = buffer[:filled]
            buffer = larger
        fresh = source.read_into(buffer[filled:])
        if not (start or filled or fresh):
            raise _empty()
        ended = filled + fresh < len(buffer)
        data = buffer[: filled + fresh]
        consumed = scanner.feed(data.toreadonly()) if fresh else 0
        if ended:
            scanner.finish()
            consumed = len(data)
        if scanner.violation is None:
            sink.take(Window(data[:consumed], start), scanner.take())
        else:
            scanner.take()
        if ended:
            return start + len(data)
        filled = len(data) - consumed
        buffer[:filled] = data[consumed:]
        start += consumed


def _drive_at_once(data: memoryview, scanner: Scanner, sink: Sink) -> int:
    """The same for a document in memory: the only window is all of it."""
    if not len(data):
        raise _empty()
    scanner.feed(data)
    scanner.finish()
    if scanner.violation is None:
        sink.take(Window(data, 0), scanner.take())
    return len(data)


def _empty() -> DocumentError:
    return DocumentError("the document is empty", "", "", 0, 0, 0)
