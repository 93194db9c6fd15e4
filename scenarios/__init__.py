"""Scenarios: a schema, queries and documents that belong together, to try things on.

In:
    The name of a scenario, and how much of it: the size of a document, the number of queries.

Out:
    A `Scenario`: its schema, its queries, and documents of any size. The same numbers and the same
    seed give the same queries and the same bytes, on every machine; what then must come out is in
    its `Scenario.expected`.

>>> from extract.scenarios import scenario
>>> university = scenario("university")
>>> university.queries(100)[0].xpath.startswith("/")
True
>>> sum(map(len, university.document(size_bytes=20_000))) // 1000
20

To add one:
    A folder here with a ``README.md``, the schema, an ``__init__.py`` whose first line says what it
    is, and a ``generate.py`` with the names that `Generator` lists. That is all: it is found by its
    folder's name. ``python -m extract.bench.expected NAME`` writes its ``expected.json``. The
    folder also appears as ``extract/scenarios``, so that it is installed with the package.
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from extract.errors import ExtractError
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions

__all__ = ["Generator", "Scenario", "scenario", "scenario_names", "scenarios"]


class Generator(Protocol):
    """What the ``generate.py`` of a scenario has.

    It may also have a function ``real(data: Path) -> Generator | None``: the same from real data in
    this folder, if it is there.

    Attributes:
        SCHEMA: The schema's file, in the scenario's folder.
        ROOT: The document element.
        NAMESPACES: What the prefixes of root and queries mean.
        QUERIES: How many queries the scenario has unless asked for another number.
        DOCUMENTS: How many documents it is about.
        SIZE_BYTES: How large its documents are unless asked for another size.
        RECORD: An element that there are many of, as the documents write it.
    """

    SCHEMA: str
    ROOT: str
    NAMESPACES: dict[str, str]
    QUERIES: int
    DOCUMENTS: int
    SIZE_BYTES: int
    RECORD: str

    def queries(self, count: int, seed: int) -> Iterable[str]:
        """So many XPath queries."""

    def document(self, size_bytes: int, seed: int) -> Iterator[bytes]:
        """A valid document of about this size, in pieces of some 64 KB."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A schema with its queries and documents. Get one with `scenario`.

    Attributes:
        name: What it is called.
        generator: Makes them.
        real: Whether they are real data, not made by us.
    """

    name: str
    generator: Generator
    real: bool = False

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return Path(__file__).parent / self.name

    @property
    def title(self) -> str:
        """What it is, in a sentence."""
        return _first_line(self.folder)

    @property
    def expected(self) -> list[Mapping[str, Any]]:
        """What must come out of some of its queries and documents: see `extract.bench.expected`."""
        file = self.folder / "expected.json"
        return list(json.loads(file.read_bytes())) if file.is_file() else []

    def schema(self) -> Schema:
        """What its documents look like."""
        generator = self.generator
        # A generator of real data has its schema elsewhere, and says so with an absolute path.
        path = self.folder / generator.SCHEMA
        return Schema.load(path, generator.ROOT, generator.NAMESPACES)

    def queries(self, count: int | None = None, seed: int = 1) -> Subscriptions:
        """Its queries, numbered from 1; by default as many as the scenario is about.

        A smaller set is not the beginning of a larger one: each has its own distribution.
        """
        wanted = self.generator.QUERIES if count is None else count
        xpaths = self.generator.queries(wanted, seed)
        return Subscriptions.of(xpaths, self.generator.NAMESPACES)

    def document(self, size_bytes: int | None = None, seed: int = 1) -> Iterator[bytes]:
        """A valid document in pieces; of the scenario's usual size, or of the size asked for.

        The size is met up to a few records, but for sizes so small that the schema asks for more.
        """
        wanted = self.generator.SIZE_BYTES if size_bytes is None else size_bytes
        return self.generator.document(wanted, seed)

    def documents(self, count: int | None = None, size_bytes: int | None = None) -> list[bytes]:
        """Documents with the seeds 1, 2, and so on; by default as many as the scenario is about."""
        wanted = self.generator.DOCUMENTS if count is None else count
        return [b"".join(self.document(size_bytes, seed)) for seed in range(1, wanted + 1)]


def scenario_names() -> list[str]:
    """The scenarios that there are."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(module.name for module in found if module.ispkg)


def scenarios() -> dict[str, str]:
    """The scenarios that there are, each with a sentence; none of them is imported."""
    return {name: _first_line(Path(__file__).parent / name) for name in scenario_names()}


def scenario(name: str, data: Path | None = None) -> Scenario:
    """The scenario of this name.

    Args:
        name: What it is called.
        data: A folder with real data, for scenarios that can use it. Without it, or where it does
            not have what is needed, documents and queries are made.

    Raises:
        ExtractError: There is none.
    """
    if name not in scenario_names():
        hint = f"there are {', '.join(scenario_names())}"
        raise ExtractError(f"there is no scenario {name!r}", hint)
    module = importlib.import_module(f"{__name__}.{name}.generate")
    if data is not None and hasattr(module, "real"):
        real = cast(Generator | None, module.real(data))
        if real is not None:
            return Scenario(name, real, real=True)
    return Scenario(name, cast(Generator, module))


def _first_line(folder: Path) -> str:
    """The sentence that the ``__init__.py`` of a scenario begins with."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    return (text or "").partition("\n")[0]
