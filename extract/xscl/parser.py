"""XSCL text to values: the clauses; `patterns` reads the trees, FLWR's parser the constructor."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from extract.errors import QuerySyntaxError
from extract.flwr.ast import ElementConstructor, Loop
from extract.flwr.constructors import ConstructorParser
from extract.flwr.names import check_names
from extract.flwr.query import enclosed
from extract.limits import DEFAULTS, Limits
from extract.xpath.ast import Expr, Step, Variable, make_path
from extract.xpath.check import check_mentions
from extract.xpath.names import NOT_XML
from extract.xpath.parser import SPLIT, ExpressionParser
from extract.xscl.ast import Equality, JoinOperator, JoinSide, JoinWindow, PatternNode, XsclQuery
from extract.xscl.bindings import VARIABLE
from extract.xscl.normal_form import (
    NAMESPACE_HINT,
    NAMESPACE_NODE,
    VariableTrees,
    has_namespace_nodes,
    with_hidden,
)
from extract.xscl.patterns import PatternParser, bindings_in
from extract.xscl.times import duration

_WORD: Final = re.compile(r"[A-Za-z]+")
_SIZE: Final = re.compile(r"[^\s,}]+")
_JOINED: Final = re.compile(r"\b(?:FOLLOWED\s+BY|JOIN)\s*\{")
# A side without strings, up to the word after it. Sides that mention nothing which has to be looked
# up for each query (functions, prefixes) are kept by their texts: queries by the thousands repeat
# them.
_SIDE: Final = re.compile(
    r"""[^"{}\s](?:[^"'{}]|(?<=\w)'+)*?(?=\s+(?:JOIN|FOLLOWED\s+BY)\s*\{|\s+PUBLISH\s|\s*\Z)"""
)
_SIDES: Final[dict[str, JoinSide]] = {}
_KNOWN: Final = 1 << 16
_FORM: Final = "write S//a->x1[b->x2] JOIN{x2=x4, 60} S//c->x3[d->x4]"
_CHAIN: Final = (
    "give each join a query of its own, and read its results as a stream: "
    "'A JOIN{…, T} B PUBLISH ab', then 'ab//join->x JOIN{…, T} C'"
)


def is_xscl(text: str) -> bool:
    """Whether a query joins documents, and is no XPath.

    >>> is_xscl("S//a->x JOIN{x=y, 5} S//b->y"), is_xscl("//a[b = 'JOIN{']"), is_xscl("//join")
    (True, False, False)
    """
    return _JOINED.search(re.sub(r"\"[^\"]*\"|(?<![\w'])'[^']*'", "", text)) is not None


def parse_xscl(text: str, namespaces: Mapping[str, str], limits: Limits | None = None) -> XsclQuery:
    """Parses an XSCL query, into value-join normal form.

    Args:
        text: The query.
        namespaces: Prefix to namespace URI.
        limits: How large it may be.

    Raises:
        QuerySyntaxError: It is none, or can only fail.
    """
    limits = limits or DEFAULTS
    if len(text) > limits.xpath_chars:
        reason = limits.passed("xpath_chars")
        raise QuerySyntaxError(reason, SPLIT, xpath=text, offset=limits.xpath_chars)
    bad = NOT_XML.search(text)
    if bad:
        reason = f"the character U+{ord(bad[0]):04X} cannot occur in XML"
        raise QuerySyntaxError(reason, xpath=text, offset=bad.start())
    return _XsclParser(text, namespaces, limits).query()


class _SelectParser(ConstructorParser):
    """Reads the constructor of ``SELECT``, whose braces hold variables."""

    def expression(self) -> Expr:
        """A variable."""
        self.x.skip()
        name = VARIABLE.match(self.x.text, self.x.at)
        if not name:
            hint = "in braces stands a variable of the patterns, as in {x3}"
            raise self.error("expected a variable", hint)
        self.x.at = name.end()
        if self.x.peek() in ("/", "["):
            hint = f"bind that node in a pattern, as in {name[0]}[path->y], and write {{y}}"
            raise self.error("a path cannot stand in SELECT", hint)
        return Variable(name[0])

    def enclosed_loop(self) -> Loop | None:
        """None: there are no loops here."""
        return None


class _XsclParser:
    """One pass over one query."""

    def __init__(self, text: str, namespaces: Mapping[str, str], limits: Limits) -> None:
        self.text = text
        self.namespaces = namespaces
        self.limits = limits

    def query(self) -> XsclQuery:
        """Reads the whole text."""
        output, start = self._select()
        self.x = PatternParser(self.text, start, self.limits)
        left = self._side()
        operator = self._operator()
        opened = self.x.at
        terms, window = self._condition(operator)
        right = self._side()
        publish = self._publish()
        if self.x.parsed.variables:
            mention = self.x.parsed.variables[0]
            hint = "variables are bound by an arrow, as in //a->x"
            raise self.x.error(f"${mention.name} has no value", hint, mention.offset - 1)
        check_mentions(self.x.parsed, self.namespaces)
        query = XsclQuery(self.text, self.namespaces, left, right, (), window, output, publish)
        query = self._joined(query, terms, opened)
        self._check_output(query)
        return query

    # -- clauses

    def _select(self) -> tuple[ElementConstructor | None, int]:
        """The constructor, and where the patterns begin."""
        x = ExpressionParser(self.text, self.limits)
        if not self._word_at(x, "SELECT"):
            return None, x.at
        element = None
        if x.skip() == "*":
            x.at += 1
        elif x.peek() == "<":
            element = _SelectParser(x).element()
        else:
            hint = "write SELECT * or SELECT <pair>{x1}{x2}</pair>"
            raise x.error("SELECT takes an element, or '*'", hint)
        if not self._word_at(x, "FROM"):
            raise x.error("expected FROM", "write SELECT <pair>{x1}</pair> FROM S//a->x1 …")
        return element, x.at

    def _side(self) -> JoinSide:
        """A side; one that was read before, in this query or another, is known by its text."""
        x = self.x
        x.skip()
        text = _SIDE.match(self.text, x.at)
        known = _SIDES.get(text[0]) if text else None
        if text and known is not None:
            x.at = text.end()
            return known
        parsed = x.parsed
        notes = (parsed.functions, parsed.variables, parsed.node_sets, parsed.unplaced)
        before = [len(one) for one in notes]
        side = self._new_side()
        plain = before == [len(one) for one in notes] and ":" not in self.text
        if text and plain and text.end() == len(x.text[: x.at].rstrip()):
            if len(_SIDES) >= _KNOWN:
                _SIDES.clear()
            _SIDES[text[0]] = side
        return side

    def _new_side(self) -> JoinSide:
        x = self.x
        start = x.at
        stream = x.name()
        if not stream:
            if x.peek() == "(" and _JOINED.search(self.text, x.at):
                raise x.error("a query has one join operator", _CHAIN)
            raise x.error("expected the name of a stream", _FORM)
        if x.peek() != "/":
            reason = f"expected a path after the stream {stream}"
            raise x.error(reason, f"write {stream}//name->x", start if x.peek() == "" else None)
        begin = x.at
        path = x.pattern()
        names: set[str] = set()
        for one in sorted(bindings_in(path)):
            if one.name in names:
                hint = "give each node a variable of its own"
                raise x.error(f"{one.name} is bound twice", hint, one.start)
            names.add(one.name)
        return JoinSide(stream, VariableTrees(x.error).root(path, begin))

    def _operator(self) -> JoinOperator:
        x = self.x
        if self._word_at(x, "JOIN"):
            return JoinOperator.JOIN
        if self._word_at(x, "FOLLOWED"):
            if not self._word_at(x, "BY"):
                raise x.error("expected BY", "write FOLLOWED BY{x2=x4, 60}")
            return JoinOperator.FOLLOWED_BY
        if not x.skip():
            hint = f"{_FORM}; for one document alone, subscribe with an XPath"
            raise x.error("there is no join operator", hint)
        raise x.error("expected JOIN or FOLLOWED BY", _FORM)

    def _publish(self) -> str:
        x = self.x
        publish = ""
        if self._word_at(x, "PUBLISH"):
            x.skip()
            at, publish = x.at, x.name()
            if not publish:
                raise x.error("expected the name of a stream", "write PUBLISH pairs")
            if publish == "S":
                hint = "give the stream another name"
                raise x.error("S stands for all input streams", hint, at)
        if x.skip():
            word = _WORD.match(x.text, x.at)
            if word and word[0].upper() in ("JOIN", "FOLLOWED"):
                raise x.error("a query has one join operator", _CHAIN)
            raise x.error("expected PUBLISH or the end", "write one query a line")
        return publish

    # -- conditions

    def _condition(
        self, operator: JoinOperator
    ) -> tuple[list[tuple[_Operand, _Operand]], JoinWindow]:
        x = self.x
        if x.skip() != "{":
            raise x.error("expected '{'", f"write {operator.value}{{x2=x4, 60}}")
        opened = x.at
        x.at += 1
        terms = [self._term()]
        while self._word_at(x, "AND", "and"):
            terms.append(self._term())
        if self._word_at(x, "OR", "or"):
            hint = "equalities are joined by AND; make a query for each alternative"
            raise x.error("OR cannot stand in a join condition", hint, x.at - 2)
        if x.skip() != ",":
            hint = f"after the equalities comes the window: {operator.value}{{x2=x4, 60}}"
            raise x.error("expected AND or ','", hint)
        x.at += 1
        window = self._window(operator)
        if x.skip() not in ("", "}"):
            hint = "a window is a number of seconds, as in 3600, or of documents, as in 10 EVENTS"
            raise x.error("expected '}' after the window", hint)
        x.close("}", opened)
        return terms, window

    def _term(self) -> tuple[_Operand, _Operand]:
        left = self._operand()
        x = self.x
        if x.skip() != "=":
            hint = "a condition compares two variables, as in x2=x5"
            if x.peek() in ("!", "<", ">"):
                hint = "only equalities join documents; put other tests into a pattern"
            raise x.error("expected '='", hint)
        x.at += 1
        return left, self._operand()

    def _operand(self) -> _Operand:
        x = self.x
        x.skip()
        start = x.at
        name = VARIABLE.match(x.text, x.at)
        if not name:
            hint = "compare variables, as in x2=x5; put a test of a value into a pattern"
            raise x.error("expected a variable", hint)
        x.at = name.end()
        steps: list[Step] = []
        if x.peek() == "/":
            x.relative_path(steps)
        if has_namespace_nodes(steps):
            raise x.error(NAMESPACE_NODE, NAMESPACE_HINT, start)
        return _Operand(name[0], tuple(steps), start)

    def _window(self, operator: JoinOperator) -> JoinWindow:
        x = self.x
        x.skip()
        start = x.at
        size = _SIZE.match(x.text, x.at)
        if not size:
            raise x.error("there is no window", "write seconds, or a number of EVENTS")
        x.at = size.end()
        if self._word_at(x, "EVENTS", "EVENT"):
            if not size[0].isascii() or not size[0].isdigit() or not 1 <= int(size[0]) < 1 << 60:
                reason = f"{size[0]!r} is no number of events"
                raise x.error(reason, "write a whole number from 1 on, as in 10 EVENTS", start)
            return JoinWindow(operator, int(size[0]), True)
        try:
            return JoinWindow(operator, duration(size[0]))
        except ValueError as error:
            raise x.error(str(error), "write seconds, as in 3600, or 10 EVENTS", start) from None

    # -- what variables mean

    def _joined(
        self, query: XsclQuery, terms: list[tuple[_Operand, _Operand]], opened: int
    ) -> XsclQuery:
        """The query with its condition in normal form."""
        sides = [query.left, query.right]
        names = [{one.variable for one in side.nodes} - {""} for side in sides]
        for name in sorted(names[0] & names[1]):
            hint = f"variables of the two sides differ: write {name}' on the right"
            offset = self.text.rfind(name)
            raise self.x.error(f"{name} is bound on both sides", hint, offset)
        equalities: list[Equality] = []
        for pair in terms:
            placed = []
            for operand in pair:
                number = next((n for n in (0, 1) if operand.variable in names[n]), None)
                if number is None:
                    known = ", ".join([*sides[0].variables, *sides[1].variables])
                    reason = f"no pattern binds {operand.variable}"
                    raise self.x.error(reason, _unbound(operand.variable, known), operand.offset)
                sides[number], name = operand.placed(sides[number])
                placed.append((number, name))
            (first, one), (second, other) = sorted(placed)
            if first == second:
                same = (*sides[first].same, (one, other))
                sides[first] = replace(sides[first], same=same)
            elif Equality(one, other) not in equalities:
                equalities.append(Equality(one, other))
        if not equalities:
            hint = "compare a variable of the left side with one of the right"
            raise self.x.error("nothing joins the two sides", hint, opened)
        return replace(query, left=sides[0], right=sides[1], equalities=tuple(equalities))

    def _check_output(self, query: XsclQuery) -> None:
        if query.output is None:
            return
        known = {*query.left.variables, *query.right.variables}
        for one in enclosed(query.output):
            assert isinstance(one.expr, Variable)
            if one.expr.name not in known:
                reason = f"no pattern binds {one.expr.name}"
                hint = _unbound(one.expr.name, ", ".join(sorted(known)))
                raise QuerySyntaxError(reason, hint, xpath=self.text, offset=one.offset)
        check_names(query.output, self.namespaces, self.text)

    def _word_at(self, x: ExpressionParser, *words: str) -> bool:
        """Reads a keyword, if one of these is here."""
        x.skip()
        word = _WORD.match(x.text, x.at)
        if not word:
            return False
        if word[0] in words:
            x.at = word.end()
            return True
        if word[0].upper() == words[0] and len(words) == 1:
            raise x.error(f"{word[0]!r} is no keyword", f"write {words[0]}")
        return False


class _Operand:
    """A variable of a condition, and the path from it."""

    __slots__ = ("offset", "steps", "variable")

    def __init__(self, variable: str, steps: tuple[Step, ...], offset: int) -> None:
        self.variable = variable
        self.steps = steps
        self.offset = offset

    def placed(self, side: JoinSide) -> tuple[JoinSide, str]:
        """The side in which the operand is a variable, and that variable."""
        if not self.steps:
            return side, self.variable
        path = make_path(False, self.steps)
        # One for each occurrence: each comparison may hold of another node.
        number = sum([one.hidden for one in side.nodes])
        name = f"{self.variable}/{path} #{number}"
        hidden = PatternNode(name, path, hidden=True)
        return replace(side, root=with_hidden(side.root, self.variable, hidden)), name


def _unbound(name: str, known: str) -> str:
    """The hint for a variable that is used, and not bound."""
    return f"the patterns of this query bind {known}; bind a node in one of them: [path->{name}]"
