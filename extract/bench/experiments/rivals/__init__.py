"""Rivals: the tools that a user would take instead, with the same queries, in the same run.

Usage:
    Each of `RIVALS` takes documents and queries, and gives its time and its answers.

Always holds:
    For a tool that is not installed the result is `Absent`: a figure is never taken from elsewhere.

To add one:
    A module here with a class that is a `Rival`, listed in `RIVALS`.
"""

from __future__ import annotations

from typing import Final

from extract.bench.experiments.rivals.elementpath_ import Elementpath
from extract.bench.experiments.rivals.lxml_ import Lxml
from extract.bench.experiments.rivals.rival import Absent, Rival
from extract.bench.experiments.rivals.saxon import SaxonC
from extract.bench.experiments.rivals.xmllint import Xmllint

__all__ = ["RIVALS", "Absent", "Rival"]

RIVALS: Final[tuple[type[Rival], ...]] = (Lxml, SaxonC, Xmllint, Elementpath)
