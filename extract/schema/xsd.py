"""An XSD as a schema model.

A declaration is an element name together with a type. What may stand in a place is more than the
content model says: members of substitution groups, types that ``xsi:type`` may name, the types of
XSD 1.1 alternatives, and whatever a wildcard admits. All of these become edges, or wildcards where
nothing is known of what is below.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from xmlschema.validators import XsdAnyElement, XsdElement, XsdGroup

from extract.errors import SchemaError
from extract.schema.files import SchemaFiles, decoded
from extract.schema.model import Declaration, Particle, Schema, Wildcard, local_of
from extract.schema.numbering import named, numbered
from extract.schema.roots import (
    ambiguous_root,
    assumed_note,
    expanded_root,
    first_of_sources,
    stated_roots,
    unknown_root,
)
from extract.schema.xsd_build import Build, build
from extract.schema.xsd_types import (
    DerivedTypes,
    TypeNames,
    attributes_of,
    content_group,
    is_abstract,
    is_open,
    open_content,
    text_of,
    wildcard,
)

MAX_DECLARATIONS = 200_000


def load_xsd(files: SchemaFiles, root: str | None, namespaces: Mapping[str, str]) -> Schema:
    """Loads the XSD that ``files.main`` names.

    Raises:
        SchemaError: A document of the schema is missing, broken, or on the network; or it declares
            no such root.
    """
    return _Model(files, build(files)).schema(root, namespaces)


@dataclass
class _Place:
    """What may stand where the schema names an element.

    Attributes:
        declared: Keys for what can stand there as it is: the element, its substitutes.
        retyped: Keys for what needs an ``xsi:type``.
        abstract: Keys of what cannot stand there itself.
    """

    declared: list[int] = field(default_factory=list)
    retyped: list[int] = field(default_factory=list)
    abstract: list[int] = field(default_factory=list)


@dataclass
class _Content:
    """What the content models of one declaration add up to."""

    children: dict[int, None] = field(default_factory=dict)
    abstract: dict[int, None] = field(default_factory=dict)
    wildcards: dict[Wildcard, None] = field(default_factory=dict)


class _Model:
    """Builds declarations; keys are given in the order of first mention."""

    def __init__(self, files: SchemaFiles, built: Build) -> None:
        self.files = files
        self.built = built
        self.main = built.schema
        self.maps = maps = built.schema.maps
        self.globals: dict[str, XsdElement] = {
            name: element for name, element in maps.elements.items() if element.maps is maps
        }
        self.prefixes = _prefixes(built.schema)
        self.names = TypeNames(self.prefixes)
        self.derived = DerivedTypes(maps.types.values())
        self.keys: dict[tuple[str, int], int] = {}
        self.waiting: deque[tuple[str, Any]] = deque()
        self.concrete: set[int] = set()
        self.nillable: set[int] = set()
        self.places: dict[tuple[int, bool], _Place] = {}
        self.declarations: list[Declaration] = []
        self.abstract: dict[int, tuple[int, ...]] = {}

    # Which declarations there are

    def key(self, name: str, type_: Any) -> int:
        """The key of a declaration, new or known."""
        pair = (name, id(type_))
        if pair not in self.keys:
            self.keys[pair] = len(self.keys)
            self.waiting.append((name, type_))
            if len(self.keys) > MAX_DECLARATIONS:
                reason = f"gives more than {MAX_DECLARATIONS} declarations"
                raise SchemaError(reason, "", self.files.given)
        return self.keys[pair]

    def place(self, element: XsdElement, substitutes: bool = True) -> _Place:
        """What may stand where the schema has this element.

        Args:
            element: The element or a reference to one.
            substitutes: Whether members of its substitution group may; not so for the document
                element, nor for what a wildcard admits, which are named themselves.
        """
        if element.ref is not None:  # not "or": an element without children is false
            element = element.ref
        key = (id(element), substitutes)
        if key not in self.places:
            place = self.places[key] = _Place()
            for member in [element, *(self.substitutes(element) if substitutes else ())]:
                self._add(member, place, element.block)
        return self.places[key]

    def substitutes(self, head: XsdElement) -> list[XsdElement]:
        """The members of an element's substitution group, and of theirs."""
        members = {head.name: head} if head.parent is None else {}
        for name in (waiting := list(members)):
            for member in sorted(self.maps.substitution_groups.get(name, ()), key=_name):
                if member.name not in members:
                    members[member.name] = member
                    waiting.append(member.name)
        return list(members.values())[1:]

    def _add(self, element: XsdElement, place: _Place, block: str) -> None:
        types = {id(t): t for t in (element.type, *(a.type for a in element.alternatives))}
        for type_ in types.values():
            key = self.key(element.name, type_)
            if element.abstract:
                place.abstract.append(key)
                continue
            derived = [
                self.key(element.name, derived)
                for derived in self.derived.of(type_, f"{block} {element.block}")
            ]
            (place.abstract if is_abstract(type_) else place.declared).append(key)
            place.retyped += derived
            if element.nillable:
                self.nillable.update((key, *derived))
        self.concrete.update(place.declared, place.retyped)

    # What is in them

    def build(self) -> None:
        """Makes a declaration for every key given so far, and for those that they lead to."""
        while self.waiting:
            name, type_ = self.waiting.popleft()
            key = len(self.declarations)
            content = _Content()
            particle = None
            if is_open(type_):
                content.wildcards[Wildcard()] = None
            else:
                group = content_group(type_)
                particle = self._particle(group, content, group) if group is not None else None
                if (any_ := open_content(type_)) is not None:
                    self._add_any(any_, content, group)
            attributes, attribute_wildcards = attributes_of(type_, self.maps.attributes, self.names)
            file, line = self.built.place(type_)
            shown = self.names.show(type_) or f"anonymous, {Path(file).name}:{line}"
            self.abstract[key] = tuple(content.abstract)
            self.declarations.append(
                Declaration(
                    key,
                    name,
                    shown,
                    tuple(content.children),
                    attributes,
                    tuple(content.wildcards),
                    attribute_wildcards,
                    text_of(type_),
                    particle,
                )
            )

    def _particle(self, item: Any, content: _Content, model: Any) -> Particle | None:
        """A part of a content model, adding to the edges what may stand there; None if nothing."""
        low, high = item.min_occurs, item.max_occurs
        if high == 0:
            return None
        if isinstance(item, XsdGroup):
            parts = tuple(p for i in item.content if (p := self._particle(i, content, model)))
            if len(parts) == 1 and (low, high) == (1, 1):
                return parts[0]
            kind = cast(Literal["sequence", "choice", "all"], item.model)
            return Particle(kind, low, high, parts=parts) if parts else None
        if isinstance(item, XsdAnyElement):
            self._add_any(item, content, model)
            return Particle("any", low, high)
        place = self.place(item)
        self._admit(place, content)
        keys = place.declared or place.retyped
        if len(keys) == 1:
            return Particle("element", low, high, keys[0])
        parts = tuple(Particle("element", element=key) for key in keys)
        return Particle("choice", low, high, parts=parts) if parts else None

    def _admit(self, place: _Place, content: _Content) -> None:
        content.children |= dict.fromkeys([*place.declared, *place.retyped])
        content.abstract |= dict.fromkeys(place.abstract)

    def _add_any(self, any_: Any, content: _Content, model: XsdGroup | None) -> None:
        """Edges for a strict wildcard, which admits only global elements; else the wildcard."""
        siblings: list[str] = []
        if model is not None and "##definedSibling" in any_.not_qname:
            siblings = [sibling.name for sibling in model.iter_elements() if sibling.name]
        admitted = wildcard(any_, self.globals, siblings)
        if any_.process_contents != "strict":
            content.wildcards[admitted] = None
            return
        for name, element in self.globals.items():
            if admitted.admits(name):
                self._admit(self.place(element, substitutes=False), content)

    # The whole

    def schema(self, root: str | None, namespaces: Mapping[str, str]) -> Schema:
        """The model, from the given or the assumed document elements."""
        if root is not None:
            roots = [self._find(root, namespaces)]
        else:
            roots = self._assumed()
        places = [self.place(self.globals[name], substitutes=False) for name in roots]
        self.build()
        keys = [key for place in places for key in (*place.declared, *place.retyped)]
        if not keys:
            reason = f"no document can start with {', '.join(roots)}: its type is abstract"
            raise SchemaError(reason, "no type is derived from it", self.files.given)
        facts = [
            replace(d, abstract=d.key not in self.concrete, nillable=d.key in self.nillable)
            for d in self.declarations
        ]
        declarations, starts = numbered(facts, keys, self.abstract)
        return Schema(
            self.files.given,
            "xsd",
            declarations,
            starts,
            self.prefixes,
            self.files.digest(),
            self.files.notes,
        )

    def _assumed(self) -> list[str]:
        """What the file itself says; else the global elements that no other element's content model
        names: those of the main namespace, or of all that it imports if it has none.
        """
        stated = stated_roots(decoded(self.files.read(self.files.main)), self.globals)
        if stated:
            return stated
        concrete = {name: one for name, one in self.globals.items() if not one.abstract}
        own = self.main.target_namespace
        main = {name: one for name, one in concrete.items() if one.target_namespace == own}
        candidates = {}
        for name, element in (main or concrete).items():
            place = self.place(element, substitutes=False)
            candidates[name] = [*place.declared, *place.retyped]
        if not candidates:
            hint = "it only defines types; give the schema that uses them in elements"
            raise SchemaError("declares no element to start a document", hint, self.files.given)
        self.build()
        # A node for each global element, its variants by type together; one for each other key.
        node = {key: name for name, keys in candidates.items() for key in keys}
        edges = [
            (node.get(declaration.key, str(declaration.key)), node.get(child, str(child)))
            for declaration in self.declarations
            for child in named(declaration.content)
        ]
        others = [str(d.key) for d in self.declarations if d.key not in node]
        firsts = first_of_sources([*candidates, *others], edges)
        roots = [name for name in firsts if name in candidates]
        contained = {child for parent, child in edges if parent != child}
        if len(roots) > 1 or roots[0] in contained:
            self.files.note(assumed_note(roots))
        return roots

    def _find(self, root: str, namespaces: Mapping[str, str]) -> str:
        """The global element that ``local``, ``prefix:local`` or ``{uri}local`` means."""
        root = expanded_root(root, {**self.prefixes, **namespaces})
        if root not in self.globals:
            own = f"{{{self.main.target_namespace}}}{root}"
            same = [name for name in self.globals if local_of(name) == root]
            candidates = [own] if own in same else same
            if len(candidates) > 1:
                raise ambiguous_root(root, candidates, self.files.given)
            if not candidates:
                raise unknown_root(root, self.globals, self._assumed(), self.files.given)
            root = candidates[0]
        element = self.globals[root]
        if element.abstract:
            members = [member.name for member in self.substitutes(element) if not member.abstract]
            hint = f"a document starts with {' or '.join(members)}" if members else ""
            raise SchemaError(f"root {root} is abstract", hint, self.files.given)
        return root


def _name(element: XsdElement) -> str:
    return element.name


def _prefixes(schema: Any) -> dict[str, str]:
    """The prefixes of all documents, those of the main one first."""
    prefixes: dict[str, str] = {}
    loaded = [document for group in schema.maps.namespaces.values() for document in group]
    for document in [schema, *loaded]:
        if document.maps is schema.maps:
            for prefix, uri in document.namespaces.items():
                if prefix and prefix != "xml" and uri:
                    prefixes.setdefault(prefix, uri)
    return prefixes
