"""The targets of `make fuzz` work, and a little of the fuzzing in every test run."""

from __future__ import annotations

import pytest

from tests.fuzz.guided import once
from tests.fuzz.targets import TARGETS, seeds


@pytest.mark.parametrize("target", TARGETS)
def test_targets(target: str) -> None:
    for data in seeds(target):
        TARGETS[target](data)
    for seed in range(150):
        once(target, seed)
