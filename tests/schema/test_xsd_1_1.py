"""What XSD 1.1 adds: wildcards, open content, default attributes, alternatives, override."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.errors import SchemaError
from extract.schema.model import Schema, Wildcard
from tests.support.schema_facts import (
    attributes,
    children,
    conforms,
    declared,
    load_xsd,
    write,
    xsd,
)
from tests.support.xsd_text import (
    complex_type,
    extension,
    local,
    negated,
    only,
    variants,
    wildcards,
)

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
