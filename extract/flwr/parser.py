"""FLWR text to values: the clauses; `constructors` reads elements, XPath's parser the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NoReturn

from extract.errors import QuerySyntaxError
from extract.flwr.ast import ElementConstructor, Let, Loop, OrderKey
from extract.flwr.constructors import ConstructorParser
from extract.flwr.expressions import FlwrExpressionParser, WrittenLiteral
from extract.flwr.hints import CLAUSES, not_taken
from extract.limits import DEFAULTS, Limits
from extract.xpath.ast import Expr, FilterPath, FunctionCall, LocationPath, Step, Union
from extract.xpath.mentions import Mention, Parsed
from extract.xpath.names import NOT_XML
from extract.xpath.parser import SPLIT

# What ends an expression; "order" would be read as "or" and a name.
_WORDS: Final = re.compile(r"(?:" + "|".join(CLAUSES) + r")(?![\w.\-])")
_THIS: Final = ("doc", "document")  # this document, whatever its name
_INNERMOST: Final = "bind the innermost node, and go up from it: for $a in //b/a … $a/../title"
_RETURN: Final = re.compile(r"return[ \t\r\n]*<[^\W\d]")
_START: Final = re.compile(r"[ \t\r\n]*(?:<[^\W\d]|(?:for|let|declare|xquery)[ \t\r\n]+[$\w])")


def is_flwr(text: str) -> bool:
    """Whether a query is a FLWR expression, and no XPath.

    >>> is_flwr("for $a in //a return <b/>"), is_flwr("<r>{ for … }</r>"), is_flwr("for/let")
    (True, True, False)
    """
    return _START.match(text) is not None


@dataclass(slots=True)
class ParsedFlwr:
    """A FLWR expression and the names that it mentions.

    Attributes:
        text: The text.
        outer: The element around the loop; None if there is none.
        loop: The loop.
        parsed: What its expressions mention.
        elements: The names of constructors: offset, prefix and name.
        literals: The literals of expressions.
        result: Where what ``return`` makes starts in the text.
    """

    text: str
    outer: ElementConstructor | None
    loop: Loop
    parsed: Parsed
    elements: list[Mention] = field(default_factory=list)
    literals: list[WrittenLiteral] = field(default_factory=list)
    result: int = -1


def parse_clauses(text: str, limits: Limits = DEFAULTS, marked: bool = False) -> ParsedFlwr:
    """Parses a FLWR expression.

    Args:
        text: The text.
        limits: How long and deep it may be.
        marked: Whether its literals have marks for values: see `FlwrExpressionParser`.

    Raises:
        QuerySyntaxError: It is none of the subset that is taken.
    """
    if len(text) > limits.xpath_chars:
        reason = limits.passed("xpath_chars")
        raise QuerySyntaxError(reason, SPLIT, xpath=text, offset=limits.xpath_chars)
    bad = NOT_XML.search(text)
    if bad:
        reason = f"the character U+{ord(bad[0]):04X} cannot occur in XML"
        raise QuerySyntaxError(reason, xpath=text, offset=bad.start())
    return _FlwrParser(text, limits, marked).query()


class _FlwrParser(ConstructorParser):
    """One pass over one FLWR expression."""

    def __init__(self, text: str, limits: Limits, marked: bool) -> None:
        self._expressions = FlwrExpressionParser(text, limits, _WORDS, marked)
        super().__init__(self._expressions)
        self._loops: list[Loop] = []
        self._variables: list[str] = []
        self._inside = False  # the loop
        self._result = -1  # where it starts

    def query(self) -> ParsedFlwr:
        """Reads the whole text."""
        outer = None
        if self.x.skip() == "<":
            outer = self.element()
            if not self._loops:
                reason = "there is no 'for' in this element"
                hint = "write <result>{ for $x in //a return <b>{ $x }</b> }</result>"
                raise self.error(reason, hint, outer.offset)
        else:
            self.loop()
        if self.x.skip():
            self._not_taken("unexpected text after the query")
        literals = self._expressions.literals
        parsed, loop = self.x.parsed, self._loops[0]
        return ParsedFlwr(self.x.text, outer, loop, parsed, self.elements, literals, self._result)

    # -- the braces of constructors

    def enclosed_loop(self) -> Loop | None:
        """The loop here, in the braces of a constructor; None if an expression is here."""
        if not re.match(r"for[ \t\r\n]*\$", self.x.text[self.x.at : self.x.at + 80]):
            return None
        if self._inside:
            raise self.error(
                "a 'for' inside of 'return' is not taken",
                "copy the nodes by their path, as in { $s/title }, or make two subscriptions",
            )
        if self._loops:
            raise self.error("there is a second 'for'", "make two subscriptions")
        return self.loop()

    def expression(self) -> Expr:
        """An expression, whose variables are bound."""
        before = len(self.x.parsed.variables)
        self._not_taken_here()
        expr = self.x.expression(1)
        for mention in self.x.parsed.variables[before:]:
            if mention.prefix or mention.local not in self._variables:
                known = ", ".join(f"${name}" for name in self._variables)
                reason = f"there is no variable ${mention.name} here"
                hint = f"there are {known}" if known else "bind it with for or let"
                raise self.error(reason, hint, mention.offset - 1)
        return expr

    # -- clauses

    def loop(self) -> Loop:
        """The clauses from ``for`` to ``return``."""
        self._keyword("for", "a query starts with 'for', or with an element around it")
        if self._word() in ("tumbling", "sliding"):
            raise self.error("windows are not taken", "write: for $x in //path")
        name = self._variable()
        if self._word() == "allowing":
            raise self.error("'allowing empty' is not taken", "leave it out")
        if self._word() == "at":
            raise self.error("positions ('at $n') are not taken", "count preceding siblings")
        if self._word() == "as":
            raise self.error("types ('as') are not taken", "leave the type out")
        self._keyword("in", f"write: for ${name} in //path")
        self.x.skip()
        offset = self.x.at
        path = self._this_document(self._clause("a path"))
        if self.x.skip() == ",":
            reason = "a second variable in 'for' is not taken"
            raise self.error(reason, _INNERMOST)
        self._variables.append(name)
        lets = self._lets()
        where, where_offset = None, -1
        if self._word() == "where":
            self._keyword("where")
            self.x.skip()
            where_offset = self.x.at
            where = self._clause("a condition")
        order = self._order()
        self._keyword("return", "after 'for' come 'let', 'where', 'order by' and 'return'")
        if self.x.skip() != "<":
            reason, hint = not_taken(self.x.text, self.x.at, before=True)
            reason = reason or "'return' takes an element"
            raise self.error(reason, hint or f"write: return <result>{{ ${name} }}</result>")
        self._inside, self._result = True, self.x.at
        result = self.element()
        self._inside = False
        self._variables.clear()
        loop = Loop(name, path, lets, where, order, result, offset, where_offset)
        self._loops.append(loop)
        return loop

    def _clause(self, what: str) -> Expr:
        """The expression of a clause, which is not left out."""
        self.x.skip()
        if _RETURN.match(self.x.text, self.x.at):
            raise self.error(f"expected {what}, found 'return'")
        return self.expression()

    def _lets(self) -> tuple[Let, ...]:
        lets: list[Let] = []
        while self._word() == "let" or (lets and self.x.skip() == ","):
            if self.x.peek() == ",":
                self.x.at += 1
            else:
                self._keyword("let")
            name = self._variable()
            if name in self._variables:
                reason = f"${name} is bound twice"
                raise self.error(reason, "give it another name", self.x.at - len(name))
            if self._word() == "as":
                raise self.error("types ('as') are not taken", "leave the type out")
            self.x.skip()
            if not self.x.text.startswith(":=", self.x.at):
                raise self.error("expected ':='", f"write: let ${name} := $x/path")
            self.x.at += 2
            self.x.skip()
            offset = self.x.at
            lets.append(Let(name, self._clause("an expression"), offset))
            self._variables.append(name)
        return tuple(lets)

    def _order(self) -> tuple[OrderKey, ...]:
        if self._word() == "stable":
            self._keyword("stable")  # as it always is
        if self._word() != "order":
            return ()
        self._keyword("order")
        self._keyword("by", "write: order by $x/name")
        keys: list[OrderKey] = []
        while True:
            self.x.skip()
            offset = self.x.at
            expr = self._clause("a key")
            direction = self._word()
            if direction in ("ascending", "descending"):
                self._keyword(direction)
            if self._word() in ("empty", "collation"):
                reason = f"'{self._word()}' is not taken in 'order by'"
                hint = "empty keys are the smallest, and strings are ordered by code point"
                raise self.error(reason, hint)
            keys.append(OrderKey(expr, direction == "descending", offset))
            if self.x.skip() != ",":
                return tuple(keys)
            self.x.at += 1

    # -- words

    def _word(self) -> str:
        """The name here, which is not read."""
        self.x.skip()
        at = self.x.at
        name = self.x.name()
        self.x.at = at
        return name

    def _keyword(self, word: str, hint: str = "") -> None:
        if self._word() != word:
            self._not_taken(f"expected '{word}'", hint)
        self.x.at += len(word)

    def _variable(self) -> str:
        if self.x.skip() != "$":
            raise self.error("expected a variable", "variables are written $name")
        self.x.at += 1
        name = self.x.name()
        if not name:
            raise self.error("expected the name of a variable", "variables are written $name")
        return name

    def _not_taken_here(self) -> None:
        """Names constructs of XQuery that would otherwise be taken for a path."""
        self.x.skip()
        reason, hint = not_taken(self.x.text, self.x.at, before=True)
        if reason:
            raise self.error(reason, hint)

    def _not_taken(self, otherwise: str, hint: str = "") -> NoReturn:
        reason, better = not_taken(self.x.text, self.x.at)
        if reason:
            raise self.error(reason, better)
        shown = self.x.text[self.x.at : self.x.at + 1]
        there = f"found '{shown}'" if shown else "found the end"
        raise self.error(f"{otherwise}, {there}", hint)

    # -- this document

    def _this_document(self, expr: Expr) -> Expr:
        """The binding path; ``doc("…")`` in front of it is this document."""
        if isinstance(expr, Union):
            return Union(tuple([self._this_document(part) for part in expr.parts]))
        call: Expr = expr
        steps: tuple[Step, ...] = ()
        if isinstance(expr, FilterPath) and not expr.predicates:
            call, steps = expr.primary, expr.steps
        if not isinstance(call, FunctionCall) or call.prefix or call.name not in _THIS:
            return expr
        functions, sets = self.x.parsed.functions, self.x.parsed.node_sets
        self.x.parsed.functions = [one for one in functions if one[1] is not call]
        self.x.parsed.node_sets = [one for one in sets if one[1] is not call]
        return LocationPath(True, steps)
