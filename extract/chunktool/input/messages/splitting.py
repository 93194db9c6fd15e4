"""The splitters: those in C where they were compiled, else those in Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

ENVIRONMENT: Final = "EXTRACT_KERNEL"  # "off": nothing of the parts in C is used

if TYPE_CHECKING:
    from extract.chunktool.input.messages._split import (
        DocumentSplitter,
        RecordSplitter,
        completed,
        pieces,
    )
else:
    try:
        if os.environ.get(ENVIRONMENT, "") == "off":
            raise ImportError
        from extract.chunktool.input.messages._split import (
            DocumentSplitter,
            RecordSplitter,
            completed,
            pieces,
        )
    except ImportError:
        from extract.chunktool.input.messages.reference_split import (
            DocumentSplitter,
            RecordSplitter,
            completed,
            pieces,
        )

__all__ = ["DocumentSplitter", "RecordSplitter", "completed", "pieces"]
