"""A DTD as a schema model: names with their namespaces.

DTD names are only prefixes and local parts; XPath names are namespace URIs. What binds a prefix is
an ``xmlns`` attribute that the DTD declares as ``#FIXED`` or with a default, on the element itself
or on an ancestor. So a declaration of the model is an element type *together with* the bindings
that it inherits: ``title`` below ``html`` is another declaration than ``title`` below ``svg``.
Bindings that no name at or below an element depends on are left out, so that without namespaces
there is one declaration for each element type.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace

from extract.errors import SchemaError
from extract.schema.dtd_reader import DtdElement, read_dtd
from extract.schema.files import SchemaFiles, decoded
from extract.schema.model import XML_NAMESPACE, Attribute, Declaration, Particle, Schema, local_of
from extract.schema.roots import (
    ambiguous_root,
    assumed_note,
    expanded_root,
    first_of_sources,
    stated_roots,
    unknown_root,
    without_loose_ends,
)

MAX_DECLARATIONS = 50_000
MAX_EDGES = 2_000_000  # of which child may be in which parent

_Bindings = tuple[tuple[str, str], ...]  # prefix and URI, sorted; "" is the default namespace


def load_dtd(files: SchemaFiles, root: str | None, namespaces: Mapping[str, str]) -> Schema:
    """Loads the DTD that ``files.main`` names.

    Raises:
        SchemaError: The DTD or one of its modules is missing, broken, or on the network; or it
            declares no such root.
    """
    elements = read_dtd(files)
    if not elements:
        raise SchemaError("declares no element", "is this really a DTD?", files.given)
    missing = {
        name: DtdElement(name)
        for element in elements.values()
        for name in element.names
        if name not in elements
    }
    if missing:
        shown = ", ".join(sorted(missing)[:5]) + (" and more" if len(missing) > 5 else "")
        files.note(f"used in content models but not declared: {shown}; taken as text only")
    return _Model(files, {**elements, **missing}, tuple(elements), namespaces).schema(root)


class _Model:
    """Builds the declarations reachable from the roots."""

    def __init__(
        self,
        files: SchemaFiles,
        elements: Mapping[str, DtdElement],
        declared: tuple[str, ...],
        namespaces: Mapping[str, str],
    ) -> None:
        self.files = files
        self.elements = elements
        self.declared = declared
        self.namespaces = namespaces
        own = {name: _prefixes_of(element) for name, element in elements.items()}
        bound = {prefix for element in elements.values() for prefix in element.bindings}
        used = set().union(*own.values())
        self.outermost = {
            prefix: uri
            for prefix, uri in sorted(namespaces.items())
            if prefix in used - bound - {"", "xml"}
        }
        self.prefixes = dict(self.outermost)
        for element in elements.values():
            for prefix, uri in element.bindings.items():
                if prefix:
                    self.prefixes.setdefault(prefix, uri)
        self.relevant = self._relevant(own, bound | set(self.outermost))

    def _children(self, name: str) -> tuple[str, ...]:
        element = self.elements[name]
        return self.declared if element.open else element.names

    def _relevant(
        self, own: Mapping[str, set[str]], bound: set[str]
    ) -> Mapping[str, frozenset[str]]:
        """For each element type the prefixes whose bindings matter to it or to what is below."""
        relevant = {name: own[name] & bound for name in self.elements}
        parents: dict[str, list[str]] = {name: [] for name in self.elements}
        for name in self.elements:
            for child in self._children(name):
                parents[child].append(name)
        changed = deque(self.elements)
        while changed:
            name = changed.popleft()
            inherited = relevant[name] - self.elements[name].bindings.keys()
            for parent in parents[name]:
                if not inherited <= relevant[parent]:
                    relevant[parent] |= inherited
                    changed.append(parent)
        return {name: frozenset(prefixes) for name, prefixes in relevant.items()}

    def bindings(self, name: str, inherited: Iterable[tuple[str, str]]) -> _Bindings:
        """The bindings in force at an element, as far as they matter."""
        here = {**dict(inherited), **self.elements[name].bindings}
        return tuple(sorted((p, u) for p, u in here.items() if p in self.relevant[name]))

    def schema(self, root: str | None) -> Schema:
        """The model, from the given or the assumed document element."""
        outermost = tuple(self.outermost.items())
        starts = [(name, self.bindings(name, outermost)) for name in self._roots(root)]
        keys = {pair: key for key, pair in enumerate(starts)}
        queue = deque(starts)
        declarations: list[Declaration] = []
        unbound: dict[str, None] = {}
        edges = 0
        while queue:
            name, bindings = queue.popleft()
            children = {}
            edges += len(self._children(name))
            if edges > MAX_EDGES:
                reason = f"lets more than {MAX_EDGES:,} kinds of children be in their parents"
                raise SchemaError(reason, "ANY below many elements does that", self.files.given)
            for child in self._children(name):
                pair = (child, self.bindings(child, bindings))
                if pair not in keys:
                    keys[pair] = len(keys)
                    queue.append(pair)
                children[child] = keys[pair]
            if len(keys) > MAX_DECLARATIONS:
                raise SchemaError(
                    f"gives more than {MAX_DECLARATIONS} declarations, because elements are "
                    "declared below many combinations of namespace bindings",
                    "",
                    self.files.given,
                )
            declarations.append(self._declaration(len(declarations), name, bindings, children))
            scope = dict(bindings)
            unbound |= dict.fromkeys(
                prefix
                for prefix in sorted(_prefixes_of(self.elements[name]))
                if prefix and prefix != "xml" and prefix not in scope
            )
        for prefix in unbound:
            self.files.note(
                f"prefix {prefix} is bound nowhere: documents that use it are evaluated whole; "
                f"say --ns {prefix}=URI"
            )
        return Schema(
            self.files.given,
            "dtd",
            tuple(declarations),
            tuple(range(len(starts))),
            self.prefixes,
            self.files.digest(),
            self.files.notes,
        )

    def _declaration(
        self, key: int, name: str, bindings: _Bindings, children: Mapping[str, int]
    ) -> Declaration:
        element, scope = self.elements[name], dict(bindings)
        attributes: dict[str, Attribute] = {}
        for attribute in element.attributes:
            expanded = _expanded(attribute.name, {**scope, "": ""})
            attributes.setdefault(expanded, replace(attribute, name=expanded))
        content = element.content
        if content:
            content = _with_keys(content, [children[child] for child in element.names])
        return Declaration(
            key,
            _expanded(name, scope),
            children=tuple(dict.fromkeys(children.values())),
            attributes=tuple(attributes.values()),
            text=element.text,
            content=content,
        )

    def _roots(self, root: str | None) -> list[str]:
        """Names, as written, of the possible document elements."""
        if root is not None:
            return [self._find(root)]
        stated = stated_roots(decoded(self.files.read(self.files.main)), self.elements)
        if stated:
            return stated
        edges = [
            (name, child) for name, element in self.elements.items() for child in element.names
        ]
        sources = first_of_sources(tuple(self.elements), edges)
        roots = without_loose_ends(sources, edges)
        contained = {child for parent, child in edges if parent != child}
        if len(sources) > 1 or roots[0] in contained:
            self.files.note(assumed_note(roots, [name for name in sources if name not in roots]))
        return roots

    def _find(self, root: str) -> str:
        """The element type that ``local``, ``prefix:local`` or ``{uri}local`` means."""
        if root in self.elements:
            return root
        start = tuple(self.outermost.items())
        expanded = {
            name: _expanded(name, dict(self.bindings(name, start))) for name in self.elements
        }
        wanted = expanded_root(root, {**self.prefixes, **self.namespaces})
        candidates = [n for n in self.elements if wanted in (expanded[n], local_of(expanded[n]))]
        if len(candidates) > 1:
            raise ambiguous_root(root, candidates, self.files.given)
        if not candidates:
            declared = [*self.elements, *expanded.values()]
            raise unknown_root(root, declared, self._roots(None), self.files.given)
        return candidates[0]


def _prefixes_of(element: DtdElement) -> set[str]:
    """The prefixes in the names of an element type and of its attributes."""
    prefixes = {a.name.partition(":")[0] for a in element.attributes if ":" in a.name}
    return prefixes | {element.name.partition(":")[0] if ":" in element.name else ""}


def _expanded(name: str, scope: Mapping[str, str]) -> str:
    """The expanded name; a name with an unbound prefix stays as written, so that nothing matches.

    >>> _expanded("dc:title", {"dc": "urn:dc"}), _expanded("title", {}), _expanded("x:y", {})
    ('{urn:dc}title', 'title', 'x:y')
    """
    prefix, _, local = name.rpartition(":")
    uri = XML_NAMESPACE if prefix == "xml" else scope.get(prefix)
    if uri is None:
        return name
    return f"{{{uri}}}{local}" if uri else local


def _with_keys(particle: Particle, keys: list[int]) -> Particle:
    """The same content model with declaration keys instead of indexes into the names."""
    if particle.kind == "element":
        return replace(particle, element=keys[particle.element])
    return replace(particle, parts=tuple(_with_keys(part, keys) for part in particle.parts))
