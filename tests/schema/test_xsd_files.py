"""The files that an XSD consists of: include, import, redefine; namesakes; never fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.schema.model import Schema
from tests.support.schema_facts import children, failure, load_xsd, roots, write, xsd


def test_missing_include_import_redefine_override(tmp_path: Path) -> None:
    for element in [
        '<xs:include schemaLocation="lost.xsd"/>',
        '<xs:import namespace="urn:x" schemaLocation="lost.xsd"/>',
        '<xs:redefine schemaLocation="lost.xsd"/>',
        '<xs:override schemaLocation="lost.xsd"/>',
    ]:
        error = failure(write(tmp_path, main_xsd=xsd(f'{element}<xs:element name="a"/>')))
        assert "lost.xsd, which does not exist" in error.reason
        assert element[1:].split()[0] in error.reason
        assert error.line == 2


def test_missing_part_of_a_part(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd('<xs:include schemaLocation="sub/part.xsd"/>'),
        sub__part_xsd=xsd('\n<xs:include schemaLocation="lost.xsd"/>'),
    )
    error = failure(path)
    assert (error.file, error.line) == (str(tmp_path / "sub" / "part.xsd"), 3)


@pytest.mark.parametrize("scheme", ["http:", "https:", "ftp:", ""])
def test_network_imports_are_refused(tmp_path: Path, server: str, scheme: str) -> None:
    address = f"{scheme}//{server}/x.xsd"
    body = f'<xs:import namespace="urn:x" schemaLocation="{address}"/><xs:element name="a"/>'
    error = failure(write(tmp_path, main_xsd=xsd(body)))
    assert address in error.reason
    assert "network" in error.reason
    assert "x.xsd" in error.hint


def test_network_import_with_a_local_namesake(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            '<xs:import namespace="urn:x" schemaLocation="http://h/x.xsd"/>'
            '<xs:element name="a" type="x:T"/>',
            'xmlns:x="urn:x"',
        ),
        lib__x_xsd=xsd(
            '<xs:simpleType name="T"><xs:restriction base="xs:string"/></xs:simpleType>',
            target="urn:x",
        ),
    )
    schema = Schema.load(path)
    assert any("http://h/x.xsd" in note for note in schema.notes)


def test_namesake_of_another_namespace_is_no_substitute(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd('<xs:import namespace="urn:x" schemaLocation="http://h/x.xsd"/>'),
        x_xsd=xsd('<xs:element name="a"/>', target="urn:y"),
    )
    assert "targetNamespace" in failure(path).reason


def test_well_known_schemas_need_no_network(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        """<xs:import namespace="http://www.w3.org/XML/1998/namespace"
                      schemaLocation="http://www.w3.org/2001/xml.xsd"/>
           <xs:import namespace="http://www.w3.org/1999/xlink"
                      schemaLocation="http://www.w3.org/1999/xlink.xsd"/>
           <xs:element name="a"><xs:complexType>
             <xs:attribute ref="xml:lang"/> <xs:attribute ref="xlink:href"/>
           </xs:complexType></xs:element>""",
        attributes='xmlns:xlink="http://www.w3.org/1999/xlink"',
    )
    assert [a.name for a in schema.declarations[0].attributes] == [
        "{http://www.w3.org/XML/1998/namespace}lang",
        "{http://www.w3.org/1999/xlink}href",
    ]
    assert any("xlink" in note for note in schema.notes)


def test_own_copy_of_a_well_known_schema_wins(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            '<xs:import namespace="http://www.w3.org/1999/xlink"/>'
            '<xs:import namespace="urn:b" schemaLocation="b.xsd"/>'
            '<xs:element name="a"><xs:complexType><xs:attribute ref="l:own"/></xs:complexType>'
            "</xs:element>",
            'xmlns:l="http://www.w3.org/1999/xlink"',
        ),
        b_xsd=xsd(
            '<xs:import namespace="http://www.w3.org/1999/xlink" schemaLocation="l.xsd"/>',
            target="urn:b",
        ),
        l_xsd=xsd('<xs:attribute name="own"/>', target="http://www.w3.org/1999/xlink"),
    )
    schema = Schema.load(path)
    assert [a.name for a in schema.declarations[0].attributes] == [
        "{http://www.w3.org/1999/xlink}own"
    ]
    assert schema.notes == ()


def test_second_import_of_a_namespace_is_not_skipped(tmp_path: Path) -> None:
    """xmlschema would take only the first document for a namespace."""
    path = write(
        tmp_path,
        main_xsd=xsd(
            '<xs:import namespace="urn:x" schemaLocation="x1.xsd"/>'
            '<xs:import namespace="urn:x" schemaLocation="x2.xsd"/>'
            '<xs:element name="a"><xs:complexType><xs:sequence><xs:element ref="x:head"/>'
            "</xs:sequence></xs:complexType></xs:element>",
            'xmlns:x="urn:x"',
        ),
        x1_xsd=xsd('<xs:element name="head"/>', target="urn:x"),
        x2_xsd=xsd(
            '<xs:include schemaLocation="x1.xsd"/>'
            '<xs:element name="member" substitutionGroup="t:head"/>',
            target="urn:x",
        ),
    )
    assert children(Schema.load(path), "t:a") == ["{urn:x}head", "{urn:x}member"]


def test_two_copies_of_one_document(tmp_path: Path) -> None:
    common = xsd('<xs:element name="c"/>', target="urn:c")
    part = '<xs:import namespace="urn:c" schemaLocation="c.xsd"/>'
    path = write(
        tmp_path,
        main_xsd=xsd(f'{part}<xs:import namespace="urn:b" schemaLocation="b/b.xsd"/>'),
        c_xsd=common,
        b__b_xsd=xsd(f'{part}<xs:element name="b"/>', target="urn:b"),
        b__c_xsd=common,
    )
    assert roots(Schema.load(path, "{urn:c}c")) == ["{urn:c}c"]


def test_circular_documents(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            '<xs:include schemaLocation="main.xsd"/><xs:include schemaLocation="b.xsd"/>'
            '<xs:element name="a" type="t:B"/>'
        ),
        b_xsd=xsd(
            '<xs:include schemaLocation="main.xsd"/><xs:complexType name="B"><xs:sequence>'
            '<xs:element ref="t:a" minOccurs="0"/></xs:sequence></xs:complexType>'
        ),
    )
    assert children(Schema.load(path), "t:a") == ["a"]
