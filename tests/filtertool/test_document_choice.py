"""Which documents go to columns, and how often columns are tried."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import extract
from extract.filtertool.batch_filter import BatchFilter
from extract.filtertool.document_choice import DocumentChoice
from extract.filtertool.job import Job
from extract.filtertool.loaded_batch import NamedDocument
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.results.batch_outcome import document_outcomes

pytestmark = pytest.mark.skipif(not native_available(), reason="the engine is not compiled")

LARGE = 2_000_000


def tries(choice: DocumentChoice, size: int, engine: float, columns: float, documents: int) -> int:
    """How many of some documents go to columns, with what each way takes in seconds."""
    count = 0
    for _ in range(documents):
        chosen = choice.columns_from is not None and choice.columns_from <= size
        count += chosen
        choice.learn(chosen, size, columns if chosen else engine)
    return count


def test_many_queries_of_few_questions_go_to_columns_at_first_sight() -> None:
    assert tries(DocumentChoice(6, 2_000, "count"), LARGE, 0.15, 0.02, 10) >= 9
    assert tries(DocumentChoice(350, 2_000, "count"), 5_000_000, 0.5, 0.08, 1) == 1


def test_many_queries_that_share_questions_go_to_columns_soon() -> None:
    assert tries(DocumentChoice(350, 2_000, "count"), LARGE, 0.15, 0.02, 20) >= 15
    assert tries(DocumentChoice(350, 2_000, "doc"), LARGE, 0.07, 0.02, 20) >= 15


def test_rules_that_differ_stay_with_the_engine() -> None:
    """Columns take a second to prepare alone: a try would be seen in any measurement."""
    for size, engine in ((LARGE, 0.02), (30_000, 0.002)):
        assert tries(DocumentChoice(1_300, 1_300, "nodes"), size, engine, 1.0, 2_000) == 0


def test_many_questions_are_not_compiled_unmeasured() -> None:
    assert DocumentChoice(1_500, 20_000, "nodes").columns_from is None


def test_columns_that_are_faster_than_the_engine_are_found() -> None:
    assert tries(DocumentChoice(20, 20, "doc"), LARGE, 0.2, 0.02, 20) >= 16
    assert tries(DocumentChoice(350, 350, "doc"), LARGE, 2.0, 0.02, 20) >= 16


def test_columns_that_may_be_much_slower_are_not_tried() -> None:
    """Nine queries on a document of XMark: columns may take 0.5 s, and the loop 0.12 s."""
    for size, engine in ((11_700_000, 0.028), (1_800_000, 0.0025), (150_000, 0.002)):
        assert tries(DocumentChoice(9, 9, "count"), size, engine, 20 * engine, 2_000) == 0


def test_noise_in_what_the_engine_takes_leads_to_no_trial() -> None:
    choice, size = DocumentChoice(9, 9, "nodes"), 11_700_000
    for turn in range(2_000):
        choice.learn(False, size, 0.2 if turn % 5 == 0 else 0.028)
        assert choice.columns_from is None


def test_columns_that_are_slower_are_tried_less_and_less() -> None:
    choice = DocumentChoice(20, 20, "count")
    assert 1 <= tries(choice, LARGE, 0.2, 0.25, 200) <= 5
    assert tries(choice, LARGE, 0.2, 0.25, 2_000) <= 4


def test_columns_that_are_much_slower_are_tried_once() -> None:
    assert tries(DocumentChoice(20, 20, "count"), LARGE, 0.2, 1.0, 2_000) == 1


def test_compiling_questions_is_not_held_against_columns() -> None:
    choice = DocumentChoice(350, 2_000, "doc")
    while choice.columns_from is None:
        choice.learn(False, LARGE, 0.1)
    choice.learn(True, LARGE, 0.3)
    assert tries(choice, LARGE, 0.1, 0.03, 20) == 20


def test_an_engine_that_is_faster_than_expected_is_found() -> None:
    assert tries(DocumentChoice(6, 2_000, "count"), LARGE, 0.001, 0.02, 40) <= 10


def test_queries_that_come_change_what_is_expected() -> None:
    choice = DocumentChoice(0, 0, "count")
    choice.resize(900, 900)
    assert tries(choice, LARGE, 0.02, 1.0, 2_000) == 0
    choice.resize(6, 20_000)
    assert tries(choice, LARGE, 0.5, 0.02, 20) >= 15


def made(select: Select, folder: Path) -> tuple[BatchFilter, list[tuple[str, bytes]]]:
    """A filter, and two documents: one that keeps the schema, and one that does not."""
    dtd = "<!ELEMENT r (a)*><!ELEMENT a (#PCDATA)><!ATTLIST a x CDATA #IMPLIED>"
    queries = {f"q{n}": f"//a[@x = '{n}']" for n in range(20)}
    queries |= {"odd": "//a[lang('x')]", "all": "//a", "none": "not(//b)"}
    (folder / "r.dtd").write_text(dtd)
    schema = extract.Schema.load(folder / "r.dtd", "r")
    scheme = extract.prepare(schema, extract.Subscriptions.of(queries))
    kept = b"<r>" + b"".join([b"<a x='%d'>t</a>" % (n % 30) for n in range(2_000)]) + b"</r>"
    ready = Job(scheme, load_matcher(), Options(select)).filter()
    assert isinstance(ready, BatchFilter)
    return ready, [("kept", kept), ("broken", kept.replace(b"</r>", b"<b/></r>"))]


def rows(ready: BatchFilter, documents: Sequence[NamedDocument]) -> list[object]:
    found: list[object] = []
    for done in document_outcomes(ready.process(documents)):
        findings = done.findings
        one = [done.document, done.nonconforming, findings.subscriber.tolist()]
        found.append([*one, len(findings), findings.count.tolist()])
    return found


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
def test_a_document_that_breaks_the_schema_goes_to_the_engine(
    select: Select, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns cannot answer on it, and libxml2 takes longer for the whole of it."""
    ready, documents = made(select, tmp_path)
    usual = rows(ready, documents)
    monkeypatch.setattr(DocumentChoice, "columns_from", 1)
    ready, _ = made(select, tmp_path)
    assert rows(ready, documents) == usual
    assert [rows(ready, [one])[0] for one in documents] == usual
    figures = ready.figures()
    assert figures["pairs_columns"] == 2 * 23
    assert figures.get("pairs_whole", 0) == 0
    for stream in (io.BytesIO, OnceOnly):
        assert rows(ready, [(name, stream(data)) for name, data in documents]) == usual


class OnceOnly(io.RawIOBase):
    """A stream that cannot go back, like a pipe."""

    def __init__(self, data: bytes) -> None:
        self._rest = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._rest.readinto(buffer)


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
def test_what_the_engine_takes_is_noted_once(
    select: Select, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[bool] = []
    monkeypatch.setattr(DocumentChoice, "learn", lambda _, columns, *__: noted.append(columns))
    ready, documents = made(select, tmp_path)
    for _ in range(3):
        ready.process(documents[:1])
    assert noted == [False] * 3
