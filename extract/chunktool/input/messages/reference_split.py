"""Where the documents or records of a file begin and end: the rules, in Python.

Used where nothing was compiled, and to compare the splitters in C with.

**Documents one after the other.** A document begins with a byte order mark, an XML declaration, a
DOCTYPE, a comment, a processing instruction or a tag. It ends with its document element, and with
the comments and processing instructions behind that. White space between documents belongs to
none. A document that is broken ends where the first of these says so:

- its tags are balanced, whatever their names are, or the last element of the document element's
  name is closed, whatever is open inside;
- an XML declaration, or a DOCTYPE that cannot be its own, begins: no document has one inside;
- the file ends. Then it is `unfinished`, and may have taken others with it.

Where a token cannot be told (``<`` inside of a tag), only the last two count. Where one has no end,
the next XML declaration inside of it counts. Anything else between documents (text, end tags) is a
message of its own, which no parser accepts.

**Records.** A record begins with a tag of its name, outside of other records. It ends where as many
elements of this name are closed as were opened, so that whatever else is broken in it stays in it.
Outside of records, a token that cannot be told, an end tag too many and a second document end the
reading: `broken` says where.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

SCOPE, DECLARATION, DOCTYPE = range(3)  # kinds of events

_BOM: Final = b"\xef\xbb\xbf"
_TEXT: Final = re.compile(rb"[^<]*")
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_MISC: Final = re.compile(rb"<!--.*?-->|<\?(?=.).*?\?>", re.DOTALL)
_CDATA: Final = re.compile(rb"<!\[CDATA\[.*?\]\]>", re.DOTALL)
_LITERAL: Final = rb"\"[^\"]*\"|'[^']*'"
_SUBSET: Final = (
    rb"(?:[^\]<]|<!--(?s:.*?)-->|<\?(?s:.+?)\?>|<(?!!--|\?)(?:[^>\"']|" + _LITERAL + rb")*>)*"
)
_DOCTYPE: Final = re.compile(rb"<!DOCTYPE(?:[^>\[\"']|" + _LITERAL + rb"|\[" + _SUBSET + rb"\])*>")
_DECLARATION: Final = re.compile(rb"<\?xml[ \t\r\n]")
_TAG: Final = re.compile(
    rb"</(?P<end>[^ \t\r\n/<>]+)[^<>]*>"
    rb"|<(?P<start>[^ \t\r\n/<>]+)(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*>"
)
_OPEN_TAG: Final = re.compile(
    rb"</[^<>]*\Z|<(?:[^ \t\r\n/<>]*)(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*(?:\"[^\"<]*|'[^'<]*)?\Z"
)
_NAMELESS: Final = re.compile(
    rb"</?(?=[ \t\r\n/>])(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*>|</(?=[ \t\r\n/>])[^<>]*>"
)


class TokenKind(Enum):
    """What is at a ``<``."""

    MORE = auto()
    START = auto()
    EMPTY = auto()
    END = auto()
    MISC = auto()
    DECLARATION = auto()
    DOCTYPE = auto()
    CDATA = auto()
    BROKEN = auto()


class MarkupToken(NamedTuple):
    """A token: its kind, where it ends, and its name."""

    kind: TokenKind
    end: int = 0
    name: bytes = b""
    name_end: int = 0


def next_token(data: bytes, at: int) -> MarkupToken:
    """The token at a ``<``.

    >>> next_token(b"<a b='>'/>x", 0).kind, next_token(b"<a <b>", 0)[:2]
    (<TokenKind.EMPTY: 3>, (<TokenKind.BROKEN: 9>, 3))
    >>> next_token(b"<a b='", 0).kind
    <TokenKind.MORE: 1>
    """
    head = data[at : at + 9]
    if head.startswith((b"<!", b"<?")):
        return _declared(data, at, head)
    found = _TAG.match(data, at)
    if found is not None and found["end"] is not None:
        return MarkupToken(TokenKind.END, found.end(), found["end"], found.end("end"))
    if found is not None:
        empty = data[found.end() - 2] == 47  # /
        kind = TokenKind.EMPTY if empty else TokenKind.START
        return MarkupToken(kind, found.end(), found["start"], found.end("start"))
    if _OPEN_TAG.match(data, at):
        return MarkupToken(TokenKind.MORE)
    nameless = _NAMELESS.match(data, at)
    if nameless is not None:
        return MarkupToken(TokenKind.BROKEN, nameless.end())
    return MarkupToken(TokenKind.BROKEN, data.find(b"<", at + 1))


def _declared(data: bytes, at: int, head: bytes) -> MarkupToken:
    """The token at ``<!`` or ``<?``."""
    if head.startswith((b"<?", b"<!--")):
        kind = TokenKind.DECLARATION if _DECLARATION.match(data, at) else TokenKind.MISC
        found = _MISC.match(data, at)
    elif head == b"<![CDATA[":
        kind, found = TokenKind.CDATA, _CDATA.match(data, at)
    elif head == b"<!DOCTYPE":
        kind, found = TokenKind.DOCTYPE, _DOCTYPE.match(data, at)
    elif any(one.startswith(head) for one in (b"<!--", b"<![CDATA[", b"<!DOCTYPE")):
        return MarkupToken(TokenKind.MORE)
    else:
        return MarkupToken(TokenKind.BROKEN, at + 2)
    return MarkupToken(TokenKind.MORE) if found is None else MarkupToken(kind, found.end())


class DocumentPhase(Enum):
    """How far a document is."""

    BETWEEN = auto()
    JUNK = auto()
    PROLOG = auto()
    CONTENT = auto()
    EPILOG = auto()


_OUTSIDE: Final = (DocumentPhase.BETWEEN, DocumentPhase.JUNK, DocumentPhase.EPILOG)


class DocumentSplitter:
    """Finds documents that stand one after the other in a file; as the one in C."""

    def __init__(self) -> None:
        self.at = 0
        self.unfinished = False
        self._rows: list[tuple[int, int, int, int]] = []
        self._root = b""
        self._begin(-1, DocumentPhase.BETWEEN)

    def _begin(self, at: int, phase: DocumentPhase) -> None:
        self.start = self._end = at
        self._depth = self._roots = 0
        self._phase = phase
        self._broken = self._doctype = False

    def _another(self, at: int, phase: DocumentPhase) -> None:
        """Ends the document that has begun, if there is one, and begins another."""
        if self._phase is not DocumentPhase.BETWEEN:
            end = self._end if self._phase is DocumentPhase.EPILOG else at
            self._rows.append((self.start, end, 0, 0))
        self._begin(-1 if phase is DocumentPhase.BETWEEN else at, phase)

    def split(self, data: bytes, base: int, last: bool) -> NDArray[Any]:
        """Returns rows of start and end, for documents that end in these bytes."""
        size = base + len(data)
        while True:
            self._scan(data, base, last)
            if not last:
                break
            within = self._phase in (DocumentPhase.PROLOG, DocumentPhase.CONTENT)
            if self.at >= size and not within:
                self._another(size, DocumentPhase.BETWEEN)
                break
            if not within:
                self._another(self.at, DocumentPhase.PROLOG)
            found = _DECLARATION.search(data, self.at - base + 1) if self.at < size else None
            self.unfinished = found is None
            self.at = size if found is None else base + found.start()
            self._another(self.at, DocumentPhase.BETWEEN)
            if found is None:
                break
        rows, self._rows = self._rows, []
        return np.array(rows, np.int64).reshape(-1, 4)

    def _scan(self, data: bytes, base: int, last: bool) -> None:
        at = self.at - base
        while at < len(data):
            if self._phase is DocumentPhase.CONTENT:
                at = _end_of(_TEXT, data, at)
            elif data[at] != 60:  # <
                at = _end_of(_SPACE, data, at)
                if at < len(data) and data[at] != 60:
                    rest = data[at : at + 3]
                    if rest[:1] == _BOM[:1] and len(rest) < 3 and not last:
                        break
                    at = self._take_text(rest, base, at)
                continue
            if at == len(data):
                break
            token = next_token(data, at)
            if token.kind is TokenKind.MORE:
                break
            self._take(token, base + at)
            at = token.end
            self._end = base + at
        self.at = base + at

    def _take_text(self, rest: bytes, base: int, at: int) -> int:
        if self._phase is not DocumentPhase.PROLOG and rest == _BOM:
            self._another(base + at, DocumentPhase.PROLOG)
            self._end = base + at + 3
            return at + 3
        if self._phase in (DocumentPhase.BETWEEN, DocumentPhase.EPILOG):
            self._another(base + at, DocumentPhase.JUNK)
        return at + 1

    def _take(self, token: MarkupToken, at: int) -> None:
        phase, kind = self._phase, token.kind
        if kind is TokenKind.DECLARATION:
            marked = at - self.start == 3 and self._end == at  # only a byte order mark before it
            if phase is not DocumentPhase.PROLOG or not marked:
                self._another(at, DocumentPhase.PROLOG)
        elif kind is TokenKind.DOCTYPE:
            if phase is not DocumentPhase.PROLOG or self._doctype:
                self._another(at, DocumentPhase.PROLOG)
            self._doctype = True
        elif kind is TokenKind.MISC:
            if phase in (DocumentPhase.BETWEEN, DocumentPhase.JUNK):
                self._another(at, DocumentPhase.PROLOG)
        elif kind in (TokenKind.END, TokenKind.CDATA):
            if phase is DocumentPhase.CONTENT:
                self._count(token)
            elif phase is DocumentPhase.PROLOG:
                self._phase = DocumentPhase.EPILOG
            elif phase is not DocumentPhase.JUNK:
                self._another(at, DocumentPhase.JUNK)
        else:
            if phase in _OUTSIDE:
                self._another(at, DocumentPhase.PROLOG)
            self._open(token)

    def _open(self, token: MarkupToken) -> None:
        """Takes a start tag, an empty element, or what is no token."""
        if token.kind is TokenKind.BROKEN:
            self._phase, self._broken = DocumentPhase.CONTENT, True
        elif self._phase is DocumentPhase.CONTENT:
            self._count(token)
        elif token.kind is TokenKind.EMPTY:
            self._phase = DocumentPhase.EPILOG
        else:
            self._phase, self._depth, self._roots = DocumentPhase.CONTENT, 1, 1
            self._root = token.name

    def _count(self, token: MarkupToken) -> None:
        if token.kind not in (TokenKind.START, TokenKind.END):
            return
        step = 1 if token.kind is TokenKind.START else -1
        self._depth += step
        self._roots += step * (token.name == self._root)
        if min(self._depth, self._roots) <= 0 and not self._broken:
            self._phase = DocumentPhase.EPILOG


class RecordSplitter:
    """Finds the outermost elements of one name; as the one in C."""

    def __init__(self, tag: bytes) -> None:
        self.at, self.start, self.depth, self.broken = 0, -1, 0, -1
        self._tag = tag
        self._tags = self._name_end = self._scopes_made = 0
        self._declares = self._begun = False
        self._open: list[tuple[int, int]] = []  # depth and number of scopes
        self._rows: list[tuple[int, int, int, int]] = []
        self._events: list[tuple[int, int, int, int]] = []

    @property
    def open_scopes(self) -> list[int]:
        """The numbers of the scopes that have not ended."""
        return [number for _, number in self._open]

    @property
    def _scope(self) -> int:
        return self._open[-1][1] if self._open else 0

    def split(self, data: bytes, base: int, last: bool) -> tuple[NDArray[Any], NDArray[Any]]:
        """Returns rows of records that end in these bytes, and rows of events."""
        at = self.at - base
        while at < len(data) and self.broken < 0:
            at = _end_of(_TEXT, data, at)
            if at == len(data):
                break
            token = next_token(data, at)
            if token.kind is TokenKind.MORE:
                break
            tag = token.kind in (TokenKind.START, TokenKind.EMPTY)
            tag = tag or (token.kind is TokenKind.END and self.start >= 0)
            declares = b"xmlns" in data[token.name_end : token.end] if tag else False
            if tag and token.name == self._tag:
                self._begun = True
                self._take_record(token, base + at, base, declares)
            elif self.start < 0:
                self._take_outside(token, base + at, base, declares)
            at = token.end
        self.at = base + at
        rows, events = self._rows, self._events
        self._rows, self._events = [], []
        return np.array(rows, np.int64).reshape(-1, 4), np.array(events, np.int64).reshape(-1, 4)

    def _take_record(self, token: MarkupToken, at: int, base: int, declares: bool) -> None:
        if token.kind is TokenKind.END:
            self._tags -= 1
        else:
            if self.start < 0:
                self.start, self._declares, self._tags = at, declares, 0
                self._name_end = base + token.name_end
            self._tags += token.kind is TokenKind.START
        if not self._tags:
            scope = -1 - self._scope if self._declares else self._scope
            self._rows.append((self.start, base + token.end, self._name_end, scope))
            self.start = -1

    def _take_outside(self, token: MarkupToken, at: int, base: int, declares: bool) -> None:
        end = base + token.end
        if token.kind in (TokenKind.DECLARATION, TokenKind.DOCTYPE):
            kind = DECLARATION if token.kind is TokenKind.DECLARATION else DOCTYPE
            if self._begun:
                self.broken = at
            else:
                self._events.append((kind, at, end, 0))
        elif token.kind is TokenKind.START:
            self._begun = True
            self.depth += 1
            if declares:
                self._events.append((SCOPE, at, end, self._scope))
                self._scopes_made += 1
                self._open.append((self.depth, self._scopes_made))
        elif token.kind is TokenKind.END:
            if self._open and self._open[-1][0] == self.depth:
                self._open.pop()
            self.depth -= 1
            self.broken = at if self.depth < 0 else -1
        elif token.kind is TokenKind.BROKEN:
            self.broken = at
        self._begun = self._begun or token.kind is TokenKind.EMPTY


def _end_of(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = pattern.match(data, at)
    return at if found is None else found.end()


def pieces(data: Any, starts: NDArray[Any], ends: NDArray[Any]) -> list[bytes]:
    """Returns pieces of bytes as a list."""
    view = memoryview(data)
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return [bytes(view[start:end]) for start, end in pairs]


def completed(
    data: Any,
    starts: NDArray[Any],
    ends: NDArray[Any],
    middles: NDArray[Any],
    before: bytes,
    between: bytes,
) -> list[bytes]:
    """Returns pieces of bytes, each with some bytes before it, and some in its middle."""
    left, right = pieces(data, starts, middles), pieces(data, middles, ends)
    return [b"%b%b%b%b" % (before, a, between, b) for a, b in zip(left, right, strict=True)]
