"""Documents in other encodings than UTF-8: the same answers, with offsets in the original."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from lxml import etree

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.protocol import HandOver
from extract.chunktool.scan.reference.scanner import ReferenceScanner
from extract.errors import DocumentError
from extract.limits import Limits
from extract.markup.encodings import Transcoder, Unmappable, find_encoding
from extract.testing.scanner_cases import LETTERS, output_of, schema_of, scheme_of
from extract.testing.scanning import run, whole_document, windows
from tests.support.generate.oracle import parse

SCHEME = scheme_of(schema_of(LETTERS), "//c")
TEXTS = {
    "utf-8": "é ☃ 😀",
    "utf-16": "é ☃ 😀",
    "utf-16-le": "é ☃ 😀",
    "utf-16-be": "é ☃ 😀",
    "utf-32": "é ☃ 😀",
    "iso-8859-1": "é ÿ",
    "iso-8859-15": "é €",
    "iso-8859-2": "ł é",
    "us-ascii": "e",
    "windows-1252": "é €",
    "windows-1251": "ж",
    "koi8-r": "ж",
    "gbk": "中文 é",
    "gb2312": "中文",
    "gb18030": "中文 é 😀",
    "big5": "中文",
    "shift_jis": "日本 ｶﾅ",
    "euc-jp": "日本",
    "euc-kr": "한국",
}


def document(encoding: str) -> tuple[str, bytes]:
    text = TEXTS[encoding]
    source = (
        f"<?xml version='1.0' encoding='{encoding.upper()}'?>\n<!--{text}--><a k='{text}'> {text}"
        f'<b k="{text}">{text}<c/>&amp;{text}</b>{text}<m>{text}<m/></m><b>&#233;\r\n</b></a>\n'
    )
    if encoding in ("utf-16-le", "utf-16-be"):  # without a mark these must not be declared so
        source = source.replace(encoding.upper(), "UTF-16")
    return source, source.encode(encoding)


AUTOMATON = Automaton(SCHEME, [output_of("/a/b subtree, /a/m children")])


def scanner(table: bool) -> ReferenceScanner:
    return ReferenceScanner(AUTOMATON, Limits(), table)


def scanned(original: bytes) -> ReferenceScanner:
    made = scanner(False)
    made.feed(original)
    made.finish()
    return made


@pytest.mark.parametrize("encoding", TEXTS)
def test_offsets_are_bytes_of_the_original(encoding: str) -> None:
    source, original = document(encoding)
    parse(original)  # libxml2 reads it
    declared = encoding.upper() if encoding.upper() in source else "UTF-16"
    plain = source.replace(declared, "utf-8").encode()
    codec = "utf-16-le" if encoding == "utf-16" else encoding
    codec = "utf-32-le" if encoding == "utf-32" else codec
    mark = len("a".encode(encoding)) - len("a".encode(codec))

    def there(offset: int) -> int:
        """The same place in the original."""
        before = plain[:offset].decode().replace("utf-8", declared, 1)
        if len(plain[:offset]) and offset < plain.index(b"?>"):
            before = plain[:offset].decode()
        return len(before.encode(codec)) + mark

    for cuts in (whole_document(), windows(Random(1), 5), windows(Random(2), 60)):
        ours = run(scanner(True), original, 1, cuts)
        wanted = run(scanner(True), plain, 1, whole_document())
        assert ours.violation is wanted.violation is None
        tree = etree.fromstring(ours.texts[0])
        assert etree.tostring(tree) == etree.tostring(etree.fromstring(wanted.texts[0]))
        for row, (state, parent, start, content, *rest) in enumerate(wanted.elements):
            assert ours.elements[row] == (state, parent, there(start), there(content), *rest)
        assert ours.ends == [(row, there(close), there(end)) for row, close, end in wanted.ends]
        assert ours.leaves == [
            (parent, kind, there(start), there(end), number)
            for parent, kind, start, end, number in wanted.leaves
        ]


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_truncated_document_is_rejected(encoding: str) -> None:
    _, original = document(encoding)
    with pytest.raises(DocumentError):
        scanned(original[:-12])


def test_bytes_that_are_no_characters_are_rejected() -> None:
    for encoding, junk in {"utf-8": b"\xff", "gbk": b"\xff\xff", "utf-16-le": b"\x00\xd8"}.items():
        _, original = document(encoding)
        middle = original.index("</m>".encode(encoding))
        with pytest.raises(DocumentError) as caught:
            scanned(original[:middle] + junk + original[middle:])
        assert "character" in caught.value.reason, encoding


def test_encodings_that_nobody_reads_are_rejected_with_a_hint() -> None:
    for name in ("utf-7", "iso-2022-jp", "hz", "nope", "rot13", "zlib", "cp037"):
        with pytest.raises(DocumentError) as caught:
            scanned(f"<?xml version='1.0' encoding='{name}'?><a/>".encode())
        assert name in caught.value.reason
        assert "UTF-8" in caught.value.hint


def test_what_only_libxml2_can_decode_is_handed_over() -> None:
    # Two bytes for private use, which Python does not decode.
    original = b"<?xml version='1.0' encoding='shift_jis'?><a>\xf0\x40</a>"
    parse(original)
    with pytest.raises(HandOver):
        scanned(original)


def test_the_declaration_may_come_bit_by_bit() -> None:
    start = b"<?xml version='1.0' encoding='iso-8859-1'?>"
    for length in range(len(start)):
        assert find_encoding(start[:length], False) is None
    found = find_encoding(start, False)
    assert found is not None
    assert (found.codec, found.direct) == ("iso8859-1", True)


def test_a_byte_order_mark_wins() -> None:
    original = "<?xml version='1.0' encoding='iso-8859-1'?><a>é</a>".encode("utf-16")
    parse(original)
    assert scanned(original).take().ranges[0][-1, 1] == len(original)


@pytest.mark.parametrize("codec", ["utf-16-be", "utf-32-le", "gb18030", "shift_jis"])
def test_a_transcoder_keeps_count(codec: str) -> None:
    text = "ab中あc" * 50 + ("😀" if codec != "shift_jis" else "ｶ") + "z" * 30
    original = text.encode(codec)
    transcoder = Transcoder(codec)
    fresh = b"".join(transcoder.feed(original[at : at + 7]) for at in range(0, len(original), 7))
    assert fresh.decode() == text
    ends = np.cumsum([len(c.encode()) for c in text])
    wanted = np.cumsum([len(c.encode(codec)) for c in text])
    assert transcoder.originals(ends).tolist() == wanted.tolist()
    transcoder.forget(int(ends[20]), ends[3:5])
    assert transcoder.originals(ends[20:]).tolist() == wanted[20:].tolist()
    assert transcoder.original(int(ends[4])) == wanted[4]


def test_bytes_with_two_spellings_cannot_be_mapped() -> None:
    with pytest.raises(Unmappable):
        Transcoder("big5").feed(b"\xff\xff")
