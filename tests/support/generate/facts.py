"""What a document writer must know of a schema: how content ends, what ``xsi:type`` decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from extract.schema.model import Declaration, Particle, Schema

NEVER = 1_000_000


class Facts:
    """Facts about the declarations of one schema, worked out once."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._abstract = {d.name for d in schema.declarations if d.abstract}
        self._variants: dict[tuple[int, int], tuple[int, ...]] = {}
        self._heights = [NEVER] * len(schema.declarations)
        changed = True
        while changed:
            changed = False
            for declaration in schema.declarations:
                content = declaration.content
                height = 1 + (self.height(content) if content else 0)
                if not declaration.abstract and height < self._heights[declaration.key]:
                    self._heights[declaration.key] = height
                    changed = True

    def height_of(self, key: int) -> int:
        """The least height of an element, itself included: 1 if it requires no child."""
        return self._heights[key]

    def height(self, particle: Particle) -> int:
        """The least number of levels that a particle needs, 0 if it may be left out."""
        return 0 if particle.low == 0 else self.height_once(particle)

    def height_once(self, particle: Particle) -> int:
        """The same if it is not left out."""
        if particle.kind == "element":
            return self._heights[particle.element]
        if particle.kind == "any":
            return 1
        heights = [self.height(part) for part in particle.parts]
        return min(heights, default=0) if particle.kind == "choice" else max(heights, default=0)

    def is_fertile(self, particle: Particle) -> bool:
        """Whether what stands here may have children in turn."""
        declarations = self.schema.declarations
        return any(declarations[leaf.element].children for leaf in _elements(particle))

    def variants(self, owner: Declaration, key: int) -> tuple[int, ...]:
        """What may stand where the content model has this element: itself or with an ``xsi:type``.

        The model lists such variants as edges only. Below a strict wildcard they cannot be told
        from what that admits, so there are none.
        """
        known = self._variants.get((owner.key, key))
        if known is None:
            name = self.schema.declarations[key].name
            others = () if has_strict_wildcard(owner) else self._unnamed(owner)
            same = (k for k in others if self.schema.declarations[k].name == name)
            known = self._variants[owner.key, key] = (key, *same)
        return known

    def strays(self, owner: Declaration) -> list[int]:
        """What only a strict wildcard admits in this content."""
        if not has_strict_wildcard(owner):
            return []
        names = {self.schema.declarations[leaf.element].name for leaf in _elements(owner.content)}
        return [k for k in self._unnamed(owner) if self.schema.declarations[k].name not in names]

    def type_name(self, declaration: Declaration) -> str:
        """Expanded name of the type that ``xsi:type`` may give; empty if it has none.

        An element may always name its own type. Simple types are left out: the model calls an
        anonymous one by the name of its base.
        """
        prefix, colon, local = declaration.type.rpartition(":")
        if self.schema.kind == "dtd" or "anonymous" in declaration.type or prefix == "xs":
            return ""
        if declaration.type.startswith("{") or not colon:
            return declaration.type
        return f"{{{self.schema.prefixes[prefix]}}}{local}"

    def is_ambiguous(self, declaration: Declaration, rivals: Sequence[int]) -> bool:
        """Whether something else of its name may stand here, so that only ``xsi:type`` tells."""
        same = sum(self.schema.declarations[k].name == declaration.name for k in rivals)
        return same > 1 or declaration.name in self._abstract

    def _unnamed(self, owner: Declaration) -> list[int]:
        named = {leaf.element for leaf in _elements(owner.content)}
        return [key for key in owner.children if key not in named]


def has_strict_wildcard(declaration: Declaration) -> bool:
    """Whether the content has a wildcard that admits only what is declared."""
    leaves = _leaves(declaration.content)
    return not declaration.wildcards and any(leaf.kind == "any" for leaf in leaves)


def _elements(content: Particle | None) -> Iterator[Particle]:
    return (leaf for leaf in _leaves(content) if leaf.kind == "element")


def _leaves(content: Particle | None) -> Iterator[Particle]:
    todo = [content] if content else []
    while todo:
        particle = todo.pop()
        todo.extend(particle.parts)
        if not particle.parts:
            yield particle
