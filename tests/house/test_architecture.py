"""docs/architecture.md and the docstrings of packages: what they name is there, none is missing."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "architecture.md"
TOPS = ("tests", "scenarios", "docs", "schemas")  # of the repository; all else is in extract/

# A path has a slash, or is a file of Python; `make fuzz` and `--chunks auto` are none.
_PATH = re.compile(r"`([\w.-]*(?:/[\w.-]*)+|\w+\.py)`")


def named_paths(text: str) -> set[str]:
    """The paths that a page names between backticks, from the root of the repository."""
    paths = set(_PATH.findall(text))
    return {path if path.startswith((*TOPS, "extract/")) else f"extract/{path}" for path in paths}


def packages() -> set[str]:
    """All packages in extract/; the scenarios are listed as one."""
    directories = {file.parent for file in (ROOT / "extract").rglob("__init__.py")}
    return {f"{one.relative_to(ROOT)}/" for one in directories if one.name != "extract"}


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_path_that_the_page_names_is_there(page: str) -> None:
    paths = named_paths(page)
    assert len(paths) > 100
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []
    assert sorted(path for path in paths if (ROOT / path).is_dir() and path[-1] != "/") == []


def test_every_package_is_on_the_page(page: str) -> None:
    listed = page.partition("## Packages")[2].partition("\n## ")[0]
    assert sorted(packages() - named_paths(listed)) == []


def test_there_is_a_row_for_many_changes(page: str) -> None:
    rows = re.findall(r"^\| .+ \| .+ \| .+ \|$", page.partition("## I want to")[2], re.M)
    assert len(rows) > 30
    for row in rows[1:]:
        wish, here, tests = row.strip("| ").split(" | ")
        assert named_paths(here), wish
        assert named_paths(tests), wish


# -- The docstrings of packages

INITS = sorted((ROOT / "extract").rglob("__init__.py"))
PARTS = [init for init in INITS if init.parent.name != "extract"]


@pytest.fixture(scope="module")
def defined() -> set[str]:
    """All modules, packages, functions, classes and variables of extract, by their short names."""
    names = {file.stem for file in (ROOT / "extract").rglob("*.py*")} | {"extract"}
    names |= {init.parent.name for init in INITS}
    for file in (ROOT / "extract").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        names |= set(re.findall(r"(?:def|class) (\w+)", text))
        names |= set(re.findall(r"^ *(?:self\.)?(\w+)\s*[:=]", text, re.M))
    return names


@pytest.mark.parametrize("init", PARTS, ids=lambda init: str(init.parent.relative_to(ROOT)))
def test_a_package_says_how_it_is_used(init: Path, defined: set[str]) -> None:
    text = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
    assert re.search(r"^(Always|What always) holds:$", text, re.M)
    assert re.search(r"^(Usage|When|Which|Comes in)\b.*:$", text, re.M)
    names = re.findall(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)", text)
    assert [name for name in names if name.rpartition(".")[2] not in defined] == []


def test_a_module_that_is_gone_is_seen() -> None:
    assert named_paths("`chunktool/attic.py`, `errors.py`, `tests/x/`, `make fuzz`") == {
        "extract/chunktool/attic.py",
        "extract/errors.py",
        "tests/x/",
    }
