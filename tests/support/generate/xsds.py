"""Random XML Schemas (1.0): whatever makes the type of an element hard to know.

Local elements of one name with different types, references, substitution groups with abstract
heads, types derived for ``xsi:type``, nillable elements, wildcards for elements and attributes,
simple content, ``xs:all``, named groups; with a target namespace, qualified or not, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from extract.schema.model import Particle
from tests.support.generate.content import (
    ANYTHING,
    XSD_BOUNDS,
    can_end,
    content_model,
    is_deterministic,
    skeleton,
)
from tests.support.generate.draw import chance, pick, sample, weighted
from tests.support.generate.vocabulary import ELEMENT_NAMES
from tests.support.generate.xsdparts import (
    WILDCARDS,
    AttributeWriter,
    any_wildcard,
    block,
    occurs,
    simple_type,
)


@dataclass(slots=True)
class _Element:
    """One element of the plan, by its number; its type is ``T<number>`` unless ``simple``."""

    number: int
    name: str
    is_global: bool
    simple: str = ""  # a built-in type instead of a complex one
    nillable: bool = False
    abstract: bool = False
    anonymous: bool = False  # the complex type stands inside the (global) element
    members: list[str] = field(default_factory=list)  # names of its substitution group


@dataclass(frozen=True, slots=True)
class _Style:
    target: str
    qualified: bool
    prefix: str  # before references to our own components


def xsd_text(rng: Random, count: int) -> tuple[str, str]:
    """An XSD around so many types, and the expanded name of its root."""
    writer = _Writer(rng, _style(rng), count)
    return writer.write(), writer.expanded(writer.elements[0].name, True)


def _style(rng: Random) -> _Style:
    target = weighted(rng, ((4, ""), (6, "urn:t")))
    return _Style(target, chance(rng, 50), pick(rng, ("t:", "")) if target else "")


class _Writer:
    """Plans the elements first, then writes one type after the other."""

    def __init__(self, rng: Random, style: _Style, count: int) -> None:
        self.rng = rng
        self.style = style
        self.children = skeleton(rng, count)
        self.attributes = AttributeWriter(rng, style.prefix)
        self.blocks: list[str] = []
        self.groups = 0
        self.free_names = sample(rng, ELEMENT_NAMES, len(ELEMENT_NAMES))
        self.elements: list[_Element] = []
        for number in range(count):
            self.elements.append(self._plan(number))

    def expanded(self, name: str, is_global: bool) -> str:
        """The expanded name of an element that is declared globally or locally."""
        in_target = self.style.target and (is_global or self.style.qualified)
        return f"{{{self.style.target}}}{name}" if in_target else name

    def write(self) -> str:
        """The text of the schema."""
        for element in self.elements:
            if element.is_global and not element.simple and chance(self.rng, 25):
                self._substitution_group(element)
        for element in self.elements:
            body = "" if element.simple else self._complex_type(element)
            if element.is_global:
                inline = [body] if body and element.anonymous else []
                self.blocks.append(block(f"element{self._declared(element)}", inline))
            if body and not element.anonymous:
                self.blocks.append(body)
        return block(self._header(), [*self.attributes.blocks, *self.blocks]) + "\n"

    def _header(self) -> str:
        style, header = self.style, 'schema xmlns:xs="http://www.w3.org/2001/XMLSchema"'
        if style.target:
            bound = "xmlns:t" if style.prefix else "xmlns"
            header += f' targetNamespace="{style.target}" {bound}="{style.target}"'
        if style.qualified:
            header += ' elementFormDefault="qualified"'
        return header + self.attributes.form

    def _plan(self, number: int) -> _Element:
        rng = self.rng
        is_global = number == 0 or chance(rng, 40)
        if self.elements and not is_global and chance(rng, 30):
            name = pick(rng, self.elements).name  # one name, several types
        else:
            name = self.free_names.pop()
        element = _Element(number, name, is_global)
        if not self.children[number] and chance(rng, 60):
            element.simple = simple_type(rng)
        element.anonymous = is_global and not element.simple and chance(rng, 30)
        # The model merges elements of one name and type, by xsi:type too: all may be nil, or none.
        twins = [other for other in self.elements if other.name == name]
        element.nillable = twins[0].nillable if twins else chance(rng, 20)
        return element

    def _substitution_group(self, head: _Element) -> None:
        """Adds members; the type is shared, so that every member is a valid substitute."""
        if head.number == 0 or not self.free_names:
            return
        head.anonymous = False
        head.abstract = chance(self.rng, 40)
        for _ in range(1 + chance(self.rng, 30)):
            if self.free_names:
                name = self.free_names.pop()
                head.members.append(name)
                reference = self.style.prefix + head.name
                self.blocks.append(
                    f'<xs:element name="{name}" type="{self._type(head)}"'
                    f' substitutionGroup="{reference}"/>'
                )

    def _type(self, element: _Element) -> str:
        return element.simple or f"{self.style.prefix}T{element.number}"

    def _declared(self, element: _Element) -> str:
        text = f' name="{element.name}"'
        if not element.anonymous:
            text += f' type="{self._type(element)}"'
        text += ' abstract="true"' if element.abstract else ""
        return text + (' nillable="true"' if element.nillable else "")

    # Types

    def _complex_type(self, element: _Element) -> str:
        rng, head = self.rng, "complexType"
        if not element.anonymous:
            head += f' name="T{element.number}"'
        attributes = self.attributes.some(with_wildcard=True)
        children = self._distinct(self.children[element.number])
        if not children:
            if chance(rng, 60):
                extension = block('extension base="xs:string"', attributes)
                return block(head, [block("simpleContent", [extension])])
            return block(head + (' mixed="true"' if chance(rng, 20) else ""), attributes)
        if chance(rng, 30):
            head += ' mixed="true"'
        if chance(rng, 12) and len(children) < 5:
            parts = tuple(Particle("element", pick(rng, (1, 0)), 1, element=c) for c in children)
            model = can_end(Particle("all", parts=parts), element.number)
            return block(head, [self._render(model), *attributes])
        model = self._model(element.number, children)
        if not element.anonymous and chance(rng, 25):
            head += self._derive(element, model, attributes, ' mixed="true"' in head)
        return block(head, [self._render(model), *attributes])

    def _model(self, owner: int, children: Sequence[int]) -> Particle:
        model = content_model(self.rng, owner, children, XSD_BOUNDS, repeat=False)
        if chance(self.rng, 25):
            # The first wildcard fits anywhere: it admits other namespaces only.
            for wildcard in (self.rng.randrange(len(WILDCARDS)), 0):
                low, high = weighted(self.rng, ((3, (0, None)), (2, (0, 1)), (1, (1, 1))))
                strict = WILDCARDS[wildcard].process == "strict"
                leaf = Particle("any", 0 if strict else low, high, element=wildcard)
                longer = Particle("sequence", parts=(model, leaf))
                if is_deterministic(longer, self._symbols):
                    return longer
        return model

    def _derive(
        self, base: _Element, model: Particle, attributes: Sequence[str], mixed: bool
    ) -> str:
        """Adds a type that extends this one; returns what to add to the head of the base type."""
        rng = self.rng
        used = {name for leaf in _leaves(model) for name in self._symbols(leaf)}
        more = [
            child
            for child in sample(rng, range(len(self.elements)), 2)
            if not used & self._symbols(Particle("element", element=child))
        ]
        content = []
        if more := self._distinct(more):
            addition = content_model(rng, base.number, more, XSD_BOUNDS, repeat=False)
            whole = Particle("sequence", parts=(model, addition))
            if is_deterministic(whole, self._symbols):
                content = [self._render(addition)]
        content += self.attributes.some(besides=attributes)
        extension = block(f'extension base="{self._type(base)}"', content)
        head = f'complexType name="T{base.number}x"' + (' mixed="true"' if mixed else "")
        self.blocks.append(block(head, [block("complexContent", [extension])]))
        return ' abstract="true"' if base.number and chance(rng, 15) else ""

    def _distinct(self, children: Sequence[int]) -> list[int]:
        """Those children that differ in all their names: one name in one model has one type."""
        kept: list[int] = []
        seen: set[str] = set()
        for child in children:
            names = self._symbols(Particle("element", element=child))
            if not names & seen:
                seen |= names
                kept.append(child)
        return kept

    def _symbols(self, leaf: Particle) -> frozenset[str]:
        if leaf.kind == "any":
            return frozenset((WILDCARDS[leaf.element].symbol or ANYTHING,))
        element = self.elements[leaf.element]
        own = self.expanded(element.name, element.is_global)
        return frozenset((own, *(self.expanded(name, True) for name in element.members)))

    def _render(self, model: Particle) -> str:
        bounds = occurs(model.low, model.high)
        if model.kind == "any":
            return any_wildcard(model.element, bounds)
        if model.kind == "element":
            element = self.elements[model.element]
            if element.is_global:
                return f'<xs:element ref="{self.style.prefix}{element.name}"{bounds}/>'
            return f"<xs:element{self._declared(element)}{bounds}/>"
        if model.kind == "all" or not chance(self.rng, 20):
            return self._compositor(model, bounds)
        self.groups += 1
        name = f"G{self.groups}"
        self.blocks.append(block(f'group name="{name}"', [self._compositor(model, "")]))
        return f'<xs:group ref="{self.style.prefix}{name}"{bounds}/>'

    def _compositor(self, model: Particle, bounds: str) -> str:
        return block(model.kind + bounds, [self._render(part) for part in model.parts])


def _leaves(model: Particle) -> list[Particle]:
    if not model.parts:
        return [model]
    return [leaf for part in model.parts for leaf in _leaves(part)]
