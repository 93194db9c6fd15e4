"""What TRANSTOOL promises: the paper's examples, prefixes, and one normal form for many spellings.

What each rule does is in `tests.transtool.test_rules`; that nothing changes an answer, in
`tests.transtool.test_equivalence`.
"""

from __future__ import annotations

import re
from random import Random

import pytest

from extract.errors import QuerySyntaxError
from extract.transtool import Normaliser
from extract.transtool.prefixes import Prefixes
from extract.xpath.check import parse_checked
from extract.xpath.functions import Type
from tests.support.generate import oracle
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.normal_forms import ORDERS, branches, figure4, load, normal, orders

# -- the paper -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("//c", {"/a/b/l/c", "/a/b/m//c"}),
        ("/a/b/*/d", {"/a/b/k/d"}),
        ("/a/d", set()),
        ("/a/b/m/../k", {"/a/b[m]/k"}),
    ],
)
def test_the_examples_of_the_paper(query: str, expected: set[str]) -> None:
    assert branches(figure4(), query) == expected


@pytest.mark.parametrize(
    ("query", "edge"),
    [
        ("/a/d", "a has no child d"),
        ("/a/b/k/c/..", "k has no child c"),
        ("/a/b[l/d]", "l has no child d"),
        ("/a/b/@x", "b has no attribute x"),
        ("/b", "the document has no child b"),
        ("//zzz", "zzz"),
    ],
)
def test_an_unsatisfiable_query_names_the_missing_edge(query: str, edge: str) -> None:
    form = normal(figure4(), query)
    assert not form.branches
    assert edge in form.unsatisfiable
    assert not normal(figure4(), "//c").unsatisfiable


# -- prefixes ------------------------------------------------------------------------------------


def test_one_prefix_table_for_all_queries() -> None:
    schema = orders()
    normaliser = Normaliser(schema)
    first, second = {"p": "urn:example:orders"}, {"p": "urn:example:party", "q": "urn:new"}
    third = {"q": "urn:newer", "party": "urn:newest"}
    texts = []
    for xpath, namespaces in (
        ("//p:seller", first),
        ("//p:seller", second),
        ("/p:orders/p:order", first),
        ("//*[@q:k]", second),
        ("//*[@q:k]", third),
    ):
        expr = parse_checked(xpath, namespaces)
        texts.append(normaliser.normalise(normaliser.prefixes.bind(expr, namespaces)).xpath)
    table = normaliser.prefixes.table
    assert texts[2] == "/po:orders/po:order", "the schema's own prefixes come first"
    assert "party:seller" in texts[1]
    assert "party:seller" not in texts[0]
    uris = {re.search(r"\[@([\w]+):k\]", text)[1]: text for text in texts[3:]}  # type: ignore[index]
    assert [table[prefix] for prefix in uris] == ["urn:new", "urn:newer"]
    assert len(set(table.values())) == len(table), "one prefix for a namespace"


def test_a_query_may_use_its_own_prefix_for_a_namespace_of_the_schema() -> None:
    for prefix in ("po", "party", "whatever"):
        namespaces = {prefix: "urn:example:orders"}
        assert branches(orders(), f"/{prefix}:orders/*/@number", namespaces) == {
            "/po:orders/po:order/@number"
        }


# -- one normal form for many spellings ----------------------------------------------------------


@pytest.mark.parametrize(
    "spellings",
    [
        ["/a/b[m][k]", "/a/b[k and m]", "/a/b[k][m]", "/a/b[m and k][k]", "a/*[k][m]"],
        ["//d", "/descendant::d", "/a//d", "//d/.", "/descendant::*/self::d", "/*//d"],
        ["//k", "/descendant::k", "/descendant-or-self::node()/k", "/descendant::*/self::k"],
        ["/a/b/k", "/a/b/./k", "/*/b/k", "/a/*/k", "/child::a/child::b/child::k", " / a/ b /k "],
        ["/a/b[m]/k", "/a/b/m/../k", "/a/b[boolean(m)]/k", "/a/b[./m]/k", "/a/b[m or zzz]/k"],
        ["/a/b[k]", "/a/b/k/..", "/a/b/k/parent::b", "/a/b[child::k]", "/a/b/k/ancestor::b"],
        ["/a/b", "/a/b[true()]", "/a/b[.]", "/a/b[..]", "/a/b[self::b]", "/a/b[not(zzz)]"],
        ["/a/b[k/d]", "/a/b[*/d]", "/a/b[k/d or l/d]", "/a/b[k/d | l/d]"],
        ["/a/b[k | m]", "/a/b[m | k]", "/a/b[m | k | k]", "/a/b[zzz | m | k]"],
        ["/a/b/k | /a/b/l", "/a/b/l | /a/b/k", "(/a/b)/k | /a/b/l", "/a/b/k | /a/b/l | /a/b/k"],
        ["//b[m][k]", "//b[k and m]", "/descendant::b[m and k]", "//b[./m]/self::b[k]"],
        ["//b[.//c]", "//b[descendant::c]", "//*/self::b[.//c]", "//b[./descendant::c]"],
        ["//k | //l", "//l | //k | //zzz", "/descendant::l | //k"],
        ["/a/b/@zzz", "/a/d", "/zzz", "//zzz", "/a/b[zzz]", "//d//d"],
        ["count(//d)", "count(/descendant::d)", "count( //d )", "count(//d | //d)"],
        ['/a/b[k = "x"]', "/a/b[k = 'x']", "/a/b[ child::k='x' ]"],
    ],
)  # fmt: skip
def test_spellings_of_one_query_have_one_normal_form(spellings: list[str]) -> None:
    forms = {spelling: normal(figure4(), spelling).xpath for spelling in spellings}
    assert len(set(forms.values())) == 1, forms


# -- what chunking relies on ---------------------------------------------------------------------


def without_filters(path: str) -> str:
    """A path's steps only."""
    path = re.sub(r"'[^']*'|\"[^\"]*\"", "", path)
    while "[" in path:
        path = re.sub(r"\[[^\[\]]*\]", "", path)
    return path


def test_what_a_branch_selects_is_below_its_prefix() -> None:
    """Prefix, residual and XPath of a branch are three views of one thing."""
    for schema, namespaces in ((figure4(), {}), (load("book.dtd"), {}), (orders(), ORDERS)):
        rng = Random(7)
        writer, normaliser = Queries(schema), Normaliser(schema)
        documents = [Documents(schema).document(rng, Options(size=60)) for _ in range(3)]
        trees = [oracle.parse(document) for document in documents]
        selected = 0
        for _ in range(300):
            xpath = writer.query(rng, pick(rng, ["linear", "filtered"]))
            expr = parse_checked(xpath, {**writer.namespaces, **namespaces})
            form = normaliser.normalise(normaliser.prefixes.bind(expr, writer.namespaces))
            if form.type is not Type.NODES:
                continue
            table = normaliser.prefixes.table
            for part in form.branches:
                assert part.xpath.endswith(part.residual)
                spine = part.xpath[: len(part.xpath) - len(part.residual)]
                plain = "".join(f"/{name}" for name in part.prefix)
                assert without_filters(spine) in (plain, plain or "/")
                for tree in trees:
                    nodes = set(oracle.answer(tree, part.xpath, table))
                    within = f"{plain}/descendant-or-self::node()"
                    around = set(oracle.answer(tree, f"{within} | {within}/@*", table))
                    assert nodes <= around, (part.xpath, plain)
                    selected += len(nodes) - 1
        assert selected > 300


# -- unsatisfiable means: nothing, ever ----------------------------------------------------------


def test_unsatisfiable_queries_select_nothing_on_many_documents() -> None:
    checked = 0
    for seed in range(30):
        rng = Random(1000 + seed)
        schema = random_schema(rng).load()
        documents, writer, normaliser = Documents(schema), Queries(schema), Normaliser(schema)
        trees = [
            oracle.parse(documents.document(rng, Options(size=50, strict=False))) for _ in range(12)
        ]
        for _ in range(60):
            xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
            try:
                expr = parse_checked(xpath, writer.namespaces)
            except QuerySyntaxError:
                continue
            form = normaliser.normalise(normaliser.prefixes.bind(expr, writer.namespaces))
            if form.branches:
                continue
            checked += 1
            assert form.type is Type.NODES, xpath
            assert form.unsatisfiable, xpath
            for tree in trees:
                assert oracle.answer(tree, xpath, writer.namespaces) == ("nodes",), xpath
    assert checked > 100


def test_namespace_nodes_need_the_whole_document() -> None:
    form = normal(figure4(), "//k/namespace::*")
    assert form.xpath == "//k/namespace::*"
    assert form.branches[0].prefix == ()
    assert "namespace axis" in form.branches[0].reason


def test_prefix_tables_start_from_the_schema() -> None:
    prefixes = Prefixes(orders().prefixes)
    assert prefixes.table["po"] == "urn:example:orders"
    assert prefixes.prefix("urn:else", "po") != "po"


# -- many queries ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_normal_form_does_not_depend_on_the_queries_before(seed: int) -> None:
    """Not even the names of rules and the reasons, though queries share what is known of parts."""
    rng = Random(seed)
    schema = random_schema(rng).load()
    writer = Queries(schema)
    prefixes = Prefixes(schema.prefixes)
    shared = Normaliser(schema, prefixes)
    filters = ["", "[../*]", "[ancestor::*]"]
    for _ in range(60):
        xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
        for text in (xpath, *[f"//*{one}[{xpath}]" for one in filters]):
            try:
                expr = prefixes.bind(parse_checked(text, writer.namespaces), writer.namespaces)
            except QuerySyntaxError:
                continue
            assert shared.normalise(expr) == Normaliser(schema, prefixes).normalise(expr), text
            assert shared.normalise(expr) == Normaliser(schema, prefixes).normalise(expr), text
