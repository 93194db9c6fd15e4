"""Query files, and the queries that are read from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from extract import Subscriptions

Write = Callable[..., Path]


def pairs(subscriptions: Subscriptions) -> list[tuple[str, str]]:
    return [(entry.id, entry.xpath) for entry in subscriptions]
