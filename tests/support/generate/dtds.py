"""Random DTDs: recursive, mixed, EMPTY, ANY, attributes of every type, prefixed names."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from extract.schema.model import Particle
from tests.support.generate.content import DTD_BOUNDS, content_model, skeleton
from tests.support.generate.draw import between, chance, pick, sample, subset, weighted
from tests.support.generate.vocabulary import ATTRIBUTE_NAMES, ELEMENT_NAMES

_OCCURRENCE = {(1, 1): "", (0, 1): "?", (0, None): "*", (1, None): "+"}


@dataclass(frozen=True, slots=True)
class Naming:
    """How the names of one DTD are written, and what they mean.

    Attributes:
        names: The element names as written, by number.
        bindings: Prefix to namespace URI; ``""`` is the default namespace.
        everywhere: Whether every element declares the bindings, or only the root.
        inner: The element that declares its own default namespace, as ``svg`` does; 0 for none.
    """

    names: tuple[str, ...]
    bindings: dict[str, str]
    everywhere: bool
    inner: int = 0

    def clark(self, element: int) -> str:
        """The expanded name of an element."""
        prefix, _, local = self.names[element].rpartition(":")
        uri = self.bindings.get(prefix, "")
        return f"{{{uri}}}{local}" if uri else local


def dtd_text(rng: Random, count: int) -> tuple[str, Naming]:
    """A DTD with so many elements, and how its names are meant."""
    naming = _naming(rng, count)
    children = skeleton(rng, count)
    lines: list[str] = []
    for element, name in enumerate(naming.names):
        lines.append(f"<!ELEMENT {name} {_content(rng, element, children[element], naming)}>")
        lines.extend(_attribute_list(rng, element, naming))
    return "\n".join(lines) + "\n", naming


def _naming(rng: Random, count: int) -> Naming:
    local = sample(rng, ELEMENT_NAMES, count)
    style = weighted(
        rng, ((6, "plain"), (1, "default"), (1, "prefixed"), (2, "both"), (1, "inner"))
    )
    if style == "plain":
        return Naming(tuple(local), {}, False)
    if style == "inner":
        return Naming(tuple(local), {}, False, between(rng, 1, count - 1))
    everywhere = chance(rng, 50)
    if style == "default":
        return Naming(tuple(local), {"": "urn:d"}, everywhere)
    if style == "prefixed":
        return Naming(tuple(f"p:{name}" for name in local), {"p": "urn:p"}, everywhere)
    bindings = {"p": "urn:p"} | ({"": "urn:d"} if chance(rng, 40) else {})
    # The root shows the default namespace: an unprefixed name further down could not declare it.
    names = [f"p:{name}" if chance(rng, 40) else name for name in local]
    return Naming((local[0] if "" in bindings else names[0], *names[1:]), bindings, everywhere)


def _content(rng: Random, owner: int, children: list[int], naming: Naming) -> str:
    if chance(rng, 5):
        return "ANY"
    if not children:
        return weighted(rng, ((4, "(#PCDATA)"), (2, "EMPTY")))
    if chance(rng, 30):
        return f"(#PCDATA | {' | '.join(naming.names[child] for child in children)})*"
    return _render(content_model(rng, owner, children, DTD_BOUNDS), naming, top=True)


def _render(model: Particle, naming: Naming, top: bool = False) -> str:
    occurrence = _OCCURRENCE[model.low, model.high]
    if model.kind == "element":
        return naming.names[model.element] + occurrence
    inner = (" | " if model.kind == "choice" else ", ").join(
        _render(part, naming) for part in model.parts
    )
    if len(model.parts) == 1 and not top and not occurrence:
        return inner
    return f"({inner}){occurrence}"


def _attribute_list(rng: Random, element: int, naming: Naming) -> list[str]:
    definitions = []
    if naming.everywhere or element == 0:
        for prefix, uri in naming.bindings.items():
            written = f"xmlns:{prefix}" if prefix else "xmlns"
            definitions.append(f'{written} CDATA #FIXED "{uri}"')
    if element and element == naming.inner:
        definitions.append('xmlns CDATA #FIXED "urn:i"')
    for name in subset(rng, ATTRIBUTE_NAMES, 30):
        prefixed = "p" in naming.bindings and chance(rng, 25)
        definitions.append((f"p:{name} " if prefixed else f"{name} ") + _attribute(rng))
    if chance(rng, 20):
        definitions.append("id ID " + pick(rng, ("#IMPLIED", "#REQUIRED")))
        if chance(rng, 50):
            definitions.append(pick(rng, ("ref IDREF #IMPLIED", "ref IDREFS #IMPLIED")))
    if chance(rng, 15):
        definitions.append("xml:lang " + pick(rng, ("CDATA #IMPLIED", 'NMTOKEN "en"')))
    name = naming.names[element]
    if definitions and chance(rng, 30):  # several lists for one element add up
        return [f"<!ATTLIST {name} {definition}>" for definition in definitions]
    return [f"<!ATTLIST {name}\n  " + "\n  ".join(definitions) + ">"] if definitions else []


def _attribute(rng: Random) -> str:
    kind, value = weighted(
        rng,
        (
            (5, ("CDATA", "x")),
            (2, ("NMTOKEN", "1")),
            (2, ("NMTOKENS", "x y")),
            (2, ("(x|y|z)", "y")),
            (1, ("(1|2|10)", "2")),
        ),
    )
    use = weighted(
        rng, ((5, "#IMPLIED"), (3, "#REQUIRED"), (2, f'"{value}"'), (1, f'#FIXED "{value}"'))
    )
    return f"{kind} {use}"
