"""Expressions to compare with libxml2: a corpus, random queries, and libxml2's verdict."""

from __future__ import annotations

from random import Random

from lxml import etree

from tests.support.generate.draw import pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.paths import FIXTURES


def read_corpus() -> list[str]:
    """The expressions of the corpus file."""
    file = FIXTURES / "xpath" / "corpus.txt"
    lines = file.read_text(encoding="ascii").splitlines()
    return [line.encode().decode("unicode_escape") for line in lines if line and line[0] != "#"]


def generated(rng: Random, count: int) -> list[str]:
    """Queries of all profiles over random schemas."""
    out: list[str] = []
    while len(out) < count:
        queries = Queries(random_schema(rng).load())
        out += [queries.query(rng, pick(rng, sorted(PROFILES))) for _ in range(50)]
    return out


CORPUS = read_corpus()


def compiles(xpath: str) -> bool:
    """libxml2's verdict."""
    try:
        etree.XPath(xpath)
    except (etree.XPathSyntaxError, ValueError):
        return False
    return True
