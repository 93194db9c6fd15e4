"""Loading a schema: which file is what, errors that say where, and digests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from extract.schema.model import Schema
from tests.support.schema_facts import failure, roots, write, xsd

XS = "http://www.w3.org/2001/XMLSchema"


# What kind of file it is


def test_kind_by_suffix_and_by_content(tmp_path: Path) -> None:
    dtd, schema = "<!-- c --> <!ELEMENT a EMPTY>", xsd('<xs:element name="a"/>')
    for name, text, kind in [
        ("a.dtd", dtd, "dtd"),
        ("a.DTD", dtd, "dtd"),
        ("a.mod", '<?xml encoding="UTF-8"?>' + dtd, "dtd"),
        ("a.ent", '<!ENTITY % x "(b)"> <!ELEMENT a %x;>', "dtd"),
        ("a.xsd", schema, "xsd"),
        ("a.xml", schema, "xsd"),
        ("a", "<?xml version='1.0'?>\n<!-- c -->\n" + schema, "xsd"),
    ]:
        path = tmp_path / name
        path.write_text(text)
        assert Schema.load(path).kind == kind, name


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty.dtd", b"", "is empty"),
        ("blank.xsd", b" \n ", "is empty"),
        ("document.dtd", b"<a><b/></a>", "is an XML document, not a DTD"),
        ("doctype.dtd", b"<!DOCTYPE a [<!ELEMENT a EMPTY>]><a/>", "not a DTD"),
        ("document.xsd", b"<a><b/></a>", f"its root is a, not {{{XS}}}schema"),
        ("document.xml", b"<?xml version='1.0'?><a/>", "not an XML Schema"),
        ("text.txt", b"just some text", "neither a DTD nor an XSD"),
        ("junk", bytes(range(256)), "no text file"),
        ("junk.dtd", bytes(range(1, 256)), "not a DTD that can be read"),
        ("junk.xsd", bytes(range(1, 256)), "junk.xsd:1"),
        ("nul.dtd", b"<!ELEMENT a (b)>\0<!ELEMENT b (c)>", "NUL"),
        ("comments.dtd", b"<!-- nothing else -->", "declares no element"),
        ("grammar.rng", b"<grammar/>", "RELAX NG"),
        ("cut.xsd", f'<xs:schema xmlns:xs="{XS}">'.encode(), "cut.xsd:1"),
    ],
)
def test_files_that_are_no_schema(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    error = failure(path)
    assert expected in str(error)
    assert error.file == str(path)


def test_missing_file_and_directory(tmp_path: Path) -> None:
    assert "no such schema file" in str(failure(tmp_path / "none.dtd"))
    assert "is a directory" in str(failure(tmp_path))


def test_special_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.dtd")
    assert "not a regular file" in str(failure(tmp_path / "pipe.dtd"))


def test_errors_name_the_file_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, sub__main_dtd='<!ENTITY % m SYSTEM "mod/m.ent"> %m;', sub__mod__m_ent="<!X>")
    monkeypatch.chdir(tmp_path)
    assert failure(Path("sub/main.dtd")).file == "sub/mod/m.ent"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.dtd").write_text("<!ELEMENT é EMPTY>", encoding=encoding)
    assert roots(Schema.load(tmp_path / "a.dtd")) == ["é"]
    (tmp_path / "b.dtd").write_bytes(
        '<?xml version="1.0" encoding="ISO-8859-1"?><!ELEMENT é EMPTY>'.encode("latin-1")
    )
    assert roots(Schema.load(tmp_path / "b.dtd")) == ["é"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('<xs:element name="a" type="t:Lost"/>', "Lost"),
        ('<xs:element name="a" typo="xs:string"/>', "typo"),
        ('<xs:element ref="t:a"/>', "name"),
        ('<xs:element name="a"/>\n<xs:element name="a"/>', "a"),
        ('<xs:element name="a" substitutionGroup="t:b"/>', "t:b"),
    ],
)
def test_broken_schemas_say_where(tmp_path: Path, body: str, reason: str) -> None:
    part = write(
        tmp_path,
        part_xsd=xsd("\n\n" + body),
        main_xsd=xsd('<xs:include schemaLocation="part.xsd"/>'),
    )
    error = failure(tmp_path / "main.xsd")
    assert reason in error.reason
    assert error.file == str(part)
    assert error.line in (4, 5)


# The digest


def test_digest_notices_a_change_in_any_part(tmp_path: Path) -> None:
    def digest(module: str) -> str:
        path = write(
            tmp_path, main_dtd='<!ENTITY % m SYSTEM "m.ent"> %m; <!ELEMENT a (b)>', m_ent=module
        )
        return Schema.load(path, "a").digest

    before = digest("<!ELEMENT b EMPTY>")
    assert len(before) == 64
    assert digest("<!ELEMENT b EMPTY><!-- more -->") != before
    assert digest("<!ELEMENT b EMPTY>") == before


def test_digest_does_not_depend_on_the_place(tmp_path: Path) -> None:
    parts = {
        "main_xsd": xsd('<xs:include schemaLocation="b.xsd"/>'),
        "b_xsd": xsd('<xs:element name="b"/>'),
    }
    one = Schema.load(write(tmp_path / "one", **parts))
    two = Schema.load(write(tmp_path / "two", **parts))
    assert one.digest == two.digest
    assert one.declarations == two.declarations
