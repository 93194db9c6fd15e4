"""Oracle 1: a query and its normal form select the same nodes (see `tests.support.equivalence`).

And who tests the oracle? Each wrong rule at the end of this file must be found out by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import extract.transtool.normalise as loop
from extract.schema.conformance import first_violation
from extract.schema.model import Schema
from extract.schema.places import Place
from extract.transtool import Normaliser
from extract.transtool.branch import PartialBranch
from extract.transtool.context import Context
from extract.transtool.knowledge import Knowledge
from extract.transtool.rules import EXPAND
from extract.transtool.rules.enter_child import enter_child
from extract.transtool.rules.keep_elsewhere import keep_elsewhere
from extract.xpath.ast import LocationPath, Step
from tests.support.equivalence import LIMITS, Different, compare, round_of
from tests.support.generate import oracle
from tests.support.generate.draw import between, chance, pick
from tests.support.generate.schemas import GeneratedSchema


@given(st.randoms(use_true_random=False))
@hypothesis_settings(suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow])
def test_normal_forms_select_the_same_nodes(rng: Random) -> None:
    """Few queries each, so that a failure shrinks to a small schema, document and query."""
    round_of(rng, 4)


def test_thousands_of_normal_forms_select_the_same_nodes() -> None:
    counts: Counter[str] = Counter()
    for seed in range(60):
        counts += round_of(Random(seed), 100)
    assert counts.total() == 60 * 100 * 3
    # Of each kind enough to say something.
    assert min(counts["settled"], counts["kept"], counts["unsatisfiable"]) > 1000, counts


@pytest.mark.slow
def test_a_million_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    seed = 1_000_000
    while counts.total() < 1_000_000:
        counts += round_of(Random(seed), 100)
        seed += 1
    with capsys.disabled():
        print(f"\n{counts.total():,} comparisons without a difference: {dict(counts)}")


# -- small worlds: few names, all axes, positions everywhere ---------------------------------------


@dataclass(frozen=True)
class World:
    """A schema whose few names may stand almost anywhere, and how to ask for them.

    The random queries above look for what the schema offers; these put steps and filters together
    that make little sense, over documents where they hit all the same.
    """

    schema: Schema
    names: tuple[str, ...]
    namespaces: Mapping[str, str]
    starts: tuple[str, ...]

    def expanded(self, name: str) -> str:
        prefix, _, local = name.rpartition(":")
        return f"{{{self.namespaces[prefix]}}}{local}" if prefix else local

    def document(self, rng: Random) -> bytes:
        """A document full of the names there are, wherever the schema lets them be."""
        binding = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in self.namespaces.items())
        top = self.schema.places.document.step(self.expanded(self.names[0]))
        assert top is not None
        return self._element(rng, top, self.names[0], 0, binding).encode()

    def _element(self, rng: Random, place: Place, name: str, depth: int, more: str = "") -> str:
        for attribute in self.attributes:
            if place.has_attribute(self.expanded(attribute)) and chance(rng, 30):
                more += f' {attribute}="{pick(rng, "12x")}"'
        content = ""
        possible = [child for child in self.names if place.step(self.expanded(child))]
        for _ in range(between(rng, 0 if depth else 2, 6 - depth)):
            if chance(rng, 15):
                content += pick(rng, ("x", "1", "<!--c-->", "<?p q?>"))
            elif possible:
                child = pick(rng, possible)
                there = place.step(self.expanded(child))
                assert there is not None
                content += self._element(rng, there, child, depth + 1)
        return f"<{name}{more}>{content}</{name}>"

    @property
    def attributes(self) -> list[str]:
        return ["k", *(f"{prefix}:k" for prefix in self.namespaces)]

    def query(self, rng: Random) -> str:
        start = pick(rng, self.starts)
        while "{}" in start:
            start = start.replace("{}", pick(rng, self.names), 1)
        if start.endswith("]"):
            return start
        return start + self._path(rng, 2, 4)

    def _path(self, rng: Random, depth: int, longest: int) -> str:
        out = self._step(rng, depth)
        for _ in range(rng.randrange(longest)):
            out += pick(rng, ("/", "/", "//")) + self._step(rng, depth)
        return out

    def _step(self, rng: Random, depth: int) -> str:
        axis = pick(rng, AXES)
        wild = [f"{prefix}:*" for prefix in self.namespaces]
        tests = (*self.names, *wild, "*", "*", "node()", "text()")
        test = pick(rng, [*self.attributes, "*"] if axis == "attribute" else tests)
        filtered = depth > 0 and chance(rng, 40)
        return f"{axis}::{test}" + (f"[{self._filter(rng, depth - 1)}]" if filtered else "")

    def _filter(self, rng: Random, depth: int) -> str:
        one, other = self._path(rng, depth, 2), self._path(rng, depth, 2)
        kinds = (
            one,
            one,
            pick(rng, ("1", "2", "last()", "position() > 1")),
            pick(rng, (f"count({one})", f"position() = 1 and {one}", f"not({one}) and 1")),
            f"parent::{pick(rng, self.names)}",
            f"not({one})",
            f"{one} or {other}",
            f"{one} = '1'",
            f"count({one}) > 1 and {other}",
        )
        return pick(rng, kinds)

    def play(self, rng: Random, queries: int) -> Counter[str]:
        """A few documents and many queries, compared."""
        trees = [oracle.parse(self.document(rng)) for _ in range(4)]
        assert all(first_violation(self.schema, tree.tree) is None for tree in trees)
        normaliser = Normaliser(self.schema, limits=pick(rng, LIMITS))
        counts: Counter[str] = Counter()
        for _ in range(queries):
            kind = compare(normaliser, trees, self.query(rng), self.namespaces)
            counts[kind] += len(trees)
        return counts


AXES = (
    *["child"] * 8, "descendant", "descendant", "descendant-or-self", "self", "self", "parent",
    "ancestor", "ancestor", "ancestor-or-self", "following-sibling", "preceding-sibling",
    "following", "preceding", "attribute",
)  # fmt: skip

CLOSED = """<!ELEMENT a (b|c|d)*><!ATTLIST a k CDATA #IMPLIED><!ELEMENT b (c|d|e)*>
  <!ELEMENT c (d|e)*><!ATTLIST c k CDATA #IMPLIED><!ELEMENT d (#PCDATA|b|e)*><!ELEMENT e EMPTY>"""

# Names that the schema knows may also stand where it does not expect them.
OPEN = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:t"
  targetNamespace="urn:t" elementFormDefault="qualified">
  <xs:element name="a"><xs:complexType>
    <xs:sequence>
      <xs:element name="b" type="Closed" minOccurs="0" maxOccurs="unbounded"/>
      <xs:element name="c" type="Any" minOccurs="0" maxOccurs="unbounded"/>
      <xs:any namespace="##other" processContents="lax" minOccurs="0" maxOccurs="unbounded"/>
    </xs:sequence>
    <xs:attribute name="k"/>
    <xs:anyAttribute namespace="##other" processContents="lax"/>
  </xs:complexType></xs:element>
  <xs:element name="b" type="Local"/>
  <xs:complexType name="Closed">
    <xs:sequence>
      <xs:element name="c" type="Any" minOccurs="0"/>
      <xs:element name="d" type="Local" minOccurs="0"/>
      <xs:element ref="b" minOccurs="0"/>
    </xs:sequence>
    <xs:attribute name="k"/>
  </xs:complexType>
  <xs:complexType name="Any"><xs:sequence>
    <xs:any namespace="##any" processContents="skip" minOccurs="0" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType>
  <xs:complexType name="Local">
    <xs:sequence>
      <xs:any namespace="##local" processContents="lax" minOccurs="0" maxOccurs="unbounded"/>
      <xs:element name="b" type="Closed" minOccurs="0"/>
    </xs:sequence>
    <xs:anyAttribute processContents="skip"/>
  </xs:complexType>
</xs:schema>"""


@cache
def world(name: str) -> World:
    if name == "closed":
        schema = GeneratedSchema("dtd", CLOSED, "a").load()
        return World(schema, ("a", "b", "c", "d", "e"), {}, ("/", "//", "/a/", "/a/{}/", "//{}/"))
    names = ("t:a", "t:b", "t:c", "t:d", "b", "c", "o:a", "o:b")
    starts = (
        "/",
        "//",
        "/t:a/",
        "/t:a/t:c/{}/",
        "/t:a/t:c/{}/{}[parent::{}]",
        "//{}[ancestor::{}]",
    )
    schema = GeneratedSchema("xsd", OPEN, "{urn:t}a").load()
    return World(schema, names, {"t": "urn:t", "o": "urn:o"}, starts)


@pytest.mark.parametrize("name", ["closed", "open"])
def test_small_worlds(name: str) -> None:
    counts: Counter[str] = Counter()
    for seed in range(40):
        counts += world(name).play(Random(seed), 60)
    assert counts["settled"] + counts["kept"] > 4000, counts


@pytest.mark.slow
@pytest.mark.parametrize("name", ["closed", "open"])
def test_small_worlds_for_long(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    for seed in range(2000):
        counts += world(name).play(Random(10_000 + seed), 60)
    with capsys.disabled():
        print(f"\n{name} world: {counts.total():,} comparisons: {dict(counts)}")


# -- wrong rules ---------------------------------------------------------------------------------

Patch = pytest.MonkeyPatch
Wrong = Callable[[Patch], None]


def count_nothing(module: str) -> Wrong:
    """A rule that does not see positions."""

    def patch(monkeypatch: Patch) -> None:
        rule = import_module(f"extract.transtool.rules.{module}")
        monkeypatch.setattr(rule, "has_positions", lambda step: False)

    return patch


def expand_with(replaced: Callable[..., Any], by: Callable[..., Any]) -> Wrong:
    """The loop with one rule of `EXPAND` replaced."""

    def patch(monkeypatch: Patch) -> None:
        rules = tuple(by if rule is replaced else rule for rule in EXPAND)
        assert by in rules
        monkeypatch.setattr(loop, "EXPAND", rules)

    return patch


def drop_filters(branch: PartialBranch, context: Context) -> Sequence[PartialBranch] | None:
    """Follows the edge but forgets the filters."""
    step = branch.tail[0]
    if step.predicates and step.axis == "child":
        plain = Step(step.axis, step.test)
        return enter_child(PartialBranch(branch.spine, (plain, *branch.tail[1:])), context)
    return enter_child(branch, context)


def drop_recursive_branches(
    branch: PartialBranch, context: Context
) -> Sequence[PartialBranch] | None:
    """Takes recursion for a dead end."""
    results = enter_child(branch, context)
    return results and [b for b in results if not b.spine.place.reach & b.spine.place.bit]


def prune_siblings(branch: PartialBranch, context: Context) -> Sequence[PartialBranch] | None:
    """Believes that siblings have other names."""
    return () if branch.tail[0].axis == "following-sibling" else keep_elsewhere(branch, context)


def first_occurrences_only(monkeypatch: Patch) -> None:
    """``//`` that does not look below what it has found, nor where the schema recurses."""
    search = Knowledge.occurrences

    def occurrences(self: Knowledge, *arguments: Any) -> Any:
        found = search(self, *arguments)
        return found and tuple([o for o in found if not o.stopped])

    monkeypatch.setattr(Knowledge, "occurrences", occurrences)


def all_but_one_occurrence(monkeypatch: Patch) -> None:
    """``//`` that forgets one way of many."""
    search = Knowledge.occurrences

    def occurrences(self: Knowledge, *arguments: Any) -> Any:
        found = search(self, *arguments)
        return found[:-1] if found and len(found) > 3 else found

    monkeypatch.setattr(Knowledge, "occurrences", occurrences)


def too_long_a_prefix(monkeypatch: Patch) -> None:
    """Past the limit: the prefix of the first way, not what all have in common (TRAPS 13)."""

    def common_prefix(
        self: Knowledge, place: Place, targets: int, on_path: int, with_self: bool
    ) -> tuple[Place, ...]:
        ways = [] if place.open else self.ways(place, targets)
        return tuple(ways[:1]) if ways and not ways[0].bit & targets else ()

    monkeypatch.setattr(Knowledge, "common_prefix", common_prefix)


def no_text_in_element_content(monkeypatch: Patch) -> None:
    """Text only where the schema has ``#PCDATA`` (TRAPS 5)."""
    live = Knowledge.live

    def narrower(self: Knowledge, steps: tuple[Step, ...]) -> int:
        found = live(self, steps)
        if steps and str(steps[0]) == "text()":
            for place in self.places.members(found):
                if place.declarations and all(d.text.value != "any" for d in place.declarations):
                    found &= ~place.bit
        return found

    monkeypatch.setattr(Knowledge, "live", narrower)


def unordered_filters(monkeypatch: Patch) -> None:
    """Sorts filters whether they count or not (TRAPS 6)."""
    rule = import_module("extract.transtool.rules.simplify_filter")
    monkeypatch.setattr(rule, "is_positional", lambda predicate: False)


def absolute_filters_that_are_relative(monkeypatch: Patch) -> None:
    """Starts an absolute path in a filter at the filter's node."""
    nodes = Context.nodes

    def wrong(self: Context, spine: Any, expr: Any) -> Any:
        if isinstance(expr, LocationPath) and expr.absolute and expr.steps:
            return nodes(self, spine, LocationPath(False, expr.steps))
        return nodes(self, spine, expr)

    monkeypatch.setattr(Context, "nodes", wrong)


WRONG: dict[str, Wrong] = {
    "fold_descendant": count_nothing("fold_descendant"),
    "fold_self": count_nothing("fold_self"),
    "fold_parent": count_nothing("fold_parent"),
    "fold_ancestor": count_nothing("fold_ancestor"),
    "expand_wildcard": count_nothing("expand_wildcard"),
    "expand_descendant": count_nothing("expand_descendant"),
    "drop_filters": expand_with(enter_child, drop_filters),
    "drop_recursive_branches": expand_with(enter_child, drop_recursive_branches),
    "prune_siblings": expand_with(keep_elsewhere, prune_siblings),
    "first_occurrences_only": first_occurrences_only,
    "all_but_one_occurrence": all_but_one_occurrence,
    "too_long_a_prefix": too_long_a_prefix,
    "no_text_in_element_content": no_text_in_element_content,
    "unordered_filters": unordered_filters,
    "absolute_filters_that_are_relative": absolute_filters_that_are_relative,
}


def finds_a_difference(play: Callable[[Random], object], rounds: int) -> bool:
    try:
        for seed in range(rounds):
            play(Random(seed))
    except Different:
        return True
    return False


@pytest.fixture
def planted(monkeypatch: Patch) -> Iterator[Patch]:
    """For wrong rules, whose results no other test is to meet in what normalising remembers."""
    remembered = import_module("extract.transtool.rules.tidy_residual").tidy_residual
    remembered.cache_clear()
    yield monkeypatch
    remembered.cache_clear()


@pytest.mark.parametrize("name", WRONG)
def test_the_oracle_finds_a_wrong_rule(name: str, planted: Patch) -> None:
    WRONG[name](planted)
    closed = world("closed")
    plays = (lambda rng: round_of(rng, 100), lambda rng: closed.play(rng, 60))
    assert any(finds_a_difference(play, rounds=240) for play in reversed(plays))


def test_the_oracle_finds_certainty_below_open_places(planted: Patch) -> None:
    """An element of unknown name may pass ``parent::x``; that does not mean that it does."""

    def certain(self: Context, spine: Any, path: Any) -> bool:
        if not isinstance(path, LocationPath) or path.absolute or len(path.steps) != 1:
            return False
        step, above = path.steps[0], spine.parent
        return bool(
            step.axis == "parent"
            and not step.predicates
            and above is not None
            and self.know.matching(step.test) & above.place.bit
        )

    planted.setattr(Context, "is_certain", certain)
    assert finds_a_difference(lambda rng: world("open").play(rng, 60), rounds=60)
