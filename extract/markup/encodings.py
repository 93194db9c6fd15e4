"""Documents that are not in UTF-8, and how their bytes are numbered.

expat reads UTF-8, and any encoding in which every character is one byte and ASCII is as ever. All
others are turned into UTF-8 before it sees them; a `Transcoder` knows which byte of the original
each byte of the UTF-8 came from, so that what is found counts bytes of the original (TRAPS 21).
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

_HEAD: Final = 1_024  # bytes that a declaration may have; libxml2 is not more patient
_BOMS: Final = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),  # before UTF-16, whose mark this begins with
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_UNMARKED: Final = (
    (b"<\x00\x00\x00", "utf-32-le"),
    (b"\x00\x00\x00<", "utf-32-be"),
    (b"<\x00?\x00", "utf-16-le"),
    (b"\x00<\x00?", "utf-16-be"),
)
_EBCDIC: Final = b"Lo\xa7\x94"
_DECLARED: Final = re.compile(
    rb"""<\?xml\s[^>]*?\sencoding\s*=\s*(?:"([A-Za-z][A-Za-z0-9._-]*)"|'([A-Za-z][A-Za-z0-9._-]*)')"""
)
_WIDTHS: Final = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
_MULTIBYTE: Final = (  # those where a character's bytes do not depend on others before it
    "gb2312 gbk gb18030 big5 big5hkscs cp950 shift_jis shift_jis_2004 shift_jisx0213 cp932 euc_jp "
    "euc_jis_2004 euc_jisx0213 euc_kr cp949 johab "
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a document.

    Attributes:
        name: As the document or its first bytes have it, for messages.
        codec: Python's name for it; empty if we cannot read it.
        direct: Whether expat can read it as it is.
    """

    name: str
    codec: str
    direct: bool


def find_encoding(head: bytes, ended: bool) -> Encoding | None:
    """The encoding of a document, as libxml2 would find it.

    Args:
        head: Its first bytes.
        ended: Whether there are no more.

    Returns:
        None if more bytes are needed to say.

    >>> find_encoding(b'<?xml version="1.0" encoding="Shift_JIS"?>', False)
    Encoding(name='Shift_JIS', codec='shift_jis', direct=False)
    """
    if len(head) < 4 and not ended:
        return None
    for mark, codec in (*_BOMS, *_UNMARKED):
        if head.startswith(mark):
            return Encoding(codec, codec, codec == "utf-8")
    if head.startswith(_EBCDIC):
        return Encoding("EBCDIC", "", False)
    if b"<?xml".startswith(head[:5]):
        declaration = head[:_HEAD]
        if b">" not in declaration and len(head) < _HEAD and not ended:
            return None
        if declared := _DECLARED.match(declaration):
            return _named((declared[1] or declared[2]).decode("ascii"))
    return Encoding("utf-8", "utf-8", True)


@cache
def _named(name: str) -> Encoding:
    """The encoding that a declaration names."""
    try:
        codec = codecs.lookup(name).name
        if codec in ("utf-8", "utf-8-sig"):
            return Encoding(name, "utf-8", True)
        if f"{codec} " in _MULTIBYTE:
            return Encoding(name, codec, False)
        if _single_byte(codec):
            return Encoding(name, codec, True)
    except (LookupError, ValueError, TypeError):
        pass
    # Also UTF-16 and UTF-32 come here: a declaration that can be read as ASCII must be wrong.
    return Encoding(name, "", False)


def _single_byte(codec: str) -> bool:
    """Whether each byte is a character, and those of ASCII are as in ASCII."""
    one_by_one = [bytes([n]).decode(codec, "replace") for n in range(256)]
    return (
        "".join(one_by_one[:128]) == bytes(range(128)).decode("ascii")
        and all(len(c) == 1 for c in one_by_one)
        and bytes(range(256)).decode(codec, "replace") == "".join(one_by_one)
    )


class Unmappable(Exception):
    """Bytes that cannot be turned into UTF-8 in a way that keeps count of them."""


@dataclass(slots=True)
class _Stretch:
    """A part of a document: where it begins and ends, in both countings, and what is between.

    Attributes:
        fresh: Where in the UTF-8 each character begins; None if all have one byte there, and the
            same number of bytes in the original.
        old: Where in the original each character begins.
    """

    start: int
    end: int
    old_start: int
    old_end: int
    fresh: Numbers | None = None
    old: Numbers | None = None

    def originals(self, offsets: Numbers) -> Numbers:
        """Where in the original the characters begin that are at these bytes of the UTF-8."""
        if self.fresh is None or self.old is None:
            width = (self.old_end - self.old_start) // max(1, self.end - self.start)
            return self.old_start + (offsets - self.start) * width
        found = self.old[np.searchsorted(self.fresh, offsets, "right") - 1]
        return np.where(offsets >= self.end, self.old_end, found)


class Transcoder:
    """Turns a document into UTF-8, part by part, and byte offsets in that back.

    Args:
        codec: Python's name of the document's encoding.

    >>> transcoder = Transcoder("utf-16-be")
    >>> transcoder.feed("<é/>".encode("utf-16-be"))
    b'<\\xc3\\xa9/>'
    >>> transcoder.originals(np.array([0, 1, 3, 5])).tolist()
    [0, 2, 4, 8]
    """

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._decoder = codecs.getincrementaldecoder(codec)()
        self._width = _WIDTHS.get(codec, 0)
        self._stretches = [_Stretch(0, 0, 0, 0)]
        self._starts = [0]
        self._pinned: dict[int, int] = {}
        self._lengths: dict[str, int] = {}
        self._undecoded = b""

    def feed(self, data: bytes, ended: bool = False) -> bytes:
        """The next bytes of the document in UTF-8, as far as its characters are complete.

        Raises:
            Unmappable: They are no text in this encoding, or could have been written otherwise.
        """
        try:
            text = self._decoder.decode(data, ended)
            fresh = text.encode("utf-8")
        except UnicodeError as error:
            raise Unmappable(str(error)) from None
        if text:
            self._remember(text, fresh, self._undecoded + data)
        rest = self._decoder.getstate()[0]
        self._undecoded = bytes(rest)
        return fresh

    def _remember(self, text: str, fresh: bytes, data: bytes) -> None:
        last = self._stretches[-1]
        start, old_start = last.end, last.old_end
        if text.isascii():
            old_length = len(text) * (self._width or 1)
            stretch = _Stretch(start, start + len(fresh), old_start, old_start + old_length)
        else:
            points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
            in_fresh = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
            in_old = self._old_lengths(text, points)
            ends, old_ends = np.cumsum(in_fresh), np.cumsum(in_old)
            old_length = int(old_ends[-1])
            stretch = _Stretch(
                start,
                start + len(fresh),
                old_start,
                old_start + old_length,
                ends - in_fresh + start,
                old_ends - in_old + old_start,
            )
        # Where several byte sequences stand for one character, lengths could be wrong.
        if not self._width and not data.startswith(text.encode(self._codec, "replace")):
            raise Unmappable(f"not the usual way to write {self._codec}")
        self._stretches.append(stretch)
        self._starts.append(start)

    def _old_lengths(
        self, text: str, points: np.ndarray[tuple[int], np.dtype[np.uint32]]
    ) -> Numbers:
        """How many bytes each character has in the original."""
        if self._width == 4:
            return np.full(len(points), 4, np.int64)
        if self._width == 2:
            return np.where(points > 0xFFFF, 4, 2).astype(np.int64)
        known = self._lengths
        for character in set(text).difference(known):
            known[character] = len(character.encode(self._codec, "replace"))
        return np.fromiter(map(known.__getitem__, text), np.int64, len(points))

    def original(self, offset: int) -> int:
        """Where in the original the character begins that is at a byte of the UTF-8."""
        return int(self.originals(np.array([offset], np.int64))[0])

    def originals(self, offsets: Numbers) -> Numbers:
        """The same for many."""
        found = np.empty(len(offsets), np.int64)
        which = np.searchsorted(self._starts, offsets, "right") - 1
        for number in np.unique(which).tolist():
            here = which == number
            if number < 0:
                found[here] = [self._pinned[offset] for offset in offsets[here].tolist()]
            else:
                found[here] = self._stretches[number].originals(offsets[here])
        return found

    def forget(self, before: int, but: Numbers) -> None:
        """Drops what was remembered of the part before an offset, but for some bytes of it."""
        but = np.unique(but)
        self._pinned = dict(zip(but.tolist(), self.originals(but).tolist(), strict=True))
        keep = bisect_right(self._starts, before) - 1
        del self._stretches[:keep], self._starts[:keep]
