"""Normal forms of queries over small schemas, for tests of TRANSTOOL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from extract.schema.conformance import first_violation
from extract.schema.model import Schema
from extract.transtool import Expansion, NormalForm, Normaliser
from extract.xpath.check import parse_checked
from tests.support.equivalence import canonical, compare
from tests.support.generate import oracle
from tests.support.generate.schemas import GeneratedSchema
from tests.support.paths import ROOT

XSI = "http://www.w3.org/2001/XMLSchema-instance"
ORDERS = {"o": "urn:example:orders", "p": "urn:example:party", "x": "urn:x", "xsi": XSI}


@cache
def load(file: str, root: str | None = None) -> Schema:
    return Schema.load(ROOT / "schemas" / file, root=root)


@cache
def dtd(text: str, root: str = "a") -> Schema:
    return GeneratedSchema("dtd", text, root).load()


@cache
def xsd(content: str, root: str, version: str = "1.0") -> Schema:
    versioning = "http://www.w3.org/2007/XMLSchema-versioning"
    head = f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:vc="{versioning}"'
    text = f'{head} vc:minVersion="{version}">{content}</xs:schema>'
    return GeneratedSchema("xsd", text, root).load()


def figure4() -> Schema:
    return load("figure4.dtd")


def orders() -> Schema:
    return load("orders.xsd", "po:orders")


def normal(
    schema: Schema,
    xpath: str,
    namespaces: Mapping[str, str] | None = None,
    limits: Expansion | None = None,
) -> NormalForm:
    """The normal form of one query."""
    normaliser = Normaliser(schema, limits=limits)
    expr = parse_checked(xpath, namespaces or {})
    return normaliser.normalise(normaliser.prefixes.bind(expr, namespaces or {}))


def branches(
    schema: Schema,
    xpath: str,
    namespaces: Mapping[str, str] | None = None,
    limits: Expansion | None = None,
) -> set[str]:
    return {part.xpath for part in normal(schema, xpath, namespaces, limits).branches}


def assert_same(
    schema: Schema, xpath: str, document: str, namespaces: Mapping[str, str] | None = None
) -> oracle.Answer:
    """The answer to a query on a conforming document, which its normal form gives, too."""
    tree = oracle.parse(document.encode())
    assert first_violation(schema, tree.tree) is None
    compare(Normaliser(schema), [tree], xpath, namespaces or {})
    return canonical(oracle.answer(tree, xpath, namespaces))


def layered(layers: int, width: int) -> Schema:
    """A DTD with ``width`` to the power of ``layers`` paths from ``a`` to ``p``."""
    names = [[f"x{i}.{j}" for j in range(width)] for i in range(layers)]
    above = ["a", *(name for layer in names for name in layer)]
    below = [names[0], *(kids for kids in [*names[1:], ["p"]] for _ in range(width))]
    content = "".join(
        f"<!ELEMENT {name} ({'|'.join(kids)})*>" for name, kids in zip(above, below, strict=True)
    )
    return dtd(f"{content}<!ELEMENT p (#PCDATA)>")
