"""Whether the engine was compiled."""

from __future__ import annotations

import importlib
import os
from functools import cache

from extract.errors import MatcherError

ENVIRONMENT = "EXTRACT_KERNEL"  # "off": nothing of the parts in C is used


@cache
def _compiled() -> bool:
    try:
        importlib.import_module("extract.filtertool.matchers.push._push")
    except ImportError:
        return False
    return True


def native_available() -> bool:
    """Whether the engine was compiled, and may be used."""
    return os.environ.get(ENVIRONMENT, "") != "off" and _compiled()


def require_native() -> None:
    """Makes sure that the engine can be used.

    Raises:
        MatcherError: It cannot.
    """
    if not native_available():
        hint = "install a C compiler and install extract again, or use --matcher auto"
        raise MatcherError("the matcher push is not compiled", hint)
