"""The scheme: the only bridge between the prepare phase and the filtering phase.

Comes in:
    What PREPTOOL decided: a `Scheme`, made by `extract.preptool.prepare`; or ``scheme.json``, the
    same as a file.

Goes out:
    ``scheme.json`` (`Scheme.save`), versioned, in canonical XPath strings, for people and programs;
    or the `Scheme` that it holds (`Scheme.load`), for CHUNKTOOL and FILTERTOOL.

Always holds:
    A scheme stands alone: it has the schema's edges, all prefixes in one table, every registered
    query with what became of it, and for every branch of every query that can match a chunk that
    answers it. What is loaded is checked as a whole: a file that is damaged, of another version or
    contradicts itself is a `SchemeError` that says where. The same scheme gives the same bytes.

To add one more:
    A field goes into `extract.scheme.model`, the writer, the reader (with a default, or older files
    no longer load) and ``scheme.schema.json``, which the tests hold against what is written. A
    change that older readers would misread needs another `FORMAT`.
"""

from __future__ import annotations

from extract.scheme.model import (
    FORMAT,
    Branch,
    Branches,
    Chunk,
    Need,
    Query,
    Rejected,
    Scheme,
    Settings,
    Subscriber,
    Unsatisfiable,
    Want,
)

__all__ = [
    "FORMAT",
    "Branch",
    "Branches",
    "Chunk",
    "Need",
    "Query",
    "Rejected",
    "Scheme",
    "Settings",
    "Subscriber",
    "Unsatisfiable",
    "Want",
]
