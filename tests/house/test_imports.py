"""The guard of the package's rooms: directions of imports, private names, class names.

After a module or sub-package has moved, only the tables below change.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.support.source_rules import (
    REST,
    Module,
    Rooms,
    foreign_imports,
    modules_in,
    owners_of_private_names,
    private_uses,
    repeated_classes,
    unplaced,
    wrong_directions,
)

# errors ← files ← limits ← xpath ← flwr ← xscl ← markup ← schema ← subscriptions ← scheme ←
# {transtool ← preptool | chunktool ← filtertool} ← pipeline, live_filter ← joins ← bench ← cli. The
# two halves of the pipeline meet only in the scheme. Scenarios are data: they stand beside the
# stages. Nothing imports the testing suites.
GROUND: Final = (
    "errors",
    "files",
    "limits",
    "xpath",
    "flwr",
    "xscl",
    "markup",
    "schema",
    "subscriptions",
    "scheme",
)
STAGES: Final = ("transtool", "preptool", "chunktool", "filtertool")
RECIPES: Final = (  # that put the stages together
    *("preparation", "pipeline", "live_filter", "joins", "join_run"),
)

# For each package a row for each of its modules or sub-packages: which of the others it may import.
# REST is the row of all that have none.
_VALUES: Final = ("problems", "bodies", "times", "wording")  # of the broker

ROOMS: Final[Rooms] = {
    "extract": {
        **{layer: GROUND[:depth] for depth, layer in enumerate(GROUND)},
        "transtool": GROUND,
        "preptool": (*GROUND, "transtool"),
        "chunktool": GROUND,
        "filtertool": (*GROUND, "chunktool", "client"),  # feeds of a broker, on Spark
        "spark": ("filtertool",),  # the public door
        "testing": (*GROUND, "preptool", "chunktool", "filtertool"),
        "preparation": (*GROUND, "preptool", "transtool", "chunktool"),  # which infers schemas
        "pipeline": (*GROUND, *STAGES, "preparation"),
        "live_queries": (*GROUND, *STAGES),
        "live_filter": (*GROUND, *STAGES, "live_queries"),
        "join_patterns": (*GROUND, *STAGES, "pipeline", "live_filter"),
        "joins": (*GROUND, *STAGES, "join_patterns"),
        "join_run": (*GROUND, *STAGES, "joins"),
        "scenarios": GROUND,
        "broker": (*GROUND, *STAGES, *RECIPES, "scenarios", "client", "__init__"),
        "client": GROUND,  # of a broker, over HTTP
        "bench": (*GROUND, *STAGES, *RECIPES, "scenarios", "__init__"),  # __version__
        "cli": (*GROUND, *STAGES, *RECIPES, "scenarios", "broker", "client", "bench", "__init__"),
        "__init__": (*GROUND, *STAGES, *RECIPES, "client", "spark"),  # the stable API
        "__main__": ("cli",),
    },
    "extract.scheme": {"database": (REST,), REST: ("database",)},  # a file or a database
    "extract.transtool": {"rules": (REST,), REST: ("rules",)},  # a rule and the loop that runs it
    "extract.preptool": {
        "query_tree": (),
        "choose": ("query_tree",),
        "footprints": ("query_tree",),
        "costing": ("query_tree", "choose", "footprints"),
        "explain": ("query_tree", "footprints", "costing", REST),
        REST: ("query_tree", "choose", "footprints", "costing"),
    },
    "extract.chunktool": {
        "input": (),
        "automaton": (),
        "scan": ("input", "automaton"),
        "split": ("input", "automaton", "scan"),
        "inference": ("input", "automaton", "scan"),
        REST: ("input", "automaton", "scan"),
    },
    "extract.chunktool.scan": {
        "kernel": (REST,),
        "reference": (REST,),
        REST: ("kernel", "reference"),  # the driver, which chooses
    },
    "extract.filtertool": {
        "processes": (),
        "matchers": ("processes",),
        "results": ("matchers",),
        "output": ("matchers", "results"),
        "flwr": ("processes", "matchers"),
        "whole": ("processes", "matchers", "results", "flwr"),
        REST: ("processes", "matchers", "results", "output", "flwr", "whole"),
        "joins": ("processes", "matchers", "results", "output", "flwr", "whole", REST),
        "local": ("processes", "results", REST),
        "spark": ("processes", "matchers", "results", "output", "flwr", "whole", "joins", REST),
    },
    "extract.filtertool.matchers": {
        "columnar": ("lxml", REST),  # asks lxml what it cannot answer
        "lxml": (REST,),
        "push": ("columnar", "lxml", REST),  # and columnar, which asks lxml
        "sql": ("push", "columnar", "lxml", REST),  # reads values as push does
        "auto": ("columnar", "lxml", REST),
        REST: (),
    },
    "extract.filtertool.matchers.push": {"core": (), REST: ("core",)},
    "extract.filtertool.matchers.sql": {"core": (), REST: ("core",)},
    "extract.filtertool.spark": {
        "worker": (),
        "driver": ("worker", REST),
        REST: ("driver", "worker"),
    },
    "extract.broker": {
        # Values and errors, the store; then security; webhooks and the parts of the broker; HTTP.
        "store": ("times",),
        "security": ("problems", "bodies", "store"),
        "delivery": ("store", "security", "problems", "bodies", REST),
        "page": ("http", "store", "security", "delivery", *_VALUES, REST),
        "wording": (),
        "problems": ("wording",),
        "bodies": (),
        "times": (),
        REST: ("store", "security", "delivery", "http", "page", *_VALUES),
        "http": ("store", "security", "delivery", "page", *_VALUES, REST),
    },
    "extract.bench": {"experiments": (REST,), "report": ("experiments", REST), REST: ()},
    "extract.bench.experiments": {"rivals": (), REST: ("rivals",)},
}

# Libraries that only one part of the package may import, and parts of that which may not.
ONLY: Final = {
    "duckdb": (
        "extract.scheme.database",
        "extract.filtertool.matchers.sql",
        "extract.bench.message_rivals",
        "extract.bench.sql",
    ),
    "httpcore": ("extract.broker.delivery",),
    "httpx": ("extract.client",),
    "msgspec": ("extract.broker", "extract.bench.hello_server"),
    "prometheus_client": ("extract.broker.metrics",),
    "psycopg": (
        "extract.scheme.database",
        "extract.filtertool.matchers.sql",
        "extract.broker.store.postgres_database",
        "extract.bench.sql",
    ),
    "pyspark": ("extract.filtertool.spark",),
    "pytest": ("extract.testing",),
    "sqlglot": ("extract.scheme.database", "extract.filtertool.matchers.sql"),
    "starlette": ("extract.broker", "extract.bench.hello_server"),
    "uvicorn": (
        "extract.broker.server",
        "extract.broker.http.connections",
        "extract.broker.http.rehearsal",
        "extract.broker.http.single_documents",
        "extract.bench.hello_server",
    ),
}
WITHOUT: Final = {"pyspark": "extract.filtertool.spark.worker"}


@pytest.fixture(scope="module")
def package(repo_root: Path) -> list[Module]:
    # The scenarios are a symbolic link, which is not followed from above.
    return modules_in(repo_root, "extract", "extract/scenarios")


def test_imports_go_one_way(package: list[Module]) -> None:
    names = {module.name for module in package}
    assert len(names) > 10
    lines = [line for one in package for line in wrong_directions(one, names, ROOMS)]
    lines += [line for one in package for line in foreign_imports(one, names, ONLY, WITHOUT)]
    assert not lines, "\n".join(lines)


def test_every_part_of_the_package_has_a_row(package: list[Module]) -> None:
    missing = unplaced({module.name for module in package}, ROOMS)
    parts = {module.name.split(".")[1] for module in package}
    missing |= parts - ROOMS["extract"].keys()
    assert not missing, f"say in ROOMS what these may import: {missing}"


def test_private_names_stay_in_their_module(package: list[Module], repo_root: Path) -> None:
    owners = owners_of_private_names(package)
    tests = modules_in(repo_root, "tests")
    uses = [use for one in (*package, *tests) for use in private_uses(one, owners)]
    assert not uses, "\n".join(map(str, uses))


def test_a_public_class_name_stands_once(package: list[Module]) -> None:
    repeated = repeated_classes(package)
    lines = [f"{name}: {', '.join(modules)}" for name, modules in repeated.items()]
    assert not lines, "\n".join(lines)


# -- The guard sees what it is for

NAMES = {"extract.__init__", "extract.errors", "extract.chunktool.__init__", "extract.scheme"}


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
        ("extract.filtertool.local", "from extract.filtertool.spark import find"),
        ("extract.filtertool.matchers.registry", "from extract.filtertool.results import x"),
        ("extract.filtertool.spark.worker.tasks", "from extract.filtertool.spark.driver import x"),
        ("extract.pipeline", "from extract.testing import matcher_contract"),
        ("extract.filtertool.matchers.columnar.rows", "from ..auto import AutoFactory"),
        ("extract.bench.experiments.rivals.lxml_", "from extract.bench.experiments.ours import x"),
    ],
)
def test_the_guard_sees_a_wrong_direction(module: str, source: str) -> None:
    assert list(wrong_directions(Module.of(module, source), NAMES, ROOMS))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("extract.chunktool.scan.protocol", "from extract.errors import DocumentError\nimport os"),
        (
            "extract.chunktool.scan.protocol",
            "from . import automaton\nfrom .automaton import State",
        ),
        ("extract.pipeline", "from extract import chunktool"),
        ("extract.cli.doctor", "from extract import __version__"),
        ("extract.filtertool.spark.run", "from extract.filtertool.job import Job"),
    ],
)
def test_the_guard_lets_a_right_direction_pass(module: str, source: str) -> None:
    assert not list(wrong_directions(Module.of(module, source), NAMES, ROOMS))


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("extract.cli.doctor", "import pyspark.sql", True),
        ("extract.filtertool.local", "def f():\n    from pyspark.sql import SparkSession", True),
        ("extract.filtertool.spark.worker.tasks", "import pyspark", True),
        ("extract.filtertool.spark", "import pyspark", False),
        ("extract.pipeline", "import pytest", True),
        ("extract.filtertool.spark.run", "from pyspark.sql import SparkSession", False),
    ],
)
def test_the_guard_sees_a_foreign_import(module: str, source: str, wrong: bool) -> None:
    assert bool(list(foreign_imports(Module.of(module, source), NAMES, ONLY, WITHOUT))) is wrong


def test_the_guard_sees_a_new_package() -> None:
    names = {"extract.chunktool.__init__", "extract.chunktool.attic.__init__"}
    assert unplaced(names, ROOMS) == {"extract.chunktool.attic"}


OWNER = Module.of(
    "extract.a", "_x = 1\nclass A:\n    def _m(self): self._n = 2\n    def __len__(self): ..."
)


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("from extract.a import _x", True),
        ("from ..a import _x", True),
        ("from extract import a\na._x", True),
        ("from extract.a import A\nA._m", True),
        ("def f(a): return a._n", True),
        ("patch('extract.a._x', 3)", True),
        ("from extract import a\nmonkeypatch.setattr(a, '_x', 3)", True),
        ("from extract.a import A\nlen(A())", False),
        ("class B:\n    def f(self): return self._n", False),
        ("class B:\n    def __init__(self, b): self._n = b._n", False),
        ("from os import _exit\n_exit(0)", False),
        ("import sys\nsys._getframe()", False),
        ("'_x'", False),
    ],
)
def test_the_guard_sees_the_use_of_a_private_name(source: str, wrong: bool) -> None:
    owners = owners_of_private_names([OWNER])
    uses = list(private_uses(Module.of("extract.b.c", source), owners))
    assert bool(uses) is wrong, uses


def test_the_guard_sees_a_class_name_that_stands_twice() -> None:
    modules = [
        Module.of("extract.a", "class A: ...\nclass _P: ...\nclass B: ..."),
        Module.of("extract.b", "class A: ...\nclass _P: ..."),
    ]
    assert repeated_classes(modules) == {"A": ["extract.a", "extract.b"]}
