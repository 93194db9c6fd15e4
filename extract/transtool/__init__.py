"""TRANSTOOL: rewrites XPath subscriptions into their normal form under a schema, exactly.

Usage:
    >>> from extract.schema.model import Declaration, Schema
    >>> from extract.subscriptions import Subscriptions
    >>> a, b = Declaration(0, "a", children=(1,)), Declaration(1, "b")
    >>> schema = Schema("memory", "dtd", (a, b), roots=(0,))
    >>> (query,) = normalise_all(schema, Subscriptions.of({"all": "//b"}))
    >>> query.form.xpath, query.status
    ('/a/b', 'normal')

    The normal form is a union of branches. A branch is a spine of named child steps with filters,
    and ends in a leaf or, where the schema recurses or a step resists, in a residual tail.

Which to use:
    `normalise_all` for the subscriptions of a file: it yields the outcome of each, including
    rejected and unsatisfiable ones. `Normaliser` for single expressions that are already parsed and
    bound; one normaliser for many queries is much faster than one each. `Expansion` bounds the size
    of normal forms.

Always holds:
    On every document that has only the schema's edges, the branches together select exactly the
    nodes that the subscription selects. Only edges are used, never order or cardinality. A rule
    that cannot guarantee this declines, and the query stays as it is: slower, never wrong.

To add a rule:
    See `extract.transtool.rules`; `extract.transtool.normalise` runs them.
"""

from __future__ import annotations

from extract.transtool.expansion import Expansion
from extract.transtool.normalise import NormalBranch, NormalForm, Normaliser
from extract.transtool.queries import NormalQuery, normalise_all

__all__ = ["Expansion", "NormalBranch", "NormalForm", "NormalQuery", "Normaliser", "normalise_all"]
