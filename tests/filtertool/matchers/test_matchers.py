"""Matchers: those that are built in, those of others, and what happens when one is broken."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import extract
from extract.chunktool.scan.driver import kernel_available
from extract.errors import MatcherError
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.auto import AutoFactory, lxml_is_cheaper
from extract.filtertool.matchers.columnar import ColumnarFactory
from extract.filtertool.matchers.cost_bound import Bound, nodes_allowed
from extract.filtertool.matchers.lxml.matcher import LxmlFactory, better_as_written
from extract.filtertool.matchers.protocol import MatcherFactory, Question, Unit
from extract.filtertool.matchers.registry import load_matcher, matcher_names
from extract.filtertool.processes.sandbox import ChildDied, MemoryLimit, Sandbox, TimeLimit
from extract.filtertool.query_plan import QueryPlan
from extract.limits import Limits
from extract.testing.matcher_contract import (
    DOCUMENT,
    MatcherContract,
    UpdatableMatcherContract,
    unit_of,
)
from tests.plugin.extract_naive import NaiveFactory
from tests.support.filter_rounds import Round
from tests.support.paths import ROOT, SCHEMAS, TESTS

PLUGIN = TESTS / "plugin"
SCHEMA = SCHEMAS / "university.dtd"


class RandomSchemes:
    """Random schemes, queries and documents of all kinds; the contract has simpler ones."""

    factory: MatcherFactory

    @pytest.mark.parametrize("seed", range(4))
    def test_random_schemes_give_libxml2s_rows(self, seed: int) -> None:
        total: Counter[str] = Counter()
        one = Round(Random(seed), 30)
        for scheme in one.schemes():
            total += one.check(self.factory, scheme, kernel=kernel_available())
        assert total["answers"] > 50


class TestLxml(UpdatableMatcherContract, RandomSchemes):
    factory = LxmlFactory()


class TestGuardedLxml(UpdatableMatcherContract, RandomSchemes):
    """All that may take long at all in the child process."""

    factory = LxmlFactory(limit=100.0)


class TestColumnar(MatcherContract, RandomSchemes):
    factory = ColumnarFactory()


class TestAuto(MatcherContract, RandomSchemes):
    factory = AutoFactory()


class TestNaive(RandomSchemes):  # tests/plugin has the contract
    factory = NaiveFactory()


# -- names

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Makes a package known that offers matchers, as if it were installed."""

    def install(entry_points: str, name: str = "some_matchers") -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[extract.matchers]\n{entry_points}\n")

    monkeypatch.syspath_prepend(tmp_path)
    return install


def test_the_built_in_ones_are_there() -> None:
    assert "lxml" in matcher_names()
    assert load_matcher("lxml") == LxmlFactory()
    assert load_matcher("auto") == AutoFactory()


def test_a_plug_in_is_found_by_its_name(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))
    points = project["project"]["entry-points"]["extract.matchers"]
    monkeypatch.syspath_prepend(PLUGIN)
    install("\n".join(f"{name} = {value}" for name, value in points.items()))
    assert "naive" in matcher_names()
    factory = load_matcher("naive")
    assert isinstance(factory, MatcherFactory)
    assert factory.name == "naive"


@pytest.mark.slow
def test_the_example_can_be_installed(tmp_path: Path) -> None:
    copy = shutil.copytree(PLUGIN, tmp_path / "plugin")  # pip leaves things behind
    target = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    command = [*pip, "--no-build-isolation", "--target", str(target), str(copy)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    code = "from extract.filtertool.matchers.registry import *; print(load_matcher('naive').name)"
    path = os.pathsep.join([str(target), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": path}
    )
    assert done.stdout == "naive\n", done.stderr


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(MatcherError, match="there is no matcher 'lxlm'") as caught:
        load_matcher("lxlm")
    assert "auto" in caught.value.hint
    assert "lxml" in caught.value.hint


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module:Factory", "cannot be loaded: ModuleNotFoundError"),
        ("json:Factory", "cannot be loaded: AttributeError"),
        ("json:JSONEncoder", "is no MatcherFactory, but JSONEncoder"),
    ],
)
def test_a_broken_plug_in_says_why(install: Install, value: str, message: str) -> None:
    install(f"broken = {value}")
    with pytest.raises(MatcherError, match=message) as caught:
        load_matcher("broken")
    assert "some_matchers" in caught.value.hint
    assert caught.value.__cause__ is not None or "is no" in message


class OldFactory:
    """A factory from before there was `MatcherFactory.with_limits`."""

    name = "old"
    consumes = "xml"

    def build(self, questions: object, namespaces: object) -> None:
        raise NotImplementedError


def test_a_plug_in_that_lacks_something_says_what(install: Install) -> None:
    install("old = tests.filtertool.matchers.test_matchers:OldFactory")
    with pytest.raises(MatcherError, match="is no MatcherFactory, but OldFactory") as caught:
        load_matcher("old")
    assert "has no with_limits" in caught.value.hint


@pytest.mark.parametrize("name", ["auto", "columnar", "lxml"])
def test_limits_reach_the_child_process_that_holds_them(name: str) -> None:
    """Columns leave to it what may take too long; the one that they would choose is asked twice."""
    students = b"".join(b"<student id='%d'><name/></student>" % n for n in range(3_000))
    factory = load_matcher(name).with_limits(Limits(query_seconds=0.5))
    matcher = factory.build([Question((HOSTILE,)), Question(("/db",))], {})
    answers = matcher.match([unit_of(b"<db>" + students + b"</db>")], "count")
    ((_, question, reason),) = answers.failures
    assert (question, "(--max-query-seconds)" in reason) == (0, True)


def test_one_name_for_two_matchers_is_an_error(install: Install) -> None:
    install("twin = one:Factory", "first")
    install("twin = other:Factory", "second")
    with pytest.raises(MatcherError, match="two matchers are called 'twin': those of first and"):
        load_matcher("twin")


def test_errors_survive_pickling() -> None:
    error = MatcherError("it failed", "try again")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# -- which one is cheaper


def test_auto_chooses_by_cost() -> None:
    matcher = load_matcher().build([Question(("/db/student/name",))], {})
    unit = unit_of(DOCUMENT)
    one = matcher.match([unit], "count")
    assert matcher.report().figures["lxml_units"] == 1
    many = matcher.match([unit] * 100, "count")
    figures = matcher.report().figures
    assert (figures["lxml_units"], figures["columnar_units"]) == (1, 100)
    assert many.count.tolist() == one.count.tolist() * 100
    assert lxml_is_cheaper(30, [50], "doc")
    assert not lxml_is_cheaper(30, [50], "nodes")
    assert not lxml_is_cheaper(3, [20_000], "doc")


# -- the cost guard

HOSTILE = "//name[preceding::name/following::name/preceding::name]"


@pytest.mark.parametrize(
    ("xpath", "allowed"),
    [
        ("/db/student/name", 1e9),
        ("/db/student[name = 'x' and email]/name", 1e6),
        ("//student[name]", 1e6),
        ("//student//name", 1e4),
        ("count(//student[position() = last()])", 1e6),
    ],
)
def test_usual_queries_are_not_suspicious(xpath: str, allowed: float) -> None:
    assert nodes_allowed(xpath) >= allowed


@pytest.mark.parametrize(
    "xpath",
    [
        HOSTILE,
        "//a[following-sibling::a[following-sibling::a[following-sibling::a]]]",
        "//a[//a[//a[//a = 1]]]",
        "count(//a/preceding::*/following::*/preceding::*)",
    ],
)
def test_hostile_queries_are(xpath: str) -> None:
    assert nodes_allowed(xpath) < 3_000


def test_names_tell_more_than_the_number_of_elements() -> None:
    """An ordinary query on a large document pays for no child process."""
    asked: list[str] = []

    def named() -> dict[str, int]:
        asked.append("")
        return {"student": 2_000, "name": 5_000, "a": 3_000}

    bound = Bound("//student//name[x]")
    assert bound.affords(1_000, named)
    assert not asked  # counting takes time, too
    assert not bound.affords(200_000)
    assert Bound("//student//name").affords(200_000, named)
    assert Bound("//student[@x = 5]//name").affords(200_000, named)
    assert not Bound(HOSTILE).affords(200_000, named)
    assert not Bound("//a[preceding::a/following::a/preceding::a]").affords(3_000, named)


@pytest.mark.parametrize("matcher", ["auto", "lxml"])
@pytest.mark.parametrize("document", ["conforming", "nonconforming"])
def test_no_way_through_match_hangs(matcher: str, document: str) -> None:
    """Each of these took from ten seconds to minutes, in libxml2 or in columns."""
    schema = extract.Schema.load(SCHEMA, root="db")
    queries = {
        "axes": HOSTILE,
        "pairs": "//name[//name = //student]",
        "text": "//name[translate(/, 'abcdefghij', '0123456789') = translate(/db, 'xy', 'ab')]",
        "siblings": "//student[preceding-sibling::*[following-sibling::*[preceding-sibling::*]]]",
        "good": "//student[@id = '5']/name",
    }
    scheme = extract.prepare(schema, extract.Subscriptions.of(queries), 2)
    students = b"".join(b"<student id='%d'><name>n</name></student>" % n for n in range(3_000))
    data = b"<db>" + b"<zzz/>" * (document == "nonconforming") + students + b"</db>"
    ready = document_filter(
        scheme,
        load_matcher(matcher),
        Options("count", limits=Limits(query_seconds=0.2)),
    )
    (done,) = ready.process([("d", data)])
    assert {one.query for one in done.rejections} == {"axes", "pairs", "text", "siblings"}
    assert all("(--max-query-seconds)" in one.reason for one in done.rejections)
    assert len(done.findings) == 1
    assert done.figures["guarded_evaluations"] >= 4


def test_a_hostile_query_is_given_up_and_the_others_are_answered() -> None:
    students = b"".join(b"<student id='%d'><name/></student>" % n for n in range(3_000))
    unit = unit_of(b"<db>" + students + b"</db>")
    questions = [Question(("/db/student/name",)), Question((HOSTILE,)), Question(("/db",))]
    matcher = LxmlFactory(seconds=0.5).build(questions, {})
    answers = matcher.match([unit], "count")
    assert answers.question.tolist() == [0, 2]
    ((_, question, reason),) = answers.failures
    assert (question, reason) == (
        1,
        "it took longer than 0.5 s and was given up (--max-query-seconds)",
    )
    assert matcher.report().figures["guarded_evaluations"] == 1
    assert matcher.match([unit_of(DOCUMENT)], "count").question.tolist() == [0, 1, 2]


def test_a_child_that_dies_is_replaced() -> None:
    sandbox = Sandbox()
    with pytest.raises(ChildDied):
        sandbox.call(os._exit, 1, seconds=60)
    assert sandbox.call(max, 1, 2, seconds=60) == 2
    with pytest.raises(ZeroDivisionError):
        sandbox.call(divmod, 1, 0, seconds=60)
    with pytest.raises(TimeLimit):
        sandbox.call(time.sleep, 60, seconds=0.1)
    with pytest.raises(MemoryLimit):
        sandbox.call(bytes, 1 << 30, seconds=60, memory=1 << 26)
    assert sandbox.call(len, bytes(1 << 20), seconds=60, memory=1 << 26) == 1 << 20
    assert sandbox.call(max, 3, 2, seconds=60) == 3
    sandbox.close()


def test_a_unit_without_xml_is_an_error() -> None:
    matcher = LxmlFactory().build([Question(("/db",))], {})
    with pytest.raises(MatcherError, match="needs the unit as XML"):
        matcher.match([Unit(unit_of(DOCUMENT).table)], "nodes")


def test_a_unit_that_libxml2_rejects_is_an_error() -> None:
    matcher = LxmlFactory().build([Question(("/db",))], {})
    with pytest.raises(MatcherError, match="libxml2 rejects a chunk"):
        matcher.match([Unit(unit_of(DOCUMENT).table, b"<db>")], "nodes")


# -- the query as it was written, where libxml2 is slow at what it was expanded to


def test_what_libxml2_is_slow_at_is_asked_as_it_was_written() -> None:
    """It compares every node with every other for `|`, and for `//` below many nodes."""
    book = extract.Schema.load(SCHEMA.with_name("book.dtd"), root="book")
    queries = {
        "sum": "sum(//title)",
        "nodes": "//title[lang('de')]",
        "plain": "/book/section/title[lang('de')]",
        "document": "/ | //title[lang('de')]",
    }
    scheme = extract.prepare(book, extract.Subscriptions.of(queries), 1)
    asked = QueryPlan.of(scheme, together=True).parts[0]
    ids = [scheme.queries[n].subscribers[0].id for n in asked.queries.tolist()]
    as_written = {
        name: question.original
        for name, question in zip(ids, asked.questions, strict=True)
        if better_as_written(question)
    }
    assert as_written == {"sum": "sum(//title)", "nodes": "//title[lang('de')]"}
    document = b"<book><section xml:lang='de'><title>1</title><section><title>2</title></section>"
    document += b"</section><title>3</title></book>"
    counts = {query: n for _, query, n in extract.count(scheme, document)}
    assert counts == {"sum": 1, "nodes": 2, "plain": 1, "document": 2}


def test_but_not_where_only_some_of_its_branches_are_asked_for() -> None:
    book = extract.Schema.load(SCHEMA.with_name("book.dtd"), root="book")
    queries = {"all": "//title", "a": "/book/title", "b": "/book/section/title"}
    scheme = extract.prepare(book, extract.Subscriptions.of(queries), 2)
    parts = QueryPlan.of(scheme, together=False).parts
    assert any(part.shared.any() for part in parts)
    for part in parts:
        for shared, question in zip(part.shared.tolist(), part.questions, strict=True):
            assert bool(question.original) is not shared
