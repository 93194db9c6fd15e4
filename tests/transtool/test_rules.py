"""The rules of TRANSTOOL, each with a fixture file of queries and their normal forms.

``tests/fixtures/rules/<rule>.txt`` holds sections like this one::

    # schema: figure4.dtd
    # root: a
    # ns: x=urn:x
    # limits: branches=4 size=100
    //c
    => /a/b/l/c
    => /a/b/m//c
    /a/d
    =>
    # declines: why the rule has to
    //c[1]
    => …

A section starts with ``# schema:`` (a file of ``schemas/``); the other three headers are optional,
and other lines with a ``#`` are remarks. A query is followed by its whole normal form, one branch a
line, in order; an empty ``=>`` says that it cannot select anything. The rule that gives the file
its name is among those that fired; after ``# declines`` it is not, or (a rule of `EXPAND`) it left
a residual and says why.

A wrong expectation cannot pass: each pair is also evaluated by libxml2, on documents that keep to
nothing of the schema but its edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from random import Random

import pytest

import extract.transtool.rules
from extract.schema.conformance import first_violation
from extract.schema.model import Schema
from extract.transtool.expansion import Expansion
from extract.transtool.normalise import NormalForm, Normaliser
from extract.transtool.prefixes import Prefixes
from extract.transtool.rules import EXPAND, FOLD
from extract.transtool.rules.make_absolute import make_absolute
from extract.transtool.rules.split_union import split_union
from extract.xpath.ast import Expr, LocationPath
from extract.xpath.check import parse_checked
from tests.support.equivalence import canonical, normal_answer
from tests.support.generate import oracle
from tests.support.generate.documents import Documents, Options
from tests.support.paths import ROOT

FIXTURES = ROOT / "tests/fixtures/rules"
RULES = sorted(module.name for module in iter_modules(extract.transtool.rules.__path__))


@dataclass(frozen=True)
class Section:
    """The headers that a group of pairs has in common."""

    schema: str
    root: str | None = None
    namespaces: Mapping[str, str] = field(default_factory=dict)
    limits: Expansion = field(default_factory=Expansion)

    def with_header(self, key: str, value: str) -> Section:
        """The same with one more header."""
        root, namespaces, limits = self.root, dict(self.namespaces), self.limits
        if key == "root":
            root = value
        elif key == "ns":
            prefix, _, uri = value.partition("=")
            namespaces[prefix] = uri
        else:
            given = dict(item.split("=") for item in value.split())
            limits = Expansion(**{name: int(number) for name, number in given.items()})
        return Section(self.schema, root, namespaces, limits)


@dataclass(frozen=True)
class Pair:
    """A query and its normal form, as the fixture file has them."""

    rule: str
    line: int
    section: Section
    declines: bool
    query: str
    branches: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.rule}:{self.line}"

    @property
    def normal(self) -> str:
        """The normal form as one expression."""
        return " | ".join(self.branches)


def read_pairs(file: Path) -> Iterator[Pair]:
    """The pairs of a fixture file, in order."""
    section, declines, query, start = Section(""), False, "", 0
    branches: list[str] = []
    lines = file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate([*lines, ""], 1):
        if line.startswith("=>"):
            assert query, f"{file.name}:{number} has no query above it"
            branches += [line[2:].strip()]
            continue
        if query:
            assert branches, f"{file.name}:{start} has no '=>' below it"
            known = tuple(branch for branch in branches if branch)
            yield Pair(file.stem, start, section, declines, query, known)
            query, branches = "", []
        key, colon, value = line.removeprefix("#").partition(":")
        if not line.startswith("#"):
            query, start = line, number
        elif key.strip() == "schema":
            section, declines = Section(value.strip()), False
        elif key.strip() in ("root", "ns", "limits") and colon:
            section = section.with_header(key.strip(), value.strip())
        elif key.strip() == "declines":
            declines = True


PAIRS = [pair for file in sorted(FIXTURES.glob("*.txt")) for pair in read_pairs(file)]


@cache
def load_schema(file: str, root: str | None) -> Schema:
    return Schema.load(ROOT / "schemas" / file, root=root)


@cache
def documents(file: str, root: str | None) -> tuple[oracle.Tree, ...]:
    """Some documents with the schema's edges, valid ones and others."""
    schema, rng = load_schema(file, root), Random(4)
    writer = Documents(schema)
    options = [Options(size=s, strict=strict) for s in (10, 60, 60, 90) for strict in (True, False)]
    trees = tuple(oracle.parse(writer.document(rng, option)) for option in options)
    assert all(first_violation(schema, tree.tree) is None for tree in trees)
    return trees


def normalise(pair: Pair) -> tuple[NormalForm, Prefixes]:
    section = pair.section
    schema = load_schema(section.schema, section.root)
    prefixes = Prefixes(schema.prefixes)
    expr = prefixes.bind(parse_checked(pair.query, section.namespaces), section.namespaces)
    return Normaliser(schema, prefixes, section.limits).normalise(expr), prefixes


def test_every_rule_has_fixtures() -> None:
    assert sorted(file.stem for file in FIXTURES.iterdir()) == RULES


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_one_function_in_one_file(name: str) -> None:
    rule = getattr(import_module(f"extract.transtool.rules.{name}"), name)
    assert rule.__name__ == name
    assert rule.__doc__
    cases = [pair for pair in PAIRS if pair.rule == name]
    assert any(pair.declines for pair in cases), "show what the rule leaves alone"
    assert any(not pair.declines for pair in cases), "show what the rule does"


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_normal_form(pair: Pair) -> None:
    form, _ = normalise(pair)
    assert form.xpath == pair.normal
    if not pair.declines:
        assert pair.rule in form.rules
    elif pair.rule in form.rules:
        assert pair.rule in {rule.__name__ for rule in EXPAND}
        assert any(part.residual and part.reason for part in form.branches)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_normal_form_selects_the_same_nodes(pair: Pair) -> None:
    """What the fixture says, not what the normaliser makes of it."""
    form, prefixes = normalise(pair)
    section = pair.section
    for tree in documents(section.schema, section.root):
        expected = canonical(oracle.answer(tree, pair.query, section.namespaces))
        found: oracle.Answer = ("nodes",)
        if pair.branches:
            found = canonical(oracle.answer(tree, pair.normal, prefixes.table))
            assert canonical(normal_answer(tree, form, prefixes.table)) == found
        assert found == expected


def test_the_documents_have_something_to_select() -> None:
    """Or else the test above would compare nothing with nothing."""
    hits = 0
    satisfiable = [pair for pair in PAIRS if pair.branches]
    for pair in satisfiable:
        section = pair.section
        hits += any(
            not oracle.is_empty(oracle.answer(tree, pair.query, section.namespaces))
            for tree in documents(section.schema, section.root)
        )
    assert hits > 0.8 * len(satisfiable), f"only {hits} of {len(satisfiable)} select anything"


UNCHANGING: dict[str, Callable[[Expr], Expr]] = {
    "make_absolute": make_absolute,
    "split_union": split_union,
}


@pytest.mark.parametrize("rule", UNCHANGING)
def test_an_unchanged_query_is_the_same_object(rule: str) -> None:
    for pair in PAIRS:
        if pair.rule == rule and pair.declines:
            expr = parse_checked(pair.query, pair.section.namespaces)
            assert UNCHANGING[rule](expr) is expr


@pytest.mark.parametrize("pair", [p for p in PAIRS if p.declines], ids=str)
def test_a_fold_rule_that_declines_gives_none(pair: Pair) -> None:
    rules = {rule.__name__: rule for rule in FOLD}
    expr = parse_checked(pair.query, pair.section.namespaces)
    if pair.rule in rules and isinstance(expr, LocationPath):
        assert rules[pair.rule](expr) is None


def test_rules_are_listed_once() -> None:
    names = [rule.__name__ for rule in (*FOLD, *EXPAND)]
    assert len(set(names)) == len(names)
    assert set(names) <= set(RULES)
