"""Every benchmark runs, small and without the real data; what it measures is not looked at."""

from __future__ import annotations

from importlib import import_module

import pytest

from extract.bench import BENCHMARKS
from extract.bench.table import Table


@pytest.mark.parametrize("name", ["chunk", "load", "match", "matchers", "memory", "subs"])
def test_a_small_run_gives_a_table(name: str) -> None:
    assert name in BENCHMARKS
    table = import_module(f"extract.bench.{name}").run(None, 0.002)
    assert isinstance(table, Table)
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.title in str(table)
