"""Schemes for tests: of some queries over the bundled schemas, and of random ones."""

from __future__ import annotations

from random import Random

from extract import Schema, Subscriptions
from extract.preptool.prepare import prepare
from extract.scheme import Scheme
from tests.support.equivalence import LIMITS
from tests.support.generate.draw import between, pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.paths import FIXTURES, SCHEMAS

GOLDEN = FIXTURES / "schemes"
UNIVERSITY = Schema.load(SCHEMAS / "university.dtd", root="db")


def prepared(schema: Schema, chunks: int, *queries: str, **named: str) -> Scheme:
    return prepare(schema, Subscriptions.of([*queries, *named.items()]), chunks)


def prefixes(scheme: Scheme) -> list[str]:
    return [chunk.prefix for chunk in scheme.chunks]


def random_scheme(rng: Random, queries: int = 40) -> Scheme:
    """A scheme for random queries, broken ones among them."""
    schema = random_schema(rng).load()
    writer = Queries(schema)
    texts = [writer.query(rng, pick(rng, sorted(PROFILES))) for _ in range(queries)]
    texts += ["//a[", "foo()", *texts[:3]]
    subscriptions = Subscriptions.of(texts, writer.namespaces)
    return prepare(schema, subscriptions, between(rng, 1, 6), expansion=pick(rng, LIMITS))
