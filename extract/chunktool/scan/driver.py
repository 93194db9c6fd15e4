"""Chooses a scanner, and drives it over a document from the first byte to the last.

The kernel in C scans the documents that it supports. At anything else it hands over to the
reference scanner, which starts again at the first byte; and where that hands over too, the document
is evaluated whole. The answers are the same; only speed and `Outcome.handed_over` differ.
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

ENVIRONMENT = "EXTRACT_KERNEL"  # "off": never use the kernel; "on": require it


class Verdict(StrEnum):
    """The verdict of a scan on a well-formed document.

    Attributes:
        CONFORMING: The document keeps to the edges of the schema, so its chunks count.
        NONCONFORMING: It does not; it must be evaluated whole.
        WHOLE: No scanner supports it; it must be evaluated whole, and may still be ill-formed.
    """

    CONFORMING = "conforming"
    NONCONFORMING = "nonconforming"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a scan.

    Attributes:
        verdict: The verdict on the document.
        size: Bytes of the document; -1 if it was not read to its end.
        scanner: The scanner that read it, ``kernel`` or ``reference``; empty if none could.
        handed_over: Why scanners handed over, in their order.
        violation: The first edge that the schema does not have.
        line, column: The place of the violation.
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
        """Whether the chunks cut from the document count."""
        return self.verdict is Verdict.CONFORMING

    @property
    def reason(self) -> str:
        """Why the document must be evaluated whole, for people; empty if it need not be."""
        if self.violation is not None:
            return edge_in_words(self.violation)
        return self.handed_over[-1] if self.verdict is Verdict.WHOLE else ""

    def rejection(self, name: str) -> DocumentError:
        """Returns the error with which a nonconforming document is rejected."""
        assert self.violation is not None
        hint = "use --on-nonconforming fallback to evaluate such documents whole"
        place = (name, self.line, self.column, self.violation.offset)
        return DocumentError(f"the document breaks the schema: {self.reason}", hint, *place)


def edge_in_words(violation: Violation) -> str:
    """Why a document breaks the schema.

    >>> edge_in_words(Violation(3, "/a", "b"))
    '/a has a child b, which the schema does not know'
    """
    parent = violation.path or "the document"
    if violation.child.startswith("@"):
        return f"{parent} has an attribute {violation.child[1:]}, which the schema does not know"
    if not violation.path:
        return f"the document element is {violation.child}, which is none of the schema's roots"
    return f"{parent} has a child {violation.child}, which the schema does not know"


class Sink(Protocol):
    """Receives the reports of a scan, window by window."""

    def restart(self) -> None:
        """Drops everything received: a scan begins, perhaps not the first one."""

    def take(self, window: Window, batch: Batch) -> None:
        """Receives the report on one window.

        Raises:
            HandOver: The sink cannot handle the report; the document must be evaluated whole.
        """


class BatchSink:
    """A sink that stores batches, and nothing of the windows.

    Attributes:
        batches: The batches, window by window.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def restart(self) -> None:
        """Drops all batches."""
        self.batches.clear()

    def take(self, window: Window, batch: Batch) -> None:
        """Stores the batch of a window."""
        self.batches.append(batch)


MakeScanner = Callable[[Automaton, Limits, bool], Scanner]


@cache
def load_kernel() -> type[KernelScanner] | None:
    """Returns the class of the kernel in C; None if it is not built."""
    try:
        module = importlib.import_module("extract.chunktool.scan.kernel")
        kernel: type[KernelScanner] = module.KernelScanner
    except (ImportError, AttributeError):
        return None
    return kernel


def kernel_available() -> bool:
    """Whether the kernel in C is built and may be used."""
    return os.environ.get(ENVIRONMENT, "") != "off" and load_kernel() is not None


def kernel_scanner() -> type[KernelScanner] | None:
    """Returns the kernel's class, for what only it can do; None if it is not to be used.

    Raises:
        ExtractError: The environment requires the kernel, and it is not built.
    """
    return load_kernel() if _wants_kernel(None) else None


def _wants_kernel(kernel: bool | None) -> bool:
    """Whether to use the kernel.

    Raises:
        ExtractError: The kernel is required and not built.
    """
    if kernel is None:
        setting = os.environ.get(ENVIRONMENT, "")
        if setting not in ("", "on", "off"):
            raise ExtractError(
                f"{ENVIRONMENT} is {setting!r}", "set it to on or off, or not at all"
            )
        kernel = {"on": True, "off": False}.get(setting, load_kernel() is not None)
    if kernel and load_kernel() is None:
        hint = "install a C compiler and install extract again; `extract doctor` says more"
        raise ExtractError("the native kernel is asked for, and is not built", hint)
    return kernel


def scanners(kernel: bool | None) -> Iterator[tuple[str, MakeScanner]]:
    """Yields the scanners to try, in order."""
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
    """Scans a document and passes the reports to a sink.

    Args:
        source: The document.
        automaton: The automaton to follow.
        sink: Receives the reports. They count only if the outcome is conforming.
        limits: The largest document, depth and so on.
        table: Whether to fill the node table.
        kernel: Whether to use the kernel or the reference scanner; None leaves the choice to the
            environment variable ``EXTRACT_KERNEL`` (``on`` or ``off``), and without it to whether
            the kernel is built.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or exceeds a limit; with
            file, byte offset, line and column.
        ExtractError: The kernel is required and not built.
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
    """Adds file, line and column to an error."""
    if error.line or error.offset < 0:
        return error.at(source.name, error.line, error.column)
    try:
        return error.at(source.name, *source.place(error.offset))
    except DocumentError:  # a broken gzip stream cannot be read a second time either
        return error.at(source.name, 0, 0)


def _drive(source: Source, scanner: Scanner, sink: Sink, limits: Limits) -> int:
    """Feeds a document to a scanner and its batches to a sink; returns the document's size."""
    if source.memory is not None:
        return _drive_at_once(source.memory, scanner, sink)
    source.rewind()
    buffer = memoryview(bytearray(WINDOW))
    start = 0  # offset of the buffer in the document
    filled = 0  # bytes of the buffer that the last window left over
    while True:
        if 2 * filled > len(buffer):  # a token is longer than the buffer
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
    """`_drive` for a document in memory: one window with all of it."""
    if not len(data):
        raise _empty()
    scanner.feed(data)
    scanner.finish()
    if scanner.violation is None:
        sink.take(Window(data, 0), scanner.take())
    return len(data)


def _empty() -> DocumentError:
    return DocumentError("the document is empty", "", "", 0, 0, 0)
