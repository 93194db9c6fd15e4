"""Conditions on the whole document inside of filters: the engine decides each once a document."""

from __future__ import annotations

import pytest

from extract.bench.plain_lxml import PlainLoop
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.pipeline import prepare
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions

pytest.importorskip("extract.filtertool.matchers.push._push")


def document(title: str, items: int) -> bytes:
    rows = "".join([f"<i><c>{n % 50}</c><d>x{n % 7}</d></i>" for n in range(items)])
    return f"<r><h><t>{title}</t></h><b>{rows}</b></r>".encode()


FORMS = (
    "/r/b/i[/r/h/t/text() = 'K{0}'][c = {1}]",
    "/r/b/i[c = {1}][/r/h/t = 'K{0}' or d = 'x{0}']",
    "count(/r/b/i[/r/h/t = 'K{0}'][c = {1}]) > 2",
    "/r/b/i[count(/r/b/i) > {1}][not(/r/h/t = 'K{0}')]/c",
    "/r/b[/r/h[t = 'K{0}']]/i[starts-with(/r/h/t, 'K')][c > {1}]",
    "/r/b/i[/r/h/zzz or c = {1}]/d[/r/b/i/c = {1}]",
)


@pytest.mark.parametrize("select", ["doc", "count"])
def test_answers_are_those_of_lxml_document_after_document(select: Select) -> None:
    queries = Subscriptions.of(
        {
            f"{number}-{n}": form.format(n % 4, 7 * n % 60)
            for number, form in enumerate(FORMS)
            for n in range(30)
        }
    )
    documents = [document(f"K{n % 5}", 20 + 30 * (n % 3)) for n in range(9)]
    scheme = prepare(Schema.none(), queries)
    ready = Job(scheme, load_matcher("push"), Options(select)).filter()
    loop = PlainLoop(queries, select)
    outcomes = ready.process([(str(n), one) for n, one in enumerate(documents)])
    ids = scheme.directory.ids
    found = [
        (int(done.document), ids[who], count if select == "count" else 1)
        for done in document_outcomes(outcomes)
        for who, count in zip(done.findings.subscriber, done.findings.count, strict=True)
    ]
    expected = [(n, *row) for n, one in enumerate(documents) for row in loop.rows(one)]
    assert len(expected) > 300
    assert sorted(found) == sorted(expected)


def test_what_each_candidate_asks_of_the_document_is_not_asked_again() -> None:
    """Counting 5,000 elements at each of 5,000 candidates would take more than the engine may."""
    queries = {str(k): f"/r/b/i[count(/r/b/i) > {k}][c = {k}]" for k in range(40)}
    scheme = prepare(Schema.none(), Subscriptions.of(queries))
    ready = Job(scheme, load_matcher("push"), Options("count")).filter()
    ready.process([("d", document("K", 5_000))])
    figures = ready.figures()
    assert figures["push_refused_documents"] == 0
    assert figures["pairs_push"] == 40
