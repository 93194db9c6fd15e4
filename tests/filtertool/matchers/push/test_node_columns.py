"""Nodes that the push engine describes: the same as libxml2's trees and the bytes give."""

from __future__ import annotations

import pickle
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import extract
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.engine_answers import EngineNodes
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.results.node_batches import column_arrays
from extract.filtertool.results.node_columns import Described, NodeRange
from extract.filtertool.results.outcome import DocumentOutcome
from extract.limits import Limits
from extract.schema.model import Attribute, Declaration, Schema
from extract.xpath.functions import Type

pytestmark = pytest.mark.skipif(not native_available(), reason="the engine is not compiled")

QUERIES = {
    "elements": "//b",
    "all": "//*",
    "attributes": "//@*",
    "texts": "//text()",
    "inner": "/a/b[@x]/c",
    "yes": "boolean(//b)",
    "no": "not(//b)",
    "number": "count(//b)",
    "open": "//b[normalize-space(.) = 'u']",
    "open and true": "string-length(normalize-space(/a)) > 2",
}
TEXTS = ("", "u", " u ", "&lt;&#65;", "<![CDATA[<&]]>", "x<!-- y -->z", "\r\n\t", "ü€😀", "<?p q?>")
TAGS = ("<b>", "<b x='1'>", '<b  x = "a&amp;b\tc" y=\'"\' >', "<c xmlns:n='urn:n' n:k='ü'>", "<d>")


def random_document(random: Random) -> bytes:
    parts = ["<a z='0'>"]
    for _ in range(random.randrange(1, 7)):
        tag, inner = random.choice(TAGS), random.choice(TAGS)
        text = random.choice(TEXTS)
        parts.append(f"{tag}{text}{inner}{random.choice(TEXTS)}</{inner[1]}>{text}</{tag[1]}>")
        parts.append(random.choice(TEXTS))
    return "".join([*parts, "<c/></a>"]).encode()


def scheme_of(schema: Schema | None = None) -> extract.Scheme:
    return extract.prepare(schema, extract.Subscriptions.of(QUERIES))


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_those_of_libxml2(seed: int) -> None:
    random, scheme = Random(seed), scheme_of()
    documents = [(str(number), random_document(random)) for number in range(12)]
    ready = extract.Filter(scheme, "nodes")
    wanted = []
    for name, document in documents:
        rows = list(extract.match(scheme, document, name=name, matcher="lxml"))
        assert list(extract.match(scheme, document, name=name)) == rows
        columns = ready.table([(name, document)]).to_pylist()
        assert [extract.Match(**row) for row in columns] == rows
        wanted += rows
    assert [extract.Match(**row) for row in ready.table(documents).to_pylist()] == wanted
    assert ready.table(documents).schema == ready.table(documents[:1]).schema


def test_documents_that_break_the_schema_are_described_too() -> None:
    a, b = Declaration(0, "a", children=(1,)), Declaration(1, "b", attributes=(Attribute("x"),))
    scheme = scheme_of(Schema("memory", "dtd", (a, b), roots=(0,)))
    ready = extract.Filter(scheme, "nodes")
    documents = [
        b"<a><b x='1'>u</b></a>",
        b"<a><b x='1'>u<c>&amp;</c></b><zzz y='2'/></a>",
        b"<a><b q='1'>u</b></a>",
        b"<z><b/></z>",
    ]
    named = [(str(number), document) for number, document in enumerate(documents)]
    rows = [extract.Match(**row) for row in ready.table(named).to_pylist()]
    lxml = [extract.match(scheme, d, name=n, matcher="lxml") for n, d in named]
    assert rows == [row for own in lxml for row in own]
    figures = ready.figures()
    assert figures["push_documents"] >= 4
    assert figures["push_refused_documents"] == 0


def test_the_reason_is_that_of_the_scan() -> None:
    schema = Schema("memory", "dtd", (Declaration(0, "a"),), roots=(0,))
    scheme = scheme_of(schema)
    for document in (b"<a><b/></a>", b"<a x='1'/>", b"<c/>"):
        with pytest.raises(extract.DocumentError) as error:
            list(extract.match(scheme, document, on_nonconforming="reject"))
        ready = Job(scheme, load_matcher(), Options("nodes")).filter()
        (done,) = ready.process([("x", document)])
        assert isinstance(done, DocumentOutcome)
        assert done.fate == "nonconforming"
        assert done.notes[0] in str(error.value)


@pytest.mark.parametrize("most", [0, 3, 8, 30])
def test_long_values_are_left_out(most: int) -> None:
    limits, scheme = Limits(value_bytes=most), scheme_of()
    document = b"<a><b x='12345'>uvw</b><b>x</b></a>"
    rows = list(extract.match(scheme, document, limits=limits))
    assert rows == list(extract.match(scheme, document, limits=limits, matcher="lxml"))
    assert any(row.value is None for row in rows)


def described(*documents: bytes) -> EngineNodes:
    queries = extract.Subscriptions.of({"0": "//b", "1": "//b/@x"})
    engine = PushEngine(Schema.none(), {}, "nodes")
    for number, one in enumerate(queries):
        question = Question((one.xpath,), Type.NODES, one.xpath, None)
        assert engine.takes(number, question)
        engine.add(number, question, np.array([number], np.int32))
    nodes = engine.match_all(documents).own.nodes
    assert nodes is not None
    return nodes


def test_columns_of_a_batch() -> None:
    found = described(b"<a><b/><b x='1'>y</b></a>", b"<a/>", b"<b/>", b"<a")
    assert found.described == [True, True, True, False]
    assert found.row_ends == [3, 3, 4, 4]
    assert found.query.tolist() == [0, 0, 1, 0]
    nodes = found.nodes
    assert nodes.lists(0, 4)[4] == ["/a[1]/b[1]", "/a[1]/b[2]", "/a[1]/b[2]/@x", "/b[1]"]
    chosen = nodes.take(np.array([3, 1, 1], np.int32))
    assert chosen.lists(0, 3) == tuple(
        [[column[n] for n in (3, 1, 1)] for column in nodes.lists(0, 4)]
    )
    assert [one.to_pylist() for one in column_arrays(chosen)] == list(chosen.lists(0, 3))
    assert nodes.taken_bytes(np.array([3], np.int32)) == len("elementb/b[1]<b/>")
    for places in ([4], [-1]):
        with pytest.raises(IndexError):
            nodes.take(np.array(places, np.int32))
    with pytest.raises(IndexError):
        nodes.lists(2, 5)


def test_a_range_of_columns_is_a_table_and_can_be_pickled() -> None:
    found = described(b"<a><b/><b x='1'>y</b></a>", b"<b/>")
    part = Described([NodeRange(found.nodes, 3, 4)])
    assert part.lists().path == ["/b[1]"]
    assert part.table.column("path").to_pylist() == ["/b[1]"]
    assert pickle.loads(pickle.dumps(part)).lists() == part.lists()
    both = Described.together([part, Described([NodeRange(found.nodes, 0, 1)])])
    assert len(both) == 2
    assert both.lists().path == both.table.column("path").to_pylist() == ["/b[1]", "/a[1]/b[1]"]
    assert isinstance(both.table, pa.Table)
