"""The command line: thin click commands over the library.

Usage:
    ``extract COMMAND --help``; `main` runs a command line from Python.

Which to use:
    A command is a module of its own, listed in `SECTIONS` and imported only when it is called, so
    that ``extract --help`` answers at once. `options` has the options that commands share and their
    groups in the help; `config` says which value of an option holds, and `config_file` reads
    ``extract.toml``; `help` has the topics of ``extract help``; `preparing` makes a scheme from
    options; `output`, `tables`, `progress` and `terminal` are how commands write; `failures` and
    `endings` how they end.

Always holds:
    A command returns its exit status, or None for 0. It raises what the library raises:
    `ExtractGroup.invoke` is the one place that turns errors into messages and exit statuses (0 all
    done, 1 something was rejected, 2 nothing done). Messages go to standard error.

To add a command ``foo``:
    Write ``extract/cli/foo.py`` with a click command ``foo``, and list it in `SECTIONS`. One with
    many options takes them as one frozen value (`config.options_as`), as ``extract run`` does.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from typing import Any, Final, NoReturn

import click
from click.shell_completion import CompletionItem

from extract import __version__
from extract.cli.config import add_config
from extract.cli.endings import ended_in_order
from extract.cli.failures import report
from extract.cli.terminal import open_closed_streams, wants_colour

SECTIONS: Final = {
    "The whole job": {
        "run": "Find all matches of all queries in all documents.",
        "match": "Find all matches in one document or a few, and print them.",
        "join": "Join documents of streams by value, within windows.",
        "demo": "Show the whole pipeline once, on a bundled scenario.",
    },
    "Stage by stage": {
        "infer": "Write a schema that all given documents keep.",
        "trans": "Rewrite queries into their normal form under a DTD or XSD.",
        "prep": "Decide how documents are cut: the chunking scheme.",
        "chunk": "Cut documents into the chunks of a scheme, as files.",
        "filter": "Evaluate the queries on chunks that were written as files.",
    },
    "In front of another matcher": {
        "project": "Reduce a document to what the queries look at; for pipes.",
    },
    "Look into a scheme, and change it": {
        "explain": "Say why a query is in its chunk, and what the chunks are.",
        "subs": "Add, remove or list subscriptions: revise a scheme.",
    },
    "As a service": {
        "serve": "Run a broker: documents in, notifications out, over HTTP.",
    },
    "This machine": {
        "doctor": "Show versions, what is missing, and what is slow because of it.",
        "bench": "Measure, side by side with what one would do without extract.",
        "completion": "Let the shell complete commands, options and files.",
        "help": "Explain a topic: queries, schemas, results, limits, config, ...",
    },
}
COMMANDS: Final = {name: what for some in SECTIONS.values() for name, what in some.items()}

DEBUG: Final = "extract.debug"  # key in click's context.meta, which all nested contexts share


class ExtractGroup(click.Group):
    """A group whose commands load when called, and whose failures read well."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of their sections."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports a command; every one also takes ``--config`` and ``--debug``."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(
            importlib.import_module(f"extract.cli.{cmd_name}"), cmd_name
        )
        for one in (command, *getattr(command, "commands", {}).values()):
            if not any(option.name == "debug" for option in one.params):
                add_config(one)
                one.params.append(_debug_option())
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        wide = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{wide}}", what) for name, what in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes the name of a command without importing all of them."""
        completions = [
            CompletionItem(name, help=what)
            for name, what in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return completions + click.Command.shell_complete(self, ctx, incomplete)

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
        ctx.color = wants_colour()
        try:
            with ended_in_order():
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
    help="""Which of many XPath subscriptions match which XML documents, and where?

    Prepares the queries once against the documents' DTD or XSD, cuts every document into the small
    chunks that they need, and evaluates those. The answers are those of libxml2 on whole documents.

    \b
    All in one go, on Spark; without Spark with --engine local:
      extract run --schema S --queries Q docs/ -o results

    \b
    Stage by stage, each a file to look at:
      extract prep --schema S --queries Q --chunks auto -o scheme.json
      extract explain --scheme scheme.json
      extract run --scheme scheme.json docs/ --select count -o results

    \b
    In front of any other XPath tool:
      extract project --scheme scheme.json big.xml | xmllint --xpath '//name' -

    \b
    S is a .dtd or .xsd, Q has lines of id<TAB>xpath. New here? Try:
      extract demo --engine local
    """,
    epilog="""Exit status: 0 all done; 1 done, but some document or query was rejected; 2 nothing
    done. NO_COLOR=1 turns colours off. `extract COMMAND --help` has examples, `extract help` lists
    topics.""",
    context_settings={"help_option_names": ["--help", "-h"]},
)
click.version_option(__version__, prog_name="extract", message="%(prog)s %(version)s")(cli)


def main(args: list[str] | None = None) -> Any:
    """Runs the ``extract`` command and exits."""
    open_closed_streams()
    return cli.main(args, prog_name="extract")
