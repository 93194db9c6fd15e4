"""Fixtures that the tests of the Spark engine share: a scheme, documents, all documents large."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract import Scheme
from tests.support.spark_documents import university_scheme, write_documents


@pytest.fixture(scope="session")
def scheme() -> Scheme:
    return university_scheme()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every document is a large one, and is cut into pieces of some records."""
    from extract.filtertool.spark.driver import planner

    monkeypatch.setattr(planner, "LARGE", 1)
    monkeypatch.setattr(planner, "LEAST", 1)
    monkeypatch.setattr(planner, "PIECE", 1_000)
