"""A pytest plug-in: runs tests with another build of the kernel than the installed one.

OTHER_KERNEL=path/to/_kernel.so python -m pytest -p tests.other_kernel tests/test_kernel.py
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec

KERNEL = "extract.chunktool.kernel._kernel"


class _Finder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        if name != KERNEL:
            return None
        return importlib.util.spec_from_file_location(KERNEL, os.environ["OTHER_KERNEL"])


if "OTHER_KERNEL" in os.environ:
    assert KERNEL not in sys.modules, "too late: the kernel is there already"
    sys.meta_path.insert(0, _Finder)
