"""Keeps pandas out of the workers of `extract run`.

pyarrow imports pandas at its first conversion, if pandas is installed, and pyspark installs it.
That takes a third of a second in each worker, and extract has no use for it. Workers of a session
that is the user's own are left alone, because the user's functions may need pandas there.
"""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder
from typing import Final

VARIABLE: Final = "EXTRACT_WITHOUT_PANDAS"  # of the environment: this worker has only tasks of ours


class _NoPandas(MetaPathFinder):
    """Says of pandas that it is not installed."""

    def find_spec(self, name: str, _path: object, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out", name=name)


def leave_pandas_out() -> None:
    """Lets pyarrow do without pandas in this process, if the environment says so."""
    if VARIABLE not in os.environ or "pandas" in sys.modules:
        return
    import pyarrow as pa  # not above: the driver, which imports this module, has no use for it yet

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.scalar(0)  # pyarrow looks for pandas once, and does it now
    finally:
        sys.meta_path.remove(finder)
