"""Imports go one way, as in the figure of the pipeline, and only FILTERTOOL sees Spark."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

# errors ← files ← limits ← xpath ← schema ← subscriptions ← scheme ← {transtool ← preptool |
# chunktool ← filtertool} ← pipeline ← bench ← cli. The two halves of the pipeline meet only in the
# scheme. Scenarios are data: they stand beside the stages.
GROUND = ("errors", "files", "limits", "xpath", "schema", "subscriptions", "scheme")
STAGES = ("transtool", "preptool", "chunktool", "filtertool")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    **{layer: GROUND[:depth] for depth, layer in enumerate(GROUND)},
    "transtool": GROUND,
    "preptool": (*GROUND, "transtool"),
    "chunktool": GROUND,
    "filtertool": (*GROUND, "chunktool"),
    "pipeline": (*GROUND, *STAGES),
    "scenarios": GROUND,
    "bench": (*GROUND, *STAGES, "pipeline", "scenarios"),
    "cli": (*GROUND, *STAGES, "pipeline", "scenarios", "bench"),
    "testing": (*GROUND, *STAGES),  # for plug-ins: nothing imports it
    "__init__": (*GROUND, *STAGES, "pipeline"),  # the stable API
    "__main__": ("cli",),
}


def modules(root: Path) -> dict[str, Path]:
    """Every module of the package by its dotted name; a package by that of its ``__init__``."""
    # `rglob` does not follow the symbolic link to the scenarios.
    folders = (root / "extract", root / "extract" / "scenarios")
    found = {file for folder in folders for file in folder.rglob("*.py")}
    files = sorted(file for file in found if (file.parent / "__init__.py").exists())  # no scripts
    return {".".join(file.relative_to(root).with_suffix("").parts): file for file in files}


def imports(module: str, source: str, known: set[str]) -> Iterator[str]:
    """The dotted names that a module imports: anywhere in it, also for type checking only."""
    package = module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{name}.{alias.name}"
                yield inner if inner in known or f"{inner}.__init__" in known else name


def layer_of(name: str) -> str:
    """The second part of a dotted name: ``transtool`` for ``extract.transtool.rules``."""
    return name.split(".")[1] if "." in name else "__init__"


def violations(module: str, source: str, known: set[str]) -> list[str]:
    """What a module imports and may not."""
    layer, found = layer_of(module), []
    for name in imports(module, source, known):
        target = layer_of(name)
        if name.split(".")[0] == "pytest":
            if layer != "testing":
                found.append(f"{module} imports {name}: only testing may")
        elif name.split(".")[0] == "pyspark":
            if not module.startswith("extract.filtertool.spark"):
                found.append(f"{module} imports {name}: only filtertool/spark* may")
        elif name.split(".")[0] != "extract" or target == layer:
            continue
        elif target == "__init__" and layer == "cli":
            continue  # for __version__; everybody else would go in circles
        elif target not in MAY_IMPORT[layer]:
            found.append(f"{module} imports {name}: {layer} comes before {target}, or beside it")
    return found


def test_imports_go_one_way(repo_root: Path) -> None:
    files = modules(repo_root)
    assert len(files) > 10
    unplaced = {layer_of(module) for module in files} - set(MAY_IMPORT)
    assert not unplaced, f"say in MAY_IMPORT where these belong: {unplaced}"
    found = [
        line
        for module, file in files.items()
        for line in violations(module, file.read_text(encoding="utf-8"), set(files))
    ]
    assert not found, "\n".join(found)


KNOWN = {"extract.__init__", "extract.errors", "extract.chunktool.__init__", "extract.scheme"}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("extract.transtool.trans", "import extract.chunktool"),
        ("extract.transtool.trans", "from extract import chunktool"),
        ("extract.transtool.trans", "from .. import chunktool"),
        ("extract.transtool.trans", "from ..chunktool.scan import Scanner"),
        ("extract.transtool.rules.fold", "from ...chunktool import Scanner"),
        ("extract.filtertool.__init__", "from ..preptool import tree"),
        ("extract.errors", "def f():\n    from extract.scheme import Scheme"),
        ("extract.schema.model", "if TYPE_CHECKING:\n    from extract.pipeline import prepare"),
        ("extract.scheme", "from extract import Schema"),
        ("extract.__init__", "from extract.cli import main"),
        ("extract.cli.doctor", "import pyspark.sql"),
        ("extract.cli.doctor", "import pytest"),
        ("extract.bench.match", "from extract.testing import matcher_contract"),
        ("extract.filtertool.local", "def f():\n    from pyspark.sql import SparkSession"),
    ],
)
def test_the_guard_sees_a_wrong_import(module: str, source: str) -> None:
    assert violations(module, source, KNOWN)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("extract.chunktool.scan", "from extract.errors import DocumentError\nimport os"),
        ("extract.chunktool.scan", "from . import automaton\nfrom .automaton import State"),
        ("extract.pipeline", "from extract import chunktool"),
        ("extract.cli.doctor", "from extract import __version__"),
        ("extract.filtertool.spark", "import pyspark"),
        ("extract.testing.matcher_contract", "import pytest\nfrom extract.filtertool import lxml"),
        ("extract.filtertool.spark.run", "from pyspark.sql import SparkSession"),
    ],
)
def test_the_guard_lets_a_right_import_pass(module: str, source: str) -> None:
    assert not violations(module, source, KNOWN)
