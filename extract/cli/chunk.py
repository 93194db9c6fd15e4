"""``extract chunk``: documents in, a directory of chunks for each of them out."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from extract.chunktool.chunks import OnNonconforming
from extract.chunktool.file_names import FileNames, directory_name
from extract.chunktool.input.find import find_documents
from extract.chunktool.manifest import ChunkFile, Manifest, write_chunks
from extract.chunktool.scan.driver import Verdict
from extract.cli.options import (
    WithLimits,
    assume_valid_option,
    json_option,
    limit_options,
    on_nonconforming_option,
    output_directory_option,
    scheme_option,
)
from extract.cli.output import lies_inside, require_directory, unread
from extract.cli.preparing import load_with_digest
from extract.cli.progress import Display, progress_option
from extract.cli.progress import progress as display
from extract.cli.tables import Table
from extract.errors import DocumentError
from extract.limits import Limits
from extract.scheme import Scheme

_SHOWN = 20  # notes shown one by one


@click.command(cls=WithLimits)
@scheme_option
@click.argument("documents", nargs=-1, required=True, type=click.Path(), metavar="DOC...")
@output_directory_option("Where the directories of the documents go; made if it is not there.")
@on_nonconforming_option
@assume_valid_option
@progress_option
@limit_options("document")
@json_option
def chunk(
    scheme: str,
    documents: tuple[str, ...],
    output: str,
    on_nonconforming: OnNonconforming,
    assume_valid: bool,
    progress: bool | None,
    limits: Limits,
    as_json: bool,
) -> int:
    """Cut documents into the chunks of a scheme.

    DOC is a file, a directory (searched for *.xml, also compressed), a glob, or - for standard
    input. For each document there is a directory DIR/NAME with a file CHUNK.xml for
    each chunk, CHUNK.npz (where its bytes are in the original) and manifest.json. It appears when
    all of the document was read and found well-formed, or not at all. Chunks of the same document
    that are there already are replaced; another document of the same name gets NAME~2.

    A document that breaks the schema becomes one chunk that is all of it. A summary goes to
    standard error, with --json to standard output.

    \b
    Example:
      extract chunk --scheme scheme.json news/ more/*.xml.gz -o chunks
    """
    started = time.perf_counter()
    require_directory(output)
    loaded, digest = load_with_digest(scheme)
    documents_found = find_documents(documents)
    paths, notes = _without_output(documents_found.paths, output)
    if not paths:
        hint = "name documents that are not the chunks themselves"
        raise DocumentError("there is no document to cut", hint, documents[0])
    run = _Run(loaded, Path(output), digest)
    run.notes += notes
    with run.directory(), display(len(paths), progress) as shown:
        for error in unread(documents_found.skipped):
            run.reject(error, shown)
        for path in paths:
            run.cut(
                path,
                shown,
                on_nonconforming=on_nonconforming,
                assume_valid=assume_valid,
                limits=limits,
            )
    seconds = time.perf_counter() - started
    if as_json:
        click.echo(json.dumps(run.facts(seconds), ensure_ascii=True))
    else:
        run.summary(seconds)
    return 1 if run.rejected else 0


def _without_output(paths: Sequence[str], output: str) -> tuple[list[str], list[str]]:
    """The documents without those that we wrote: the output may be in a directory of documents."""
    inside = lies_inside(output)
    ours = [path for path in paths if path != "-" and inside(path)]
    notes = [f"{len(ours):,} files are not read: they are in {output}"] if ours else []
    return [path for path in paths if path not in set(ours)], notes


@dataclass
class _Run:
    """The outcomes of the documents so far."""

    scheme: Scheme
    output: Path
    digest: str
    names: FileNames = field(default_factory=FileNames)
    done: list[tuple[str, Manifest]] = field(default_factory=list)
    rejected: list[DocumentError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def directory(self) -> Any:
        """Makes the output directory; one that stays empty is removed again."""
        made = not self.output.exists()
        try:
            self.output.mkdir(parents=True, exist_ok=True)
            yield
        finally:
            if made and not self.done:
                with contextlib.suppress(OSError):
                    self.output.rmdir()

    def cut(self, path: str, shown: Display, **options: Any) -> None:
        """Writes the chunks of one document, or says why not."""
        document = "<stdin>" if path == "-" else path
        name = self.names.take(directory_name(document), lambda name: self._is_free(name, document))
        try:
            manifest = write_chunks(
                self.scheme, path, self.output / name, digest=self.digest, **options
            )
        except DocumentError as error:
            self.reject(error, shown)
        else:
            self.done.append((name, manifest))
            shown.advance(size=manifest.bytes)
            if manifest.reason:
                place = f":{manifest.line}:{manifest.column}" if manifest.line else ""
                self.notes.append(
                    f"{_shown(document)}{place}: {manifest.verdict}, so it is one chunk: "
                    f"{_shown(manifest.reason)}"
                )

    def reject(self, error: DocumentError, shown: Display) -> None:
        """Counts a document that is not cut, and says why."""
        self.rejected.append(error)
        shown.say(f"rejected: {error}\n")
        shown.advance(rejected=1)

    def _is_free(self, name: str, document: str) -> bool:
        """Whether a directory is not there, or has chunks of the same document."""
        if not os.path.lexists(self.output / name):
            return True
        try:
            return Manifest.load(self.output / name).document == document
        except DocumentError:
            return False

    def facts(self, seconds: float) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "documents": [
                {"directory": str(self.output / name), **manifest.to_json()}
                for name, manifest in self.done
            ],
            "rejected": [
                {
                    "document": error.file,
                    "reason": error.reason,
                    "line": error.line,
                    "column": error.column,
                    "offset": error.offset,
                }
                for error in self.rejected
            ],
            "notes": self.notes,
            "seconds": round(seconds, 3),
        }

    def summary(self, seconds: float) -> None:
        """Prints a summary for people."""
        for note in self.notes[:_SHOWN]:
            click.echo(f"Note: {note}", err=True)
        if len(self.notes) > _SHOWN:
            more = len(self.notes) - _SHOWN
            click.echo(f"… and {more:,} more notes; --json has all of them", err=True)
        size = sum(manifest.bytes for _, manifest in self.done)
        chunks = [chunk for _, manifest in self.done for chunk in manifest.chunks]
        if chunks:
            _table(chunks, size).show(err=True)
            click.echo(err=True)
        cut = sum(manifest.verdict is Verdict.CONFORMING for _, manifest in self.done)
        seen = len(self.done) + len(self.rejected)
        click.echo(
            f"{seen:,} document{'s' * (seen != 1)}, {size:,} bytes in {seconds:.1f} s: "
            f"{cut:,} cut, {len(self.done) - cut:,} whole, {len(self.rejected):,} rejected",
            err=True,
        )


def _table(chunks: Sequence[ChunkFile], size: int) -> Table:
    """A line for each chunk of the scheme, over all documents."""
    rows = []
    for one in dict.fromkeys([chunk.id for chunk in chunks]):
        same = [chunk for chunk in chunks if chunk.id == one]
        elements = sum(max(0, chunk.elements) for chunk in same)
        total = sum(chunk.bytes for chunk in same)
        share = f"{total / size:.0%}" if size else "-"
        counted = f"{elements:,}" if all(chunk.elements >= 0 for chunk in same) else "-"
        queries = max(chunk.queries for chunk in same)
        rows.append((one, f"{queries:,}", counted, f"{total:,}", share))
    head = ("chunk", "queries", "elements", "bytes", "share")
    return Table(head, rows, frozenset(range(1, 5)))


def _shown(text: str) -> str:
    """A name that cannot speak to the terminal."""
    return "".join([c if c.isprintable() else "\ufffd" for c in text])
