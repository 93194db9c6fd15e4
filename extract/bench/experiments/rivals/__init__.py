"""What a user would pick instead: other tools, asked the same, in the same run.

In: documents and queries. Out: for each tool its time and its answers; for one that is not
installed, that it is not: a figure is never taken from elsewhere.

To add one: a module here with a class that is a `Rival`, listed in `RIVALS`.
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
