"""The schema model: what a DTD or an XSD allows, as frozen values.

Names are expanded names in Clark notation: ``{uri}local``, or just ``local`` without a namespace.

Two kinds of facts live here, and the difference carries the promise of exactness:

* **Edges** say which child element or attribute *may* occur under which declaration. Rewrites use
  only these, and CHUNKTOOL checks every document against exactly these. An edge too many costs
  speed, never an answer.
* **Order, cardinality, types of values** (`Particle`, `Attribute`, `Text`) are advice: to choose a
  cheaper plan or to generate documents, never to drop a query.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from extract.schema.places import Places

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XSI_NAMESPACE = "http://www.w3.org/2001/XMLSchema-instance"

SchemaKind: TypeAlias = Literal["dtd", "xsd", "inferred", "none"]


class Text(enum.Enum):
    """Which character data a declaration admits (advice: whitespace occurs anywhere)."""

    NONE = "none"  # EMPTY
    SPACE = "space"  # element content: whitespace between the children
    ANY = "any"  # mixed or simple content


@dataclass(frozen=True, slots=True)
class Wildcard:
    """The names that an ``xs:any`` or ``xs:anyAttribute`` admits.

    Attributes:
        namespaces: Namespace URIs; ``""`` is "no namespace".
        negated: Admit everything *but* ``namespaces``; ``Wildcard(frozenset(), True)`` admits all.
        excluded: Names never admitted (XSD 1.1 ``notQName``).
    """

    namespaces: frozenset[str] = frozenset()
    negated: bool = True
    excluded: frozenset[str] = frozenset()

    def admits(self, name: str) -> bool:
        """Whether an element or attribute of this expanded name may stand here."""
        return (namespace_of(name) in self.namespaces) != self.negated and (
            name not in self.excluded
        )


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute declaration."""

    name: str
    type: str = "CDATA"  # DTD: CDATA, ID, IDREF, IDREFS, NMTOKEN, …; XSD: name of the simple type
    required: bool = False
    default: str | None = None
    fixed: bool = False
    values: tuple[str, ...] = ()  # enumerated values, when the declaration lists them


@dataclass(frozen=True, slots=True)
class Particle:
    """Order and cardinality of children: a node of the content model. Advice only."""

    kind: Literal["element", "sequence", "choice", "all", "any"]
    low: int = 1
    high: int | None = 1  # None: unbounded
    element: int = -1  # key of the declaration, for kind "element"
    parts: tuple[Particle, ...] = ()


@dataclass(frozen=True, slots=True)
class Declaration:
    """One element declaration: an element name together with its type.

    Two local elements of an XSD with one name and different types are two declarations.

    Attributes:
        key: Index in `Schema.declarations`.
        name: Expanded name.
        type: Name of the XSD type for people to read; empty in a DTD.
        children: Keys of the declarations that may be children (content model, substitution
            groups, derived types by ``xsi:type``, strict wildcards, ``ANY``): the edges.
        attributes: The declared attributes, by name: the attribute edges.
        wildcards: Children beyond ``children``: what a lax or skipping ``xs:any`` admits. Below
            such a child nothing is known.
        attribute_wildcards: The same for attributes.
        text: Which text may occur.
        content: Order and cardinality, None where there are no children or the schema leaves it
            open.
    """

    key: int
    name: str
    type: str = ""
    children: tuple[int, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    wildcards: tuple[Wildcard, ...] = ()
    attribute_wildcards: tuple[Wildcard, ...] = ()
    text: Text = Text.ANY
    content: Particle | None = None
    abstract: bool = False
    nillable: bool = False

    @property
    def edges_only(self) -> Declaration:
        """The declaration without order and cardinality."""
        if self.content is None:
            return self
        return Declaration(  # `replace` takes longer than all else that is done with most schemas
            self.key,
            self.name,
            self.type,
            self.children,
            self.attributes,
            self.wildcards,
            self.attribute_wildcards,
            self.text,
            None,
            self.abstract,
            self.nillable,
        )


_REPR_ROOTS: Final = 60  # characters of names


@dataclass(frozen=True)
class Schema:
    """What a DTD or XSD allows. Build one with `Schema.load`.

    Without a schema there is `Schema.none`, which allows everything, and
    `extract.chunktool.inference.infer.infer_schema`, which makes one from documents.

    Attributes:
        source: The file it was loaded from, as given.
        kind: ``"dtd"``, ``"xsd"``, ``"inferred"`` from documents, or ``"none"``: any document.
        declarations: All element declarations; ``declarations[k].key == k``.
        roots: Keys of the declarations that may be the document element.
        prefixes: Prefix to namespace URI, as the schema itself uses them, to print names with.
        digest: SHA-256 (hex) over every file that was read, so that a change is noticed.
        notes: What the user should know about how the schema was read (an assumed root, say).
    """

    source: str
    kind: SchemaKind
    declarations: tuple[Declaration, ...]
    roots: tuple[int, ...]
    prefixes: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def load(
        cls,
        path: str | Path,
        root: str | None = None,
        namespaces: Mapping[str, str] | None = None,
    ) -> Schema:
        """Loads a ``.dtd`` or ``.xsd`` file with all its modules, imports and includes.

        Args:
            path: The schema file. Other files it refers to are found relative to it.
            root: Name of the document element (``local``, ``prefix:local`` or ``{uri}local``);
                needed
                where the schema leaves several possible.
            namespaces: Bindings for prefixes in ``root``, and for prefixes that a DTD uses without
                declaring them.

        Raises:
            SchemaError: The file or a part of it is missing, broken or on the network.
        """
        from extract.schema.load import load_schema

        return load_schema(path, root, namespaces)

    @classmethod
    def none(cls) -> Schema:
        """The schema of any document: nothing is known, so nothing is pruned.

        >>> schema = Schema.none()
        >>> schema.kind, schema.places.document.open
        ('none', True)
        """
        return cls("none", "none", (), (), digest="none")

    def __repr__(self) -> str:
        if self.kind == "none":
            return "<Schema: none>"
        names = sorted({self.declarations[key].name for key in self.roots})
        roots = f"root{'s' * (len(names) != 1)} {', '.join(names)}"
        if len(roots) > _REPR_ROOTS:
            roots = f"{len(names):,} roots"
        count = len(self.declarations)
        return f"<Schema: {self.source}, {count:,} element{'s' * (count != 1)}, {roots}>"

    @cached_property
    def places(self) -> Places:
        """The edges as a deterministic graph: see `extract.schema.places`."""
        from extract.schema.places import Places

        return Places(self)

    @cached_property
    def edges_only(self) -> Schema:
        """The schema as a scheme has it: its edges, without order and cardinality."""
        declarations = tuple([declaration.edges_only for declaration in self.declarations])
        return replace(self, declarations=declarations)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # nothing cached


def namespace_of(name: str) -> str:
    """The namespace URI of an expanded name, ``""`` if it has none.

    >>> namespace_of("{urn:x}a"), namespace_of("a")
    ('urn:x', '')
    """
    return name[1 : name.index("}")] if name.startswith("{") else ""


def local_of(name: str) -> str:
    """The local part of an expanded name.

    >>> local_of("{urn:x}a"), local_of("a")
    ('a', 'a')
    """
    return name[name.index("}") + 1 :] if name.startswith("{") else name
