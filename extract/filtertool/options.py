"""How documents are filtered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from extract.chunktool.scan import ScanLimits
from extract.filtertool.cutting import IN_MEMORY
from extract.filtertool.matcher import Select

MAX_VALUE_BYTES: Final = 1 << 24
MAX_WHOLE_BYTES: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class Options:
    """How documents are filtered.

    Attributes:
        select: Whether to give nodes, numbers of nodes, or only which queries match.
        on_nonconforming: What to do with a document that breaks the schema: evaluate it whole
            (``"fallback"``), or reject it (``"reject"``).
        assume_valid: Trust that documents keep to the schema, and look less closely.
        max_value_bytes: How many bytes a value may have; longer ones are left out. None for any.
        max_whole_bytes: How many bytes a document may have that is evaluated whole.
        seconds: How long a query that may take very long can take on a document.
        standalone: Give elements as XML that stands alone.
        kernel: Which scanner to use; None for the fastest.
        limits: How large documents may be in the small.
        in_memory: How large a document may be that is read into memory; of larger ones only what
            the queries look at is.
        priority: Evaluate those chunks first whose subscribers weigh most.
    """

    select: Select = "nodes"
    on_nonconforming: Literal["fallback", "reject"] = "fallback"
    assume_valid: bool = False
    max_value_bytes: int | None = MAX_VALUE_BYTES
    max_whole_bytes: int = MAX_WHOLE_BYTES
    seconds: float = 60.0
    standalone: bool = False
    kernel: bool | None = None
    limits: ScanLimits = field(default_factory=ScanLimits)
    in_memory: int = IN_MEMORY
    priority: bool = False
