"""Documents as windows: where they come from, how they are read again, and how they are found."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extract.chunktool.input.find import find_documents
from extract.chunktool.input.source import Document, Source, open_source
from extract.chunktool.input.spill import ContentReader, Original, Piles, read_all
from extract.errors import DocumentError
from extract.limits import Limits

DATA = b"<a>" + b"".join(b"<b>%d</b>\n" % i for i in range(5_000)) + b"</a>"


class OnlyRead:
    """A stream that cannot do anything but read, a little at a time."""

    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)
        self.reads = 0

    def read(self, size: int = -1) -> bytes:
        self.reads += 1
        return self._stream.read(min(size, 1_000))


def whole(source: Source, size: int = 4_096) -> bytes:
    return b"".join(bytes(window) for window in source.windows(size))


@pytest.fixture
def piped() -> Iterator[Callable[[bytes], Any]]:
    """The reading end of a pipe that something was written to."""
    streams = []

    def piped(data: bytes) -> Any:
        read, write = os.pipe()
        os.write(write, data)
        os.close(write)
        streams.append(os.fdopen(read, "rb"))
        return streams[-1]

    yield piped
    for stream in streams:
        stream.close()


# -- reading


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["bytes", "bytearray", "path", "str", "file", "stream", "pipe"])
def test_every_document_can_be_read_twice(
    kind: str, packed: bool, tmp_path: Path, piped: Callable[[bytes], Any]
) -> None:
    data = gzip.compress(DATA) if packed else DATA
    path = tmp_path / "doc"  # the name says nothing: gzip is known by its first bytes
    path.write_bytes(data)
    documents: dict[str, Callable[[], Document]] = {
        "bytes": lambda: data,
        "bytearray": lambda: bytearray(data),
        "path": lambda: path,
        "str": lambda: str(path),
        "file": lambda: io.BytesIO(data),
        "stream": lambda: OnlyRead(data),  # type: ignore[dict-item,return-value]
        "pipe": lambda: piped(data[:50_000]),
    }
    wanted = DATA if packed or kind != "pipe" else DATA[:50_000]
    with open_source(documents[kind]()) as source:
        assert whole(source) == wanted
        assert whole(source, 100_000) == wanted
        half = source.windows(1_000)
        next(half)
        assert whole(source) == wanted


def test_a_stream_is_read_from_where_it_stands_and_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "doc.xml"
    path.write_bytes(b"header\n<a/>")
    with path.open("rb") as stream:
        stream.readline()
        with open_source(stream) as source:
            assert source.name == str(path)
            assert whole(source) == whole(source) == b"<a/>"
        assert not stream.closed


def test_a_stream_that_comes_once_is_copied_once() -> None:
    stream = OnlyRead(DATA)
    with open_source(stream) as source:  # type: ignore[arg-type]
        assert whole(source) == DATA
        reads = stream.reads
        assert whole(source) == DATA
        assert stream.reads == reads


def test_two_readers_at_the_same_time_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "doc.xml"
    path.write_bytes(DATA)
    with open_source(path) as source:
        first = source.windows(100)
        next(first)
        next(source.windows(100))
        with pytest.raises(RuntimeError, match="twice at the same time"):
            next(first)


def test_a_document_is_loaded_once(tmp_path: Path) -> None:
    data = b"<a>" + b"x" * 100 + b"</a>"
    path = tmp_path / "a.xml.gz"
    path.write_bytes(gzip.compress(data))
    with open_source(path) as source:
        assert source.load(len(data) - 1) is None
        assert source.memory is None
        assert source.load(len(data)) == data
        path.write_bytes(b"")
        assert b"".join(source.windows(7)) == data
        assert source.load(0) == data  # it is in memory already


def test_bytes_that_may_change_are_copied_when_they_are_loaded() -> None:
    mutable = bytearray(b"<a/>")
    with open_source(mutable) as source:
        data = source.load(100)
        mutable[1:2] = b"b"
        assert data == bytes(next(source.windows())) == b"<a/>"
    fixed = b"<a/>"
    with open_source(fixed) as source:
        assert source.load(100) is fixed


def test_values_that_are_no_document() -> None:
    with pytest.raises(TypeError, match="opened for bytes"):
        open_source(io.StringIO("<a/>"))
    with pytest.raises(TypeError, match="give the document itself as bytes"):
        open_source("<a/>")
    with pytest.raises(TypeError, match="not int"):
        open_source(3)  # type: ignore[arg-type]


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="No such file") as caught:
        open_source(tmp_path / "none.xml")
    assert caught.value.file == str(tmp_path / "none.xml")
    assert caught.value.hint
    with pytest.raises(DocumentError, match="Is a directory"):
        open_source(tmp_path)
    with pytest.raises(DocumentError, match="null byte"):
        open_source("a\0b")


def test_a_stream_that_fails_is_an_error_of_the_document() -> None:
    class Failing(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, _target: object) -> int:
            raise OSError(5, "Input/output error")

    with pytest.raises(DocumentError, match="<stream>: cannot be read: Input/output error"):
        open_source(Failing())


def test_an_error_of_a_document_survives_pickling() -> None:
    error = DocumentError("the end tag is missing", "write it", "a.xml", 3, 7, 29)
    again = pickle.loads(pickle.dumps(error))
    assert again.args == error.args
    assert (again.offset, str(again)) == (29, "a.xml:3:7: the end tag is missing\nHint: write it")
    assert str(DocumentError("broken", offset=1_000)) == "broken (byte 1,000)"
    assert str(error.at("b.xml", 1, 2)).startswith("b.xml:1:2: the end")
    assert error.at("b.xml", 1, 2).offset == 29


# -- gzip


def test_members_follow_one_another() -> None:
    parts = [b"<a>", b"", b"x" * 100_000, b"</a>"]
    with open_source(b"".join(map(gzip.compress, parts)) + b"\0" * 512) as source:
        assert whole(source) == b"".join(parts)
        assert whole(source, 7) == b"".join(parts)


@pytest.mark.parametrize("lost", [1, 8, 20, 200])
def test_gzip_that_breaks_off(lost: int) -> None:
    noise = os.urandom(500)
    with (
        open_source(gzip.compress(b"<a>" + noise)[:-lost], "a.xml.gz") as source,
        pytest.raises(DocumentError, match="ends too early") as caught,
    ):
        whole(source)
    assert caught.value.file == "a.xml.gz"
    assert caught.value.offset >= 0


def test_gzip_that_is_damaged() -> None:
    data = bytearray(gzip.compress(DATA))
    data[-6] ^= 255  # the checksum
    with open_source(bytes(data)) as source, pytest.raises(DocumentError, match="damaged"):
        whole(source)
    with (
        open_source(gzip.compress(DATA) + b"garbage") as source,
        pytest.raises(DocumentError, match="the gzip data is followed by something else"),
    ):
        whole(source)


def test_a_bomb_is_stopped() -> None:
    bomb = gzip.compress(bytes(3_000_000))
    limits = Limits(gzip_free_bytes=100_000)
    with (
        open_source(bomb, limits=limits) as source,
        pytest.raises(DocumentError, match="more than 400 times its size") as caught,
    ):
        whole(source, 65_536)
    assert "gunzip" in caught.value.hint
    with (
        open_source(bomb, limits=Limits(document_bytes=1_000_000)) as source,
        pytest.raises(DocumentError, match="more than 1,000,000 bytes"),
    ):
        whole(source, 65_536)
    with open_source(bomb) as source:  # three megabytes harm nobody
        assert len(whole(source)) == 3_000_000


def test_output_that_zlib_holds_back_is_not_lost() -> None:
    data = bytes(100_000)
    for size in (1, 17, 258, 259, 1 << 15):
        with open_source(gzip.compress(data)) as source:
            assert whole(source, max(size, 100)) == data
    raw = zlib.compressobj(9, zlib.DEFLATED, 31)
    with open_source(raw.compress(data) + raw.flush()) as source:
        assert whole(source, 99_999) == data


# -- places


@pytest.mark.parametrize("window", [2, 5, 1 << 20])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
def test_line_and_column(encoding: str, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source.windows, "__defaults__", (window * 2,))
    text = "<a>\n<größe>\n\n<\u010a/>x</größe></a>"
    data = text.encode(encoding)
    mark = 2 if encoding == "utf-16" else 0
    with open_source(data) as source:
        for index in range(len(text)):
            before = text[:index].encode(encoding.replace("utf-16", "utf-16-le", mark // 2))
            line = text.count("\n", 0, index) + 1
            column = index - text.rfind("\n", 0, index) + mark // 2 * (line == 1)
            assert source.place(len(before) + mark) == (line, column)


def test_the_place_of_the_end_and_of_an_empty_document() -> None:
    with open_source(b"") as source:
        assert source.place(0) == (1, 1)
    with open_source(b"<a>\n") as source:
        assert source.place(4) == (2, 1)


# -- piles


@pytest.mark.parametrize("budget", [1 << 20, 10, 0])
def test_piles_return_what_was_added(budget: int) -> None:
    piles = Piles(2, budget)
    for i in range(20):
        piles.add(i % 2, b"%02d." % i)
    assert read_all(piles[0]) == b"00.02.04.06.08.10.12.14.16.18."
    assert b"".join(map(bytes, piles[1].parts(4, 10))) == b"3.05.0"
    reader = io.BufferedReader(ContentReader(piles[1]), 7)
    assert reader.read(5) + reader.read() == read_all(piles[1])
    piles.clear()
    assert piles[0].size == 0


def test_the_original_is_not_copied() -> None:
    data = b"<a/>" * 10
    source = open_source(data)
    assert read_all(Original(source)) is data
    assert b"".join(map(bytes, Original(source).parts(3, 9))) == data[3:9]
    assert read_all(Original(open_source(memoryview(data)[4:12]))) == b"<a/><a/>"


# -- finding


def found(*names: str | Path) -> list[str]:
    return list(find_documents(map(str, names)).paths)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ["b.xml", "a.XML", "sub/c.xml.gz", "sub/d.txt", "sub/deep/e.xml", ".hidden.xml"]:
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_bytes(b"<a/>")
    return tmp_path / "tree"


def test_directories_are_searched_in_order(tree: Path) -> None:
    wanted = ["a.XML", "b.xml", "sub/c.xml.gz", "sub/deep/e.xml"]
    assert found(tree) == [str(tree / name) for name in wanted]
    assert found(tree, tree / "b.xml", f"{tree}/sub/../b.xml") == found(tree)


def test_a_file_is_taken_whatever_its_name(tree: Path) -> None:
    assert found(tree / "sub" / "d.txt", "-") == [str(tree / "sub" / "d.txt"), "-"]


def test_globs(tree: Path) -> None:
    assert found(f"{tree}/*.xml") == [str(tree / "b.xml")]
    assert found(f"{tree}/**/*.xml") == [str(tree / "b.xml"), str(tree / "sub/deep/e.xml")]
    assert found(f"{tree}/s*") == [str(tree / "sub/c.xml.gz"), str(tree / "sub/deep/e.xml")]
    odd = tree / "x[1].xml"
    odd.write_bytes(b"<a/>")
    assert found(odd) == [str(odd)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.xml", "no such file or directory"),
        ("*.nitf", "no file matches"),
        ("empty", r"there is no file named \*.xml in this directory"),
    ],
)
def test_a_name_that_leads_nowhere_is_an_error(tree: Path, name: str, said: str) -> None:
    (tree / "empty").mkdir()
    with pytest.raises(DocumentError, match=said) as caught:
        find_documents([str(tree), str(tree / name)])
    assert caught.value.file == str(tree / name)


def test_links_out_of_the_tree_pipes_and_loops(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.xml"
    outside.write_bytes(b"<a/>")
    (tree / "out.xml").symlink_to(outside)
    (tree / "in.xml").symlink_to(tree / "b.xml")
    (tree / "gone.xml").symlink_to(tree / "nowhere.xml")
    (tree / "loop").symlink_to(tree)
    (tree / "away").symlink_to(tmp_path)
    os.mkfifo(tree / "pipe.xml")
    result = find_documents([str(tree)])
    names = [os.path.relpath(path, tree) for path in result.paths]
    assert names == ["a.XML", "b.xml", "in.xml", "sub/c.xml.gz", "sub/deep/e.xml"]
    said = "\n".join(map(str, result.skipped))
    assert "out.xml is not read: a link to a file outside" in said
    assert "away is not read: a link to a directory outside" in said
    assert "pipe.xml is not read: a pipe or a device" in said
    assert "gone.xml is not read: a link to" in said
    assert "loop" not in said  # it is searched anyway
    assert len(result.skipped) == 4
    assert found(tree / "out.xml") == [str(tree / "out.xml")]  # who names it, means it
