"""Finds the compiled module that describes nodes."""

from __future__ import annotations

import importlib
import os
from typing import Any, Final

ENVIRONMENT: Final = "EXTRACT_KERNEL"  # "off": nothing of the parts in C is used


def _load() -> Any:
    try:
        return importlib.import_module("extract.filtertool.results._nodes")
    except ImportError:  # the package was installed without a compiler
        return None


_module: Final = _load()


def native_nodes() -> Any:
    """Returns the compiled module; None if it was not built, or is not to be used."""
    return None if os.environ.get(ENVIRONMENT) == "off" else _module
