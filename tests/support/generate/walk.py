"""Where the axes of XPath lead in a schema, so that random queries ask for what may be there.

The places of a walk are keys of declarations, and `DOCUMENT` for the document node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from extract.schema.model import XML_NAMESPACE, XSI_NAMESPACE, Schema, local_of, namespace_of
from tests.support.generate.vocabulary import OTHER_NAMESPACES

DOCUMENT = -1
Keys = frozenset[int]


def bindings(schema: Schema) -> dict[str, str]:
    """Prefixes for every namespace of a schema and for those that occur below its wildcards."""
    names = [d.name for d in schema.declarations]
    names += [a.name for d in schema.declarations for a in d.attributes]
    uris = dict.fromkeys(namespace_of(name) for name in names)
    found = {prefix: uri for prefix, uri in schema.prefixes.items() if prefix and prefix != "xml"}
    for uri in (*uris, OTHER_NAMESPACES[0], XSI_NAMESPACE):
        if uri not in ("", XML_NAMESPACE, *found.values()):
            found["xsi" if uri == XSI_NAMESPACE else f"n{len(found)}"] = uri
    return found


class Walk:
    """The axes over a schema's edges."""

    def __init__(self, schema: Schema, namespaces: Mapping[str, str]) -> None:
        self.schema = schema
        self.prefixes = {uri: prefix for prefix, uri in namespaces.items()}
        self.prefixes[XML_NAMESPACE] = "xml"
        self._children: dict[int, Keys] = {DOCUMENT: frozenset(schema.roots)}
        for declaration in schema.declarations:
            self._children[declaration.key] = frozenset(declaration.children)
        self._below: dict[int, Keys] = {}
        self._above: dict[int, Keys] = {}

    def written(self, name: str) -> str:
        """An expanded name as a query writes it."""
        uri = namespace_of(name)
        return f"{self.prefixes[uri]}:{local_of(name)}" if uri in self.prefixes else local_of(name)

    def name(self, key: int) -> str:
        """The name of a declaration as a query writes it."""
        return self.written(self.schema.declarations[key].name)

    def attributes(self, keys: Keys) -> list[str]:
        """Names, as written, of the attributes that elements here may have."""
        declarations = self.schema.declarations
        return sorted(
            {self.written(a.name) for k in self.elements(keys) for a in declarations[k].attributes}
        )

    def elements(self, keys: Keys) -> list[int]:
        """The elements among the places: not the document, nothing that is only abstract."""
        declarations = self.schema.declarations
        return sorted(k for k in keys if k != DOCUMENT and not declarations[k].abstract)

    def along(self, axis: str, keys: Keys) -> Keys:
        """Where an axis leads; empty for axes to anything but elements."""
        if axis.endswith("-or-self"):
            return keys | self.along(axis.removesuffix("-or-self"), keys)
        step = self._axes.get(axis)
        return step(keys) if step else frozenset()

    @cached_property
    def _axes(self) -> Mapping[str, Callable[[Keys], Keys]]:
        return {
            "self": lambda keys: keys,
            "child": lambda keys: _union(self._children, keys),
            "parent": lambda keys: _union(self._parents, keys),
            "descendant": lambda keys: self._closed(keys, self._children, self._below),
            "ancestor": lambda keys: self._closed(keys, self._parents, self._above),
            "following-sibling": self._siblings,
            "preceding-sibling": self._siblings,
            "following": lambda keys: self.everywhere,
            "preceding": lambda keys: self.everywhere,
        }

    @cached_property
    def _parents(self) -> dict[int, Keys]:
        parents: dict[int, set[int]] = {key: set() for key in self._children}
        for key in (DOCUMENT, *self.everywhere):
            for child in self._children[key]:
                parents[child].add(key)
        return {key: frozenset(keys) for key, keys in parents.items()}

    @cached_property
    def everywhere(self) -> Keys:
        """All declarations that documents can contain."""
        return self.along("descendant", frozenset((DOCUMENT,)))

    def _siblings(self, keys: Keys) -> Keys:
        return self.along("child", self.along("parent", keys) - {DOCUMENT})

    def _closed(self, keys: Keys, edges: Mapping[int, Keys], known: dict[int, Keys]) -> Keys:
        for key in keys - known.keys():
            found: set[int] = set()
            todo = list(edges[key])
            while todo:
                here = todo.pop()
                if here not in found:
                    found.add(here)
                    todo.extend(edges[here])
            known[key] = frozenset(found)
        return _union(known, keys)


def _union(edges: Mapping[int, Keys], keys: Keys) -> Keys:
    return frozenset().union(*(edges[key] for key in keys))
