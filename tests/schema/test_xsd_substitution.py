"""Elements and types that stand for others in an XSD: substitution groups, xsi:type, xsi:nil."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.errors import SchemaError
from tests.support.schema_facts import children, conforms, declared, load_xsd, roots
from tests.support.xsd_text import ANIMALS, XSI, XSI_ONLY, complex_type, extension, local, variants

# Substitution groups and abstract elements (TRAPS 12)


def test_substitution_groups(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("R", '<xs:element ref="t:head" minOccurs="0" maxOccurs="3"/>')
        + complex_type("L", '<xs:element ref="t:leaf"/>')
        + local("r", "t:R")
        + local("head", "t:H", 'abstract="true"')
        + complex_type("H", local("h"))
        + local("z", "t:H", 'substitutionGroup="t:head"')
        + local("a", "t:A", 'substitutionGroup="t:head"')
        + complex_type("Empty", "")
        + local("leaf", "t:Empty", 'abstract="true"')
        + local("leaflet", "t:Empty", 'substitutionGroup="t:leaf"')
        + extension("A", "t:H", local("own", "t:L"))
        + '<xs:element name="deep" substitutionGroup="t:a"/>',
        root="r",
    )
    assert set(children(schema, "t:r")) == {"a", "z", "deep"}
    assert children(schema, "t:deep") == ["h", "own"], "the type comes from the head"
    assert children(schema, "t:own") == ["leaflet"], "also where the head has no children"
    assert [d.name for d in schema.declarations if d.abstract] == ["{urn:t}head", "{urn:t}leaf"]
    assert schema.declarations[-1].abstract, "facts, no edges"
    content = declared(schema, "t:r").content
    assert content is not None
    assert (content.kind, content.low, content.high) == ("choice", 0, 3)
    assert conforms(schema, '<r xmlns="urn:t"><deep><h/><own/></deep><z><h/></z></r>')
    assert not conforms(schema, '<r xmlns="urn:t"><head><h/></head></r>')


def test_blocked_substitution(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("R", '<xs:element ref="t:head"/>')
        + local("r", "t:R")
        + local("head", more='block="substitution"')
        + local("member", more='substitutionGroup="t:head"'),
        root="r",
    )
    assert children(schema, "t:r") == ["head"]


def test_abstract_root(tmp_path: Path) -> None:
    body = (
        complex_type("H", "")
        + local("head", "t:H", 'abstract="true"')
        + local("member", "t:H", 'substitutionGroup="t:head"')
    )
    assert roots(load_xsd(tmp_path, body)) == ["{urn:t}member"]
    with pytest.raises(SchemaError, match="abstract") as caught:
        load_xsd(tmp_path, body, root="head")
    assert "member" in caught.value.hint


def test_derived_types_by_xsi_type(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path, ANIMALS + complex_type("R", local("pet", "t:Animal")) + local("r", "t:R")
    )
    assert variants(schema, "pet") == ["t:Animal", "t:Dog", "t:Plain", "t:Puppy"]
    assert children(schema, "t:pet", "t:Puppy") == ["name", "breed", "age"]
    document = '<r xmlns="urn:t"><pet {} {}><name/><breed/></pet></r>'
    assert conforms(schema, document.format(XSI, 'xmlns:q="urn:t" xsi:type="q:Dog"'))
    content = declared(schema, "t:r").content
    assert content is not None
    assert content.element == declared(schema, "t:pet", "t:Animal").key, "others need an xsi:type"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("extension", ["t:Animal", "t:Plain"]),
        ("restriction", ["t:Animal", "t:Dog", "t:Puppy"]),
        ("#all", ["t:Animal"]),
    ],
)
def test_blocked_derivation(tmp_path: Path, block: str, expected: list[str]) -> None:
    by_element = local("pet", "t:Animal", f'block="{block}"')
    schema = load_xsd(tmp_path, ANIMALS + complex_type("R", by_element) + local("r", "t:R"))
    assert variants(schema, "pet") == expected

    by_type = ANIMALS.replace('name="Animal"', f'name="Animal" block="{block}"', 1)
    schema = load_xsd(
        tmp_path, by_type + complex_type("R", local("pet", "t:Animal")) + local("r", "t:R")
    )
    assert variants(schema, "pet") == expected

    by_default = complex_type("R", local("pet", "t:Animal")) + local("r", "t:R")
    schema = load_xsd(tmp_path, ANIMALS + by_default, attributes=f'blockDefault="{block}"')
    assert variants(schema, "pet") == expected


def test_abstract_types_need_an_xsi_type(tmp_path: Path) -> None:
    body = ANIMALS.replace('name="Animal"', 'name="Animal" abstract="true"', 1)
    schema = load_xsd(tmp_path, body + local("pet", "t:Animal"))
    assert [schema.declarations[key].type for key in schema.roots] == [
        "t:Dog",
        "t:Plain",
        "t:Puppy",
    ]


def test_abstract_types_that_nothing_derives_from(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="abstract"):
        load_xsd(tmp_path, complex_type("T", "", 'abstract="true"') + local("r", "t:T"))


def test_types_that_admit_nothing_new_are_no_variants(tmp_path: Path) -> None:
    """In UBL some 700 types extend xs:string with the same attributes, or none."""
    types = "".join(
        f"""<xs:complexType name="T{i}"><xs:simpleContent><xs:extension base="xs:string">
        {'<xs:attribute name="k" type="xs:string"/>' if i % 2 else ""}
        </xs:extension></xs:simpleContent></xs:complexType>"""
        for i in range(10)
    )
    assert variants(load_xsd(tmp_path, types + local("r")), "r") == ["xs:string", "t:T1"]


def test_complex_types_made_from_a_simple_one(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        """<xs:simpleType name="Code"><xs:restriction base="xs:string"/></xs:simpleType>
           <xs:complexType name="Marked"><xs:simpleContent><xs:extension base="t:Code">
           <xs:attribute name="mark"/></xs:extension></xs:simpleContent></xs:complexType>"""
        + local("r"),
    )
    assert variants(schema, "r") == ["xs:string", "t:Marked"]
    assert conforms(schema, f'<r xmlns="urn:t" {XSI} xsi:type="x" mark="1"/>')


def test_xsi_attributes_are_always_allowed(tmp_path: Path) -> None:
    schema = load_xsd(tmp_path, complex_type("R", local("a")) + local("r", "t:R"))
    assert all(d.attribute_wildcards == (XSI_ONLY,) for d in schema.declarations)
    assert all(d.attributes == () for d in schema.declarations)
    assert conforms(schema, f'<r xmlns="urn:t" {XSI} xsi:schemaLocation="u f"><a xsi:nil="1"/></r>')
    assert not conforms(schema, '<r xmlns="urn:t" xml:lang="de"/>')


def test_nillable(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("R", local("a") + local("b", more='nillable="true"')) + local("r", "t:R"),
    )
    assert {d.name: d.nillable for d in schema.declarations} == {
        "{urn:t}r": False,
        "{urn:t}a": False,
        "{urn:t}b": True,
    }
