"""What the user sees when a command fails, and the exit status it leaves with."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback

import click

from extract.cli.endings import Terminated
from extract.errors import NO_ROOM, ExtractError
from extract.files import DISK_FULL

_HINTS: dict[type[OSError], str] = {
    FileExistsError: "choose another name; extract replaces only its own results",
    FileNotFoundError: "check the name; relative names start at the current directory",
    IsADirectoryError: "name a file, not a directory",
    NotADirectoryError: "one of the directories in the name is a file",
    PermissionError: "check its permissions, or choose another place",
}


def report(error: BaseException, debug: bool) -> int:
    """Says on standard error what went wrong, and returns the exit status.

    Args:
        error: What a command raised.
        debug: Show the traceback first.
    """
    _flush_stdout()
    if isinstance(error, BrokenPipeError):
        return 128 + 13  # as if SIGPIPE had ended it: `extract trans … | head` is no failure
    if isinstance(error, click.ClickException):
        error.show()  # click's own 1 would mean "done, but something was rejected" here
        example = _example(error.ctx) if isinstance(error, click.MissingParameter) else ""
        if example:
            click.echo(f"Hint: for example, {example}", err=True)
        return 2
    if debug:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if isinstance(error, Terminated):
        click.echo("Terminated.", err=True)
        return 128 + error.signal
    if isinstance(error, KeyboardInterrupt | click.Abort):
        click.echo("Interrupted.", err=True)
        return 128 + 2
    click.echo(f"{click.style('Error:', fg='red', bold=True)} {_describe(error)}", err=True)
    return 2


def _example(ctx: click.Context | None) -> str:
    """The first example in the help of a command; those of a group show its commands."""
    while ctx is not None:
        _, _, examples = (ctx.command.help or "").partition("Example:\n")
        if examples:
            return examples.strip().splitlines()[0]
        ctx = ctx.parent
    return ""


def _describe(error: BaseException) -> str:
    """One readable message, with a hint where there is one."""
    if isinstance(error, ExtractError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        named = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        hint = next((h for kind, h in _HINTS.items() if isinstance(error, kind)), "")
        hint = NO_ROOM if error.errno in DISK_FULL else hint
        return f"{named}{error.strerror}" + (f"\nHint: {hint}" if hint else "")
    if isinstance(error, ImportError):
        return f"a module cannot be loaded: {error}\nHint: `extract doctor` shows what is missing"
    first_line = next(iter(str(error).splitlines()), "")
    what = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
    return (
        f"internal error: {what}\n"
        "Hint: this is a fault of extract, not yours; run with --debug for the traceback"
    )


def _flush_stdout() -> None:
    """Writes what was printed before the error, or lets it go where it cannot be written.

    Otherwise Python would try again when it ends, and complain over our message.
    """
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):  # a test's stdout has no descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
