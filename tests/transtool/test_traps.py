"""The traps of TRANSTOOL, by their number in docs/traps.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.schema.conformance import first_violation
from extract.schema.model import Schema
from extract.transtool import Expansion, Normaliser
from extract.xpath.functions import Type
from tests.support.equivalence import compare, normal_answer
from tests.support.generate import oracle
from tests.support.normal_forms import (
    ORDERS,
    assert_same,
    branches,
    dtd,
    figure4,
    layered,
    normal,
    orders,
    xsd,
)


@pytest.mark.parametrize(
    ("query", "kind", "value"),
    [
        ("count(/a/zzz)", Type.NUMBER, ("number", "0.0")),
        ("sum(/a/zzz)", Type.NUMBER, ("number", "0.0")),
        ("-/a/zzz", Type.NUMBER, ("number", "nan")),
        ("not(/a/zzz)", Type.BOOLEAN, ("boolean", True)),
        ("boolean(/a/zzz)", Type.BOOLEAN, ("boolean", False)),
        ("/a/zzz = 1", Type.BOOLEAN, ("boolean", False)),
        ("/a/zzz != 1", Type.BOOLEAN, ("boolean", False)),
        ("/a/zzz = false()", Type.BOOLEAN, ("boolean", True)),
        ("/a/zzz or /a/b", Type.BOOLEAN, ("boolean", True)),
        ("string(/a/zzz)", Type.STRING, ("string", "")),
        ("concat('x', /a/zzz)", Type.STRING, ("string", "x")),
        ("count(//c)", Type.NUMBER, ("number", "3.0")),
        ("name(//c)", Type.STRING, ("string", "c")),
    ],
)
def test_trap_3_a_value_is_never_unsatisfiable(query: str, kind: Type, value: object) -> None:
    form = normal(figure4(), query)
    assert form.type is kind
    assert not form.unsatisfiable
    assert len(form.branches) == 1, "its branches cannot be told apart"
    assert form.branches[0].reason
    document = "<a><b><l><c/></l><m><c/><a><b><l><c/></l></b></a></m></b></a>"
    assert assert_same(figure4(), query, document) == value


@pytest.mark.parametrize("query", ["(//c)[3]", "(//c)[last()]/..", "(//c | //d)[2]"])
def test_trap_3_a_counted_union_stays_together(query: str) -> None:
    form = normal(figure4(), query)
    assert len(form.branches) == 1
    assert form.branches[0].reason
    document = "<a><b><l><c/></l><m><c/><a><b><k><d/></k></b></a></m></b></a>"
    assert_same(figure4(), query, document)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("/node()", 5),
        ("/comment()", 2),
        ("/processing-instruction()", 2),
        ("/processing-instruction('u')", 1),
        ("//comment()", 4),
        ("//processing-instruction()", 3),
        ("/a/b/node()", 4),
        ("//node()[self::comment()]", 4),
        ("/descendant-or-self::comment()", 4),
        ("//b/comment()/following-sibling::node()", 3),
    ],
)
def test_trap_4_comments_and_pis_are_results(query: str, found: int) -> None:
    document = "<!--1--><?t p?><a><!--2--><b><!--3--><l/> <?t q?></b></a><?u r?><!--4-->"
    assert len(assert_same(figure4(), query, document)) - 1 == found


def test_trap_5_text_is_possible_in_every_element() -> None:
    schema = figure4()
    for path in ("/a", "/a/b", "/a/b/l", "/a/b/k/d", "/a/b/m/a/b/m"):
        assert branches(schema, f"{path}/text()") == {f"{path}/text()"}
        assert branches(schema, f"{path}[text()]") == {f"{path}[text()]"}
    document = "<a> <b>\n<l>x<c>y</c></l></b><b><k><d>z</d></k></b>\t</a>"
    assert len(assert_same(schema, "//text()", document)) - 1 == 6
    assert len(assert_same(schema, "//d/text()", document)) - 1 == 1
    assert branches(schema, "/text()") == set(), "around the document element there is none"


SIBLINGS = dtd("<!ELEMENT a (b|x)*><!ELEMENT b (c)*><!ELEMENT c EMPTY><!ELEMENT x EMPTY>")
SIBLINGS_DOCUMENT = "<a><x/><b/><b><c/><c/></b><b><c/></b></a>"  # ranks: a0 x1 b2 b3 c4 c5 b6 c7


@pytest.mark.parametrize(
    ("query", "ranks"),
    [
        ("/a/b[c][1]", [3]),
        ("/a/b[1][c]", []),
        ("/a/b[c and 1]", [3, 6]),
        ("/a/b[1 and c]", [3, 6]),
        ("/a/b[count(c)]", [3]),
        ("/a/b[count(c) > 0]", [3, 6]),
        ("/a/b[1]", [2]),
        ("/a/*[1]", [1]),
        ("/a/*[2]", [2]),
        ("/a/*/self::b[1]", [2, 3, 6]),
        ("/a/*[1]/self::b", []),
        ("/a/b[last()]", [6]),
        ("/a/*[last()]", [6]),
        ("/a/b[position() = 2]", [3]),
        ("/a/b[position() < last()]", [2, 3]),
        ("/a/b[last() = 3]", [2, 3, 6]),
        ("/a/b[string-length('xy')]", [3]),
        ("/a/b['2']", [2, 3, 6]),
        ("/a/b[true()]", [2, 3, 6]),
        ("/a/b[c[2]]", [3]),
        ("/a/b/c[1]", [4, 7]),
        ("//c[1]", [4, 7]),
        ("/descendant::c[1]", [4]),
        ("(//c)[1]", [4]),
        ("(/a/b/c)[last()]", [7]),
        ("//b[1]/c[2]/..", []),
        ("//c[2]/..", [3]),
        ("//c[2]/parent::b[1]", [3]),
        ("//c/ancestor::*[1]", [3, 6]),
        ("//c/ancestor::*[last()]", [0]),
        ("/a/b[2]/preceding-sibling::*[1]", [2]),
        ("/a/b[2]/preceding-sibling::*[last()]", [1]),
    ],
)
def test_trap_6_positions_count_the_same_nodes_as_before(query: str, ranks: list[int]) -> None:
    expected = ("nodes", *(("element", rank) for rank in ranks))
    assert assert_same(SIBLINGS, query, SIBLINGS_DOCUMENT) == expected


def test_trap_6_filters_that_count_are_not_moved() -> None:
    forms = [
        normal(SIBLINGS, query).xpath
        for query in ("/a/b[c][1]", "/a/b[1][c]", "/a/b[c and 1]", "/a/b[count(c)]", "/a/b[1]")
    ]
    assert len(set(forms)) == len(forms)
    assert normal(SIBLINGS, "/a/*/self::b[1]").xpath != normal(SIBLINGS, "/a/b[1]").xpath


STRICT = dtd(
    "<!ELEMENT a (b, c, d?)><!ATTLIST a k CDATA #REQUIRED f CDATA #FIXED 'x' e (y|z) 'y'>"
    "<!ELEMENT b EMPTY><!ELEMENT c (#PCDATA)><!ELEMENT d (b+)>"
)
INVALID = "<a f='other' e='w'><d/><c/>text<b>!<!--in EMPTY--></b><b/><d><b/></d></a>"


@pytest.mark.parametrize(
    "query",
    [
        "/a/b[2]",
        "/a/c[following-sibling::b]",
        "/a/d/following-sibling::c",
        "/a/d[not(b)]",
        "/a[not(@k)]",
        "/a[@f != 'x']",
        "/a[@e = 'w']",
        "/a/d[2]",
        "/a/b/text()",
        "/a/b/comment()",
        "/a/text()",
        "/a[count(b) > 1]",
        "/a/*[1][self::d]",
        "/a/b[last() = 2]",
        "/a[b/preceding-sibling::c]",
    ],
)
def test_trap_8_only_edges_are_used(query: str) -> None:
    """An invalid document has an answer if all its edges are in the schema."""
    assert not oracle.is_empty(assert_same(STRICT, query, INVALID))


def test_trap_10_a_dtd_binds_its_prefixes() -> None:
    declared = '<!ATTLIST a xmlns CDATA #FIXED "u" xmlns:q CDATA #FIXED "v" k CDATA #IMPLIED>'
    schema = dtd(f"<!ELEMENT a (b|q:c)*>{declared}<!ELEMENT b EMPTY><!ELEMENT q:c EMPTY>", "{u}a")
    names = {"n": "u", "m": "v"}
    document = "<a xmlns='u' xmlns:q='v' k='1'><b/><q:c/></a>"
    assert not branches(schema, "/a", names)
    assert not branches(schema, "//b", names)
    assert len(assert_same(schema, "/n:a/*", document, names)) - 1 == 2
    assert len(assert_same(schema, "//m:c", document, names)) - 1 == 1
    # A namespace declaration is no attribute, whatever the DTD calls it.
    assert not branches(schema, "/n:a/@xmlns", names)
    assert len(assert_same(schema, "/n:a/@*", document, names)) - 1 == 1
    assert [
        part.xpath.rpartition("/")[2] for part in normal(schema, "/n:a/@*", names).branches
    ] == ["@k"]


def test_trap_10_a_document_that_binds_them_otherwise_is_outside(shared_data: Path) -> None:
    schema = Schema.load(shared_data / "wordnet/WN-LMF-relaxed-1.1.dtd", root="LexicalResource")
    start = '<LexicalResource xmlns:dc="{}"><Lexicon dc:title="t"/></LexicalResource>'
    declared = schema.prefixes["dc"]
    title = {"dc": declared}
    assert len(assert_same(schema, "//@dc:title", start.format(declared), title)) - 1 == 1
    other = oracle.parse(start.format("urn:other").encode())
    violation = first_violation(schema, other.tree)
    assert violation is not None
    assert violation.child == "@{urn:other}title"


TYPE_SETS = """
  <xs:element name="r"><xs:complexType><xs:sequence>
    <xs:element name="x" type="T1"/>
    <xs:any processContents="strict" minOccurs="0" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="x" type="T2"/>
  <xs:complexType name="T1">
    <xs:sequence><xs:element name="p" type="xs:string" minOccurs="0"/></xs:sequence>
    <xs:attribute name="k"/>
  </xs:complexType>
  <xs:complexType name="T2">
    <xs:sequence><xs:element name="q" type="xs:string" minOccurs="0"/></xs:sequence>
    <xs:attribute name="n"/>
  </xs:complexType>
"""


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("/r/x/p", 1),
        ("/r/x/q", 1),
        ("/r/*/q", 1),
        ("//q/..", 1),
        ("//p | //q", 2),
        ("/r/x[@k]", 1),
        ("/r/x/@n", 1),
        ("/r/x[not(p)]", 1),
        ("/r/x[p or q]", 2),
    ],
)
def test_trap_11_a_name_may_have_one_of_several_types(query: str, found: int) -> None:
    document = "<r><x k='1'><p/></x><x n='1'><q/></x></r>"
    assert len(assert_same(xsd(TYPE_SETS, "r"), query, document)) - 1 == found


def test_trap_11_what_none_of_the_types_has_is_missing() -> None:
    schema = xsd(TYPE_SETS, "r")
    assert not branches(schema, "/r/x/z")
    assert not branches(schema, "/r/x/p/q")
    assert not branches(schema, "/r/x/@z")


def test_trap_11_alternatives_of_xsd_1_1_are_types_too() -> None:
    types = "".join(
        f"""<xs:complexType name="{name.upper()}"><xs:complexContent><xs:extension base="Base">
        <xs:sequence><xs:element name="{name}" type="xs:string" minOccurs="0"/></xs:sequence>
        </xs:extension></xs:complexContent></xs:complexType>"""
        for name in "pq"
    )
    schema = xsd(
        f"""<xs:element name="r"><xs:complexType><xs:sequence>
          <xs:element name="x" type="Base" maxOccurs="unbounded">
            <xs:alternative test="@kind = 'p'" type="P"/>
            <xs:alternative test="@kind = 'q'" type="Q"/>
          </xs:element>
        </xs:sequence></xs:complexType></xs:element>
        <xs:complexType name="Base"><xs:sequence/><xs:attribute name="kind"/></xs:complexType>
        {types}""",
        "r",
        version="1.1",
    )
    document = "<r><x kind='p'><p/></x><x kind='q'><q/></x><x/></r>"
    assert len(assert_same(schema, "//p | //q", document)) - 1 == 2
    assert len(assert_same(schema, "/r/x[not(p)]", document)) - 1 == 2
    assert branches(schema, "/r/x/*") == {"/r/x/p", "/r/x/q"}


@pytest.mark.parametrize("name", ["xsi:type", "xsi:nil", "xsi:schemaLocation", "xsi:*"])
@pytest.mark.parametrize("path", ["/o:orders", "/o:orders/o:order/o:note", "//p:name"])
def test_trap_12_xsi_attributes_may_be_anywhere(path: str, name: str) -> None:
    assert branches(orders(), f"{path}/@{name}", ORDERS)
    assert branches(orders(), f"{path}[@{name}]", ORDERS)


def test_trap_12_xml_attributes_must_be_declared() -> None:
    found = branches(orders(), "//o:note/@xml:lang", ORDERS)
    assert found == {"/po:orders/po:order/po:extension//po:note/@xml:lang"}, "where all is open"
    declared = dtd("<!ELEMENT a EMPTY><!ATTLIST a xml:lang CDATA #IMPLIED>")
    assert branches(declared, "/a/@xml:lang") == {"/a/@xml:lang"}
    assert branches(declared, "/a/@xml:space") == set()


def test_trap_12_substitutes_stand_for_the_head() -> None:
    assert branches(orders(), "/*/*/o:line", ORDERS) == set(), "it is abstract"
    lines = branches(orders(), "/o:orders/o:order/*[@position]", ORDERS)
    assert lines == {
        f"/po:orders/po:order/po:{name}[@position]" for name in ("product", "service", "hours")
    }


def test_trap_12_below_a_lax_wildcard_nothing_is_known() -> None:
    document = (
        "<o:orders xmlns:o='urn:example:orders' xmlns:x='urn:x'><o:order><o:extension x:k='1'>"
        "<x:y k='1'><x:z/><o:order/></x:y></o:extension></o:order></o:orders>"
    )
    for query, found in (
        ("//x:z", 1),
        ("//o:order", 2),
        ("//o:extension/*/*", 2),
        ("//o:extension/@x:k", 1),
        ("//x:y/@k", 1),
        ("//x:z/parent::x:y", 1),
        ("//o:extension/x:y/x:z[parent::x:zzz]", 0),
        ("//o:extension/x:y/x:z[ancestor::x:zzz]", 0),
        ("//o:extension/x:y[ancestor-or-self::x:zzz]", 0),
        ("//o:extension/x:y[ancestor-or-self::*]", 1),
        ("//o:extension/x:y/x:z[not(parent::x:y)]", 0),
        ("//o:extension/x:y[self::x:zzz]", 0),
        ("//o:extension/x:y/x:z/ancestor::x:y", 1),
        ("//x:z/following-sibling::o:order", 1),
    ):
        assert len(assert_same(orders(), query, document, ORDERS)) - 1 == found, query


def test_trap_13_the_prefix_is_common_to_all_paths(shared_data: Path) -> None:
    schema = Schema.load(shared_data / "nitf/nitf.dtd", root="nitf")
    form = normal(schema, "//td")
    # ``body`` has no ``table`` itself, so nothing more than this is common.
    assert [part.prefix for part in form.branches] == [("nitf", "body")]
    assert form.branches[0].residual == "//td"
    td, body = schema.places.by_name["td"], schema.places.document.children["nitf"]
    assert [n for n, p in body.children.items() if (p.reach | p.bit) & td] == ["body"]
    for file in sorted((shared_data / "nitf/docs").iterdir())[:20]:
        tree = oracle.parse(file.read_bytes())
        assert compare(Normaliser(schema), [tree], "//td", {}) == "kept"


@pytest.mark.parametrize("most", [1, 2, 64])
def test_trap_13_everything_includes_the_root(most: int) -> None:
    tree = oracle.parse(b"<a><b><m><a><b/></a></m></b></a>")
    for query in ("//*", "//a", "/descendant-or-self::*", "//node()", "//*[b]"):
        form = normal(figure4(), query, limits=Expansion(branches=most))
        assert ("element", 0) in normal_answer(tree, form, {}), query


@pytest.mark.parametrize(
    ("query", "prefix"),
    [
        ("//p", ("a",)),
        ("//p[. = 'x']", ("a",)),
        ("//*[p]", ("a",)),
        ("//p/..", ("a",)),
        ("//p/ancestor::*", ("a",)),
        ("//x3.3//p", ("a",)),
        ("//*//*//p", ()),
        ("//x3.3[.//p]/*/*/*//p[not(../x9.9)]", ("a",)),
        ("/a/x0.0/x1.1//p", ("a", "x0.0", "x1.1")),
    ],
)
def test_trap_14_an_explosion_stops_at_the_cap(query: str, prefix: tuple[str, ...]) -> None:
    """Of these there are 10 to the power of 20: whoever enumerates them does not come back."""
    form = normal(layered(20, 10), query)
    assert [part.prefix for part in form.branches] == [prefix]
    assert form.branches[0].residual
    assert "64" in form.branches[0].reason


@pytest.mark.parametrize("steps", range(1, 12))
def test_trap_14_wildcards_stop_at_the_cap(steps: int) -> None:
    form = normal(layered(20, 4), "/a" + "/*" * steps)
    assert len(form.branches) == min(4**steps, 64)


def test_trap_14_the_size_of_filters_counts() -> None:
    long = " and ".join(f". != 'a value to be repeated, number {i}'" for i in range(60))
    assert len(normal(layered(3, 4), "//p").branches) == 64
    form = normal(layered(3, 4), f"//p[{long}]")
    assert [part.prefix for part in form.branches] == [("a",)]
    form = normal(layered(3, 4), f"/a/*/*[{long}]/*/p")
    assert len(form.xpath) < Expansion().size


@pytest.mark.parametrize("depth", [1, 5, 10, 20])
def test_trap_14_filters_in_filters_do_not_multiply(depth: int) -> None:
    query = "/a" + "[*" * depth + "]" * depth
    assert 0 < len(normal(layered(24, 4), query).xpath) <= Expansion().size
