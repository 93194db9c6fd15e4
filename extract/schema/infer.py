"""A schema from what documents showed: every one of them keeps it, and it allows nothing else.

An element is declared by its expanded name alone, wherever it stands, as a DTD does it and as an
XSD does it with global declarations. Declaring it by its path would allow less, but a recursive
document has no end of paths, a second document would bring paths that the first did not have with
elements that everybody knows, and a DTD could not say it at all. Edges from name to name are few,
converge after some documents, and are what rewriting and checking use.

No library does this: xsdata's generator makes Python classes and spark-xml the columns of a table,
and trang, which does write schemas, needs Java and lets every element start a document.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from pathlib import Path
from typing import Final, Literal

from extract.errors import SchemaError
from extract.files import whole_file
from extract.schema.model import (
    XML_NAMESPACE,
    XSI_NAMESPACE,
    Attribute,
    Declaration,
    Particle,
    Schema,
    Text,
    namespace_of,
)
from extract.schema.observations import ElementContent, ElementObservations, Observations

_KINDS: Final[Mapping[str, Literal["dtd", "xsd"]]] = {".dtd": "dtd", ".xsd": "xsd"}


@dataclass(frozen=True, slots=True)
class InferredChild:
    """A kind of child: its name, whether every parent has one, whether some have several."""

    name: str
    required: bool
    repeated: bool


@dataclass(frozen=True, slots=True)
class InferredElement:
    """What all elements of one name have in common.

    Attributes:
        name: Expanded name.
        attributes: Each attribute seen, and whether every element has it.
        children: Each kind of child seen; in the order that all parents keep if ``ordered``.
        ordered: Whether children keep one order in all parents, those of a kind side by side.
        text: Which text was seen.
        bare: Whether there was nothing at all between the tags, not even a comment: ``EMPTY`` to a
            DTD.
        standalone: Whether there was white space between children in a document that says
            ``standalone="yes"``: no DTD may then call it element content.
        spellings: The name as written; ``None`` in it where nobody can tell.
        bindings: The namespace declarations of the start tags.
    """

    name: str
    attributes: tuple[tuple[str, bool], ...]
    children: tuple[InferredChild, ...]
    ordered: bool
    text: Text
    bare: bool
    standalone: bool
    spellings: frozenset[str | None]
    bindings: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class InferredSchema:
    """A schema that some documents keep, closed: what none of them showed it does not allow.

    Attributes:
        documents: How many documents it was inferred from.
        roots: The names of their document elements.
        elements: The kinds of elements, by expanded name, breadth first from the roots.
        prefixes: A prefix for each namespace, that of the documents where they have one.
        attribute_spellings: The names of attributes with a namespace as written.
    """

    documents: int
    roots: tuple[str, ...]
    elements: Mapping[str, InferredElement]
    prefixes: Mapping[str, str]
    attribute_spellings: Mapping[str, frozenset[str | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, seen: Observations) -> InferredSchema:
        """The schema of what was seen.

        Raises:
            SchemaError: Nothing was.

        >>> seen = Observations()
        >>> seen.documents, seen.roots = 1, {"a": None}
        >>> seen.element("a").count, seen.element("b").count = 1, 2
        >>> seen.element("a").child("b").parents = 1
        >>> inferred = InferredSchema.of(seen)
        >>> print(inferred)
        inferred from 1 document: 2 elements, 1 edge, 0 attributes, root a
        """
        if not seen.documents:
            raise SchemaError("there is no document to infer a schema from")
        order = dict.fromkeys(seen.roots)
        waiting = deque(order)
        while waiting:
            for child in seen.elements[waiting.popleft()].children:
                if child not in order:
                    order[child] = None
                    waiting.append(child)
        elements = {name: _element(name, seen.elements[name]) for name in order}
        spellings = {n: frozenset(some) for n, some in seen.attribute_spellings.items()}
        prefixes = _prefixes(elements, spellings)
        return cls(seen.documents, tuple(seen.roots), elements, prefixes, spellings)

    @cached_property
    def schema(self) -> Schema:
        """The same as a schema model, without a file in between."""
        keys = {name: key for key, name in enumerate(self.elements)}
        declarations = tuple([_declaration(e, keys) for e in self.elements.values()])
        digest = hashlib.sha256(repr((declarations, self.roots)).encode()).hexdigest()
        note = f"no schema given: {self}"
        return Schema(
            f"inferred from {_counted(self.documents, 'document')}",
            "inferred",
            declarations,
            tuple([keys[root] for root in self.roots]),
            dict(self.prefixes),
            digest,
            (note,),
        )

    def edges_only(self) -> InferredSchema:
        """The same edges, attributes and text, in any order and number.

        For documents of which only those were looked at that showed a new edge: the others keep to
        the edges, but not to the order and number that the few have in common.
        """
        elements = {
            name: replace(
                one,
                attributes=tuple([(attribute, False) for attribute, _ in one.attributes]),
                children=tuple([InferredChild(child.name, False, True) for child in one.children]),
                ordered=False,
                bare=False,
            )
            for name, one in self.elements.items()
        }
        return replace(self, elements=elements)

    def write(self, path: str | Path) -> list[Path]:
        """Writes the schema as a DTD or as XSD files, by the suffix of the name.

        Args:
            path: The file. An XSD for several namespaces has further files beside it, whose names
                begin with that of the main file.

        Returns:
            All files written, the main one first.

        Raises:
            SchemaError: The suffix is neither ``.dtd`` nor ``.xsd``, or this kind of schema cannot
                say what the documents showed.
        """
        from extract.schema.write_dtd import dtd_text
        from extract.schema.write_xsd import xsd_texts

        path = Path(path)
        if kind_by_suffix(path) == "dtd":
            texts = {path.name: dtd_text(self)}
        else:
            texts = xsd_texts(self, path.name)
        for name, text in texts.items():
            with whole_file(path.parent / name) as stream:
                stream.write(text.encode())
        return [path.parent / name for name in texts]

    def xsd(self) -> str:
        """Returns the schema as the text of one XSD.

        Raises:
            SchemaError: It takes several files, one for each namespace.
        """
        from extract.schema.write_xsd import xsd_texts

        texts = xsd_texts(self, "schema.xsd")
        if len(texts) > 1:
            hint = "write it to a file; the others are put beside it"
            raise SchemaError(f"a schema of {len(texts)} namespaces takes as many files", hint)
        return next(iter(texts.values()))

    def __str__(self) -> str:
        edges = sum(len(element.children) for element in self.elements.values())
        attributes = sum(len(element.attributes) for element in self.elements.values())
        roots = ", ".join(self.roots[:5]) + (" and more" if len(self.roots) > 5 else "")
        return (
            f"inferred from {_counted(self.documents, 'document')}: "
            f"{_counted(len(self.elements), 'element')}, {_counted(edges, 'edge')}, "
            f"{_counted(attributes, 'attribute')}, root{'s' * (len(self.roots) > 1)} {roots}"
        )


def kind_by_suffix(path: str | Path) -> Literal["dtd", "xsd"]:
    """The kind of schema that a file name asks for.

    Raises:
        SchemaError: Neither a DTD nor an XSD.
    """
    kind = _KINDS.get(Path(path).suffix.lower())
    if kind is None:
        hint = "name a file that ends in .xsd or .dtd"
        raise SchemaError("a schema is written as an XSD or a DTD", hint, str(path))
    return kind


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _element(name: str, seen: ElementObservations) -> InferredElement:
    order = _common_order(seen)
    return InferredElement(
        name,
        tuple([(each, times == seen.count) for each, times in seen.attributes.items()]),
        tuple(
            [
                InferredChild(
                    child,
                    seen.children[child].parents == seen.count,
                    seen.children[child].repeated,
                )
                for child in order or seen.children
            ]
        ),
        order is not None,
        _text(seen),
        not seen.children and not seen.content,
        bool(seen.content & ElementContent.STANDALONE),
        frozenset(seen.spellings),
        {prefix: frozenset(uris) for prefix, uris in seen.bindings.items()},
    )


def _text(seen: ElementObservations) -> Text:
    """White space alone is text where there are no child elements to stand between."""
    if seen.content & ElementContent.TEXT:
        return Text.ANY
    if seen.children:
        return Text.SPACE
    return Text.ANY if seen.content & ElementContent.SPACE else Text.NONE


def _common_order(seen: ElementObservations) -> list[str] | None:
    """The children in an order that all parents keep, None if there is none.

    There is one exactly if nothing comes, over however many steps, after itself: then the
    children of a kind are also side by side.
    """
    before: dict[str, set[str]] = {name: set() for name in seen.children}
    for first, second in seen.successions:
        if first != second:
            before[second].add(first)
    rank = {name: number for number, name in enumerate(seen.children)}
    sorter = TopologicalSorter(before)
    try:
        sorter.prepare()
    except CycleError:
        return None
    order: list[str] = []
    ready: list[tuple[int, str]] = []
    while sorter.is_active():  # of all that may come next, the one that was seen first
        for name in sorter.get_ready():
            heappush(ready, (rank[name], name))
        _, name = heappop(ready)
        order.append(name)
        sorter.done(name)
    return order


def _prefixes(
    elements: Mapping[str, InferredElement], attributes: Mapping[str, frozenset[str | None]]
) -> dict[str, str]:
    """A prefix for each namespace: the documents' first that no other namespace has."""
    wanted: dict[str, dict[str, None]] = {}  # namespace to the prefixes it is written with
    names = [(name, element.spellings) for name, element in elements.items()]
    for name, spellings in [*names, *attributes.items()]:
        written = sorted(one for one in spellings if one is not None and ":" in one)
        prefixes = dict.fromkeys(one.partition(":")[0] for one in written)
        wanted.setdefault(namespace_of(name), {}).update(prefixes)
    for element in elements.values():
        for prefix, uris in element.bindings.items():
            for uri in uris & wanted.keys() if prefix else ():
                wanted[uri].setdefault(prefix)
    taken: dict[str, str] = {}
    for uri, some in wanted.items():
        if uri and uri not in (XML_NAMESPACE, XSI_NAMESPACE):
            number = len(taken) + 1
            free = [prefix for prefix in some if prefix not in taken]
            taken[free[0] if free else _fresh(f"ns{number}", taken)] = uri
    return taken


def _fresh(prefix: str, taken: Mapping[str, str]) -> str:
    while prefix in taken:
        prefix += "_"
    return prefix


def _declaration(element: InferredElement, keys: Mapping[str, int]) -> Declaration:
    return Declaration(
        keys[element.name],
        element.name,
        children=tuple([keys[child.name] for child in element.children]),
        attributes=tuple([Attribute(name, required=here) for name, here in element.attributes]),
        text=element.text,
        content=_particle(element, keys),
        nillable=any(name == f"{{{XSI_NAMESPACE}}}nil" for name, _ in element.attributes),
    )


def _particle(element: InferredElement, keys: Mapping[str, int]) -> Particle | None:
    if not element.children:
        return None
    if not element.ordered:
        parts = tuple([Particle("element", element=keys[c.name]) for c in element.children])
        return Particle("choice", 0, None, parts=parts)
    parts = tuple(
        [
            Particle("element", int(c.required), None if c.repeated else 1, element=keys[c.name])
            for c in element.children
        ]
    )
    return parts[0] if len(parts) == 1 else Particle("sequence", parts=parts)
