"""``--quiet`` and ``--verbose``: how much a command says on standard error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import IntEnum
from typing import Any, TypeVar, cast

import click

Command = TypeVar("Command", bound=Callable[..., Any])


class Verbosity(IntEnum):
    """How much a command says: only errors and rejections, the usual, or all that there is."""

    QUIET = 0
    USUAL = 1
    VERBOSE = 2

    def few(self, usual: int) -> int | None:
        """How many of a kind are shown one by one; None for all."""
        return None if self is Verbosity.VERBOSE else usual

    def progress(self, wanted: bool | None) -> bool | None:
        """Whether to show progress, given what ``--progress`` says."""
        return False if self is Verbosity.QUIET else wanted


def verbosity_options(command: Command) -> Command:
    """``--quiet`` and ``--verbose``; the command gets them as ``verbosity``."""

    @functools.wraps(command)
    def gathered(*args: Any, quiet: bool, verbose: bool, **kwargs: Any) -> Any:
        if quiet and verbose:
            raise click.UsageError("Give --quiet or --verbose, but not both.")
        verbosity = Verbosity.QUIET if quiet else Verbosity.USUAL
        return command(*args, verbosity=Verbosity.VERBOSE if verbose else verbosity, **kwargs)

    made: Any = gathered
    for name, about in (
        ("--verbose", "Show all notes and rejections, not only the first."),
        ("--quiet", "Show nothing but errors and rejections."),
    ):
        made = click.option(name, is_flag=True, help=about)(made)
    return cast("Command", made)
