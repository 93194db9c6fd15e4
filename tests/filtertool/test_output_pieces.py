"""Results of FLWR queries on large documents, piece by piece."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lxml import etree

import extract
from extract.chunktool.split import survey as survey_module
from extract.chunktool.split.survey import PIECE_BYTES
from extract.filtertool import output_filter, output_pieces
from extract.filtertool.job import Job
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output_filter import OutputFilter
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.limits import Limits

pytestmark = pytest.mark.skipif(not native_available(), reason="the engine is not compiled")

XSD = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:l"
 xmlns="urn:l" elementFormDefault="qualified"><xs:element name="lib"><xs:complexType><xs:sequence>
<xs:element name="meta" type="xs:string"/><xs:element name="shelf" maxOccurs="unbounded">
<xs:complexType><xs:sequence><xs:element name="book" minOccurs="0" maxOccurs="unbounded">
<xs:complexType><xs:sequence><xs:element name="title" type="xs:string"/>
<xs:element name="price" type="xs:decimal"/>
<xs:element name="note" type="xs:string" minOccurs="0" maxOccurs="3"/></xs:sequence>
<xs:attribute name="id"/>
</xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element>
</xs:sequence></xs:complexType></xs:element></xs:schema>"""
QUERIES = {
    "framed": "<all k='é'>{ for $b in //l:book where $b/l:price > 7 "
    "return <b>{ $b/l:title }</b> }</all>",
    "bare": "for $b in /l:lib/l:shelf/l:book[@id = '13'] return <n i='{ $b/@id }'>{ $b }</n>",
    "none": "for $b in //l:book where $b/l:price = 99 return <n/>",
    "ordered": "for $b in //l:book where $b/l:price = 3 order by $b/@id descending "
    "return <o>{ $b/@id }</o>",
    "first": "<o>{ for $b in //l:book where $b/l:price < 4 order by $b/l:note, $b/l:title "
    "return <n>{ $b/@id }{ $b/l:note }</n> }</o>",
    "numbers": "for $b in //l:book where $b/l:price > 6 "
    "order by number($b/l:note) descending, string($b/l:note), count($b/l:note) descending, $b/@id "
    "return <n>{ string($b/@id) }</n>",
    "around": "for $b in //l:book where $b/@id = 5 return <m>{ /l:lib/l:meta }{ $b/l:title }</m>",
}


NOTES = ["", "&lt;&gt;&amp;", "9", " 10 ", "x", "1e1", "é", "&#13;", "\U0001f4d6"]


def document(books: int, extra: str = "") -> bytes:
    draw = Random(books)

    def notes() -> str:
        some = draw.choices(NOTES, k=draw.choice((0, 1, 1, 3)))
        return "".join(f"<p:note>{note}</p:note>" for note in some)

    parts = [
        f'<p:book id="{n}"><p:title>Title <![CDATA[<]]> {n}</p:title>'
        f"<p:price>{n % 10}</p:price>{notes()}</p:book>\n"
        for n in range(books)
    ]
    shelves = ["".join(parts[at : at + 25]) for at in range(0, books, 25)]
    inside = "".join([f'<p:shelf xmlns:s="urn:s">{shelf}</p:shelf>' for shelf in shelves])
    root = f'<p:lib xmlns:p="urn:l"><p:meta>m</p:meta>{inside}{extra}</p:lib>'
    return f'<?xml version="1.0"?>\n{root}'.encode()


@pytest.fixture
def scheme(tmp_path: Path) -> extract.Scheme:
    file = tmp_path / "lib.xsd"
    file.write_text(XSD)
    subscriptions = extract.Subscriptions.of(QUERIES, {"l": "urn:l"})
    return extract.prepare(extract.Schema.load(file), subscriptions, chunks=1)


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Documents from 4 KB on are large, and cut into pieces of 2 KB; returns how many were."""
    counts: list[int] = []

    def counted(*args: object, **options: object) -> object:
        found = survey(*args, **options)  # type: ignore[arg-type]
        counts.append(len(found.pieces))
        return found

    survey = survey_module.survey
    monkeypatch.setattr(output_filter, "MOST_BYTES", 4096)
    monkeypatch.setattr(output_pieces, "survey", counted)
    original = output_pieces.OutputPieces.__init__
    size = 2048
    assert size < PIECE_BYTES

    def small(self: output_pieces.OutputPieces, *args: Any) -> None:
        original(self, args[0], args[1], args[2], size)

    monkeypatch.setattr(output_pieces.OutputPieces, "__init__", small)
    return counts


def made(scheme: extract.Scheme, data: object, limits: Limits | None = None) -> dict[str, str]:
    options = Options("output", limits=limits or Limits())
    ready = Job(scheme, load_matcher("auto"), options).filter()
    (done,) = document_outcomes(ready.process([("d", data)]))  # type: ignore[list-item]
    rows = {ready.ids[n]: text for n, text in done.findings.outputs()}
    return rows | {str(one.query): f"rejected: {one.reason}" for one in done.rejections}


def canonical(text: str) -> bytes:
    xml: bytes = etree.tostring(etree.fromstring(f"<w>{text}</w>"), method="c14n")
    return xml


def test_pieces_make_what_the_document_makes(
    scheme: extract.Scheme, pieces: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = document(400)
    cut = made(scheme, data)
    assert pieces[0] > 10
    monkeypatch.setattr(output_filter, "MOST_BYTES", 1 << 25)
    whole = made(scheme, data)
    assert len(pieces) == 1
    assert {name: canonical(text) for name, text in cut.items()} == {
        name: canonical(text) for name, text in whole.items()
    }
    assert set(whole) == {*QUERIES} - {"none"}
    assert whole["framed"].count("<b>") == 80


def test_only_queries_that_stay_below_are_answered_on_pieces(scheme: extract.Scheme) -> None:
    ready = OutputFilter(scheme, load_matcher("auto"), Options("output"))
    own = QUERIES.keys() - {"around"}
    assert ready.on_pieces == {scheme.directory.find(one) for one in own}


@pytest.mark.parametrize("form", ["path", "packed", "stream"])
def test_any_source_can_be_cut(
    scheme: extract.Scheme, pieces: list[int], tmp_path: Path, form: str
) -> None:
    data, file = document(200), tmp_path / "d.xml"
    file.write_bytes(gzip.compress(data) if form == "packed" else data)
    source = io.BytesIO(data) if form == "stream" else str(file)
    assert set(made(scheme, source)) == {*QUERIES} - {"none"}
    assert pieces[0] > 5


@pytest.mark.parametrize("extra", ["<p:odd/>", "<p:shelf><p:book id='1'/></p:shelf><p:shelf>"])
def test_documents_that_break_the_schema_or_xml(
    scheme: extract.Scheme, pieces: list[int], extra: str
) -> None:
    found = made(scheme, document(200, extra))
    if "odd" in extra:
        assert found["framed"].count("<b>") == 40
    else:
        assert list(found) == ["None"]


def test_a_result_of_many_pieces_has_a_limit(scheme: extract.Scheme, pieces: list[int]) -> None:
    found = made(scheme, document(400), Limits(query_bytes=1500))
    assert pieces[0] > 10
    assert found["framed"] == "rejected: it selects more than 1,500 bytes (--max-query-bytes)"
    assert found["bare"].startswith("<n i=")
