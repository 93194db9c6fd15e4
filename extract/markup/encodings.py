"""Encodings of documents, and the mapping from offsets in UTF-8 back to the original bytes.

expat reads UTF-8 and every encoding that has one byte per character and agrees with ASCII.
Documents in other encodings are transcoded to UTF-8 before expat reads them. A `Transcoder` maps
each byte of the UTF-8 to the original, so that results always count bytes of the original (TRAPS
21).
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from lxml import etree
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

_HEAD: Final = 1_024  # bytes in which the declaration must end, as in libxml2
_BOMS: Final = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),  # before UTF-16: its mark is the start of this one
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
_MULTIBYTE: Final = (  # encodings without state: a character's bytes do not depend on earlier ones
    "gb2312 gbk gb18030 big5 big5hkscs cp950 shift_jis shift_jis_2004 shift_jisx0213 cp932 euc_jp "
    "euc_jis_2004 euc_jisx0213 euc_kr cp949 johab "
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a document.

    Attributes:
        name: The name in the declaration, or the one that the first bytes imply; for messages.
        codec: Python's name of the encoding; empty if Python has no codec for it, or libxml2 none.
        direct: Whether expat reads the encoding without a transcoder.
    """

    name: str
    codec: str
    direct: bool


def find_encoding(head: bytes, ended: bool) -> Encoding | None:
    """Returns the encoding of a document by libxml2's rules; None if more bytes are needed.

    Args:
        head: The first bytes of the document.
        ended: Whether the document ends after these bytes.

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
    """Returns the encoding that a declaration names."""
    try:
        etree.XMLParser(encoding=name)  # what libxml2 does not know, nobody may read
        codec = codecs.lookup(name).name
        if codec in ("utf-8", "utf-8-sig"):
            return Encoding(name, "utf-8", True)
        if f"{codec} " in _MULTIBYTE:
            return Encoding(name, codec, False)
        if _single_byte(codec):
            return Encoding(name, codec, True)
    except (LookupError, ValueError, TypeError):
        pass
    # UTF-16 and UTF-32 are wrong here, too: the declaration was read as ASCII.
    return Encoding(name, "", False)


def _single_byte(codec: str) -> bool:
    """Whether the codec has one byte per character and agrees with ASCII."""
    one_by_one = [bytes([n]).decode(codec, "replace") for n in range(256)]
    return (
        "".join(one_by_one[:128]) == bytes(range(128)).decode("ascii")
        and all(len(c) == 1 for c in one_by_one)
        and bytes(range(256)).decode(codec, "replace") == "".join(one_by_one)
    )


class Unmappable(Exception):
    """The bytes cannot be transcoded so that offsets can be mapped back."""


@dataclass(slots=True)
class _Stretch:
    """A part of a document, with its offsets in the UTF-8 and in the original.

    Attributes:
        start, end: Its bytes in the UTF-8.
        old_start, old_end: Its bytes in the original.
        fresh: Offset of each character in the UTF-8; None if all characters have one byte there and
            equally many bytes in the original.
        old: Offset of each character in the original; None likewise.
    """

    start: int
    end: int
    old_start: int
    old_end: int
    fresh: Numbers | None = None
    old: Numbers | None = None

    def originals(self, offsets: Numbers) -> Numbers:
        """Maps offsets in the UTF-8 to the offsets of the same characters in the original."""
        if self.fresh is None or self.old is None:
            width = (self.old_end - self.old_start) // max(1, self.end - self.start)
            return self.old_start + (offsets - self.start) * width
        starts = self.old[np.searchsorted(self.fresh, offsets, "right") - 1]
        return np.where(offsets >= self.end, self.old_end, starts)


class Transcoder:
    """Transcodes a document to UTF-8, part by part, and maps offsets back to the original.

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
        """Returns the next bytes in UTF-8, without the last character if it is incomplete.

        Raises:
            Unmappable: The bytes are not valid in this encoding, or not its canonical form.
        """
        try:
            text = self._decoder.decode(data, ended)
            fresh = text.encode("utf-8")
        except UnicodeError as error:
            raise Unmappable(str(error)) from None
        if text:
            self._remember(text, fresh, self._undecoded + data)
        incomplete = self._decoder.getstate()[0]
        self._undecoded = bytes(incomplete)
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
        # An encoding may have several byte sequences for a character; then the lengths may be
        # wrong.
        if not self._width and not data.startswith(text.encode(self._codec, "replace")):
            raise Unmappable(f"not the usual way to write {self._codec}")
        self._stretches.append(stretch)
        self._starts.append(start)

    def _old_lengths(
        self, text: str, points: np.ndarray[tuple[int], np.dtype[np.uint32]]
    ) -> Numbers:
        """Returns the number of bytes of each character in the original."""
        if self._width == 4:
            return np.full(len(points), 4, np.int64)
        if self._width == 2:
            return np.where(points > 0xFFFF, 4, 2).astype(np.int64)
        lengths = self._lengths
        for character in set(text).difference(lengths):
            lengths[character] = len(character.encode(self._codec, "replace"))
        return np.fromiter(map(lengths.__getitem__, text), np.int64, len(points))

    def original(self, offset: int) -> int:
        """Maps one offset in the UTF-8 to the original."""
        return int(self.originals(np.array([offset], np.int64))[0])

    def originals(self, offsets: Numbers) -> Numbers:
        """Maps offsets in the UTF-8 to the offsets of the same characters in the original."""
        mapped = np.empty(len(offsets), np.int64)
        which = np.searchsorted(self._starts, offsets, "right") - 1
        for number in np.unique(which).tolist():
            inside = which == number
            if number < 0:
                mapped[inside] = [self._pinned[offset] for offset in offsets[inside].tolist()]
            else:
                mapped[inside] = self._stretches[number].originals(offsets[inside])
        return mapped

    def forget(self, before: int, but: Numbers) -> None:
        """Drops the mapping of all bytes before an offset, except for the offsets in ``but``."""
        but = np.unique(but)
        self._pinned = dict(zip(but.tolist(), self.originals(but).tolist(), strict=True))
        keep = bisect_right(self._starts, before) - 1
        del self._stretches[:keep], self._starts[:keep]
