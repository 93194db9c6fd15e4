"""A scheme answers every query: each chunk, reduced to what it keeps, selects the same nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import extract
from extract.errors import QuerySyntaxError
from extract.preptool.prepare import prepare
from extract.scheme.model import Scheme
from extract.xpath.check import parse_checked
from tests.support.equivalence import LIMITS, canonical
from tests.support.generate import oracle
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import between, chance, pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.paths import SCHEMAS
from tests.support.scheme_answers import answers


def round_of(rng: Random, queries: int) -> int:
    """A random schema, query set and number of chunks: the scheme against the whole document."""
    schema = random_schema(rng).load()
    writer, documents = Queries(schema), Documents(schema)
    texts: dict[str, str] = {}
    for i in range(queries):
        xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
        try:
            parse_checked(xpath, writer.namespaces)
        except QuerySyntaxError:
            continue
        texts[f"q{i}"] = xpath
    subscriptions = extract.Subscriptions.of(texts, writer.namespaces)
    scheme = prepare(schema, subscriptions, between(rng, 1, 8), expansion=pick(rng, LIMITS))
    projected = replace(scheme, chunks=tuple([replace(c, projected=True) for c in scheme.chunks]))
    for _ in range(2):
        options = Options(size=between(rng, 5, 60), strict=chance(rng, 50), odd=10)
        tree = oracle.parse(documents.document(rng, options))
        found, from_less = answers(scheme, tree), answers(projected, tree)
        assert set(found) == set(texts)
        for identifier, xpath in texts.items():
            expected = canonical(oracle.answer(tree, xpath, writer.namespaces))
            assert found[identifier] == expected, (xpath, scheme)
            assert from_less[identifier] == expected, (xpath, projected)
    return 2 * len(texts)


@pytest.mark.parametrize("seed", range(25))
def test_every_query_is_answered_from_the_chunks(seed: int) -> None:
    assert round_of(Random(seed), 40) > 50


@pytest.mark.slow
def test_every_query_is_answered_from_the_chunks_at_length() -> None:
    compared = sum(round_of(Random(seed), 40) for seed in range(1_000, 4_000))
    print(f"{compared} answers from chunks without a difference")


def test_a_scheme_is_the_same_after_saving_and_loading(tmp_path: Path) -> None:
    schema = extract.Schema.load(SCHEMAS / "university.dtd", root="db")
    queries = {"a": "//student[name]/email", "b": "//name", "c": "count(//url)", "d": "/db/zzz"}
    scheme = prepare(schema, extract.Subscriptions.of(queries), 3)
    scheme.save(tmp_path / "scheme.json")
    loaded = Scheme.load(tmp_path / "scheme.json")
    assert loaded == scheme
    again = tmp_path / "again.json"
    loaded.save(again)
    assert again.read_bytes() == (tmp_path / "scheme.json").read_bytes()
