"""Compressed documents: what they unpack to, and what is said of those that cannot be unpacked."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from extract.chunktool.input.find import find_documents, input_file
from extract.chunktool.input.remote import is_packed, unpack_into
from extract.chunktool.input.source import Document, open_source
from extract.errors import DocumentError
from extract.limits import DEFAULTS, Limits

DATA: Final = b"<a>" + random.Random(1).randbytes(400_000).hex().encode() + b"</a>"


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def zipped(*members: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


PACK: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}
every = pytest.mark.parametrize("name", PACK)


def read(data: Document, limits: Limits = DEFAULTS, name: str = "") -> bytes:
    with open_source(data, name, limits) as source:
        first = b"".join(bytes(window) for window in source.windows(70_000))
        assert b"".join(bytes(window) for window in source.windows(999_999)) == first
        return first


class Once(io.RawIOBase):
    """A stream that cannot go back, such as a pipe."""

    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._stream.readinto(memoryview(buffer)[:999])


@pytest.mark.parametrize("name", [*PACK, "zip"])
def test_a_compressed_document_is_read_from_everywhere(tmp_path: Path, name: str) -> None:
    packed = zipped(("deep/a.xml", DATA)) if name == "zip" else PACK[name](DATA)
    path = tmp_path / "doc"  # the name says nothing: the first bytes tell
    path.write_bytes(packed)
    assert read(packed) == read(str(path)) == read(io.BytesIO(packed)) == read(Once(packed)) == DATA
    document = input_file(str(path))
    assert is_packed(document)
    unpack_into(document, str(tmp_path / "copy"), DEFAULTS)
    assert (tmp_path / "copy").read_bytes() == DATA


@every
def test_several_streams_are_one_document(name: str) -> None:
    parts = [b"<a>", b"", b"x" * 300_000, b"</a>"]
    assert read(b"".join(map(PACK[name], parts))) == b"".join(parts)


@every
def test_data_that_ends_too_early(name: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(PACK[name](DATA)[:-30], name="a.xml")
    assert caught.value.reason == f"the {name} data ends too early"
    assert "truncated" in caught.value.hint
    assert caught.value.file == "a.xml"


@every
def test_data_that_is_damaged(name: str) -> None:
    data = bytearray(PACK[name](DATA))
    data[10:200] = b"~" * 190
    with pytest.raises(DocumentError, match=f"the {name} data is damaged"):
        read(bytes(data))


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz"])
def test_other_data_after_the_end(name: str) -> None:
    assert read(PACK[name](b"<a/>") + bytes(512)) == b"<a/>"
    with pytest.raises(DocumentError, match=f"the {name} data is followed by something else"):
        read(PACK[name](b"<a/>") + b"garbage")


@pytest.mark.parametrize("name", [*PACK, "zip"])
def test_a_bomb_is_stopped(name: str) -> None:
    bomb = bytes(30_000_000)
    packed = zipped(("a.xml", bomb)) if name == "zip" else PACK[name](bomb)
    with pytest.raises(DocumentError, match="it unpacks to more than 400 times its size"):
        read(packed, Limits(gzip_free_bytes=100_000))
    with pytest.raises(DocumentError, match="more than 1,000,000 bytes"):
        read(packed, Limits(document_bytes=1_000_000))


def test_xz_may_not_take_any_amount_of_memory() -> None:
    packed = bytearray(lzma.compress(b"<a/>", check=lzma.CHECK_NONE))
    packed[16] = 40  # the size of the dictionary: 4 GB
    header = packed[12 : 12 + 4 * (packed[12] + 1) - 4]
    packed[12 + len(header) : 16 + len(header)] = zlib.crc32(header).to_bytes(4, "little")
    with pytest.raises(DocumentError, match=r"damaged .Memory usage limit"):
        read(bytes(packed))


# -- zip archives


def test_an_archive_of_several_files_is_as_many_documents(tmp_path: Path) -> None:
    path = tmp_path / "news.zip"
    members = [
        ("b.xml", b"<b/>"),
        ("deep/a.xml.gz", gzip.compress(b"<a/>")),
        ("readme.txt", b"no document"),
        ("__MACOSX/b.xml", b"nor this"),
    ]
    path.write_bytes(zipped(*members))
    found = find_documents([str(path)]).paths
    assert found == (f"{path}!b.xml", f"{path}!deep/a.xml.gz")
    assert [read(one) for one in found] == [b"<b/>", b"<a/>"]
    assert find_documents([found[0]]).paths == found[:1]  # and such a name is an argument
    assert is_packed(input_file(found[0]))
    assert input_file(found[0]).size == 4


def test_an_archive_whose_files_are_no_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(("a.txt", b""), ("b.txt", b"")))
    with pytest.raises(DocumentError, match=r"none of the 2 files in the zip archive is named"):
        find_documents([str(path)])


def test_archives_that_cannot_be_read(tmp_path: Path) -> None:
    whole = zipped(("a.xml", DATA), ("b.xml", b"<b/>"))
    path = tmp_path / "a.zip"
    path.write_bytes(whole)
    with pytest.raises(DocumentError, match=r"a.zip: the zip archive holds 2 files\nHint: unzip"):
        read(str(path))
    with pytest.raises(DocumentError, match=r"there is no file c.xml in the zip archive"):
        read(f"{path}!c.xml")
    with pytest.raises(DocumentError, match="the zip archive is damaged"):
        read(whole[:500])
    with pytest.raises(DocumentError, match="the zip archive holds no file"):
        read(zipped(("folder/", b"")))
    with pytest.raises(DocumentError, match=r"gone.zip!c.xml: cannot be opened: No such file"):
        read(str(tmp_path / "gone.zip!c.xml"))
    encrypted = bytearray(zipped(("a.xml", b"<a/>")))
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[encrypted.index(signature) + at] |= 1
    with pytest.raises(DocumentError, match="the zip archive is encrypted"):
        read(bytes(encrypted))


def test_directories_are_searched_for_every_compression(tmp_path: Path) -> None:
    names = ["a.xml", "a.xml.bz2", "a.xml.gz", "a.xml.xz", "a.xml.zip", "a.xml.zst"]
    for name in (*names, "a.tar.gz", "a.zip"):
        (tmp_path / name).write_bytes(b"<a/>")
    assert [Path(one).name for one in find_documents([str(tmp_path)]).paths] == names


def test_other_compressions_do_not_load_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read(gzip.compress(DATA)) == read(bz2.compress(DATA)) == read(lzma.compress(DATA))
