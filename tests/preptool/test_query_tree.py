"""The query tree: every query counts once at every path it takes, in whatever order they come."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.preptool.query_tree import NamePath, QueryTree, WeightedQuery, by_subscribers, one_each


def path(text: str) -> NamePath:
    """``/a/b`` as names."""
    return tuple(text.split("/")[1:])


def query(*spines: str, weights: tuple[float, ...] = (1.0,)) -> WeightedQuery:
    return WeightedQuery(tuple(map(path, spines)), weights)


def weights(tree: QueryTree) -> dict[str, float]:
    """The tree as a table; also says that no path comes twice."""
    nodes = [("/" + "/".join(node.path), node.weight) for node in tree]
    assert len(nodes) == len(dict(nodes))
    return dict(nodes)


def test_figure_5() -> None:
    first, second, third = query("/a/b/c"), query("/a/b/d"), query("/a/b/c")
    tree = QueryTree.of([first])
    assert weights(tree) == {"/a": 1, "/a/b": 1, "/a/b/c": 1}
    tree = tree.added(second)
    assert weights(tree) == {"/a": 2, "/a/b": 2, "/a/b/c": 1, "/a/b/d": 1}
    tree = tree.added(third)
    assert weights(tree) == {"/a": 3, "/a/b": 3, "/a/b/c": 2, "/a/b/d": 1}
    assert tree == QueryTree.of([first, second, third])


def test_a_query_counts_once_where_its_branches_meet() -> None:
    # //c and /a/b/*/d against the DTD of figure 4
    tree = QueryTree.of([query("/a/b/l/c", "/a/b/m"), query("/a/b/k/d")])
    assert weights(tree) == {
        "/a": 2,
        "/a/b": 2,
        "/a/b/k": 1,
        "/a/b/k/d": 1,
        "/a/b/l": 1,
        "/a/b/l/c": 1,
        "/a/b/m": 1,
    }


def test_a_query_that_ends_inside_a_path_counts_there() -> None:
    assert weights(QueryTree.of([query("/a/b"), query("/a/b/c")])) == {
        "/a": 2,
        "/a/b": 2,
        "/a/b/c": 1,
    }


def test_branches_inside_one_another_and_twice_count_once() -> None:
    assert weights(QueryTree.of([query("/a/b", "/a", "/a/b/c", "/a/b")])) == {
        "/a": 1,
        "/a/b": 1,
        "/a/b/c": 1,
    }


def test_weights_are_by_query_or_by_subscriber() -> None:
    queries = [query("/a/b", weights=(1.0, 1.0, 2.5)), query("/a/c", weights=(0.1, 0.2))]
    assert weights(QueryTree.of(queries, one_each)) == {"/a": 2, "/a/b": 1, "/a/c": 1}
    assert weights(QueryTree.of(queries, by_subscribers)) == {"/a": 4.8, "/a/b": 4.5, "/a/c": 0.3}


def test_a_policy_of_your_own() -> None:
    tree = QueryTree.of([query("/a/b", "/a/c")], lambda query: 10 * len(query.spines))
    assert weights(tree) == {"/a": 20, "/a/b": 20, "/a/c": 20}


def test_the_document_weighs_as_much_as_all_queries() -> None:
    # The second needs the whole document; the third cannot match anything and counts nowhere.
    tree = QueryTree.of([query("/a/b"), WeightedQuery(((),)), WeightedQuery(())])
    assert tree.document.weight == 2
    assert weights(tree) == {"/a": 1, "/a/b": 1}


def test_schemas_with_several_document_elements() -> None:
    tree = QueryTree.of([query("/b/x", "/a/x"), query("/b")])
    assert [(node.name, node.depth, node.weight) for node in tree.document.children] == [
        ("a", 1, 1),
        ("b", 1, 2),
    ]


def test_nodes_are_found_by_path() -> None:
    tree = QueryTree.of([query("/a/b/c"), query("/a/d")])
    node = tree.node(path("/a/b/c"))
    assert node is not None
    assert (node.name, node.depth, node.path) == ("c", 3, ("a", "b", "c"))
    assert tree.node(()) is tree.document
    for missing in ("/a/x", "/a/b/c/d", "/x/y/z", "/a/bb", "/a/a"):
        assert tree.node(path(missing)) is None


@pytest.mark.parametrize("tree", [QueryTree.of([]), QueryTree.of([query("/a/b")], lambda _: 0.0)])
def test_no_queries_or_none_that_counts_give_an_empty_tree(tree: QueryTree) -> None:
    assert weights(tree) == {}
    assert tree.document.weight == 0


def test_the_smallest_weight_still_counts_and_the_largest_does_not_overflow() -> None:
    queries = [query("/a/b", weights=(5e-324,)), query("/a/c", weights=(1e308,))]
    tree = QueryTree.of(queries, by_subscribers)
    assert weights(tree) == {"/a": 1e308, "/a/b": 1e-6, "/a/c": 1e308}
    assert tree.removed(queries[1]) == QueryTree.of(queries[:1], by_subscribers)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_impossible_weights_are_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="cannot weigh"):
        QueryTree.of([query("/a/b")], lambda _: weight)


@pytest.mark.parametrize("stranger", ["/a/x", "/a", "/x", "/a/b/c/d", "/a/b"])
def test_a_query_that_cannot_be_in_the_tree_is_not_removed(stranger: str) -> None:
    with pytest.raises(ValueError, match="not in the tree"):
        QueryTree.of([query("/a/b/c")]).removed(query(stranger))


def test_what_a_change_does_not_touch_is_shared() -> None:
    tree = QueryTree.of([query("/a/b/c"), query("/a/d/e"), query("/a/f")])
    changed = tree.added(query("/a/b/x"))
    assert changed.node(path("/a/d")) is tree.node(path("/a/d"))
    assert changed.node(path("/a/b/c")) is tree.node(path("/a/b/c"))
    assert weights(tree)["/a/b"] == 1
    assert weights(changed)["/a/b"] == 2


def test_paths_deeper_than_python_recurses() -> None:
    deep = WeightedQuery((("a",) * 2_000, ("a",) * 1_500 + ("b",)))
    tree = QueryTree.of([deep])
    assert sum(1 for _ in tree) == 2_001
    assert weights(tree.added(deep).removed(deep)) == weights(tree)
    assert tree.removed(deep) == QueryTree.of([])


def test_trees_travel_between_processes() -> None:
    tree = QueryTree.of([query("/a/b/c"), query("/a/d")], by_subscribers)
    assert pickle.loads(pickle.dumps(tree)) == tree


# -- Properties

names = st.sampled_from("abcde")
spines = st.lists(names, max_size=5).map(tuple)
# Tenths add up differently in every order, unless the tree takes care.
subscribers = st.lists(st.integers(1, 50).map(lambda tenths: tenths / 10), min_size=1, max_size=4)
canonical = st.builds(
    WeightedQuery, st.lists(spines, max_size=6).map(tuple), subscribers.map(tuple)
)
query_sets = st.lists(canonical, max_size=12)
policies = st.sampled_from([one_each, by_subscribers])


def expected(queries: Iterable[WeightedQuery], weigh: Any) -> dict[NamePath, float]:
    """The definition, in slow words: at each path, the weights of the queries that take it."""
    taken = {s[:i] for q in queries for s in q.spines for i in range(1, len(s) + 1)}
    return {
        p: sum(weigh(q) for q in queries if any(s[: len(p)] == p for s in q.spines)) for p in taken
    }


@given(query_sets, policies)
def test_a_query_is_counted_once_at_each_path(queries: Sequence[WeightedQuery], weigh: Any) -> None:
    tree = QueryTree.of(queries, weigh)
    assert {node.path: node.weight for node in tree} == pytest.approx(expected(queries, weigh))


@given(query_sets, policies, st.data())
def test_the_order_of_queries_spines_and_subscribers_does_not_matter(
    queries: Sequence[WeightedQuery], weigh: Any, data: st.DataObject
) -> None:
    shuffled = [
        WeightedQuery(
            tuple(data.draw(st.permutations(q.spines))),
            tuple(data.draw(st.permutations(q.weights))),
        )
        for q in data.draw(st.permutations(queries))
    ]
    assert QueryTree.of(shuffled, weigh) == QueryTree.of(queries, weigh)


@given(query_sets, canonical, policies)
def test_adding_and_removing_one_query(
    queries: Sequence[WeightedQuery], one: WeightedQuery, weigh: Any
) -> None:
    tree = QueryTree.of(queries, weigh)
    more = tree.added(one)
    assert more == QueryTree.of([*queries, one], weigh)
    assert more.removed(one) == tree


@given(query_sets, st.randoms(use_true_random=False), policies)
def test_additions_and_removals_give_the_tree_of_the_queries_that_remain(
    queries: Sequence[WeightedQuery], random: Any, weigh: Any
) -> None:
    tree, absent = QueryTree.of([], weigh), list(queries)
    present: list[WeightedQuery] = []
    for _ in range(2 * len(queries)):
        if absent and (not present or random.random() < 0.6):
            present.append(absent.pop(random.randrange(len(absent))))
            tree = tree.added(present[-1])
        else:
            gone = present.pop(random.randrange(len(present)))
            absent.append(gone)
            tree = tree.removed(gone)
        assert tree == QueryTree.of(present, weigh)


@given(query_sets, policies)
def test_a_path_weighs_at_least_as_much_as_any_below_it(
    queries: Sequence[WeightedQuery], weigh: Any
) -> None:
    tree = QueryTree.of(queries, weigh)
    for node in [tree.document, *tree]:
        assert [child.name for child in node.children] == sorted({c.name for c in node.children})
        for child in node.children:
            assert 0 < child.millionths <= node.millionths
            assert child.path == (*node.path, child.name)
