"""Random FLWR queries over the names of a schema, as values: a query is known by its parts, not by
its text alone, so that an oracle need not parse it.

Dialects, from tame to anything goes:

* ``agreed``: XPath 1.0 and XQuery mean the same: paths down with predicates that are paths,
  positions or comparisons with strings; ``count()``, ``string()`` of at most one node, ``name()``;
* ``plain``: the same paths with all comparisons and functions of libxml2, and more keys of orders;
* ``wild``: all axes, predicates, functions and operators, from variables and from the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from extract.schema.model import Schema
from tests.support.generate.draw import between, chance, pick, weighted
from tests.support.generate.expressions import Expressions
from tests.support.generate.paths import PROFILES, START, Profile, Tokens, Where
from tests.support.generate.vocabulary import VALUES
from tests.support.generate.walk import Walk, bindings

DIALECTS = ("agreed", "plain", "wild")
_DOWN = replace(PROFILES["filtered"], relative=0, loose=0)
_WILD = replace(
    PROFILES["wild"],
    axes=tuple(one for one in PROFILES["wild"].axes if one[1] != "namespace"),
    values=0,
    relative=0,
    loose=0,
)
_OTHER_VALUES = ("sum", "number", "calculated", "boolean", "text")
_TEXTS = (  # as they are written, and what they are
    ("", ""), (" ", ""), ("text", "text"), ("&#32;", " "), ("<![CDATA[ < ]]>", " < "),
    ("{{x}}", "{x}"), (" a &amp; ", " a & "), ("é\n", "é\n"),
)  # fmt: skip
_VALUE_TEXTS = (("", ""), ("x", "x"), ("&lt;", "<"), ("&apos;", "'"), ("''", "'"), ("\n", " "))
_DOUBLED = ("{{", "{")  # which SaxonC 13.1 does not read behind an enclosed expression


@dataclass(frozen=True, slots=True)
class Text:
    """Characters of a constructor: as they are written, and what they are."""

    written: str
    value: str


@dataclass(frozen=True, slots=True)
class Braces:
    """An enclosed expression."""

    xpath: str


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of a constructor."""

    written: str


@dataclass(frozen=True, slots=True)
class Element:
    """A constructor of an element."""

    name: str
    namespaces: Mapping[str, str]
    attributes: tuple[tuple[str, tuple[Text | Braces, ...]], ...]
    content: tuple[Text | Braces | Comment | Element, ...]

    def __str__(self) -> str:
        tag = self.name
        for prefix, uri in self.namespaces.items():
            tag += f' xmlns{":" if prefix else ""}{prefix}="{uri}"'
        for name, parts in self.attributes:
            tag += f" {name}='{''.join(map(_written, parts))}'"
        if not self.content:
            return f"<{tag}/>"
        return f"<{tag}>{''.join(map(_written, self.content))}</{self.name}>"


def _written(part: Text | Braces | Comment | Element) -> str:
    if isinstance(part, Braces):
        return f"{{ {_referring(part.xpath)} }}"
    return str(part) if isinstance(part, Element) else part.written


def _referring(xpath: str) -> str:
    """An expression as FLWR writes it: ``&`` only begins a reference."""
    return xpath.replace("&", "&amp;")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of an order."""

    xpath: str
    is_number: bool
    descending: bool


@dataclass(frozen=True, slots=True)
class Flwr:
    """A query; its text is ``str(query)``."""

    frame: tuple[Text, Text] | None
    path: str
    lets: tuple[tuple[str, str], ...]
    where: str
    order: tuple[Key, ...]
    result: Element

    def __str__(self) -> str:
        text = f"for $s in {self.path}"
        text += "".join(f" let ${name} := {xpath}" for name, xpath in self.lets)
        text += f" where {self.where}" if self.where else ""
        keys = [one.xpath + (" descending" if one.descending else "") for one in self.order]
        text += f" order by {', '.join(keys)}" if keys else ""
        text = f"{_referring(text)} return {self.result}"
        if self.frame is None:
            return text
        before, behind = self.frame
        return f"<out>{before.written}{{ {text} }}{behind.written}</out>"


class Flwrs:
    """Writes FLWR queries over one schema.

    Attributes:
        namespaces: The prefixes that the queries use.
    """

    def __init__(self, schema: Schema) -> None:
        self.namespaces = dict(bindings(schema))
        self._walk = Walk(schema, self.namespaces)

    def query(self, rng: Random, dialect: str) -> Flwr:
        """One query of a dialect."""
        return _Writer(rng, self._walk, dialect, self.namespaces).query()


class _Agreed(Expressions):
    """Paths whose predicates mean the same in XQuery."""

    def predicate(self, where: Where, depth: int) -> Tokens:
        kind = weighted(self.rng, ((5, "path"), (3, "equal"), (2, "1"), (1, "last"), (1, "not")))
        if kind == "1":
            return ["1"]
        if kind == "last":
            return ["last", "(", ")"]
        path = self.relative(where, 0, longest=2)[0]
        if kind == "equal":
            return [*path, " = ", f"'{pick(self.rng, _PLAIN_VALUES)}'"]
        return ["not", "(", *path, ")"] if kind == "not" else path


_PLAIN_VALUES = [value for value in VALUES if "'" not in value and "&" not in value][:8]


class _Writer:
    """Writes one query."""

    def __init__(
        self, rng: Random, walk: Walk, dialect: str, namespaces: Mapping[str, str]
    ) -> None:
        self._rng = rng
        self._walk = walk
        self._dialect = dialect
        self._namespaces = namespaces
        self._where = START
        self._down = replace(_DOWN, predicates=pick(rng, (0, 10, 30)))
        self._node_lets: list[str] = []
        self._value_lets: list[str] = []

    def _paths(self) -> Expressions:
        profile: Profile = _WILD if self._dialect == "wild" else self._down
        kind = _Agreed if self._dialect == "agreed" else Expressions
        return kind(self._rng, self._walk, profile)

    def query(self) -> Flwr:
        rng = self._rng
        while True:
            tokens, self._where = self._paths().absolute(1)
            if self._where.kind == "element" and self._where != START:
                break
        lets, where = self._bound_lets(), ""
        order: tuple[Key, ...] = ()
        if chance(rng, 45):
            where = self._condition()
        if chance(rng, 40):
            order = tuple([self._key() for _ in range(between(rng, 1, 2))])
        result = self._element(2)
        frame = None
        if chance(rng, 50):
            frame = self._text(), self._text()
        return Flwr(frame, "".join(tokens), lets, where, order, result)

    def _bound_lets(self) -> tuple[tuple[str, str], ...]:
        lets = []
        for name in ("t", "u")[: weighted(self._rng, ((6, 0), (3, 1), (1, 2)))]:
            if chance(self._rng, 80):
                lets.append((name, self._nodes()))
                self._node_lets.append(name)
            else:
                lets.append((name, self._value()))
                self._value_lets.append(name)
        return tuple(lets)

    # -- expressions

    def _nodes(self) -> str:
        """An expression that selects nodes."""
        rng = self._rng
        if chance(rng, 10):
            return "$s"
        names = self._node_lets
        start = f"${pick(rng, names)}" if names and chance(rng, 30) else "$s"
        if start != "$s" and chance(rng, 50):
            return start
        if self._dialect == "wild" and chance(rng, 10):
            path = "".join(self._paths().absolute(1)[0])
            return "(/)" if path == "/" else path  # with a word behind it, it would be another path
        tokens = self._paths().steps_after(self._where, 1)[0]
        if self._dialect != "agreed" and chance(rng, 5) and tokens[-1] not in (".", ".."):
            tokens += ["[", pick(rng, (". = $s/@*", "count($s/*) > 0")), "]"]
        return start + "".join(tokens)

    def _single(self) -> str:
        """An expression that selects at most one node: an attribute of the bound one."""
        names = self._walk.attributes(self._where.keys)
        return f"$s/@{pick(self._rng, names)}" if names else "$s/@none"

    def _value(self) -> str:
        """An expression that is a string, a number or a boolean."""
        rng = self._rng
        if self._value_lets and chance(rng, 40):
            return f"${pick(rng, self._value_lets)}"
        if self._dialect == "agreed":
            if chance(rng, 10):
                return "name($s)"
            return pick(rng, (f"count({self._nodes()})", f"string({self._single()})"))
        nodes = self._nodes()
        kind = pick(rng, ("count", "string", "count", "string", *_OTHER_VALUES))
        if kind == "calculated":
            return f"{nodes} * 2 - 1"
        if kind == "boolean":
            return f"{nodes} = '{pick(rng, _PLAIN_VALUES)}'"
        if kind == "text":
            return pick(rng, (f"concat({nodes}, '-')", "'R&D'", "1.50", "normalize-space($s)"))
        return f"{kind}({nodes})"

    def _condition(self) -> str:
        rng, value = self._rng, pick(self._rng, _PLAIN_VALUES)
        choices = [
            f"{self._nodes()} = '{value}'",
            f"count({self._nodes()}) > 0",
            self._nodes(),
            f"not({self._nodes()})",
            f"{self._nodes()} = {self._nodes()}",
            f"{self._nodes()} or {self._nodes()}",
        ]
        if self._dialect != "agreed":
            choices += [
                f"{self._nodes()} {pick(rng, ('<', '>', '!=', '>='))} {pick(rng, '019')}",
                f"contains({self._nodes()}, '{value}')",
                "$s/*[. = $s/@*]",
                f"sum({self._nodes()}) < 5 and {self._nodes()}",
            ]
        return pick(rng, choices)

    def _key(self) -> Key:
        rng, down = self._rng, chance(self._rng, 50)
        if chance(rng, 30):
            return Key(f"count({self._nodes()})", True, down)
        if self._dialect == "agreed":
            xpath = pick(rng, (self._single(), f"string({self._single()})"))
            return Key(xpath, False, down)
        if chance(rng, 30):
            return Key(f"number({self._nodes()})", True, down)
        nodes = self._nodes()
        return Key(nodes if chance(rng, 50) else f"string({nodes})", False, down)

    # -- constructors

    def _text(self) -> Text:
        return Text(*pick(self._rng, _TEXTS))

    def _braces(self) -> Braces:
        return Braces(self._nodes() if chance(self._rng, 70) else self._value())

    def _element(self, depth: int) -> Element:
        rng = self._rng
        namespaces: dict[str, str] = {}
        name = "r"
        if self._dialect != "agreed" and chance(rng, 10):
            namespaces = pick(rng, ({"": "urn:r"}, {"q": "urn:q"}, {"": "urn:r", "q": "urn:q"}))
            name = "q:r" if "q" in namespaces and chance(rng, 50) else name
        attributes = [
            (key, self._attribute())
            for key in ("k", "m")[: weighted(rng, ((3, 0), (2, 1), (1, 2)))]
        ]
        content: list[Text | Braces | Comment | Element] = []
        for _ in range(between(rng, 0, 3)):
            content.append(self._text())
            kind = weighted(rng, ((8, "braces"), (2 if depth else 0, "element"), (1, "comment")))
            if kind == "braces":
                content.append(self._braces())
            elif kind == "element":
                content.append(self._element(depth - 1))
            else:
                content.append(Comment("<!--k-->"))
        content.append(self._text())
        return Element(name, namespaces, tuple(attributes), tuple(content))

    def _attribute(self) -> tuple[Text | Braces, ...]:
        parts: list[Text | Braces] = []
        for _ in range(between(self._rng, 0, 2)):
            parts += [self._value_text(), self._braces()]
        return (*parts, self._value_text())

    def _value_text(self) -> Text:
        if self._dialect != "agreed" and chance(self._rng, 10):
            return Text(*_DOUBLED)
        return Text(*pick(self._rng, _VALUE_TEXTS))
