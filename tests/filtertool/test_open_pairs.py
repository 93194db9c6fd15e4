"""Queries that the push engine leaves open, failures, and documents that it does not take."""

from __future__ import annotations

import pytest

import extract
from extract.filtertool import tree_queries
from extract.filtertool.job import Job
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.filtertool.results.outcome import DocumentOutcome
from extract.scheme import Scheme

REGEXP = {"re": "http://exslt.org/regular-expressions"}
QUERIES = {
    "decided": "/r/a[. = 'x']",
    "open": "/descendant::a[2]",
    "absent": "//zzz/following::a[1]",
    "two quotes": """/r/a[concat(namespace-uri(), "'", '"') != 'x']""",
    "true": "count(/r/a) > 1",
    "perhaps true": "(/r/a)[2] = 'x'",
    "number": "sum(/r/n)",
    "string": "string(/r/a[2])",
    "comment": "//comment()[1]",
    "names": "/r/namespace::node()",
    "root": "/ | /r/a[2]",
}
DOCUMENTS = (
    b"<r><a>x</a><a>y</a><!--c--></r>",
    b"<r/>",
    b"<r><n>2</n><a/><b><a>x</a></b></r>",
    b"<q/>",
    b"<r><a></r>",
)


def prepared(queries: dict[str, str], dtd: bool = False) -> Scheme:
    subscriptions = extract.Subscriptions.of(queries, REGEXP)
    sample = [DOCUMENTS[0], DOCUMENTS[1]] if dtd else []
    return extract.prepare(subscriptions, sample=sample)


def outcomes(scheme: Scheme, matcher: str, select: Select) -> list[DocumentOutcome]:
    ready = Job(scheme, load_matcher(matcher), Options(select)).filter()
    named = [(str(number), document) for number, document in enumerate(DOCUMENTS)]
    together = list(document_outcomes(ready.process(named)))
    alone = [done for one in named for done in document_outcomes(ready.process([one]))]
    assert _comparable(scheme, together, select) == _comparable(scheme, alone, select)
    return together


def _comparable(
    scheme: Scheme, done: list[DocumentOutcome], select: Select
) -> list[tuple[str, str, object, object]]:
    ids = scheme.directory.ids
    return [
        (
            one.document,
            one.fate,
            list(one.findings.matches(one.document, ids))
            if select == "nodes"
            else list(
                zip(one.findings.subscriber.tolist(), one.findings.count.tolist(), strict=True)
            ),
            one.rejections,
        )
        for one in done
    ]


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
@pytest.mark.parametrize("dtd", [False, True])
def test_rows_are_those_of_lxml(select: Select, dtd: bool) -> None:
    scheme = prepared(QUERIES, dtd)
    found = _comparable(scheme, outcomes(scheme, "auto", select), select)
    assert found == _comparable(scheme, outcomes(scheme, "lxml", select), select)
    assert {fate for _, fate, _, _ in found} == {
        "conforming",
        "rejected",
        *(["nonconforming"] if dtd else []),
    }


def test_many_queries_of_one_question_share_what_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queries = {str(n): f"/r/a[translate(., 'x', 'y') = '{n}']" for n in range(20)}
    queries["y"] = "/r/a[translate(., 'x', 'y') = 'y']"
    queries["quotes"] = """/r/a[translate(., 'x', 'y') = "it's"]"""
    scheme = prepared(queries)
    for few in (0, 64):
        monkeypatch.setattr(tree_queries, "COMPILED_EACH", few)
        counts = [done.findings.count.tolist() for done in outcomes(scheme, "auto", "count")]
        assert counts == [[2], [], [], [], []]


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
def test_a_query_is_rejected_where_libxml2_fails(select: Select) -> None:
    queries = {
        "first": "/r[zzz and re:test(a, pattern)]",
        "last": "/r[re:test(a, a[2])]",
        "other": "/r/a[2]",
    }
    scheme = prepared(queries)
    ready = [
        Job(scheme, factory, Options(select)).filter()
        for factory in (load_matcher(), LxmlFactory())
    ]
    documents = [("1", b"<r><a>x</a><a>(</a></r>"), ("2", b"<r><a>x</a><a>x</a></r>")]
    found, wanted = [list(document_outcomes(one.process(documents))) for one in ready]
    assert _comparable(scheme, found, select) == _comparable(scheme, wanted, select)
    assert [(one.document, one.query) for one in found[0].rejections] == [("1", "last")]


def test_figures_say_which_stage_answered() -> None:
    scheme = prepared(
        {"decided": "/r/a", "open": "//a[lang('')]", "absent": "//zzz[lang('en')]"},
        dtd=True,
    )
    ready = Job(scheme, load_matcher(), Options("count")).filter()
    named = [(str(number), document) for number, document in enumerate(DOCUMENTS[:4])]
    ready.process(named)
    figures = ready.figures()
    # Two documents keep to the schema and two do not; the first one may have a second a.
    pairs = {name: n for name, n in figures.items() if name.startswith("pairs")}
    assert sum(pairs.values()) + 2 == 3 * 4  # zzz is in no document that keeps to the schema
    assert pairs["pairs_lxml"] == sum([b"<a" in document for _, document in named])
    assert pairs["pairs_push"] == 4


def test_a_change_of_queries_holds_for_open_ones_and_odd_documents() -> None:
    scheme = prepared({"one": "//a[2]"}, dtd=True)
    ready = extract.Filter(scheme)
    documents = [("keeps", DOCUMENTS[0]), ("breaks", b"<r><u/><a/><a>x</a></r>")]

    def rows() -> list[tuple[str, str]]:
        return [(row["document"], row["query"]) for row in ready.table(documents).to_pylist()]

    assert rows() == [("keeps", "one"), ("breaks", "one")]
    ready.add({"two": "//a[last()]", "three": "/r/u"})
    both = [(name, query) for name in ("keeps", "breaks") for query in ("one", "two")]
    assert rows() == [*both, ("breaks", "three")]
    ready.remove(["one"])
    assert rows() == [("keeps", "two"), ("breaks", "two"), ("breaks", "three")]


def test_matches_of_an_open_query_have_all_columns() -> None:
    scheme = prepared({"second": "//a[2]", "leaf": "//a/text()[1]", "at": "//a[2]/@n"})
    document = b"<r xmlns:p='u'><a>x</a><a p:m='' n='1'>y<!--c-->z</a></r>"
    found = list(extract.match(scheme, document))
    assert found == list(extract.match(scheme, document, matcher="lxml"))
    assert [one.path for one in found] == [
        "/r[1]/a[2]",
        "/r[1]/a[1]/text()[1]",
        "/r[1]/a[2]/text()[1]",
        "/r[1]/a[2]/@n",
    ]


@pytest.mark.parametrize("select", ["doc", "count"])
def test_many_small_documents_have_the_same_rows(select: Select) -> None:
    """After the first ones, small documents are asked in a shorter way; not where a query fails."""
    queries = {
        "second": "/descendant::a[2]",
        "later": "//a[following::b[1]]",
        "value": "string(//b)",
        "above": "//a/ancestor::node()",
        "failing": "//b[re:test(., 'x') or re:test(., //c)]",
        "decided": "//a",
    }
    parts = ["<a/>", "<b>x</b>", "<a><b/></a>", "<b>y</b><c>[</c>"]
    named = [
        (str(n), f"<r>{''.join([parts[n >> k & 3] for k in (0, 1, 3)])}</r>".encode())
        for n in range(100)
    ]
    subscriptions = extract.Subscriptions.of(
        queries, {"re": "http://exslt.org/regular-expressions"}
    )
    scheme = extract.prepare(extract.Schema.none(), subscriptions)
    ready, plain = extract.Filter(scheme, select), extract.Filter(scheme, select, "lxml")
    rows = [ready.table([one]).to_pylist() for one in named]
    assert rows == [plain.table([one]).to_pylist() for one in named]
    assert ready.table(named).to_pylist() == [row for own in rows for row in own]
    assert ready.rejected.num_rows > 10
    plain.table(named)
    assert ready.rejected.num_rows == plain.rejected.num_rows
