"""Constructors of elements, as XQuery writes them: tags, text, references, braces."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Final

from extract.errors import QuerySyntaxError
from extract.flwr.ast import (
    AttributeConstructor,
    Characters,
    Content,
    ElementConstructor,
    Enclosed,
    Loop,
    Markup,
)
from extract.flwr.hints import not_taken
from extract.flwr.references import HINT, NO_REFERENCE, BadReference, character_at
from extract.xpath.ast import Expr
from extract.xpath.mentions import Mention
from extract.xpath.names import XML_NAMESPACE
from extract.xpath.parser import ExpressionParser

_SPACE: Final = " \t\r\n"
_TEXT: Final = re.compile(r"[^<&{}]+")
_VALUE: Final = {'"': re.compile(r'[^<&{}"]+'), "'": re.compile(r"[^<&{}']+")}
_TARGET: Final = re.compile(r"(?![xX][mM][lL](?:\s|$))[^\W\d][\w.\-]*(?:\s|$)")
_LITERALS: Final = (("<!--", "-->", "comment"), ("<?", "?>", "processing instruction"))


class ConstructorParser(ABC):
    """Reads constructors; whoever extends it reads what is in braces.

    Attributes:
        x: Reads expressions, and knows the place.
        elements: The names that were read, of elements and attributes.
    """

    def __init__(self, x: ExpressionParser) -> None:
        self.x = x
        self.elements: list[Mention] = []
        self._depth = 0

    @abstractmethod
    def expression(self) -> Expr:
        """Reads an expression."""

    @abstractmethod
    def enclosed_loop(self) -> Loop | None:
        """Reads a loop, if there is one here."""

    def error(self, reason: str, hint: str = "", offset: int | None = None) -> QuerySyntaxError:
        """An error at this place, or at another one."""
        return self.x.error(reason, hint, offset)

    def element(self) -> ElementConstructor:
        """Reads an element, from its ``<`` on."""
        self._depth += 1
        if self._depth > self.x.limits.xpath_depth:
            raise self.error(self.x.limits.passed("xpath_depth"))
        opened = self.x.at
        self.x.at += 1
        offset = self.x.at
        name = self._name("an element", is_element=True)
        attributes, namespaces = self._attributes(name)
        content: tuple[Content, ...] = ()
        if self.x.text.startswith("/>", self.x.at):
            self.x.at += 2
        else:
            self.x.at += 1
            content = self._content(name, opened)
        self._depth -= 1
        return ElementConstructor(name, attributes, namespaces, content, offset)

    # -- tags

    def _name(self, what: str, is_element: bool) -> str:
        start = self.x.at
        local, prefix = self.x.name(), ""
        if local and self.x.peek() == ":":
            self.x.at += 1
            prefix, local = local, self.x.name()
        if not local:
            raise self.error(f"expected the name of {what}")
        if prefix == "xmlns" and is_element:
            raise self.error("'xmlns' is no prefix for an element", offset=start)
        self.elements.append(Mention(start, prefix, local))
        return f"{prefix}:{local}" if prefix else local

    def _attributes(
        self, element: str
    ) -> tuple[tuple[AttributeConstructor, ...], tuple[tuple[str, str], ...]]:
        attributes: dict[str, AttributeConstructor] = {}
        namespaces: dict[str, str] = {}
        while True:
            before = self.x.at
            here = self.x.skip()
            if here == ">" or self.x.text.startswith("/>", self.x.at):
                return tuple(attributes.values()), tuple(namespaces.items())
            if not here:
                raise self.error(f"the tag <{element} is not closed", "add the '>'")
            if self.x.at == before:
                raise self.error("expected white space, '>' or '/>'")
            offset = self.x.at
            name = self._name("an attribute", is_element=False)
            if self.x.skip() != "=":
                raise self.error(f"expected '=' after {name}", f'write {name}="…"')
            self.x.at += 1
            value = self._value(name)
            if name == "xmlns" or name.startswith("xmlns:"):
                self.elements.pop()
                prefix = name.partition(":")[2]
                if prefix in namespaces:
                    raise self.error(f"{name} is declared twice", offset=offset)
                namespaces[prefix] = self._uri(prefix, name, value, offset)
            elif name in attributes:
                raise self.error(f"the attribute {name} is there twice", offset=offset)
            else:
                attributes[name] = AttributeConstructor(name, value, offset)

    def _uri(
        self, prefix: str, name: str, value: tuple[Characters | Enclosed, ...], offset: int
    ) -> str:
        if any(isinstance(part, Enclosed) for part in value):
            raise self.error(f"the namespace of {name} is computed", "write it out", offset)
        uri = "".join(part.value for part in value if isinstance(part, Characters))
        reserved = prefix == "xmlns" or (prefix == "xml") != (uri == XML_NAMESPACE)
        if (prefix and not uri) or reserved:
            raise self.error(f"{name} cannot be bound to {uri!r}", offset=offset)
        return uri

    def _value(self, name: str) -> tuple[Characters | Enclosed, ...]:
        """The value of an attribute, in quotes; a doubled quote is one."""
        quote = self.x.skip()
        if quote not in ('"', "'"):
            raise self.error(f"expected the value of {name} in quotes", f'write {name}="…"')
        opened = self.x.at
        self.x.at += 1
        parts: list[Characters | Enclosed] = []
        text: list[str] = []
        while True:
            run = _VALUE[quote].match(self.x.text, self.x.at)
            if run:
                self.x.at = run.end()
                text.append(re.sub(r"\r\n|[\t\r\n]", " ", run[0]))
            here = self.x.peek()
            if here == quote:
                self.x.at += 1
                if self.x.peek() != quote:
                    break
                self.x.at += 1
                text.append(quote)
            elif here == "":
                raise self.error(f"the value of {name} has no end", f"add the {quote}", opened)
            elif here == "<":
                raise self.error("'<' cannot stand in the value of an attribute", "write &lt;")
            elif not self._character(text):
                if text:
                    parts.append(Characters("".join(text)))
                    text = []
                parts.append(self._enclosed())
        if text:
            parts.append(Characters("".join(text)))
        return tuple(parts)

    # -- content

    def _content(self, name: str, opened: int) -> tuple[Content, ...]:
        content: list[Content] = []
        text: list[str] = []
        kept = False  # whether space in the text is no boundary space

        def end_text() -> None:
            nonlocal kept
            value = "".join(text)
            if value and (kept or value.strip(_SPACE)):
                content.append(Characters(value))
            text.clear()
            kept = False

        while True:
            run = _TEXT.match(self.x.text, self.x.at)
            if run:
                self.x.at = run.end()
                text.append(re.sub(r"\r\n?", "\n", run[0]))
            at = self.x.at
            here = self.x.peek()
            if here == "":
                reason = f"<{name}> is not closed"
                raise self.error(reason, f"add </{name}>", opened)
            if self.x.text.startswith("<![CDATA[", at):
                text.append(self._until("]]>", len("<![CDATA["), "CDATA section"))
                kept = True
            elif self.x.text.startswith("</", at):
                end_text()
                self._end_tag(name)
                return tuple(content)
            elif here == "<":
                end_text()
                content.append(self._markup() or self.element())
            elif here == "&" or self.x.text[at : at + 2] in ("{{", "}}") or here == "}":
                kept |= here == "&"
                self._character(text)
            else:
                end_text()
                content.append(self._braces())

    def _end_tag(self, name: str) -> None:
        start = self.x.at
        self.x.at += 2
        begin = self.x.at
        self.x.name()
        if self.x.peek() == ":":
            self.x.at += 1
            self.x.name()
        found = self.x.text[begin : self.x.at]
        if found != name:
            raise self.error(f"</{found}> closes <{name}>", f"write </{name}>", start)
        if self.x.skip() != ">":
            raise self.error(f"</{name} is not closed", "add the '>'")
        self.x.at += 1

    def _until(self, end: str, skipped: int, what: str) -> str:
        start = self.x.at
        stop = self.x.text.find(end, start + skipped)
        if stop < 0:
            raise self.error(f"this {what} has no end", f"add {end}", start)
        self.x.at = stop + len(end)
        return self.x.text[start + skipped : stop]

    def _markup(self) -> Markup | None:
        """A comment or processing instruction, which is written as it is."""
        start = self.x.at
        for begin, end, what in _LITERALS:
            if self.x.text.startswith(begin, start):
                inside = self._until(end, len(begin), what)
                if begin == "<!--" and ("--" in inside or inside.endswith("-")):
                    raise self.error("'--' cannot stand in a comment", offset=start)
                if begin == "<?" and not _TARGET.match(inside):
                    raise self.error("a processing instruction starts with its name", offset=start)
                return Markup(self.x.text[start : self.x.at])
        return None

    def _character(self, text: list[str]) -> bool:
        """Reads a reference or a doubled brace into a text; returns whether one was there."""
        at = self.x.at
        two = self.x.text[at : at + 2]
        if two in ("{{", "}}"):
            self.x.at += 2
            text.append(two[0])
            return True
        if two[0] == "}":
            raise self.error("this '}' closes nothing", "write }} for a brace in the text")
        if two[0] == "{":
            return False
        try:
            character, self.x.at = character_at(self.x.text, at)
        except BadReference as error:
            hint = HINT if str(error) == NO_REFERENCE else ""
            raise self.error(str(error), hint) from None
        text.append(character)
        return True

    # -- braces

    def _braces(self) -> Enclosed | Loop:
        opened = self.x.at
        self.x.at += 1
        self.x.skip()
        loop = self.enclosed_loop()
        if loop is None:
            self.x.at = opened
            return self._enclosed()
        self._close(opened)
        return loop

    def _enclosed(self) -> Enclosed:
        opened = self.x.at
        self.x.at += 1
        if self.x.skip() == "}":
            raise self.error("these braces are empty", "write an expression, or {{ and }}", opened)
        offset = self.x.at
        try:
            expr = self.expression()
        except QuerySyntaxError:
            if "}" in self.x.text[opened:]:
                raise
            raise self.error("this '{' is never closed", "add the '}'", opened) from None
        self._close(opened)
        return Enclosed(expr, offset)

    def _close(self, opened: int) -> None:
        if self.x.skip() == "}":
            self.x.at += 1
            return
        reason, hint = not_taken(self.x.text, self.x.at)
        if not reason and self.x.peek():
            reason = f"expected '}}', found '{self.x.peek()}'"
            hint = "close the braces, and the elements before them"
        if "}" not in self.x.text[self.x.at :]:
            raise self.error("this '{' is never closed", "add the '}'", opened)
        raise self.error(reason, hint)
