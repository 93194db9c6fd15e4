"""What all tests share: how thoroughly Hypothesis searches, and where things are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, so that a red build is red again; `make test-all` searches anew.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile(
    "long",
    max_examples=10_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The project's root directory."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real schemas, documents and queries, which lie beside the project and do not belong to it."""
    data = ROOT.parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip(f"there is no {data}")
    return data
