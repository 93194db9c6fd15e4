"""The files of the page, read once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Final

INDEX: Final = "index.html"
TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page.

    Attributes:
        content: Its bytes.
        type: Its media type.
        etag: Changes when the bytes do.
    """

    content: bytes
    type: str
    etag: str


@cache
def page_files() -> Mapping[str, PageFile]:
    """All files by their path in ``assets``: only these are ever sent, whatever a URL says."""
    found: dict[str, PageFile] = {}
    _collect(files(__package__) / "assets", "", found)
    return MappingProxyType(found)


def _collect(folder: Traversable, prefix: str, found: dict[str, PageFile]) -> None:
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            _collect(entry, f"{name}/", found)
            continue
        kind = TYPES.get(f".{name.rpartition('.')[2]}")
        if kind is not None:
            content = entry.read_bytes()
            found[name] = PageFile(content, kind, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
