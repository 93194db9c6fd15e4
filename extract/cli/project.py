"""``extract project``: a document in, the part of it that the queries look at out."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import click

from extract.chunktool.chunks import OnNonconforming
from extract.chunktool.input.find import find_documents
from extract.chunktool.prefilter import Prefilter
from extract.chunktool.scan.driver import Outcome
from extract.cli.options import (
    WithLimits,
    assume_valid_option,
    json_option,
    limit_options,
    on_nonconforming_option,
    output_option,
    scheme_option,
)
from extract.cli.output import open_binary_output
from extract.errors import DocumentError
from extract.limits import Limits
from extract.scheme import Scheme


@click.command(cls=WithLimits)
@scheme_option
@click.argument("document", type=click.Path(), metavar="DOC")
@output_option
@on_nonconforming_option
@assume_valid_option
@limit_options("document")
@json_option
def project(
    scheme: str,
    document: str,
    output: str,
    on_nonconforming: OnNonconforming,
    assume_valid: bool,
    limits: Limits,
    as_json: bool,
) -> int:
    """Reduce a document to one small document that answers every query of a scheme.

    DOC is a file, or - for standard input, and may be gzipped. Any XPath tool that reads the result
    gives the answers that it would give on the document.

    Nothing is written before all of the document was read and found well-formed; until then the
    result waits in memory, and beyond 64 MB in a temporary file. With --assume-valid it is written
    at once, and a document that turns out to be ill-formed leaves a broken result behind and exit
    status 1. A document that breaks the schema is passed on as it is, with a note on standard
    error.

    \b
    Example:
      extract project --scheme scheme.json - < big.xml | xmllint --xpath '//student/name' -
      extract project --scheme scheme.json big.xml.gz -o small.xml
    """
    files = find_documents([document]).paths
    if len(files) > 1:
        hint = "project them one by one, or cut all of them with `extract chunk`"
        raise DocumentError(f"these are {len(files):,} documents, not one", hint, document)
    prefilter = Prefilter(Scheme.load(scheme), on_nonconforming, assume_valid, limits)
    try:
        with open_binary_output(output) as stream:
            counted = _Counted(stream)
            outcome = prefilter.write(files[0], counted)
    except DocumentError as error:
        click.echo(f"rejected: {error}", err=True)
        return 1
    if as_json:
        click.echo(json.dumps(_facts(document, outcome, counted.written)), err=True)
    elif outcome.reason:
        place = f":{outcome.line}:{outcome.column}" if outcome.line else ""
        name = "<stdin>" if document == "-" else document
        click.echo(
            f"Note: {name}{place}: {outcome.verdict}, so it is passed on whole: {outcome.reason}",
            err=True,
        )
    return 0


def _facts(document: str, outcome: Outcome, written: int) -> dict[str, Any]:
    return {
        "document": "<stdin>" if document == "-" else document,
        "bytes": outcome.size if outcome.size >= 0 else written,
        "written": written,
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "line": outcome.line,
        "column": outcome.column,
        "scanner": outcome.scanner,
        "handed_over": outcome.handed_over,
    }


class _Counted:
    """A stream that counts what is written to it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.written = 0

    def write(self, data: bytes | memoryview, /) -> None:
        self._stream.write(data)
        self.written += len(data)
