"""Which of many XPath subscriptions match which of many XML documents, fast and exactly.

The names listed in ``__all__`` are the stable interface; everything else may move.

>>> import extract
>>> queries = extract.Subscriptions.of({"names": "//student/name", "all": "/db/*"})
>>> [query.id for query in queries]
['names', 'all']

Errors all derive from `ExtractError` and say what happened, where, and what to do about it.
"""

from extract.errors import (
    DocumentError,
    ExtractError,
    MatcherError,
    QuerySyntaxError,
    SchemaError,
    SchemeError,
    SubscriptionsError,
)
from extract.schema.model import Schema
from extract.subscriptions import Subscription, Subscriptions

__version__ = "0.1.0"

__all__ = [
    "DocumentError",
    "ExtractError",
    "MatcherError",
    "QuerySyntaxError",
    "Schema",
    "SchemaError",
    "SchemeError",
    "Subscription",
    "Subscriptions",
    "SubscriptionsError",
    "__version__",
]
