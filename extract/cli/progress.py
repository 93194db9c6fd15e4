"""The progress of a command on standard error: on a terminal, one line that is updated.

In a pipe, in a log and under CI there is none, unless --progress asks for it; then it is a plain
line every few seconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from extract.cli.terminal import console, is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_REFRESH: Final = 0.1  # seconds between two pictures
_LINE: Final = 5.0  # seconds between two lines, where nothing can move

progress_option = click.option(
    "--progress/--no-progress",
    default=None,
    help="Show how far it is; by default on a terminal only, and not under CI.",
)


class Display:
    """Counts what is done, and shows it now and then.

    Args:
        total: How much there is to do.
        unit: Of what.
        show: Shows a text for so much done; called at most every ``every`` seconds.
        say: Prints a message that stays.
        every: How often to show.
    """

    def __init__(
        self,
        total: int,
        unit: str,
        show: Callable[[Display], None],
        say: Callable[[str], None],
        every: float,
    ) -> None:
        self.total = total
        self.unit = unit
        self.done = self.bytes = self.matches = self.rejected = 0
        self.say = say
        self._show = show
        self._every = every
        self._started = self._shown = time.perf_counter()

    def advance(self, done: int = 1, size: int = 0, matches: int = 0, rejected: int = 0) -> None:
        """Takes note of what was done since the last call; may be nothing."""
        self.done += done
        self.bytes += size
        self.matches += matches
        self.rejected += rejected
        now = time.perf_counter()
        if now - self._shown >= self._every:
            self._shown = now
            self._show(self)

    def __str__(self) -> str:
        """What is done, in words.

        >>> display = Display(8_000, "documents", print, print, 1e9)
        >>> display.advance(1_200, 0, 345_678, 2)
        >>> print(display)
        1,200/8,000 documents · 345,678 matches · 2 rejected
        """
        parts = [f"{self.done:,}/{self.total:,} {self.unit}"]
        if self.bytes:
            seconds = max(1e-9, time.perf_counter() - self._started)
            parts.append(f"{self.bytes / seconds / 1e6:,.1f} MB/s")
        if self.matches:
            parts.append(f"{self.matches:,} matches")
        if self.rejected:
            parts.append(f"{self.rejected:,} rejected")
        return " · ".join(parts)


@contextmanager
def progress(total: int, wanted: bool | None, unit: str = "documents") -> Iterator[Display]:
    """Shows how far the block is.

    Args:
        total: How much there is to do.
        wanted: Whether to show anything; None for what is usual there.
        unit: Of what.

    Yields:
        The display; call its `advance` for everything that is done.
    """
    moving = is_terminal(err=True) and os.environ.get("TERM") != "dumb"
    if not (moving and not os.environ.get("CI") if wanted is None else wanted):
        yield Display(total, unit, lambda _: None, _echo, float("inf"))
    elif not moving:
        display = Display(total, unit, lambda shown: _echo(str(shown)), _echo, _LINE)
        yield display
        _echo(str(display))
    else:
        with _bar() as bar:
            task = bar.add_task("", total=total, what="")

            def show(display: Display) -> None:
                bar.update(task, completed=display.done, what=str(display))
                bar.refresh()

            display = Display(total, unit, show, lambda text: bar.console.print(text), _REFRESH)
            show(display)
            yield display
            show(display)


def _bar() -> RichProgress:
    """A line that goes away when all is done; the summary says the same.

    It has no thread of its own: workers are forked from this process, and a thread that holds a
    lock at that moment would leave it locked in them.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        BarColumn(bar_width=16),
        TextColumn("{task.fields[what]}", markup=False),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=console(err=True),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )


def _echo(text: str) -> None:
    click.echo(text, err=True)
