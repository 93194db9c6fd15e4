"""Random XPath 1.0 over the names of a schema, often with an answer, never expensive.

A query is written while walking the schema: every step knows which elements it may be at, and asks
mostly for what may be there. Steps and axes that visit the whole document are rationed for a query
as a whole, so that evaluating one stays cheap however it nests.

Profiles, from tame to anything goes:

* ``linear``: child and descendant steps, names and ``*``, at the end an attribute or text;
* ``filtered``: the same with predicates;
* ``axes``: all thirteen axes and all node tests;
* ``wild``: the whole grammar: unions, filter expressions, every function and operator, values.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from extract.schema.model import Schema
from tests.support.generate.draw import chance, pick
from tests.support.generate.expressions import Expressions
from tests.support.generate.paths import PROFILES, Profile
from tests.support.generate.walk import Walk, bindings

__all__ = ["PROFILES", "Queries", "bindings", "query"]

_SPACES = ("", "", "", " ", " ", "\n", "\t ", "  ")


def query(
    rng: Random,
    schema: Schema,
    profile: str = "wild",
    namespaces: Mapping[str, str] | None = None,
) -> str:
    """One query; for many on one schema make a `Queries` once.

    Args:
        rng: Source of randomness.
        schema: Where the names come from.
        profile: A key of `PROFILES`.
        namespaces: Prefix to URI; by default those of `bindings`.
    """
    return Queries(schema, namespaces).query(rng, profile)


class Queries:
    """Writes queries over one schema.

    Attributes:
        namespaces: The prefixes that the queries use.
    """

    def __init__(self, schema: Schema, namespaces: Mapping[str, str] | None = None) -> None:
        self.namespaces = dict(bindings(schema) if namespaces is None else namespaces)
        self._walk = Walk(schema, self.namespaces)

    def query(self, rng: Random, profile: str = "wild") -> str:
        """One query of a profile, a key of `PROFILES`."""
        chosen: Profile = PROFILES[profile]
        tokens = Expressions(rng, self._walk, chosen).top()
        if chance(rng, chosen.loose):
            return "".join(token + pick(rng, _SPACES) for token in ("", *tokens))
        return "".join(tokens)
