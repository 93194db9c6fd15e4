"""Comments and processing instructions in a DOCTYPE are descendants of the document node.

That is so for libxml2 alone, and only by some axes; such a document is evaluated whole.
"""

from __future__ import annotations

import pytest
from lxml import etree

import extract
from extract.xpath.functions import Type
from extract.xpath.parser import parse
from extract.xpath.types import type_of

DOCUMENTS = (
    b"<!DOCTYPE a [<!--x-->]><a/>",
    b"<!DOCTYPE a [<?p q?>]><a><b/></a>",
    b"<!--y--><!DOCTYPE a [<!--x-->]><a><!--z--></a>",
    b"<!DOCTYPE a [<!ELEMENT a ANY><!--x--><?p q?>]><a/>",
)
QUERIES = (
    *("//comment()", "/descendant-or-self::comment()", "/comment()", "//processing-instruction()"),
    *("//node()", "/descendant-or-self::node()", "/node()", "//a/preceding::node()", "//b"),
    *("count(//node()) = 3", "boolean(/descendant-or-self::comment())"),
)


def nodes(xpath: str, document: bytes) -> int:
    found = etree.ElementTree(etree.fromstring(document)).xpath(xpath)
    return len(found) if isinstance(found, list) else int(found)


@pytest.mark.parametrize("matcher", ["auto", "push", "columnar", "lxml"])
@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
def test_answers_are_those_of_libxml2(select: str, matcher: str) -> None:
    queries = {xpath: xpath for xpath in QUERIES}
    if select == "nodes":  # there a boolean has a row in any case
        queries = {one: one for one in queries if type_of(parse(one)) is Type.NODES}
    scheme = extract.prepare(extract.Schema.none(), extract.Subscriptions.of(queries), chunks=1)
    ready = extract.Filter(scheme, select, matcher)  # type: ignore[arg-type]
    for document in DOCUMENTS:
        found = dict.fromkeys(queries, 0)
        for row in ready.table([("d", document)]).to_pylist():
            found[row["query"]] += row.get("count", 1)
        wanted = {xpath: nodes(xpath, document) for xpath in queries}
        if select == "doc":
            wanted = {xpath: min(1, count) for xpath, count in wanted.items()}
        assert found == wanted
        assert ready.rejected.num_rows == 0
