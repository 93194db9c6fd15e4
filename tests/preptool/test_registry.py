"""Queries are registered in their order, whatever namespaces each of them sees."""

from __future__ import annotations

from extract import Subscription, Subscriptions
from extract.preptool.prepare import prepare
from extract.schema.model import Declaration, Schema


def test_blocks_of_one_query_are_as_good_as_one_block() -> None:
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
