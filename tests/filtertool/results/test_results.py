"""The columns of the contract, on documents written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lxml import etree
from pyarrow import parquet

import extract
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.output import arrow
from extract.filtertool.output.arrow import SCHEMAS
from extract.filtertool.output.directory import result_directory
from extract.filtertool.output.writers import Format, open_writer
from extract.filtertool.results.findings import Match
from extract.filtertool.results.outcome import DocumentOutcome
from extract.limits import Limits
from extract.pipeline import prepare
from extract.scheme.model import Scheme

DTD = """
<!ELEMENT a (b*, c*, p:d*)>
<!ATTLIST a x CDATA #IMPLIED xmlns:p CDATA #FIXED "urn:p">
<!ELEMENT b (#PCDATA | c)*>
<!ATTLIST b x CDATA #IMPLIED y CDATA #IMPLIED>
<!ELEMENT c (#PCDATA)>
<!ELEMENT p:d (#PCDATA | p:d)*>
<!ATTLIST p:d p:e CDATA #IMPLIED f NMTOKENS #IMPLIED>
"""


def scheme_of(tmp_path: Path, *queries: str, chunks: int = 3) -> Scheme:
    """A scheme whose queries are named by their numbers, from 0."""
    file = tmp_path / "schema.dtd"
    file.write_text(DTD, encoding="utf-8")
    named = {str(n): xpath for n, xpath in enumerate(queries)}
    subscriptions = extract.Subscriptions.of(named, {"p": "urn:p"})
    return prepare(extract.Schema.load(file, root="a"), subscriptions, chunks)


def process(scheme: Scheme, document: bytes, **options: Any) -> tuple[DocumentOutcome, list[str]]:
    filter_ = document_filter(scheme, load_matcher("auto"), Options(**options))
    (done,) = filter_.process([("doc.xml", document)])
    return done, [one.id for one in filter_.plan.subscribers]


def rows(tmp_path: Path, document: bytes, *queries: str, **options: Any) -> list[Match]:
    """All matches of some queries."""
    done, ids = process(scheme_of(tmp_path, *queries), document, **options)
    assert done.fate == "conforming", done
    assert not done.rejections
    return list(done.findings.matches(done.document, ids))


def test_an_element(tmp_path: Path) -> None:
    document = b"<a>\n <b/><b x='1'>t<c/></b></a>"
    assert rows(tmp_path, document, "//b[2]") == [
        Match("doc.xml", "0", "element", "b", 9, 27, 0, "/a[1]/b[2]", "<b x='1'>t<c/></b>")
    ]


def test_positions_count_siblings_that_no_query_looks_at(tmp_path: Path) -> None:
    document = b"<a><b x='1'/><b/><b x='2'><c>1</c><c>2</c></b></a>"
    found = rows(tmp_path, document, "/a/b[@x = 2]/c")
    assert [match.path for match in found] == ["/a[1]/b[3]/c[1]", "/a[1]/b[3]/c[2]"]


def test_an_attribute_has_the_span_of_its_element(tmp_path: Path) -> None:
    document = b"<a><b y = '1\t&lt;&#10;2'  x=\"\"/></a>"
    assert rows(tmp_path, document, "//@y") == [
        Match("doc.xml", "0", "attribute", "y", 3, 32, 0, "/a[1]/b[1]/@y", "1 <\n2")
    ]


def test_a_text_has_the_span_of_its_element(tmp_path: Path) -> None:
    document = b"<a><b>x<!--c-->y<![CDATA[<z>]]>&amp;\r\n</b></a>"
    found = rows(tmp_path, document, "//b/text()")
    assert [(m.path, m.value, m.start, m.end) for m in found] == [
        ("/a[1]/b[1]/text()[1]", "x", 3, 42),
        ("/a[1]/b[1]/text()[2]", "y<z>&\n", 3, 42),
    ]
    assert {(m.node, m.name) for m in found} == {("text", None)}


def test_comments_and_instructions_have_their_own_span(tmp_path: Path) -> None:
    document = b"<!-- x --><a><?go  now ?><b/></a><?end?>"
    found = rows(tmp_path, document, "//comment() | //processing-instruction()")
    assert [(m.node, m.name, m.start, m.end, m.path, m.value) for m in found] == [
        ("comment", None, 0, 10, "/comment()[1]", " x "),
        ("pi", "go", 13, 25, "/a[1]/processing-instruction()[1]", "now "),
        ("pi", "end", 33, 40, "/processing-instruction()[1]", ""),
    ]


def test_names_are_as_written(tmp_path: Path) -> None:
    document = b"<a xmlns:q='urn:p'><q:d q:e='1'><p:d xmlns:p='urn:p'/></q:d></a>"
    found = rows(tmp_path, document, "//p:d", "//@p:e")
    assert [(m.name, m.path) for m in found] == [
        ("q:d", "/a[1]/q:d[1]"),
        ("p:d", "/a[1]/q:d[1]/p:d[1]"),
        ("q:e", "/a[1]/q:d[1]/@q:e"),
    ]


def test_positions_are_among_siblings_of_the_same_expanded_name(tmp_path: Path) -> None:
    document = b"<a xmlns:q='urn:p' xmlns:p='urn:p'><p:d/><q:d/></a>"
    assert [m.path for m in rows(tmp_path, document, "//p:d")] == ["/a[1]/p:d[1]", "/a[1]/q:d[2]"]


@pytest.mark.parametrize(
    ("query", "node", "value"),
    [
        ("count(//b)", "number", "2"),
        ("count(//b) div 3", "number", "0.666666666666667"),
        ("number(//c)", "number", "NaN"),
        ("-1 div 0", "number", "-Infinity"),
        ("string(//b[2])", "string", "é"),
        ("//b = 'é'", "boolean", "true"),
        ("not(//b)", "boolean", "false"),
    ],
)
def test_an_expression_that_is_no_node_set_has_one_row(
    tmp_path: Path, query: str, node: str, value: str
) -> None:
    document = "<a><b/><b>é</b></a>".encode()
    wanted = Match("doc.xml", "0", node, None, None, None, 0, None, value)
    assert rows(tmp_path, document, query) == [wanted]
    done, _ = process(scheme_of(tmp_path, query), document, select="count")
    assert done.findings.count.tolist() == ([] if value in ("NaN", "false") else [1])


def test_the_document_node_has_no_row(tmp_path: Path) -> None:
    assert rows(tmp_path, b"<a/>", "/", "/..", "//b/ancestor::node()[last()]") == []


def test_namespace_nodes(tmp_path: Path) -> None:
    found = rows(tmp_path, b"<a xmlns:q='urn:q'><b/></a>", "/a/b/namespace::q")
    assert [(m.node, m.name, m.start, m.path, m.value) for m in found] == [
        ("namespace", "q", None, None, "urn:q")
    ]


def test_subscribers_of_one_canonical_query_have_rows_of_their_own(tmp_path: Path) -> None:
    found = rows(tmp_path, b"<a><b/><b/></a>", "//b", "/a/b", "//c", "/a/child::b")
    assert [(m.query, m.ordinal, m.start) for m in found] == [
        (query, n, 3 + 4 * n) for query in ("0", "1", "3") for n in (0, 1)
    ]


def test_a_node_of_several_chunks_has_one_row(tmp_path: Path) -> None:
    document = b"<a><b x='1'>t<c/></b><c/><p:d xmlns:p='urn:p'/></a>"
    queries = ["//c | //b[c]/c | //*[@x]", "//b", "/a/c", "//p:d", "//c"]
    for chunks in range(1, 6):
        scheme = scheme_of(tmp_path, *queries, chunks=chunks)
        done, ids = process(scheme, document)
        first = [m for m in done.findings.matches("", ids) if m.query == "0"]
        assert [(m.ordinal, m.start) for m in first] == [(0, 3), (1, 13), (2, 21)]
        done, ids = process(scheme, document, select="count")
        counts = dict(zip(done.findings.subscriber.tolist(), done.findings.count, strict=True))
        assert {ids[n]: int(count) for n, count in counts.items()} == {
            "0": 3,
            "1": 1,
            "2": 1,
            "3": 1,
            "4": 2,
        }


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1", "shift_jis"])
def test_offsets_count_bytes_of_the_original(tmp_path: Path, encoding: str) -> None:
    declared = "" if encoding.startswith("utf") else f"<?xml version='1.0' encoding='{encoding}'?>"
    text = "é" if encoding != "shift_jis" else "表"
    document = f"{declared}<a><b x='{text}'>{text}<c/></b><c>&#233;</c></a>".encode(encoding)
    one, other, attribute = rows(tmp_path, document, "//b", "/a/c/text()", "//@x")
    assert one.start is not None
    codec = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(encoding, encoding)
    assert document[one.start : one.end].decode(codec) == f"<b x='{text}'>{text}<c/></b>"
    assert one.value == f"<b x='{text}'>{text}<c/></b>"
    assert (other.value, attribute.value) == ("é", text)


def test_entities_and_declared_types(tmp_path: Path) -> None:
    document = (
        b"<!DOCTYPE a [<!ENTITY e 'x&#38;#38;y'><!ATTLIST p:d f NMTOKENS #IMPLIED>]>"
        b"<a><b x='&e;&#9;'>1&e;2</b><p:d xmlns:p='urn:p' f=' 1  2 '/></a>"
    )
    found = rows(tmp_path, document, "//b", "//b/text()", "//b/@x", "//@f")
    assert [m.value for m in found] == ["<b x='&e;&#9;'>1&e;2</b>", "1x&y2", "x&y\t", "1 2"]


def test_nodes_out_of_entities_have_no_span(tmp_path: Path) -> None:
    document = b"<!DOCTYPE a [<!ENTITY e '<b>x</b>'>]><a><b/>&e;<b>y</b></a>"
    done, ids = process(scheme_of(tmp_path, "//b"), document)
    assert done.fate == "whole"
    assert [(m.start, m.end, m.path, m.value) for m in done.findings.matches("", ids)] == [
        (40, 44, "/a[1]/b[1]", "<b/>"),
        (None, None, "/a[1]/b[2]", "<b>x</b>"),
        (47, 55, "/a[1]/b[3]", "<b>y</b>"),
    ]


def test_long_values_are_left_out_and_their_place_is_given(tmp_path: Path) -> None:
    document = b"<a><b x='12345'>12345</b><b>1</b></a>"
    queries = ("//b", "//b/text()", "//@x", "string(//b)")
    for doc in (document, document.replace(b"<a>", b"<a><zz/>")):
        done, ids = process(scheme_of(tmp_path, *queries), doc, limits=Limits(value_bytes=8))
        found = list(done.findings.matches("", ids))
        assert [m.value for m in found] == [None, "<b>1</b>", "12345", "1", "12345", "12345"]
        assert found[0].start == doc.index(b"<b")
        done, ids = process(scheme_of(tmp_path, *queries), doc, limits=Limits(value_bytes=4))
        values = [m.value for m in done.findings.matches("", ids)]
        assert values == [None, None, None, "1", None, None]


def test_a_document_that_breaks_the_schema_is_evaluated_whole(tmp_path: Path) -> None:
    document = b"<a><zz><b/></zz><b><zz/></b></a>"
    scheme = scheme_of(tmp_path, "//b", "//zz", "/a/b/zz")
    assert [one.subscriber.id for one in scheme.unsatisfiable] == ["1", "2"]
    done, ids = process(scheme, document)
    assert (done.fate, done.nonconforming) == ("nonconforming", True)
    assert [(m.query, m.start, m.path) for m in done.findings.matches("", ids)] == [
        ("0", 7, "/a[1]/zz[1]/b[1]"),
        ("0", 16, "/a[1]/b[1]"),
        ("1", 3, "/a[1]/zz[1]"),
        ("1", 19, "/a[1]/b[1]/zz[1]"),
        ("2", 19, "/a[1]/b[1]/zz[1]"),
    ]
    done, _ = process(scheme, document, on_nonconforming="reject")
    assert (done.fate, done.nonconforming, len(done.findings)) == ("rejected", True, 0)
    assert "/a has a child zz" in done.rejections[0].reason
    assert done.rejections[0].offset == 3


def test_an_uncut_document_that_breaks_the_schema_can_be_rejected(tmp_path: Path) -> None:
    document = b"<!DOCTYPE a [<!ENTITY e '<zz/>'>]><a>&e;</a>"
    done, _ = process(scheme_of(tmp_path, "//b"), document, on_nonconforming="reject")
    assert (done.fate, done.nonconforming) == ("rejected", True)
    done, _ = process(scheme_of(tmp_path, "//b"), document)
    assert done.fate == "whole"


def test_whole_documents_have_a_limit(tmp_path: Path) -> None:
    scheme = scheme_of(tmp_path, "//b", "//b/namespace::*")
    document = b"<a><b/><c/></a>"
    done, ids = process(scheme, document, limits=Limits(whole_bytes=10))
    assert done.fate == "conforming"
    assert [m.query for m in done.findings.matches("", ids)] == ["0"]
    ((_, query, stage, reason, _, _),) = done.rejections
    assert (query, stage) == ("1", "filter")
    assert "15 bytes, and documents are evaluated whole up to 10 bytes" in reason
    done, _ = process(scheme, document.replace(b"<c/>", b"<zz/>"), limits=Limits(whole_bytes=10))
    assert done.fate == "rejected"
    assert "up to 10 bytes" in done.rejections[0].reason


def test_a_query_that_fails_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    file = tmp_path / "schema.dtd"
    file.write_text(DTD, encoding="utf-8")
    queries = {"bad": "//b[re:test('x', .)]", "good": "//b"}
    bound = {"re": "http://exslt.org/regular-expressions"}
    subscriptions = extract.Subscriptions.of(queries, bound)
    scheme = prepare(extract.Schema.load(file, root="a"), subscriptions, 2)
    for document in (b"<a><b>(</b></a>", b"<a><b>(</b><zz/></a>"):
        for select in ("nodes", "count", "doc"):
            done, ids = process(scheme, document, select=select)
            assert [ids[n] for n in done.findings.subscriber] == ["good"]
            assert [(one.query, one.stage) for one in done.rejections] == [("bad", "filter")]


def test_broken_documents_are_rejected_with_their_place(tmp_path: Path) -> None:
    scheme = scheme_of(tmp_path, "//b")
    for document in (
        b"",
        b"<a>",
        b"<a>\n</b>",
        b"<a/><a/>",
        b"no XML",
        b"<a>\xff</a>",
        b"\x1f\x8b\x08",
    ):
        done, _ = process(scheme, document)
        assert (done.fate, len(done.findings)) == ("rejected", 0), document
        ((name, query, stage, reason, _, _),) = done.rejections
        assert (name, query, stage) == ("doc.xml", None, "chunk")
        assert reason


# -- files


def write(tmp_path: Path, form: Any, document: bytes, *queries: str, **options: Any) -> Path:
    """Writes the results of one document."""
    scheme = scheme_of(tmp_path, *queries)
    done, ids = process(scheme, document, standalone=form == "xml", **options)
    with result_directory(tmp_path / "out") as partial:
        writer = open_writer(partial, form, ids, options.get("select", "nodes"))
        writer.write(done.document, done.findings)
        writer.reject(done.rejections)
        writer.close()
    return tmp_path / "out"


def test_parquet_and_json_lines_have_the_same_rows(tmp_path: Path) -> None:
    document = "<a><b x='1'>é\n\"</b><b/><c/></a>".encode()
    queries = ("//b", "//@x", "//b/text()", "count(//c)", "/a/b")
    table = parquet.read_table(write(tmp_path, "parquet", document, *queries) / "matches")
    assert table.schema == SCHEMAS["nodes"]
    other = tmp_path / "json"
    other.mkdir()
    lines = (write(other, "jsonl", document, *queries) / "matches" / "part-00000.jsonl").read_text()
    found = [json.loads(line) for line in lines.splitlines()]
    assert found == table.to_pylist()
    assert len(found) == 7
    assert list(found[0]) == [field.name for field in SCHEMAS["nodes"]]


@pytest.mark.parametrize("select", ["nodes", "count", "doc"])
@pytest.mark.parametrize("largest", [1 << 25, 50])
def test_rows_of_documents_that_are_written_together(
    tmp_path: Path, select: Any, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has its own, whatever is written before and after, and the order stays."""
    monkeypatch.setattr(arrow, "RECORD_BATCH_BYTES", largest)
    scheme = scheme_of(tmp_path, "//b", "//@x", "count(//c)", "//c")
    filter_ = document_filter(scheme, load_matcher("auto"), Options(select=select))
    texts = [b"<b x='%d'>one</b><b/>" % n + b"<c>%d</c>" % n * (n % 4) for n in range(7)]
    every = filter_.process([(f"{n}.xml", b"<a>%b</a>" % text) for n, text in enumerate(texts)])
    empty = filter_.process([("empty.xml", b"<a/>")])
    every = [*every[:3], *empty, *every[3:]]
    ids = [one.id for one in filter_.plan.subscribers]
    forms: tuple[Format, ...] = ("parquet", "jsonl")
    for form in forms:
        (tmp_path / form).mkdir()
        writer = open_writer(tmp_path / form, form, ids, select)
        for done in every:
            writer.write(done.document, done.findings)
        writer.close()
    lines = (tmp_path / "jsonl" / "matches" / "part-00000.jsonl").read_text().splitlines()
    found = parquet.read_table(tmp_path / "parquet" / "matches").to_pylist()
    assert found == [json.loads(line) for line in lines]
    assert {row["document"] for row in found} >= {f"{n}.xml" for n in range(7)}


@pytest.mark.parametrize(
    ("select", "row"),
    [
        ("doc", {"document": "doc.xml", "query": "0"}),
        ("count", {"document": "doc.xml", "query": "0", "count": 2}),
    ],
)
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_less_can_be_selected(tmp_path: Path, form: str, select: str, row: Any) -> None:
    out = write(tmp_path, form, b"<a><b/><b/></a>", "//b", "//c", select=select)
    if form == "parquet":
        assert parquet.read_table(out / "matches").to_pylist() == [row]
    else:
        assert json.loads((out / "matches" / "part-00000.jsonl").read_text()) == row


def test_nothing_found_is_a_file_without_rows(tmp_path: Path) -> None:
    out = write(tmp_path, "parquet", b"<a/>", "//b")
    table = parquet.read_table(out / "matches")
    assert (table.num_rows, table.schema) == (0, SCHEMAS["nodes"])
    assert parquet.read_table(out / "rejected").num_rows == 0


def test_xml_results_stand_alone(tmp_path: Path) -> None:
    document = (
        b"<!DOCTYPE a [<!ENTITY e 'x&#38;#38;y'>]>"
        b"<a xmlns:q='urn:p'><q:d q:e='1'>&e;<q:d/></q:d><b x='&lt;&#13;'>&amp;</b></a>"
    )
    out = write(tmp_path, "xml", document, "//p:d", "//b/@x", "//b/text()", "//c")
    files = sorted((out / "matches").iterdir())
    assert [file.name for file in files] == ["0.xml", "1.xml", "2.xml", "3.xml"]
    first, second, third, fourth = (etree.parse(file).getroot() for file in files)
    assert [len(match) for match in first] == [1, 1]
    assert first[0][0].tag == "{urn:p}d"
    assert first[0][0].text == "x&y"
    assert first[0].get("path") == "/a[1]/q:d[1]"
    assert (second[0].text, third[0].text, len(fourth)) == ("<\r", "&", 0)
    assert fourth.get("query") == "3"


def test_xml_results_keep_ids_also_where_they_are_there_twice(tmp_path: Path) -> None:
    document = b"<a><b xml:id='i'><b xml:id='j'/></b></a>"
    (file,) = (write(tmp_path, "xml", document, "//b") / "matches").iterdir()
    found = etree.parse(file, etree.XMLParser(collect_ids=False)).getroot()
    ids = [element.get("{http://www.w3.org/XML/1998/namespace}id") for element in found.iter("b")]
    assert ids == ["i", "j", "j"]


def test_ids_of_queries_become_file_names(tmp_path: Path) -> None:
    file = tmp_path / "schema.dtd"
    file.write_text(DTD, encoding="utf-8")
    ids = ["../x", "X", "x", 'a\x01"<&']
    subscriptions = extract.Subscriptions.of([(one, "//b") for one in ids])
    scheme = prepare(extract.Schema.load(file, root="a"), subscriptions, 1)
    done, found = process(scheme, b"<a><b/></a>", standalone=True)
    with result_directory(tmp_path / "out") as partial:
        writer = open_writer(partial, "xml", found, "nodes")
        writer.write("a\x02.xml", done.findings)
        writer.close()
    files = sorted((tmp_path / "out" / "matches").iterdir())
    assert len({file.name.casefold() for file in files}) == 4
    names = {etree.parse(file).getroot().get("query") for file in files}
    assert names == {"../x", "X", "x", 'a\ufffd"<&'}


def test_names_that_are_no_text_can_be_written(tmp_path: Path) -> None:
    scheme = scheme_of(tmp_path, "//b")
    done, ids = process(scheme, b"<a><b/></a>")
    for form in ("parquet", "jsonl", "xml"):
        with result_directory(tmp_path / form) as partial:
            writer = open_writer(partial, form, ids, "nodes")
            writer.write("a\udcff.xml", done.findings)
            writer.close()
    table = parquet.read_table(tmp_path / "parquet" / "matches")
    assert table["document"].to_pylist() == ["a?.xml"]
    assert table.schema.field("document").type == pa.string()


def interrupted(target: Path) -> None:
    """Begins to write results."""
    with result_directory(target) as partial:
        (partial / "report.json").write_text("2")
        raise KeyboardInterrupt


def test_results_are_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        interrupted(target)
    assert list(tmp_path.iterdir()) == []
    with result_directory(target) as partial:
        (partial / "report.json").write_text("1")
    with pytest.raises(KeyboardInterrupt):
        interrupted(target)
    assert (target / "report.json").read_text() == "1"
    with result_directory(target) as partial:
        (partial / "report.json").write_text("3")
    assert (target / "report.json").read_text() == "3"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with (
        pytest.raises(FileExistsError, match="was not written by extract"),
        result_directory(tmp_path),
    ):
        pass
    assert (tmp_path / "precious").read_text() == "mine"
