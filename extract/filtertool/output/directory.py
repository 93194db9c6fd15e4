"""A directory of results, which appears when everything is written, or not at all.

DIR/matches/…      rows: Parquet, JSON lines, or one XML document for each subscription
DIR/rejected/…     documents and queries that were not processed, and why
DIR/report.json    the figures of the run
"""

from __future__ import annotations

import contextlib
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
    """
    target = Path(os.path.abspath(path))
    if target.is_symlink():
        target = target.resolve()
    if target.exists() and not (target.is_dir() and _is_ours(target)):
        raise FileExistsError(17, "it is there, and holds no results of extract", str(path))
    return target


@contextlib.contextmanager
def result_directory(path: str | Path) -> Iterator[Path]:
    """Makes a directory that gets its name when the block has ended well.

    Results that are there already are replaced then; anything else is left alone.

    Raises:
        FileExistsError: Something else has that name.
    """
    target = check_target(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_directory(target) as partial:
        yield partial


def _is_ours(directory: Path) -> bool:
    return (directory / REPORT).is_file() or not any(directory.iterdir())
