"""`Schema.none`: any document conforms, nothing is pruned, and all answers are libxml2's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

import extract
from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.automaton.outputs import chunk_outputs
from extract.chunktool.chunks import chunk
from extract.chunktool.scan.driver import Verdict
from extract.filtertool.document_filter import document_filter
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.preptool.prepare import prepare
from extract.schema.conformance import first_violation
from extract.schema.model import Schema
from extract.scheme.model import Scheme
from extract.transtool import normalise_all
from tests.support.equivalence import LIMITS
from tests.support.filter_rounds import KERNELS, MATCHERS, Round
from tests.support.generate import oracle
from tests.support.generate.draw import between, chance, pick
from tests.support.real_rows import check_real, read

DOCUMENT = b"<a><b x='1'>t<c/><c/><d/></b><!--k--><q:b xmlns:q='u'><e/></q:b></a>"


class AnyDocument(Round):
    """Random documents, right and wrong ones, and queries, without a schema between them."""

    def __init__(self, rng: Random, queries: int) -> None:
        super().__init__(rng, queries)
        self.scheme = prepare(
            Schema.none(),
            extract.Subscriptions.of(self.texts, self.namespaces),
            "auto" if chance(rng, 20) else between(rng, 1, 8),
            expansion=pick(rng, LIMITS),
        )


def round_of(seed: int, queries: int = 30) -> Counter[str]:
    total: Counter[str] = Counter()
    one = AnyDocument(Random(seed), queries)
    for name in MATCHERS:
        for scheme in one.schemes():
            for kernel in KERNELS:
                large, priority = bool(seed % 2), seed % 3 == 0
                total += one.check(load_matcher(name), scheme, kernel, large, priority)
    return total


@pytest.mark.parametrize("seed", range(12))
def test_every_query_gives_what_libxml2_gives(seed: int) -> None:
    total = round_of(seed)
    assert total["answers"] > 50
    assert not total["nonconforming"]


@pytest.mark.slow
def test_every_query_gives_what_libxml2_gives_at_length() -> None:
    for seed in range(1_000, 1_500):
        assert not round_of(seed)["nonconforming"]


def test_chunks_are_cut_without_a_schema() -> None:
    """Plain paths get chunks of their own; what may be anywhere is in the potpourri."""
    queries = {"plain": "/a/b/d", "anywhere": "//c", "other": "/a/e"}
    scheme = prepare(Schema.none(), extract.Subscriptions.of(queries), 2)
    assert {one.prefix: scheme.queries_in(one) for one in scheme.chunks} == {
        "/a/b/d": ("plain",),
        "/a/e": ("other",),
    }
    assert scheme.queries_in(scheme.potpourri) == ("anywhere",)
    done = chunk(scheme, DOCUMENT)
    assert done.outcome.verdict is Verdict.CONFORMING


def test_nothing_is_unsatisfiable() -> None:
    queries = extract.Subscriptions.of({"1": "/a/zzz", "2": "//b/@none", "3": "/a[not(b)]/c"})
    for query in normalise_all(Schema.none(), queries):
        assert query.status == "normal"
        assert query.form is not None
        assert len(query.form.branches) == 1


def test_any_document_conforms() -> None:
    tree = oracle.parse(DOCUMENT).tree
    assert first_violation(Schema.none(), tree) is None
    places = Schema.none().places
    assert places.document.step("anything") is places.unknown
    assert places.document.step("{urn:x}y") is places.unknown


def test_a_scheme_remembers_that_there_is_no_schema(tmp_path: Path) -> None:
    queries = {"1": "//b", "2": "/a/b[c]/d", "3": "//@x", "4": "count(//c)", "5": "//comment()"}
    scheme = prepare(Schema.none(), extract.Subscriptions.of(queries), "auto")
    scheme.save(tmp_path / "scheme.json")
    loaded = Scheme.load(tmp_path / "scheme.json")
    assert loaded.schema.kind == "none"
    assert list(extract.match(loaded, DOCUMENT)) == list(extract.match(scheme, DOCUMENT))
    assert [(m.query, m.path) for m in extract.match(loaded, DOCUMENT) if m.query == "1"] == [
        ("1", "/a[1]/b[1]")
    ]


def test_the_automaton_has_few_states() -> None:
    """They do not grow with the depth of documents or with the names in them."""
    queries = {str(n): f"//n{n}/m{n}" for n in range(50)} | {"p": "/a/b/c", "q": "//x//y"}
    scheme = prepare(Schema.none(), extract.Subscriptions.of(queries), 3)
    automaton = Automaton(scheme, chunk_outputs(scheme))
    rng = Random(1)
    for _ in range(2_000):
        state = automaton.START
        for _ in range(30):
            name = pick(rng, ["a", "b", "x", f"n{between(rng, 0, 60)}", f"u{rng.random()}"])
            state = automaton.step(state, automaton.symbol("", name))
            assert state >= 0
    assert automaton.states < 500


@pytest.mark.parametrize("chunks", [1, 6])
def test_news_without_a_schema(shared_data: Path, chunks: int) -> None:
    data = shared_data / "nitf"
    documents = read(sorted(data.rglob("*.xml"))[:4])
    for queries, step in (("linear.tsv.gz", 1_000), ("nested1.tsv.gz", 2_000)):
        subscriptions = extract.Subscriptions.load(data / queries)[::step]
        scheme = prepare(Schema.none(), extract.Subscriptions.of(list(subscriptions)), chunks)
        compared = check_real(scheme, documents)
        assert compared["answers"] >= 200
        assert not compared["nonconforming"]


def test_invoices_without_a_schema(shared_data: Path) -> None:
    data = shared_data / "ubl"
    documents = read(sorted((data / "docs").iterdir())[::80])
    subscriptions = extract.Subscriptions.load(data / "rules.jsonl")[::12]
    scheme = prepare(Schema.none(), extract.Subscriptions.of(list(subscriptions)), 5)
    assert check_real(scheme, documents)["answers"] >= 200


def test_streams_and_bytes_are_alike() -> None:
    scheme: Any = prepare(Schema.none(), extract.Subscriptions.of({"1": "//b", "2": "/a/b"}), 1)
    filter_ = document_filter(scheme, load_matcher("auto"), Options())
    (done,) = filter_.process([("d", DOCUMENT)])
    assert done.fate == "conforming"
