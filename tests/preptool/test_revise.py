"""A revised scheme is the one that a fresh `prepare` makes of the same subscriptions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

from extract import (
    Limits,
    QuerySyntaxError,
    Schema,
    SchemeError,
    Subscription,
    Subscriptions,
    SubscriptionsError,
)
from extract.preptool.prepare import WEIGHTS, prepare
from extract.preptool.query_tree import WeightedQuery
from extract.preptool.revise import Reviser
from extract.scheme import Need, Rejected, Scheme, Subscriber, Unsatisfiable, Want
from extract.transtool.expansion import Expansion
from tests.support.equivalence import LIMITS
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import between, chance, pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.paths import SCHEMAS
from tests.support.scheme_facts import Facts, facts
from tests.support.schemes import UNIVERSITY

METADATA: list[dict[str, Any]] = [
    {},
    {"owner": "sales"},
    {"owner": None, "tags": ["b", "a"], "team": {"name": "é", "floor": 1.5}},
]


def without_texts(found: Facts) -> None:
    """Leaves only how many branches there are in each place."""
    found["queries"] = sorted((kind, subscribers) for _, kind, subscribers in found["queries"])
    for some in (found, *found["chunks"], found["potpourri"], found["document"]):
        some["branches"] = len(some["branches"])


def check_consistent(scheme: Scheme) -> None:
    """What a scheme that is prepared always has; and why a chunk is not splittable is true."""
    used = {number for form in scheme.forms for number in form.branches}
    assert used == set(range(len(scheme.branches)))
    homes = [number for chunk in scheme.every_chunk for number in chunk.branches]
    assert sorted(homes) == sorted(used)
    for chunk in scheme.chunks:
        xpaths = [scheme.branches[number].xpath for number in chunk.branches]
        assert chunk.splittable or any(chunk.unsplittable.endswith(f" in {x}") for x in xpaths)


def potpourri(reviser: Reviser) -> tuple[str, ...]:
    scheme = reviser.scheme()
    return tuple(scheme.queries_in(scheme.potpourri))


class Service:
    """Subscriptions that come and go, with a reviser that is told and one that is made afresh."""

    def __init__(self, rng: Random, folder: Path) -> None:
        self.rng = rng
        self.file = folder / "scheme.json"
        self.schema = random_schema(rng).load()
        self.writer = Queries(self.schema)
        self.chunks: int | Literal["auto"] = "auto" if chance(rng, 25) else between(rng, 1, 6)
        documents, options = Documents(self.schema), Options(size=40, strict=True, odd=0)
        self.samples = [documents.document(rng, options) for _ in range(between(rng, 0, 2))]
        self.workers = pick(rng, [1, 4])
        self.weigh = WEIGHTS[pick(rng, sorted(WEIGHTS))]
        self.limits: Expansion = pick(rng, LIMITS)
        self.made = 0
        self.current: dict[str, Subscription] = {}
        for _ in range(between(rng, 0, 25)):
            one = self.new()
            self.current[one.id] = one
        self.reviser = Reviser(self.prepared())

    def new(self) -> Subscription:
        rng = self.rng
        self.made += 1
        xpath = self.writer.query(rng, pick(rng, sorted(PROFILES)))
        if chance(rng, 5):
            xpath = pick(rng, ["//a[", "foo()", "/zzz", "//zzz:a", "id('x')", "//*", "/"])
        elif chance(rng, 20) and self.made > 1:
            xpath = pick(rng, [one.xpath for one in self.current.values()] or [xpath])
        weight = pick(rng, [1.0, 1.0, 0.1, 2.5])
        metadata = pick(rng, METADATA)
        return Subscription(
            f"q{self.made}", xpath, self.writer.namespaces, weight, metadata=metadata
        )

    def prepared(self) -> Scheme:
        return prepare(
            self.schema,
            Subscriptions.of(self.current.values()),
            self.chunks,
            self.weigh,
            self.limits,
            self.samples,
            self.workers,
        )

    def replace(self) -> None:
        """Replaces a subscription; one that does not parse changes nothing."""
        identifier = pick(self.rng, list(self.current))
        one = replace(self.new(), id=identifier)
        before = self.reviser.get(identifier)
        try:
            self.reviser.replace(one)
        except QuerySyntaxError as error:
            refused = error
        else:
            self.current[identifier] = one
            return
        assert repr(identifier) in refused.reason
        assert self.reviser.get(identifier) == before

    def step(self) -> None:
        rng = self.rng
        if self.current and chance(rng, 25):
            self.replace()
        elif self.current and chance(rng, 45):
            gone = pick(rng, list(self.current))
            del self.current[gone]
            self.reviser.remove(gone)
            if chance(rng, 20):  # and back under the same name
                one = self.new()
                one = Subscription(gone, one.xpath, one.namespaces, one.weight)
                self.current[gone] = one
                self.reviser.add(one)
        else:
            one = self.new()
            self.current[one.id] = one
            self.reviser.add(one)

    def compare(self) -> None:
        revised, fresh = self.reviser.scheme(), self.prepared()
        found, expected = facts(revised), facts(fresh)
        if revised.namespaces != fresh.namespaces:
            # Filters are in the order of their texts, so it may depend on the names of prefixes.
            without_texts(found)
            without_texts(expected)
        assert found == expected
        check_consistent(revised)
        revised.save(self.file)
        loaded = Scheme.load(self.file)
        assert loaded == revised
        if chance(self.rng, 40):
            self.reviser = Reviser(loaded)


def run(seed: int, folder: Path, steps: int) -> int:
    service = Service(Random(seed), folder)
    compared = 0
    for _ in range(steps):
        service.step()
        if chance(service.rng, 40):
            service.compare()
            compared += 1
    while service.current:  # until nothing is left
        service.reviser.remove(next(iter(service.current)))
        del service.current[next(iter(service.current))]
        if chance(service.rng, 15):
            service.compare()
    service.compare()
    return compared


@pytest.mark.parametrize("seed", range(40))
def test_a_revised_scheme_is_as_a_fresh_one(seed: int, tmp_path: Path) -> None:
    assert run(seed, tmp_path, 40)


@pytest.mark.slow
def test_a_revised_scheme_is_as_a_fresh_one_at_length(tmp_path: Path) -> None:
    compared = sum(run(seed, tmp_path, 60) for seed in range(1_000, 3_000))
    print(f"{compared} revised schemes without a difference")


# -- One thing at a time


def started(chunks: int, *queries: str, **named: str) -> Reviser:
    return Reviser(prepare(UNIVERSITY, Subscriptions.of([*queries, *named.items()]), chunks))


def prefixes(reviser: Reviser) -> list[str]:
    return [chunk.prefix for chunk in reviser.scheme().chunks]


def test_adding_returns_subscriber_unsatisfiable_or_rejected() -> None:
    reviser = started(1, "/db/student/name")
    assert isinstance(reviser.add(Subscription("a", "//email")), Subscriber)
    dead = reviser.add(Subscription("b", "/db/zzz"))
    assert isinstance(dead, Unsatisfiable)
    assert "db has no child zzz" in dead.reason
    wrong = reviser.add(Subscription("c", "//name[", line=7, column=3), "more.tsv")
    assert isinstance(wrong, Rejected)
    assert (wrong.id, wrong.line, wrong.column, wrong.offset) == ("c", 7, 10, 7)
    assert reviser.scheme().counts()["registered"] == len(reviser) == 4
    assert sorted(reviser) == ["1", "a", "b", "c"]
    for name in ("a", "b", "c"):
        assert reviser.remove(name) is not None
        assert name not in reviser
    assert facts(reviser.scheme()) == facts(started(1, "/db/student/name").scheme())


def test_the_scheme_to_start_from_stays_as_it_is() -> None:
    before = prepare(UNIVERSITY, Subscriptions.of(["/db/student/name", "//email"]), 2)
    text = "".join(before.lines())
    reviser = Reviser(before)
    assert reviser.scheme() is before
    reviser.add(Subscription("new", "/db/lecturer[url]"))
    reviser.remove("1")
    assert reviser.scheme() != before
    assert reviser.scheme() is reviser.scheme()
    assert "".join(before.lines()) == text


def test_prefixes_follow_the_queries() -> None:
    reviser = started(1, *[f"/db/student[name = '{i}']" for i in range(3)])
    for i in range(4):
        reviser.add(Subscription(f"new{i}", f"/db/lecturer[name = '{i}']"))
    assert prefixes(reviser) == ["/db/lecturer"]
    assert potpourri(reviser) == ("1", "2", "3")
    for i in range(2):
        reviser.remove(f"new{i}")
    assert prefixes(reviser) == ["/db/student"]
    assert potpourri(reviser) == ("new2", "new3")


def test_weights_by_subscribers_follow_as_well() -> None:
    queries = Subscriptions.of({"a": "/db/student", "b": "/db/lecturer", "c": "/db/lecturer"})
    reviser = Reviser(prepare(UNIVERSITY, queries, 1, WEIGHTS["subscribers"]))
    assert prefixes(reviser) == ["/db/lecturer"]
    reviser.add(Subscription("d", "//student", weight=1.5))
    assert prefixes(reviser) == ["/db/student"]
    reviser.remove("a")
    assert prefixes(reviser) == ["/db/lecturer"]


def test_a_filter_of_a_chunk_is_removed_with_the_last_query_that_needs_it() -> None:
    reviser = started(
        1,
        "/db/student",
        one="/db[professor]/student",
        two="/db[professor/name = 'x']/student",
        three="/db[professor]/student/name",
    )
    (chunk,) = reviser.scheme().chunks
    assert chunk.filters == (
        Want("/db/professor", Need.NODE),
        Want("/db/professor/name", Need.STRING),
    )
    reviser.remove("two")
    assert reviser.scheme().chunks[0].filters == (Want("/db/professor", Need.NODE),)
    reviser.remove("one")
    assert reviser.scheme().chunks[0].filters == (Want("/db/professor", Need.NODE),)
    assert reviser.scheme().chunks[0].unsplittable.endswith(" in /db[professor]/student/name")
    reviser.remove("three")
    assert reviser.scheme().chunks[0].filters == ()
    assert reviser.scheme().chunks[0].splittable


def test_filters_that_a_subtree_covered_come_back_without_it() -> None:
    all_of_it = "/db[professor/descendant-or-self::node()]/student"
    names = {f"n{i}": f"/db[professor/{name}]/student" for i, name in enumerate(["name", "url"])}
    reviser = started(1, "/db/student", all=all_of_it, **names)
    assert reviser.scheme().chunks[0].filters == (Want("/db/professor", Need.SUBTREE),)
    reviser.add(Subscription("late", "/db[professor/email = 'x']/student"))
    assert reviser.scheme().chunks[0].filters == (Want("/db/professor", Need.SUBTREE),)
    reviser.remove("all")
    assert reviser.scheme().chunks[0].filters == (
        Want("/db/professor/email", Need.STRING),
        Want("/db/professor/name", Need.NODE),
        Want("/db/professor/url", Need.NODE),
    )


def test_a_branch_stays_as_long_as_a_query_needs_it() -> None:
    reviser = started(2, a="/db/student/name", b="/db/*/name", c="db/student/name")
    reviser.remove("a")
    reviser.remove("c")
    assert "/db/student/name" in reviser.scheme().branches.xpaths
    reviser.remove("b")
    scheme = reviser.scheme()
    assert not scheme.branches
    assert not scheme.queries
    assert scheme.notes == ("there is no query to cut documents for",)


def test_the_order_of_what_stays_is_kept() -> None:
    reviser = started(2, a="/db/student", b="/db/lecturer", c="/db/assistant", d="/db/secretary")
    reviser.remove("b")
    reviser.add(Subscription("e", "/db/professor"))
    scheme = reviser.scheme()
    assert [query.id for query in scheme.queries] == ["a", "c", "d", "e"]
    assert scheme.branches.xpaths == (
        "/db/student",
        "/db/assistant",
        "/db/secretary",
        "/db/professor",
    )


def test_nothing_is_left_over_where_queries_come_and_go_for_years() -> None:
    reviser = started(2, "/db/student")
    for i in range(30):
        for j in range(100):
            reviser.add(Subscription(f"{i} {j}", f"/db/student[name = '{i} {j}']"))
        for j in range(100):
            reviser.remove(f"{i} {j}")
        assert len(reviser.scheme().branches) == 1
    assert reviser.branches_in_memory < 1_500


def test_reasons_for_the_whole_document() -> None:
    reviser = started(1, "/db/student", a="id('x')", b="//name[id('y')]", c="//namespace::*")
    both = ("id() may find an element anywhere", reviser.scheme().document.whole[1])
    assert reviser.scheme().document.whole == both
    reviser.remove("c")
    reviser.add(Subscription("d", "id('z')"))
    assert reviser.scheme().document.whole == both[:1]
    for name in ("a", "b", "d"):
        reviser.remove(name)
    assert reviser.scheme().document.whole == ()
    assert not reviser.scheme().document.branches


def test_paths_of_the_originals() -> None:
    reviser = started(1, a="/db/student/name", b="/db/lecturer[url]")
    assert reviser.scheme().originals == ("/db/lecturer", "/db/student/name")
    reviser.add(Subscription("c", "/db/student/zzz"))
    assert reviser.scheme().originals == ("/db/lecturer", "/db/student/name", "/db/student/zzz")
    reviser.add(Subscription("d", "//name"))
    assert reviser.scheme().originals == ("/",)
    reviser.remove("d")
    reviser.remove("a")
    assert reviser.scheme().originals == ("/db/lecturer", "/db/student/zzz")


def test_a_namespace_goes_with_the_last_query_that_names_it() -> None:
    schema = Schema.load(SCHEMAS / "orders.xsd")
    ours = dict(schema.prefixes)
    own = next(iter(ours))
    queries = [
        Subscription("a", f"//{own}:order", ours),
        Subscription("b", "//x:y", {"x": "urn:1", "unused": "urn:0"}),
        Subscription("c", "/*[x:y] | //@q:y", {"x": "urn:2", "q": "urn:1"}),
    ]
    reviser = Reviser(prepare(schema, Subscriptions.of(queries), 2))
    assert reviser.scheme().namespaces == {**ours, "x": "urn:1", "x2": "urn:2"}
    reviser.remove("b")
    assert reviser.scheme().namespaces == {**ours, "x": "urn:1", "x2": "urn:2"}
    reviser.remove("c")
    assert reviser.scheme().namespaces == ours
    # Another reviser would call it x; this one has used that name for something else.
    reviser.add(Subscription("d", "//x:z", {"x": "urn:2"}))
    assert set(reviser.scheme().namespaces.values()) == {*ours.values(), "urn:2"}
    fresh = prepare(
        schema, Subscriptions.of([queries[0], Subscription("d", "//x:z", {"x": "urn:2"})]), 2
    )
    assert facts(reviser.scheme()) == facts(fresh)


# -- Bad input


def test_an_id_can_be_taken_only_once() -> None:
    reviser = started(1, a="/db/student", b="/db/zzz", c="//a[")
    for taken in ("a", "b"):
        with pytest.raises(SubscriptionsError, match=f"already has a query '{taken}'") as caught:
            reviser.add(Subscription(taken, "//name"))
        assert caught.value.hint
    assert facts(reviser.scheme()) == facts(
        started(1, a="/db/student", b="/db/zzz", c="//a[").scheme()
    )


def test_the_id_of_a_rejected_query_can_be_added_replaced_and_removed() -> None:
    limits = Limits(subscriptions=2)
    reviser = Reviser(started(1, a="/db/student", c="//a[").scheme(), limits)
    assert isinstance(reviser.add(Subscription("c", "//b[")), Rejected)
    assert isinstance(reviser.add(Subscription("c", "//name")), Subscriber)
    assert facts(reviser.scheme()) == facts(started(1, a="/db/student", c="//name").scheme())
    reviser = Reviser(started(1, a="/db/student", c="//a[").scheme(), limits)
    assert isinstance(reviser.replace(Subscription("c", "//name")), Subscriber)
    assert facts(reviser.scheme()) == facts(started(1, a="/db/student", c="//name").scheme())
    reviser = started(1, a="/db/student", c="//a[")
    assert isinstance(reviser.remove("c"), Rejected)
    assert facts(reviser.scheme()) == facts(started(1, a="/db/student").scheme())


def test_what_cannot_be_replaced_stays() -> None:
    queries = {"a": "/db/student", "b": "/db/zzz", "c": "//a["}
    scheme = started(1, **queries).scheme()
    for limits in (Limits(), Limits(subscriptions=1)):
        reviser = Reviser(scheme, limits)
        with pytest.raises(SchemeError, match=r"more\.tsv:7:1: the scheme has no query 'x'"):
            reviser.replace(Subscription("x", "//name", line=7), "more.tsv")
        with pytest.raises(QuerySyntaxError, match="query 'a': "):
            reviser.replace(Subscription("a", "//name["))
        with pytest.raises(SubscriptionsError, match="query 'a': the metadata of 'x'"):
            reviser.replace(Subscription("a", "//name", metadata={"x": float("nan")}))
        assert reviser.scheme() is scheme
        reviser.replace(Subscription("a", "//name"))
        assert facts(reviser.scheme()) == facts(started(1, **{**queries, "a": "//name"}).scheme())


def test_metadata_alone_can_be_replaced() -> None:
    reviser = started(1, a="/db/student", b="/db/student")
    text = "".join(reviser.scheme().lines())
    reviser.replace(Subscription("a", "/db/student", metadata={"b": 1, "a": [2]}))
    assert '"metadata": {"a": [2], "b": 1}' in "".join(reviser.scheme().lines())
    reviser.replace(Subscription("a", "/db/student"))
    reviser.replace(Subscription("b", "/db/student"))
    assert "".join(reviser.scheme().lines()) == text


def test_a_query_that_is_not_there_cannot_go() -> None:
    reviser = started(1, names="/db/student")
    with pytest.raises(SchemeError, match="no query 'nam'") as caught:
        reviser.remove("nam")
    assert caught.value.hint == "did you mean 'names'?"


def test_not_without_the_way_to_weigh() -> None:
    def backwards(query: WeightedQuery) -> float:
        return 1 / sum(query.weights)

    scheme = prepare(UNIVERSITY, Subscriptions.of(["//name"]), 1, backwards)
    with pytest.raises(SchemeError, match="weighed by a function"):
        Reviser(scheme)


def test_a_scheme_without_counts_can_be_revised_too() -> None:
    queries = {"a": "/db[professor]/student", "b": "/db/student[3]", "c": "//name"}
    scheme = prepare(UNIVERSITY, Subscriptions.of(queries), 1)
    bare = replace(
        scheme,
        chunks=tuple(replace(chunk, uses=()) for chunk in scheme.chunks),
        potpourri=replace(scheme.potpourri, uses=()),
    )
    reviser = Reviser(bare)
    reviser.remove("a")
    fresh = prepare(UNIVERSITY, Subscriptions.of({"b": queries["b"], "c": queries["c"]}), 1)
    assert facts(reviser.scheme()) == facts(fresh)


def test_counts_that_cannot_be_true_are_noticed() -> None:
    queries = {f"q{i}": f"/db[professor/name = concat('{i}', '')]/student" for i in range(3)}
    scheme = prepare(UNIVERSITY, Subscriptions.of(queries), 1)
    (chunk,) = scheme.chunks
    assert chunk.uses == ((0, 0, 3), (0, 0, 0, 3))
    damaged = replace(chunk, uses=((0, 0, 1), (0, 0, 0, 3)))
    reviser = Reviser(replace(scheme, chunks=(damaged,)))
    reviser.remove("q0")
    reviser.remove("q1")
    with pytest.raises(SchemeError, match="than the scheme knows of"):
        reviser.scheme()


def test_the_reason_does_not_depend_on_the_queries_before() -> None:
    xpath = "/db/student[/db/lecturer/zzz]/name"
    scheme = prepare(UNIVERSITY, Subscriptions.of([xpath, xpath]), 1)
    first, second = (one.reason for one in scheme.unsatisfiable)
    assert first == second
