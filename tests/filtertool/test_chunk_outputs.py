"""Results of FLWR queries from chunk files are those of the documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from lxml import etree

import extract
from extract.cli import cli

DTD = """<!ELEMENT lib (meta?, shelf*)><!ATTLIST lib xmlns:q CDATA #FIXED "urn:q">
<!ELEMENT meta (#PCDATA)><!ELEMENT shelf (book*)><!ELEMENT book (title, part*, price)>
<!ATTLIST book id CDATA #REQUIRED><!ELEMENT part (title, part*)>
<!ELEMENT title (#PCDATA)><!ELEMENT price (#PCDATA)>"""
DOCUMENT = """<lib xmlns:q="urn:q"><meta>m</meta><shelf>
<book id="1"><title>B &amp; C</title><part><title>x</title></part><price>5</price></book>
<book id="2"><title>A<!-- c --></title><part><title>y</title><part><title>z</title></part></part>
<price>50</price></book></shelf></lib>"""
QUERIES = {
    "cheap": "<c>{ for $b in //book where $b/price < 9 "
    "return <b id='{ $b/@id }'>{ $b/title }</b> }</c>",
    "sorted": "for $b in /lib/shelf/book order by $b/title return <t>{ $b//part/title }</t>",
    "same": "for $b in //book where $b/@id = 2 return <p>{ $b/part[title = $b//title] }{ $b }</p>",
    "around": "for $b in //book return <m>{ $b/../../meta }</m>",
    "tied": "for $b in //book where $b/part[. = $b/title] return <never/>",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("lib.dtd").write_text(DTD)
    Path("d.xml").write_text(DOCUMENT)
    return tmp_path


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, list(args))
    return result.exit_code, result.stdout, result.stderr


def prepared(queries: dict[str, str], chunks: int) -> extract.Scheme:
    schema = extract.Schema.load("lib.dtd", root="lib")
    scheme = extract.prepare(schema, extract.Subscriptions.of(queries), chunks=chunks)
    scheme.save("scheme.json")
    code, _, error = run("chunk", "--scheme", "scheme.json", "d.xml", "-o", "chunks")
    assert code == 0, error
    return scheme


@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.usefixtures("here")
def test_results_from_chunks_are_those_of_the_document(chunks: int) -> None:
    below = {name: QUERIES[name] for name in ("cheap", "sorted", "same")}
    scheme = prepared(below, chunks)
    code, out, error = run("filter", "--scheme", "scheme.json", "chunks", "--select", "output")
    assert code == 0, error
    rows = [json.loads(line) for line in out.splitlines()]
    made = {row["query"]: canonical(row["output"]) for row in rows}
    wanted = {query: canonical(text) for _, query, text in extract.outputs(scheme, "d.xml")}
    assert made == wanted
    assert len(made) == 3


@pytest.mark.usefixtures("here")
def test_what_chunks_do_not_have_is_rejected() -> None:
    prepared({name: QUERIES[name] for name in ("cheap", "around")}, 1)
    code, out, error = run("filter", "--scheme", "scheme.json", "chunks", "--select", "output")
    assert code == 1
    assert [json.loads(line)["query"] for line in out.splitlines()] == ["cheap"]
    assert "'around': its result looks beyond what it binds" in error


@pytest.mark.usefixtures("here")
def test_a_whole_document_has_everything() -> None:
    scheme = prepared(QUERIES, 1)
    Path("d.xml").write_text(DOCUMENT.replace("<meta>m</meta>", "<odd/>"))
    run("chunk", "--scheme", "scheme.json", "d.xml", "-o", "others")
    code, out, _ = run("filter", "--scheme", "scheme.json", "others", "--select", "output")
    assert code == 1  # no document keeps to the schema
    rows = {row["query"]: row["output"] for row in map(json.loads, out.splitlines())}
    assert rows == {query: text for _, query, text in extract.outputs(scheme, "d.xml")}
    assert set(rows) == {"cheap", "sorted", "same", "around"}


def canonical(text: str) -> bytes:
    xml: bytes = etree.tostring(etree.fromstring(f"<w>{text}</w>"), method="c14n")
    return xml
