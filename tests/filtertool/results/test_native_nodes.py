"""Nodes described in C are described as in Python; rows without a merge are those of the merger."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

import extract
from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.job import Job
from extract.filtertool.matchers.node_refs import NodeRefs
from extract.filtertool.matchers.protocol import Nodes
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.other_filters import OtherFilters
from extract.filtertool.results import describe_nodes, direct_rows
from extract.filtertool.results.describe_nodes import NodeDescriber
from extract.filtertool.results.direct_rows import direct_findings
from extract.filtertool.results.merge import Answered, Merger
from extract.filtertool.results.native_nodes import ENVIRONMENT, native_nodes
from extract.filtertool.results.node_columns import Described, DescribedLists
from extract.filtertool.results.owners import Owners
from extract.filtertool.scheme_view import SchemeView
from extract.limits import Limits
from extract.markup.node_kinds import NodeKind

pytestmark = pytest.mark.skipif(native_nodes() is None, reason="the parts in C are not built")

DOCUMENT = """<?xml version='1.0'?>
<!-- before --><r a = "1" xmlns:p='urn:p'
  p:b='x &lt; y' c="two
lines"><a>one</a><p:b d='&#228;' e=''>t<![CDATA[<u>]]>w<!--c--><?pi  some value?>x&amp;y
</p:b><é ü="ö">ß<a/>ß</é><a>three</a><long>llllllllllllllllllllllllllll</long>
<empty  />tail</r><?after?>""".encode()


def table_of(document: bytes) -> NodeTable:
    scheme = extract.prepare(extract.Schema.none(), extract.Subscriptions.of({"x": "//a"}))
    view = SchemeView.of(scheme)
    others = OtherFilters(view, load_matcher(), Options("nodes"), np.empty(0, np.int32))
    return others.cutter.table_of(document)


def every_node(table: NodeTable) -> list[tuple[int, int, int]]:
    refs: list[tuple[int, int, int]] = [(NodeKind.ELEMENT, n, 0) for n in range(len(table))]
    leaves = table.leaves
    for parent, kind, number in zip(leaves.parent, leaves.kind, leaves.number, strict=True):
        node = NodeKind.TEXT if kind < NodeKind.COMMENT else NodeKind(kind)
        refs.append((node, int(parent), int(number)))
    for row, count in enumerate([4, 0, 2, 1]):
        refs += [(NodeKind.ATTRIBUTE, row, number) for number in range(count)]
    return list(dict.fromkeys(refs))


def described(table: NodeTable, refs: Sequence[tuple[int, int, int]], most: int | None) -> object:
    into = Described()
    NodeDescriber(table, most).describe(NodeRefs.of(refs), into)
    return into.lists()


@pytest.mark.parametrize("most", [None, 30, 5, 0])
def test_descriptions_are_those_of_python(
    most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(DOCUMENT)
    refs = every_node(table)
    random.Random(1).shuffle(refs)
    native = described(table, refs, most)
    assert isinstance(native, DescribedLists)
    assert len(native.node) == len(refs) > 25
    assert {"element", "attribute", "text", "comment", "pi"} == set(native.node)
    monkeypatch.setenv(ENVIRONMENT, "off")
    assert native_nodes() is None
    assert described(table, refs, most) == native


def test_a_text_that_is_not_there_is_an_error() -> None:
    table = table_of(DOCUMENT)
    for kind in (NodeKind.TEXT, NodeKind.COMMENT):
        with pytest.raises(KeyError):
            described(table, [(kind, 1, 7)], None)


def test_declared_attributes_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    document = b"<!DOCTYPE r [<!ATTLIST r a NMTOKENS #IMPLIED>]><r a=' x  y '/>"
    queries = extract.Subscriptions.of({"1": "/r/@a", "2": "/r"})
    scheme = extract.prepare(extract.Schema.none(), queries)
    rows = list(extract.match(scheme, document))
    assert rows[0].value == "x y"
    monkeypatch.setattr(describe_nodes, "native_nodes", lambda: None)
    assert list(extract.match(scheme, document)) == rows


@pytest.mark.parametrize("many", [0, 500])
def test_rows_are_those_of_the_merger(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_rows, "MANY", many)
    table = table_of(DOCUMENT)
    elements = [(NodeKind.ELEMENT.value, n, 0) for n in range(len(table))]
    chosen = [(0, elements[1]), (0, elements[3]), (2, elements[3]), (5, elements[0])]
    query = np.array([number for number, _ in chosen], np.int32)
    refs = NodeRefs.of([ref for _, ref in chosen])
    values: dict[int, float | str | bool] = {1: True, 3: "x", 4: 2.0}
    direct = direct_findings(query, refs, values, NodeDescriber(table), None)
    merger = Merger("nodes")
    nodes = Nodes(np.zeros(len(query), np.int32), query, refs)
    merger.nodes(Answered(table, nodes, NodeDescriber(table)))
    for number, value in values.items():
        merger.value(number, value)
    ids = "abcdef"
    wanted = list(merger.findings(Owners.themselves(6)).matches("d", ids))
    assert list(direct.matches("d", ids)) == wanted
    assert [row.ordinal for row in wanted] == [0, 1, 0, 0, 0, 0, 0]


def test_queries_that_select_too_much_fail_alone() -> None:
    queries = extract.Subscriptions.of({"many": "//a", "one": "/r/long"})
    scheme = extract.prepare(extract.Schema.none(), queries)
    options = Options("nodes", limits=Limits(query_rows=2))
    (done,) = Job(scheme, load_matcher(), options).filter().process([("d", DOCUMENT)])
    assert [one.query for one in done.rejections] == ["many"]
    assert len(done.findings) == 1  # type: ignore[union-attr]
