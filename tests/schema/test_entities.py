"""Entities in schemas: bombs and external entities are refused, internal ones are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.schema_facts import failure, load_xsd, roots, write, xsd


def nested_entities(kind: str, unit: str) -> str:
    """Nine levels, each ten times the one before."""
    lines = [f'<!ENTITY {kind} e0 "{unit}">']
    mark = "%" if kind else "&"
    lines += [f'<!ENTITY {kind} e{i} "{f"{mark}e{i - 1};" * 10}">' for i in range(1, 10)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "dtd",
    [
        nested_entities("%", "<!--x-->") + "%e9; <!ELEMENT a EMPTY>",
        nested_entities("", "x") + '<!ELEMENT a EMPTY> <!ATTLIST a b CDATA "&e9;">',
        f'<!ENTITY % e "{"<!--x-->" * 20_000}">{"%e;" * 2_000}<!ELEMENT a EMPTY>',
        f"<!ELEMENT a {'(' * 5_000}b{')' * 5_000}>",
        '<!ENTITY % a SYSTEM "main.dtd"> %a; <!ELEMENT a EMPTY>',
        '<!ENTITY a "&b;"> <!ENTITY b "&a;"> <!ELEMENT r EMPTY> <!ATTLIST r x CDATA "&a;">',
    ],
    ids=["parameter", "general", "quadratic", "nesting", "file loop", "loop"],
)
def test_bombs_in_a_dtd(tmp_path: Path, dtd: str) -> None:
    assert failure(write(tmp_path, main_dtd=dtd)).line > 0


def test_bombs_and_external_entities_in_an_xsd(tmp_path: Path, server: str) -> None:
    secret = write(tmp_path, secret_txt="secret")
    for doctype, use in [
        (nested_entities("", "x"), "&e9;"),
        (f'<!ENTITY e SYSTEM "{secret.as_uri()}">', "&e;"),
        (f'<!ENTITY e SYSTEM "http://{server}/e">', "&e;"),
        (f'<!ENTITY % p SYSTEM "http://{server}/e"> %p;', ""),
    ]:
        text = xsd(f'<xs:element name="a" default="{use}"/>', prolog=f"<!DOCTYPE x [{doctype}]>")
        error = failure(write(tmp_path, main_xsd=text))
        assert error.line > 0
        assert "secret" not in error.reason


def test_internal_entities_in_an_xsd(tmp_path: Path, server: str) -> None:
    """The XML Signature schema has these."""
    prolog = f'<!DOCTYPE xs:schema PUBLIC "x" "http://{server}/x.dtd" [<!ENTITY n "a">]>'
    schema = load_xsd(tmp_path, '<xs:element name="&n;"/>', prolog=prolog)
    assert roots(schema) == ["{urn:t}a"]
