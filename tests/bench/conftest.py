"""The results of one small experiment, which several tests look at."""

from __future__ import annotations

import pytest

from extract.bench.experiments import Results, run


@pytest.fixture(scope="session")
def experiment() -> Results:
    """The university scenario, small; it takes seconds, so tests share it."""
    return run("university", None, 0.01, "extract bench university", spark=False)
