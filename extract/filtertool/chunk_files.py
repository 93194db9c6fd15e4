"""Filters the files that ``extract chunk`` writes: chunks, with maps to their documents."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from extract.chunktool.manifest import MANIFEST, ChunkFile, ChunkMap, Manifest
from extract.chunktool.scan.driver import Outcome, Verdict
from extract.errors import DocumentError, SchemeError
from extract.filtertool.document_cutter import DocumentCutter
from extract.filtertool.document_filter import DocumentFilter
from extract.filtertool.matchers.protocol import MatcherFactory, Unit
from extract.filtertool.options import Options
from extract.filtertool.query_plan import QueryPlan
from extract.filtertool.units import DocumentUnits, Origin
from extract.scheme.model import DOCUMENT, Scheme

_AGAIN = "write the chunks again with `extract chunk`"


def chunk_directories(top: str | Path) -> list[Path]:
    """Returns the directories of documents below a directory, or the directory itself if it is one.

    Raises:
        DocumentError: There is none.
    """
    top = Path(top)
    if (top / MANIFEST).is_file():
        return [top]
    try:
        directories = sorted(path for path in top.iterdir() if (path / MANIFEST).is_file())
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
        raise DocumentError(
            reason, "name the directory that `extract chunk` wrote", str(top)
        ) from error
    directories = [path for path in directories if not path.name.startswith(".")]
    if not directories:
        hint = "name the directory that `extract chunk` wrote"
        raise DocumentError("the directory has no chunks", hint, str(top))
    return directories


def chunk_file_filter(
    scheme: Scheme, factory: MatcherFactory, options: Options, digest: str = ""
) -> DocumentFilter[Path]:
    """Makes a filter for chunks in files; its documents are directories.

    Args:
        scheme: The queries.
        factory: Makes the matchers.
        options: How to filter.
        digest: The digest of the scheme file that the chunks must be cut for; empty to skip the
            check.
    """
    plan = QueryPlan.of(scheme, together=False)
    return DocumentFilter(plan, ChunkFileCutter(plan, options, digest), factory, options)


class ChunkFileCutter:
    """Makes units of chunks in files; its documents are directories.

    Args:
        plan: The questions of each chunk.
        options: How to filter.
        digest: As for `chunk_file_filter`.
    """

    def __init__(self, plan: QueryPlan, options: Options, digest: str = "") -> None:
        self._digest = digest
        # A chunk is a document of its own, and its whole content is wanted.
        self._cutters = {
            part.output.id: DocumentCutter(
                plan.scheme, [part.output], True, options.limits, options.kernel
            )
            for part in plan.parts
        }

    def cut(self, name: str, document: Path) -> DocumentUnits:
        """Reads the chunks of one document.

        Args:
            name: The directory, for messages.
            document: The directory.

        Raises:
            DocumentError: A file is missing, cannot be read, or does not fit the others.
            SchemeError: The chunks were cut for another scheme.
        """
        manifest = Manifest.load(document)
        if self._digest and manifest.scheme and manifest.scheme != self._digest:
            reason = "the chunks were cut for another scheme, or for another version of it"
            raise SchemeError(reason, _AGAIN, str(document))
        files = {file.id: file for file in manifest.chunks}
        whole = files.get(DOCUMENT)

        def read() -> bytes:
            if whole is None:
                raise DocumentError("the whole document is not there", _AGAIN, str(document))
            return _bytes(document / whole.file)

        outcome = Outcome(
            manifest.verdict,
            manifest.bytes,
            manifest.scanner,
            manifest.handed_over,
            line=manifest.line,
            column=manifest.column,
        )
        name, size = manifest.document, manifest.bytes
        if manifest.verdict is not Verdict.CONFORMING:
            reason = manifest.reason or "it is to be evaluated whole"
            return DocumentUnits(name, size, outcome, read, reason=reason)
        parts = [self._part(document, files, id_) for id_ in self._cutters]
        units, origins = [unit for unit, _ in parts], [origin for _, origin in parts]
        return DocumentUnits(name, size, outcome, read, units, origins)

    def _part(self, directory: Path, files: dict[str, ChunkFile], id_: str) -> tuple[Unit, Origin]:
        if id_ not in files:
            raise DocumentError(f"the chunk {id_} is not there", _AGAIN, str(directory))
        path = directory / files[id_].file
        cut = self._cutters[id_].cut(str(path), _bytes(path))
        where = ChunkMap.load(directory / files[id_].map)
        if not cut.outcome.conforming or cut.size != int(
            (where.ranges[:, 1] - where.ranges[:, 0]).sum()
        ):
            raise DocumentError("the chunk does not fit its map", _AGAIN, str(path))
        (unit,) = cut.units
        table = unit.table
        starts = where.original(table.elements.start)
        at = np.minimum(np.searchsorted(where.starts, starts), max(0, len(where.starts) - 1))
        position = table.elements.position
        if len(where.starts):
            mapped = where.starts[at] == starts
            position = np.where(mapped, where.positions[at], position).astype(np.int32)
        return Unit(table.with_positions(position), cut.read), where.original


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
        raise DocumentError(reason, _AGAIN, os.fspath(path)) from error
