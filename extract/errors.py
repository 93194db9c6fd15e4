"""Everything that can go wrong, under one root.

Each error names what happened, where, and what to do about it. Fields are positional, so that
errors survive pickling between processes; formatting happens in ``__str__``. Library code raises
these and never prints or exits: that is the command line's part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from unicodedata import category

NO_ROOM: Final = "free some space, or choose a place on another disk"


class ExtractError(Exception):
    """The root of all errors that `extract` raises on purpose.

    Args:
        reason: What is wrong, one sentence without a full stop.
        hint: What the user can do about it; empty when there is nothing to say.
        file: The file it is about, as the user named it; empty when there is none.
        line: Line in that file, from 1; 0 when unknown.
        column: Column in that line, from 1; 0 when unknown.
    """

    def __init__(
        self, reason: str, hint: str = "", file: str = "", line: int = 0, column: int = 0
    ) -> None:
        super().__init__(reason, hint, file, line, column)
        self.reason = reason
        self.hint = hint
        self.file = file
        self.line = line
        self.column = column

    @property
    def place(self) -> str:
        """Where it happened, as ``file:line:column`` with the unknown parts left out."""
        parts = [self.file] if self.file else []
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)

    def __str__(self) -> str:
        message = f"{self.place}: {self.reason}" if self.place else self.reason
        return f"{message}\nHint: {self.hint}" if self.hint else message

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter show: the message alone, which says what to do."""
        return f"{type(self).__name__}: {self}".splitlines()


class QuerySyntaxError(ExtractError):
    """One XPath that cannot be taken; the other queries go on.

    Args:
        xpath: The expression; shown with a caret under ``offset``.
        offset: Position in ``xpath`` of what is wrong, from 0; -1 when it is about the whole.
    """

    def __init__(
        self,
        reason: str,
        hint: str = "",
        file: str = "",
        line: int = 0,
        column: int = 0,
        xpath: str = "",
        offset: int = -1,
    ) -> None:
        super().__init__(reason, hint, file, line, column)
        self.args = (reason, hint, file, line, column, xpath, offset)
        self.xpath = xpath
        self.offset = offset

    def at(self, file: str, line: int, column: int) -> QuerySyntaxError:
        """The same error, placed in a query file whose XPath starts at this line and column."""
        return type(self)(
            self.reason,
            self.hint,
            file,
            line,
            column + max(self.offset, 0) if column else 0,
            self.xpath,
            self.offset,
        )

    def __str__(self) -> str:
        message = f"{self.place}: {self.reason}" if self.place else self.reason
        if self.xpath:
            shown, caret = _excerpt(self.xpath, self.offset)
            message += f"\n  {shown}"
            if caret >= 0:
                message += f"\n  {' ' * caret}^"
        return f"{message}\nHint: {self.hint}" if self.hint else message


class SubscriptionsError(ExtractError):
    """A query file that cannot be used as a whole."""


class SchemaError(ExtractError):
    """A DTD or XSD that cannot be used: missing, broken, partly loaded, or refused."""


class SchemeError(ExtractError):
    """A scheme file that cannot be used: damaged, of another version, or for another schema."""


class DocumentError(ExtractError):
    """A document that cannot be processed.

    Args:
        offset: Byte of the document (decompressed, BOM included) where it went wrong, from 0; -1
            when unknown.

    >>> print(DocumentError("the end tag is missing", "", "a.xml", 3, 7, 29))
    a.xml:3:7: the end tag is missing
    >>> print(DocumentError("the end tag is missing", "", "a.xml", offset=29))
    a.xml: the end tag is missing (byte 29)
    """

    def __init__(
        self,
        reason: str,
        hint: str = "",
        file: str = "",
        line: int = 0,
        column: int = 0,
        offset: int = -1,
    ) -> None:
        super().__init__(reason, hint, file, line, column)
        self.args = (reason, hint, file, line, column, offset)
        self.offset = offset

    def at(self, file: str, line: int, column: int) -> DocumentError:
        """The same error, with the place that its offset is."""
        return type(self)(self.reason, self.hint, file, line, column, self.offset)

    def __str__(self) -> str:
        # Line and column say it better, where they are known.
        byte = f" (byte {self.offset:,})" if self.offset >= 0 and not self.line else ""
        message = f"{self.place}: {self.reason}{byte}" if self.place else f"{self.reason}{byte}"
        return f"{message}\nHint: {self.hint}" if self.hint else message


class MatcherError(ExtractError):
    """A matcher that cannot be loaded, or that failed."""


class BrokerError(ExtractError):
    """What a broker refuses, or a broker that does not answer.

    Args:
        status: Of HTTP; 0 if there was no answer.
        body: What else the broker says, as ``oldest`` where ``status`` is 410.
    """

    def __init__(
        self,
        reason: str,
        hint: str = "",
        file: str = "",
        line: int = 0,
        column: int = 0,
        status: int = 0,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(reason, hint, file, line, column)
        self.args = (reason, hint, file, line, column, status, body)
        self.status = status
        self.body: Mapping[str, Any] = body or {}


class JoinError(ExtractError):
    """Joins that cannot go on: a state past its limit, a stream or snapshot that cannot be used."""


_SHOWN = 100


def _excerpt(xpath: str, offset: int) -> tuple[str, int]:
    """One line of at most ``_SHOWN`` characters around ``offset``, and where the caret goes.

    Control characters and lone surrogates are shown as a replacement character: an expression from
    a stranger must neither break the output nor speak to the terminal.
    """
    start = max(0, min(offset - _SHOWN // 2, len(xpath) - _SHOWN))
    head, tail = ("..." if start else ""), ("..." if start + _SHOWN < len(xpath) else "")
    caret = offset - start + len(head) if offset >= 0 else -1
    shown = (
        " " if c in "\t\r\n" else "\ufffd" if category(c) in ("Cc", "Cs") else c
        for c in xpath[start : start + _SHOWN]
    )
    return f"{head}{''.join(shown)}{tail}", caret
