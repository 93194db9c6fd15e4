"""Scenarios on the command line: which there are, and where real data for them may be."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from extract.scenarios import scenarios

SHARED: Final = Path("..") / "shared" / "data"


def shared_data() -> Path | None:
    """The folder with real data beside the project, if it is there."""
    return SHARED if SHARED.is_dir() else None


def scenario_list() -> str:
    """The scenarios for a help text, one a line."""
    return "\n".join(f"  {name:<10} {title}" for name, title in scenarios().items())
