"""One table of prefixes for queries with bindings of their own."""

from __future__ import annotations

from extract.transtool.prefixes import Prefixes
from extract.xpath.parser import parse


def bound(table: Prefixes, xpath: str, **namespaces: str) -> str:
    return str(table.bind(parse(xpath), namespaces))


def test_queries_with_other_bindings_share_names_only_where_these_agree() -> None:
    table = Prefixes({"po": "urn:orders"})
    assert bound(table, "/a:x[b:y]/a:x", a="urn:orders", b="urn:b") == "/po:x[b:y]/po:x"
    assert bound(table, "/a:x[b:y]", a="urn:orders", b="urn:b", c="urn:c") == "/po:x[b:y]"
    # Another namespace for a prefix that is known, and the same path as before.
    assert bound(table, "/a:x[b:y]", a="urn:b", b="urn:orders") == "/b:x[po:y]"
    assert bound(table, "/a:x[b:y]/a:x", a="urn:orders", b="urn:b") == "/po:x[b:y]/po:x"
    assert bound(table, "/po:x[b:y]", po="urn:orders", b="urn:b") == "/po:x[b:y]"
    assert bound(table, "/a:x", a="urn:orders2") == "/a:x"
    assert table.table == {"po": "urn:orders", "b": "urn:b", "a": "urn:orders2"}


def test_the_prefix_of_a_filter_enters_the_table_before_that_of_its_path() -> None:
    table = Prefixes()
    assert bound(table, "/p:a/q:b[r:c]", p="urn:1", q="urn:2", r="urn:3") == "/p:a/q:b[r:c]"
    assert list(table.table) == ["r", "p", "q"]


def test_the_prefix_xml_stays() -> None:
    table = Prefixes()
    assert bound(table, "/p:a/@xml:lang", p="urn:1") == "/p:a/@xml:lang"
    xml = "http://www.w3.org/XML/1998/namespace"
    assert bound(table, "/p:a/@y:lang", p="urn:1", y=xml) == "/p:a/@xml:lang"
    assert bound(table, "/p:a/@xml:lang", p="urn:1", xml=xml) == "/p:a/@xml:lang"
