"""The document elements of an XSD: assumed, chosen by name, and what they reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.errors import SchemaError
from extract.schema.model import Schema
from tests.support.schema_facts import load_xsd, roots, write, xsd
from tests.support.xsd_text import complex_type, local


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
