"""Options that several commands share, so that they look and behave the same everywhere.

Each is a decorator:

    @click.command()
    @schema_option
    @output_option
    def prep(schema: str, output: str) -> None: ...

Where commands differ in one point (whether an option is required, what its help says), there is a
function that makes the decorator: ``@output_directory_option("Where the results go.")``.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import Field
from typing import Any, Final, Literal, TypeVar, cast

import click

from extract.limits import Group, Limits, limits_of, option
from extract.subscriptions.bindings import parse_binding
from extract.xpath.later import FIRST, VERSIONS

Command = TypeVar("Command", bound=Callable[..., Any])

# The library reports a file that is missing or unreadable, and does it better than click.Path.
_FILE = click.Path()


def _bindings(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """All ``--ns`` together; two meanings for one prefix are a slip."""
    bindings: dict[str, str] = {}
    for text in texts:
        try:
            prefix, uri = parse_binding(text)
        except ValueError as error:
            reason = f"{error}. Write for example --ns po=urn:example:orders"
            raise click.BadParameter(reason, ctx, param) from None
        if bindings.setdefault(prefix, uri) != uri:
            reason = f"the prefix {prefix!r} is bound to both {bindings[prefix]!r} and {uri!r}."
            raise click.BadParameter(reason, ctx, param)
    return bindings


def _chunk_number(ctx: click.Context, param: click.Parameter, text: str) -> int | Literal["auto"]:
    """A number of chunks, or ``auto``; whether there can be so many is not decided here."""
    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number nor auto.", ctx, param) from None


def _schema_option(required: bool, inferred_from: str = "") -> Callable[[Command], Command]:
    about = "The DTD or XSD."
    if inferred_from:
        about += f" Without it a schema is inferred from {inferred_from}; none is for any document."
    return click.option("--schema", "-s", required=required, type=_FILE, metavar="FILE", help=about)


def _queries_option(required: bool) -> Callable[[Command], Command]:
    return click.option(
        "--queries",
        "-q",
        required=required,
        type=_FILE,
        metavar="FILE",
        help="The queries: lines of id<TAB>xpath, or .jsonl; also gzipped. - is standard input.",
    )


expressions_option = click.option(
    "--expression",
    "-e",
    "expressions",
    multiple=True,
    metavar="XPATH",
    help="A query, in place of a file of queries; may be repeated: their ids are 1, 2, ….",
)


def chunks_option(about: str) -> Callable[[Command], Command]:
    """``--chunks``: a number, or ``auto``."""
    return click.option(
        "--chunks",
        "-n",
        default="auto",
        show_default=True,
        callback=_chunk_number,
        metavar="N|auto",
        help=f"Into how many chunks to cut documents{about}",
    )


def sample_option(about: str) -> Callable[[Command], Command]:
    """``--sample``: documents that are like those to come."""
    return click.option("--sample", multiple=True, type=click.Path(), metavar="DOC", help=about)


def output_directory_option(about: str, default: str | None = None) -> Callable[[Command], Command]:
    """``--output`` for a directory; required unless there is a default."""
    need: dict[str, Any] = {"required": True}
    if default is not None:
        need = {"default": default, "show_default": True}
    return click.option("--output", "-o", type=click.Path(), metavar="DIR", help=about, **need)


def engine_option(
    about: str, default: str | None = "spark", show_default: bool | str = True
) -> Callable[[Command], Command]:
    """``--engine``: Spark, or the processes of this machine."""
    return click.option(
        "--engine",
        default=default,
        show_default=show_default,
        type=click.Choice(["spark", "local"]),
        help=about,
    )


schema_option = _schema_option(required=True)
queries_option = _queries_option(required=True)
optional_queries_option = _queries_option(required=False)
root_option = click.option(
    "--root", metavar="NAME", help="The document element, where the schema leaves it open."
)
namespaces_option = click.option(
    "--ns",
    "namespaces",
    multiple=True,
    metavar="P=URI",
    callback=_bindings,
    help="Bind a prefix for queries and --root; may be repeated.",
)
xpath_version_option = click.option(
    "--xpath-version",
    "version",
    default=FIRST,
    show_default=True,
    type=click.Choice(VERSIONS),
    help="Of the queries that do not say it themselves. Those after 1.0 are evaluated by "
    "elementpath on whole documents.",
)


def query_options(required: bool, inferred_from: str) -> Callable[[Command], Command]:
    """The options that say what the queries mean: ``--schema``, ``--queries`` and three more.

    Args:
        required: Whether queries must be given.
        inferred_from: What a schema is inferred from if none is given, for the help.
    """

    def decorate(command: Command) -> Command:
        for option_ in (
            xpath_version_option,
            namespaces_option,
            root_option,
            _queries_option(required),
            _schema_option(False, inferred_from),
        ):
            command = option_(command)
        return command

    return decorate


def _scheme_option(required: bool) -> Callable[[Command], Command]:
    return click.option(
        "--scheme",
        required=required,
        type=_FILE,
        metavar="FILE|URL",
        help="The chunking scheme that `extract prep` wrote: a file, duckdb:FILE or "
        "postgresql://….",
    )


scheme_option = _scheme_option(required=True)
optional_scheme_option = _scheme_option(required=False)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
output_option = click.option(
    "--output",
    "-o",
    default="-",
    type=_FILE,
    metavar="FILE",
    help="Where the result goes; by default, and for -, standard output.",
)
on_nonconforming_option = click.option(
    "--on-nonconforming",
    default="fallback",
    show_default=True,
    type=click.Choice(["fallback", "reject"]),
    help="What to do with a document that breaks the schema: take it whole, or reject it.",
)
assume_valid_option = click.option(
    "--assume-valid",
    is_flag=True,
    help="Trust that documents keep to the schema, and look less closely; faster, but where one "
    "does not, matches may be missed.",
)
matcher_option = click.option(
    "--matcher",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="What evaluates the queries; `extract doctor` lists the matchers. With sql, the database "
    "of --scheme matches.",
)
select_option = click.option(
    "--select",
    default="nodes",
    show_default=True,
    type=click.Choice(["nodes", "count", "doc", "output"]),
    help="Every node, only how many there are, only which documents match, or what FLWR queries "
    "make of them.",
)


only_queries_option = click.option(
    "--query",
    multiple=True,
    metavar="ID",
    help="Only the query with this id; may be repeated.",
)


class _Limit(click.Option):
    """An option for a limit, which the help shows apart."""


# The groups of options in the help of a command, in this order; by the names of the parameters.
# What is in none of them comes first.
_GROUPS: Final = {
    "Input": (
        *(
            "scheme",
            "schema",
            "schemas",
            "root",
            "queries",
            "expressions",
            "query",
            "namespaces",
            "version",
            "sample",
        ),
        *("messages", "records", "column", "name_column"),
    ),
    "Output": ("output", "select", "form", "joined", "as_json", "progress", "quiet", "verbose"),
    "Matching": (
        *("chunks", "workers", "weights", "matcher", "on_nonconforming", "assume_valid"),
        *("priority", "max_branches", "max_size", "max_filter_branches"),
    ),
    "Joining": ("time", "lateness", "max_state", "when_full", "state"),
    "Engine": ("engine", "jobs", "master", "conf", "resume", "explain"),
    "Configuration and help": ("config", "no_config", "debug"),
}


class WithLimits(click.Command):
    """A command whose help groups its options, and has only the names of the limits."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options group by group, and the limits in short."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        groups: dict[str, list[tuple[str, str]]] = {"Options": [], **{one: [] for one in _GROUPS}}
        for option_ in options:
            record = option_.get_help_record(ctx)
            if record is not None and not isinstance(option_, _Limit):
                groups[_group_of(option_)].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        limits = [option_.opts[0] for option_ in options if isinstance(option_, _Limit)]
        if limits:
            with formatter.section("Limits, each with a number (`extract help limits`)"):
                width, indent = formatter.width, " " * formatter.current_indent
                lines = textwrap.wrap(
                    ", ".join(limits), width - len(indent), break_on_hyphens=False
                )
                formatter.write("".join(f"{indent}{line}\n" for line in lines))


def _group_of(option_: click.Option) -> str:
    """The group that an option has in the help."""
    if "--help" in option_.opts:
        return list(_GROUPS)[-1]
    return next((title for title, names in _GROUPS.items() if option_.name in names), "Options")


def limit_options(*groups: Group) -> Callable[[Command], Command]:
    """An option for each of the limits of some groups; the command gets them as ``limits``."""
    ours = list(limits_of(*groups))

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathered(*args: Any, **kwargs: Any) -> Any:
            values = {one.name: kwargs.pop(f"max_{one.name}") for one in ours}
            values |= kwargs.pop("limit")
            return command(*args, limits=Limits(**values), **kwargs)

        made: Any = click.option(
            "--limit", cls=_Limit, multiple=True, metavar="NAME=N",
            callback=functools.partial(_named_limits, ours),
            help="Set a limit by its name, as in --limit depth=9.",
        )(gathered)  # fmt: skip
        for one in reversed(ours):
            made = click.option(
                option(one.name),
                f"max_{one.name}",
                cls=_Limit,
                default=one.default,
                show_default=True,
                type=_range(one),
                metavar="S" if isinstance(one.default, float) else "N",
                help=one.metadata["about"],
            )(made)
        return cast("Command", made)

    return decorate


def _named_limits(
    limits: Sequence[Field[Any]], ctx: click.Context, param: click.Parameter, texts: Sequence[str]
) -> dict[str, Any]:
    """The limits that are set by name."""
    known = {one.name: one for one in limits}
    named: dict[str, Any] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in known:
            reason = f"There is no limit {name!r} here; choose one of {', '.join(sorted(known))}"
            raise click.BadParameter(reason, ctx, param)
        kind: click.ParamType[Any] = _range(known[name])
        named[name] = kind.convert(number, param, ctx)
    return named


def _range(limit: Field[Any]) -> click.IntRange | click.FloatRange:
    if isinstance(limit.default, float):
        return click.FloatRange(min=0, min_open=True)
    return click.IntRange(limit.metadata["least"], limit.metadata["most"])
