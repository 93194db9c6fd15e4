"""Random schemas: a DTD or an XSD as text, and as a loaded model."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from extract.schema.model import Schema
from tests.support.generate.draw import between, chance
from tests.support.generate.dtds import dtd_text
from tests.support.generate.xsds import xsd_text

SIZES = (3, 10)


@dataclass(frozen=True, slots=True)
class GeneratedSchema:
    """The text of a schema that validators accept.

    Attributes:
        kind: What it is written in.
        text: The file.
        root: Expanded name of the document element.
    """

    kind: Literal["dtd", "xsd"]
    text: str
    root: str

    def load(self) -> Schema:
        """The schema as `extract` reads it, from a temporary file."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / f"schema.{self.kind}"
            path.write_text(self.text, encoding="utf-8")
            return Schema.load(path, root=self.root)


def schema(rng: Random, elements: int | None = None) -> GeneratedSchema:
    """A DTD or an XSD with so many elements; by default 3 to 10."""
    return xsd(rng, elements) if chance(rng, 40) else dtd(rng, elements)


def dtd(rng: Random, elements: int | None = None) -> GeneratedSchema:
    """A DTD with so many element declarations; by default 3 to 10."""
    text, naming = dtd_text(rng, elements or between(rng, *SIZES))
    return GeneratedSchema("dtd", text, naming.clark(0))


def xsd(rng: Random, elements: int | None = None) -> GeneratedSchema:
    """An XSD with so many types and their elements; by default 3 to 10."""
    text, root = xsd_text(rng, elements or between(rng, *SIZES))
    return GeneratedSchema("xsd", text, root)
