"""The parts in C that read expressions, where they were compiled.

``EXTRACT_SUBSCRIPTIONS=off`` in the environment never uses them.
"""

from __future__ import annotations

import importlib
import os
from typing import Any


def native(name: str) -> Any:
    """A module of this package that was compiled; None if it was not, or may not be used."""
    if os.environ.get("EXTRACT_SUBSCRIPTIONS") == "off":
        return None
    try:
        return importlib.import_module(f"extract.xpath.{name}")
    except ImportError:  # there was no compiler
        return None
