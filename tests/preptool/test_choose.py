"""Where documents are cut: as in the paper's examples, and anywhere as its algorithm says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.errors import SchemeError
from extract.preptool.choose import PickStep, PrefixChoice, PrefixIndex, assign, choices, choose
from extract.preptool.query_tree import NamePath, QueryTree, WeightedQuery, by_subscribers, one_each


def path(text: str) -> NamePath:
    """``/a/b`` as names."""
    return tuple(text.split("/")[1:])


def tree_of(*queries: str | tuple[str, ...]) -> QueryTree:
    """The tree of queries with one branch each, or with several."""
    sets = [(query,) if isinstance(query, str) else query for query in queries]
    return QueryTree.of([WeightedQuery(tuple(map(path, spines))) for spines in sets])


def counted(queries: Mapping[str, int]) -> QueryTree:
    """The tree of so many queries at each path."""
    return tree_of(*(text for text, count in queries.items() for _ in range(count)))


def prefixes(tree: QueryTree, chunks: int) -> set[str]:
    return {"/" + "/".join(prefix) for prefix in choose(tree, chunks).prefixes}


# -- Section 4, figures 5 to 7

FIGURE_5 = tree_of("/a/b/c", "/a/b/d", "/a/b/c")
A, AB, ABC, ABD = path("/a"), path("/a/b"), path("/a/b/c"), path("/a/b/d")


def test_figures_5_to_7_step_by_step() -> None:
    assert choose(FIGURE_5, 2) == PrefixChoice(
        prefixes=(ABC, ABD),
        steps=(
            PickStep(AB, 3.0, weights=((A, 0.0),)),  # figure 7a
            PickStep(ABC, 2.0, weights=((AB, 1.0),), dropped=(AB,)),  # figure 7b; /a stays at zero
            PickStep(ABD, 1.0, weights=((AB, 0.0),)),  # as heavy as /a/b, but deeper
        ),
    )


def test_one_chunk_is_not_the_document() -> None:
    assert prefixes(FIGURE_5, 1) == {"/a/b"}


# -- Appendix A3: the EJB deployment descriptor

DESCRIPTOR, BEANS = "/ejb-jar/assembly-descriptor", "/ejb-jar/enterprise-beans"
CONTAINER_TRANSACTION = f"{DESCRIPTOR}/container-transaction"
METHOD_PERMISSION = f"{DESCRIPTOR}/method-permission"
SECURITY_ROLE = f"{DESCRIPTOR}/security-role"
SESSION, MESSAGE_DRIVEN, ENTITY = f"{BEANS}/session", f"{BEANS}/message-driven", f"{BEANS}/entity"
EJB = counted(
    {
        CONTAINER_TRANSACTION: 190,
        METHOD_PERMISSION: 180,
        SECURITY_ROLE: 170,
        SESSION: 160,
        MESSAGE_DRIVEN: 155,
        ENTITY: 145,
    }
)
TABLE_A3 = {
    2: {DESCRIPTOR, BEANS},
    3: {CONTAINER_TRANSACTION, DESCRIPTOR, BEANS},
    4: {CONTAINER_TRANSACTION, METHOD_PERMISSION, SECURITY_ROLE, BEANS},
    5: {CONTAINER_TRANSACTION, METHOD_PERMISSION, SECURITY_ROLE, SESSION, BEANS},
    6: {CONTAINER_TRANSACTION, METHOD_PERMISSION, SECURITY_ROLE, SESSION, MESSAGE_DRIVEN, ENTITY},
}
# The column "relative query distribution", in percent; the paper rounds 15.5 down, 14.5 too.
SHARES_A3: dict[int, list[float]] = {
    2: [54, 46],
    3: [19, 35, 46],
    4: [19, 18, 17, 46],
    5: [19, 18, 17, 16, 30],
    6: [19, 18, 17, 16, 15.5, 14.5],
}


@pytest.mark.parametrize("chunks", TABLE_A3)
def test_appendix_a3(chunks: int) -> None:
    assert prefixes(EJB, chunks) == TABLE_A3[chunks]


@pytest.mark.parametrize("chunks", SHARES_A3)
def test_appendix_a3_query_distribution(chunks: int) -> None:
    index = PrefixIndex(choose(EJB, chunks).prefixes)
    shares: dict[NamePath | None, float] = {}
    for node in EJB:
        if not node.children:
            chunk = index.assign(node.path)
            shares[chunk] = shares.get(chunk, 0) + 100 * node.weight / EJB.document.weight
    assert sorted(shares.values()) == pytest.approx(sorted(SHARES_A3[chunks]))


def test_appendix_a3_step_by_step() -> None:
    root = path("/ejb-jar")
    descriptor, beans = path(DESCRIPTOR), path(BEANS)
    assert choose(EJB, 6).steps == (
        PickStep(descriptor, 540.0, ((root, 460.0),)),
        PickStep(beans, 460.0, ((root, 0.0),)),
        PickStep(path(CONTAINER_TRANSACTION), 190.0, ((descriptor, 350.0),)),
        PickStep(path(METHOD_PERMISSION), 180.0, ((descriptor, 170.0),), dropped=(descriptor,)),
        PickStep(path(SECURITY_ROLE), 170.0, ((descriptor, 0.0),)),
        PickStep(path(SESSION), 160.0, ((beans, 300.0),)),
        PickStep(path(MESSAGE_DRIVEN), 155.0, ((beans, 145.0),), dropped=(beans,)),
        PickStep(path(ENTITY), 145.0, ((beans, 0.0),)),
    )


# -- Section 5.1, figure 10: the university

KINDS = ("student", "professor", "assistant", "secretary", "lecturer")
# Queries for each kind in the order above. The figure itself is not in the text; what the text says
# of it is which kind is the lightest in each distribution.
FIGURE_10 = {
    "student": (16, 22, 20, 24, 18),  # 100 queries
    "secretary": (110, 105, 95, 85, 105),  # 500 queries
    "professor": (430, 340, 420, 410, 400),  # 2000 queries
}
LEAVES = ("", "/name", "/email", "/url", "/link")


def university(counts: Sequence[int]) -> QueryTree:
    """So many queries for each kind, spread over a person's parts; and some for all kinds."""
    return tree_of(
        *(
            f"/db/{kind}{LEAVES[i % len(LEAVES)]}"
            for kind, count in zip(KINDS, counts, strict=True)
            for i in range(count)
        ),
        *(  # //email and the like have a branch in each kind
            tuple(f"/db/{kind}{leaf}" for kind in KINDS) for leaf in LEAVES[1:]
        ),
    )


@pytest.mark.parametrize("lightest", FIGURE_10)
@pytest.mark.parametrize("chunks", [3, 4, 5])
def test_figure_10_the_lightest_kinds_go_to_the_potpourri(lightest: str, chunks: int) -> None:
    tree = university(FIGURE_10[lightest])
    by_weight = sorted(zip(FIGURE_10[lightest], KINDS, strict=True))
    left_out = {kind for _, kind in by_weight[: 5 - chunks]}
    assert chunks == 5 or lightest in left_out
    choice = choose(tree, chunks)
    assert set(choice.prefixes) == {("db", kind) for kind in KINDS if kind not in left_out}
    assert choice.note == ""
    for kind in KINDS:
        chunk = assign(("db", kind, "name"), choice.prefixes)
        assert chunk == (None if kind in left_out else ("db", kind))


def test_figure_10_students_then_secretaries_then_professors() -> None:
    left_out = [
        {("db", kind) for kind in KINDS} - set(choose(university(counts), 4).prefixes)
        for counts in FIGURE_10.values()
    ]
    assert left_out == [{("db", "student")}, {("db", "secretary")}, {("db", "professor")}]


def test_queries_for_everyone_do_not_hide_the_kinds() -> None:
    # Each of //name, //email has five branches, yet /db weighs 2, not 10.
    tree = tree_of(
        *(tuple(f"/db/{kind}/{leaf}" for kind in KINDS) for leaf in ("name", "email")),
    )
    assert tree.document.weight == 2
    assert prefixes(tree, 5) == {f"/db/{kind}" for kind in KINDS}


# -- What the paper leaves open


def test_equally_heavy_paths_go_by_depth_then_by_name() -> None:
    tree = tree_of("/r/b/x/y", "/r/a", "/r/c/x")
    assert choose(tree, 1).prefixes == (path("/r/b/x/y"),)
    assert [step.prefix for step in choose(tree, 3).steps] == [
        path("/r/b/x/y"),
        path("/r/c/x"),
        path("/r/a"),
    ]
    assert prefixes(tree_of("/r/b", "/r/a"), 1) == {"/r/a"}


def test_a_dropped_path_can_come_back() -> None:
    # /r/a is dropped for its children, but what ends at it still weighs enough in the end.
    tree = counted({"/r/a/x": 5, "/r/a/y": 5, "/r/a/z": 1, "/r/a": 3})
    choice = choose(tree, 3)
    assert [(step.prefix[1:], step.weight, step.dropped) for step in choice.steps] == [
        (("a",), 14, ()),
        (("a", "x"), 5, ()),
        (("a", "y"), 5, (path("/r/a"),)),
        (("a",), 4, ()),
    ]
    assert prefixes(tree, 3) == {"/r/a", "/r/a/x", "/r/a/y"}


def test_no_document_element_is_picked_where_there_are_several() -> None:
    assert prefixes(tree_of("/a/x", "/b/y", "/b", "/b", "/c"), 9) == {"/a/x", "/b/y"}


@pytest.mark.parametrize(
    ("tree", "asked", "found", "note"),
    [
        (
            FIGURE_5,
            7,
            2,
            "7 chunks were asked for, but the paths of the queries give only 2 chunks",
        ),
        (
            tree_of("/a/b"),
            2,
            1,
            "2 chunks were asked for, but the paths of the queries give only 1 chunk",
        ),
        (tree_of("/a"), 1, 0, "no query goes below the document element by a plain path"),
        (tree_of(), 3, 0, "no query goes below the document element by a plain path"),
    ],
)
def test_more_chunks_than_there_are(tree: QueryTree, asked: int, found: int, note: str) -> None:
    choice = choose(tree, asked)
    assert len(choice.prefixes) == found
    assert choice.note.startswith(note)


@pytest.mark.parametrize("chunks", [0, -1])
def test_no_chunks_at_all_is_an_error_with_a_hint(chunks: int) -> None:
    with pytest.raises(SchemeError, match=f"{chunks} chunks") as caught:
        choose(FIGURE_5, chunks)
    assert caught.value.hint


def test_weights_by_subscriber_leave_no_crumbs() -> None:
    # In floats 0.1 + 0.2 - 0.1 - 0.2 is not zero, and /r/a would be picked for that.
    queries = [
        WeightedQuery((path("/r/a/x"),), (0.1,)),
        WeightedQuery((path("/r/a/y"),), (0.2,)),
        WeightedQuery((path("/r/a/z"),), (0.3,)),
    ]
    tree = QueryTree.of(queries, by_subscribers)
    assert prefixes(tree, 9) == {"/r/a/x", "/r/a/y", "/r/a/z"}


# -- Which chunk a branch belongs to


@pytest.mark.parametrize(
    ("spine", "chunk"),
    [
        ("/a/b/c/d", "/a/b/c"),
        ("/a/b/c", "/a/b/c"),
        ("/a/b/x", "/a/b"),
        ("/a/b", "/a/b"),
        ("/a", None),
        ("/a/x/b", None),
        ("/a/bc", None),
        ("/e/f/g/h", "/e/f/g"),
        ("/e/f", None),
        ("/b", None),
    ],
)
def test_a_branch_belongs_to_its_longest_prefix(spine: str, chunk: str | None) -> None:
    chosen = [path("/a/b"), path("/e/f/g"), path("/a/b/c")]
    expected = None if chunk is None else path(chunk)
    assert assign(path(spine), chosen) == expected
    assert PrefixIndex(reversed(chosen)).assign(path(spine)) == expected


def test_a_branch_without_spine_belongs_to_the_potpourri() -> None:
    assert assign((), [path("/a/b")]) is None
    assert assign(path("/a/b"), []) is None


# -- Properties

names = st.sampled_from("abc")
paths = st.lists(names, max_size=5).map(tuple)
canonical = st.builds(
    WeightedQuery,
    st.lists(paths, max_size=4).map(tuple),
    st.tuples(st.integers(1, 40).map(lambda tenths: tenths / 10)),
)
query_sets = st.lists(canonical, max_size=25)
policies = st.sampled_from([one_each, by_subscribers])
trees = st.builds(QueryTree.of, query_sets, policies)
chunk_numbers = st.integers(1, 12)


def figure_6(tree: QueryTree, chunks: int) -> list[tuple[NamePath, set[NamePath]]]:
    """The paper's loop as settled, word by word over all nodes: the picks and what they dropped."""
    weight = {node.path: node.millionths for node in tree}
    chosen: set[NamePath] = set()
    turns = []
    while len(chosen) < chunks:
        candidates = [p for p in weight if len(p) > 1 and p not in chosen and weight[p] > 0]
        if not candidates:
            break
        heaviest = min(candidates, key=lambda p: (-weight[p], -len(p), p))
        for end in range(1, len(heaviest)):
            weight[heaviest[:end]] = max(0, weight[heaviest[:end]] - weight[heaviest])
        dropped = {p for p in chosen if weight[p] < weight[heaviest]}
        chosen = chosen - dropped | {heaviest}
        turns.append((heaviest, dropped))
    return turns


@given(trees, chunk_numbers)
def test_every_turn_is_that_of_figure_6(tree: QueryTree, chunks: int) -> None:
    steps = choose(tree, chunks).steps
    assert [(step.prefix, set(step.dropped)) for step in steps] == figure_6(tree, chunks)


@given(trees, chunk_numbers)
def test_all_numbers_of_chunks_are_chosen_in_one_pass(tree: QueryTree, chunks: int) -> None:
    for number, choice in enumerate(choices(tree, chunks), 1):
        assert choice == choose(tree, number)
    assert choice.prefixes == choose(tree, chunks).prefixes


@given(query_sets, policies, chunk_numbers, st.randoms(use_true_random=False))
def test_the_order_of_the_queries_does_not_matter(
    queries: list[WeightedQuery], weigh: Any, chunks: int, random: Any
) -> None:
    choice = choose(QueryTree.of(queries, weigh), chunks)
    random.shuffle(queries)
    assert choose(QueryTree.of(queries, weigh), chunks) == choice


@given(trees, chunk_numbers)
def test_a_choice_is_a_set_of_real_paths_below_the_document_element(
    tree: QueryTree, chunks: int
) -> None:
    choice = choose(tree, chunks)
    assert len(set(choice.prefixes)) == len(choice.prefixes) <= chunks
    assert bool(choice.note) == (len(choice.prefixes) < chunks)
    for prefix in choice.prefixes:
        assert len(prefix) > 1
        assert tree.node(prefix) is not None


@given(trees, chunk_numbers)
def test_the_steps_lead_to_the_choice(tree: QueryTree, chunks: int) -> None:
    choice = choose(tree, chunks)
    weight = {node.path: node.weight for node in tree}
    chosen: set[NamePath] = set()
    for step in choice.steps:
        assert step.prefix not in chosen
        assert step.weight == weight[step.prefix] > 0
        for above, after in step.weights:
            assert step.prefix[: len(above)] == above != step.prefix
            assert 0 <= after < weight[above]
            weight[above] = after
        chosen = chosen - set(step.dropped) | {step.prefix}
    assert chosen == set(choice.prefixes)


@given(trees)
def test_with_enough_chunks_every_path_below_the_document_element_has_one(tree: QueryTree) -> None:
    # As many chunks as there are nodes: every query that goes below the document element has one.
    choice = choose(tree, max(1, sum(1 for _ in tree)))
    for node in tree:
        if node.depth > 1 and not node.children:
            assert assign(node.path, choice.prefixes) == node.path


@given(trees, chunk_numbers)
def test_choosing_ends_because_a_prefix_returns_with_less_than_half_its_weight(
    tree: QueryTree, chunks: int
) -> None:
    # A dropped path has lost more than half of what it was picked with: that bounds the turns.
    picked: dict[NamePath, float] = {}
    for step in choose(tree, chunks).steps:
        assert step.weight < picked.get(step.prefix, float("inf")) / 2
        picked[step.prefix] = step.weight


@given(st.lists(paths, max_size=8), paths)
def test_assign_is_the_longest_prefix(chosen: list[NamePath], spine: NamePath) -> None:
    fitting = [prefix for prefix in chosen if spine[: len(prefix)] == prefix]
    assert assign(spine, chosen) == max(fitting, key=len, default=None)
