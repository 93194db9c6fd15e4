"""Fixtures that the tests of commands share."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.support.commands import GOOD, QUERIES
from tests.support.running_broker import client, feed, url

__all__ = ["client", "feed", "here", "url"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with queries and documents, where the user stands."""
    monkeypatch.chdir(tmp_path)
    Path("q.tsv").write_text(QUERIES, encoding="utf-8")
    Path("docs/deep").mkdir(parents=True)
    for n in range(6):
        Path(f"docs/{n}.xml").write_text(GOOD.format(n), encoding="utf-8")
    Path("docs/deep/0.xml.gz").write_bytes(gzip.compress(GOOD.format(7).encode()))
    Path("docs/other.txt").write_text("no XML")
    return tmp_path
