"""Loading a schema: which kind it is, and what to say when it is neither."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from extract.errors import SchemaError
from extract.schema.dtd import load_dtd
from extract.schema.files import SchemaFiles, decoded
from extract.schema.model import Schema


def load_schema(
    path: str | Path,
    root: str | None = None,
    namespaces: Mapping[str, str] | None = None,
    alone: bool = False,
) -> Schema:
    """Loads a DTD or an XSD with all its parts; see `Schema.load`.

    With ``alone``, only files below its folder can be parts.

    Raises:
        SchemaError: The file or a part of it is missing, broken or on the network.
    """
    files = SchemaFiles(path, alone=alone)
    if schema_kind(files) == "dtd":
        return load_dtd(files, root, namespaces or {})
    from extract.schema.xsd import load_xsd  # importing xmlschema takes a third of a second

    return load_xsd(files, root, namespaces or {})


# What may stand before the markup that decides: declaration, comments, instructions.
_PROLOG = re.compile(r"(?:\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_MARKUP = re.compile(r"<!(?:ELEMENT|ATTLIST|ENTITY|NOTATION)\b|<!\[|%[^\s;]+;")
_RELAX_NG = (".rng", ".rnc")


def schema_kind(files: SchemaFiles) -> Literal["dtd", "xsd"]:
    """Whether the main file is a DTD or an XSD: by its suffix, else by how it starts.

    Raises:
        SchemaError: It is neither.
    """
    suffix = files.main.suffix.lower()
    if suffix in _RELAX_NG:
        hint = "trang converts RELAX NG to XSD or DTD"
        raise SchemaError("RELAX NG schemas are not supported", hint, files.given)
    content = files.read(files.main)
    if not content.strip():
        raise SchemaError("the schema file is empty", "", files.given)
    text = decoded(content)
    rest = text[_PROLOG.match(text).end() :]  # type: ignore[union-attr]
    if suffix == ".dtd":
        if rest.startswith("<!DOCTYPE"):
            raise SchemaError(
                "is a document with a DOCTYPE, not a DTD",
                "give the .dtd file that it names, or put what stands between [ and ] into one",
                files.given,
            )
        if re.match(r"<[^!?]", rest):
            hint = "give the DTD itself; an XSD has the suffix .xsd"
            raise SchemaError("is an XML document, not a DTD", hint, files.given)
        return "dtd"
    if suffix == ".xsd" or re.match(r"<(?!!)|<!DOCTYPE", rest):
        return "xsd"
    if _MARKUP.match(rest):
        return "dtd"
    hint = "give a .dtd or .xsd file; `extract infer` writes one from documents"
    raise SchemaError("is neither a DTD nor an XSD", hint, files.given)
