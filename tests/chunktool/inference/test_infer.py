"""Inferred schemas: all documents keep them, and they allow nothing that no document showed.

Three oracles: the validators of lxml (XSD, DTD) and xmlschema for the written files, `Schema.load`
of the same files, and for closedness a walk over the trees that knows nothing of the inference.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
import xmlschema
from hypothesis import given, settings
from lxml import etree

from extract.chunktool.inference.default_schema import default_schema
from extract.chunktool.inference.infer import Inference, infer_schema
from extract.chunktool.input.source import WINDOW
from extract.errors import DocumentError, SchemaError
from extract.limits import Limits
from extract.schema.conformance import first_violation
from extract.schema.infer import InferredSchema
from extract.schema.model import XSI_NAMESPACE, Schema, Text, namespace_of
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import between, chance
from tests.support.generate.oracle import parse
from tests.support.generate.schemas import schema as random_schema
from tests.support.generate.strategies import sources

Edges = dict[str, tuple[set[str], set[str], bool]]  # children, attributes, text beyond white space


def trees_of(documents: Sequence[bytes]) -> list[Any]:
    return [parse(document).tree for document in documents]


def walk(trees: Sequence[Any]) -> tuple[set[str], Edges]:
    """What the trees have: the names of roots; children, attributes and text by name."""
    edges: Edges = {}
    for tree in trees:
        for element in tree.iter(etree.Element):
            children, attributes, text = edges.setdefault(element.tag, (set(), set(), False))
            kids = [child for child in element if isinstance(child.tag, str)]
            children.update(child.tag for child in kids)
            attributes.update(element.attrib)
            texts = element.xpath("text()")
            own = any(one.strip(" \t\r\n") or not one for one in texts)
            edges[element.tag] = (children, attributes, text or own)
    return {tree.getroot().tag for tree in trees}, edges


def facts(schema: Schema) -> tuple[set[str], Edges]:
    """The same of a schema, from its places; every name has one place in an inferred schema."""
    places = schema.places
    edges: Edges = {}
    for place in places.all[2:]:
        assert place.name not in edges
        assert len(place.declarations) == 1
        names = {a.name for d in place.declarations for a in d.attributes}
        text = place.declarations[0].text is Text.ANY
        edges[place.name] = (set(place.children), names, text)
    return set(places.document.children), edges


def without_xsi(edges: Edges) -> Edges:
    """Without what an XSD allows everywhere."""
    return {
        name: (kids, {a for a in attributes if namespace_of(a) != XSI_NAMESPACE}, text)
        for name, (kids, attributes, text) in edges.items()
    }


def check_closed(inferred: InferredSchema, trees: Sequence[Any]) -> None:
    """The inferred schema has the edges of the documents, all of them and no others."""
    roots, edges = walk(trees)
    found_roots, found = facts(inferred.schema)
    assert found_roots == roots
    assert {n: e[:2] for n, e in found.items()} == {n: e[:2] for n, e in edges.items()}
    for name, (children, _, text) in edges.items():
        if text or children:  # white space alone is text where there is nothing else
            # An empty CDATA section beside other text is nowhere in the tree, but counts as text.
            assert found[name][2] >= text, name
    for tree in trees:
        assert first_violation(inferred.schema, tree) is None
    check_required(inferred, trees)


def check_required(inferred: InferredSchema, trees: Sequence[Any]) -> None:
    """An attribute or child is required exactly if every element of the name has it."""
    for name, element in inferred.elements.items():
        nodes = [node for tree in trees for node in tree.iter(name)]
        for attribute, required in element.attributes:
            assert required == all(attribute in node.attrib for node in nodes)
        for child in element.children:
            counts = [len(node.findall(f"./{child.name}")) for node in nodes]
            assert (child.required, child.repeated) == (min(counts) > 0, max(counts) > 1)


def check_xsd(inferred: InferredSchema, documents: Sequence[bytes], trees: Sequence[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = inferred.write(Path(folder, "schema.xsd"))
        validator = etree.XMLSchema(etree.parse(str(files[0])))
        other = xmlschema.XMLSchema(str(files[0]))
        for tree in trees:
            assert validator.validate(tree), validator.error_log
            plain = deepcopy(tree.getroot())  # xmlschema takes comments in it for elements
            etree.strip_tags(plain, etree.Comment, etree.ProcessingInstruction)
            errors = list(other.iter_errors(plain))
            assert not errors, errors[0]
        loaded = Schema.load(files[0])
    roots, edges = facts(loaded)
    expected_roots, expected = facts(inferred.schema)
    assert (roots, edges) == (expected_roots, without_xsi(expected))
    assert not loaded.notes


def check_dtd(inferred: InferredSchema, trees: Sequence[Any]) -> bool:
    """False where a DTD cannot say it."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            files = inferred.write(Path(folder, "schema.dtd"))
        except SchemaError:
            return False
        validator = etree.DTD(str(files[0]))
        for tree in trees:
            assert validator.validate(tree), (validator.error_log, files[0].read_text())
        loaded = Schema.load(files[0])
    roots, edges = facts(loaded)
    expected_roots, expected = facts(inferred.schema)
    assert roots == expected_roots
    assert {n: e[:2] for n, e in edges.items()} == {n: e[:2] for n, e in expected.items()}
    return True


def random_documents(rng: Random) -> Iterator[bytes]:
    """A few documents of one random schema, odd ones too."""
    writer = Documents(random_schema(rng).load())
    for _ in range(between(rng, 1, 4)):
        options = Options(
            size=between(rng, 1, 40),
            strict=chance(rng, 40),
            odd=between(rng, 0, 25),
            doctype=chance(rng, 30),
            markup_entities=chance(rng, 10),
        )
        yield writer.document(rng, options)


def has_xsi_type(trees: Sequence[Any]) -> bool:
    wanted = f"{{{XSI_NAMESPACE}}}type"
    return any(wanted in element.attrib for tree in trees for element in tree.iter(etree.Element))


def check(documents: Sequence[bytes]) -> str:
    """All that must hold for documents; which kinds of schemas could be written."""
    trees = trees_of(documents)
    inferred = infer_schema(documents)
    assert inferred.documents == len(documents)
    check_closed(inferred, trees)
    kinds = ""
    if not has_xsi_type(trees) and not has_nil(trees):
        check_xsd(inferred, documents, trees)
        kinds = "xsd"
    return kinds + " dtd" * check_dtd(inferred, trees)


def has_nil(trees: Sequence[Any]) -> bool:
    wanted = f"{{{XSI_NAMESPACE}}}nil"
    return any(wanted in element.attrib for tree in trees for element in tree.iter(etree.Element))


@given(sources())
@settings(max_examples=40)
def test_documents_keep_the_schema_and_it_is_closed(rng: Random) -> None:
    check(list(random_documents(rng)))


def test_both_kinds_of_schemas_are_written_often() -> None:
    kinds = [check(list(random_documents(Random(seed)))) for seed in range(60)]
    assert sum("xsd" in kind for kind in kinds) > 40
    assert sum("dtd" in kind for kind in kinds) > 20


@pytest.mark.slow
def test_hundreds_of_inferred_schemas() -> None:
    for seed in range(1_000, 2_000):
        check(list(random_documents(Random(seed))))


def test_kernel_and_events_see_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(100):
        documents = list(random_documents(Random(seed)))
        monkeypatch.delenv("EXTRACT_KERNEL", raising=False)
        fast = infer_schema(documents)
        monkeypatch.setenv("EXTRACT_KERNEL", "off")
        slow = infer_schema(documents)
        assert facts(fast.schema) == facts(slow.schema)
        for name, element in fast.elements.items():
            other = slow.elements[name]
            assert set(element.attributes) == set(other.attributes)
            assert set(element.children) == set(other.children)
            assert (element.ordered, element.text, element.bare) == (
                other.ordered,
                other.text,
                other.bare,
            )
            # libxml2's events do not tell prefixes where several stand for one namespace.
            assert other.spellings - {None} <= element.spellings


def written(inferred: InferredSchema, name: str, folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in inferred.write(folder / name)}


def test_one_of_everything(tmp_path: Path) -> None:
    documents = [
        b"<db><student id='1'><name>Ann</name><mark/><mark/></student><note>a <b>c</b></note></db>",
        b"<db v='2'>\n <student id='2'><name>Bob</name></student>\n</db>",
    ]
    text = written(infer_schema(documents), "db.dtd", tmp_path)["db.dtd"]
    assert text.splitlines() == [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<!-- inferred from 2 documents: 6 elements, 5 edges, 2 attributes, root db -->",
        "<?extract-root db?>",
        "",
        "<!ELEMENT db (student, note?)>",
        "<!ATTLIST db",
        "  v CDATA #IMPLIED>",
        "",
        "<!ELEMENT student (name, mark*)>",
        "<!ATTLIST student",
        "  id CDATA #REQUIRED>",
        "",
        "<!ELEMENT note (#PCDATA | b)*>",
        "",
        "<!ELEMENT name (#PCDATA)>",
        "",
        "<!ELEMENT mark EMPTY>",
        "",
        "<!ELEMENT b (#PCDATA)>",
    ]


def test_order_is_kept_as_far_as_all_documents_do() -> None:
    same = infer_schema([b"<a><b/><c/></a>", b"<a><c/><d/></a>", b"<a><b/><b/><d/></a>"])
    element = same.elements["a"]
    assert element.ordered
    assert [child.name for child in element.children] == ["b", "c", "d"]
    for documents in (
        [b"<a><b/><c/></a>", b"<a><c/><b/></a>"],
        [b"<a><b/><c/><b/></a>"],
        [b"<a><b/><c/></a>", b"<a><c/><d/></a>", b"<a><d/><b/></a>"],
    ):
        assert not infer_schema(documents).elements["a"].ordered
        check(documents)


def test_recursion_and_a_root_inside_of_itself() -> None:
    assert check([b"<a><m><a/></m></a>", b"<m><a>t</a></m>"]) == "xsd dtd"
    inferred = infer_schema([b"<a><m><a/></m></a>"])
    assert inferred.roots == ("a",)


def test_several_namespaces_are_files_that_import_each_other(tmp_path: Path) -> None:
    document = b"""<o:order xmlns:o="urn:o" xmlns="urn:default"
        xmlns:x="urn:x" x:k="1" xml:lang="e n">
      <item>1</item><o:part><item/><plain xmlns="">t<o:part/></plain></o:part>
    </o:order>"""
    inferred = infer_schema([document])
    assert list(written(inferred, "order.xsd", tmp_path)) == [
        "order.xsd",
        "order-ns2.xsd",
        "order-unqualified.xsd",
        "order-x.xsd",
        "order-xml.xsd",
    ]
    assert check([document]) == "xsd dtd"


def test_documents_may_start_in_different_namespaces() -> None:
    documents = [b"<a xmlns='urn:1'><b/></a>", b"<p:a xmlns:p='urn:2'/>", b"<z/>"]
    assert check(documents).startswith("xsd")


def test_attributes_of_instances() -> None:
    document = b"""<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
      xsi:schemaLocation="urn:x x.xsd" xsi:noNamespaceSchemaLocation="y.xsd">
      <b xsi:nil="true"/><b>text</b><c xml:space="preserve" xml:base="x" xml:id="i1"> </c></a>"""
    inferred = infer_schema([document])
    check_xsd(inferred, [document], trees_of([document]))
    assert check_dtd(inferred, trees_of([document]))


def test_types_that_no_document_shows(tmp_path: Path) -> None:
    document = b"""<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="t"/>"""
    inferred = infer_schema([document])
    with pytest.raises(SchemaError, match="xsi:type") as caught:
        inferred.write(tmp_path / "a.xsd")
    assert ".dtd" in caught.value.hint
    assert check_dtd(inferred, trees_of([document]))


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([b"<p:a xmlns:p='u'/>", b"<q:a xmlns:q='u'/>"], "several prefixes: p:a, q:a"),
        ([b"<p:a xmlns:p='u'/>", b"<p:a xmlns:p='v'/>"], "p:a stands for {u}a and for {v}a"),
        ([b"<p:a xmlns:p='u'/>", b"<p:b xmlns:p='v'/>"], "the prefix p stands for u and v"),
        ([b"<a xmlns='u'><a xmlns=''/></a>"], "a stands for {u}a and for a"),
        ([b"<a xmlns:p='u' p:k=''/>", b"<a xmlns:q='u' q:k=''/>"], "several prefixes: p:k, q:k"),
        ([b"<a xmlns='u?x=1&amp;y'/>"], "cannot fix a prefix"),
    ],
)
def test_what_a_dtd_cannot_say(documents: list[bytes], message: str, tmp_path: Path) -> None:
    inferred = infer_schema(documents)
    with pytest.raises(SchemaError) as caught:
        inferred.write(tmp_path / "a.dtd")
    assert message in caught.value.reason
    assert ".xsd" in caught.value.hint
    check_xsd(inferred, documents, trees_of(documents))


def test_prefixes_that_stand_for_one_namespace_are_told_apart_by_the_kernel() -> None:
    """libxml2's events do not have them: the DTD is refused there, never wrong."""
    document = "<?xml version='1.0' encoding='{}'?><p:a xmlns:p='u' xmlns='u'><b/></p:a>"
    assert check([document.format("utf-8").encode()]) == "xsd dtd"
    assert check([document.format("utf-16").encode("utf-16")]) == "xsd"


def test_names_that_xsd_does_not_know(tmp_path: Path) -> None:
    document = "<a><\u2c00/></a>".encode()
    inferred = infer_schema([document])
    with pytest.raises(SchemaError, match="cannot declare the name"):
        inferred.write(tmp_path / "a.xsd")
    assert check_dtd(inferred, trees_of([document]))
    check_closed(inferred, trees_of([document]))


@pytest.mark.parametrize(
    "document",
    [
        b"<a/>",
        b"<a></a>",
        b"<a> </a>",
        b"<a><!--c--></a>",
        b"<a><?p i?></a>",
        b"<a><![CDATA[]]></a>",
        b"<a><![CDATA[ ]]><b/></a>",
        b"<a>&#32;<b/>&#x0A;&#9;&#013;</a>",
        b"<a>&#65;<b/></a>",
        b"<a>\r\n <b/>\r\n</a>",
        b"<?xml version='1.0' standalone='yes'?><a>\n<b/>\n</a>",
        b"<!DOCTYPE a [<!ATTLIST a k CDATA 'v' xmlns CDATA 'u'>]><a><b/></a>",
        b"<!DOCTYPE a [<!ENTITY e '<b>x</b>'><!ATTLIST a xmlns CDATA 'u'>]><a>&e;&e;</a>",
        b"<!DOCTYPE a [<!ENTITY e '<b k=\"1\"/>y'>]><a xmlns:p='u' xmlns='v'>&e;<!--c-->&e;</a>",
        "<?xml version='1.0' encoding='utf-16'?><a>\u00e9<b/></a>".encode("utf-16"),
        "<?xml version='1.0' encoding='gbk'?><\u4e2d>\u6587</\u4e2d>".encode("gbk"),
        b"<a xmlns:p='u'><p:b xmlns:p='v' p:k='1'/></a>",
        b"<a x='&gt; y=&quot;1&quot;' y = \"'\"\n z='/'/>",
    ],
)
def test_small_documents(document: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    check([document])
    monkeypatch.setenv("EXTRACT_KERNEL", "off")
    check([document])


def test_order_and_text_are_seen_across_windows() -> None:
    """A document of several windows: open elements, texts and namespaces go on in the next."""
    filler = b"<r><v>" + b"x" * 1_000 + b"</v></r>\n"
    count = 2 * WINDOW // len(filler) + 10
    head = b"<a xmlns:p='u'><h/>" + b"<d><d>" + filler * count + b"text"
    document = head + b"<p:e p:k='1'/></d></d><z/><!--c--></a>"
    inferred = infer_schema([document])
    check_closed(inferred, trees_of([document]))
    assert [child.name for child in inferred.elements["a"].children] == ["h", "d", "z"]
    assert inferred.elements["d"].text is Text.ANY
    assert inferred.elements["r"].text is Text.SPACE


def test_a_broken_document_does_not_count() -> None:
    inference = Inference()
    inference.add(b"<a><b/></a>")
    wrong = b"<a><c/>" + b"<d>x</d>" * (WINDOW // 4) + b"</b>"  # beyond the first window
    entity = b"<!DOCTYPE a [<!ENTITY e '<p:b/>'>]><a xmlns:p='u'>&e;</a>"  # libxml2 takes no such
    for document in (entity, b"<a><c/></b>", b"<a><c/>", b"", b"text", b"<a>&e;</a>", wrong):
        with pytest.raises(DocumentError):
            inference.add(document)
    inferred = inference.result()
    assert (inferred.documents, set(inferred.elements)) == (1, {"a", "b"})


def test_what_passes_a_limit_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = b"<!DOCTYPE a [<!ENTITY e0 'x'>" + b"".join(
        b"<!ENTITY e%d '%s'>" % (n + 1, b"&e%d;" % n * 20) for n in range(8)
    )
    for kernel in ("", "off"):
        monkeypatch.setenv("EXTRACT_KERNEL", kernel)
        inference = Inference(Limits(depth=3))
        with pytest.raises(DocumentError, match="--max-depth"):
            inference.add(b"<a><b><c><d/></c></b></a>")
        with pytest.raises(DocumentError):
            inference.add(bomb + b"]><a>&e8;</a>")
        assert inference.documents == 0


def test_documents_of_all_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<a><b/></a>")
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(b"<a><c/></a>"))
    with (tmp_path / "a.xml").open("rb") as stream:
        inferred = infer_schema(
            [tmp_path / "a.xml", str(tmp_path / "a.xml.gz"), stream, b"<a><d/></a>"]
        )
    assert inferred.documents == 4
    assert set(inferred.elements) == {"a", "b", "c", "d"}


def test_nothing_to_infer_from() -> None:
    with pytest.raises(SchemaError, match="no document"):
        infer_schema([])


def test_roots_are_read_back_from_the_file(tmp_path: Path) -> None:
    """A root that is inside of another element would not be assumed from the declarations."""
    inferred = infer_schema([b"<a><b/></a>", b"<b><c/></b>"])
    for name in ("s.xsd", "s.dtd"):
        inferred.write(tmp_path / name)
        loaded = Schema.load(tmp_path / name)
        assert set(loaded.places.document.children) == {"a", "b"}
        assert set(Schema.load(tmp_path / name, root="b").places.document.children) == {"b"}


def test_the_schema_of_documents_without_one() -> None:
    declared = b"<!DOCTYPE a [<!ELEMENT a (b*)><!ELEMENT b EMPTY><!ATTLIST b x CDATA #IMPLIED>]>"
    schema = default_schema([declared + b"<a><b/></a>", declared + b"<a/>"])
    assert schema.kind == "dtd"
    assert schema.notes == ("no schema given: taken from the internal DTD of <bytes>",)
    assert schema.places.document.step("a") is not None
    assert {d.name for d in schema.declarations} == {"a", "b"}


@pytest.mark.parametrize(
    "other",
    [
        b"<a/>",
        b"<!DOCTYPE a [<!ELEMENT a (c*)><!ELEMENT c EMPTY>]><a><c/></a>",
        b"<!DOCTYPE a SYSTEM 'a.dtd' [<!ELEMENT a (b*)><!ELEMENT b EMPTY>]><a/>",
        b"<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>",
    ],
)
def test_different_internal_dtds_are_no_schema(other: bytes) -> None:
    declared = b"<!DOCTYPE a [<!ELEMENT a (b*)><!ELEMENT b EMPTY>]><a><b/></a>"
    schema = default_schema([declared, other])
    assert schema.kind == "inferred"
    assert schema.notes[0].startswith("no schema given: inferred from 2 documents")


def test_documents_that_cannot_be_read_are_left_out_of_the_schema() -> None:
    assert "from 1 document:" in default_schema([b"<a>", b"<b/>"]).notes[0]
    with pytest.raises(DocumentError):
        default_schema([b"<a>", b"<b"])


def test_queries_on_the_documents_of_an_inferred_schema() -> None:
    import extract

    document = b"<a><b><c/></b><c>t</c></a>"
    scheme = extract.prepare(
        default_schema([document]), extract.Subscriptions.of({"c": "//c", "none": "/a/zzz"}), 1
    )
    assert [one.subscriber.id for one in scheme.unsatisfiable] == ["none"]
    assert [m.path for m in extract.match(scheme, document)] == ["/a[1]/b[1]/c[1]", "/a[1]/c[1]"]


def test_real_documents(shared_data: Path) -> None:
    for name in ("nitf", "eforms"):
        paths = sorted((shared_data / name / "docs").iterdir())[:10]
        documents = [path.read_bytes() for path in paths]
        assert check(documents) == "xsd dtd"
