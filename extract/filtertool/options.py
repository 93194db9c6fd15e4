"""The options of a filter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from extract.filtertool.matchers.protocol import Select
from extract.limits import Limits

IN_MEMORY: Final = 1 << 27  # bytes; larger documents are not read into memory


@dataclass(frozen=True, slots=True)
class Options:
    """How documents are filtered.

    Attributes:
        select: Whether rows are nodes, numbers of nodes, only which queries match, or what FLWR
            queries make of them.
        on_nonconforming: The policy for documents that break the schema: evaluate them whole
            (``"fallback"``), or reject them (``"reject"``).
        assume_valid: Trust that documents keep to the schema, and check less.
        standalone: Make the XML of elements well-formed on its own.
        kernel: Whether to use the kernel or the reference scanner; None for the faster one.
        limits: The largest size, depth and cost of documents and answers.
        in_memory: Bytes up to which a document is read into memory. Of a larger one only the parts
            that queries look at are.
        priority: Evaluate chunks with the heaviest subscribers first.
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

    @property
    def in_parts(self) -> bool:
        """Whether the work on a large document may be shared; results of FLWR want all of it."""
        return self.select != "output"
