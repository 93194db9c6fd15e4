"""A crew: processes that each keep a state and answer calls."""

from __future__ import annotations

import os
from functools import partial

import pytest

from extract.errors import ExtractError
from extract.filtertool.processes.crew import Crew


class Counting:
    def __init__(self, start: int) -> None:
        self.count = start

    def add(self, number: int) -> int:
        self.count += number
        return self.count

    def end(self) -> None:
        os._exit(3)


def test_each_process_has_a_state_of_its_own() -> None:
    with Crew(partial(Counting, 10), 2) as crew:
        assert crew.call("add", [(1,), (2,)]) == [11, 12]
        assert crew.call("add", [(1,), (2,)]) == [12, 14]
        with pytest.raises(TypeError):
            crew.call("add", [(1,), ("x",)])
        assert crew.call("add", [(1,), (2,)]) == [14, 16]


def test_the_end_of_a_process_is_an_error() -> None:
    with Crew(partial(Counting, 0), 2) as crew:
        with pytest.raises(ExtractError, match="killed"):
            crew.call("end", [(), ()])
        assert len(crew) == 0
