"""What TRANSTOOL promises: the paper's examples, the traps that belong to it, and its limits.

What each rule does is in `tests.transtool.test_rules`; that nothing changes an answer, in
`tests.transtool.test_equivalence`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random

import pytest

from extract.errors import QuerySyntaxError
from extract.schema.conformance import first_violation
from extract.schema.model import Schema
from extract.transtool import Expansion, NormalForm, Normaliser
from extract.transtool.prefixes import Prefixes
from extract.transtool.rules.make_absolute import make_absolute
from extract.transtool.rules.split_union import split_union
from extract.xpath.ast import Union
from extract.xpath.check import parse_checked
from extract.xpath.functions import Type
from tests.support.equivalence import canonical, compare, normal_answer
from tests.support.generate import oracle
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import GeneratedSchema
from tests.support.generate.schemas import schema as random_schema
from tests.support.paths import ROOT

XSI = "http://www.w3.org/2001/XMLSchema-instance"
ORDERS = {"o": "urn:example:orders", "p": "urn:example:party", "x": "urn:x", "xsi": XSI}


@cache
def load(file: str, root: str | None = None) -> Schema:
    return Schema.load(ROOT / "schemas" / file, root=root)


@cache
def dtd(text: str, root: str = "a") -> Schema:
    return GeneratedSchema("dtd", text, root).load()


@cache
def xsd(content: str, root: str, version: str = "1.0") -> Schema:
    versioning = "http://www.w3.org/2007/XMLSchema-versioning"
    head = f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:vc="{versioning}"'
    text = f'{head} vc:minVersion="{version}">{content}</xs:schema>'
    return GeneratedSchema("xsd", text, root).load()


def figure4() -> Schema:
    return load("figure4.dtd")


def orders() -> Schema:
    return load("orders.xsd", "po:orders")


def normal(
    schema: Schema,
    xpath: str,
    namespaces: Mapping[str, str] | None = None,
    limits: Expansion | None = None,
) -> NormalForm:
    """The normal form of one query."""
    normaliser = Normaliser(schema, limits=limits)
    expr = parse_checked(xpath, namespaces or {})
    return normaliser.normalise(normaliser.prefixes.bind(expr, namespaces or {}))


def branches(
    schema: Schema,
    xpath: str,
    namespaces: Mapping[str, str] | None = None,
    limits: Expansion | None = None,
) -> set[str]:
    return {part.xpath for part in normal(schema, xpath, namespaces, limits).branches}


def assert_same(
    schema: Schema, xpath: str, document: str, namespaces: Mapping[str, str] | None = None
) -> oracle.Answer:
    """The answer to a query on a conforming document, which its normal form gives, too."""
    tree = oracle.parse(document.encode())
    assert first_violation(schema, tree.tree) is None
    compare(Normaliser(schema), [tree], xpath, namespaces or {})
    return canonical(oracle.answer(tree, xpath, namespaces))


# -- the paper -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("//c", {"/a/b/l/c", "/a/b/m//c"}),
        ("/a/b/*/d", {"/a/b/k/d"}),
        ("/a/d", set()),
        ("/a/b/m/../k", {"/a/b[m]/k"}),
    ],
)
def test_the_examples_of_the_paper(query: str, expected: set[str]) -> None:
    assert branches(figure4(), query) == expected


@pytest.mark.parametrize(
    ("query", "edge"),
    [
        ("/a/d", "a has no child d"),
        ("/a/b/k/c/..", "k has no child c"),
        ("/a/b[l/d]", "l has no child d"),
        ("/a/b/@x", "b has no attribute x"),
        ("/b", "the document has no child b"),
        ("//zzz", "zzz"),
    ],
)
def test_an_unsatisfiable_query_names_the_missing_edge(query: str, edge: str) -> None:
    form = normal(figure4(), query)
    assert not form.branches
    assert edge in form.unsatisfiable
    assert not normal(figure4(), "//c").unsatisfiable


# -- traps, by their number in docs/traps.md -----------------------------------------------------


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
def test_trap_6_positions_count_what_they_counted(query: str, ranks: list[int]) -> None:
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


def layered(layers: int, width: int) -> Schema:
    """A DTD with ``width`` to the power of ``layers`` paths from ``a`` to ``p``."""
    names = [[f"x{i}.{j}" for j in range(width)] for i in range(layers)]
    above = ["a", *(name for layer in names for name in layer)]
    below = [names[0], *(kids for kids in [*names[1:], ["p"]] for _ in range(width))]
    content = "".join(
        f"<!ELEMENT {name} ({'|'.join(kids)})*>" for name, kids in zip(above, below, strict=True)
    )
    return dtd(f"{content}<!ELEMENT p (#PCDATA)>")


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


# -- limits --------------------------------------------------------------------------------------


def test_limits_are_options() -> None:
    assert branches(figure4(), "//c", limits=Expansion(branches=1)) == {"/a/b//c"}
    assert branches(figure4(), "/a/b/*", limits=Expansion(branches=2)) == {"/a/b/*"}
    assert branches(figure4(), "/a/b/*", limits=Expansion(branches=3)) == {
        "/a/b/k",
        "/a/b/l",
        "/a/b/m",
    }
    assert branches(figure4(), "/a/b[*]", limits=Expansion(filter_branches=2)) == {"/a/b[*]"}
    assert branches(figure4(), "/a/b[*]", limits=Expansion(filter_branches=3)) == {
        "/a/b[k | l | m]"
    }
    assert branches(figure4(), "/a/b/*", limits=Expansion(size=20)) == {"/a/b/*"}


def test_branches_of_a_union_share_the_cap() -> None:
    union = " | ".join(f"//x1.{i}" for i in range(4))
    assert len(normal(layered(3, 4), union).branches) == 16
    form = normal(layered(3, 4), union, limits=Expansion(branches=8))
    assert 4 <= len(form.branches) <= 8
    many = " | ".join(f"/a/x0.{i}/*" for i in range(4))
    assert len(normal(layered(3, 4), many, limits=Expansion(branches=2)).branches) == 4


LIMITS = (
    Expansion(),
    Expansion(branches=4),
    Expansion(branches=1, filter_branches=1),
    Expansion(size=60),
    Expansion(branches=8, size=200, filter_branches=2),
)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_no_normal_form_passes_the_limits(limits: Expansion) -> None:
    """Except for what a query is already: many branches, or long; prefixes add a little."""
    for seed in range(25):
        rng = Random(seed)
        schema = random_schema(rng).load()
        writer = Queries(schema)
        normaliser = Normaliser(schema, limits=limits)
        for _ in range(60):
            xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
            try:
                parsed = parse_checked(xpath, writer.namespaces)
            except QuerySyntaxError:
                continue
            expr = split_union(make_absolute(normaliser.prefixes.bind(parsed, writer.namespaces)))
            pieces = len(expr.parts) if isinstance(expr, Union) else 1
            form = normaliser.normalise(expr)
            assert len(form.branches) <= max(limits.branches, pieces), xpath
            assert len(form.xpath) <= max(limits.size, 2 * len(str(expr))) + 100, xpath


def test_a_query_too_long_to_analyse_is_kept() -> None:
    query = "/a" + "/b/m/a" * 1000
    form = normal(figure4(), query)
    assert form.xpath == query
    assert form.branches[0].reason


# -- prefixes ------------------------------------------------------------------------------------


def test_one_prefix_table_for_all_queries() -> None:
    schema = orders()
    normaliser = Normaliser(schema)
    first, second = {"p": "urn:example:orders"}, {"p": "urn:example:party", "q": "urn:new"}
    third = {"q": "urn:newer", "party": "urn:newest"}
    texts = []
    for xpath, namespaces in (
        ("//p:seller", first),
        ("//p:seller", second),
        ("/p:orders/p:order", first),
        ("//*[@q:k]", second),
        ("//*[@q:k]", third),
    ):
        expr = parse_checked(xpath, namespaces)
        texts.append(normaliser.normalise(normaliser.prefixes.bind(expr, namespaces)).xpath)
    table = normaliser.prefixes.table
    assert texts[2] == "/po:orders/po:order", "the schema's own prefixes come first"
    assert "party:seller" in texts[1]
    assert "party:seller" not in texts[0]
    uris = {re.search(r"\[@([\w]+):k\]", text)[1]: text for text in texts[3:]}  # type: ignore[index]
    assert [table[prefix] for prefix in uris] == ["urn:new", "urn:newer"]
    assert len(set(table.values())) == len(table), "one prefix for a namespace"


def test_a_query_may_use_its_own_prefix_for_a_namespace_of_the_schema() -> None:
    for prefix in ("po", "party", "whatever"):
        namespaces = {prefix: "urn:example:orders"}
        assert branches(orders(), f"/{prefix}:orders/*/@number", namespaces) == {
            "/po:orders/po:order/@number"
        }


# -- one normal form for many spellings ----------------------------------------------------------


@pytest.mark.parametrize(
    "spellings",
    [
        ["/a/b[m][k]", "/a/b[k and m]", "/a/b[k][m]", "/a/b[m and k][k]", "a/*[k][m]"],
        ["//d", "/descendant::d", "/a//d", "//d/.", "/descendant::*/self::d", "/*//d"],
        ["//k", "/descendant::k", "/descendant-or-self::node()/k", "/descendant::*/self::k"],
        ["/a/b/k", "/a/b/./k", "/*/b/k", "/a/*/k", "/child::a/child::b/child::k", " / a/ b /k "],
        ["/a/b[m]/k", "/a/b/m/../k", "/a/b[boolean(m)]/k", "/a/b[./m]/k", "/a/b[m or zzz]/k"],
        ["/a/b[k]", "/a/b/k/..", "/a/b/k/parent::b", "/a/b[child::k]", "/a/b/k/ancestor::b"],
        ["/a/b", "/a/b[true()]", "/a/b[.]", "/a/b[..]", "/a/b[self::b]", "/a/b[not(zzz)]"],
        ["/a/b[k/d]", "/a/b[*/d]", "/a/b[k/d or l/d]", "/a/b[k/d | l/d]"],
        ["/a/b[k | m]", "/a/b[m | k]", "/a/b[m | k | k]", "/a/b[zzz | m | k]"],
        ["/a/b/k | /a/b/l", "/a/b/l | /a/b/k", "(/a/b)/k | /a/b/l", "/a/b/k | /a/b/l | /a/b/k"],
        ["//b[m][k]", "//b[k and m]", "/descendant::b[m and k]", "//b[./m]/self::b[k]"],
        ["//b[.//c]", "//b[descendant::c]", "//*/self::b[.//c]", "//b[./descendant::c]"],
        ["//k | //l", "//l | //k | //zzz", "/descendant::l | //k"],
        ["/a/b/@zzz", "/a/d", "/zzz", "//zzz", "/a/b[zzz]", "//d//d"],
        ["count(//d)", "count(/descendant::d)", "count( //d )", "count(//d | //d)"],
        ['/a/b[k = "x"]', "/a/b[k = 'x']", "/a/b[ child::k='x' ]"],
    ],
)  # fmt: skip
def test_spellings_of_one_query_have_one_normal_form(spellings: list[str]) -> None:
    forms = {spelling: normal(figure4(), spelling).xpath for spelling in spellings}
    assert len(set(forms.values())) == 1, forms


# -- what chunking relies on ---------------------------------------------------------------------


def without_filters(path: str) -> str:
    """A path's steps only."""
    path = re.sub(r"'[^']*'|\"[^\"]*\"", "", path)
    while "[" in path:
        path = re.sub(r"\[[^\[\]]*\]", "", path)
    return path


def test_what_a_branch_selects_is_below_its_prefix() -> None:
    """Prefix, residual and XPath of a branch are three views of one thing."""
    for schema, namespaces in ((figure4(), {}), (load("book.dtd"), {}), (orders(), ORDERS)):
        rng = Random(7)
        writer, normaliser = Queries(schema), Normaliser(schema)
        documents = [Documents(schema).document(rng, Options(size=60)) for _ in range(3)]
        trees = [oracle.parse(document) for document in documents]
        selected = 0
        for _ in range(300):
            xpath = writer.query(rng, pick(rng, ["linear", "filtered"]))
            expr = parse_checked(xpath, {**writer.namespaces, **namespaces})
            form = normaliser.normalise(normaliser.prefixes.bind(expr, writer.namespaces))
            if form.type is not Type.NODES:
                continue
            table = normaliser.prefixes.table
            for part in form.branches:
                assert part.xpath.endswith(part.residual)
                spine = part.xpath[: len(part.xpath) - len(part.residual)]
                plain = "".join(f"/{name}" for name in part.prefix)
                assert without_filters(spine) in (plain, plain or "/")
                for tree in trees:
                    nodes = set(oracle.answer(tree, part.xpath, table))
                    within = f"{plain}/descendant-or-self::node()"
                    around = set(oracle.answer(tree, f"{within} | {within}/@*", table))
                    assert nodes <= around, (part.xpath, plain)
                    selected += len(nodes) - 1
        assert selected > 300


# -- unsatisfiable means: nothing, ever ----------------------------------------------------------


def test_unsatisfiable_queries_select_nothing_on_many_documents() -> None:
    checked = 0
    for seed in range(30):
        rng = Random(1000 + seed)
        schema = random_schema(rng).load()
        documents, writer, normaliser = Documents(schema), Queries(schema), Normaliser(schema)
        trees = [
            oracle.parse(documents.document(rng, Options(size=50, strict=False))) for _ in range(12)
        ]
        for _ in range(60):
            xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
            try:
                expr = parse_checked(xpath, writer.namespaces)
            except QuerySyntaxError:
                continue
            form = normaliser.normalise(normaliser.prefixes.bind(expr, writer.namespaces))
            if form.branches:
                continue
            checked += 1
            assert form.type is Type.NODES, xpath
            assert form.unsatisfiable, xpath
            for tree in trees:
                assert oracle.answer(tree, xpath, writer.namespaces) == ("nodes",), xpath
    assert checked > 100


def test_namespace_nodes_need_the_whole_document() -> None:
    form = normal(figure4(), "//k/namespace::*")
    assert form.xpath == "//k/namespace::*"
    assert form.branches[0].prefix == ()
    assert "namespace axis" in form.branches[0].reason


def test_prefix_tables_start_from_the_schema() -> None:
    prefixes = Prefixes(orders().prefixes)
    assert prefixes.table["po"] == "urn:example:orders"
    assert prefixes.prefix("urn:else", "po") != "po"
