"""What single parts of an XSD mean in the model: wildcards, attributes, derived types, names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from xmlschema.names import XSD_ANY_TYPE, XSD_ENUMERATION, XSD_NAMESPACE
from xmlschema.validators import XsdAttributeGroup, XsdComplexType, XsdGroup

from extract.schema.model import (
    XSI_NAMESPACE,
    Attribute,
    Text,
    Wildcard,
    local_of,
    namespace_of,
)

# Every element of a document may carry xsi:type, xsi:nil, xsi:schemaLocation and its like.
XSI_ATTRIBUTES = Wildcard(frozenset({XSI_NAMESPACE}), negated=False)


class TypeNames:
    """Names of types for people to read, with the prefixes that the schema itself uses."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._prefix = {uri: prefix for prefix, uri in reversed(list(prefixes.items()))}
        self._prefix.setdefault(XSD_NAMESPACE, "xs")

    def show(self, type_: Any) -> str:
        """``po:Item``; for an anonymous simple type the one that it restricts; else empty."""
        while type_.name is None and type_.is_simple() and type_.base_type is not None:
            type_ = type_.base_type
        name = type_.name
        if name is None:
            return "xs:anySimpleType" if type_.is_simple() else ""
        uri = namespace_of(name)
        return f"{self._prefix[uri]}:{local_of(name)}" if uri in self._prefix else str(name)


def is_open(type_: Any) -> bool:
    """Whether this is ``xs:anyType``, which admits everything."""
    return bool(type_.name == XSD_ANY_TYPE)


def is_abstract(type_: Any) -> bool:
    """Whether elements of this type need an ``xsi:type``."""
    return isinstance(type_, XsdComplexType) and type_.abstract


def content_group(type_: Any) -> XsdGroup | None:
    """The model group of a type with element content."""
    content = getattr(type_, "content", None)
    return content if isinstance(content, XsdGroup) else None


def text_of(type_: Any) -> Text:
    """Which text an element of this type may have."""
    group = content_group(type_)
    if group is None or type_.mixed:
        return Text.ANY
    return Text.NONE if type_.is_empty() else Text.SPACE


def open_content(type_: Any) -> Any | None:
    """The ``xs:any`` of XSD 1.1 open content, declared for the type or for the whole schema."""
    content = getattr(type_, "open_content", None)
    return None if content is None or content.mode == "none" else content.any_element


class DerivedTypes:
    """The global types derived from a type: what an ``xsi:type`` may name instead of it.

    Only complex types that are not abstract, and of those with text alone only one for each set of
    attributes: the others admit nothing new. (In UBL hundreds of types extend ``xs:string``.)
    """

    def __init__(self, types: Iterable[Any]) -> None:
        self._direct: dict[int, list[Any]] = {}
        self._known: dict[tuple[int, frozenset[str]], tuple[Any, ...]] = {}
        for type_ in sorted(types, key=lambda type_: str(type_.name)):
            if type_.base_type is not None and not is_open(type_.base_type):
                self._direct.setdefault(id(type_.base_type), []).append(type_)

    def of(self, type_: Any, block: str) -> tuple[Any, ...]:
        """The types derived from one, except by a blocked method."""
        blocked = frozenset(f"{block} {getattr(type_, 'block', '')}".split())
        key = (id(type_), blocked)
        if key not in self._known:
            self._known[key] = tuple(self._derive(type_, blocked))
        return self._known[key]

    def _derive(self, type_: Any, blocked: frozenset[str]) -> Iterator[Any]:
        seen = {_text_only(type_)}
        waiting = list(self._direct.get(id(type_), ()))
        for derived in waiting:
            if "#all" in blocked or (derived.derivation or "restriction") in blocked:
                continue
            waiting.extend(self._direct.get(id(derived), ()))
            admitted = _text_only(derived)
            if isinstance(derived, XsdComplexType) and not derived.abstract:
                if admitted is None or admitted not in seen:
                    yield derived
                seen.add(admitted)


def _text_only(type_: Any) -> tuple[Any, ...] | None:
    """What tells types without child elements apart, their attributes; None for other types."""
    if content_group(type_) is not None:
        return None
    return tuple(
        (name, id(a)) if name is None else (name, a.use, a.default, a.fixed, id(a.type))
        for name, a in getattr(type_, "attributes", {}).items()
    )


def wildcard(any_: Any, defined: Iterable[str] = (), siblings: Iterable[str] = ()) -> Wildcard:
    """What an ``xs:any`` or ``xs:anyAttribute`` admits.

    Args:
        any_: The wildcard.
        defined: The global names, for XSD 1.1 ``notQName="##defined"``.
        siblings: The names in the same content model, for ``##definedSibling``.
    """
    excluded = {name for name in any_.not_qname if not name.startswith("##")}
    if "##defined" in any_.not_qname:
        excluded.update(defined)
    if "##definedSibling" in any_.not_qname:
        excluded.update(siblings)
    names = frozenset(excluded)
    if any_.not_namespace:
        return Wildcard(frozenset(any_.not_namespace), True, names)
    if "##any" in any_.namespace:
        return Wildcard(excluded=names)
    if "##other" in any_.namespace:
        return Wildcard(frozenset({any_.target_namespace, ""}), True, names)
    return Wildcard(frozenset(any_.namespace), False, names)


def attributes_of(
    type_: Any, defined: Iterable[str], names: TypeNames
) -> tuple[tuple[Attribute, ...], tuple[Wildcard, ...]]:
    """The attributes of a type, and the wildcards beyond them."""
    declared: XsdAttributeGroup | dict[str, Any] = getattr(type_, "attributes", {})
    attributes, wildcards = [], [XSI_ATTRIBUTES]
    if is_open(type_):
        return (), (Wildcard(),)
    for attribute in declared.values():
        if attribute.name is None:
            wildcards.append(wildcard(attribute, defined))
        elif attribute.use != "prohibited":
            attributes.append(
                Attribute(
                    attribute.name,
                    names.show(attribute.type),
                    attribute.use == "required",
                    attribute.default if attribute.fixed is None else attribute.fixed,
                    attribute.fixed is not None,
                    _enumeration(attribute.type),
                )
            )
    return tuple(attributes), tuple(dict.fromkeys(wildcards))


def _enumeration(type_: Any) -> tuple[str, ...]:
    """The values that a simple type lists, as written."""
    facet = type_.get_facet(XSD_ENUMERATION)
    return tuple(element.get("value", "") for element in facet) if facet is not None else ()
