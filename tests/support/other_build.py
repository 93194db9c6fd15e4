"""A pytest plug-in: runs tests with another build of the parts in C than the installed one.

OTHER_BUILD=path/to/lib python -m pytest -p tests.support.other_build
tests/chunktool/scan/test_kernel.py
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path

PARTS = (
    "extract.chunktool.scan.kernel._kernel",
    "extract.chunktool.scan.kernel._tally",
    "extract.filtertool.matchers.columnar._sets",
    "extract.filtertool.matchers.columnar._spines",
    "extract.filtertool.matchers.columnar._values",
    "extract.filtertool.matchers.push._node_columns",
    "extract.filtertool.matchers.push._push",
    "extract.subscriptions._lines",
    "extract.xpath._tokens",
)


class _Finder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        if name not in PARTS:
            return None
        *folders, last = name.split(".")
        (found,) = Path(os.environ["OTHER_BUILD"], *folders).glob(f"{last}.*")
        return importlib.util.spec_from_file_location(name, found)


if "OTHER_BUILD" in os.environ:
    assert not set(PARTS) & set(sys.modules), "too late: they are there already"
    sys.meta_path.insert(0, _Finder)
