"""``extract infer``: documents in, a schema that all of them keep out."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from extract.chunktool.inference.infer import Inference
from extract.chunktool.input.find import STDIN, find_documents
from extract.cli.options import WithLimits, json_option, limit_options
from extract.cli.output import unread
from extract.cli.progress import Display, progress_option
from extract.cli.progress import progress as display
from extract.errors import DocumentError
from extract.limits import Limits
from extract.schema.infer import InferredSchema, kind_by_suffix

_SHOWN = 20  # rejected documents shown one by one


@click.command(cls=WithLimits)
@click.argument("documents", nargs=-1, required=True, type=click.Path(), metavar="DOC...")
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(),
    metavar="FILE",
    help="The schema: a .xsd, with further files beside it for further namespaces, or a .dtd; - is "
    "standard output, for an XSD.",
)
@progress_option
@json_option
@limit_options("document")
def infer(
    documents: tuple[str, ...],
    output: str,
    progress: bool | None,
    as_json: bool,
    limits: Limits,
) -> int:
    """Write a schema from documents, without asking anybody for one.

    DOC is a file, a directory (searched for *.xml, also compressed), a glob, or - for standard
    input. Every document keeps the schema, and it allows nothing that none of them
    showed: which element may be in which, with which attributes (required if on every one of its
    elements), with text or without, in order as far as all documents keep one. Values are strings.

    A document that is not well-formed is rejected, and the others go on. A summary goes to
    standard error, with --json to standard output.

    \b
    Example:
      extract infer news/ more/*.xml.gz -o news.xsd
      extract infer news/ -o news.dtd
    """
    started = time.perf_counter()
    if output != STDIN:
        kind_by_suffix(output)
    elif as_json:
        raise click.UsageError("--json and -o - cannot both write to standard output")
    found = find_documents(documents)
    inference, rejected = Inference(limits), unread(found.skipped)
    size = 0
    with display(len(found.paths), progress) as shown:
        for number, error in enumerate(rejected, 1):
            _tell(error, number, shown, quiet=as_json)
        for path in found.paths:
            try:
                read = inference.add(path)
            except DocumentError as error:
                rejected.append(error)
                _tell(error, len(rejected), shown, quiet=as_json)
            else:
                size += read
                shown.advance(size=read)
    if not inference.documents:
        more = f" and {len(rejected) - 1:,} more" if len(rejected) > 1 else ""
        hint = f"all documents are rejected: {rejected[0].file}{more}"
        raise DocumentError("there is no document to infer a schema from", hint)
    inferred = inference.result()
    files = inferred.write(output) if output != STDIN else []
    if not files:
        click.echo(inferred.xsd(), nl=False)
    facts = _facts(inferred, files, rejected)
    facts |= {"bytes": size, "seconds": round(time.perf_counter() - started, 3)}
    if as_json:
        click.echo(json.dumps(facts))
    else:
        click.echo(_summary(inferred, facts), err=True)
    return 1 if rejected else 0


def _tell(error: DocumentError, number: int, shown: Display, quiet: bool) -> None:
    if number <= _SHOWN and not quiet:
        shown.say(f"rejected: {error}\n")
    shown.advance(rejected=1)


def _facts(
    inferred: InferredSchema,
    files: list[Path],
    rejected: list[DocumentError],
) -> dict[str, Any]:
    return {
        "documents": inferred.documents,
        "rejected": [
            {"document": e.file, "reason": e.reason, "line": e.line, "column": e.column}
            for e in rejected
        ],
        "roots": list(inferred.roots),
        "elements": len(inferred.elements),
        "files": [str(file) for file in files],
    }


def _summary(inferred: InferredSchema, facts: dict[str, Any]) -> str:
    lines = []
    rejected = len(facts["rejected"])
    if rejected > _SHOWN:
        lines.append(f"… and {rejected - _SHOWN:,} more rejected; --json has all of them")
    lines.append(
        f"{', '.join(facts['files']) or 'schema'}: {inferred}; {rejected:,} rejected; "
        f"{facts['bytes']:,} bytes in {facts['seconds']:.1f} s"
    )
    return "\n".join(lines)
