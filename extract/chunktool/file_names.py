"""Names from untrusted names: of files and directories, safe on every file system and unique; and
of documents, as rows have them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

_LONGEST: Final = 120  # bytes; file systems take 255, and suffixes follow
_ENDINGS: Final = (".gz", ".xml")


def safe_name(text: str) -> str:
    """Returns a file name for any text: no separators or control characters, not hidden, not long.

    >>> safe_name("../../etc/passwd"), safe_name("größe 1.xml"), safe_name(".."), safe_name("a\\0b")
    ('passwd', 'größe_1.xml', 'unnamed', 'a_b')
    """
    last = text.replace("\\", "/").rstrip("/").rpartition("/")[2]
    harmless = "".join([c if _is_harmless(c) else "_" for c in unicodedata.normalize("NFC", last)])
    short = harmless.encode()[:_LONGEST].decode(errors="ignore").strip(". ")
    return short or "unnamed"


def _is_harmless(character: str) -> bool:
    return character in "._-+=,@~" or unicodedata.category(character)[0] in "LNM"


# What is no character of Unicode, and what begins an escape.
_ESCAPED: Final = re.compile("[\ud800-\udfff\ufffd]")
_NOT_XML: Final = re.compile("[^\\t\\n\\r -\ud7ff\ue000-\ufffc\U00010000-\U0010ffff]")
_ESCAPE: Final = re.compile("\ufffd([0-9A-F]{4})")


def document_name(path: str, xml: bool = False) -> str:
    """Returns the name of a document as rows have it: characters of Unicode only, each name once.

    A byte of a path that is no UTF-8, which Python has as half of a character (PEP 383), any other
    half, and U+FFFD itself are each written as U+FFFD and four hexadecimal digits; for XML, so are
    characters that it does not allow. All other names are as they are.

    >>> document_name("größe%FF.xml"), ascii(document_name("bad\\udcff.xml"))
    ('größe%FF.xml', "'bad\\\\ufffdDCFF.xml'")
    """
    if path.isascii() and (not xml or path.isprintable()):
        return path
    return (_NOT_XML if xml else _ESCAPED).sub(_escape, path)


def document_path(name: str) -> str:
    """Returns what a document was called, from its name in rows: the path, if it is a file.

    >>> document_path(document_name("bad\\udcff.xml")) == "bad\\udcff.xml"
    True
    """
    return name if name.isascii() else _ESCAPE.sub(lambda found: chr(int(found[1], 16)), name)


def _escape(found: re.Match[str]) -> str:
    return f"\ufffd{ord(found[0]):04X}"


def directory_name(document: str) -> str:
    """Returns the name of the directory for a document's chunks.

    >>> directory_name("news/2026/a.xml.gz"), directory_name("<stdin>"), directory_name(".xml")
    ('a', 'stdin', 'xml')
    """
    name = document.strip("<>")
    for ending in _ENDINGS:
        if name.lower().endswith(ending):
            name = name[: -len(ending)] or name
    return safe_name(name if name.rpartition("/")[2] else document)


class FileNames:
    """Hands out each name once, also on file systems that ignore case.

    >>> names = FileNames()
    >>> names.take("a"), names.take("A"), names.take("a")
    ('a', 'A~2', 'a~3')
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}  # the last number of each name

    def take(self, wanted: str, free: Callable[[str], bool] = lambda _: True) -> str:
        """Returns the name, with a number appended if it is taken.

        Args:
            wanted: The name.
            free: Whether a name is not taken by others, such as files that already exist.
        """
        plain = wanted.casefold()
        number = self._last.get(plain, 1)
        name = wanted if number == 1 else f"{wanted}~{number}"
        while name.casefold() in self._taken or not free(name):
            number += 1
            name = f"{wanted}~{number}"
        self._taken.add(name.casefold())
        self._last[plain] = number
        return name
