"""Questions that the engine leaves open: libxml2 or columns answer, with the same rows."""

from __future__ import annotations

import numpy as np
import pytest

import extract
from extract.filtertool import open_columns
from extract.filtertool.job import Job, JobFilter
from extract.filtertool.matchers.column_prices import ColumnPrices
from extract.filtertool.matchers.protocol import Question, Select
from extract.filtertool.matchers.push import program
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.open_columns import OpenColumns, OpenQuestion
from extract.filtertool.options import Options
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.limits import DEFAULTS
from extract.xpath.functions import Type

pytestmark = pytest.mark.skipif(not native_available(), reason="the engine is not compiled")

FREE = ColumnPrices(1e-12, 1e-12, 1e-18, 1e-18)
DEAR = ColumnPrices(1e6, 1e6, 1, 1)
QUERIES = {
    **{f"next{n}": f"//a[following-sibling::b[2] = '{n}']" for n in range(5)},
    **{f"place{n}": f"//c[a = '{n}']/descendant::b[2]" for n in range(5)},
    "length": "string-length(name(//a)) > 1",
    "number": "sum(//b) + count(//a[preceding::b])",
    "after": "//a[following::b = '3']",
    "again": "sum(//b) + count(//a[preceding::b])",
    "twice": "//a[following::b = '3']/..",
    "thrice": "//a[following::b = '3']/..",
    "parents": "//b/..",
    "equal": "//b/..",
    "failing": "//a[preceding::b = 1 or count('x') = 1]",
}


def documents() -> list[tuple[str, bytes]]:
    parts = [
        b"<c>"
        + b"".join([b"<a>%d</a><b>%d</b>" % (n % 5, (n + k) % 7) for n in range(k)])
        + b"</c>"
        for k in range(12)
    ]
    return [(str(n), b"<r>" + b"".join(parts[: n + 1]) + b"</r>") for n in range(len(parts))]


@pytest.fixture(autouse=True)
def _leave_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine leaves open what it would evaluate node by node."""
    monkeypatch.setattr(program, "LEVELS", 2)


def ready(select: Select) -> JobFilter[object]:
    scheme = extract.prepare(extract.Schema.none(), extract.Subscriptions.of(QUERIES))
    return Job(scheme, load_matcher(), Options(select)).filter()  # type: ignore[return-value]


def rows(own: JobFilter[object], select: Select) -> list[object]:
    """All rows, and what was rejected, of documents one by one."""
    found: list[object] = []
    for one in documents():
        for done in document_outcomes(own.process([one])):
            found += [(each.document, each.query, each.reason[:20]) for each in done.rejections]
            findings = done.findings
            if select == "nodes":
                found += findings.matches(done.document, own.ids)
            else:
                found.append((done.document, findings.subscriber.tolist(), findings.count.tolist()))
    return found


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
def test_rows_do_not_depend_on_the_choice(select: Select, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_columns, "COLUMNS", DEAR)
    trees = ready(select)
    wanted = rows(trees, select)
    assert len(wanted) > 10
    assert trees.figures()["pairs_columns"] == 0 < trees.figures()["pairs_lxml"]
    monkeypatch.setattr(open_columns, "COLUMNS", FREE)
    monkeypatch.setattr(OpenColumns, "adjust", lambda *_: None)  # free they stay
    columns = ready(select)
    assert rows(columns, select) == wanted
    figures = columns.figures()
    assert 0 < figures["pairs_lxml"] < figures["pairs_columns"]


def question(xpath: str, *numbers: int) -> OpenQuestion:
    return OpenQuestion(Question((xpath,), Type.NODES, xpath), np.array(numbers, np.int32))


def test_questions_that_take_long_move() -> None:
    columns = OpenColumns({}, "count", DEFAULTS)
    slow, quick = question("//a[../b]", 1), question("//c", 2)
    later = question("//a[following::b]", 3)
    for one, seconds in ((slow, 0.5), (quick, 1e-6), (later, 0.5)):
        one.learn(seconds, 1000)
    asked = [(1, slow), (2, quick), (3, later)]
    assert columns.divide(asked, 1000) == ([], [1, 2, 3])
    columns.review()
    assert columns.divide(asked, 1000) == ([], [1, 2, 3])
    columns.review()  # after two documents; columns cannot answer the last one
    assert columns.divide(asked, 1000) == ([1], [2, 3])
    assert not later.columnar
    slow.rate = 1e-9  # documents are different now: not worth it
    assert columns.divide(asked, 1000) == ([], [1, 2, 3])
    columns.forget()
    assert columns.divide([(1, slow)], 1000) == ([], [1])


def test_a_measurement_that_is_far_off_counts_less() -> None:
    one = question("//a", 1)
    one.learn(1.0, 1000)
    one.learn(1000.0, 1000)
    assert one.rate < 3e-3
