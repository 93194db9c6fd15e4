"""One content, many spellings: text, attribute values and the odd things between elements.

Whatever is written here has exactly the value it is given, however it is spelled: that is what
makes it good test data for anything that reads bytes.
"""

from __future__ import annotations

from random import Random

from tests.support.generate.draw import chance, pick, weighted
from tests.support.generate.vocabulary import ENTITIES, MARKUP_ENTITIES, PI_TARGETS

_SPACES = (" ", "\n", "\n  ", "\t", "\r\n", "  ", "\n\n")
_COMMENTS = ("", "c", " <b>no element</b> ", "x", " - ", "]]>", "<![CDATA[", "&e;", "1")
_INSTRUCTIONS = ("", " 1", ' href="x"', " <b/> ", " ?", " x")
_REFERENCES = {value: f"&{name};" for name, value in ENTITIES.items() if "&" not in value}
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Markup:
    """Spells content at random.

    Args:
        rng: Source of randomness.
        odd: How many of a hundred values get an unusual spelling.
        entities: Whether the document declares `ENTITIES`.
        markup_entities: Whether it declares `MARKUP_ENTITIES`.
    """

    def __init__(
        self, rng: Random, odd: int, entities: bool = False, markup_entities: bool = False
    ) -> None:
        self.rng = rng
        self.odd = odd
        self.entities = entities
        self.markup_entities = markup_entities

    def space(self) -> str:
        """Whitespace, at least one character."""
        return pick(self.rng, _SPACES)

    def comment(self) -> str:
        """A comment, perhaps with markup in it."""
        return f"<!--{pick(self.rng, _COMMENTS)}-->"

    def instruction(self) -> str:
        """A processing instruction."""
        data = pick(self.rng, _INSTRUCTIONS)
        return f"<?{pick(self.rng, PI_TARGETS)}{data}?>"

    def aside(self, space: bool) -> str:
        """Something that is no element and no text, or just whitespace."""
        kinds = ("comment", "instruction", *(("space",) * 2 if space else ()))
        kind = pick(self.rng, kinds)
        if kind == "space":
            return self.space()
        return self.comment() if kind == "comment" else self.instruction()

    def between(self) -> str:
        """Something that only mixed content has, besides plain text."""
        kinds = [(3, "<![CDATA[]]>"), (3, self.comment()), (2, self.instruction()), (2, "")]
        if self.entities:
            kinds += [(1, "&e;"), (1, "&nil;"), (1, "&nest;"), (1, "&amp1;")]
        if self.markup_entities:
            kinds += [(2, f"&{name};") for name in MARKUP_ENTITIES]
        return weighted(self.rng, kinds)

    def text(self, value: str) -> str:
        """Character data with this value."""
        if not value:
            return "<![CDATA[]]>" if chance(self.rng, self.odd) else ""
        if not chance(self.rng, self.odd):
            return _escaped(value)
        style = weighted(self.rng, ((3, "cdata"), (3, "reference"), (2, "split"), (2, "entity")))
        if style == "cdata":
            return "<![CDATA[" + value.replace("]]>", "]]]]><![CDATA[>") + "]]>"
        if style == "split":
            middle = self.rng.randrange(len(value) + 1)
            return _escaped(value[:middle]) + "<![CDATA[]]>" + self.text(value[middle:])
        if style == "entity" and self.entities and value in _REFERENCES:
            return _REFERENCES[value]
        return self._referenced(value)

    def attribute(self, name: str, value: str) -> str:
        """An attribute with this value, with the space before it.

        A tab or a line end in the value is a reference: bare, it would become a space.
        """
        odd = chance(self.rng, self.odd)
        if odd and self.entities and value in _REFERENCES:
            inner = _REFERENCES[value]
        else:
            inner = self._referenced(value) if odd and value else _escaped(value)
        for control in "\t\n\r":
            inner = inner.replace(control, f"&#{ord(control)};")
        if '"' in inner and ("'" in inner or odd):
            inner = inner.replace('"', "&quot;")
        quote = "'" if '"' in inner or (odd and "'" not in inner) else '"'
        equals = pick(self.rng, ("=", " = ", "\n=")) if odd else "="
        return f"{self.space() if odd else ' '}{name}{equals}{quote}{inner}{quote}"

    def _referenced(self, value: str) -> str:
        """The value with one character as a reference."""
        place = self.rng.randrange(len(value))
        code = ord(value[place])
        reference = pick(self.rng, (f"&#{code};", f"&#x{code:x};", f"&#x{code:04X};"))
        return _escaped(value[:place]) + reference + _escaped(value[place + 1 :])


def _escaped(value: str) -> str:
    if value.isalnum():
        return value
    return "".join(_ESCAPED.get(character, character) for character in value)
