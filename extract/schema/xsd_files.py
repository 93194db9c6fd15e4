"""Gathers the documents of an XSD: everything that it imports, includes, redefines or overrides.

Each is read and parsed once by libxml2, with its limits on and without any network access. What
`xmlschema` gets later are these trees, never an address, so it cannot skip or fetch anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree
from xmlschema.locations import FALLBACK_LOCATIONS

from extract.errors import SchemaError
from extract.schema.files import SchemaFiles, local_path
from extract.schema.model import XML_NAMESPACE, XSI_NAMESPACE

XSD = "{http://www.w3.org/2001/XMLSchema}"
_VERSIONING = "{http://www.w3.org/2007/XMLSchema-versioning}"
_BUILT_IN = (XML_NAMESPACE, XSI_NAMESPACE, XSD[1:-1])
_REFERENCES = (f"{XSD}import", f"{XSD}include", f"{XSD}redefine", f"{XSD}override")

MAX_PARTICLES = 3_000  # of one choice or sequence; their square takes memory


@dataclass(frozen=True, slots=True)
class XsdDocument:
    """One schema document.

    Attributes:
        path: The file.
        root: Its tree without annotations, each ``schemaLocation`` the URL of a gathered file.
    """

    path: Path
    root: Any

    @property
    def target_namespace(self) -> str:
        """The namespace that it declares, empty if none."""
        return str(self.root.get("targetNamespace", ""))


def gather(files: SchemaFiles) -> dict[str, XsdDocument]:
    """All documents of the schema by their URL, the main one first.

    Raises:
        SchemaError: One is missing, on the network, or not a schema document.
    """
    documents: dict[str, XsdDocument] = {}
    same_content: dict[bytes, Path] = {}
    waiting = [files.main]
    unlocated: list[Any] = []  # imports without a local file: perhaps of a well-known namespace

    def refer(element: Any, target: Path) -> None:
        # A second copy of a file would declare everything twice.
        target = same_content.setdefault(files.read(target), target)
        element.set("schemaLocation", target.as_uri())
        waiting.append(target)

    while waiting or unlocated:
        if not waiting:
            element = unlocated.pop(0)
            namespace = element.get("namespace")
            bundled = _bundled(namespace)
            if bundled and namespace not in {d.target_namespace for d in documents.values()}:
                files.note(f"namespace {namespace}: using the schema that comes with xmlschema")
                refer(element, bundled)
            continue
        path = waiting.pop(0)
        if path.as_uri() in documents:
            continue
        same_content.setdefault(files.read(path), path)
        document = XsdDocument(path, _parse(files.read(path), path, files))
        documents[path.as_uri()] = document
        for element in document.root.iterchildren(*_REFERENCES):
            target = _target(element, path, files)
            if target is not None:
                refer(element, target)
            elif element.tag == f"{XSD}import":
                element.attrib.pop("schemaLocation", None)
                unlocated.append(element)
    return documents


def needs_version_1_1(documents: dict[str, XsdDocument]) -> bool:
    """Whether a ``vc:minVersion`` asks for XSD 1.1."""
    return any(
        _number(element.get(f"{_VERSIONING}minVersion", "1.0")) >= 1.1
        for document in documents.values()
        for element in document.root.iter()
    )


def lines(document: XsdDocument) -> Iterator[int]:
    """The line of each element, in document order."""
    for element in document.root.iter():
        yield element.sourceline or 0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _parse(content: bytes, path: Path, files: SchemaFiles) -> Any:
    parser = etree.XMLParser(
        resolve_entities="internal", no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        reason = error.msg.removesuffix(f", line {line}, column {column}")
        hint = ""
        if "not defined" in reason:
            hint = "an external DTD or entity is never read into a schema"
        raise SchemaError(reason, hint, files.show(path), line, column) from None
    if root.tag != f"{XSD}schema":
        hint = "it is a document; `extract infer` writes a schema from documents"
        raise SchemaError(
            f"is not an XML Schema: its root is {root.tag}, not {XSD}schema",
            hint if path == files.main else "",
            files.show(path),
            root.sourceline,
        )
    etree.strip_elements(root, f"{XSD}annotation", with_tail=False)
    for model in root.iter(f"{XSD}choice", f"{XSD}sequence", f"{XSD}all"):
        if len(model) > MAX_PARTICLES:
            reason = f"a content model has more than {MAX_PARTICLES:,} parts"
            hint = "xmlschema compares each with each; use a substitution group, or xs:any"
            raise SchemaError(reason, hint, files.show(path), model.sourceline)
    return root


def _target(element: Any, path: Path, files: SchemaFiles) -> Path | None:
    """The file that a reference means; None if it leaves that open, as an import may."""
    location = element.get("schemaLocation")
    if location is None:
        return None
    try:
        what = f"xs:{etree.QName(element).localname}"
        return files.locate(location, path, element.sourceline, what=what)
    except SchemaError:
        namespace = element.get("namespace")
        if element.tag == f"{XSD}import" and (namespace in _BUILT_IN or _bundled(namespace)):
            return None
        raise


def _bundled(namespace: str | None) -> Path | None:
    """The copy of a well-known schema (XLink, XML Signature, …) that `xmlschema` brings."""
    location = None if namespace in _BUILT_IN else FALLBACK_LOCATIONS.get(namespace or "")
    path = local_path(location) if isinstance(location, str) else None
    return path if path and path.is_file() else None
