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


def _parts(folder: Path) -> dict[str, Path]:
    """All parts in C that were built, by the names of their modules."""
    parts = {}
    for file in folder.rglob("*.so"):
        packages = file.parent.relative_to(folder).parts
        parts[".".join([*packages, file.name.split(".")[0]])] = file
    return parts


PARTS = _parts(Path(os.environ["OTHER_BUILD"])) if "OTHER_BUILD" in os.environ else {}


class _Finder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        if name not in PARTS:
            return None
        return importlib.util.spec_from_file_location(name, PARTS[name])


if "OTHER_BUILD" in os.environ:
    assert PARTS, "nothing was built there"
    assert not set(PARTS) & set(sys.modules), "too late: they are there already"
    sys.meta_path.insert(0, _Finder)
