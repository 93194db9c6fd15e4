"""Queries are registered in their order, whatever namespaces each of them sees."""

from __future__ import annotations

import pytest

from extract import Subscription, Subscriptions
from extract.preptool.prepare import prepare
from extract.schema.model import Declaration, Schema


@pytest.mark.parametrize("native", ["", "off"])
def test_queries_that_bind_other_prefixes_each(
    monkeypatch: pytest.MonkeyPatch, native: str
) -> None:
    monkeypatch.setenv("EXTRACT_SUBSCRIPTIONS", native)
    names = [f"{{urn:n}}{name}" for name in "abc"]
    declarations = (
        Declaration(0, names[0], children=(1, 2)),
        Declaration(1, names[1]),
        Declaration(2, names[2]),
    )
    schema = Schema("memory", "xsd", declarations, roots=(0,))
    queries = [
        ("1", "/p:a/p:b", {"p": "urn:n"}, 1.0, {}),
        ("2", "/q:a/q:c[. = 'x']", {"q": "urn:n"}, 2.5, {"owner": "me"}),
        ("3", "/p:a/p:b", {"q": "urn:n"}, 4.0, {"owner": "nobody"}),
        ("4", "/q:a/q:c[. = 'y']", {"q": "urn:n"}, 1.0, {}),
        ("5", "/q:a/q:d", {"q": "urn:n", "r": "urn:r"}, 3.0, {"owner": "you"}),
        ("6", "/p:a/p:b", {"p": "urn:n"}, 0.5, {}),
    ]
    own = [
        Subscription(name, xpath, dict(bound), weight, metadata=metadata)
        for name, xpath, bound, weight, metadata in queries
    ]
    scheme = prepare(schema, Subscriptions.of(own), chunks=1)
    assert [one.id for one in scheme.rejected] == ["3"]
    assert [one.subscriber.id for one in scheme.unsatisfiable] == ["5"]
    by_id = {one.id: one for query in scheme.queries for one in query.subscribers}
    by_id |= {one.subscriber.id: one.subscriber for one in scheme.unsatisfiable}
    for name, xpath, _, weight, metadata in queries:
        if name != "3":
            assert (by_id[name].xpath, by_id[name].weight) == (xpath, weight)
            assert dict(by_id[name].metadata) == metadata


@pytest.mark.parametrize("native", ["", "off"])
def test_one_text_means_what_its_own_prefixes_say(
    monkeypatch: pytest.MonkeyPatch, native: str
) -> None:
    monkeypatch.setenv("EXTRACT_SUBSCRIPTIONS", native)
    bound = [{"p": "urn:1"}, {"p": "urn:2"}, {}, {"p": "urn:1"}]
    texts = ["//p:a[b = 'x']"] * 3 + ["//p:a[b = 'y']"]
    own = [Subscription(str(n), texts[n], bound[n]) for n in range(4)]
    (block,) = Subscriptions.of(own).blocks()
    assert list(block) == own
    assert [list(part) for part in block.parts(3)] == [own[:3], own[3:]]
    scheme = prepare(Schema.none(), Subscriptions.of(own), chunks=1)
    assert [one.id for one in scheme.rejected] == ["2"]
    by_id = {one.id: query for query in scheme.queries for one in query.subscribers}
    assert len({id(query) for query in by_id.values()}) == len(by_id) == 3
    xpaths = {name: query.subscribers[0].xpath for name, query in by_id.items()}
    assert xpaths == {"0": texts[0], "1": texts[1], "3": texts[3]}
    assert scheme.namespaces == {"p": "urn:1", "p2": "urn:2"}


def test_flwr_queries_come_first_among_those_that_see_the_same_namespaces() -> None:
    flwr = "for $a in //p:a return <b/>"
    own = [Subscription(name, "//p:a", {"p": f"urn:{name}"}) for name in "12"]
    mixed = Subscriptions.of([*own, Subscription("3", flwr, {"p": "urn:3"})])
    assert [len(block) for block in mixed.blocks()] == [1, 1, 1]
    assert [len(block) for block in Subscriptions.of(own).blocks()] == [2]
