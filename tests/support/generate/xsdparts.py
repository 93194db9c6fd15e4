"""The parts of a random XSD that do not depend on its elements: markup, attributes, wildcards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.support.generate.draw import chance, pick, subset, weighted
from tests.support.generate.vocabulary import ATTRIBUTE_NAMES


@dataclass(frozen=True, slots=True)
class AnyElement:
    """An ``xs:any``; ``symbol`` stands for its names where they overlap with no declared one."""

    namespace: str
    process: str
    symbol: str = ""


WILDCARDS = (
    AnyElement("##other", "lax", "##other"),
    AnyElement("##other", "skip", "##other"),
    AnyElement("##any", "lax"),
    AnyElement("##any", "skip"),
    AnyElement("##targetNamespace", "strict"),
    AnyElement("##local", "lax"),
    AnyElement("urn:other urn:p", "lax", "##other"),
)

_VALUES = {"xs:string": "x", "xs:integer": "1", "xs:NMTOKENS": "x y", "xs:boolean": "true"}
_ENUMERATION = '<xs:simpleType><xs:restriction base="xs:string">{}</xs:restriction></xs:simpleType>'


def block(head: str, inner: Sequence[str]) -> str:
    """An ``xs:`` element around others, indented."""
    lines = "\n".join(inner).replace("\n", "\n  ")
    return f"<xs:{head}>\n  {lines}\n</xs:{head.split()[0]}>" if inner else f"<xs:{head}/>"


def occurs(low: int, high: int | None) -> str:
    """The ``minOccurs`` and ``maxOccurs`` attributes, where they say more than the default."""
    text = "" if low == 1 else f' minOccurs="{low}"'
    return text + ("" if high == 1 else f' maxOccurs="{"unbounded" if high is None else high}"')


def any_wildcard(number: int, bounds: str) -> str:
    """One of `WILDCARDS` as a particle."""
    any_element = WILDCARDS[number]
    return (
        f'<xs:any namespace="{any_element.namespace}"'
        f' processContents="{any_element.process}"{bounds}/>'
    )


def simple_type(rng: Random) -> str:
    """A built-in simple type."""
    return weighted(
        rng, ((5, "xs:string"), (2, "xs:integer"), (2, "xs:decimal"), (1, "xs:boolean"))
    )


class AttributeWriter:
    """Declares attributes, some of them globally: those are in the target namespace."""

    def __init__(self, rng: Random, prefix: str) -> None:
        self.rng = rng
        self.prefix = prefix
        self.form = ' attributeFormDefault="qualified"' if chance(rng, 15) else ""
        self.shared = pick(rng, ATTRIBUTE_NAMES) if chance(rng, 40) else ""
        self.blocks = [f'<xs:attribute name="{self.shared}" type="xs:string"/>'] * bool(self.shared)

    def some(self, besides: Sequence[str] = (), with_wildcard: bool = False) -> list[str]:
        """A few attributes, none of a name that is declared in ``besides``."""
        taken = {line.split('"')[1].removeprefix(self.prefix) for line in besides}
        names = [name for name in ATTRIBUTE_NAMES if name not in taken]
        lines = [self._declare(name) for name in subset(self.rng, names, 30)]
        if with_wildcard and chance(self.rng, 15):
            lines.append('<xs:attribute name="id" type="xs:ID"/>')
        if with_wildcard and chance(self.rng, 15):
            namespace, process = weighted(
                self.rng,
                ((2, ("##other", "lax")), (1, ("##any", "skip")), (1, ("##any", "lax"))),
            )
            lines.append(f'<xs:anyAttribute namespace="{namespace}" processContents="{process}"/>')
        return lines

    def _declare(self, name: str) -> str:
        if name == self.shared:
            return f'<xs:attribute ref="{self.prefix}{name}"/>'
        if chance(self.rng, 25):
            values = "".join(f'<xs:enumeration value="{value}"/>' for value in ("x", "y", "2"))
            return f'<xs:attribute name="{name}">{_ENUMERATION.format(values)}</xs:attribute>'
        kind = weighted(
            self.rng,
            ((5, "xs:string"), (2, "xs:integer"), (1, "xs:NMTOKENS"), (1, "xs:boolean")),
        )
        use = weighted(
            self.rng,
            (
                (5, ""),
                (3, ' use="required"'),
                (1, f' default="{_VALUES[kind]}"'),
                (1, f' fixed="{_VALUES[kind]}"'),
            ),
        )
        return f'<xs:attribute name="{name}" type="{kind}"{use}/>'
