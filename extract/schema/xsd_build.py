"""Builds `xmlschema`'s object model from gathered schema documents.

`xmlschema` only warns about what it cannot import, and skips a second document for a namespace that
it knows already. Here every gathered document is loaded, and every complaint is an error with the
file and the line that it is about.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from lxml import etree
from xmlschema import XMLResource, XMLSchema10, XMLSchema11, XMLSchemaException
from xmlschema.loaders import SchemaLoader

from extract.errors import SchemaError
from extract.schema.files import SchemaFiles
from extract.schema.xsd_files import XsdDocument, gather, lines, needs_version_1_1


def build(files: SchemaFiles) -> Build:
    """Loads the XSD that ``files.main`` names, as version 1.0 if it is that, else as 1.1.

    Raises:
        SchemaError: A document is missing, on the network or broken.
    """
    documents = gather(files)
    if needs_version_1_1(documents):
        return Build(files, documents, XMLSchema11)
    try:
        return Build(files, documents, XMLSchema10)
    except SchemaError as error:
        try:
            build = Build(files, documents, XMLSchema11)
        except SchemaError:
            raise error from None
        files.note("read as XSD 1.1: it is not valid XSD 1.0")
        return build


class Build:
    """An XSD as `xmlschema` sees it, with the places where its parts come from.

    Attributes:
        schema: The main schema; its ``maps`` know everything that was loaded.
    """

    def __init__(
        self, files: SchemaFiles, documents: dict[str, XsdDocument], version: type[Any]
    ) -> None:
        self._files = files
        self._documents = documents
        self._resources: dict[tuple[Path, str], XMLResource] = {}
        self._places: dict[int, tuple[Any, str, int]] = {}  # holds the element: its id is its own
        main = documents[files.main.as_uri()]
        loader = type("Loader", (_Loader,), {"build": self})
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what matters is in `warnings` of each schema
                self.schema = version(
                    self.resource(main, main.target_namespace),
                    allow="local",
                    use_fallback=False,
                    loader_class=loader,
                )
        except SchemaError:
            raise
        except XMLSchemaException as error:
            raise self.error(error) from error
        except Exception as error:  # a broken schema may well trip xmlschema itself
            reason = f"xmlschema cannot build it: {type(error).__name__}: {error}"
            raise SchemaError(reason, "", files.given) from error
        for schema in self.schema.maps.schemas:
            for warning in schema.warnings:
                raise SchemaError(warning, "", files.given)

    def document(self, url: str) -> XsdDocument:
        """The gathered document at a URL."""
        return self._documents[url]

    def resource(self, document: XsdDocument, namespace: str) -> XMLResource:
        """A document as `xmlschema` takes it: once for each namespace that includes it."""
        key = (document.path, namespace)
        if key not in self._resources:
            text = etree.tostring(document.root, encoding="unicode")
            resource = XMLResource(text, base_url=document.path.parent.as_uri(), allow="local")
            shown = self._files.show(document.path)
            for element, line in zip(resource.root.iter(), lines(document), strict=True):
                self._places[id(element)] = (element, shown, line)
            self._resources[key] = resource
        return self._resources[key]

    def place(self, component: Any) -> tuple[str, int]:
        """File and line of a component or element; the main file and 0 if unknown."""
        element = getattr(component, "elem", component)
        _, file, line = self._places.get(id(element), (None, self._files.given, 0))
        return file, line

    def error(self, error: XMLSchemaException) -> SchemaError:
        """What `xmlschema` complains about, with file and line."""
        file, line = self.place(error)
        message = str(getattr(error, "message", None) or error)
        reason = " ".join(message.partition("Schema component:")[0].split()).rstrip(".:")
        return SchemaError(reason.replace(" of XSD resource None", ""), "", file, line)


class _Loader(SchemaLoader):
    """Gives `xmlschema` the gathered documents, all of them and nothing else."""

    build: Build

    def load_schema(
        self,
        source: Any,
        namespace: str | None = None,
        base_url: str | None = None,
        build: bool = False,
        partial: bool = False,
    ) -> Any:
        """The schema for a document, loaded once for each namespace that includes it."""
        document = self.build.document(source)
        resource = self.build.resource(document, namespace or "")
        for schema in self.maps.schemas:
            if schema.source is resource:
                return schema
        try:
            return self.schema_class(
                resource,
                namespace=namespace,
                validation=self.maps.validation,
                global_maps=self.maps,
                build=build,
                partial=partial,
            )
        except XMLSchemaException as error:
            raise self.build.error(error) from error

    def is_missing(
        self, namespace: str, location: str | None = None, base_url: str | None = None
    ) -> bool:
        """Whether to look at an import: always if it names a document."""
        return location is not None or super().is_missing(namespace)
