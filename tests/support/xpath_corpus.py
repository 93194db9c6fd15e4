"""Expressions to compare with libxml2: a corpus, random queries, and libxml2's verdict."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from lxml import etree

from tests.support.generate.draw import between, chance, pick
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


def respelled(rng: Random, text: str) -> str:
    """A text with white space put in or taken away, and some characters of literals changed."""
    for _ in range(between(rng, 1, 3)):
        at = rng.randrange(len(text) + 1)
        if chance(rng, 40):
            text = text[:at] + pick(rng, (" ", "\n", "\t ")) + text[at:]
        elif chance(rng, 50):
            text = text[:at] + text[at:].lstrip(" \t\r\n")
        else:
            text = text[:at] + pick(rng, "0123456789.e'\"") + text[at + chance(rng, 50) :]
    return text


def read_queries(data: Path, step: int) -> Iterator[str]:
    """Every ``step``-th NITF query, and all others."""
    for file in sorted((data / "nitf").glob("*.tsv.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            chosen = islice(lines, 0, None, step)
            yield from (line.rstrip("\n").split("\t", 1)[1] for line in chosen)
    for file in (data / "ubl" / "rules.jsonl", data / "xmark" / "xpathmark.jsonl"):
        with file.open(encoding="utf-8") as lines:
            yield from (json.loads(line)["xpath"] for line in lines)
    with (data / "wordnet" / "queries.tsv").open(encoding="utf-8") as lines:
        yield from (line.rstrip("\n").split("\t", 1)[1] for line in lines)
