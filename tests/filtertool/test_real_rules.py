"""Real rules on real documents: the rows are libxml2's, whichever stages of the filter are on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path

import pytest

import extract
from extract.bench.plain_lxml import PlainLoop
from extract.filtertool import batch_filter, open_columns
from extract.filtertool.document_choice import DocumentChoice
from extract.filtertool.job import Job
from extract.filtertool.matchers.column_prices import ColumnPrices
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.push import program
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.engine_answers import BatchAnswers
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.filtertool.results.findings import Match
from extract.scheme import Scheme

SETS = {
    "eforms": ("schemas/maindoc/UBL-ContractNotice-2.3.xsd", "queries.jsonl.gz"),
    "ubl": ("schema/maindoc/UBL-Invoice-2.1.xsd", "rules.jsonl"),
}
FALSE = ("false", "0", "", "NaN")
Documents = Sequence[tuple[str, bytes]]


@cache
def prepared(data: Path, name: str, step: int) -> tuple[extract.Subscriptions, Scheme]:
    schema, queries = SETS[name]
    every = extract.Subscriptions.load(data / name / queries)
    some = extract.Subscriptions.of(every[::step])
    return some, extract.prepare(extract.Schema.load(data / name / schema), some)


def read(data: Path, name: str, step: int) -> list[tuple[str, bytes]]:
    files = sorted((data / name / "docs").rglob("*.xml"))
    if step > 1:
        files = [path for path in files if path.stat().st_size < 100_000]
    return [(path.name, path.read_bytes()) for path in files[::step]]


def broken(documents: Documents) -> list[tuple[str, bytes]]:
    """The same documents with an element that the schema does not have."""
    ends = [(name, data, data.rindex(b"</")) for name, data in documents]
    return [(name, data[:end] + b"<unknown/>" + data[end:]) for name, data, end in ends]


def numbers(scheme: Scheme, select: Select, documents: Documents) -> list[dict[str, int]]:
    """The number of rows by query; for values, whether they are true."""
    ready = Job(scheme, load_matcher(), Options(select)).filter()
    found = []
    for done in document_outcomes(ready.process(documents)):
        assert not done.rejections
        rows = done.findings
        if select != "nodes":
            pairs = zip(rows.subscriber.tolist(), rows.count.tolist(), strict=True)
            found.append({ready.ids[who]: count for who, count in pairs})
            continue
        matches = list(rows.matches(done.document, ready.ids))
        found.append(dict(Counter([one.query for one in matches if not _is_false(one)])))
    return found


def _is_false(match: Match) -> bool:
    return match.node in ("boolean", "number", "string") and match.value in FALSE


def compare(data: Path, name: str, queries: int, documents: Documents) -> int:
    """Compares with a loop over lxml's XPaths; returns the number of answers."""
    some, scheme = prepared(data, name, queries)
    loop = PlainLoop(some, "count")
    for own in (documents, broken(documents)):
        wanted: list[dict[str, int]] = [dict(loop.rows(document)) for _, document in own]
        assert numbers(scheme, "count", own) == wanted
        assert numbers(scheme, "nodes", own) == wanted
        assert numbers(scheme, "doc", own) == [dict.fromkeys(rows, 1) for rows in wanted]
    return len(loop) * len(documents)


def test_some_rules_on_some_documents(shared_data: Path) -> None:
    assert compare(shared_data, "ubl", 7, read(shared_data, "ubl", 25)) > 1_000
    assert compare(shared_data, "eforms", 50, read(shared_data, "eforms", 4)) > 400


@pytest.mark.slow
def test_all_rules_on_all_documents(shared_data: Path) -> None:
    assert compare(shared_data, "ubl", 1, read(shared_data, "ubl", 1)) == 250 * 975
    assert compare(shared_data, "eforms", 1, read(shared_data, "eforms", 1)) > 17 * 7_000


# -- stages


@contextmanager
def nothing_decided() -> Iterator[None]:
    """The engine leaves all queries open on all documents: libxml2 answers on one tree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "may_fail", lambda _: True)
        yield


@contextmanager
def no_engine() -> Iterator[None]:
    """All documents are too large for the engine: columns answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DocumentChoice, "columns_from", 1)
        yield


@contextmanager
def open_in_columns() -> Iterator[None]:
    """Columns answer what the engine leaves open, from the third document on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_columns, "COLUMNS", ColumnPrices(1e-12, 1e-12, 1e-18, 1e-18))
        patch.setattr(open_columns.OpenColumns, "adjust", lambda *_: None)
        yield


@contextmanager
def whole_documents() -> Iterator[None]:
    """Documents that break the schema are evaluated whole, one query after the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_filter.BatchFilter, "match_breaking", lambda *_: iter(()))
        yield


@contextmanager
def nothing_described() -> Iterator[None]:
    """The engine describes no nodes: that is done from the node tables of documents."""
    match_all = PushEngine.match_all

    def undescribed(engine: PushEngine, documents: Sequence[bytes]) -> BatchAnswers:
        answers = match_all(engine, documents)
        for found in (answers.own, answers.other):
            if found is not None and found.nodes is not None:
                found.nodes.described[:] = [False] * len(documents)
        return answers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PushEngine, "match_all", undescribed)
        yield


STAGES = [nothing_decided, no_engine, open_in_columns, whole_documents, nothing_described]


@pytest.mark.parametrize("off", STAGES)
@pytest.mark.parametrize("name", SETS)
def test_rows_do_not_depend_on_stages(
    shared_data: Path, name: str, off: Callable[[], AbstractContextManager[None]]
) -> None:
    _, scheme = prepared(shared_data, name, 7 if name == "ubl" else 50)
    documents = read(shared_data, name, 60 if name == "ubl" else 6)
    documents += [(f"broken {one}", data) for one, data in broken(documents)]
    rows = rows_of(scheme, documents)
    assert len(rows) > 50
    with off():
        assert rows_of(scheme, documents) == rows


def rows_of(scheme: Scheme, documents: Documents) -> list[Match]:
    """All rows with all columns."""
    ready = Job(scheme, load_matcher(), Options("nodes")).filter()
    outcomes = list(document_outcomes(ready.process(documents)))
    return [one for done in outcomes for one in done.findings.matches(done.document, ready.ids)]
