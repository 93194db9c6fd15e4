"""The time that a run spends, by stage."""

from __future__ import annotations

import time
from collections.abc import Mapping


class Seconds(dict[str, float]):
    """Seconds by stage.

    >>> spent = Seconds(); spent.add("match", 2.0); spent.update_by({"match": 1.5, "rows": 1.0})
    >>> spent
    {'match': 3.5, 'rows': 1.0}
    """

    def add(self, stage: str, seconds: float) -> None:
        """Adds time to a stage."""
        self[stage] = self.get(stage, 0.0) + seconds

    def since(self, stage: str, started: float) -> None:
        """Adds the time since ``time.perf_counter()`` was ``started``."""
        self.add(stage, time.perf_counter() - started)

    def update_by(self, others: Mapping[str, float]) -> None:
        """Adds the seconds of others, stage by stage."""
        for stage, seconds in others.items():
            self.add(stage, seconds)
