"""Which queries libxml2 may count: it counts the document node, which is no result."""

from __future__ import annotations

import pytest

import extract
from extract.filtertool.matchers.lxml.compiled_question import CompiledQuestion
from extract.filtertool.matchers.protocol import Question, Select
from extract.xpath.functions import Type
from tests.support.generate.oracle import answer, parse

DOCUMENTS = [b"<a><b/><b>x<c/></b></a>", b"<a><a><b/></a>y<!--z--></a>", b"<b/>"]
COUNTED = ["//b[../c or ancestor::a]", "(//b)[2]", "(//b/..)/c", "//node()", "(//a | //b)[last()]"]
SELECTED = ["//b/..", "(/ | //b)[1]", "//c/ancestor::node()[1]", "//.", "(.//.)[name() = '']", "/"]


@pytest.mark.parametrize("xpath", COUNTED)
def test_these_are_counted(xpath: str) -> None:
    assert CompiledQuestion(Question((xpath,), Type.NODES), {}, 1e9).countable


@pytest.mark.parametrize("xpath", SELECTED)
def test_these_are_selected_first(xpath: str) -> None:
    assert not CompiledQuestion(Question((xpath,), Type.NODES), {}, 1e9).countable


@pytest.mark.parametrize("wanted", ["doc", "count", "nodes"])
def test_no_document_node_in_any_answer(wanted: Select) -> None:
    queries = dict(enumerate([*COUNTED, *SELECTED]))
    named = {str(n): xpath for n, xpath in queries.items()}
    scheme = extract.prepare(extract.Subscriptions.of(named))
    ready = extract.Filter(scheme, wanted)
    for document in DOCUMENTS * 20:  # the first ones are measured, and go another way
        rows = ready.table([("d", document)]).to_pydict()
        expected = {str(n): len(answer(parse(document), xpath)) - 1 for n, xpath in queries.items()}
        expected = {n: count for n, count in expected.items() if count}
        if wanted == "count":
            assert dict(zip(rows["query"], rows["count"], strict=True)) == expected
        else:
            assert {n: rows["query"].count(n) for n in rows["query"]} == (
                expected if wanted == "nodes" else dict.fromkeys(expected, 1)
            )
