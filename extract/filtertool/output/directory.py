"""A directory of results, which appears when everything is written, or not at all.

DIR/matches/…      rows: Parquet, JSON lines, or one XML document for each subscription
DIR/rejected/…     documents and queries that were not processed, and why
DIR/report.json    the figures of the run
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from extract.files import whole_directory

REPORT: Final = "report.json"


def check_target(path: str | Path) -> Path:
    """Returns where results will be.

    Raises:
        FileExistsError: Something else has that name.
        NotADirectoryError, PermissionError: No directory can be made there.
    """
    target = Path(os.path.abspath(path))
    if target.is_symlink():
        target = target.resolve()
    if target.exists() and not (target.is_dir() and _is_ours(target)):
        reason = "exists and was not written by extract"
        raise FileExistsError(errno.EEXIST, reason, str(path))
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
        FileExistsError: Something else has that name.
        OSError: It cannot be written.
    """
    target = check_target(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_directory(target, given=path) as partial:
        yield partial


def _is_ours(directory: Path) -> bool:
    return (directory / REPORT).is_file() or not any(directory.iterdir())
