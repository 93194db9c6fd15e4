"""Sets of made data of two kinds that people have, and that are not among the real data.

Each has documents, queries and a schema as a folder of real data has (`real_sets`), and is the same
each time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from extract.bench import article_set, locale_set
from extract.bench.real_sets import RealSet
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions


class _Kind(NamedTuple):
    """A kind of data: the schema as DTD, its root, and what makes documents and queries."""

    name: str
    dtd: str
    root: str
    documents: Callable[[], Sequence[bytes]]
    queries: Callable[[], Sequence[str]]


_KINDS: Final = (
    _Kind("locales", locale_set.DTD, "ldml", locale_set.documents, locale_set.queries),
    _Kind("articles", article_set.DTD, "article", article_set.documents, article_set.queries),
)


def made_sets(scale: float) -> Iterator[RealSet]:
    """The made sets.

    Args:
        scale: What part of the queries and documents to take.
    """
    for kind in _KINDS:
        queries = Subscriptions.of({f"q{n}": one for n, one in enumerate(kind.queries())})
        whole = RealSet(kind.name, _schema(kind), queries, tuple(kind.documents()))
        yield whole.part(int(len(queries) * scale), int(len(whole.documents) * scale))


def _schema(kind: _Kind) -> Schema:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{kind.name}.dtd"
        path.write_text(kind.dtd, encoding="utf-8")
        return Schema.load(path, kind.root)
