"""The matcher ``sql`` passes the contract of matchers."""

from __future__ import annotations

import pytest

from extract.filtertool.matchers.sql.factory import SqlFactory
from extract.testing.matcher_contract import MatcherContract

pytest.importorskip("duckdb", reason="DuckDB is not installed")


class TestSql(MatcherContract):
    factory = SqlFactory()
