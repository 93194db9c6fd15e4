"""The columns of the contract, on documents written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import extract
from extract.filtertool.results.findings import Match
from extract.limits import Limits
from extract.pipeline import prepare
from tests.support.small_results import DTD, process, rows, scheme_of


def test_an_element(tmp_path: Path) -> None:
    document = b"<a>\n <b/><b x='1'>t<c/></b></a>"
    assert rows(tmp_path, document, "//b[2]") == [
        Match("doc.xml", "0", "element", "b", 9, 27, 0, "/a[1]/b[2]", "<b x='1'>t<c/></b>", "t")
    ]


def test_positions_count_siblings_that_no_query_looks_at(tmp_path: Path) -> None:
    document = b"<a><b x='1'/><b/><b x='2'><c>1</c><c>2</c></b></a>"
    found = rows(tmp_path, document, "/a/b[@x = 2]/c")
    assert [match.path for match in found] == ["/a[1]/b[3]/c[1]", "/a[1]/b[3]/c[2]"]


def test_an_attribute_has_the_span_of_its_element(tmp_path: Path) -> None:
    document = b"<a><b y = '1\t&lt;&#10;2'  x=\"\"/></a>"
    assert rows(tmp_path, document, "//@y") == [
        Match("doc.xml", "0", "attribute", "y", 3, 32, 0, "/a[1]/b[1]/@y", "1 <\n2", "1 <\n2")
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
    wanted = Match("doc.xml", "0", node, None, None, None, 0, None, value, value)
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


def test_the_text_of_an_element(tmp_path: Path) -> None:
    document = (
        b"<!DOCTYPE a [<!ENTITY e 'ent'>]><a><b>1&#65;<![CDATA[<&\r\n]]><!--c--><?p i?>&e;"
        b"<c>x</c>\xc3\xa9\r</b><b/><c>y</c></a>"
    )
    texts = ["1A<&\nentx\xe9\n", ""]
    found = rows(tmp_path, document, "//b", "/a", "//c")
    assert [match.text for match in found] == [*texts, f"{texts[0]}y", "x", "y"]
    for encoding in ("utf-16", "utf-8-sig"):
        other = document.decode().encode(encoding)
        assert [match.text for match in rows(tmp_path, other, "//b")] == texts


def test_the_text_of_very_many_elements(tmp_path: Path) -> None:
    """Nested ones too, all from one scan of the texts; and nodes that are no elements between."""
    document = b"<a>%s</a>" % b"".join(
        [b"<b x='%d'>%d&amp;<c>-%d</c></b>" % (n, n, n) for n in range(300)]
    )
    found = rows(tmp_path, document, "//b", "//c | //@x | //b/text()")
    texts = [match.text for match in found]
    assert texts[:300] == [f"{n}&-{n}" for n in range(300)]
    assert texts[300:] == [text for n in range(300) for text in (f"{n}", f"{n}&", f"-{n}")]
    assert {m.text == m.value for m in found if m.node != "element"} == {True}


@pytest.mark.parametrize("many", [1, 300])
def test_a_text_that_is_too_long(tmp_path: Path, many: int) -> None:
    """The element as XML may be too long where its text is not; and the other way round."""
    document = b"<a>%s</a>" % (b"<b><c/><c/></b><b>1234567</b><b>&#65;</b>" * many)
    found = rows(tmp_path, document, "//b", limits=Limits(value_bytes=6))
    assert [(m.value, m.text) for m in found] == [(None, ""), (None, None), (None, "A")] * many
    entity = b"<!DOCTYPE a [<!ENTITY e '123456789'>]><a><b>&e;</b></a>"
    (found_,) = rows(tmp_path, entity, "//b", limits=Limits(value_bytes=10))
    assert (found_.value, found_.text) == ("<b>&e;</b>", "123456789")
    (found_,) = rows(tmp_path, entity, "//b", limits=Limits(value_bytes=8))
    assert (found_.value, found_.text) == (None, None)
