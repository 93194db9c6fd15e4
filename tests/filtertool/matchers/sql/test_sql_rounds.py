"""The matcher ``sql`` gives libxml2's rows, whatever the queries, documents and databases."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.sql_rounds import nested_round, schema_round, template_round

pytest.importorskip("duckdb", reason="DuckDB is not installed")


def test_templates(database: str) -> None:
    counts: Counter[str] = Counter()
    for seed, select in enumerate(("doc", "doc", "count", "nodes", "doc", "nodes")):
        counts += template_round(seed, database, select)  # type: ignore[arg-type]
    assert counts["answers"] > 1000
    assert counts["matches"] > 100
    assert counts["sql_questions"] > 50
    assert counts["sql_statements"] >= 4


def test_any_query_on_documents_with_a_schema(database: str) -> None:
    counts: Counter[str] = Counter()
    for seed, select in enumerate(("doc", "nodes", "doc")):
        counts += schema_round(seed, database, select)  # type: ignore[arg-type]
    assert counts["answers"] > 150
    assert counts["sql_questions"] > 20


def test_conditions_inside_of_conditions(database: str) -> None:
    counts: Counter[str] = Counter()
    for seed, select in enumerate(("doc", "doc", "nodes")):
        counts += nested_round(seed, database, select)  # type: ignore[arg-type]
    assert counts["answers"] > 800
    assert counts["matches"] > 100
    assert counts["sql_questions"] > 40


@pytest.mark.slow
def test_rounds_at_length(database: str) -> None:
    counts: Counter[str] = Counter()
    for seed in range(1_000, 1_060):
        select = ("doc", "count", "nodes")[seed % 3]
        counts += template_round(seed, database, select)  # type: ignore[arg-type]
        counts += schema_round(seed, database, select)  # type: ignore[arg-type]
        counts += nested_round(seed, database, select)  # type: ignore[arg-type]
    assert counts["answers"] > 30_000
