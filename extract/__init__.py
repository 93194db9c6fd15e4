"""Which of many XPath subscriptions match which of many XML documents, fast and exactly.

The names listed in ``__all__`` are the stable interface; everything else may move.

>>> import extract
>>> queries = extract.Subscriptions.of({"names": "//student/name", "all": "/db/*"})
>>> scheme = extract.prepare(queries)
>>> [match.text for match in extract.match(scheme, b"<db><student><name>Ann</name></student></db>")]
['Ann', 'Ann']

Errors all derive from `ExtractError` and say what happened, where, and what to do about it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from extract import spark
    from extract.chunktool.chunks import chunk
    from extract.chunktool.file_names import document_name, document_path
    from extract.chunktool.inference.infer import infer_schema
    from extract.chunktool.prefilter import Prefilter
    from extract.client.client import Client
    from extract.errors import (
        BrokerError,
        DocumentError,
        ExtractError,
        JoinError,
        MatcherError,
        QuerySyntaxError,
        SchemaError,
        SchemeError,
        SubscriptionsError,
    )
    from extract.filtertool.joins.joined import Joined
    from extract.filtertool.results.findings import Match
    from extract.filtertool.results.locate_nodes import locate
    from extract.joins import Joins
    from extract.limits import Limits
    from extract.live_filter import Filter
    from extract.pipeline import (
        ChunkMatches,
        MatchOptions,
        by_priority,
        count,
        match,
        outputs,
        prepare,
    )
    from extract.schema.infer import InferredSchema
    from extract.schema.model import Schema
    from extract.scheme.model import Scheme
    from extract.subscriptions.model import Subscription, Subscriptions

__version__ = "0.1.0"

__all__ = [
    "BrokerError",
    "ChunkMatches",
    "Client",
    "DocumentError",
    "ExtractError",
    "Filter",
    "InferredSchema",
    "JoinError",
    "Joined",
    "Joins",
    "Limits",
    "Match",
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
    "document_name",
    "document_path",
    "infer_schema",
    "locate",
    "match",
    "outputs",
    "prepare",
    "spark",
]

# Where each name is; a module is imported when somebody asks for one of its names.
_MODULES: Final = {
    "extract.chunktool.chunks": ("chunk",),
    "extract.chunktool.file_names": ("document_name", "document_path"),
    "extract.chunktool.inference.infer": ("infer_schema",),
    "extract.chunktool.prefilter": ("Prefilter",),
    "extract.client.client": ("Client",),
    "extract.errors": (
        "BrokerError",
        "DocumentError",
        "ExtractError",
        "JoinError",
        "MatcherError",
        "QuerySyntaxError",
        "SchemaError",
        "SchemeError",
        "SubscriptionsError",
    ),
    "extract.filtertool.joins.joined": ("Joined",),
    "extract.filtertool.results.findings": ("Match",),
    "extract.filtertool.results.locate_nodes": ("locate",),
    "extract.joins": ("Joins",),
    "extract.limits": ("Limits",),
    "extract.live_filter": ("Filter",),
    "extract.pipeline": (
        "ChunkMatches",
        "MatchOptions",
        "by_priority",
        "count",
        "match",
        "outputs",
    ),
    "extract.preparation": ("prepare",),
    "extract.schema.infer": ("InferredSchema",),
    "extract.schema.model": ("Schema",),
    "extract.scheme.model": ("Scheme",),
    "extract.subscriptions.model": ("Subscription", "Subscriptions"),
}
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Imports a name of the stable interface when somebody asks for it."""
    if name == "spark":
        return import_module("extract.spark")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
