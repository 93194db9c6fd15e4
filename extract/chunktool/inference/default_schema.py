"""The default schema, for documents without a schema.

Where all documents carry the same internal DTD and it declares their elements, the default schema
is this DTD; otherwise it is inferred from the documents. A note in the schema says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from lxml import etree

from extract.chunktool.inference.infer import Inference
from extract.chunktool.input.source import Document, Source, open_source
from extract.errors import DocumentError, SchemaError
from extract.limits import DEFAULTS, Limits
from extract.schema.dtd import load_dtd
from extract.schema.files import SchemaFiles
from extract.schema.model import Schema

_BEGINNING: Final = 1 << 16  # bytes read at a time until the document element begins


def default_schema(documents: Iterable[Document], limits: Limits | None = None) -> Schema:
    """Returns the schema for documents without one; its first note says where it comes from.

    Args:
        documents: Each bytes, a path, or a file object opened for bytes that can go back; also
            gzipped. ``"-"``, standard input, must be able to go back, too. They are gone through
            twice.
        limits: How large and deep a document may be.

    Raises:
        DocumentError: No document can be read; this is the error of the first. Otherwise unreadable
            documents are left out here, and rejected when they are evaluated.

    >>> default_schema([b"<a><b/></a>", b"<a/>"]).notes
    ('no schema given: inferred from 2 documents: 2 elements, 1 edge, 0 attributes, root a',)
    >>> declared = b"<!DOCTYPE a [<!ELEMENT a (b*)><!ELEMENT b EMPTY>]><a/>"
    >>> default_schema([declared]).notes
    ('no schema given: taken from the internal DTD of <bytes>',)
    """
    limits = limits or DEFAULTS
    schema = _declared_schema(documents, limits)
    if schema is not None:
        return schema
    inference = Inference(limits)
    failure: DocumentError | None = None
    for document in documents:
        try:
            inference.add(document)
        except DocumentError as error:
            failure = failure or error
    if failure is not None and not inference.documents:
        raise failure
    return inference.result().schema


class InternalDtd(NamedTuple):
    """The internal DTD of a document: its document element and its declarations."""

    root: str
    text: str


def internal_dtd(source: Source) -> InternalDtd | None:
    """Returns the internal DTD of a document, if it declares the document element and is complete.

    Returns None if there is an external DTD, too: then the internal one is incomplete.

    Raises:
        DocumentError: The document cannot be read, or its beginning is not well-formed.

    >>> internal_dtd(open_source(b"<!DOCTYPE a [<!ELEMENT a EMPTY>]><a/>"))
    InternalDtd(root='a', text='<!ELEMENT a EMPTY>\\n')
    >>> internal_dtd(open_source(b"<!DOCTYPE a [<!ENTITY e 'x'>]><a/>")) is None
    True
    """
    options = {"no_network": True, "remove_comments": True, "remove_pis": True, "huge_tree": True}
    parser = etree.XMLPullParser(events=("start",), resolve_entities=False, **options)
    try:
        for window in source.windows(_BEGINNING):
            parser.feed(bytes(window))
            for _, root in parser.read_events():
                return _subset(root)
        parser.close()  # libxml2 sends the events of a small document only now
        for _, root in parser.read_events():
            return _subset(root)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        raise DocumentError(str(error.msg), "", source.name, line, column) from None
    raise DocumentError("there is no document element", file=source.name)


_DOCTYPE = re.compile(r"<!DOCTYPE\s+\S+\s*\[(.*)\]>\s*<", re.DOTALL)


def _subset(root: etree._Element) -> InternalDtd | None:
    tree = root.getroottree()
    info = tree.docinfo
    declared = info.internalDTD
    if declared is None or info.system_url or info.public_id:
        return None
    names = {f"{e.prefix}:{e.name}" if e.prefix else e.name for e in declared.iterelements()}
    if declared.name not in names:
        return None
    root.clear()  # frees the children parsed so far
    # The serialised DTD has each declaration once, with parameter entities resolved.
    match = _DOCTYPE.search(etree.tostring(tree, encoding="unicode"))
    return None if match is None else InternalDtd(declared.name, match[1].lstrip("\n"))


def _declared_schema(documents: Iterable[Document], limits: Limits) -> Schema | None:
    """Returns the schema of the internal DTD that all documents share; None if they do not."""
    shared: InternalDtd | None = None
    name = ""
    for document in documents:
        with open_source(document, limits=limits) as source:
            try:
                own = internal_dtd(source)
            except DocumentError:
                continue
            finally:
                source.rewind()  # a stream is read once more, from where it was
            if own is None or own != (shared or own):
                return None
            shared, name = own, name or source.name
    if shared is None:
        return None
    files = SchemaFiles(name, shared.text.encode())
    try:
        schema = load_dtd(files, shared.root, {})
    except SchemaError:
        return None  # the DTD is broken or incomplete: infer from the documents instead
    note = f"no schema given: taken from the internal DTD of {name}"
    return replace(schema, notes=(note, *schema.notes))
