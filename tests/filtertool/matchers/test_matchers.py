"""Matchers: those that are built in, those of others, and what happens when one is broken."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from extract.chunktool.scan.driver import kernel_available
from extract.errors import MatcherError
from extract.filtertool.matchers.auto import AutoFactory
from extract.filtertool.matchers.columnar import ColumnarFactory
from extract.filtertool.matchers.columnar.native import ENVIRONMENT
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.matchers.registry import load_matcher, matcher_names
from extract.testing.matcher_contract import MatcherContract, UpdatableMatcherContract
from tests.plugin.extract_naive import NaiveFactory
from tests.support.filter_rounds import Round
from tests.support.paths import ROOT, TESTS

PLUGIN = TESTS / "plugin"


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


class TestColumnarTogether(MatcherContract):
    """All queries of a question together, however few they are."""

    factory = ColumnarFactory(together=1)


class TestColumnarWithoutC(MatcherContract, RandomSchemes):
    factory = ColumnarFactory(together=1)

    @pytest.fixture(autouse=True)
    def _without_c(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(ENVIRONMENT, "off")


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


def test_one_name_for_two_matchers_is_an_error(install: Install) -> None:
    install("twin = one:Factory", "first")
    install("twin = other:Factory", "second")
    with pytest.raises(MatcherError, match="two matchers are called 'twin': those of first and"):
        load_matcher("twin")


def test_errors_survive_pickling() -> None:
    error = MatcherError("it failed", "try again")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
