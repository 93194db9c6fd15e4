"""A catalog beside a schema names the files for public and system identifiers."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.schema.model import Schema
from tests.support.schema_facts import edges, failure, roots, write, xsd

CATALOG = """<?xml version="1.0"?>
<!DOCTYPE catalog PUBLIC "-//OASIS//DTD Entity Resolution XML Catalog V1.0//EN"
    "http://www.oasis-open.org/committees/entity/release/1.0/catalog.dtd">
<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
  <group xml:base="local/">
    <public publicId="-//X//By  Public//EN" uri="public.ent"/>
    <system systemId="http://h/by-system.ent" uri="system.ent"/>
    <rewriteSystem systemIdStartString="http://h/deep/" rewritePrefix="deep/"/>
    <uri name="http://h/types" uri="types.xsd"/>
  </group>
  <system systemId="http://h/gone.ent" uri="gone.ent"/>
</catalog>"""


def test_catalog_for_a_dtd(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_dtd="""<!ENTITY % p PUBLIC "-//X//By Public//EN" "http://h/p.ent"> %p;
                    <!ENTITY % s SYSTEM "http://h/by-system.ent"> %s;
                    <!ENTITY % d SYSTEM "http://h/deep/er/d.ent"> %d; <!ELEMENT r (p, s, d)>""",
        catalog_xml=CATALOG,
        local__public_ent="<!ELEMENT p EMPTY>",
        local__system_ent="<!ELEMENT s EMPTY>",
        local__deep__er__d_ent="<!ELEMENT d EMPTY>",
    )
    schema = Schema.load(path)
    assert edges(schema) == {"r": {"p", "s", "d"}, "p": set(), "s": set(), "d": set()}
    assert schema.notes == (), "the catalog is the user's own word"


def test_catalog_for_an_xsd(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd('<xs:include schemaLocation="http://h/types"/>'),
        catalog_xml=CATALOG,
        local__types_xsd=xsd('<xs:element name="a" type="xs:string"/>'),
    )
    assert roots(Schema.load(path)) == ["{urn:t}a"]


def test_catalog_that_names_a_missing_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_dtd='<!ENTITY % g SYSTEM "http://h/gone.ent"> %g;',
        catalog_xml=CATALOG,
    )
    error = failure(path)
    assert "catalog.xml names" in error.reason
    assert "gone.ent" in error.reason


@pytest.mark.parametrize("text", ["<catalog><product/></catalog>", "<broken"])
def test_other_files_called_catalog(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, main_dtd="<!ELEMENT a EMPTY>", catalog_xml=text)
    assert roots(Schema.load(path)) == ["a"]
