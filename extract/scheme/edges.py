"""The schema inside a scheme: its declarations as rows, with what has its usual value left out."""

from __future__ import annotations

from typing import Any

from extract.schema.model import Attribute, Declaration, Text, Wildcard
from extract.scheme.fields import Fields


def declaration_row(declaration: Declaration) -> dict[str, Any]:
    """A declaration as a JSON object; its key is the row's number."""
    row: dict[str, Any] = {"name": declaration.name}
    if declaration.type:
        row["type"] = declaration.type
    if declaration.text is not Text.ANY:
        row["text"] = declaration.text.value
    if declaration.abstract:
        row["abstract"] = True
    if declaration.nillable:
        row["nillable"] = True
    if declaration.children:
        row["children"] = declaration.children
    if declaration.attributes:
        row["attributes"] = [_attribute_row(a) for a in declaration.attributes]
    if declaration.wildcards:
        row["wildcards"] = [_wildcard_row(w) for w in declaration.wildcards]
    if declaration.attribute_wildcards:
        row["attribute_wildcards"] = [_wildcard_row(w) for w in declaration.attribute_wildcards]
    return row


def read_declaration(fields: Fields, key: int, declarations: int) -> Declaration:
    """The declaration of a row.

    Args:
        fields: The row.
        key: Its number.
        declarations: How many there are: children must be among them.
    """
    text = fields.text("text", Text.ANY.value)
    if text not in {one.value for one in Text}:
        fields.wrong("text", f"{text!r} is no kind of text")
    return Declaration(
        key,
        fields.text("name"),
        fields.text("type", ""),
        fields.indices("children", declarations, "declarations", []),
        tuple([_attribute(one) for one in fields.objects("attributes", [])]),
        tuple([_wildcard(one) for one in fields.objects("wildcards", [])]),
        tuple([_wildcard(one) for one in fields.objects("attribute_wildcards", [])]),
        Text(text),
        None,
        fields.truth("abstract", False),
        fields.truth("nillable", False),
    )


_USUAL = Attribute("")


def _attribute_row(attribute: Attribute) -> dict[str, Any]:
    usual = ("type", "required", "default", "fixed", "values")
    return {"name": attribute.name} | {
        key: getattr(attribute, key)
        for key in usual
        if getattr(attribute, key) != getattr(_USUAL, key)
    }


def _attribute(fields: Fields) -> Attribute:
    return Attribute(
        fields.text("name"),
        fields.text("type", _USUAL.type),
        fields.truth("required", False),
        fields.text("default") if "default" in fields else None,
        fields.truth("fixed", False),
        fields.texts("values", []),
    )


def _wildcard_row(wildcard: Wildcard) -> dict[str, Any]:
    row: dict[str, Any] = {"namespaces": sorted(wildcard.namespaces), "negated": wildcard.negated}
    return row | ({"excluded": sorted(wildcard.excluded)} if wildcard.excluded else {})


def _wildcard(fields: Fields) -> Wildcard:
    return Wildcard(
        frozenset(fields.texts("namespaces")),
        fields.truth("negated"),
        frozenset(fields.texts("excluded", [])),
    )
