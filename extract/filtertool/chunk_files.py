"""Filtering what ``extract chunk`` wrote: chunks as files, with maps to their documents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from extract.chunktool.manifest import MANIFEST, ChunkFile, ChunkMap, Manifest
from extract.chunktool.scanner import Outcome, Verdict
from extract.errors import DocumentError, SchemeError
from extract.filtertool.cutting import Cut, DocumentCutter, Origin
from extract.filtertool.filtering import DocumentFilter
from extract.filtertool.matcher import MatcherFactory, Unit
from extract.filtertool.plan import Plan
from extract.scheme.model import DOCUMENT, Scheme

_AGAIN = "write the chunks again with `extract chunk`"


def chunk_directories(top: str | Path) -> list[Path]:
    """The directories of documents in a directory that ``extract chunk`` wrote, or that itself.

    Raises:
        DocumentError: There is none.
    """
    top = Path(top)
    if (top / MANIFEST).is_file():
        return [top]
    try:
        found = sorted(each for each in top.iterdir() if (each / MANIFEST).is_file())
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
        raise DocumentError(
            reason, "name the directory that `extract chunk` wrote", str(top)
        ) from error
    found = [each for each in found if not each.name.startswith(".")]
    if not found:
        hint = "name the directory that `extract chunk` wrote"
        raise DocumentError("there are no chunks in it", hint, str(top))
    return found


class ChunkFileFilter(DocumentFilter):
    """Filters chunks in files. Its documents are directories.

    Args:
        digest: That of the scheme file; chunks must have been cut for it. Empty to trust them.
    """

    digest: str = ""

    def _make_plan(self, scheme: Scheme, factory: MatcherFactory) -> Plan:
        plan = Plan.of(scheme, together=False)
        # A chunk is a document of its own, and all that is in it is wanted.
        self._cutters = {
            part.output.id: DocumentCutter(
                scheme, [part.output], True, self.options.limits, self.options.kernel
            )
            for part in plan.parts
        }
        return plan

    def _cut(self, name: str, document: Any) -> Cut:
        directory = Path(document)
        manifest = Manifest.load(directory)
        if self.digest and manifest.scheme and manifest.scheme != self.digest:
            reason = "the chunks were cut for another scheme, or for another version of it"
            raise SchemeError(reason, _AGAIN, str(directory))
        files = {one.id: one for one in manifest.chunks}
        whole = files.get(DOCUMENT)

        def read() -> bytes:
            if whole is None:
                raise DocumentError("the whole document is not there", _AGAIN, str(directory))
            return _bytes(directory / whole.file)

        outcome = Outcome(
            manifest.verdict,
            manifest.bytes,
            manifest.scanner,
            manifest.handed_over,
            line=manifest.line,
            column=manifest.column,
        )
        if manifest.verdict is not Verdict.CONFORMING:
            reason = manifest.reason or "it is to be evaluated whole"
            return Cut(manifest.document, manifest.bytes, outcome, read, reason=reason)
        parts = [self._part(directory, files, id_) for id_ in self._cutters]
        units, origins = [unit for unit, _ in parts], [origin for _, origin in parts]
        return Cut(manifest.document, manifest.bytes, outcome, read, units, origins)

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
            known = where.starts[at] == starts
            position = np.where(known, where.positions[at], position).astype(np.int32)
        return Unit(table.with_positions(position), cut.read), where.original


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
        raise DocumentError(reason, _AGAIN, os.fspath(path)) from error
