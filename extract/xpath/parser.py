"""XPath 1.0 text to AST, accepting and rejecting exactly what ``etree.XPath`` does.

libxml2 reads an expression without a separate tokenizer, and its verdict differs from the grammar's
in small ways that users' queries rely on: ``1or2``, ``///a`` and ``p :a`` are fine, ``.[a]`` and
``p: a`` are not. So this parser walks the characters in the same order and asks the same questions.
elementpath's parsers disagree with libxml2 on ordinary expressions (TRAPS 22) and take three times
as long.

Only size is judged differently: libxml2 stops at 499 nested brackets, a million operations, and
names of 50,000 bytes before some characters; the limits below are stricter, so that whatever is
accepted here compiles there.

``_parser.pyx`` reads the same in C, where that was compiled, and leaves to this module what is
wrong or out of the ordinary.

A parse also notes where prefixes, functions and variables stand, so that what libxml2 would only
find out during evaluation is reported at once, with a caret: see `extract.xpath.check`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from extract.errors import QuerySyntaxError
from extract.limits import DEFAULTS, Limits
from extract.xpath.ast import (
    ANY_DEPTH,
    ANY_NAME,
    ANY_NODE,
    AXES,
    HERE,
    PRECEDENCE,
    UP,
    Axis,
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    KindTest,
    LocationPath,
    Negate,
    NodeTest,
    Number,
    Step,
    StringLiteral,
    Variable,
    chain,
    make_path,
    make_step,
    name_test,
    union,
)
from extract.xpath.hints import missing, no_axis, no_step, unexpected
from extract.xpath.known_predicates import (
    KnownPredicate,
    known_predicate,
    predicate_text,
    remember,
)
from extract.xpath.mentions import Mention, Parsed
from extract.xpath.names import NCNAME, NOT_XML
from extract.xpath.native import native
from extract.xpath.plain_steps import PLAIN_STEPS, plain_steps
from extract.xpath.tokens import length_limit_passed

MAX_NAME: Final = 10_000  # characters


_SPACE: Final = re.compile(r"[ \t\r\n]*")
_POINT: Final = re.compile(r"\.[0-9]")
_NUMBER: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]*)?")
_KINDS: Final = frozenset({"node", "text", "comment", "processing-instruction"})
SPLIT: Final = "split it into several subscriptions"
_OPERATORS: Final = re.compile(r"or|and|!?=|[<>]=?|\+|-|\*|div|mod")
_NO_OPERATOR: Final = frozenset(("", "]", ")", ","))  # what mostly follows an operand
_PRIMARIES: Final = frozenset("$('\"0123456789")  # what starts a primary expression, and no path
_PATHS: Final = frozenset("/@.*")
# A call by a plain name without a prefix; others are read character by character.
_CALL: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.\-]{0,99}+)[ \t\r\n]*+\(")


def parse(xpath: str) -> Expr:
    """The AST of an XPath 1.0 expression.

    >>> str(parse("child::a / descendant-or-self::node()/child::b[ position()= 1 ]"))
    'a//b[position() = 1]'

    Raises:
        QuerySyntaxError: ``etree.XPath`` would not compile it either, or it is beyond our limits.
    """
    return parse_with_mentions(xpath).expr


def parse_with_mentions(xpath: str, limits: Limits = DEFAULTS) -> Parsed:
    """Like `parse`, and where prefixes, functions and variables stand."""
    parsed = None if _PARSE is None else _PARSE(xpath, limits)
    return parse_in_python(xpath, limits) if parsed is None else parsed


def parse_in_python(xpath: str, limits: Limits = DEFAULTS) -> Parsed:
    """The same, without the part in C."""
    passed = length_limit_passed(xpath, limits)
    if passed:
        offset = min(len(xpath) - 1, limits.xpath_chars)
        raise QuerySyntaxError(limits.passed(passed), SPLIT, xpath=xpath, offset=offset)
    bad = NOT_XML.search(xpath)
    if bad:
        raise QuerySyntaxError(
            f"the character U+{ord(bad[0]):04X} cannot occur in XML",
            xpath=xpath,
            offset=bad.start(),
        )
    parser = ExpressionParser(xpath, limits)
    expr = parser.expression(1)
    if parser.at < len(xpath):
        raise parser.error(*unexpected(xpath, parser.at))
    parser.parsed.expr = expr
    return parser.parsed


class ExpressionParser:
    """One pass over a text; ``at`` is the next character to read.

    Args:
        text: The text.
        limits: How large an expression may be.
        words: What ends an expression where an operator could stand, such as keywords around it.
    """

    __slots__ = (
        "at",
        "brackets",
        "deepest",
        "depth",
        "height",
        "limits",
        "operand",
        "parsed",
        "text",
        "words",
    )

    def __init__(self, text: str, limits: Limits, words: re.Pattern[str] | None = None) -> None:
        self.text = text
        self.limits = limits
        self.deepest = limits.xpath_depth
        self.words = words
        self.at = 0
        self.operand = 0  # where the operand at hand starts
        self.depth = 0  # expressions around the one at hand, itself included
        self.height = 0  # of the tallest tree inside the expression at hand, so far
        self.brackets = 0
        self.parsed = Parsed(text, LocationPath(False, (HERE,)))

    # -- characters

    def skip(self) -> str:
        """Skips white space; the character after it, ``""`` at the end."""
        text, at = self.text, self.at
        char = text[at : at + 1]
        if char > " ":
            return char
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
        self.at = at
        return text[at : at + 1]

    def peek(self) -> str:
        """The character here, ``""`` at the end."""
        return self.text[self.at : self.at + 1]

    def name(self) -> str:
        """The NCName here, or ``""``."""
        ncname = NCNAME.match(self.text, self.at)
        if not ncname:
            return ""
        self.at = ncname.end()
        if self.at - ncname.start() > MAX_NAME:
            reason = f"a name of more than {MAX_NAME:,} characters"
            raise self.error(reason, offset=ncname.start())
        return ncname[0]

    def close(self, char: str, opened: int, hint: str = "") -> None:
        """Reads ``char``, which closes the bracket at ``opened``."""
        if self.skip() == char:
            self.at += 1
            return
        if self.at >= len(self.text):
            reason = f"this '{self.text[opened]}' is never closed"
            raise self.error(reason, f"add the '{char}'", opened)
        reason, likely = unexpected(self.text, self.at, char)
        raise self.error(reason, hint or likely)

    # -- expressions

    def expression(self, strength: int) -> Expr:
        """An expression of operators that bind at least this strongly."""
        self.depth += 1
        around, self.height = self.height, 0
        if self.depth > self.deepest:
            self.limit_depth()
        left = self.unary()
        op = self.operator(strength)
        while op:
            first, row, heights = op, [left], [self.height]
            while op == first:
                self.height = 0
                row.append(self.expression(PRECEDENCE[op] + 1))
                heights.append(self.height)
                op = self.operator(strength)
            self.height = chain(first, heights, _joined_height)
            self.limit_depth()
            left = chain(first, row, partial(Binary, first))
        self.depth -= 1
        self.height = max(around, self.height + 1)
        return left

    def operator(self, strength: int) -> str:
        """The operator here, if there is one that binds at least this strongly, or ``""``."""
        char = self.text[self.at : self.at + 1]
        if char in _NO_OPERATOR or (char <= " " and self.skip() in _NO_OPERATOR):
            return ""
        token = _OPERATORS.match(self.text, self.at)
        if self.words is not None and self.words.match(self.text, self.at):
            return ""
        if not token or PRECEDENCE[token[0]] < strength:
            return ""
        self.at = token.end()
        return token[0]

    def limit_depth(self) -> None:
        """Checks that the expression is not nested too deeply."""
        if self.depth + self.height > self.limits.xpath_depth:
            raise self.error(self.limits.passed("xpath_depth"), SPLIT)

    def unary(self) -> Expr:
        """An operand, with its minus signs and unions."""
        minus = 0
        text = self.text
        char = text[self.at : self.at + 1]
        if char <= "-":
            while self.skip() == "-":
                self.at += 1
                minus += 1
        start = self.at
        expr = self.path()
        char = text[self.at : self.at + 1]
        if char == "|" or (char <= " " and self.skip() == "|"):
            parts = [expr]
            self._must_be_nodes(start, expr)
            while self.skip() == "|":
                self.at += 1
                self.skip()
                start = self.at
                parts.append(self.path())
                self._must_be_nodes(start, parts[-1])
            expr = union(tuple(parts))
        if minus:
            for _ in range(
                min(minus, 2 - minus % 2)
            ):  # libxml2 counts modulo 2; "--x" is number(x)
                expr = Negate(expr)
        return expr

    def path(self) -> Expr:
        """A path, a primary expression, or a path that starts from one."""
        text = self.text
        start = text[self.at : self.at + 1]
        if start <= " ":
            start = self.skip()
        self.operand = self.at
        if start in _PRIMARIES or (start == "." and _POINT.match(text, self.at)):
            return self.filter_path()
        if start in _PATHS:
            return self.location_path()
        steps = self.plain_steps()
        if steps is not None:
            char = text[self.at : self.at + 1]
            if char == "/" or (char <= " " and self.skip() == "/"):
                self.relative_path(steps)
            return make_path(False, tuple(steps))
        if self._is_call():
            return self.filter_path()
        return self.location_path()

    def _is_call(self) -> bool:
        """Whether a function call starts here: a name before a parenthesis, but no node type."""
        plain = _CALL.match(self.text, self.at)
        if plain is not None:
            return plain[1] not in _KINDS
        name = NCNAME.match(self.text, self.at)
        if not name:
            return False
        end = name.end()
        if self.text[end : end + 1] == ":":
            more = NCNAME.match(self.text, end + 1)
            if not more:
                return False
            space = _SPACE.match(self.text, more.end())
            assert space is not None
            return self.text[space.end() : space.end() + 1] == "("
        space = _SPACE.match(self.text, end)
        assert space is not None
        return self.text[space.end() : space.end() + 1] == "(" and name[0] not in _KINDS

    def _must_be_nodes(self, start: int, expr: Expr) -> None:
        if not isinstance(expr, LocationPath):
            self.parsed.node_sets.append((start, expr))

    def filter_path(self) -> Expr:
        """A primary expression with its predicates and steps."""
        start = self.at
        primary = self.primary()
        char = self.skip()
        if char != "[" and char != "/":
            return primary
        predicates = self.predicates()
        steps: list[Step] = []
        if self.text.startswith("//", self.at):
            self.at += 2
            steps.append(ANY_DEPTH)
            self.skip()
            self.relative_path(steps)
        elif self.peek() == "/":
            self.relative_path(steps)
        if predicates or steps:
            self._must_be_nodes(start, primary)
            return FilterPath(primary, predicates, tuple(steps))
        return primary

    def primary(self) -> Expr:
        """What is in parentheses, a variable, a literal, a number or a call."""
        start = self.peek()
        if start == "(":
            opened = self.at
            self.at += 1
            inner = self.expression(1)
            self.close(")", opened)
            return inner
        if start == "$":
            self.at += 1
            mention = self.qualified_name("a variable name")
            self.parsed.variables.append(mention)
            return Variable(mention.local, mention.prefix)
        if start in "'\"":
            return StringLiteral(self.literal())
        if start <= "9":
            number = _NUMBER.match(self.text, self.at)
            if number:
                self.at = number.end()
                return Number(number[0])
        return self.function_call()

    def literal(self) -> str:
        """The string here, without its quotes."""
        start = self.at
        end = self.text.find(self.text[start], start + 1)
        if end < 0:
            raise self.error("this string has no end", f"close it with {self.text[start]}")
        self.at = end + 1
        return self.text[start + 1 : end]

    def qualified_name(self, what: str) -> Mention:
        """The name here, of something that is mentioned."""
        start, prefix, local = self.at, "", self.name()
        if local and self.peek() == ":":
            self.at += 1
            prefix, local = local, self.name()
        if not local:
            raise self.error(*missing(self.text, self.at, what))
        return Mention(start, prefix, local)

    def function_call(self) -> Expr:
        """A call and its arguments."""
        plain = _CALL.match(self.text, self.at)
        if plain is not None:
            mention = Mention(self.at, "", plain[1])
            self.at = plain.end() - 1
        else:
            mention = self.qualified_name("a function name")
            self.skip()
        opened = self.at
        self.at += 1  # the parenthesis that told it from a name test
        arguments: list[Expr] = []
        if self.skip() == ")":
            self.at += 1
        else:
            while self.skip():  # libxml2 takes "f(" and "f(a,", but neither "f(a" nor "f(a,)"
                arguments.append(self.expression(1))
                if self.skip() != ",":
                    self.close(")", opened)
                    break
                self.at += 1
        call = FunctionCall(mention.local, tuple(arguments), mention.prefix)
        self.parsed.functions.append((mention, call))
        if not self.brackets and call.name in ("position", "last") and not call.prefix:
            self.parsed.unplaced.append(mention)
        return call

    def predicates(self) -> tuple[Expr, ...]:
        """All that is in brackets here."""
        if self.skip() != "[":
            return ()
        out = [self.predicate()]
        while self.skip() == "[":
            out.append(self.predicate())
        return tuple(out)

    def predicate(self) -> Expr:
        """The predicate here; what was read before in another place, or another query, is known."""
        opened, parsed = self.at, self.parsed
        text = predicate_text(self.text, opened)
        known = known_predicate(text)
        if known is not None and self.depth + known.height <= self.limits.xpath_depth:
            known.mention(parsed, opened)
            self.height = max(self.height, known.height)
            self.at = opened + len(text)
            return known.expr
        around, self.height = self.height, 0
        outer, parsed.prefixes = parsed.prefixes, {}
        before = (len(parsed.functions), len(parsed.variables), len(parsed.node_sets))
        self.at += 1  # the bracket that brought us here
        self.brackets += 1
        expr = self.expression(1)
        self.brackets -= 1
        self.close("]", opened)
        if len(text) == self.at - opened:
            remember(text, KnownPredicate.of(expr, self.height, parsed, before, opened))
        for prefix, mention in parsed.prefixes.items():
            outer.setdefault(prefix, mention)
        parsed.prefixes = outer
        self.height = max(around, self.height)
        return expr

    # -- location paths

    def location_path(self) -> LocationPath:
        """A path of steps."""
        steps: list[Step] = []
        if self.peek() != "/":
            self.relative_path(steps)
            return make_path(False, tuple(steps))
        while self.peek() == "/":  # libxml2 takes "/ /a" and "///a"
            if self.text.startswith("//", self.at):
                self.at += 2
                steps.append(ANY_DEPTH)
                self.skip()
                self.relative_path(steps)
            else:
                self.at += 1
                start = self.skip()
                if start and (start in "_.@*" or NCNAME.match(start) or start >= "\x80"):
                    self.relative_path(steps)
        return make_path(True, tuple(steps))

    def relative_path(self, steps: list[Step]) -> None:
        """Reads steps, up to the last one."""
        text = self.text
        self.skip()
        if self.text.startswith("//", self.at):
            self.at += 2
            steps.append(ANY_DEPTH)
        elif self.peek() == "/":
            self.at += 1
        while True:
            if text[self.at : self.at + 1] <= " ":
                self.skip()
            plain = self.plain_steps()
            if plain is None:
                steps.append(self.step())
            else:
                steps += plain
            char = text[self.at : self.at + 1]
            if char != "/" and (char > " " or self.skip() != "/"):
                return
            if self.text.startswith("//", self.at):
                self.at += 2
                steps.append(ANY_DEPTH)
            else:
                self.at += 1

    def plain_steps(self) -> list[Step] | None:
        """The steps by plain names here, with the filters of the last; None if none is."""
        plain = PLAIN_STEPS.match(self.text, self.at)
        if plain is None or plain.end() - self.at > MAX_NAME:
            return None
        named, mentions = plain_steps(plain[0])
        prefixes = self.parsed.prefixes
        for mention in mentions:
            if mention.prefix not in prefixes:
                prefixes[mention.prefix] = mention.moved(self.at)
        self.at = at = plain.end()
        steps = list(named)
        char = self.text[at : at + 1]
        if char == "[" or (char <= " " and self.skip() == "["):
            last = steps[-1]
            steps[-1] = make_step(last.axis, last.test, self.predicates())
        return steps

    def step(self) -> Step:
        """One step."""
        start = self.skip()
        if start == ".":
            if self.text.startswith("..", self.at):
                self.at += 2
                return UP
            self.at += 1
            return HERE
        axis, test = "child", None
        if start == "@":
            self.at += 1
            axis = "attribute"
            test = self.node_test("")
        else:
            begin = self.at
            name = self.name()
            if name and self.skip() == ":" and self.text.startswith("::", self.at):
                if name not in AXES:
                    raise self.error(*no_axis(name), offset=begin)
                self.at += 2
                axis, name = name, ""
            test = self.node_test(name)
        return make_step(cast(Axis, axis), test, self.predicates())

    def node_test(self, name: str) -> NodeTest:
        """The node test here; ``name`` is a name that was already read as a possible axis."""
        start = self.at - len(name)
        near = bool(name)  # libxml2 takes "p :a" where the name was read before, not "child::p :a"
        if not name:
            if self.skip() == "*":
                self.at += 1
                return ANY_NAME
            start = self.at
            name = self.name()
            if not name:
                expected = (
                    "an expression" if start == self.operand else "a name, '*' or a node type"
                )
                raise self.error(*missing(self.text, start, expected))
        glued = self.peek() not in (" ", "\t", "\r", "\n")
        if self.skip() == "(":
            return self.kind_test(name, start)
        if self.peek() == ":" and (glued or near):
            self.at += 1
            prefix = name
            if self.peek() == "*":
                self.at += 1
                name = "*"
            else:
                name = self.name()
                if not name:
                    raise self.error(f"expected a local name or '*' right after '{prefix}:'")
            self.parsed.prefixes.setdefault(prefix, Mention(start, prefix, name))
            return name_test(name, prefix)
        return name_test(name)

    def kind_test(self, name: str, start: int) -> KindTest:
        """A node type, such as ``text()``."""
        if name not in _KINDS:
            raise self.error(*no_step(name), offset=start)
        opened = self.at
        self.at += 1
        target: str | None = None
        if self.skip() != ")" and name == "processing-instruction":
            if self.peek() not in ("'", '"'):
                hint = f"write {name}('target'), or {name}() for any"
                raise self.error("expected the target in quotes", hint)
            target = self.literal()
        self.close(")", opened, f"{name}() takes no argument" if target is None else "")
        if target is None:
            return ANY_NODE if name == "node" else KindTest(name)  # type: ignore[arg-type]
        return KindTest("processing-instruction", target)

    # -- errors

    def error(self, reason: str, hint: str = "", offset: int | None = None) -> QuerySyntaxError:
        """An error at this place, or at another one."""
        at = self.at if offset is None else offset
        return QuerySyntaxError(reason, hint, xpath=self.text, offset=at)


def _joined_height(left: int, right: int) -> int:
    return max(left, right) + 1


_NATIVE: Final = native("_parser")
_PARSE: Final[Callable[[str, Limits], Parsed | None] | None] = _NATIVE and _NATIVE.parse
