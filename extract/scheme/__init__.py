"""The scheme: the only bridge between the prepare phase and the filtering phase.

Usage:
    ``scheme = Scheme.load("scheme.json")``, and ``scheme.save("scheme.json")`` for one that
    `extract.preptool.prepare` made. The file is versioned, in canonical XPath strings, for people
    and programs; CHUNKTOOL and FILTERTOOL need nothing else.

Which to use:
    `model` has the values; `Scheme.check_schema` says whether a scheme was made for a schema.
    `reader` and `writer` are ``scheme.json``, `fields` reads one object of
    it with good errors, `edges` are its rows of the schema. `lookup` finds a query by its id.
    `spine` takes the text of a branch apart, `splittable` says whether a chunk can be cut into
    records, `statistics` are the sizes of documents that the estimates are based on.

Always holds:
    A scheme stands alone: it has the schema's edges, all prefixes in one table, every registered
    query with its outcome, and for every branch of every query that can match a chunk that answers
    it. A file is checked as a whole when it is loaded: one that is damaged, of another version or
    contradicts itself is a `SchemeError` that says where. The same scheme gives the same bytes.

To add a field:
    It goes into `extract.scheme.model`, the writer, the reader (with a default, or older files no
    longer load) and ``scheme.schema.json``, which the tests hold against what is written. A change
    that older readers would misread needs another `FORMAT`. Metadata of subscriptions did not:
    older readers ignore it, and answers do not depend on it.
"""

from __future__ import annotations

from extract.scheme.model import FORMAT, Branch, Branches, Chunk, Need, Scheme, Settings, Want
from extract.scheme.registered import Query, Rejected, Subscriber, Unsatisfiable
from extract.scheme.templates import Form, RegisteredTemplate

__all__ = [
    "FORMAT",
    "Branch",
    "Branches",
    "Chunk",
    "Form",
    "Need",
    "Query",
    "RegisteredTemplate",
    "Rejected",
    "Scheme",
    "Settings",
    "Subscriber",
    "Unsatisfiable",
    "Want",
]
