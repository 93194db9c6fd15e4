"""Query files for the tests of subscriptions."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.subscriptions.native import ENVIRONMENT, native_tokens
from tests.support.query_files import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a query file and returns its path."""

    def write(content: str | bytes, name: str = "queries.tsv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(params=["on", "off"])
def tokens(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test with the tokens in C, and with those in Python."""
    wanted: str = request.param
    if wanted == "on" and native_tokens() is None:
        pytest.skip("the tokens in C are not compiled")
    monkeypatch.setenv(ENVIRONMENT, wanted)
    return wanted
