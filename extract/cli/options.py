"""Options that several commands share, so that they look and behave the same everywhere.

Each is a decorator:

    @click.command()
    @schema_option
    @output_option
    def prep(schema: str, output: str) -> None: ...
"""

from __future__ import annotations

import click

from extract.subscriptions.bindings import parse_binding


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


# The library reports a file that is missing or unreadable, and does it better than click.Path.
_FILE = click.Path()

schema_option = click.option(
    "--schema", "-s", required=True, type=_FILE, metavar="FILE", help="The DTD or XSD."
)
queries_option = click.option(
    "--queries",
    "-q",
    required=True,
    type=_FILE,
    metavar="FILE",
    help="The queries: lines of id<TAB>xpath, or .jsonl; also gzipped. - is standard input.",
)
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
scheme_option = click.option(
    "--scheme",
    required=True,
    type=_FILE,
    metavar="FILE",
    help="The chunking scheme that `extract prep` wrote.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON.")
output_option = click.option(
    "--output",
    "-o",
    default="-",
    type=_FILE,
    metavar="FILE",
    help="Where the result goes; by default, and for -, standard output.",
)
