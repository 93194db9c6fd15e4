"""Which scheme a file or a database has, without reading all of it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from extract.scheme.database.location import absolute_url, is_database, location_of


def absolute_scheme(path: str | Path) -> str:
    """The name of a scheme for other processes: an absolute path, or the URL of a database."""
    return absolute_url(str(path)) if is_database(path) else os.path.abspath(path)


def shown_scheme(path: str | Path) -> str:
    """The name of a scheme for messages: without the password that a URL may have."""
    return location_of(str(path)).shown if is_database(path) else str(path)


def scheme_fingerprint(path: str | Path) -> str:
    """A digest that changes whenever the scheme of a file or a database changes.

    Raises:
        SchemeError: The database cannot be read.
        OSError: The file cannot be read.
    """
    if is_database(path):
        from extract.scheme.database.read import load_state

        return load_state(str(path)).digest
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
