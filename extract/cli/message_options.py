"""The options for files that hold many documents, as one value."""

from __future__ import annotations

import functools
from typing import Any, cast

import click

from extract.chunktool.input.messages.form import KINDS, MessageOptions
from extract.cli.options import Command

_OPTIONS = (
    click.option(
        "--messages",
        type=click.Choice(KINDS),
        help="Every file holds many documents: XML documents one after the other, lines of JSON, "
        "or rows of Parquet or Arrow. Without it, *.ndjson, *.jsonl, *.parquet and *.arrow do.",
    ),
    click.option(
        "--records",
        metavar="TAG",
        help="Every element TAG of an XML file, the outermost ones, is a document of its own.",
    ),
    click.option(
        "--column",
        metavar="NAME",
        help="The column or key with the documents, in files of rows or lines; usually document.",
    ),
    click.option(
        "--name-column",
        metavar="NAME",
        help="The column or key with their names; usually name, where there is one.",
    ),
)


def message_options(command: Command) -> Command:
    """Adds ``--messages`` and what belongs to it; the command gets them as ``messages``."""

    @functools.wraps(command)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        given = [kwargs.pop(name) for name in ("messages", "records", "column", "name_column")]
        return command(*args, messages=_checked(MessageOptions(*given)), **kwargs)

    made: Any = gathered
    for one in reversed(_OPTIONS):
        made = one(made)
    return cast("Command", made)


def _checked(options: MessageOptions) -> MessageOptions:
    """The options, if they go together.

    Raises:
        click.UsageError: They do not.
    """
    rows = options.column is not None or options.names is not None
    if options.records is not None and options.kind not in (None, "xml"):
        raise click.UsageError("--records is for XML files: leave --messages out.")
    if rows and (options.records is not None or options.kind == "xml"):
        raise click.UsageError(
            "--column and --name-column are for files of rows or lines, not XML."
        )
    if options.records is not None and (not options.records or set(options.records) & set(" <>/&")):
        raise click.UsageError("--records takes the name of an element, as it is in the file.")
    return options
