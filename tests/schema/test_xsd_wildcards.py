"""Wildcards of an XSD: which names they admit, and what may be below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.schema.model import Schema, Text, Wildcard
from tests.support.schema_facts import children, conforms, declared, edges, load_xsd, write, xsd
from tests.support.xsd_text import (
    ANIMALS,
    XSI_ONLY,
    complex_type,
    extension,
    local,
    negated,
    only,
    wildcards,
)


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
