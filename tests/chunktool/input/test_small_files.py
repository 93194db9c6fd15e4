"""Small files are read at once; what is anything else is left to others."""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import pytest

from extract.chunktool.input.small_files import read_small


def test_a_small_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    for data in (b"<a/>", b"", b"\xef\xbb\xbf<a/>", b"no XML"):
        path.write_bytes(data)
        assert read_small(path, 10) == read_small(str(path), len(data)) == data


def test_what_others_must_read(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"<abc/>")
    assert read_small(path, 5) is None
    path.write_bytes(gzip.compress(b"<a/>"))
    assert read_small(path, 1_000) is None
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.xml", "<a/>")
    assert read_small(path, 1_000) is None
    for odd in (tmp_path, tmp_path / "none.xml", "a\0b", "-"):
        assert read_small(odd, 1_000) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_neither_waited_for_nor_emptied(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.xml"
    os.mkfifo(pipe)
    assert read_small(pipe, 1_000) is None
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY)
    os.write(writer, b"<a/>")
    assert read_small(pipe, 1_000) is None
    assert os.read(reader, 10) == b"<a/>"
    os.close(reader)
    os.close(writer)
