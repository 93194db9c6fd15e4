"""The results of one small experiment, which several tests look at; no test here reads a clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from extract.bench.experiments import Results, run
from tests.support.made_clock import made_clock


@pytest.fixture(autouse=True)
def made_up_measurements() -> Iterator[None]:
    """Gives every benchmark made-up times: what a test sees is the same on every machine."""
    with made_clock():
        yield


@pytest.fixture(scope="session")
def experiment() -> Results:
    """The university scenario, small; it takes seconds, so tests share it."""
    with made_clock():
        return run("university", None, 0.01, "extract bench university", spark=False)
