"""Predicates that were read before: queries of one set share most of them.

The rules of a schema have one context and many assertions, or one assertion in two contexts. A
predicate with the same text is the same expression, wherever it stands; only the places of its
names are others.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from extract.xpath.ast import Expr, FunctionCall
from extract.xpath.mentions import Mention, Parsed

_MOST: Final = 1 << 12
LONGEST: Final = 500  # characters
# A predicate with no other inside, in which no quote hides a bracket; else its brackets one by one.
_SIMPLE: Final = re.compile(r"""\[[^\[\]'"]*\]""")
_BRACKET: Final = re.compile(r"""[\[\]]|'[^']*'|"[^"]*\"""")


class KnownPredicate(NamedTuple):
    """A predicate that was read; offsets are those of where it was read first.

    Attributes:
        expr: It.
        height: Of its tree, the expression itself included.
        start: Where it was read first.
        prefixes, functions, variables, node_sets: As in `Parsed`.
    """

    expr: Expr
    height: int
    start: int
    prefixes: tuple[Mention, ...]
    functions: tuple[tuple[Mention, FunctionCall], ...]
    variables: tuple[Mention, ...]
    node_sets: tuple[tuple[int, Expr], ...]

    @classmethod
    def of(
        cls, expr: Expr, height: int, parsed: Parsed, before: tuple[int, int, int], start: int
    ) -> KnownPredicate:
        """Makes one of what has just been read.

        Args:
            expr: The predicate.
            height: Its height.
            parsed: What the parse has noted so far; of prefixes only those of the predicate.
            before: How many functions, variables and node sets were noted before it.
            start: Where it starts.
        """
        functions, variables, node_sets = before
        return cls(
            expr,
            height,
            start,
            tuple(parsed.prefixes.values()),
            tuple(parsed.functions[functions:]),
            tuple(parsed.variables[variables:]),
            tuple(parsed.node_sets[node_sets:]),
        )

    def mention(self, parsed: Parsed, start: int) -> None:
        """Adds the names of the predicate, which starts there, to what a parse notes."""
        by = start - self.start
        for mention in self.prefixes:
            if mention.prefix not in parsed.prefixes:
                parsed.prefixes[mention.prefix] = mention.moved(by)
        for mention, call in self.functions:
            parsed.functions.append((mention.moved(by), call))
        for mention in self.variables:
            parsed.variables.append(mention.moved(by))
        for offset, expr in self.node_sets:
            parsed.node_sets.append((offset + by, expr))


_KNOWN: Final[dict[str, KnownPredicate]] = {}


def known_predicate(text: str) -> KnownPredicate | None:
    """The predicate of a text, with its brackets; None if it was not read before."""
    return _KNOWN.get(text)


def remember(text: str, predicate: KnownPredicate) -> None:
    """Takes in a predicate; when there are very many, the others are forgotten."""
    if len(_KNOWN) >= _MOST:
        _KNOWN.clear()
    _KNOWN[text] = predicate


def predicate_text(text: str, start: int) -> str:
    """The predicate that starts here, up to its last bracket; empty if it is long, or has no end.

    >>> predicate_text("a[b[']'] = 1][2]", 1)
    "[b[']'] = 1]"
    """
    simple = _SIMPLE.match(text, start, start + LONGEST)
    if simple is not None:
        return simple[0]
    depth = 0
    for bracket in _BRACKET.finditer(text, start, start + LONGEST):
        if bracket[0] == "[":
            depth += 1
        elif bracket[0] == "]":
            depth -= 1
            if not depth:
                return text[start : bracket.end()]
    return ""
