"""Hostile subscriptions at random: see `tests.support.fuzz.registrations`."""

from __future__ import annotations

from pathlib import Path

from tests.support.fuzz.registrations import run


def test_hostile_subscriptions_stop_nothing(tmp_path: Path) -> None:
    answers = run(tmp_path, bodies=120, seed=7, rounds=2)
    assert answers["201"] > 5
    assert answers["422"] > 30
    assert not [status for status in answers if not status.startswith(("2", "4"))]
