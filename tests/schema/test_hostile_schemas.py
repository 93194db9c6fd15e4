"""Hostile schemas: each loads or is refused, in bounded time and memory."""

from __future__ import annotations

import multiprocessing
import resource
from pathlib import Path

import pytest

import extract
from extract.errors import ExtractError
from tests.support.hostile import laughs

MEMORY = 1 << 31  # bytes
SECONDS = 60  # of processor time; each takes less than ten

XSD = '<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema">{}</s:schema>'
OPEN = '<s:element name="a"><s:complexType>{}</s:complexType></s:element>'


def parameters(levels: int) -> str:
    """Parameter entities that stand for ten times the one before."""
    declared = ['<!ENTITY % p0 "a">']
    for n in range(1, levels):
        declared.append(f'<!ENTITY % p{n} "{"|".join([f"%p{n - 1};"] * 10)}">')
    return "".join(declared)


def nested(depth: int) -> str:
    inner = '<s:element name="b"/>'
    return XSD.format(OPEN.format("<s:sequence>" * depth + inner + "</s:sequence>" * depth))


def elements(count: int, kind: str) -> str:
    inner = "".join([f'<s:element name="b{n}" minOccurs="0"/>' for n in range(count)])
    return XSD.format(OPEN.format(f"<s:{kind}>{inner}</s:{kind}>"))


def derived(depth: int) -> str:
    step = (
        '<s:complexType name="t{}"><s:complexContent><s:extension base="t{}"/></s:complexContent>'
    )
    types = "".join([f"{step.format(n, n - 1)}</s:complexType>" for n in range(1, depth)])
    return XSD.format(f'<s:element name="a" type="t0"/><s:complexType name="t0"/>{types}')


DTDS: dict[str, tuple[str, str]] = {
    "laughs in a default": (
        f'<!ELEMENT a EMPTY>{laughs(10, "ha")}<!ATTLIST a b CDATA "&e9;">',
        "amplification",
    ),
    "laughs of parameter entities": (f"{parameters(10)}<!ELEMENT a (%p9;)>", "amplification"),
    "a loop": ('<!ENTITY % p "&#37;p;">%p;<!ELEMENT a EMPTY>', "loop"),
    "itself": ('<!ENTITY % p SYSTEM "self.dtd">%p;<!ELEMENT a EMPTY>', "loop"),
    "a device": ('<!ENTITY % p SYSTEM "/dev/zero">%p;<!ELEMENT a EMPTY>', "/dev/zero"),
    "deep": (f"<!ELEMENT a {'(' * 20_000}b{')' * 20_000}>", "depth"),
    "wide": (f"<!ELEMENT a ({'|'.join([f'b{n}' for n in range(9_000)])})*>", ""),
    "everything in everything": (
        "<!ELEMENT a ANY>" + "".join([f"<!ELEMENT b{n} ANY>" for n in range(1_500)]),
        "more than 2,000,000 kinds of children",
    ),
    "many attributes": (
        "<!ELEMENT a EMPTY><!ATTLIST a "
        f"{' '.join([f'c{n} CDATA #IMPLIED' for n in range(20_000)])}>",
        "more than 5,000 attributes",
    ),
}
XSDS: dict[str, tuple[str, str]] = {
    "laughs": (
        f"<!DOCTYPE s [{laughs(10, 'ha')}]>" + XSD.format('<s:element name="a"/>&e9;'),
        "amplification",
    ),
    "another file": (
        '<!DOCTYPE s [<!ENTITY x SYSTEM "/etc/hostname">]>' + XSD.format("&x;"),
        "not defined",
    ),
    "the network": (
        XSD.format('<s:import namespace="u" schemaLocation="http://127.0.0.1:9/x.xsd"/>'),
        "nothing is ever read from",
    ),
    "itself": (XSD.format('<s:include schemaLocation="self.xsd"/><s:element name="a"/>'), ""),
    "itself, redefined": (
        XSD.format('<s:redefine schemaLocation="self.xsd"/><s:element name="a"/>'),
        "redefine",
    ),
    "substitutes in a circle": (
        XSD.format(
            '<s:element name="a" substitutionGroup="b"/><s:element name="b" substitutionGroup="a"/>'
        ),
        "ircular",
    ),
    "its own substitute": (XSD.format('<s:element name="a" substitutionGroup="a"/>'), "ircular"),
    "a group in itself": (
        XSD.format(
            OPEN.format('<s:group ref="g"/>')
            + '<s:group name="g"><s:sequence><s:group ref="g"/></s:sequence></s:group>'
        ),
        "ircular",
    ),
    "deep": (nested(200), "Recursion"),
    "deeper": (nested(3_000), "Excessive depth"),
    "many times": (
        XSD.format(
            OPEN.format('<s:sequence><s:element name="b" maxOccurs="999999999"/></s:sequence>')
        ),
        "",
    ),
    "a wide choice": (elements(3_001, "choice"), "more than 3,000 parts"),
    "a sequence of options": (elements(500, "sequence"), ""),
    "types of types": (derived(400), ""),
    "a slow pattern": (
        XSD.format(
            '<s:element name="a"><s:simpleType><s:restriction base="s:string">'
            '<s:pattern value="((a+)+)+b{1,1000}"/></s:restriction></s:simpleType></s:element>'
        ),
        "",
    ),
}


def load(path: str, said: multiprocessing.SimpleQueue[str]) -> None:
    """Loads a schema with little more memory and time, and tells what came of it."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])  # other tests came before
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    try:
        extract.Schema.load(path, root="a")
    except ExtractError as error:
        said.put(str(error))
    else:
        said.put("")


@pytest.mark.parametrize(
    ("suffix", "name"), [*[("dtd", one) for one in DTDS], *[("xsd", one) for one in XSDS]]
)
def test_it_loads_or_is_refused_within_bounds(suffix: str, name: str, tmp_path: Path) -> None:
    text, expected = (DTDS if suffix == "dtd" else XSDS)[name]
    path = tmp_path / f"self.{suffix}"
    path.write_text(text)
    context = multiprocessing.get_context("fork")
    said: multiprocessing.SimpleQueue[str] = context.SimpleQueue()
    child = context.Process(target=load, args=(str(path), said))
    child.start()
    child.join()
    assert child.exitcode == 0, "it took too much time or memory, or did not fail as it should"
    message = said.get()
    assert expected in message
    assert bool(message) == bool(expected)


def test_imports_in_a_circle(tmp_path: Path) -> None:
    head = '<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema" targetNamespace="{0}">'
    for here, there in (("x", "y"), ("y", "x")):
        (tmp_path / f"{here}.xsd").write_text(
            head.format(here)
            + f'<s:import namespace="{there}" schemaLocation="{there}.xsd"/>'
            + '<s:element name="a"/></s:schema>'
        )
    schema = extract.Schema.load(tmp_path / "x.xsd", root="p:a", namespaces={"p": "x"})
    assert schema.declarations
