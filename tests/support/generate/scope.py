"""Which prefix a name gets in a document, and what has to be declared for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from extract.schema.model import XML_NAMESPACE, XSI_NAMESPACE, Schema, local_of, namespace_of
from tests.support.generate.draw import chance, pick
from tests.support.generate.vocabulary import PREFIXES

Scope = Mapping[str, str]
"""Prefix to namespace URI, as in force at some element; ``""`` is the default namespace."""


class Naming:
    """Writes expanded names, declaring namespaces where they are first needed, or again.

    In a strict document of a DTD the names are those of the DTD, letter by letter: its prefixes are
    declared by the root, its default namespace where it changes. Otherwise any prefix will do, and
    a prefix may mean another namespace further down.
    """

    def __init__(self, rng: Random, schema: Schema, strict: bool, odd: int) -> None:
        self.rng = rng
        self.odd = odd
        named = [(uri, prefix) for prefix, uri in schema.prefixes.items() if prefix]
        self._literal: dict[str, str] = dict(reversed(named))
        self._by_letter = strict and schema.kind == "dtd"

    def outermost(self) -> dict[str, str]:
        """What the root declares in any case."""
        return {p: u for u, p in self._literal.items()} if self._by_letter else {}

    def element(
        self, name: str, attributes: Iterable[str], scope: Scope, declared: Mapping[str, str]
    ) -> tuple[str, list[str], dict[str, str]]:
        """The names of a start tag as written.

        Args:
            name: Expanded name of the element.
            attributes: Expanded names of its attributes; ``{uri}`` alone asks only for a prefix.
            scope: What is in force around the element.
            declared: What the element declares in any case.

        Returns:
            The name, the attributes' names, and all that the element has to declare.
        """
        new = dict(declared)
        fixed = {*new}  # prefixes that mean something on this very tag
        written = self._name(name, scope, new, fixed, is_element=True)
        others = [self._name(other, scope, new, fixed, is_element=False) for other in attributes]
        return written, others, new

    def _name(
        self, name: str, scope: Scope, new: dict[str, str], fixed: set[str], is_element: bool
    ) -> str:
        uri, local = namespace_of(name), local_of(name)
        if uri == XML_NAMESPACE:
            return f"xml:{local}"
        if not uri:
            if is_element and {**scope, **new}.get(""):
                new[""] = ""
            if is_element:
                fixed.add("")
            return local
        prefix = self._prefix(uri, scope, new, fixed, is_element)
        if {**scope, **new}.get(prefix) != uri:
            new[prefix] = uri
        fixed.add(prefix)
        return f"{prefix}:{local}" if prefix else local

    def _prefix(
        self, uri: str, scope: Scope, new: Mapping[str, str], fixed: set[str], is_element: bool
    ) -> str:
        if self._by_letter and (is_element or uri in self._literal):
            return self._literal.get(uri, "")
        here = {**scope, **new}
        bound = [p for p, u in here.items() if u == uri and (p or is_element)]
        if bound and not chance(self.rng, self.odd):
            return pick(self.rng, bound)
        if uri == XSI_NAMESPACE and "xsi" not in fixed:
            return "xsi"
        candidates = [p for p in PREFIXES if p not in fixed]
        if is_element and "" not in fixed:
            candidates += [""] * 3
        return pick(self.rng, candidates) if candidates else f"ns{len(here)}"
