"""The content of a random document, written depth first while the schema is walked.

Sizes are budgets: an element gets so many elements for its subtree, hands out shares to its
children, and hears back how many were used, so that what one child could not use goes to the next.
Time is linear in what is written; the call stack is as deep as the document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from extract.schema.model import Declaration, Particle, Text, local_of
from tests.support.generate.draw import chance, pick, sample, subset
from tests.support.generate.scope import Scope
from tests.support.generate.tags import Sabotage, Tags
from tests.support.generate.vocabulary import ELEMENT_NAMES, OTHER_NAMESPACES, UNKNOWN_NAMES, VALUES

_PLENTY = 50  # with so much of a budget left, an open end goes on


class Body:
    """Writes elements with all their content.

    Args:
        tags: Where they go.
        sabotage: What to do wrong, if anything.
        entities: Names of entities that hold a whole element, by its declaration.
    """

    def __init__(
        self,
        tags: Tags,
        sabotage: Sabotage | None = None,
        entities: Mapping[int, str] | None = None,
    ) -> None:
        self.tags = tags
        self.entities = entities or {}
        self.rng = tags.rng
        self.markup = tags.markup
        self.facts = tags.facts
        self.schema = tags.schema
        self.strict = tags.strict
        self.sabotage = sabotage
        self.indented = chance(self.rng, 40)

    def root(self, budget: int, depth: int) -> int:
        """Writes the document element; returns how many elements that are."""
        roots = self.schema.roots
        return self._element(pick(self.rng, roots), roots, budget, depth, None)

    def element(self, key: int) -> int:
        """Writes an element by itself, no larger than it has to be."""
        return self._element(key, (), 1, self.facts.height_of(key), None)

    def _element(
        self, key: int, rivals: Sequence[int], budget: int, depth: int, around: Scope | None
    ) -> int:
        """Writes an element; returns how many elements that are.

        Args:
            key: Its declaration.
            rivals: What else could stand here.
            budget: How many elements to write, itself included.
            depth: How many levels to write, its own included.
            around: The namespaces around it; None for the root.
        """
        declaration = self.schema.declarations[key]
        # Names in an entity mean what they mean where it is used first.
        if key in self.entities and around is not None and not around and chance(self.rng, 50):
            self.tags.put(f"&{self.entities[key]};")
            return 1
        wrong = self.sabotage.due() if self.sabotage else ""
        tag = self.tags.start(declaration, rivals, around, wrong)
        used = 1
        if wrong == "child":
            stray = pick(self.rng, (*ELEMENT_NAMES, "zz", "{urn:w}a"))
            space = ' xmlns="urn:w"' if stray.startswith("{") else ""
            self.tags.put(f"<{local_of(stray)}{space}/>")
        if not tag.nil:
            if declaration.content and self.strict:
                used += self._particle(
                    declaration, declaration.content, budget - 1, depth - 1, tag.scope
                )
                self._gap(declaration.text)
            elif declaration.children or declaration.wildcards:
                used += self._any_order(declaration, budget - 1, depth - 1, tag.scope)
                self._gap(declaration.text)
            else:
                self._leaf(declaration)
        self.tags.end(tag)
        return used

    # Content in the schema's order and numbers

    def _particle(
        self, owner: Declaration, particle: Particle, budget: int, depth: int, scope: Scope
    ) -> int:
        used = done = idle = 0
        while done < particle.low or (
            idle < 3 and self._goes_on(particle, done, budget - used, depth)
        ):
            left = max(0, budget - used)
            share = left if particle.high == 1 else self._share(left)
            written = self._once(owner, particle, share, depth, scope)
            idle = 0 if written else idle + 1  # (a*, b?)* may well repeat nothing
            used += written
            done += 1
        return used

    def _goes_on(self, particle: Particle, done: int, left: int, depth: int) -> bool:
        if left <= 0 or done == particle.high or self.facts.height_once(particle) > depth:
            return False
        if particle.high is not None:
            return chance(self.rng, 100 if left > _PLENTY else 90 if left > 5 else 50)
        return left > _PLENTY or chance(self.rng, 95 if left > 5 else 75)

    def _share(self, left: int) -> int:
        """Anything from one element to all that is left, every order of magnitude alike."""
        return left >> self.rng.randrange(left.bit_length()) if left else 0

    def _once(
        self, owner: Declaration, particle: Particle, budget: int, depth: int, scope: Scope
    ) -> int:
        if particle.kind == "element":
            variants = self.facts.variants(owner, particle.element)
            fitting = [key for key in variants if self.facts.height_of(key) <= depth]
            key = pick(self.rng, fitting or variants[:1])
            self._gap(owner.text)
            return self._element(key, owner.children, budget, depth, scope)
        if particle.kind == "any":
            return self._wild(owner, budget, depth, scope)
        parts = particle.parts
        if particle.kind == "choice":
            heights = [self.facts.height(part) for part in parts]
            enough = max(depth if budget > 0 else 0, min(heights))
            open_parts = [p for p, height in zip(parts, heights, strict=True) if height <= enough]
            if budget > 5 and chance(self.rng, 70):
                open_parts = [p for p in open_parts if self.facts.is_fertile(p)] or open_parts
            return self._particle(owner, pick(self.rng, open_parts), budget, depth, scope)
        if particle.kind == "all":
            parts = tuple(sample(self.rng, parts, len(parts)))
        used = 0
        for number, part in enumerate(parts, 1):
            left = max(0, budget - used)
            share = left if number == len(parts) else left * self.rng.randrange(101) // 100
            used += self._particle(owner, part, share, depth, scope)
        return used

    # Content in any order and number

    def _any_order(self, owner: Declaration, budget: int, depth: int, scope: Scope) -> int:
        fitting = [k for k in owner.children if self._fits(k, depth)]
        used, written = 0, 1
        while written and used < budget and (budget - used > _PLENTY or chance(self.rng, 90)):
            share = self._share(budget - used)
            if fitting and not (owner.wildcards and chance(self.rng, 30)):
                self._gap(owner.text)
                key = pick(self.rng, fitting)
                written = self._element(key, owner.children, share, depth, scope)
            else:
                written = self._wild(owner, share, depth, scope)
            used += written
        return used

    def _fits(self, key: int, depth: int) -> bool:
        if self.schema.declarations[key].abstract:
            return False
        return depth >= (self.facts.height_of(key) if self.strict else 1)

    def _wild(self, owner: Declaration, budget: int, depth: int, scope: Scope) -> int:
        """An element that only a wildcard admits; returns 0 if there is none that fits."""
        known = self.facts.strays(owner) or [
            key
            for key in self.schema.roots
            if all(w.admits(self.schema.declarations[key].name) for w in owner.wildcards)
        ]
        known = [key for key in known if self._fits(key, depth)]
        if known and (not owner.wildcards or chance(self.rng, 30)):
            self._gap(owner.text)
            return self._element(pick(self.rng, known), known, budget, depth, scope)
        if not owner.wildcards or (depth <= 0 and not self.strict):
            return 0
        local = UNKNOWN_NAMES if self.strict else (*UNKNOWN_NAMES, *ELEMENT_NAMES)
        names = [f"{{{uri}}}{pick(self.rng, local)}" for uri in OTHER_NAMESPACES]
        names.append(pick(self.rng, local))
        admitted = [name for name in names if all(w.admits(name) for w in owner.wildcards)]
        if not admitted:
            return 0
        self._gap(owner.text)
        return self._unknown(pick(self.rng, admitted), admitted, budget, depth, scope)

    def _unknown(self, name: str, others: list[str], budget: int, depth: int, scope: Scope) -> int:
        """An element of no schema, and at times more of the kind in it."""
        attributes = {name: pick(self.rng, VALUES) for name in subset(self.rng, ("k", "zz"), 30)}
        tag = self.tags.start_as(name, attributes, scope)
        used = 1
        self._gap(Text.ANY)
        while used < min(budget, 5) and depth > 1 and chance(self.rng, 40):
            used += self._unknown(
                pick(self.rng, others), others, budget - used, depth - 1, tag.scope
            )
            self._gap(Text.ANY)
        self.tags.end(tag)
        return used

    # Text and what else stands between tags

    def _leaf(self, declaration: Declaration) -> None:
        if declaration.text is Text.ANY:
            value = self.tags.values.of_type(declaration.type)
            self.tags.put(self.markup.text(value))
        if chance(self.rng, self.markup.odd):
            self.tags.put(self._aside(declaration.text, simple=True))

    def _gap(self, text: Text) -> None:
        """What stands before a child or after the last one."""
        if text is Text.ANY and chance(self.rng, 40):
            self.tags.put(self.markup.text(pick(self.rng, VALUES)))
        elif self.indented and text is not Text.NONE:
            self.tags.put("\n" if self.markup.odd == 0 else self.markup.space())
        if chance(self.rng, self.markup.odd):
            self.tags.put(self._aside(text, simple=False))

    def _aside(self, text: Text, simple: bool) -> str:
        """Something odd, if it may stand here."""
        if not self.strict:
            return self.markup.between() if chance(self.rng, 60) else self.markup.text("x")
        if text is Text.NONE:
            return ""
        if text is Text.SPACE:
            return self.markup.aside(space=True)
        return self.markup.aside(space=False) if simple else self.markup.between()
