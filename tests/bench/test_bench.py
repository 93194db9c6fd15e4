"""Every benchmark runs, small and without the real data; its figures are not checked."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from extract.bench import BENCHMARKS, load
from extract.bench.table import ResultTable
from extract.scenarios import scenario


@pytest.mark.parametrize("name", ["chunk", "match", "matchers", "memory", "subs"])
def test_a_small_run_gives_a_table(name: str) -> None:
    assert name in BENCHMARKS
    table = import_module(f"extract.bench.{name}").run(None, 0.002)
    assert isinstance(table, ResultTable)
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.title in str(table)


def test_a_load_has_different_queries_and_right_answers() -> None:
    table = load.run(None, 0.0005)
    for row in table.to_json()["rows"]:
        assert row["rows"] > 0
        assert (row["compared"], row["wrong"]) == (200 * min(300, row["subscriptions"]), 0)
    queries = load.different_queries(scenario("nitf"), None, 3_000)
    assert len(set(queries)) == len(queries) == 3_000


def test_a_load_finds_wrong_answers(tmp_path: Path) -> None:
    message, matches = tmp_path / "m.xml", tmp_path / "matches"
    message.write_bytes(b"<a><b/><b/></a>")
    matches.mkdir()
    for found, wrong in (
        ([("0", 2), ("1", 1)], 0),
        ([("0", 2)], 1),
        ([("0", 1), ("1", 1)], 1),
        ([("0", 2), ("1", 1), ("2", 1)], 1),
    ):
        rows = [{"document": str(message), "query": n, "count": count} for n, count in found]
        parquet.write_table(pa.Table.from_pylist(rows), matches / "part.parquet")
        assert load.compare_answers(["//b", "/a", "/c"], [message], matches) == (3, wrong)
