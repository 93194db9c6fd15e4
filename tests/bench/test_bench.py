"""Every benchmark runs, small and without the real data; its figures are not checked."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pytest
from lxml import etree
from pyarrow import parquet

from extract.bench import BENCHMARKS, load, output_data
from extract.bench.stock import different_shapes, stock_schema
from extract.bench.table import ResultTable
from extract.preptool.prepare import prepare
from extract.scenarios import scenario
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions


@pytest.mark.parametrize(
    "name",
    [
        *("chunk", "files", "joins", "match", "matchers", "memory", "messages", "news", "output"),
        *("prepare", "proteins", "register", "sql", "sql_import", "sql_large", "subs"),
    ],
)
def test_a_small_run_gives_a_table(name: str) -> None:
    assert name in BENCHMARKS
    table = import_module(f"extract.bench.{name}").run(None, 0.002)
    assert isinstance(table, ResultTable)
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.title in str(table)


def test_different_shapes_share_no_template_and_no_form() -> None:
    scheme = prepare(stock_schema(), Subscriptions.of(different_shapes(500)), 1)
    assert len(scheme.templates) == len(scheme.forms) == len(scheme.branches) == 500


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


def test_documents_and_queries_of_outputs_are_as_the_paper_says() -> None:
    for data in output_data.KINDS.values():
        for document in data.documents(20):
            assert output_data.ELEMENTS - len(list(etree.fromstring(document).iter())) in (0, 1)
        queries = data.queries(500, predicates=2, returns=3)
        assert len(set(queries)) == 500
        assert all(one.count(" = ") == 2 and one.count("{$s/") == 3 for one in queries)
        chosen = Subscriptions.of({str(n): query for n, query in enumerate(queries)})
        scheme = prepare(Schema.none(), chosen, 1)
        assert len(scheme.outputs) == 500
