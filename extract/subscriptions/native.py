"""The parts in C that read query files and look templates up, where they were compiled.

``EXTRACT_SUBSCRIPTIONS=off`` in the environment never uses them, ``on`` never does without.
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any, Final

ENVIRONMENT: Final = "EXTRACT_SUBSCRIPTIONS"


def native_lines() -> Any:
    """The module that reads lines; None if it was not compiled, or may not be used."""
    return _native("extract.subscriptions._lines")


def native_tokens() -> Any:
    """The module that reads tokens; None if it was not compiled, or may not be used."""
    return _native("extract.xpath._tokens")


def native_members() -> Any:
    """The module that keeps members; None if it was not compiled, or may not be used."""
    return _native("extract.subscriptions._members")


def _native(name: str) -> Any:
    return _loaded(name, os.environ.get(ENVIRONMENT, ""))


@cache
def _loaded(name: str, wanted: str) -> Any:
    if wanted == "off":
        return None
    try:
        return importlib.import_module(name)
    except ImportError:  # there was no compiler
        if wanted == "on":
            raise
        return None
