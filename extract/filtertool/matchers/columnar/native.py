"""Finds the compiled modules of the columnar matcher."""

from __future__ import annotations

import importlib
import os
from typing import Any, Final, Literal

ENVIRONMENT: Final = "EXTRACT_COLUMNAR"  # "off": never use C; "on": require it


def _load() -> dict[str, Any]:
    try:
        return {
            name: importlib.import_module(f"extract.filtertool.matchers.columnar._{name}")
            for name in ("join", "lexicon", "sets", "spines", "values")
        }
    except ImportError:  # the package was installed without a compiler
        return {}


_modules: Final = _load()


def native_module(name: Literal["join", "lexicon", "sets", "spines", "values"]) -> Any:
    """Returns a compiled module."""
    return _modules[name]


def native_built() -> bool:
    """Whether the modules are compiled."""
    return bool(_modules)


def native_available() -> bool:
    """Whether the modules are compiled and may be used."""
    setting = os.environ.get(ENVIRONMENT, "")
    if setting == "on" and not _modules:
        raise ImportError("the native parts of the columnar matcher are not built")
    return bool(_modules) and setting != "off"
