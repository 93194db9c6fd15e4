"""The real news: YFilter's NITF messages and queries, which lie beside the project."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from lxml import etree

from extract.scenarios.pieces import PIECE_BYTES, pieces
from extract.subscriptions import Subscriptions

_A_MESSAGE = 20_000  # bytes; the largest has 11,577


class RealNews:
    """Messages and queries of the YFilter project, as a `Generator`.

    Args:
        folder: Where they are.
    """

    ROOT = "nitf"
    NAMESPACES: dict[str, str] = {}  # noqa: RUF012 - as the protocol has it
    QUERIES = 100_000
    DOCUMENTS = 200
    SIZE_BYTES = 6_000
    RECORD = "block"

    def __init__(self, folder: Path) -> None:
        self.SCHEMA = str((folder / "nitf.dtd").absolute())
        self._folder = folder

    @cached_property
    def _messages(self) -> list[Path]:
        return sorted((self._folder / "docs").glob("*.xml"))

    def queries(self, count: int, seed: int) -> list[str]:
        """Paths with one nested path as filter; another seed begins elsewhere."""
        every = [one.xpath for one in Subscriptions.load(self._folder / "nested1.tsv.gz")]
        first = (seed - 1) * count % len(every)
        return (every[first:] + every[:first])[:count]

    def document(self, size_bytes: int, seed: int) -> Iterator[bytes]:
        """A message as it is; or, where much more is asked for, one with the content of many."""
        if size_bytes <= _A_MESSAGE:
            data = self._messages[(seed - 1) % len(self._messages)].read_bytes()
            yield from (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))
            return
        contents = [etree.parse(file).find("body/body.content") for file in self._messages]
        rows = [etree.tostring(e, encoding="unicode") for c in contents if c is not None for e in c]
        yield from pieces(
            "<nitf><body><body.content>",
            lambda number: rows[(number + seed) % len(rows)],
            "</body.content></body></nitf>",
            size_bytes,
        )
