"""Where things are in the project."""

from __future__ import annotations

from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).resolve().parent.parent
ROOT: Final = TESTS.parent
SCHEMAS: Final = ROOT / "schemas"
FIXTURES: Final = TESTS / "fixtures"
