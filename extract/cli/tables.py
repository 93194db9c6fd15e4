"""Tables for people: aligned text in a pipe, and on a terminal with a head that stands out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from extract.cli.terminal import console, is_terminal
from extract.preptool.explain.chunk_report import CHUNK_COLUMNS, chunk_rows
from extract.preptool.explain.labels import printable
from extract.scheme import Scheme


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns.

    Attributes:
        columns: The heads; all empty for a table without.
        rows: A text for each column.
        right: Which columns are numbers, by position from 0.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[int] = frozenset()

    def __str__(self) -> str:
        """Plain text, each row one line however long.

        >>> print(Table(("name", "n", "what"), [("a", "1", "x"), ("bbbbb", "20", "")], {1}))
        name    n  what
        a       1  x
        bbbbb  20
        """
        head = [self.columns] if any(self.columns) else []
        cells = [[printable(cell) for cell in row] for row in (*head, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if at in self.right else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join(lines)

    def show(self, err: bool = False) -> None:
        """Prints it to standard output, or to standard error."""
        if not is_terminal(err):
            click.echo(str(self), err=err)
            return
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(
            box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=any(self.columns)
        )
        for at, name in enumerate(self.columns):
            # A long text at the end goes on in the next line; nothing is cut off.
            table.add_column(
                Text(name.replace(" ", "\n"), style="bold"),
                justify="right" if at in self.right else "left",
                no_wrap=at < len(self.columns) - 1,
                overflow="fold",
            )
        for row in self.rows:
            table.add_row(*[Text(printable(cell)) for cell in row])
        console(err).print(table)


def chunk_table(scheme: Scheme) -> Table:
    """The chunks of a scheme."""
    return Table(CHUNK_COLUMNS, chunk_rows(scheme), frozenset(range(1, 6)))
