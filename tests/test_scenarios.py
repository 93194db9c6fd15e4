"""Scenarios: the same for everybody, valid, of the size asked for, and the paper's tables."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest
from lxml import etree

from extract import ExtractError, Scheme, prepare
from extract.scenarios import scenario, scenario_names
from tests.test_prepare import TABLE_A3

NAMES = scenario_names()


def test_there_are_scenarios_and_each_is_complete(repo_root: Path) -> None:
    assert {"ejb", "university"} <= set(NAMES)
    for name in NAMES:
        folder = repo_root / "scenarios" / name
        assert (folder / "README.md").read_text(encoding="utf-8").startswith(f"# {name}")
        assert scenario(name).folder.samefile(folder)


def test_an_unknown_scenario_is_an_error_that_lists_them() -> None:
    with pytest.raises(ExtractError, match="ejb, university"):
        scenario("universe")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size_bytes", [0, 30_000, 700_000])
def test_documents_are_valid_and_of_the_size_asked_for(name: str, size_bytes: int) -> None:
    one = scenario(name)
    pieces = list(one.document(size_bytes))
    document = b"".join(pieces)
    if size_bytes:
        assert len(document) == pytest.approx(size_bytes, rel=0.1 if size_bytes < 1e5 else 0.02)
    assert max(map(len, pieces)) < 100_000
    dtd = etree.DTD(str(one.folder / one.generator.SCHEMA))
    assert dtd.validate(etree.fromstring(document)), dtd.error_log.last_error


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_and_another_seed_another(name: str) -> None:
    def digest(seed: int) -> tuple[str, list[str]]:
        one = scenario(name)
        document = sha256(b"".join(one.document(40_000, seed))).hexdigest()
        return document, [query.xpath for query in one.queries(100, seed)]

    assert digest(7) == digest(7)
    first, second = digest(7), digest(8)
    assert first[0] != second[0]
    assert first[1] != second[1]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [1, 100, 333, 2_000])
def test_queries_are_as_many_as_asked_for_and_all_can_match(name: str, count: int) -> None:
    one = scenario(name)
    scheme = prepare(one.schema(), one.queries(count), 2)
    assert scheme.counts()["satisfiable"] == count


# -- university


def test_university_is_as_large_as_the_papers_document() -> None:
    document = b"".join(scenario("university").document())
    assert len(document) == pytest.approx(4.85 * 1024 * 1024, rel=0.005)
    elements = document.count(b"<") - document.count(b"</") - 1
    assert elements == pytest.approx(130_000, rel=0.02)


@pytest.mark.parametrize("count", [100, 500, 2_000])
def test_university_has_thirty_percent_of_each(count: int) -> None:
    queries = [query.xpath for query in scenario("university").queries(count)]
    without_literals = [re.sub("'[^']*'", "", query) for query in queries]
    assert sum("//" in query for query in without_literals) / count == pytest.approx(0.3, abs=0.03)
    assert sum("[" in query for query in without_literals) / count == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(
    ("count", "lightest"), [(100, "student"), (500, "secretary"), (2_000, "professor")]
)
def test_university_leaves_the_lightest_kind_to_the_potpourri(count: int, lightest: str) -> None:
    one = scenario("university")
    scheme = prepare(one.schema(), one.queries(count), 4)
    kinds = {"student", "professor", "assistant", "secretary", "lecturer"}
    assert prefixes(scheme) == {f"/db/{kind}" for kind in kinds - {lightest}}
    assert len(scheme.potpourri.queries) > 0
    assert not prepare(one.schema(), one.queries(count), 5).potpourri.queries


# -- ejb


def prefixes(scheme: Scheme) -> set[str]:
    return {chunk.prefix for chunk in scheme.chunks}


@pytest.mark.parametrize("chunks", TABLE_A3)
@pytest.mark.parametrize("count", [1_000, 2_000])
def test_ejb_gives_appendix_a3(chunks: int, count: int) -> None:
    one = scenario("ejb")
    scheme = prepare(one.schema(), one.queries(count), chunks)
    shares = {chunk.prefix: 100 * len(chunk.queries) / count for chunk in scheme.chunks}
    assert shares == TABLE_A3[chunks]


def test_ejb_has_the_papers_cardinalities() -> None:
    tree = etree.fromstring(b"".join(scenario("ejb").document()))
    expected = {
        "container-transaction": 1_351,
        "method-permission": 2_583,
        "security-role": 41,
        "session": 162,
        "message-driven": 44,
        "entity": 475,
        "assembly-descriptor": 3_972,
        "enterprise-beans": 681,
    }
    counts = {kind: tree.xpath(f"count(//{kind}/descendant-or-self::*)") for kind in expected}
    assert counts == pytest.approx(expected, rel=0.08)
