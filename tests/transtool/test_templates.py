"""With templates and without: every query has the same normal form, reasons and rules.

A template is normalised once, and its form filled with the constants of each member. Here each
member is also normalised alone, with its own literals.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

from extract.errors import QuerySyntaxError
from extract.schema.model import Schema
from extract.subscriptions import Subscription, Subscriptions
from extract.subscriptions.wordings import ShapedByConstants
from extract.transtool import Normaliser, normalise_all
from extract.transtool.constant_order import parameter_classes
from extract.transtool.expansion import Expansion
from extract.xpath.ast import Expr
from extract.xpath.check import parse_checked
from extract.xpath.parameters import parse_shape
from tests.fixtures.xpath.samples import randoms
from tests.support.generate.draw import chance, pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.schemes import UNIVERSITY
from tests.support.siblings import NUMBERS, STRINGS, siblings

LIMITS = (
    Expansion(),
    Expansion(branches=4, size=1 << 20),
    Expansion(branches=1, filter_branches=1, size=1 << 20),
)


def compare(schema: Schema, queries: list[Subscription], expansion: Expansion) -> int:
    """Normalises queries in both ways; how many have constants and can match."""
    alone = Normaliser(schema, limits=expansion)
    shared = 0
    for query in normalise_all(schema, Subscriptions.of(queries), expansion):
        own = query.subscription
        if query.error is not None:
            with pytest.raises(QuerySyntaxError) as caught:
                parse_checked(own.xpath, own.namespaces)
            assert query.error.reason == caught.value.reason
            continue
        parsed = parse_checked(own.xpath, own.namespaces)
        form = alone.normalise(alone.prefixes.bind(parsed, own.namespaces))
        assert query.form == form, own.xpath
        shared += bool(form.branches and "'" in form.xpath)
    return shared


def round_of(rng: Random, count: int) -> int:
    """One random schema, and queries of a few templates."""
    schema = random_schema(rng).load()
    writer = Queries(schema)
    xpaths = []
    for _ in range(count):
        xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
        if chance(rng, 30) and "|" not in xpath:
            xpath = f"{xpath} | {xpath}"  # the same twice, of which constants decide the order
        xpaths += [xpath, *siblings(rng, xpath, writer.namespaces, 5)]
    rng.shuffle(xpaths)
    queries = [Subscription(str(n), x, writer.namespaces) for n, x in enumerate(xpaths)]
    return compare(schema, queries, pick(rng, LIMITS))


@given(randoms)
@settings(suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow])
def test_a_template_has_the_normal_forms_of_its_members(rng: Random) -> None:
    round_of(rng, 3)


def test_many_templates_have_the_normal_forms_of_their_members() -> None:
    assert sum(round_of(Random(seed), 15) for seed in range(25)) > 100


CONDITIONS = (
    "name = {s}",
    "name != {s}",
    "not(name = {s})",
    "contains(name, {s})",
    "contains({s}, name)",
    "@id < {n}",
    "@id > {n}",
    "@id = -{n}",
    "url[@href = {s}]",
    "url[@href = {s}][. = {n}]",
    "url[. = {n}]/@href = {s}",
    "name = 'a' or email = {s}",
    "contains('a', 'b')",
    "contains('a', {s})",
    "email = /db/professor/email",
    "email = {n}",
    "email = .",
    "email = 1 + 1",
    "count(url) = {n}",
    "{n} < count(url)",
    "concat(name, {s}) = {s}",
    "substring-before(name, {s}) = {s}",
)


def condition(rng: Random) -> str:
    text = pick(rng, CONDITIONS)
    while "{s}" in text:
        text = text.replace("{s}", quoted(rng), 1)
    while "{n}" in text:
        text = text.replace("{n}", pick(rng, NUMBERS), 1)
    return text


def quoted(rng: Random) -> str:
    value = pick(rng, STRINGS)
    return f'"{value}"' if "'" in value else f"'{value}'"


def test_filters_that_differ_in_constants_alone() -> None:
    rng = Random(7)
    queries = []
    for _ in range(400):
        some = [condition(rng) for _ in range(2)] * pick(rng, [1, 1, 2])
        joined = pick(rng, [" and ", "]["]).join(some)
        path = pick(rng, ["/db/student[{}]", "//student[{}]/name", "/db[student[{}]]", "//*[{}]"])
        xpath = path.format(joined)
        if chance(rng, 25):
            xpath += f" | {path.format(joined)}"
        queries += [xpath, *siblings(rng, xpath, {}, 12)]
    rng.shuffle(queries)
    numbered = [Subscription(str(n), xpath) for n, xpath in enumerate(queries)]
    assert compare(UNIVERSITY, numbered, Expansion(size=1 << 20)) > 1_000


def classes_of(*branches: str) -> tuple[tuple[int, ...], ...]:
    return parameter_classes(branches, map(parse_shape, branches))


@pytest.mark.parametrize(
    ("branches", "classes"),
    [
        (["/a[b = $string1][b = $string2]"], ((0, 1),)),
        (["/a[b = $string1][b = $number2]"], ()),
        (["/a[b = $string1][c = $string2]"], ()),
        (["/a[b > $number1][b < $number2]"], ()),
        (["/a[b[c = $number1]][b[c = $number2]]"], ((0, 1),)),
        (["/a[b = $string1][2][b = $string2]"], ()),
        (["/a[b = $string1]", "/a[b = $string2]", "/c[d = $number3]"], ((0, 1),)),
        (["/a[b = $string1]", "/c[b = $string1]"], ()),
        (["/a[(b[. = $string1] | b[. = $string2]) = $string3]"], ((0, 1),)),
        (["/a[b = $string1][b = $string1 or c]"], ()),
        (["/a[b = $string1 and c = $string2][b = $string3]"], ((0, 2),)),
        (["/a[b = $string1 or c = $string2][b = $string3 or c = $string4]"], ((0, 2), (1, 3))),
    ],
)
def test_parameters_whose_order_matters(
    branches: list[str], classes: tuple[tuple[int, ...], ...]
) -> None:
    assert classes_of(*branches) == classes


@pytest.mark.parametrize(
    "branch",
    [
        "/a[contains($string1, b)][contains('x', c)]",
        "/a[b = $number1][b = .]",
        "/a[b = $number1][b = /c]",
        "/a[b = $number1][b = 1 + c]",
    ],
)
def test_a_constant_that_is_compared_with_the_shape(branch: str) -> None:
    with pytest.raises(ShapedByConstants):
        classes_of(branch)


def test_many_filters_are_compared_as_one_class() -> None:
    filters = "".join(f"[b = $string{n}]" for n in range(1, 71))
    assert classes_of(f"/a{filters}") == (tuple(range(70)),)


def test_a_shape_that_is_remembered_is_what_its_text_says(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Expr] = {}
    monkeypatch.setattr("extract.transtool.template_resolver.remember_shape", kept.__setitem__)
    for seed in range(4):
        round_of(Random(seed), 60)
    assert len(kept) > 10
    for text, expression in kept.items():
        parse_shape(text)  # which may be remembered from before; the second time it is not
        assert parse_shape(text) == expression
