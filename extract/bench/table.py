"""A benchmark's result: a table as text, and the same as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Rows under columns, with a title and remarks."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str | int | float]]
    remarks: tuple[str, ...] = ()
    machine: str = field(
        default_factory=lambda: (
            f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
        )
    )

    def __str__(self) -> str:
        head = [self.title, f"({self.machine})", ""]
        return "\n".join([*head, *self.grid(), *(("", *self.remarks) if self.remarks else ())])

    def grid(self) -> list[str]:
        """Columns and rows, as lines."""
        cells = [list(self.columns), *[[shown(c) for c in row] for row in self.rows]]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        rule = "-" * max(map(len, lines))
        return [lines[0], rule, *lines[1:]]

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "title": self.title,
            "machine": self.machine,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "remarks": list(self.remarks),
        }


def shown(value: str | int | float) -> str:
    """A cell of a table as text.

    >>> shown(3.14159), shown(1234.5), shown(0.00123), shown(2000), shown("x")
    ('3.14', '1,234', '0.0012', '2,000', 'x')
    """
    if isinstance(value, float):
        if 0 < value < 0.01:
            return f"{value:.2g}"
        return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value
