"""Does a document keep to the schema's edges? The specification, small and slow.

Answers are exact on documents whose every element, attribute and root is an edge of the model;
others are *nonconforming* and are evaluated whole. CHUNKTOOL decides this during its scan, at
memory speed; this function on a parsed tree is what it is tested against.
"""

from __future__ import annotations

from dataclasses import dataclass

from lxml import etree

from extract.schema.model import Schema
from extract.schema.places import Place


@dataclass(frozen=True, slots=True)
class SchemaViolation:
    """An edge that a document has and the schema has not."""

    parent: str  # expanded name of the parent; empty for the document node
    child: str  # expanded name of the element, or of the attribute after an "@"
    line: int

    def __str__(self) -> str:
        where = f"<{self.parent}>" if self.parent else "the document"
        return f"{where} has no {self.child} in the schema (line {self.line})"


def first_violation(schema: Schema, tree: etree._ElementTree) -> SchemaViolation | None:
    """The first edge, in document order, that the schema does not have; None if it conforms."""
    root = tree.getroot()
    todo: list[tuple[etree._Element, Place, str]] = [(root, schema.places.document, "")]
    while todo:
        element, parent, parent_name = todo.pop()
        name = str(element.tag)
        place = parent.step(name)
        if place is None:
            return SchemaViolation(parent_name, name, element.sourceline or 0)
        for attribute in element.attrib:
            if not place.has_attribute(str(attribute)):
                return SchemaViolation(name, f"@{attribute!s}", element.sourceline or 0)
        kids = [c for c in element if isinstance(c.tag, str)]
        todo.extend((child, place, name) for child in reversed(kids))
    return None
