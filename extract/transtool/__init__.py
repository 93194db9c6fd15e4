"""TRANSTOOL: XPath subscriptions against a schema, normalised exactly.

In: a `Schema` and `Subscriptions`. Out: for each subscription a `NormalQuery` whose `NormalForm` is
a union of branches, each a spine of named child steps with filters, ending in a leaf or, where the
schema recurses or a step resists, in a residual tail.

What always holds: on every document that has only the schema's edges, the branches together select
exactly the nodes that the subscription selects. Only edges are used, never order or cardinality.
Where a rule cannot keep that, it declines, and the query stays as it was: slower, never wrong.

The map is `extract.transtool.normalise`; to add a rule see `extract.transtool.rules`.
"""

from __future__ import annotations

from extract.transtool.expansion import Expansion
from extract.transtool.normalise import NormalBranch, NormalForm, Normaliser
from extract.transtool.queries import NormalQuery, normalise_all

__all__ = ["Expansion", "NormalBranch", "NormalForm", "NormalQuery", "Normaliser", "normalise_all"]
