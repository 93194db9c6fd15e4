"""The guard of the tests: they mirror the package, in files of one subject that stand alone."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.support.mirror_rules import imports_of_tests, without_tests
from tests.support.source_rules import Module, modules_in

MOST_LINES: Final = 500

# Packages whose tests are elsewhere, and where.
ELSEWHERE: Final = {
    "extract.bench.experiments.rivals": "tests/bench/test_experiments.py",
    "extract.filtertool.matchers.push.core": "tests/filtertool/matchers/push/test_push_contract.py",
    "extract.filtertool.matchers.sql.core": "tests/filtertool/matchers/sql/test_sql_rounds.py",
    "extract.testing": "tests/chunktool/scan/test_scanner_contract.py",
}


def test_every_package_has_tests_where_one_looks_for_them(repo_root: Path) -> None:
    files = (repo_root / "extract").rglob("__init__.py")  # the scenarios, a link, are data
    packages = {".".join(file.relative_to(repo_root).parent.parts) for file in files}
    tests = {str(file.relative_to(repo_root)) for file in (repo_root / "tests").rglob("test_*.py")}
    missing = without_tests(packages, tests)
    assert missing == ELSEWHERE.keys(), f"tests belong where the package is: {sorted(missing)}"
    assert set(ELSEWHERE.values()) <= tests


def test_files_of_tests_are_short(repo_root: Path) -> None:
    counts = {
        file.relative_to(repo_root): file.read_text(encoding="utf-8").count("\n")
        for file in (repo_root / "tests").rglob("*.py")
    }
    long = [f"{file}: {count} lines" for file, count in counts.items() if count > MOST_LINES]
    assert not long, "split these by subject:\n" + "\n".join(long)


def test_no_test_imports_another(repo_root: Path) -> None:
    modules = modules_in(repo_root, "tests")
    names = {module.name for module in modules}
    lines = [line for one in modules for line in imports_of_tests(one, names)]
    assert not lines, "what tests share belongs into tests/support:\n" + "\n".join(lines)


def test_tests_of_spark_have_spark_in_their_names(request: pytest.FixtureRequest) -> None:
    """Two processes share the tests; that one of them gets all of Spark's goes by the name."""
    items = [item for item in request.session.items if "spark" in getattr(item, "fixturenames", ())]
    wrong = [item.nodeid for item in items if "spark" not in item.nodeid]
    assert not wrong, "name the file or the test after Spark:\n" + "\n".join(wrong)


# -- The guard sees what it is for


@pytest.mark.parametrize(
    ("tests", "missing"),
    [
        ({"tests/a/test_x.py", "tests/a/b/test_y.py"}, set()),
        ({"tests/a/test_b.py"}, set()),
        ({"tests/a/test_b_files.py"}, set()),
        ({"tests/a/test_x.py"}, {"extract.a.b"}),
        ({"tests/c/b/test_x.py"}, {"extract.a", "extract.a.b"}),
        (set(), {"extract.a", "extract.a.b"}),
    ],
)
def test_the_guard_sees_a_package_without_tests(tests: set[str], missing: set[str]) -> None:
    assert without_tests({"extract", "extract.a", "extract.a.b"}, tests) == missing


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("from tests.a.test_b import x", True),
        ("from tests.a import test_b", True),
        ("import tests.a.test_b", True),
        ("def f():\n    from tests.a.test_b import x", True),
        ("from .test_b import x", True),
        ("from tests.a.conftest import x", True),
        ("from tests.support.b import test_value", False),
        ("from extract.testing import x", False),
    ],
)
def test_the_guard_sees_a_test_that_imports_another(source: str, wrong: bool) -> None:
    names = {"tests.a.test_b", "tests.a.test_c", "tests.a.conftest", "tests.support.b"}
    assert bool(list(imports_of_tests(Module.of("tests.a.test_c", source), names))) is wrong
