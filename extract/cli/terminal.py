"""What a terminal gets and a pipe does not: colours, and lines that fit its width."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console


def wants_colour() -> bool | None:
    """Whether colours may be shown: False if the environment forbids it, None to ask the terminal.

    NO_COLOR (https://no-color.org), whatever it says, and a dumb terminal both mean no.
    """
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def is_terminal(err: bool = False) -> bool:
    """Whether a person looks at standard output, or at standard error."""
    stream = sys.stderr if err else sys.stdout
    return stream is not None and stream.isatty()


def open_closed_streams() -> None:
    """Opens the standard streams that are closed, as after ``>&-``.

    Else the next file or pipe would get the number of one, and libraries write to these numbers.
    Nothing is there to read, messages go nowhere, and what goes to standard output fails: it would
    be lost unseen.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR if name == "stderr" else os.O_RDONLY)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: SIM115


def console(err: bool = False) -> Console:
    """Rich's view of standard output, or of standard error. Takes a moment to import."""
    from rich.console import Console

    return Console(stderr=err, highlight=False, markup=False, emoji=False)


def warn(message: str) -> None:
    """Says on standard error what was rejected, with its first word in colour."""
    first, colon, rest = message.partition(":")
    click.echo(f"{click.style(first + colon, fg='yellow')}{rest}", err=True)
