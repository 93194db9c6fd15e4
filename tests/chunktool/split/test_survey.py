"""Pieces of a document: whole records, every byte once, wherever windows end."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract import Scheme
from extract.chunktool.scan.driver import kernel_available
from extract.chunktool.split.divide import divide
from extract.chunktool.split.survey import survey
from tests.support.records import document, surveyed

if not kernel_available():
    pytest.skip("pieces need the kernel", allow_module_level=True)


def test_pieces_are_whole_records_and_have_every_byte_once(scheme: Scheme) -> None:
    division, data = divide(scheme), document(3, 30)
    for size in (1, 200, 1_000):
        pieces = surveyed(scheme, division, data, size).pieces
        assert b"".join(data[one.start : one.end] for one in pieces) == data
        assert all(one.size >= size for one in pieces[:-1])
    assert len(pieces) > 2
    assert [one.number for one in pieces] == list(range(len(pieces)))
    for name in ("dept", "prof", "note"):  # these are nowhere but below upper elements
        place = division.names.index(("", name))
        assert sum(one.records[place] for one in pieces) == data.count(f"</{name}>".encode())


def test_windows_do_not_matter(
    scheme: Scheme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    division, data = divide(scheme), document(5, 30)
    file = tmp_path / "d.xml"
    file.write_bytes(data)
    monkeypatch.setattr("extract.chunktool.scan.driver.WINDOW", 300)
    for size in (1, 500):
        seen = survey(scheme, division, str(file), lambda a, b: data[a:b], size=size)
        assert seen == surveyed(scheme, division, data, size)


def test_what_breaks_the_schema_or_is_not_plain_is_not_cut(scheme: Scheme) -> None:
    division = divide(scheme)
    odd = b"<db><dept><student><name>x</name><zzz/></student></dept><note/></db>"
    assert not surveyed(scheme, division, odd, 1).pieces
    entity = b'<!DOCTYPE db [<!ENTITY e "<note/>">]><db>&e;<note/><note/></db>'
    assert not surveyed(scheme, division, entity, 1).pieces
    latin = '<?xml version="1.0" encoding="iso-8859-1"?><db><note>é</note><note/></db>'
    assert not surveyed(scheme, division, latin.encode("latin-1"), 1).pieces
