"""Chunks of a document as files: what ``extract chunk`` writes, and ``extract filter`` reads.

A document becomes a directory:

    manifest.json    the document, the scan's verdict on it, and its chunks
    1.xml            a chunk, byte for byte as in the original
    1.npz            where its bytes are in the original, and positions among siblings
    potpourri.xml    and so on

``manifest.json``: ``format`` 1; ``document``, its name; ``bytes``; ``verdict`` (``conforming``,
``nonconforming`` or ``whole``), with ``reason``, ``offset``, ``line`` and ``column`` where it is
not ``conforming``; ``scanner`` and ``handed_over``; ``scheme``, a digest of the
scheme file, so that chunks are not evaluated with another one; and for each of ``chunks`` its
``id``, ``file``, ``map``, number of ``queries``, ``bytes``, ``elements``, number of ``ranges``, and
``fallback``. Where a document is evaluated whole there is one chunk ``document`` with ``fallback``
true, on which the queries as written are evaluated.

``*.npz`` is described in `extract.chunktool.chunk_map`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.chunk_map import ChunkMap, MapWriter
from extract.chunktool.chunks import OnNonconforming, borrowed_automaton
from extract.chunktool.file_names import FileNames, safe_name
from extract.chunktool.input.source import Document, Source, open_source
from extract.chunktool.scan.byte_ranges import Cutter, Window
from extract.chunktool.scan.driver import Outcome, Verdict, scan
from extract.chunktool.scan.protocol import Batch
from extract.chunktool.sibling_positions import Positions
from extract.errors import DocumentError
from extract.files import check_written, whole_directory
from extract.limits import Limits
from extract.scheme.model import DOCUMENT, Scheme

__all__ = ["FORMAT", "MANIFEST", "ChunkFile", "ChunkMap", "Manifest", "write_chunks"]

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class ChunkFile:
    """A chunk in a directory; the fields are those in the manifest."""

    id: str
    file: str
    map: str
    queries: int
    bytes: int
    elements: int
    ranges: int
    fallback: bool = False


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a document's directory; the fields are those of ``manifest.json``."""

    document: str
    bytes: int
    verdict: Verdict
    reason: str
    offset: int
    line: int
    column: int
    scanner: str
    handed_over: tuple[str, ...]
    scheme: str
    chunks: tuple[ChunkFile, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the manifest as JSON values."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def load(cls, directory: str | Path) -> Manifest:
        """Reads the manifest of a document's directory.

        Raises:
            DocumentError: There is no manifest, or it is damaged or of another version.
        """
        path = Path(directory) / MANIFEST
        hint = "write the chunks again with `extract chunk`"
        try:
            raw = json.loads(path.read_bytes())
            version = raw.pop("format")
            if version != FORMAT:
                raise DocumentError(f"the manifest has format {version!r}", hint, str(path))
            raw["verdict"] = Verdict(raw["verdict"])
            raw["handed_over"] = tuple(raw["handed_over"])
            raw["chunks"] = tuple([ChunkFile(**fields) for fields in raw["chunks"]])
            names = [name for file in raw["chunks"] for name in (file.file, file.map)]
            if any(name != os.path.basename(name) or name in ("", "..") for name in names):
                raise ValueError("a file is outside of the directory")
            return cls(**raw)
        except OSError as error:
            reason = f"the manifest cannot be read: {error.strerror or error}"
            raise DocumentError(reason, hint, str(path)) from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DocumentError(f"the manifest is damaged: {error}", hint, str(path)) from error


def write_chunks(
    scheme: Scheme,
    document: Document,
    directory: str | Path,
    *,
    on_nonconforming: OnNonconforming = "fallback",
    assume_valid: bool = False,
    limits: Limits | None = None,
    name: str = "",
    digest: str = "",
) -> Manifest:
    """Writes the chunks of a document into a directory, which appears complete or not at all.

    Memory does not grow with the document: each window is written when it is scanned.

    Args:
        scheme: The scheme.
        document: Bytes, a path, ``"-"`` or a file object, as for `extract.chunk`.
        directory: The directory; chunks in it are replaced.
        on_nonconforming, assume_valid, limits, name: As for `extract.chunk`.
        digest: The digest of the scheme file.

    Raises:
        DocumentError: As for `extract.chunk`; then nothing is written.
        FileExistsError: Something else has that name, or is in the directory.
        OSError: The files cannot be written.
    """
    target = Path(directory)
    if target.exists() and not (target / MANIFEST).is_file():
        raise FileExistsError(17, "it is there, and holds no chunks of a document", str(target))
    check_written(target, _written)
    with whole_directory(target, _written, durable=False) as partial:
        with (
            open_source(document, name, limits) as source,
            borrowed_automaton(scheme, "chunks", assume_valid) as automaton,
        ):
            sink = ChunkFileSink(scheme, automaton, partial)
            outcome = scan(source, automaton, sink, limits, table=True)
            if on_nonconforming == "reject" and outcome.verdict is Verdict.NONCONFORMING:
                raise outcome.rejection(source.name)
            if outcome.conforming:
                chunks, size = tuple(sink.finish()), outcome.size
            else:
                sink.restart()
                whole = _write_whole(scheme, source, partial)
                chunks, size = (whole,), whole.bytes
            manifest = _manifest(source, outcome, size, digest, chunks)
        (partial / MANIFEST).write_bytes(_json(manifest))
    return manifest


def _written(directory: Path) -> Collection[str]:
    """Returns what we have written into a document's directory."""
    try:
        chunks = Manifest.load(directory).chunks
    except DocumentError:  # it is not ours, or nobody can tell
        return []
    return [MANIFEST, *[name for chunk in chunks for name in (chunk.file, chunk.map)]]


def _manifest(
    source: Source, outcome: Outcome, size: int, digest: str, chunks: tuple[ChunkFile, ...]
) -> Manifest:
    return Manifest(
        source.name,
        size,
        outcome.verdict,
        outcome.reason,
        outcome.violation.offset if outcome.violation else -1,
        outcome.line,
        outcome.column,
        outcome.scanner,
        outcome.handed_over,
        digest,
        chunks,
    )


def _json(manifest: Manifest) -> bytes:
    facts = manifest.to_json()
    try:
        return (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # a file name that is not valid Unicode
        return (json.dumps(facts, indent=1) + "\n").encode()


def _write_whole(scheme: Scheme, source: Source, directory: Path) -> ChunkFile:
    """Writes the one chunk of a document that is evaluated whole."""
    size = 0
    with (directory / f"{DOCUMENT}.xml").open("wb") as stream:
        for window in source.windows():
            stream.write(window)
            size += len(window)
    table = MapWriter(directory / DOCUMENT)
    table.add(np.array([[0, size]], np.int64), None)
    table.finish()
    queries = len(scheme.directory.ids)
    return ChunkFile(DOCUMENT, f"{DOCUMENT}.xml", f"{DOCUMENT}.npz", queries, size, -1, 1, True)


class ChunkFileSink:
    """Writes the ranges of each chunk into its file."""

    def __init__(self, scheme: Scheme, automaton: Automaton, directory: Path) -> None:
        self._chunks = scheme.every_chunk
        self._queries = [scheme.directory.count_in(chunk) for chunk in self._chunks]
        self._directory = directory
        self._positions = Positions(automaton)
        names = FileNames()
        self._stems = [names.take(safe_name(chunk.id)) for chunk in self._chunks]
        self._begin()

    def _begin(self) -> None:
        self._cutter = Cutter()
        self._maps = [MapWriter(self._directory / stem) for stem in self._stems]
        self._sizes = [0] * len(self._stems)
        self._elements = [0] * len(self._stems)

    def restart(self) -> None:
        """Removes all files: a scan begins."""
        for path in self._directory.iterdir():
            path.unlink()
        self._positions.restart()
        self._begin()

    def take(self, window: Window, batch: Batch) -> None:
        """Writes the bytes of one window."""
        loose = self._positions.take(window.start, batch)
        for number, data in enumerate(self._cutter.cut(window, batch)):
            if data:
                # The file is opened again for each window: there may be more chunks than open files
                # allowed.
                with (self._directory / f"{self._stems[number]}.xml").open("ab") as stream:
                    stream.write(data)
                self._sizes[number] += len(data)
            self._maps[number].add(batch.ranges[number], loose[number])
            self._elements[number] += loose[number].elements

    def finish(self) -> Iterator[ChunkFile]:
        """Writes the maps and yields the chunks' entries for the manifest."""
        for number, (chunk, stem) in enumerate(zip(self._chunks, self._stems, strict=True)):
            yield ChunkFile(
                chunk.id,
                f"{stem}.xml",
                f"{stem}.npz",
                self._queries[number],
                self._sizes[number],
                self._elements[number],
                self._maps[number].finish(),
            )
