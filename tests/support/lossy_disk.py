"""A disk that drops what was not synced, as an outage of the machine does.

`lossy_disk.c`, preloaded into a process, notes what it writes and syncs below a directory;
`surviving_files` makes the files as they would be after the outage: of each file, what was written
before its last sync, and nothing after. A file that was removed is gone when its directory was
synced.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

_HEAD = struct.Struct("=cqqq")


def build_library(folder: Path) -> Path:
    """Compiles the library; skips the test where there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = folder / "lossy_disk.so"
    source = Path(__file__).with_suffix(".c")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def environment(library: Path, root: Path, log: Path) -> dict[str, str]:
    """For a process whose files below ``root`` are on such a disk."""
    return {"LD_PRELOAD": str(library), "LOSSY_ROOT": str(root), "LOSSY_LOG": str(log)}


def _entries(log: bytes) -> Iterator[tuple[bytes, str, int, bytes]]:
    at = 0
    while at + _HEAD.size <= len(log):
        kind, length, offset, size = _HEAD.unpack_from(log, at)
        at += _HEAD.size
        end = at + length + size
        if end > len(log):
            return  # the process was killed while it noted this
        yield kind, log[at : at + length].decode(), offset, log[at + length : end]
        at = end


def surviving_files(log: Path, root: Path, target: Path) -> int:
    """Writes what survives into another directory; returns how many writes were lost."""
    contents: dict[str, bytearray] = {}
    waiting: dict[str, list[tuple[bytes, int, bytes]]] = {}
    removed: set[str] = set()
    for kind, path, offset, data in _entries(log.read_bytes()):
        if kind == b"u":
            removed.add(path)
            continue
        if kind == b"s" and Path(path) == root:
            for name in removed:
                contents.pop(name, None)
                waiting.pop(name, None)
            removed.clear()
            continue
        if kind != b"s":
            waiting.setdefault(path, []).append((kind, offset, data))
            continue
        content = contents.setdefault(path, bytearray())
        for what, place, written in waiting.pop(path, []):
            if what == b"t":
                del content[place:]
                content.extend(bytes(place - len(content)))
            else:
                content.extend(bytes(max(0, place - len(content))))
                content[place : place + len(written)] = written
    target.mkdir(parents=True)
    for path, content in contents.items():
        if not path.endswith(" (deleted)"):
            (target / Path(path).relative_to(root)).write_bytes(content)
    return sum(len(some) for some in waiting.values())
