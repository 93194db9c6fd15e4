"""What a DTD says, in the model: edges, attributes, text, order, roots, namespaces."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from lxml import etree

from extract.errors import SchemaError
from extract.schema.conformance import first_violation
from extract.schema.model import XML_NAMESPACE, Attribute, Particle, Schema, Text
from tests.support.schema_facts import (
    attributes,
    children,
    conforms,
    declared,
    edges,
    load_dtd,
    roots,
)

XHTML = "http://www.w3.org/1999/xhtml"
SVG = "http://www.w3.org/2000/svg"


# Content models


def test_content_kinds(tmp_path: Path) -> None:
    schema = load_dtd(
        tmp_path,
        """<!ELEMENT r (e, t, m, x)> <!ELEMENT e EMPTY> <!ELEMENT t (#PCDATA)>
           <!ELEMENT m (#PCDATA | e | t)*> <!ELEMENT x ANY>""",
    )
    assert {d.name: d.text for d in schema.declarations} == {
        "r": Text.SPACE,
        "e": Text.NONE,
        "t": Text.ANY,
        "m": Text.ANY,
        "x": Text.ANY,
    }
    assert children(schema, "m") == ["e", "t"]
    assert children(schema, "x") == ["r", "e", "t", "m", "x"], "ANY: every declared element"
    assert children(schema, "t") == children(schema, "e") == []
    assert declared(schema, "x").content is None


def test_order_and_cardinality_are_kept(tmp_path: Path) -> None:
    schema = load_dtd(
        tmp_path,
        "<!ELEMENT r (a?, (b | (c, a))+, a*)> <!ELEMENT a EMPTY> <!ELEMENT b EMPTY>"
        "<!ELEMENT c EMPTY>",
    )
    a, b, c = (declared(schema, name).key for name in "abc")
    assert declared(schema, "r").content == Particle(
        "sequence",
        parts=(
            Particle("element", 0, 1, a),
            Particle(
                "choice",
                1,
                None,
                parts=(
                    Particle("element", 1, 1, b),
                    Particle(
                        "sequence",
                        parts=(Particle("element", 1, 1, c), Particle("element", 1, 1, a)),
                    ),
                ),
            ),
            Particle("element", 0, None, a),
        ),
    )
    assert children(schema, "r") == ["a", "b", "c"], "each child once"


def test_repeated_groups_of_one(tmp_path: Path) -> None:
    schema = load_dtd(tmp_path, "<!ELEMENT r ((a+)?, (b)*)> <!ELEMENT a EMPTY> <!ELEMENT b EMPTY>")
    a, b = declared(schema, "a").key, declared(schema, "b").key
    assert declared(schema, "r").content == Particle(
        "sequence", parts=(Particle("element", 0, None, a), Particle("element", 0, None, b))
    )


def test_long_content_models(tmp_path: Path) -> None:
    names = [f"n{i}" for i in range(3000)]
    declarations = "".join(f"<!ELEMENT {name} EMPTY>" for name in names)
    schema = load_dtd(tmp_path, f"<!ELEMENT r ({'|'.join(names)})*>{declarations}")
    assert children(schema, "r") == names


def test_recursion_is_finite(tmp_path: Path) -> None:
    schema = load_dtd(tmp_path, "<!ELEMENT r (s*)> <!ELEMENT s (r | s)*>")
    assert edges(schema) == {"r": {"s"}, "s": {"r", "s"}}


def test_undeclared_elements_hold_only_text(tmp_path: Path) -> None:
    schema = load_dtd(tmp_path, "<!ELEMENT r (known, unknown)> <!ELEMENT known EMPTY>")
    assert declared(schema, "unknown").children == ()
    assert declared(schema, "unknown").attributes == ()
    assert any("unknown" in note and "not declared" in note for note in schema.notes)


def test_attributes(tmp_path: Path) -> None:
    schema = load_dtd(
        tmp_path,
        """<!ELEMENT r EMPTY>
           <!NOTATION gif SYSTEM "gif">
           <!ATTLIST r id ID #REQUIRED  kind (one | two) "one"  v CDATA #FIXED "a&amp;b"
                       refs IDREFS #IMPLIED  n NOTATION (gif) #IMPLIED  xml:lang NMTOKEN #IMPLIED>
           <!ATTLIST r kind CDATA "the first declaration wins"  late CDATA #IMPLIED>""",
    )
    assert declared(schema, "r").attributes == (
        Attribute("id", "ID", required=True),
        Attribute("kind", "ENUMERATION", default="one", values=("one", "two")),
        Attribute("v", "CDATA", default="a&b", fixed=True),
        Attribute("refs", "IDREFS"),
        Attribute("n", "NOTATION", values=("gif",)),
        Attribute(f"{{{XML_NAMESPACE}}}lang", "NMTOKEN"),
        Attribute("late", "CDATA"),
    )


def test_entity_values_that_look_like_declarations(tmp_path: Path) -> None:
    schema = load_dtd(
        tmp_path,
        """<!ENTITY % trap "<!ELEMENT trap (r)>"> <!ENTITY trap2 '<!ELEMENT trap (r)> "x" >'>
           <!-- <!ELEMENT trap (r)> --> <?pi <!ELEMENT trap (r)> ?>
           <!ELEMENT r (a)> <!ELEMENT a EMPTY> <!ATTLIST a t CDATA "&lt;!ELEMENT trap (r)>">""",
    )
    assert edges(schema) == {"r": {"a"}, "a": set()}


# Roots


@pytest.mark.parametrize(
    ("dtd", "expected", "noted"),
    [
        ("<!ELEMENT a (b)> <!ELEMENT b EMPTY>", ["a"], False),
        ("<!ELEMENT b EMPTY> <!ELEMENT a (b)>", ["a"], False),
        ("<!ELEMENT a (a*)>", ["a"], False),
        ("<!ELEMENT b (a*)> <!ELEMENT a (b*, c)> <!ELEMENT c EMPTY>", ["b"], True),
        ("<!ELEMENT a (b)> <!ELEMENT b EMPTY> <!ELEMENT z (b)>", ["a", "z"], True),
        ("<!ELEMENT a (b)> <!ELEMENT z (b, c)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>", ["z"], True),
        ("<!ELEMENT a EMPTY> <!ELEMENT b EMPTY>", ["a", "b"], True),
        ("<!ELEMENT x ANY> <!ELEMENT a (x)> <!ELEMENT b EMPTY>", ["a"], True),
    ],
    ids=[
        "top",
        "declared later",
        "in itself",
        "circle",
        "two",
        "loose end",
        "only ends",
        "ANY says nothing",
    ],
)
def test_assumed_roots(tmp_path: Path, dtd: str, expected: list[str], noted: bool) -> None:
    schema = load_dtd(tmp_path, dtd)
    assert roots(schema) == expected
    assert any("root not given" in note and "--root" in note for note in schema.notes) == noted


def test_given_root_limits_the_model(tmp_path: Path) -> None:
    schema = load_dtd(tmp_path, "<!ELEMENT a (b)> <!ELEMENT b (c)> <!ELEMENT c EMPTY>", root="b")
    assert roots(schema) == ["b"]
    assert edges(schema) == {"b": {"c"}, "c": set()}
    assert schema.notes == ()


def test_unknown_root_names_near_ones(tmp_path: Path) -> None:
    with pytest.raises(SchemaError) as caught:
        load_dtd(tmp_path, "<!ELEMENT article (title)> <!ELEMENT title EMPTY>", root="artcle")
    assert caught.value.reason == "declares no element artcle"
    hint = "did you mean article or title? Documents of this schema start with article"
    assert caught.value.hint == hint


# Namespaces (TRAPS 10)


def test_prefixes_are_bound_by_fixed_and_default_attributes(tmp_path: Path) -> None:
    schema = load_dtd(
        tmp_path,
        """<!ELEMENT r (dc:title, x:y)>
           <!ATTLIST r xmlns:dc CDATA #FIXED "urn:dc"  xmlns:x CDATA "urn:x"  dc:id ID #IMPLIED>
           <!ELEMENT dc:title (#PCDATA)> <!ELEMENT x:y EMPTY>""",
    )
    assert edges(schema)["r"] == {"{urn:dc}title", "{urn:x}y"}
    assert attributes(schema)["r"] == {"{urn:dc}id"}, "xmlns is no attribute; the rest is expanded"
    assert schema.prefixes == {"dc": "urn:dc", "x": "urn:x"}
    assert conforms(schema, '<r xmlns:q="urn:dc" q:id="i"><q:title/></r>'), "the URI counts"
    assert not conforms(schema, '<r xmlns:dc="urn:other"><dc:title/></r>')


def test_unprefixed_attributes_have_no_namespace(tmp_path: Path) -> None:
    schema = load_dtd(
        tmp_path, '<!ELEMENT r EMPTY> <!ATTLIST r xmlns CDATA #FIXED "urn:r" k CDATA #IMPLIED>'
    )
    assert attributes(schema) == {"{urn:r}r": {"k"}}
    assert conforms(schema, '<r xmlns="urn:r" k="1"/>')
    assert not conforms(schema, '<r k="1"/>'), "the oracle does not read the DTD's defaults"


def test_bindings_are_inherited_and_overridden(tmp_path: Path) -> None:
    schema = load_dtd(
        tmp_path,
        f"""<!ELEMENT html (title, svg)> <!ATTLIST html xmlns CDATA #FIXED "{XHTML}">
            <!ELEMENT svg (title, html*)> <!ATTLIST svg xmlns CDATA #FIXED "{SVG}">
            <!ELEMENT title (#PCDATA)>""",
        root="html",
    )
    assert edges(schema) == {
        f"{{{XHTML}}}html": {f"{{{XHTML}}}title", f"{{{SVG}}}svg"},
        f"{{{SVG}}}svg": {f"{{{SVG}}}title", f"{{{XHTML}}}html"},
        f"{{{XHTML}}}title": set(),
        f"{{{SVG}}}title": set(),
    }
    assert len(schema.declarations) == 4


def test_an_undeclared_namespace_again(tmp_path: Path) -> None:
    schema = load_dtd(
        tmp_path,
        """<!ELEMENT r (s)> <!ATTLIST r xmlns CDATA #FIXED "urn:r">
           <!ELEMENT s EMPTY> <!ATTLIST s xmlns CDATA #FIXED "">""",
    )
    assert edges(schema) == {"{urn:r}r": {"s"}, "s": set()}


def test_same_local_name_under_two_prefixes(tmp_path: Path) -> None:
    """lxml's own content models confuse these: they drop the prefixes."""
    schema = load_dtd(
        tmp_path,
        """<!ELEMENT r (p:a, a)> <!ATTLIST r xmlns:p CDATA #FIXED "urn:p">
           <!ELEMENT a (p:a?)> <!ELEMENT p:a EMPTY>""",
    )
    assert edges(schema) == {"r": {"{urn:p}a", "a"}, "a": {"{urn:p}a"}, "{urn:p}a": set()}


def test_bindings_that_matter_to_nothing_make_no_copies(tmp_path: Path) -> None:
    names = "".join(f"<!ATTLIST b{i} xmlns:p{i} CDATA #FIXED 'urn:{i}'>" for i in range(12))
    blocks = "".join(f"<!ELEMENT b{i} (p | b0 | b5)*>" for i in range(12))
    schema = load_dtd(
        tmp_path,
        f"<!ELEMENT r ({'|'.join(f'b{i}' for i in range(12))})*>{blocks}{names}"
        "<!ELEMENT p (#PCDATA)>",
    )
    assert len(schema.declarations) == 14


def test_too_many_combinations_of_bindings_are_refused(tmp_path: Path) -> None:
    n = 20
    uses = "".join(f"p{i}:a CDATA #IMPLIED " for i in range(n))
    blocks = "".join(
        f"<!ELEMENT b{i} ({'|'.join(f'b{j}' for j in range(n))}|p)*>"
        f"<!ATTLIST b{i} xmlns:p{i} CDATA #FIXED 'urn:{i}'>"
        for i in range(n)
    )
    with pytest.raises(SchemaError, match="combinations of namespace bindings"):
        load_dtd(tmp_path, f"{blocks}<!ELEMENT p EMPTY><!ATTLIST p {uses}>")


def test_a_prefix_without_a_binding(tmp_path: Path) -> None:
    dtd = "<!ELEMENT r (dc:title)> <!ELEMENT dc:title (#PCDATA)> <!ATTLIST r dc:id ID #IMPLIED>"
    schema = load_dtd(tmp_path, dtd)
    assert edges(schema)["r"] == {"dc:title"}
    assert attributes(schema)["r"] == {"dc:id"}
    assert any("dc" in note and "--ns" in note for note in schema.notes)
    assert not conforms(schema, '<r xmlns:dc="urn:dc"><dc:title/></r>')

    bound = load_dtd(tmp_path, dtd, dc="urn:dc", other="urn:other")
    assert edges(bound)["r"] == {"{urn:dc}title"}
    assert attributes(bound)["r"] == {"{urn:dc}id"}
    assert bound.prefixes == {"dc": "urn:dc"}
    assert bound.notes == ()
    assert conforms(bound, '<r xmlns:x="urn:dc"><x:title/></r>')


def test_own_bindings_win_over_given_ones(tmp_path: Path) -> None:
    dtd = '<!ELEMENT p:r EMPTY> <!ATTLIST p:r xmlns:p CDATA #FIXED "urn:own">'
    assert roots(load_dtd(tmp_path, dtd, p="urn:given")) == ["{urn:own}r"]


@pytest.mark.parametrize("root", ["svg:svg", "svg", f"{{{SVG}}}svg", "s:svg"])
def test_spellings_of_a_root(tmp_path: Path, root: str) -> None:
    dtd = f"""<!ELEMENT top (svg:svg)> <!ELEMENT svg:svg EMPTY>
              <!ATTLIST svg:svg xmlns:svg CDATA #FIXED "{SVG}">"""
    assert roots(load_dtd(tmp_path, dtd, root, s=SVG)) == [f"{{{SVG}}}svg"]


def test_ambiguous_root(tmp_path: Path) -> None:
    dtd = """<!ELEMENT p:a EMPTY> <!ATTLIST p:a xmlns:p CDATA #FIXED "urn:p">
             <!ELEMENT q:a EMPTY> <!ATTLIST q:a xmlns:q CDATA #FIXED "urn:q">"""
    with pytest.raises(SchemaError, match="p:a or q:a"):
        load_dtd(tmp_path, dtd, root="a")


# The bundled schemas


def bundled(repo_root: Path, name: str) -> Schema:
    return Schema.load(repo_root / "schemas" / name)


def test_figure4(repo_root: Path) -> None:
    schema = bundled(repo_root, "figure4.dtd")
    assert roots(schema) == ["a"]
    assert edges(schema) == {
        "a": {"b"},
        "b": {"l", "m", "k"},
        "l": {"c"},
        "m": {"c", "a"},
        "k": {"d"},
        "c": set(),
        "d": set(),
    }


def test_university(repo_root: Path) -> None:
    schema = bundled(repo_root, "university.dtd")
    assert roots(schema) == ["db"]
    people = {"student", "professor", "assistant", "secretary", "lecturer"}
    assert edges(schema)["db"] == people
    assert all(edges(schema)[p] == {"name", "email", "url", "link"} for p in people)
    assert all(attributes(schema)[p] == {"id"} for p in people)
    assert attributes(schema)["link"] == {"manager", "subordinates"}
    assert schema.notes == ()


def test_ejb_jar(repo_root: Path) -> None:
    schema = bundled(repo_root, "ejb-jar.dtd")
    assert roots(schema) == ["ejb-jar"]
    assert len(schema.declarations) == 39
    assert schema.notes == (), "everything is declared and reachable"
    assert edges(schema)["assembly-descriptor"] == {
        "container-transaction",
        "security-role",
        "method-permission",
    }
    assert "method" in edges(schema)["method"]
    assert declared(schema, "message-selector").text is Text.NONE
    assert declared(schema, "trans-attribute").text is Text.ANY


@pytest.mark.parametrize(
    ("name", "root", "edge"),
    [
        ("bib.dtd", "bib", ("book", "editor")),
        ("book.dtd", "book", ("section", "section")),
        ("stock.dtd", "quotes", ("quote", "price")),
    ],
)
def test_other_bundled_dtds(repo_root: Path, name: str, root: str, edge: tuple[str, str]) -> None:
    schema = bundled(repo_root, name)
    assert roots(schema) == [root]
    assert edge[1] in edges(schema)[edge[0]]
    assert schema.notes == ()


def test_bundled_dtds_are_valid_for_other_tools(repo_root: Path) -> None:
    for path in sorted((repo_root / "schemas").glob("*.dtd")):
        dtd = etree.DTD(str(path))
        assert {e.name for e in dtd.iterelements()} == set(edges(Schema.load(path)))


# Real ones


def test_nitf(shared_data: Path) -> None:
    schema = Schema.load(shared_data / "nitf" / "nitf.dtd")
    assert roots(schema) == ["nitf"]
    assert len(schema.declarations) == 123
    assert "table" not in edges(schema)["body"]
    assert {"table", "p", "bq"} <= edges(schema)["block"]
    for path in sorted((shared_data / "nitf" / "docs").rglob("*.xml"))[:20]:
        assert first_violation(schema, etree.parse(path)) is None


def test_xmark(shared_data: Path) -> None:
    schema = Schema.load(shared_data / "xmark" / "auction.dtd")
    assert roots(schema) == ["site"]
    assert any("not income, status, amount" in note for note in schema.notes)
    assert len(schema.declarations) == 74
    assert edges(schema)["parlist"] == {"listitem"}
    assert "parlist" in edges(schema)["listitem"]
    packed = shared_data / "xmark" / "xmark-f0.1.xml.gz"
    tree = etree.fromstring(gzip.decompress(packed.read_bytes())).getroottree()
    assert first_violation(schema, tree) is None


def test_wordnet(shared_data: Path) -> None:
    schema = Schema.load(shared_data / "wordnet" / "WN-LMF-relaxed-1.1.dtd")
    dc = "https://globalwordnet.github.io/schemas/dc/"
    assert roots(schema) == ["LexicalResource"]
    assert schema.prefixes == {"dc": dc}
    assert f"{{{dc}}}title" in attributes(schema)["Lexicon"]
    assert len(schema.declarations) == 24
