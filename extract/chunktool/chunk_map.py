"""The map of a chunk: where its bytes are in the original, as a file beside the chunk.

A map is a file in numpy's own format, ``*.npz``: a zip file of arrays, readable without pickles on
every machine and without a further dependency (numpy is needed anyway, Arrow only for Spark). All
numbers are differences, which are small, so the file is compressed to a few bytes a row:

    lengths      int64, bytes left out and bytes kept in turn: their running sums are the ranges
    starts       int64, running sums are offsets of elements whose siblings may be missing
    positions    int32, the number of each of these among siblings of the same name, from 1

The map is enough to find every node of a chunk in the original: a scan of the chunk gives the same
node table as a scan of the document, see `extract.chunktool.sibling_positions`.
"""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy

from extract.chunktool.scan.protocol import Numbers, Smalls
from extract.chunktool.sibling_positions import Loose
from extract.errors import DocumentError

COLUMN_BYTES: Final = 1 << 20  # bytes of a column that stay in memory


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """The ranges of a chunk in the original, and the positions of elements among siblings.

    Attributes:
        ranges: Start and end of each range, shape (n, 2).
        starts: Offsets, in the original, of elements whose siblings may be missing.
        positions: The numbers of these elements among siblings of the same name.
    """

    ranges: Numbers
    starts: Numbers
    positions: Smalls

    @classmethod
    def load(cls, path: str | Path) -> ChunkMap:
        """Reads the map of a chunk.

        Raises:
            DocumentError: The map cannot be read, or is damaged.
        """
        try:
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                ranges = np.cumsum(arrays["lengths"]).reshape(-1, 2)
                return cls(ranges, np.cumsum(arrays["starts"]), arrays["positions"])
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            hint = "write the chunks again with `extract chunk`"
            raise DocumentError(f"the map cannot be read: {error}", hint, str(path)) from error

    def original(self, offsets: Numbers) -> Numbers:
        """Maps offsets in the chunk to offsets in the original.

        >>> numbers = np.array([[0, 3], [11, 15]]), np.empty(0, np.int64), np.empty(0, np.int32)
        >>> ChunkMap(*numbers).original(np.array([0, 2, 3, 6])).tolist()
        [0, 2, 11, 14]
        """
        ends = np.cumsum(self.ranges[:, 1] - self.ranges[:, 0])
        which = np.searchsorted(ends, offsets, "right")
        which = np.minimum(which, max(0, len(ends) - 1))  # the end of the last range
        originals: Numbers = self.ranges[which, 1] - (ends[which] - offsets)
        return originals


class MapWriter:
    """Writes the map of a chunk. Columns go to files of their own first, because their lengths are
    only known at the end."""

    def __init__(self, stem: Path) -> None:
        self._target = stem.with_name(f"{stem.name}.npz")
        self._lengths = _Column(stem.with_name(f"{stem.name}.lengths"), "<i8")
        self._starts = _Column(stem.with_name(f"{stem.name}.starts"), "<i8")
        self._positions = _Column(stem.with_name(f"{stem.name}.positions"), "<i4")
        self._pending = np.zeros((0, 2), np.int64)  # the last range; the next batch may extend it
        self._end = 0  # end of the last range written
        self._start = 0  # offset of the last element written

    def add(self, ranges: Numbers, loose: Loose | None) -> None:
        """Adds the ranges and elements of a batch."""
        if len(ranges):
            if len(self._pending) and self._pending[0, 1] == ranges[0, 0]:
                ranges = ranges.copy()
                ranges[0, 0] = self._pending[0, 0]
            else:
                ranges = np.concatenate((self._pending, ranges))
            self._write(ranges[:-1])
            self._pending = ranges[-1:].copy()
        if loose is not None and len(loose.start):
            self._starts.add(np.diff(loose.start, prepend=self._start))
            self._start = int(loose.start[-1])
            self._positions.add(loose.position)

    def _write(self, ranges: Numbers) -> None:
        if len(ranges):
            self._lengths.add(np.diff(ranges.reshape(-1), prepend=self._end))
            self._end = int(ranges[-1, 1])

    def finish(self) -> int:
        """Writes the file and returns the number of ranges."""
        self._write(self._pending)
        with zipfile.ZipFile(self._target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            self._lengths.move(archive, "lengths")
            self._starts.move(archive, "starts")
            self._positions.move(archive, "positions")
        return self._lengths.count // 2


class _Column:
    """A column of numbers that grows in a temporary file.

    Args:
        path: The temporary file.
        kind: The numbers' type, as numpy writes it.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self.count = 0
        self._path = path
        self._kind = kind
        self._parts: list[bytes] = []
        self._waiting = 0

    def add(self, numbers: Any) -> None:
        data = numbers.astype(self._kind).tobytes()
        self.count += len(numbers)
        self._parts.append(data)
        self._waiting += len(data)
        if self._waiting > COLUMN_BYTES:
            with self._path.open("ab") as stream:
                stream.writelines(self._parts)
            self._parts.clear()
            self._waiting = 0

    def move(self, archive: zipfile.ZipFile, name: str) -> None:
        """Writes the array into an archive and removes the temporary file."""
        header = {"descr": self._kind, "fortran_order": False, "shape": (self.count,)}
        with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
            npy.write_array_header_1_0(stream, header)
            if self._path.exists():
                with self._path.open("rb") as waiting:
                    shutil.copyfileobj(waiting, stream, 1 << 20)
                self._path.unlink()
            for part in self._parts:
                stream.write(part)
