"""Whether the part of the columnar matcher in C is there."""

from __future__ import annotations

import importlib
import os
from typing import Any, Final

ENVIRONMENT: Final = "EXTRACT_COLUMNAR"  # "off": never use C; "on": never do without


def _load() -> Any:
    try:
        return importlib.import_module("extract.filtertool.columnar._columnar")
    except ImportError:  # there was no compiler
        return None


_module: Final = _load()


def native_module() -> Any:
    """The part in C."""
    return _module


def native_available() -> bool:
    """Whether the part in C is there and may be used."""
    wanted = os.environ.get(ENVIRONMENT, "")
    if wanted == "on" and _module is None:
        raise ImportError("the native part of the columnar matcher is not built")
    return _module is not None and wanted != "off"
