"""Limits of the expansion of queries: options, shared by branches, never exceeded."""

from __future__ import annotations

import gc
from random import Random

import pytest

from extract.errors import QuerySyntaxError
from extract.transtool import Expansion, Normaliser
from extract.transtool.rules.make_absolute import make_absolute
from extract.transtool.rules.split_union import split_union
from extract.xpath.ast import Union
from extract.xpath.check import parse_checked
from tests.support.generate.draw import pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.normal_forms import branches, figure4, layered, normal


def test_limits_are_options() -> None:
    assert branches(figure4(), "//c", limits=Expansion(branches=1)) == {"/a/b//c"}
    assert branches(figure4(), "/a/b/*", limits=Expansion(branches=2)) == {"/a/b/*"}
    assert branches(figure4(), "/a/b/*", limits=Expansion(branches=3)) == {
        "/a/b/k",
        "/a/b/l",
        "/a/b/m",
    }
    assert branches(figure4(), "/a/b[*]", limits=Expansion(filter_branches=2)) == {"/a/b[*]"}
    assert branches(figure4(), "/a/b[*]", limits=Expansion(filter_branches=3)) == {
        "/a/b[k | l | m]"
    }
    assert branches(figure4(), "/a/b/*", limits=Expansion(size=20)) == {"/a/b/*"}


def test_branches_of_a_union_share_the_cap() -> None:
    union = " | ".join(f"//x1.{i}" for i in range(4))
    assert len(normal(layered(3, 4), union).branches) == 16
    form = normal(layered(3, 4), union, limits=Expansion(branches=8))
    assert 4 <= len(form.branches) <= 8
    many = " | ".join(f"/a/x0.{i}/*" for i in range(4))
    assert len(normal(layered(3, 4), many, limits=Expansion(branches=2)).branches) == 4


LIMITS = (
    Expansion(),
    Expansion(branches=4),
    Expansion(branches=1, filter_branches=1),
    Expansion(size=60),
    Expansion(branches=8, size=200, filter_branches=2),
)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_no_normal_form_passes_the_limits(limits: Expansion) -> None:
    """Except for what a query is already: many branches, or long; prefixes add a little."""
    for seed in range(25):
        rng = Random(seed)
        schema = random_schema(rng).load()
        writer = Queries(schema)
        normaliser = Normaliser(schema, limits=limits)
        for _ in range(60):
            xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
            try:
                parsed = parse_checked(xpath, writer.namespaces)
            except QuerySyntaxError:
                continue
            expr = split_union(make_absolute(normaliser.prefixes.bind(parsed, writer.namespaces)))
            pieces = len(expr.parts) if isinstance(expr, Union) else 1
            form = normaliser.normalise(expr)
            assert len(form.branches) <= max(limits.branches, pieces), xpath
            assert len(form.xpath) <= max(limits.size, 2 * len(str(expr))) + 100, xpath


def test_a_query_too_long_to_analyse_is_kept() -> None:
    query = "/a" + "/b/m/a" * 1000
    form = normal(figure4(), query)
    assert form.xpath == query
    assert form.branches[0].reason


def test_queries_that_are_done_leave_no_garbage() -> None:
    """Schemes are made with the collector switched off: cycles would stay until the end."""
    normaliser = Normaliser(figure4())
    queries = [parse_checked(f"/a[b = '{n}']/b[k]//c", {}) for n in range(50)]
    normaliser.normalise(queries[0])
    gc.collect()
    gc.disable()
    try:
        for query in queries:
            normaliser.normalise(query)
        assert gc.collect() < len(queries)
    finally:
        gc.enable()
