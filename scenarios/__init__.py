"""Scenarios: a schema, queries and documents that belong together, to try things on.

In:
    The name of a scenario, and how much of it: the size of a document, the number of queries.

Out:
    A `Scenario`: its schema, its queries, and documents of any size. The same numbers and the same
    seed give the same queries and the same bytes, on every machine.

>>> from extract.scenarios import scenario
>>> university = scenario("university")
>>> university.queries(100)[0].xpath.startswith("/")
True
>>> sum(map(len, university.document(size_bytes=20_000))) // 1000
20

To add one:
    A folder here with a ``README.md``, the schema, an ``__init__.py`` whose first line says what it
    is, and a ``generate.py`` with the names that `Generator` lists. That is all: it is found by its
    folder's name. The folder also appears as ``extract/scenarios``, so that it is installed with
    the package.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from extract.errors import ExtractError
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions

__all__ = ["Generator", "Scenario", "scenario", "scenario_names"]


class Generator(Protocol):
    """What the ``generate.py`` of a scenario has.

    Attributes:
        SCHEMA: The schema's file, in the scenario's folder.
        ROOT: The document element.
        QUERIES: How many queries the scenario has unless asked for another number.
        SIZE_BYTES: How large its documents are unless asked for another size.
    """

    SCHEMA: str
    ROOT: str
    QUERIES: int
    SIZE_BYTES: int

    def queries(self, count: int, seed: int) -> Iterable[str]:
        """So many XPath queries."""

    def document(self, size_bytes: int, seed: int) -> Iterator[bytes]:
        """A valid document of about this size, in pieces of some 64 KB."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A schema with its queries and documents. Get one with `scenario`."""

    name: str
    generator: Generator

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return Path(__file__).parent / self.name

    def schema(self) -> Schema:
        """What its documents look like."""
        return Schema.load(self.folder / self.generator.SCHEMA, self.generator.ROOT)

    def queries(self, count: int | None = None, seed: int = 1) -> Subscriptions:
        """Its queries, numbered from 1; by default as many as the scenario is about.

        A smaller set is not the beginning of a larger one: each has its own distribution.
        """
        wanted = self.generator.QUERIES if count is None else count
        xpaths = self.generator.queries(wanted, seed)
        return Subscriptions.of({str(n): xpath for n, xpath in enumerate(xpaths, 1)})

    def document(self, size_bytes: int | None = None, seed: int = 1) -> Iterator[bytes]:
        """A valid document in pieces; of the scenario's usual size, or of the size asked for.

        The size is met up to a few records, but for sizes so small that the schema asks for more.
        """
        wanted = self.generator.SIZE_BYTES if size_bytes is None else size_bytes
        return self.generator.document(wanted, seed)


def scenario_names() -> list[str]:
    """The scenarios that there are."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(module.name for module in found if module.ispkg)


def scenario(name: str) -> Scenario:
    """The scenario of this name.

    Raises:
        ExtractError: There is none.
    """
    if name not in scenario_names():
        hint = f"there are {', '.join(scenario_names())}"
        raise ExtractError(f"there is no scenario {name!r}", hint)
    module = importlib.import_module(f"{__name__}.{name}.generate")
    return Scenario(name, cast(Generator, module))
