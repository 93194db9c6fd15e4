"""Results of FLWR subscriptions: by the engine, on trees, and through every door."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from lxml import etree

import extract
from extract.cli import cli
from extract.filtertool import output_filter
from extract.filtertool.flwr.tree_outputs import TreeOutput
from extract.filtertool.flwr.writer import OutputError
from extract.filtertool.job import Job
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.flwr import parse_flwr
from extract.markup.lxml_parser import parse_tree
from tests.support.generate.flwr import random_document, random_flwr

QUERIES = {
    "xpath": "//b",
    "plain": 'for $a in //a where $a/b = "1" return <r id="{ $a/@id }">{ $a/b }</r>',
    "nested": "<o>{ for $a in //a where $a/b[. = $a/@id] return <r>{ $a/b }</r> }</o>",
    "ordered": "for $a in //a order by $a/@id descending return <r>{ string($a/@id) }</r>",
}
DOCUMENT = b'<d><a id="1"><b>1</b></a><a id="2"><b>1</b></a></d>'


def canonical(text: str) -> bytes:
    xml: bytes = etree.tostring(etree.fromstring(f"<w>{text}</w>"), method="c14n")
    return xml


def made_by(
    scheme: extract.Scheme, documents: list[bytes], matcher: str = "auto"
) -> dict[tuple[str, str], bytes | str]:
    """The results, and the reasons of rejections, by document and query."""
    ready = Job(scheme, load_matcher(matcher), Options("output")).filter()
    made: dict[tuple[str, str], bytes | str] = {}
    named = [(str(n), document) for n, document in enumerate(documents)]
    for done in document_outcomes(ready.process(named)):
        for n, text in done.findings.outputs():
            made[done.document, ready.ids[n]] = canonical(text)
        for one in done.rejections:
            made[done.document, one.query or ""] = one.reason
    return made


def on_trees(queries: dict[str, str], documents: list[bytes]) -> dict[tuple[str, str], bytes | str]:
    made: dict[tuple[str, str], bytes | str] = {}
    for n, document in enumerate(documents):
        for name, flwr in queries.items():
            query = parse_flwr(flwr, {"p": "urn:p"})
            try:
                text = TreeOutput(query).output(parse_tree(document))
            except OutputError as error:
                made[str(n), name] = error.reason
                continue
            if text is not None:
                made[str(n), name] = canonical(text)
    return made


@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_engine_makes_what_trees_make(seed: int, prefixed: bool) -> None:
    draw = Random(seed)
    documents = [random_document(draw, prefixed).encode() for _ in range(8)]
    queries = {str(n): random_flwr(draw, prefixed) for n in range(120)}
    subscriptions = extract.Subscriptions.of(queries, {"p": "urn:p"})
    scheme = extract.prepare(subscriptions)
    made = made_by(scheme, documents)
    assert made == on_trees(queries, documents)
    assert len(made) > 50


def test_the_engine_writes_most_results() -> None:
    scheme = extract.prepare(extract.Subscriptions.of(QUERIES))
    ready = output_filter.OutputFilter(scheme, load_matcher("auto"), Options("output"))
    ready.process([("d", DOCUMENT)])
    assert set(ready.written) == {scheme.directory.find("plain"), scheme.directory.find("ordered")}


def test_constructors_without_content_are_empty_elements() -> None:
    queries = {
        "alone": "for $a in //a return <r/>",
        "attribute": "<o>{ for $a in //a return <r>{ $a/@id }<s t='{ $a/b }'/></r> }</o>",
    }
    scheme = extract.prepare(extract.Subscriptions.of(queries))
    assert {query: text for _, query, text in extract.outputs(scheme, DOCUMENT)} == {
        "alone": "<r/><r/>",
        "attribute": '<o><r id="1"><s t="1"/></r><r id="2"><s t="1"/></r></o>',
    }


def test_every_door_has_the_same_rows(tmp_path: Path) -> None:
    scheme = extract.prepare(extract.Subscriptions.of(QUERIES))
    file, document = tmp_path / "scheme.json", tmp_path / "d.xml"
    scheme.save(file)
    document.write_bytes(DOCUMENT)
    rows = list(extract.outputs(extract.Scheme.load(file), str(document)))
    assert {query: output for _, query, output in rows} == {
        "plain": '<r id="1"><b>1</b></r><r id="2"><b>1</b></r>',
        "nested": "<o><r><b>1</b></r></o>",
        "ordered": "<r>2</r><r>1</r>",
    }
    shown = CliRunner().invoke(
        cli, ["match", "--scheme", str(file), str(document), "--select", "output"]
    )
    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [(one["document"], one["query"], one["output"]) for one in lines] == rows
    into = tmp_path / "results"
    args = ["run", "--scheme", str(file), str(document), "-o", str(into), "--engine", "local"]
    done = CliRunner().invoke(cli, [*args, "--select", "output", "--no-progress"])
    assert done.exit_code == 0, done.output
    table = pq.read_table(into / "matches")
    assert table.column_names == ["document", "query", "output"]
    assert [tuple(row.values()) for row in table.to_pylist()] == rows
    report = json.loads((into / "report.json").read_text())
    assert (report["matcher"], report["select"]) == ("push and lxml", "output")


def test_bindings_are_what_other_selections_see() -> None:
    scheme = extract.prepare(extract.Subscriptions.of(QUERIES))
    counts = {query: n for _, query, n in extract.count(scheme, DOCUMENT)}
    assert counts == {"xpath": 2, "plain": 2, "nested": 1, "ordered": 2}


def test_documents_that_the_engine_does_not_take_have_the_same_results() -> None:
    latin = b'<?xml version="1.0" encoding="iso-8859-1"?>' + DOCUMENT
    entity = b'<!DOCTYPE d [<!ENTITY e "1">]>' + DOCUMENT.replace(b"<b>1", b"<b>&e;")
    flwr = {name: text for name, text in QUERIES.items() if name != "xpath"}
    scheme = extract.prepare(extract.Subscriptions.of(flwr))
    documents = [DOCUMENT, latin, entity]
    made = made_by(scheme, documents)
    assert made == on_trees(flwr, documents)
    assert len(made) == 9


def test_a_broken_document_is_rejected() -> None:
    scheme = extract.prepare(extract.Subscriptions.of(QUERIES))
    assert list(made_by(scheme, [b"<d>"])) == [("0", "")]


def test_a_query_file_may_have_flwr(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    lines = [{"id": "f", "flwr": QUERIES["plain"], "owner": "me"}, {"id": "x", "xpath": "//b"}]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    scheme = extract.prepare(extract.Subscriptions.load(file))
    assert list(scheme.outputs) == ["f"]
    assert scheme.directory.metadata() == {"f": {"owner": "me"}}
    file.write_text('{"id": "f", "flwr": "//a"}\n')
    with pytest.raises(extract.SubscriptionsError, match="no FLWR query"):
        extract.Subscriptions.load(file)


def test_many_results_of_a_document_are_those_of_few() -> None:
    """Some are too long, have other characters, or are made elsewhere."""
    texts = [f"for $a in //a[@id = 1] return <r n='{n}é'>{{ $a/b }}</r>" for n in range(100)]
    texts += [QUERIES["nested"], f"for $a in //a return <r>{'x' * 200}</r>"]
    document = DOCUMENT.replace(b"<b>1", "<b>1ü".encode()).replace(b'id="2"', b'id="1"')
    limits = extract.Limits(query_bytes=300)
    rows: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for start, step in ((0, 200), *((n, 10) for n in range(0, 102, 10))):
        own = {str(n): texts[n] for n in range(start, min(start + step, len(texts)))}
        scheme = extract.prepare(extract.Subscriptions.of(own))
        ready = Job(scheme, load_matcher("auto"), Options("output", limits=limits)).filter()
        (done,) = document_outcomes(ready.process([("d", document)]))
        made = {ready.ids[n]: text for n, text in done.findings.outputs()}
        failed = {one.query or "": one.reason for one in done.rejections}
        if not start and step == 200:
            rows, reasons = made, failed
            assert (len(rows), list(reasons)) == (100, ["101"])
            continue
        assert made == {name: text for name, text in rows.items() if name in own}
        assert failed == {name: text for name, text in reasons.items() if name in own}
