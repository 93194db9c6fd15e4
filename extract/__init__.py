"""Which of many XPath subscriptions match which of many XML documents, fast and exactly.

The names listed in ``__all__`` are the stable interface; everything else may move.

>>> import extract
>>> queries = extract.Subscriptions.of({"names": "//student/name", "all": "/db/*"})
>>> [query.id for query in queries]
['names', 'all']

Errors all derive from `ExtractError` and say what happened, where, and what to do about it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from extract.errors import (
    DocumentError,
    ExtractError,
    MatcherError,
    QuerySyntaxError,
    SchemaError,
    SchemeError,
    SubscriptionsError,
)
from extract.limits import Limits
from extract.schema.model import Schema
from extract.scheme import Scheme
from extract.subscriptions import Subscription, Subscriptions

if TYPE_CHECKING:
    from extract import spark
    from extract.chunktool.chunks import chunk
    from extract.chunktool.prefilter import Prefilter
    from extract.pipeline import ChunkMatches, MatchOptions, by_priority, count, match
    from extract.preptool.prepare import prepare

__version__ = "0.1.0"

__all__ = [
    "ChunkMatches",
    "DocumentError",
    "ExtractError",
    "Limits",
    "MatchOptions",
    "MatcherError",
    "Prefilter",
    "QuerySyntaxError",
    "Schema",
    "SchemaError",
    "Scheme",
    "SchemeError",
    "Subscription",
    "Subscriptions",
    "SubscriptionsError",
    "__version__",
    "by_priority",
    "chunk",
    "count",
    "match",
    "prepare",
    "spark",
]


def __getattr__(name: str) -> Any:
    """Imports what takes long to import only when somebody asks for it."""
    if name == "chunk":
        from extract.chunktool.chunks import chunk

        return chunk
    if name == "Prefilter":
        from extract.chunktool.prefilter import Prefilter

        return Prefilter
    if name in ("ChunkMatches", "MatchOptions", "by_priority", "count", "match"):
        from extract import pipeline

        return getattr(pipeline, name)
    if name == "prepare":
        from extract.preptool.prepare import prepare

        return prepare
    if name == "spark":
        return import_module("extract.spark")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
