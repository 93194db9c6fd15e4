"""What an XSD says, in the model: names with types, substitution, xsi:type, wildcards, 1.1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

from extract.errors import SchemaError
from extract.schema.conformance import first_violation
from extract.schema.model import (
    XML_NAMESPACE,
    XSI_NAMESPACE,
    Attribute,
    Particle,
    Schema,
    Text,
    Wildcard,
)
from tests.support.schema_facts import (
    attributes,
    children,
    conforms,
    declared,
    edges,
    load_xsd,
    roots,
    write,
    xsd,
)

XSI = f'xmlns:xsi="{XSI_NAMESPACE}"'
XSI_ONLY = Wildcard(frozenset({XSI_NAMESPACE}), negated=False)


def complex_type(name: str, content: str, more: str = "") -> str:
    """A named complex type with a sequence."""
    return (
        f'<xs:complexType name="{name}" {more}><xs:sequence>{content}</xs:sequence>'
        "</xs:complexType>"
    )


def extension(name: str, base: str, content: str = "", more: str = "") -> str:
    """A named complex type that extends another."""
    return (
        f'<xs:complexType name="{name}" {more}><xs:complexContent><xs:extension base="{base}">'
        f"<xs:sequence>{content}</xs:sequence></xs:extension></xs:complexContent></xs:complexType>"
    )


def local(name: str, type_: str = "xs:string", more: str = "") -> str:
    """A local element."""
    return f'<xs:element name="{name}" type="{type_}" {more}/>'


# Names and types


def test_one_name_with_two_types_stays_apart(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("A", local("x", "t:X1"))
        + complex_type("B", local("x", "t:X2"))
        + complex_type("X1", local("one"))
        + complex_type("X2", local("two"))
        + complex_type("R", local("a", "t:A") + local("b", "t:B") + local("a2", "t:A"))
        + local("r", "t:R"),
    )
    assert children(schema, "t:x", "t:X1") == ["one"]
    assert children(schema, "t:x", "t:X2") == ["two"]
    assert not conforms(schema, '<r xmlns="urn:t"><a><x><two/></x></a></r>')
    assert conforms(schema, '<r xmlns="urn:t"><a><x><one/></x></a><b><x><two/></x></b></r>')
    (x_below_a,) = declared(schema, "t:a").children
    (x_below_a2,) = declared(schema, "t:a2").children
    assert x_below_a == x_below_a2, "one name with one type is one declaration"


def test_anonymous_types_are_told_apart(tmp_path: Path) -> None:
    anonymous = (
        '<xs:element name="x"><xs:complexType><xs:sequence>{}</xs:sequence>'
        "</xs:complexType></xs:element>"
    )
    schema = load_xsd(
        tmp_path,
        complex_type("A", anonymous.format(local("one")))
        + complex_type("B", anonymous.format(local("two")))
        + complex_type("R", local("a", "t:A") + local("b", "t:B"))
        + "\n"
        + local("r", "t:R"),
    )
    types = {d.type for d in schema.declarations if d.name == "{urn:t}x"}
    assert types == {"anonymous, main.xsd:2"}, "people can find them"
    assert sum(d.name == "{urn:t}x" for d in schema.declarations) == 2


def test_forms_and_namespaces(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=f"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t"
            targetNamespace="urn:t">
          <xs:import schemaLocation="none.xsd"/>
          <xs:element name="r">
            <xs:complexType><xs:sequence>
              {local("plain")} {local("full", more='form="qualified"')} <xs:element ref="n"/>
            </xs:sequence>
            <xs:attribute name="plain"/> <xs:attribute name="full" form="qualified"/>
            <xs:attribute ref="t:global"/>
            </xs:complexType></xs:element>
          <xs:attribute name="global"/>
        </xs:schema>""",
        none_xsd=xsd(local("n"), target=""),
    )
    schema = Schema.load(path)
    assert edges(schema)["{urn:t}r"] == {"plain", "{urn:t}full", "n"}
    assert attributes(schema)["{urn:t}r"] == {"plain", "{urn:t}full", "{urn:t}global"}
    assert schema.prefixes["t"] == "urn:t"


def test_chameleon_include(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(f'<xs:include schemaLocation="c.xsd"/>{local("r", "t:C")}'),
        c_xsd=xsd(complex_type("C", local("inner", "D")) + complex_type("D", ""), target=""),
    )
    assert children(Schema.load(path), "t:r") == ["inner"], "takes the namespace of its includer"


def test_redefine(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            f'<xs:redefine schemaLocation="b.xsd">{extension("T", "t:T", local("more"))}'
            f"</xs:redefine>{local('r', 't:T')}"
        ),
        b_xsd=xsd(complex_type("T", local("base"))),
    )
    assert children(Schema.load(path, "r"), "t:r") == ["base", "more"]


# Content models


def test_groups_and_cardinality(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        f"""<xs:group name="g"><xs:choice>{local("a")}{local("b")}</xs:choice></xs:group>
        <xs:element name="r"><xs:complexType><xs:sequence>
          <xs:group ref="t:g" minOccurs="0" maxOccurs="unbounded"/>
          {local("c", more='minOccurs="2" maxOccurs="5"')}
          {local("never", more='minOccurs="0" maxOccurs="0"')}
        </xs:sequence></xs:complexType></xs:element>""",
    )
    a, b, c = (declared(schema, f"t:{name}").key for name in "abc")
    assert declared(schema, "t:r").content == Particle(
        "sequence",
        parts=(
            Particle(
                "choice",
                0,
                None,
                parts=(Particle("element", element=a), Particle("element", element=b)),
            ),
            Particle("element", 2, 5, c),
        ),
    )
    assert children(schema, "t:r") == ["a", "b", "c"], "nothing that may occur zero times at most"


def test_all_groups(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        f"""<xs:element name="r"><xs:complexType><xs:all>{local("a")}
        {local("b", more='minOccurs="0"')}</xs:all></xs:complexType></xs:element>""",
    )
    content = declared(schema, "t:r").content
    assert content is not None
    assert (content.kind, [part.low for part in content.parts]) == ("all", [1, 0])


def test_extension_and_restriction(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("Base", local("a") + local("b", more='minOccurs="0"'))
        + extension("More", "t:Base", local("c"))
        + """<xs:complexType name="Less"><xs:complexContent><xs:restriction base="t:Base">
             <xs:sequence><xs:element name="a" type="xs:string"/></xs:sequence>
             </xs:restriction></xs:complexContent></xs:complexType>"""
        + complex_type("R", local("more", "t:More") + local("less", "t:Less"))
        + local("r", "t:R"),
    )
    assert children(schema, "t:more") == ["a", "b", "c"]
    assert children(schema, "t:less") == ["a"]


def test_text(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("Mixed", local("simple"), 'mixed="true"')
        + '<xs:complexType name="Empty"><xs:attribute name="k"/></xs:complexType>'
        + complex_type("R", local("m", "t:Mixed") + local("e", "t:Empty"))
        + local("r", "t:R"),
    )
    assert {d.name.partition("}")[2]: d.text for d in schema.declarations} == {
        "r": Text.SPACE,
        "m": Text.ANY,
        "e": Text.NONE,
        "simple": Text.ANY,
    }


def test_recursion_is_finite(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("T", local("t", "t:T", 'minOccurs="0"') + '<xs:element ref="t:r"/>')
        + local("r", "t:T"),
    )
    assert edges(schema) == {name: {"{urn:t}t", "{urn:t}r"} for name in ("{urn:t}r", "{urn:t}t")}


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


# xsi:type


ANIMALS = (
    complex_type("Animal", local("name"))
    + extension("Dog", "t:Animal", local("breed"))
    + extension("Puppy", "t:Dog", local("age"))
    + """<xs:complexType name="Plain"><xs:complexContent><xs:restriction base="t:Animal">
         <xs:sequence><xs:element name="name" type="xs:string"/></xs:sequence>
         </xs:restriction></xs:complexContent></xs:complexType>"""
)


def variants(schema: Schema, name: str) -> list[str]:
    return [d.type for d in schema.declarations if d.name == f"{{urn:t}}{name}"]


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


# Attributes


def test_attribute_declarations(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        """<xs:import namespace="http://www.w3.org/XML/1998/namespace"/>
           <xs:simpleType name="Size"><xs:restriction base="xs:int">
             <xs:enumeration value="01"/><xs:enumeration value="2"/></xs:restriction>
           </xs:simpleType>
           <xs:attributeGroup name="g"><xs:attribute name="grouped"/></xs:attributeGroup>
           <xs:attribute name="ref" type="xs:ID"/>
           <xs:complexType name="Base"><xs:attribute name="gone"/><xs:attribute name="kept"/>
           </xs:complexType>
           <xs:complexType name="T"><xs:complexContent><xs:restriction base="t:Base">
             <xs:attribute name="gone" use="prohibited"/>
             </xs:restriction></xs:complexContent></xs:complexType>
           <xs:complexType name="U"><xs:complexContent><xs:extension base="t:T">
             <xs:attribute name="size" type="t:Size" default="2"/>
             <xs:attribute name="fix" type="xs:string" fixed="f"/>
             <xs:attribute name="must" type="xs:token" use="required"/>
             <xs:attribute ref="t:ref"/> <xs:attribute ref="xml:lang"/>
             <xs:attributeGroup ref="t:g"/>
             <xs:attribute name="inline"><xs:simpleType><xs:restriction base="xs:NMTOKEN">
               <xs:enumeration value="a"/></xs:restriction></xs:simpleType></xs:attribute>
             </xs:extension></xs:complexContent></xs:complexType>"""
        + local("r", "t:U"),
    )
    assert set(declared(schema, "t:r").attributes) == {
        Attribute("kept", "xs:anySimpleType"),
        Attribute("size", "t:Size", default="2", values=("01", "2")),
        Attribute("fix", "xs:string", default="f", fixed=True),
        Attribute("must", "xs:token", required=True),
        Attribute("{urn:t}ref", "xs:ID"),
        Attribute(f"{{{XML_NAMESPACE}}}lang", "xs:anySimpleType"),
        Attribute("grouped", "xs:anySimpleType"),
        Attribute("inline", "xs:NMTOKEN", values=("a",)),
    }


# Wildcards


def wildcards(folder: Path, any_: str, more: str = "", version: str = "") -> tuple[Wildcard, ...]:
    body = complex_type("R", f"{local('a')}<xs:any {any_}/>") + local("r", "t:R") + more
    schema = load_xsd(folder, body, root="r", attributes=version)
    return declared(schema, "t:r").wildcards


def negated(*namespaces: str) -> Wildcard:
    return Wildcard(frozenset(namespaces), True)


def only(*namespaces: str) -> Wildcard:
    return Wildcard(frozenset(namespaces), False)


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        ("##any", negated()),
        ("##other", negated("urn:t", "")),
        ("##local", only("")),
        ("##targetNamespace", only("urn:t")),
        ("urn:x ##local urn:y", only("urn:x", "urn:y", "")),
    ],
)
@pytest.mark.parametrize("process", ["lax", "skip"])
def test_element_wildcards(
    tmp_path: Path, namespace: str, process: str, expected: Wildcard
) -> None:
    any_ = f'namespace="{namespace}" processContents="{process}"'
    assert wildcards(tmp_path, any_) == (expected,)


def test_what_is_below_a_lax_wildcard_is_unknown(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("R", '<xs:any namespace="##other" processContents="lax"/>')
        + local("r", "t:R"),
    )
    assert children(schema, "t:r") == []
    assert conforms(schema, '<r xmlns="urn:t"><x xmlns="urn:x"><r xmlns="urn:t"><q/></r></x></r>')
    assert not conforms(schema, '<r xmlns="urn:t"><x xmlns=""/></r>'), "##other: some namespace"


def test_local_element_beside_a_lax_wildcard(tmp_path: Path) -> None:
    """TRAPS 11: the type is no function of parent and name."""
    schema = load_xsd(
        tmp_path,
        complex_type(
            "R",
            local("a", "t:One") + local("x", "t:One") + '<xs:any processContents="lax"/>',
        )
        + complex_type("One", local("one"))
        + complex_type("Two", local("two"))
        + local("x", "t:Two")
        + local("r", "t:R"),
        root="r",
        attributes='vc:minVersion="1.1" xmlns:vc="http://www.w3.org/2007/XMLSchema-versioning"',
    )
    assert conforms(schema, '<r xmlns="urn:t"><a><one/></a><x><one/></x><x><two/></x></r>')


def test_strict_wildcards_lead_to_global_elements(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            '<xs:import namespace="urn:x" schemaLocation="x.xsd"/>'
            + complex_type("R", '<xs:any namespace="##other"/>')
            + local("r", "t:R")
        ),
        x_xsd=xsd(
            complex_type("T", local("inner"))
            + extension("U", "t:T", local("more"))
            + local("g", "t:T")
            + local("h", "t:T", 'abstract="true"'),
            target="urn:x",
        ),
    )
    schema = Schema.load(path)
    assert declared(schema, "t:r").wildcards == ()
    assert edges(schema)["{urn:t}r"] == {"{urn:x}g"}
    assert conforms(schema, '<t:r xmlns:t="urn:t"><g xmlns="urn:x"><inner/><more/></g></t:r>')
    assert not conforms(schema, '<t:r xmlns:t="urn:t"><g xmlns="urn:y"/></t:r>')


def test_any_type_is_open(tmp_path: Path) -> None:
    schema = load_xsd(tmp_path, ANIMALS + '<xs:element name="r"/>' + local("s", "xs:anyType"))
    assert [d.name for d in schema.declarations] == ["{urn:t}r", "{urn:t}s"], "no types listed"
    for declaration in schema.declarations:
        assert declaration.wildcards == declaration.attribute_wildcards == (Wildcard(),)
        assert declaration.text is Text.ANY
        assert declaration.content is None


def test_attribute_wildcards(tmp_path: Path) -> None:
    any_attribute = '<xs:anyAttribute namespace="##other" processContents="{}"/>'
    for process in ("lax", "skip", "strict"):
        schema = load_xsd(
            tmp_path,
            f'<xs:complexType name="R">{any_attribute.format(process)}</xs:complexType>'
            + local("r", "t:R"),
        )
        assert declared(schema, "t:r").attribute_wildcards == (XSI_ONLY, negated("urn:t", ""))
    assert conforms(schema, '<r xmlns="urn:t" xml:lang="de"/>')
    assert not conforms(schema, '<r xmlns="urn:t" lang="de"/>')


# XSD 1.1


VC = 'vc:minVersion="1.1" xmlns:vc="http://www.w3.org/2007/XMLSchema-versioning"'


def test_wildcards_of_xsd_1_1(tmp_path: Path) -> None:
    lax = 'processContents="lax"'
    assert wildcards(tmp_path, f'notNamespace="##local urn:x" {lax}', version=VC) == (
        negated("", "urn:x"),
    )
    (admitted,) = wildcards(
        tmp_path, f'notQName="t:no ##defined ##definedSibling" {lax}', version=VC
    )
    assert admitted == Wildcard(excluded=frozenset({"{urn:t}no", "{urn:t}r", "{urn:t}a"}))


def test_version_1_1_by_need_or_by_demand(tmp_path: Path) -> None:
    body = (
        '<xs:complexType name="R"><xs:all><xs:element name="a" type="xs:string" maxOccurs="2"/>'
        '</xs:all><xs:assert test="a"/></xs:complexType>' + local("r", "t:R")
    )
    schema = load_xsd(tmp_path, body)
    assert children(schema, "t:r") == ["a"]
    assert any("XSD 1.1" in note for note in schema.notes)
    assert load_xsd(tmp_path, body, attributes=VC).notes == ()


def test_error_of_1_0_is_shown_when_neither_version_fits(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="Lost"):
        load_xsd(tmp_path, local("r", "t:Lost"))


def test_open_content(tmp_path: Path) -> None:
    own = f"""<xs:complexType name="R"><xs:openContent><xs:any namespace="urn:x"
        processContents="lax"/></xs:openContent><xs:sequence>{local("a")}</xs:sequence>
        </xs:complexType>{local("r", "t:R")}"""
    schema = load_xsd(tmp_path, own, attributes=VC)
    assert declared(schema, "t:r").wildcards == (only("urn:x"),)
    assert children(schema, "t:r") == ["a"]

    default = f"""<xs:defaultOpenContent><xs:any processContents="skip"/></xs:defaultOpenContent>
        {complex_type("R", local("a"))}{local("r", "t:R")}"""
    schema = load_xsd(tmp_path, default, attributes=VC)
    assert declared(schema, "t:r").wildcards == (negated(),)


def test_default_attributes(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        f"""<xs:attributeGroup name="d"><xs:attribute name="everywhere"/></xs:attributeGroup>
        {complex_type("R", "")}{complex_type("S", "", 'defaultAttributesApply="false"')}
        {local("r", "t:R")}{local("s", "t:S")}""",
        attributes=f'{VC} defaultAttributes="t:d"',
    )
    assert attributes(schema) == {"{urn:t}r": {"everywhere"}, "{urn:t}s": set()}


def test_alternatives(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        f"""{complex_type("R", '<xs:element ref="t:a"/>')}{local("r", "t:R")}
        <xs:element name="a" type="t:Base">
          <xs:alternative test="@kind='one'" type="t:One"/>
          <xs:alternative type="t:Two"/>
        </xs:element>
        <xs:complexType name="Base" block="#all"><xs:sequence/><xs:attribute name="kind"/>
        </xs:complexType>{extension("One", "t:Base", local("one"))}
        {extension("Two", "t:Base", local("two"))}""",
        root="r",
        attributes=VC,
    )
    assert variants(schema, "a") == ["t:Base", "t:One", "t:Two"]
    assert conforms(schema, '<r xmlns="urn:t"><a kind="one"><one/></a></r>')
    assert conforms(schema, '<r xmlns="urn:t"><a><two/></a></r>')


def test_override(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            f'<xs:override schemaLocation="b.xsd">{complex_type("T", local("new"))}</xs:override>',
            VC,
        ),
        b_xsd=xsd(complex_type("T", local("old")) + local("r", "t:T"), VC),
    )
    assert children(Schema.load(path), "t:r") == ["new"]


# Roots


def test_assumed_roots(tmp_path: Path) -> None:
    one = load_xsd(
        tmp_path,
        local("inner") + complex_type("R", '<xs:element ref="t:inner"/>') + local("r", "t:R"),
    )
    assert roots(one) == ["{urn:t}r"]
    assert one.notes == ()

    two = load_xsd(tmp_path, local("a") + local("b"))
    assert roots(two) == ["{urn:t}a", "{urn:t}b"]
    assert any("root not given" in note for note in two.notes)

    circle = load_xsd(
        tmp_path,
        complex_type("A", '<xs:element ref="t:b"/>')
        + complex_type("B", '<xs:element ref="t:a" minOccurs="0"/>')
        + local("b", "t:B")
        + local("a", "t:A"),
    )
    assert roots(circle) == ["{urn:t}b"]
    assert any("root not given" in note for note in circle.notes)


def test_roots_come_from_the_main_namespace(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            '<xs:import namespace="urn:x" schemaLocation="x.xsd"/>'
            '<xs:include schemaLocation="part.xsd"/>'
        ),
        x_xsd=xsd(local("other"), target="urn:x"),
        part_xsd=xsd(local("r")),
    )
    assert roots(Schema.load(path)) == ["{urn:t}r"]
    assert roots(Schema.load(path, "x:other", {"x": "urn:x"})) == ["{urn:x}other"]


@pytest.mark.parametrize("root", ["r", "t:r", "{urn:t}r"])
def test_spellings_of_a_root(tmp_path: Path, root: str) -> None:
    schema = load_xsd(tmp_path, local("r") + local("s"), root)
    assert roots(schema) == ["{urn:t}r"]
    assert schema.notes == ()


def test_unknown_root_names_near_ones(tmp_path: Path) -> None:
    with pytest.raises(SchemaError) as caught:
        load_xsd(tmp_path, local("invoice"), root="Invoices")
    assert "did you mean {urn:t}invoice?" in caught.value.hint
    assert caught.value.hint.endswith("Documents of this schema start with {urn:t}invoice")


def test_the_elements_of_imports_are_roots_where_there_are_no_others(tmp_path: Path) -> None:
    part = (
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:{0}">'
        '<xs:element name="{0}"/></xs:schema>'
    )
    for name in ("order", "bill"):
        (tmp_path / f"{name}.xsd").write_text(part.format(name), encoding="utf-8")
    (tmp_path / "all.xsd").write_text(
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
        '<xs:import namespace="urn:order" schemaLocation="order.xsd"/>'
        '<xs:import namespace="urn:bill" schemaLocation="bill.xsd"/></xs:schema>',
        encoding="utf-8",
    )
    assert roots(Schema.load(tmp_path / "all.xsd")) == ["{urn:order}order", "{urn:bill}bill"]
    assert roots(Schema.load(tmp_path / "all.xsd", root="bill")) == ["{urn:bill}bill"]
    with pytest.raises(SchemaError) as caught:
        Schema.load(tmp_path / "all.xsd", root="zzz")
    starts = "documents of this schema start with {urn:order}order or {urn:bill}bill"
    assert caught.value.hint == starts


def test_schema_without_elements(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="declares no element"):
        load_xsd(tmp_path, complex_type("T", ""))


def test_only_what_the_root_reaches(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        local("far")
        + complex_type("R", local("a") + local("b", "t:B"))
        + complex_type("B", local("c") + local("a"))
        + local("r", "t:R"),
        root="r",
    )
    assert [d.name.partition("}")[2] for d in schema.declarations] == ["r", "a", "b", "c"]


# Determinism, the bundled schemas, and a real one


def test_same_model_in_every_process(tmp_path: Path, repo_root: Path) -> None:
    """Sets and hashes leave no trace in the numbers of declarations."""
    members = "".join(
        local(f"m{i}", f"t:M{i % 3}", 'substitutionGroup="t:head"') for i in range(20)
    )
    types = "".join(extension(f"M{i}", "t:H", local(f"x{i}")) for i in range(3))
    path = write(
        tmp_path,
        main_xsd=xsd(
            complex_type("R", '<xs:element ref="t:head"/>')
            + local("r", "t:R")
            + complex_type("H", "")
            + local("head", "t:H", 'abstract="true"')
            + members
            + types
        ),
    )
    code = (
        "import sys; from extract.schema.model import Schema; s = Schema.load(sys.argv[1], 'r');"
        "print([(d.name, d.type, d.children, d.content) for d in s.declarations], s.prefixes)"
    )
    models = {
        subprocess.run(
            [sys.executable, "-c", code, path],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(repo_root)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(models) == 1
    assert "m19" in models.pop()


def test_university_twin_says_the_same_as_the_dtd(repo_root: Path) -> None:
    dtd = Schema.load(repo_root / "schemas" / "university.dtd")
    twin = Schema.load(repo_root / "schemas" / "university.xsd")
    assert edges(twin) == edges(dtd)
    assert attributes(twin) == attributes(dtd)
    assert roots(twin) == roots(dtd)
    assert [d.text for d in twin.declarations] == [d.text for d in dtd.declarations]


def test_bundled_xsds_are_valid_for_other_tools(repo_root: Path) -> None:
    for path in sorted((repo_root / "schemas").glob("*.xsd")):
        etree.XMLSchema(etree.parse(path))


ORDER = f"""
<orders xmlns="urn:example:orders" xmlns:p="urn:example:party" {XSI} issued="2026-11-01">
  <order number="A1">
    <p:buyer xsi:type="p:Company" vat="DE1">
      <p:name>B</p:name><p:parent><p:name>C</p:name></p:parent>
    </p:buyer>
    <p:seller id="s"><p:name>S</p:name></p:seller>
    <shipTo xsi:type="ForeignAddress"><street/><city/><country/></shipTo>
    <product position="1"><text/><sku>x</sku><amount>2</amount><price currency="EUR">1.5</price>
      <part position="2"><text/><sku>y</sku><amount>1</amount><price currency="EUR">1</price></part>
    </product>
    <hours position="3" until="2026-12-01"><text/><price currency="EUR">80</price></hours>
    <amount currency="EUR">84.0</amount>
    <note xsi:nil="true"/>
    <extension p:checked="yes"><any xmlns="urn:any" goes="here"><x/></any></extension>
  </order>
</orders>"""


def test_orders(repo_root: Path) -> None:
    path = repo_root / "schemas" / "orders.xsd"
    schema = Schema.load(path)
    po = "{urn:example:orders}"
    assert roots(schema) == [f"{po}orders"]
    assert schema.notes == ()
    tree = etree.fromstring(ORDER).getroottree()
    etree.XMLSchema(etree.parse(path)).assertValid(tree)
    assert first_violation(schema, tree) is None
    assert {d.type for d in schema.declarations if d.name == f"{po}amount"} == {
        "po:Money",
        "xs:positiveInteger",
    }
    assert declared(schema, f"{po}line").abstract
    assert f"{po}line" not in edges(schema)[f"{po}order"]
    assert {f"{po}product", f"{po}service", f"{po}hours"} <= edges(schema)[f"{po}order"]
    assert declared(schema, f"{po}note").nillable
    assert not conforms(schema, ORDER.replace("<sku>x</sku>", "<country/>"))


def test_ubl_invoice(shared_data: Path) -> None:
    path = shared_data / "ubl" / "schema" / "maindoc" / "UBL-Invoice-2.1.xsd"
    schema = Schema.load(path)
    cac = "{urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2}"
    (root,) = roots(schema)
    assert root.endswith("}Invoice")
    assert f"{cac}AccountingSupplierParty" in edges(schema)[root]
    assert f"{cac}AgentParty" in edges(schema)[f"{cac}Party"], "recursion through Party"
    assert schema.notes == ()
    documents = sorted((shared_data / "ubl" / "docs").rglob("*.xml"))[:40]
    validator = etree.XMLSchema(etree.parse(path))
    trees = [tree for tree in map(etree.parse, documents) if validator.validate(tree)]
    assert trees
    assert [first_violation(schema, tree) for tree in trees] == [None] * len(trees)
