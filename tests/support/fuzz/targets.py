"""What is fuzzed beside the kernel: each takes bytes, and raises if something is wrong.

Nothing may end in an error that is not ours; and where there is somebody to ask, the answer must be
his.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from lxml import etree

import extract
from extract.errors import ExtractError, QuerySyntaxError
from extract.filtertool.matchers.cost_bound import nodes_allowed
from extract.limits import Limits
from extract.scenarios import scenario
from extract.transtool.normalise import Normaliser
from extract.transtool.rules.make_absolute import make_absolute
from extract.xpath.check import parse_checked
from extract.xpath.parser import parse
from tests.support.fuzz.compare import difference

_PLACE = Path(tempfile.gettempdir()) / f"extract-fuzz-{os.getpid()}"
_SCHEMA = scenario("university").schema()
_TREE = etree.fromstring(scenario("university").documents(1, 2_000)[0]).getroottree()
_SIZE = len(list(_TREE.iter()))
_NORMALISER = Normaliser(_SCHEMA)
_SMALL = Limits(xpath_chars=2_000)


def xpath(data: bytes) -> None:
    """The front end: what parses can be written and parsed again, and its normal form is equal."""
    text = data.decode("utf-8", "replace")
    try:
        expr = parse_checked(text, {}, _SMALL)
    except QuerySyntaxError:
        return
    again = parse(str(expr))
    if again != expr:
        raise AssertionError(f"{text!r} is written as {expr}, and read as {again}")
    absolute = str(make_absolute(expr))
    form = _NORMALISER.normalise(expr)
    if "namespace::" in absolute or nodes_allowed(absolute, 1e7) < _SIZE:
        return
    try:
        expected = etree.XPath(absolute)(_TREE)
    except etree.XPathError:  # a type error that only libxml2's evaluation notices
        return
    if not isinstance(expected, list):
        return
    found = etree.XPath(form.xpath)(_TREE) if form.branches else []
    if list(map(_key, found)) != list(map(_key, expected)):
        raise AssertionError(f"{text!r} is not {form.xpath!r}: {len(expected)}, {len(found)} nodes")


def _key(node: object) -> object:
    if isinstance(node, str):
        owner = node.getparent()  # type: ignore[attr-defined] # lxml's strings know theirs
        return (_TREE.getpath(owner), getattr(node, "attrname", None), str(node))
    return node


def _schema(data: bytes, suffix: str) -> None:
    _PLACE.mkdir(exist_ok=True)
    path = _PLACE / f"schema.{suffix}"
    path.write_bytes(data)
    with contextlib.suppress(ExtractError):
        extract.Schema.load(path)


def dtd(data: bytes) -> None:
    """The loader of DTDs."""
    _schema(data, "dtd")


def xsd(data: bytes) -> None:
    """The loader of XSDs."""
    _schema(data, "xsd")


def scheme(data: bytes) -> None:
    """The loader of schemes; one that it takes can be written, and read again."""
    _PLACE.mkdir(exist_ok=True)
    path = _PLACE / "scheme.json"
    path.write_bytes(data)
    try:
        loaded = extract.Scheme.load(path)
    except ExtractError:
        return
    loaded.save(path)
    if list(extract.Scheme.load(path).lines()) != list(loaded.lines()):
        raise AssertionError("a scheme is another when it was written and read again")


def document(data: bytes) -> None:
    """Both scanners against libxml2's verdict."""
    what = difference(data)
    if what:
        raise AssertionError(f"{data!r}: {what}")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "xpath": xpath,
    "dtd": dtd,
    "xsd": xsd,
    "scheme": scheme,
    "document": document,
}


@cache
def seeds(target: str) -> list[bytes]:
    """Small inputs to begin with."""
    university = scenario("university")
    if target == "xpath":
        return [one.xpath.encode() for one in university.queries(60)] + [
            b"//student[position() = last()]/name/text()",
            b"/db/*[@id][2] | //name[. = 'x' or contains(., 'a')]",
            b"count(//name) + -1 * 2 div 3",
            b"//name/ancestor-or-self::*[not(self::db)]/../@*",
            b"id('a')/following-sibling::node()[string-length(name()) > 3]",
        ]
    if target == "dtd":
        return [
            (university.folder / university.generator.SCHEMA).read_bytes(),
            b'<!ENTITY % p "(#PCDATA|b)*"><!ELEMENT a %p;><!ATTLIST a c CDATA "x" d ID #IMPLIED>',
        ]
    if target == "xsd":
        return [
            b'<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema">'
            b'<s:element name="a"><s:complexType>'
            b'<s:choice maxOccurs="3"><s:element ref="a"/><s:any processContents="lax"/></s:choice>'
            b'<s:attribute name="b" type="s:int"/></s:complexType></s:element></s:schema>'
        ]
    if target == "scheme":
        made = extract.prepare(_SCHEMA, university.queries(5), 2)
        text = "".join(made.lines())
        return [text.encode(), json.dumps(json.loads(text)).encode()]
    return [b"<a b='c'>&lt;<![CDATA[x]]><!--y--><?z?></a>", *university.documents(1, 1_000)]
