"""The command line: thin click commands over the library.

Each command is a module of its own here, listed in `COMMANDS` and imported only when it is called,
so that ``extract --help`` answers at once. A command returns its exit status, or None for 0. It
raises what the library raises: `ExtractGroup.invoke` is the one place that turns errors into
messages and exit statuses.

To add a command ``foo``: write ``extract/cli/foo.py`` with a click command ``foo``, and list it.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from typing import Any, Final, NoReturn

import click

from extract import __version__
from extract.cli.failures import report

COMMANDS: Final = {
    "trans": "Rewrite queries into their normal form under a DTD or XSD.",
    "prep": "Decide how documents are cut for the queries: the chunking scheme.",
    "chunk": "Cut documents into the chunks of a scheme, as files.",
    "project": "Reduce a document to what the queries look at; for pipes.",
    "filter": "Evaluate the queries on chunks that were written as files.",
    "run": "Find all matches of all queries in all documents.",
    "explain": "Say why a query is in its chunk, and what the chunks are.",
    "subs": "Add, remove or list subscriptions: revise a scheme.",
    "demo": "Run the whole pipeline on a bundled scenario, and say what happens.",
    "bench": "Measure, side by side with what one would do without extract.",
    "doctor": "Show versions, what is missing, and what is slow because of it.",
}

DEBUG: Final = "extract.debug"  # key in click's context.meta, which all nested contexts share


class ExtractGroup(click.Group):
    """A group whose commands load when called, and whose failures read well."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the pipeline."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports a command; every one also takes ``--debug``."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(
            importlib.import_module(f"extract.cli.{cmd_name}"), cmd_name
        )
        for one in (command, *getattr(command, "commands", {}).values()):
            if not any(option.name == "debug" for option in one.params):
                one.params.append(_debug_option())
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command called; for a misspelt one, names the nearest."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Runs the command and leaves with its exit status, whatever happens."""
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()  # a closed pipe must show here, not when Python ends
        except click.exceptions.Exit:
            raise
        except (Exception, KeyboardInterrupt) as error:
            status = report(error, debug=ctx.meta.get(DEBUG, False))
        ctx.exit(status or 0)


def _remember_debug(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[DEBUG] = True


def _debug_option() -> click.Option:
    return click.Option(
        ["--debug"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_remember_debug,
        help="Show the traceback of an error.",
    )


cli = ExtractGroup(
    name="extract",
    params=[_debug_option()],
    help="""Which of many XPath subscriptions match which of many XML documents?

    Exit status: 0 all done; 1 done, but some document or query was rejected; 2 nothing done.
    """,
    context_settings={"help_option_names": ["--help", "-h"]},
)
click.version_option(__version__, prog_name="extract", message="%(prog)s %(version)s")(cli)


def main(args: list[str] | None = None) -> Any:
    """Runs the ``extract`` command and exits."""
    return cli.main(args, prog_name="extract")
