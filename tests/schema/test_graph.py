"""Components of graphs, compared with networkx."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from extract.schema.graph import strong_components

EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)


@given(EDGES)
def test_components_come_after_all_that_they_lead_to(edges: list[tuple[int, int]]) -> None:
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(10))
    components = strong_components({node: list(graph.successors(node)) for node in graph})
    assert sorted(map(sorted, components)) == sorted(
        map(sorted, nx.strongly_connected_components(graph))
    )
    order = {node: n for n, component in enumerate(components) for node in component}
    assert all(order[after] <= order[before] for before, after in edges)


def test_a_long_chain_is_no_recursion() -> None:
    chain: dict[int, list[int]] = {n: [n + 1] for n in range(50_000)} | {50_000: [0]}
    assert [len(component) for component in strong_components(chain)] == [50_001]
