"""Start and end tags of random documents: names, attributes, ``xsi:``, both spellings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from extract.schema.model import XSI_NAMESPACE, Declaration, Schema, local_of
from tests.support.generate.draw import chance, pick, sample, subset
from tests.support.generate.facts import Facts
from tests.support.generate.markup import Markup
from tests.support.generate.scope import Naming, Scope
from tests.support.generate.values import Values
from tests.support.generate.vocabulary import ATTRIBUTE_NAMES, OTHER_NAMESPACES, VALUES

NIL = f"{{{XSI_NAMESPACE}}}nil"
TYPE = f"{{{XSI_NAMESPACE}}}type"
LOCATION = f"{{{XSI_NAMESPACE}}}schemaLocation"


@dataclass(slots=True)
class Sabotage:
    """One thing to do wrong, at the element with this number."""

    kind: str  # child, attribute, name, namespace
    countdown: int

    def due(self) -> str:
        """Counts an element; at the one, what to do wrong."""
        self.countdown -= 1
        return self.kind if self.countdown == -1 else ""


@dataclass(frozen=True, slots=True)
class Tag:
    """A start tag that was written, except for its last character."""

    name: str
    scope: Scope
    nil: bool = False


class Tags:
    """Writes tags, and content between them.

    Args:
        rng: Source of randomness.
        facts: About the schema.
        markup: How text and attributes are spelled.
        write: Takes the text, piece by piece.
        strict: Leave nothing out that the schema requires.
    """

    def __init__(
        self,
        rng: Random,
        facts: Facts,
        markup: Markup,
        write: Callable[[str], object],
        strict: bool,
    ) -> None:
        self.rng = rng
        self.strict = strict
        self.facts = facts
        self.schema: Schema = facts.schema
        self.markup = markup
        self.write = write
        self.naming = Naming(rng, self.schema, strict, markup.odd)
        self.values = Values(rng, strict)
        self._open = False  # the last start tag still lacks its last character

    def put(self, text: str) -> None:
        """Writes content, closing the start tag before it if that is still open."""
        if text:
            self.write(f">{text}" if self._open else text)
            self._open = False

    def start(
        self, declaration: Declaration, rivals: Sequence[int], around: Scope | None, wrong: str = ""
    ) -> Tag:
        """Writes the start tag of an element.

        Args:
            declaration: Of the element.
            rivals: What else could stand here.
            around: What is declared around it; None for the root.
            wrong: What to do wrong: see `Sabotage`.
        """
        name, attributes = declaration.name, self._attributes(declaration)
        if wrong == "name":
            name = pick(self.rng, [d.name for d in self.schema.declarations] + ["zz", "{urn:w}a"])
        elif wrong == "namespace":
            name = pick(self.rng, (f"{{urn:w}}{local_of(name)}", local_of(name)))
        elif wrong == "attribute":
            attributes[pick(self.rng, (*ATTRIBUTE_NAMES, "zz", "{urn:w}k", "id"))] = "x"
        nil = declaration.nillable and chance(self.rng, 15)
        if nil:
            attributes[NIL] = pick(self.rng, ("true", "1"))
        elif declaration.nillable and chance(self.rng, 5):
            attributes[NIL] = "false"
        if around is None and self.schema.kind == "xsd" and chance(self.rng, self.markup.odd):
            attributes[LOCATION] = "urn:nowhere nowhere.xsd"
        type_name = self._instance_type(declaration, rivals)
        declared = self.naming.outermost() if around is None else {}
        return self.start_as(name, attributes, around or {}, declared, type_name, nil)

    def start_as(
        self,
        name: str,
        attributes: Mapping[str, str],
        around: Scope,
        declared: Mapping[str, str] = {},
        type_name: str = "",
        nil: bool = False,
    ) -> Tag:
        """Writes a start tag with just these attributes."""
        expanded = list(attributes)
        if type_name:  # a name in a value: the second one is written there
            expanded += [TYPE, type_name]
        written, names, new = self.naming.element(name, expanded, around, declared)
        values = [*attributes.values(), *names[len(attributes) + 1 :]]
        parts = [self.markup.attribute(n, v) for n, v in zip(names, values, strict=False)]
        for prefix, uri in new.items():
            parts.append(self.markup.attribute(f"xmlns:{prefix}" if prefix else "xmlns", uri))
        if len(parts) > 1:
            parts = sample(self.rng, parts, len(parts))
        self.put(f"<{written}{''.join(parts)}")
        self._open = True
        return Tag(written, {**around, **new} if new else around, nil)

    def end(self, tag: Tag) -> None:
        """Writes the end tag, or ends the start tag if nothing came in between."""
        odd = chance(self.rng, self.markup.odd)
        if self._open and not chance(self.rng, 30):
            self.write(" />" if odd else "/>")
        else:
            close = ">" if self._open else ""
            self.write(f"{close}</{tag.name}{self.markup.space() if odd else ''}>")
        self._open = False

    def _attributes(self, declaration: Declaration) -> dict[str, str]:
        found: dict[str, str] = {}
        for attribute in declaration.attributes:
            value = self.values.of_attribute(attribute)
            if value is not None:
                found[attribute.name] = value
        for wildcard in declaration.attribute_wildcards:
            names = [f"{{{uri}}}{name}" for uri in OTHER_NAMESPACES for name in ("k", "w")]
            for name in subset(self.rng, [*names, "zz"], 15) if wildcard.admits("{urn:o}k") else ():
                if wildcard.admits(name):
                    found.setdefault(name, pick(self.rng, VALUES))
        return found

    def _instance_type(self, declaration: Declaration, rivals: Sequence[int]) -> str:
        type_name = self.facts.type_name(declaration)
        if not type_name:
            return ""
        needed = self.strict and self.facts.is_ambiguous(declaration, rivals)
        return type_name if needed or chance(self.rng, self.markup.odd // 2) else ""
