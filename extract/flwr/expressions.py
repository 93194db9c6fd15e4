"""XPath inside of FLWR: the parser of expressions, with XQuery's string literals."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from extract.flwr.references import HINT, BadReference, character_at
from extract.limits import Limits
from extract.xpath.ast import Expr, FunctionCall, Number, StringLiteral
from extract.xpath.parser import ExpressionParser

_QUOTES: Final = re.compile("([^']+)")


MARK: Final = re.compile("'?\x02([0-9]+)\x02'?")  # a literal that is marked, in an expression


class WrittenLiteral(NamedTuple):
    """A literal of an expression, where it stands in the text with its quotes, and its value."""

    start: int
    end: int
    value: str


class FlwrExpressionParser(ExpressionParser):
    """Reads expressions; references to characters in string literals are resolved.

    Args:
        text, limits, words: As for `ExpressionParser`.
        marked: Whether literals have marks for values, which are their numbers: see `MARK`.

    Attributes:
        literals: The literals so far.
    """

    __slots__ = ("_marked", "literals")

    def __init__(
        self, text: str, limits: Limits, words: re.Pattern[str], marked: bool = False
    ) -> None:
        super().__init__(text, limits, words)
        self._marked = marked
        self.literals: list[WrittenLiteral] = []

    def skip(self) -> str:
        """Skips white space; the character after it, ``""`` at the end."""
        char = super().skip()
        if char == "(" and self.text.startswith("(:", self.at):
            raise self.error("XQuery comments are not taken", "leave the comment out")
        return char

    def literal(self) -> str:
        """The string here, without its quotes."""
        start = self.at + 1
        value = super().literal()
        if "&" not in value:
            return value
        parts: list[str] = []
        end, at = self.at - 1, start
        while (found := self.text.find("&", at, end)) >= 0:
            parts.append(self.text[at:found])
            try:
                character, at = character_at(self.text, found)
            except BadReference as error:
                raise self.error(str(error), HINT, found) from None
            parts.append(character)
        return "".join((*parts, self.text[at:end]))

    def predicate(self) -> Expr:
        """The predicate here; none is known from XPath, whose literals have no references."""
        opened, around = self.at, self.height
        self.height = 0
        self.at += 1
        self.brackets += 1
        expr = self.expression(1)
        self.brackets -= 1
        self.close("]", opened)
        self.height = max(around, self.height)
        return expr

    def primary(self) -> Expr:
        """What is in parentheses, a variable, a literal, a number or a call."""
        start = self.at
        expr = super().primary()
        if isinstance(expr, StringLiteral) and "'" in expr.value and '"' in expr.value:
            return _joined(expr.value)
        if isinstance(expr, (StringLiteral, Number)) and self.text[start] != "(":
            mark = f"\x02{len(self.literals)}\x02"
            value = expr.value if isinstance(expr, StringLiteral) else expr.text
            self.literals.append(WrittenLiteral(start, self.at, value))
            if self._marked:
                return StringLiteral(mark) if isinstance(expr, StringLiteral) else Number(mark)
        return expr


def _joined(value: str) -> Expr:
    """A string with both kinds of quotes, for which XPath has no literal.

    >>> str(_joined("it's \\"x\\""))
    'concat(\\'it\\', "\\'", \\'s "x"\\')'
    """
    return FunctionCall("concat", tuple(map(StringLiteral, filter(None, _QUOTES.split(value)))))
