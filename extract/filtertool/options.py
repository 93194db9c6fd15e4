"""The options of a filter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from extract.filtertool.matchers.protocol import Select
from extract.limits import Limits

IN_MEMORY: Final = 1 << 27  # bytes of a document that are read into memory


@dataclass(frozen=True, slots=True)
class Options:
    """How documents are filtered.

    Attributes:
        select: Whether to give nodes, numbers of nodes, or only which queries match.
        on_nonconforming: What to do with a document that breaks the schema: evaluate it whole
            (``"fallback"``), or reject it (``"reject"``).
        assume_valid: Trust that documents keep to the schema, and check less.
        standalone: Give elements as XML that stands alone.
        kernel: Which scanner to use; None for the fastest.
        limits: How large, deep and costly documents and answers may be.
        in_memory: Bytes up to which a document is read into memory. Of a larger one only what the
            queries look at is read.
        priority: Evaluate those chunks first whose subscribers weigh most.
        joined: Metadata that rows get as columns, as `extract.filtertool.output.joined` says:
            keys, or ``COLUMN=KEY``.
    """

    select: Select = "nodes"
    on_nonconforming: Literal["fallback", "reject"] = "fallback"
    assume_valid: bool = False
    standalone: bool = False
    kernel: bool | None = None
    limits: Limits = field(default_factory=Limits)
    in_memory: int = IN_MEMORY
    priority: bool = False
    joined: tuple[str, ...] = ()
