"""Whether the parts of the columnar matcher in C are there."""

from __future__ import annotations

import importlib
import os
from typing import Any, Final, Literal

ENVIRONMENT: Final = "EXTRACT_COLUMNAR"  # "off": never use C; "on": never do without


def _load() -> dict[str, Any]:
    try:
        return {
            name: importlib.import_module(f"extract.filtertool.matchers.columnar._{name}")
            for name in ("sets", "spines", "values")
        }
    except ImportError:  # there was no compiler
        return {}


_modules: Final = _load()


def native_module(name: Literal["sets", "spines", "values"]) -> Any:
    """A part in C."""
    return _modules[name]


def native_built() -> bool:
    """Whether the parts in C are there."""
    return bool(_modules)


def native_available() -> bool:
    """Whether the parts in C are there and may be used."""
    wanted = os.environ.get(ENVIRONMENT, "")
    if wanted == "on" and not _modules:
        raise ImportError("the native parts of the columnar matcher are not built")
    return bool(_modules) and wanted != "off"
