"""A directory of results, which appears when everything is written, or not at all.

DIR/matches/…      rows: Parquet, JSON lines, or one XML document for each subscription
DIR/rejected/…     documents and queries that were not processed, and why
DIR/report.json    the figures of the run
DIR/.files         the names of all these, one a line: only a directory without others is replaced
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from extract.files import check_written, entries, whole_directory

REPORT: Final = "report.json"
_FILES: Final = ".files"
_EARLIER: Final = re.compile(
    r"report\.json|rejected/rejected\.xml"
    r"|(matches|joined|rejected)/(part-[0-9]{5}\.(parquet|jsonl|csv|tsv))?"
)


def check_target(path: str | Path) -> Path:
    """Returns where results will be.

    Raises:
        FileExistsError: Something else has that name, or is in the directory.
        NotADirectoryError, PermissionError: No directory can be made there.
    """
    target = Path(os.path.abspath(path))
    if target.is_symlink():
        target = target.resolve()
    if target.exists() and not (target.is_dir() and _is_ours(target)):
        reason = "exists and was not written by extract"
        raise FileExistsError(errno.EEXIST, reason, str(path))
    if target.exists():
        check_written(path, _written)
    above = next(parent for parent in target.parents if os.path.lexists(parent))
    if not above.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if not os.access(above, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return target


@contextlib.contextmanager
def result_directory(path: str | Path) -> Iterator[Path]:
    """Makes a directory that gets its name when the block has ended well.

    Results that are there already are replaced then; anything else is left alone.

    Raises:
        FileExistsError: Something else has that name, or is in the directory.
        OSError: It cannot be written.
    """
    target = check_target(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_directory(target, _written, given=path) as partial:
        yield partial
        names = sorted(os.fsencode(name) for name in entries(partial))
        (partial / _FILES).write_bytes(b"".join([name + b"\n" for name in names]))


def _is_ours(directory: Path) -> bool:
    return (directory / REPORT).is_file() or not any(directory.iterdir())


def _written(directory: Path) -> Collection[str]:
    """Returns what runs have written into a directory of results."""
    try:
        names = os.fsdecode((directory / _FILES).read_bytes()).split("\n")
    except FileNotFoundError:  # an earlier version has written it, with names that we know
        if not _is_report(directory / REPORT):
            return []
        return [name for name in entries(directory) if _EARLIER.fullmatch(name)]
    return [_FILES, *names]


def _is_report(path: Path) -> bool:
    """Whether a file is a report of ours: others have files of that name as well."""
    try:
        facts = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(facts, dict) and facts.keys() >= {"documents", "queries", "seconds"}
