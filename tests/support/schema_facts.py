"""Short ways to ask a schema model what it says."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest
from lxml import etree

from extract.errors import SchemaError
from extract.schema.conformance import first_violation
from extract.schema.model import Declaration, Schema


def write(folder: Path, **files: str) -> Path:
    """Writes files, dots in their names as ``_``, folders as ``__``; returns the first one's path.

    ``write(folder, mod__a_ent="…")`` writes ``folder/mod/a.ent``.
    """
    paths = []
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths[0]


def load_dtd(folder: Path, text: str, root: str | None = None, **namespaces: str) -> Schema:
    """A schema from the text of a DTD."""
    return Schema.load(write(folder, main_dtd=text), root, namespaces)


def load_xsd(
    folder: Path, body: str, root: str | None = None, attributes: str = "", prolog: str = ""
) -> Schema:
    """A schema from what stands inside ``xs:schema``; prefix ``t`` and the namespace are urn:t."""
    return Schema.load(write(folder, main_xsd=xsd(body, attributes, prolog)), root)


def xsd(body: str, attributes: str = "", prolog: str = "", target: str = "urn:t") -> str:
    """The text of a schema document."""
    own = f'xmlns:t="{target}" targetNamespace="{target}"' if target else ""
    return (
        f'{prolog}<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" {own} {attributes} '
        f'elementFormDefault="qualified">\n{body}\n</xs:schema>'
    )


def declared(schema: Schema, name: str, type_: str | None = None) -> Declaration:
    """The one declaration of this name (and type); names of urn:t may be given as ``t:name``."""
    name = name.replace("t:", "{urn:t}") if name.startswith("t:") else name
    found = [d for d in schema.declarations if d.name == name and type_ in (None, d.type)]
    assert len(found) == 1, f"{name}: {[(d.name, d.type) for d in schema.declarations]}"
    return found[0]


def children(schema: Schema, name: str, type_: str | None = None) -> list[str]:
    """Names of the children of a declaration, in order; urn:t left out."""
    keys = declared(schema, name, type_).children
    return [schema.declarations[key].name.replace("{urn:t}", "") for key in keys]


def edges(schema: Schema) -> Mapping[str, set[str]]:
    """Names of the possible children by name of the parent."""
    found: dict[str, set[str]] = {d.name: set() for d in schema.declarations}
    for declaration in schema.declarations:
        found[declaration.name] |= {schema.declarations[k].name for k in declaration.children}
    return found


def attributes(schema: Schema) -> Mapping[str, set[str]]:
    """Names of the attributes by name of the element."""
    found: dict[str, set[str]] = {d.name: set() for d in schema.declarations}
    for declaration in schema.declarations:
        found[declaration.name] |= {a.name for a in declaration.attributes}
    return found


def roots(schema: Schema) -> list[str]:
    """Names of the possible document elements."""
    return [schema.declarations[key].name for key in schema.roots]


def conforms(schema: Schema, document: str) -> bool:
    """Whether a document has only edges that the schema has."""
    return first_violation(schema, etree.fromstring(document).getroottree()) is None


def failure(path: Path, root: str | None = None) -> SchemaError:
    """The error of loading a schema that cannot be loaded."""
    with pytest.raises(SchemaError) as caught:
        Schema.load(path, root)
    error = caught.value
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert "Traceback" not in str(error)
    return error
