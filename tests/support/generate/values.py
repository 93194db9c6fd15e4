"""Values for attributes and simple content, by their declared type."""

from __future__ import annotations

from random import Random

from extract.schema.model import Attribute
from tests.support.generate.draw import chance, pick, sample
from tests.support.generate.vocabulary import LANGUAGES, NUMBERS, VALUES

_TOKENS = ("x", "y", "1", "2", "10", "x-1", "i1")
_BY_TYPE = {
    "integer": ("1", "2", "10", "007", "-1", " 2 ", "0"),
    "decimal": ("1", "2", "10", "1.5", "-0", "007", " 2 ", ".5", "2.0"),
    "boolean": ("true", "false", "1", "0"),
    "double": NUMBERS[:9],
    "float": NUMBERS[:9],
    "date": ("2026-11-16", "1999-12-31"),
    "NMTOKEN": _TOKENS,
    "language": LANGUAGES[:3],
    "Name": ("x", "y"),
    "NCName": ("x", "y"),
    "anyURI": ("x", "urn:t"),
}


class Values:
    """Draws values and keeps track of identifiers, which must be unique."""

    def __init__(self, rng: Random, strict: bool) -> None:
        self.rng = rng
        self.strict = strict
        self.identifiers = 0

    def of_type(self, type_name: str) -> str:
        """A value of a simple type, by the local part of its name; any value if it is unknown."""
        local = type_name.rpartition("}")[2].rpartition(":")[2]
        if local == "ID":
            self.identifiers += 1
            return f"i{self.identifiers}"
        if local in ("IDREF", "IDREFS"):
            return f"i{1 + self.rng.randrange(max(1, self.identifiers))}"
        if local == "NMTOKENS":
            return " ".join(sample(self.rng, _TOKENS, 1 + self.rng.randrange(3)))
        return pick(self.rng, _BY_TYPE.get(local, VALUES))

    def of_attribute(self, attribute: Attribute) -> str | None:
        """A value for an attribute, or None to leave it out."""
        if not attribute.required and not chance(self.rng, 50):
            return None
        if not self.strict and attribute.required and chance(self.rng, 20):
            return None
        if attribute.fixed and attribute.default is not None:
            return attribute.default
        if attribute.values:
            return pick(self.rng, attribute.values)
        if attribute.name.endswith("}lang"):
            return pick(self.rng, LANGUAGES[:3])
        dangling = attribute.type.startswith("IDREF") and not self.identifiers
        if dangling or attribute.type in ("ENTITY", "ENTITIES", "NOTATION"):
            return None  # a reference to nothing is invalid
        return self.of_type(attribute.type)
