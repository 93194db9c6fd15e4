"""From queries to a scheme: as in the paper, sufficient, and every query accounted for."""

from __future__ import annotations

import gzip
import json
import pickle
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

import extract
from extract import Schema, SchemeError, Subscription, Subscriptions
from extract.filtertool.matchers.push.native import native_available
from extract.preptool.choose import assign
from extract.preptool.footprints.footprint import footprint
from extract.preptool.footprints.partial_footprints import PartialFootprints
from extract.preptool.prepare import WEIGHTS, prepare, tree_of
from extract.preptool.query_tree import WeightedQuery, by_subscribers
from extract.scheme import Branch, Scheme
from extract.scheme.spine import take_apart
from extract.scheme.splittable import why_not_splittable
from extract.transtool.expansion import Expansion
from extract.transtool.normalise import Normaliser
from extract.xpath.check import parse_checked
from extract.xpath.parser import parse
from tests.support.equivalence import LIMITS, canonical
from tests.support.generate import oracle
from tests.support.generate.draw import pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.paths import SCHEMAS
from tests.support.scheme_answers import answers
from tests.support.schemes import GOLDEN, UNIVERSITY, prefixes, prepared, random_scheme
from tests.support.table_a3 import TABLE_A3

FIGURE_4 = Schema.load(SCHEMAS / "figure4.dtd", root="a")
EJB = Schema.load(SCHEMAS / "ejb-jar.dtd", root="ejb-jar")


# -- When documents are cut


@pytest.mark.skipif(not native_available(), reason="other matchers cut documents")
def test_a_filter_of_messages_never_asks_for_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(_: object) -> None:
        raise AssertionError("somebody asks for chunks")

    monkeypatch.setattr("extract.preptool.prepare._Cutting.cut", cut)
    queries = Subscriptions.of({"s": "//student[name = 'Ann']", "n": "//no"})
    ready = extract.Filter(prepare(UNIVERSITY, queries, 2))
    rows = ready.table([("1", b"<db><student><name>Ann</name></student></db>")])
    assert rows["query"].to_pylist() == ["s"]


@pytest.mark.parametrize("chunks", [1, 2, "auto"])
def test_asking_late_for_chunks_gives_the_same(chunks: Any) -> None:
    queries = Subscriptions.of({"1": "//student/name", "2": "//email", "3": "//student[url]"})
    early, late, sent = (prepare(UNIVERSITY, queries, chunks) for _ in range(3))
    assert early.chunks
    extract.Filter(late).table([("1", b"<db/>")])
    assert late == early
    assert pickle.loads(pickle.dumps(sent)) == early
    assert list(late.lines()) == list(early.lines())
    with pytest.raises(AttributeError, match="no attribute 'chunk'"):
        _ = late.chunk  # type: ignore[attr-defined]


def test_threads_that_ask_for_chunks_at_once() -> None:
    queries = Subscriptions.of({str(n): f"//student[name = {n}]/url" for n in range(50)})
    scheme = prepare(UNIVERSITY, queries, 2)
    with ThreadPoolExecutor(8) as pool:
        asked = list(pool.map(lambda name: getattr(scheme, name), ["chunks", "notes"] * 8))
    assert asked[::2] == [scheme.chunks] * 8


def test_a_function_for_weights_fails_at_once() -> None:
    def weigh(_: Any) -> float:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        prepare(UNIVERSITY, Subscriptions.of({"1": "//student"}), 1, weights=weigh)


# -- The paper's examples


@pytest.mark.parametrize("name", ["figure4.tsv", "university.tsv", "ejb-jar.jsonl"])
def test_golden_schemes(name: str, repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo_root)
    queries = GOLDEN / name
    about = dict(re.findall(r"^# (\w+): (.*)$", queries.read_text(encoding="utf-8"), re.MULTILINE))
    scheme = prepare(
        Schema.load(about["schema"], about["root"]),
        Subscriptions.load(queries),
        int(about["chunks"]),
        WEIGHTS[about.get("weights", "one")],
    )
    expected = queries.with_suffix(".json").read_text(encoding="utf-8")
    assert "".join(scheme.lines()) == expected


def kind(path: str, count: int) -> list[str]:
    """So many different queries for one kind of record."""
    return [f"{path}[string-length() != {i}]" for i in range(count)]


@pytest.mark.parametrize("chunks", TABLE_A3)
def test_appendix_a3_from_a_thousand_queries(chunks: int) -> None:
    queries = [
        *kind("//container-transaction", 190),
        *kind("//method-permission", 180),
        *kind("//security-role", 170),
        *kind("//session", 160),
        *kind("//message-driven", 155),
        *kind("//entity", 145),
    ]
    scheme = prepared(EJB, chunks, *queries)
    shares = {chunk.prefix: len(scheme.queries_in(chunk)) / 10 for chunk in scheme.chunks}
    assert shares == TABLE_A3[chunks]
    assert not scheme.queries_in(scheme.potpourri)
    assert not scheme.notes


@pytest.mark.parametrize(
    ("chunks", "left_out"), [(5, []), (4, ["lecturer"]), (3, ["lecturer", "secretary"])]
)
def test_scenario_1_the_lightest_kinds_go_to_the_potpourri(
    chunks: int, left_out: list[str]
) -> None:
    counts = {"student": 24, "professor": 22, "assistant": 20, "secretary": 18, "lecturer": 16}
    queries = [query for name, count in counts.items() for query in kind(f"//{name}", count)]
    scheme = prepared(UNIVERSITY, chunks, *queries)
    assert prefixes(scheme) == sorted(f"/db/{name}" for name in counts if name not in left_out)
    assert len(scheme.queries_in(scheme.potpourri)) == sum(counts[name] for name in left_out)
    assert {path for path, _ in scheme.potpourri.filters} == {f"/db/{name}" for name in left_out}


def test_weights_move_the_prefixes() -> None:
    queries = [
        Subscription("rare", "/db/student/name", weight=0.5),
        Subscription("rare too", "/db/student/email"),
        Subscription("hot", "/db/lecturer/url", weight=10),
    ]
    subscriptions = Subscriptions.of(queries)
    assert prefixes(prepare(UNIVERSITY, subscriptions, 1)) == ["/db/student"]
    by_weight = prepare(UNIVERSITY, subscriptions, 1, weights="subscribers")
    assert prepare(UNIVERSITY, subscriptions, 1, by_subscribers) == by_weight
    with pytest.raises(SchemeError, match="unknown weights 'heavy'"):
        prepare(UNIVERSITY, subscriptions, 1, weights="heavy")
    assert prefixes(by_weight) == ["/db/lecturer/url"]
    assert by_weight.settings.weights == "subscribers"


def test_equal_normal_forms_are_one_query_with_its_subscribers() -> None:
    subscriptions = Subscriptions.of(
        [
            Subscription("a", "//student/name", weight=2),
            Subscription("b", "/db/lecturer"),
            Subscription("c", "db/student/name", weight=3),
        ]
    )
    scheme = prepare(UNIVERSITY, subscriptions, 2)
    first, other = scheme.queries
    assert [(one.id, one.xpath, one.absolute, one.weight) for one in first.subscribers] == [
        ("a", "//student/name", "//student/name", 2.0),
        ("c", "db/student/name", "/db/student/name", 3.0),
    ]
    assert other.id == "b"
    assert scheme.queries_in(scheme.chunks[1]) == ("a", "c")
    assert scheme.counts()["canonical"] == 2


# -- Properties


@pytest.mark.parametrize("seed", range(30))
def test_every_query_and_every_branch_is_accounted_for(seed: int) -> None:
    scheme = random_scheme(Random(seed))
    counts = scheme.counts()
    assert counts["registered"] == 45
    assert counts["registered"] == (
        counts["satisfiable"] + counts["unsatisfiable"] + counts["rejected"]
    )
    assert counts["rejected"] == 2
    assert len(scheme.queries) == counts["canonical"]
    ids = [one.id for query in scheme.queries for one in query.subscribers]
    ids += [one.subscriber.id for one in scheme.unsatisfiable]
    ids += [one.id for one in scheme.rejected]
    assert Counter(ids) == Counter(map(str, range(1, 46)))
    chunks_of = Counter(n for chunk in scheme.every_chunk for n in chunk.branches)
    assert chunks_of == Counter(range(len(scheme.branches)))
    used = {n for form in scheme.forms for n in form.branches}
    assert used == set(range(len(scheme.branches)))
    for chunk in (*scheme.chunks, scheme.potpourri, scheme.document):
        expected = [
            one.id
            for query in scheme.queries
            if set(scheme.forms[query.form].branches) & set(chunk.branches)
            for one in query.subscribers
        ]
        assert sorted(scheme.queries_in(chunk)) == sorted(expected)


@pytest.mark.parametrize("seed", range(30))
def test_a_branch_is_in_the_chunk_of_its_longest_prefix(seed: int) -> None:
    scheme = random_scheme(Random(seed))
    chosen = {tuple(prefix.split("/")[1:]): prefix for prefix in prefixes(scheme)}
    for chunk in scheme.every_chunk:
        for number in chunk.branches:
            branch = scheme.branches[number]
            longest = assign(take_apart(branch).names, chosen)
            if footprint(parse(branch.xpath)).whole:
                assert chunk is scheme.document
                assert chunk.whole
            else:
                assert chunk.prefix == (chosen[longest] if longest else "")


@pytest.mark.parametrize("seed", range(30))
def test_a_chunk_is_splittable_if_each_of_its_branches_is(seed: int) -> None:
    scheme = random_scheme(Random(seed))
    for chunk in scheme.chunks:
        depth = chunk.prefix.count("/")
        reasons = [
            why_not_splittable(parse(scheme.branches[n].xpath), depth) for n in chunk.branches
        ]
        assert chunk.splittable == (not any(reasons))


@pytest.mark.parametrize("seed", range(30))
def test_pieces_look_at_what_the_branch_looks_at(seed: int) -> None:
    rng = Random(seed)
    schema = random_schema(rng).load()
    writer, normaliser = Queries(schema), Normaliser(schema, limits=pick(rng, LIMITS))
    pieces, shared = PartialFootprints(), 0
    for _ in range(40):
        xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
        expr = normaliser.prefixes.bind(parse_checked(xpath, writer.namespaces), writer.namespaces)
        for part in normaliser.normalise(expr).branches:
            found = pieces.of(Branch(part.xpath, len(part.prefix)))
            expected = footprint(parse(part.xpath))
            whole = next((piece.beyond.whole for piece in found if piece.beyond.whole), "")
            assert whole == expected.whole, part
            if not whole:
                assert frozenset().union(*(piece.wants for piece in found)) == expected.wants, part
            shared += any(piece.below is not None for piece in found)
    assert shared


@pytest.mark.parametrize("seed", range(10))
def test_a_scheme_prepared_from_a_loaded_schema_is_the_same(seed: int, tmp_path: Path) -> None:
    scheme = random_scheme(Random(seed))
    scheme.save(tmp_path / "scheme.json")
    loaded = Scheme.load(tmp_path / "scheme.json")
    # In the scheme's own prefixes: those of the queries are not kept.
    queries = [(one.id, one.absolute) for query in scheme.queries for one in query.subscribers]
    queries += [(one.subscriber.id, one.subscriber.absolute) for one in scheme.unsatisfiable]
    again = prepare(
        loaded.schema,
        Subscriptions.of(queries, scheme.namespaces),
        scheme.settings.chunks,
        expansion=Expansion(**scheme.settings.limits),
    )
    assert again.chunks == scheme.chunks
    assert again.potpourri == scheme.potpourri
    assert again.branches == scheme.branches
    assert len(again.unsatisfiable) == len(scheme.unsatisfiable)


def test_the_query_tree_can_be_had_from_the_scheme() -> None:
    queries = ["/db/student/name", "//email", "/db/lecturer[id('x')]"]
    tree = tree_of(prepared(UNIVERSITY, 2, *queries))
    assert tree.document.weight == 3
    node = tree.node(("db", "student"))
    assert node is not None
    assert node.weight == 2
    lecturer = tree.node(("db", "lecturer"))
    assert lecturer is not None
    assert lecturer.weight == 1  # //email; the other one goes to the potpourri anyway


def test_no_tree_without_the_way_to_weigh() -> None:
    def backwards(query: WeightedQuery) -> float:
        return 1 / sum(query.weights)

    scheme = prepare(UNIVERSITY, Subscriptions.of(["//name"]), 1, backwards)
    assert scheme.settings.weights == "custom"
    with pytest.raises(SchemeError, match="weighed"):
        tree_of(scheme)


# -- Prefixes of namespaces


def test_all_queries_are_in_one_prefix_table() -> None:
    schema = Schema.load(SCHEMAS / "orders.xsd")
    uri = next(iter(schema.prefixes.values()))
    ours = next(iter(schema.prefixes))
    subscriptions = Subscriptions.of(
        [
            Subscription("own", "//x:*", {"x": uri}),
            Subscription("clash", f"//{ours}:a", {ours: "urn:other"}),
        ]
    )
    scheme = prepare(schema, subscriptions, 2)
    own = scheme.queries[0].subscribers[0]
    assert own.xpath == "//x:*"
    assert own.absolute == f"//{ours}:*"
    clash = scheme.queries[1].subscribers[0]
    assert clash.xpath == f"//{ours}:a"
    other = clash.absolute.removeprefix("//").removesuffix(":a")
    assert other != ours
    assert scheme.namespaces[other] == "urn:other"
    assert scheme.namespaces[ours] == uri


def test_the_order_of_bindings_does_not_matter() -> None:
    schema = Schema.load(SCHEMAS / "orders.xsd")
    uri = next(iter(schema.prefixes.values()))
    bindings = {"p": "urn:1", "q": "urn:1", "r": uri, "o2": "urn:2", "o": "urn:3"}
    queries = ["//r:*", "//p:x | //q:x", "//o:y", "//o2:y"]
    texts = set()
    for order in (sorted(bindings), sorted(bindings, reverse=True)):
        namespaces = {prefix: bindings[prefix] for prefix in order}
        scheme = prepare(schema, Subscriptions.of(queries, namespaces), 2)
        texts.add("".join(scheme.lines()))
    assert len(texts) == 1


# -- Bad input


@pytest.mark.parametrize("chunks", [0, -3])
def test_no_chunks_is_an_error_before_any_work_is_done(chunks: int) -> None:
    nothing: Any = None
    with pytest.raises(SchemeError, match=f"into {chunks} chunks") as caught:
        prepare(nothing, nothing, chunks)
    assert caught.value.hint


def test_all_unsatisfiable_is_a_scheme_that_says_so() -> None:
    scheme = prepared(UNIVERSITY, 2, "/db/zzz", "//zzz")
    assert scheme.chunks == ()
    assert scheme.every_chunk == ()
    assert "no query can match" in scheme.notes[0]
    assert scheme.counts()["unsatisfiable"] == 2


def test_no_query_at_all_is_an_empty_scheme() -> None:
    scheme = prepared(UNIVERSITY, 2)
    assert scheme.notes == ("there is no query to cut documents for",)
    assert scheme.counts()["registered"] == 0


def test_fewer_chunks_than_asked_for_is_noted() -> None:
    scheme = prepared(UNIVERSITY, 9, "/db/student", "/db/lecturer")
    assert len(scheme.chunks) == 2
    assert "9 chunks were asked for" in scheme.notes[0]


def test_a_rejected_query_keeps_its_place() -> None:
    scheme = prepared(UNIVERSITY, 1, good="//name", bad="//name[")
    (rejected,) = scheme.rejected
    assert (rejected.id, rejected.xpath, rejected.offset) == ("bad", "//name[", 7)


def test_it_is_part_of_the_stable_interface() -> None:
    queries = extract.Subscriptions.of({"names": "//name"})
    assert extract.prepare(UNIVERSITY, queries, 1) == prepare(UNIVERSITY, queries, 1)
    assert {"Scheme", "prepare"} <= set(extract.__all__)
    with pytest.raises(AttributeError, match="prepair"):
        _ = extract.prepair


# -- Real data


def test_real_queries_on_real_messages(shared_data: Path) -> None:
    schema = Schema.load(shared_data / "nitf" / "nitf.dtd", root="nitf")
    queries: dict[str, str] = {}
    for name in ("linear", "nested1", "nested2"):
        lines = gzip.decompress((shared_data / "nitf" / f"{name}.tsv.gz").read_bytes()).decode()
        for line in lines.splitlines()[::2_500]:
            identifier, xpath = line.split("\t")
            queries[f"{name}-{identifier}"] = xpath
    scheme = prepare(schema, Subscriptions.of(queries), 6)
    assert len(scheme.chunks) == 6
    compare_on(scheme, queries, {}, sorted((shared_data / "nitf" / "docs").iterdir())[:4])


def test_all_axes_on_auctions(shared_data: Path) -> None:
    schema = Schema.load(shared_data / "xmark" / "auction.dtd", root="site")
    lines = (shared_data / "xmark" / "xpathmark.jsonl").read_text(encoding="utf-8").splitlines()
    queries = {str(row["id"]): row["xpath"] for row in map(json.loads, lines)}
    scheme = prepare(schema, Subscriptions.of(queries), 5)
    counts = scheme.counts()
    assert counts["registered"] == len(queries)
    assert len(scheme.chunks) == 5


def compare_on(
    scheme: Scheme, queries: dict[str, str], namespaces: dict[str, str], documents: list[Path]
) -> None:
    matches = 0
    for document in documents:
        tree = oracle.parse(document.read_bytes())
        found = answers(scheme, tree)
        assert set(found) == set(queries)
        for identifier, xpath in queries.items():
            expected = canonical(oracle.answer(tree, xpath, namespaces))
            assert found[identifier] == expected, (document, identifier, xpath)
            matches += len(expected) - 1
    assert matches
