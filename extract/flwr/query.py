"""A FLWR query as XPath: which nodes it binds, and what is evaluated at each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from extract.errors import QuerySyntaxError
from extract.flwr.ast import Content, ElementConstructor, Enclosed, Loop
from extract.flwr.names import check_names
from extract.flwr.parser import ParsedFlwr, parse_clauses
from extract.flwr.variables import from_bound_node, from_document, mentions, replaced, size
from extract.limits import DEFAULTS, Limits
from extract.xpath.ast import ANY_NODE as _ANY
from extract.xpath.ast import (
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    Step,
    Union,
    Variable,
)
from extract.xpath.check import check_mentions
from extract.xpath.functions import Type
from extract.xpath.types import type_of

_CHARS: Final = 8  # of a part of an expression, about


@dataclass(frozen=True)
class FlwrQuery:
    """A FLWR query.

    Attributes:
        text: The query as written.
        namespaces: Prefix to namespace URI, for its expressions and constructors.
        outer: The element around all results; None if there is none.
        loop: The loop.
    """

    text: str
    namespaces: Mapping[str, str]
    outer: ElementConstructor | None
    loop: Loop

    @cached_property
    def binding(self) -> Expr:
        """The nodes that it binds, as XPath; with the condition, if `rest` is None."""
        path = from_document(self.loop.path)
        return path if self._bound_where is None else _where(path, self._bound_where)

    @cached_property
    def where(self) -> Expr | None:
        """The condition, in which only the variable of ``for`` is left; None if there is none."""
        return None if self.loop.where is None else self.value(self.loop.where)

    @cached_property
    def _bound_where(self) -> Expr | None:
        """The condition at a bound node; None if it cannot start there."""
        return None if self.where is None else from_bound_node(self.where)

    @cached_property
    def rest(self) -> Expr | None:
        """A condition that has to be evaluated for each binding, with its variable."""
        return self.where if self._bound_where is None else None

    @cached_property
    def bound(self) -> tuple[Expr, ...]:
        """What is evaluated at each binding: keys of the order, then what results enclose.

        An expression starts at the bound node; or, if that cannot be, it has the variable in it.
        """
        exprs = [key.expr for key in self.loop.order]
        exprs += [one.expr for one in enclosed(self.loop.result)]
        values = [self.value(expr) for expr in exprs]
        return tuple([from_bound_node(value) or value for value in values])

    def value(self, expr: Expr) -> Expr:
        """An expression in which only the variable of ``for`` is left."""
        whole = from_document(expr)
        return replaced(whole, self._lets) if self._lets else whole

    @cached_property
    def _lets(self) -> Mapping[str, Expr]:
        values: dict[str, Expr] = {}
        for let in self.loop.lets:
            values[let.name] = replaced(from_document(let.expr), values)
        return values


def parse_flwr(text: str, namespaces: Mapping[str, str], limits: Limits | None = None) -> FlwrQuery:
    """Parses a FLWR query that can be evaluated.

    Raises:
        QuerySyntaxError: It is none of the subset that is taken, or can only fail.
    """
    return parse_with_literals(text, namespaces, limits or DEFAULTS)[1]


def parse_with_literals(
    text: str, namespaces: Mapping[str, str], limits: Limits
) -> tuple[ParsedFlwr, FlwrQuery]:
    """Like `parse_flwr`, and what its text mentions, and where."""
    parsed = parse_clauses(text, limits)
    query = FlwrQuery(text, namespaces, parsed.outer, parsed.loop)
    _check_size(query, limits)
    check_mentions(parsed.parsed, namespaces, query.value)
    check_names(parsed.outer or parsed.loop.result, namespaces, text)
    _check_types(parsed, query)
    _check_copies(parsed, query)
    return parsed, query


def enclosed(content: Content) -> Iterator[Enclosed]:
    """The enclosed expressions of a constructor, in the order of the text; none of a loop."""
    if isinstance(content, Enclosed):
        yield content
    elif isinstance(content, ElementConstructor):
        for attribute in content.attributes:
            for part in attribute.value:
                yield from enclosed(part)
        for inner in content.content:
            yield from enclosed(inner)


def _check_size(query: FlwrQuery, limits: Limits) -> None:
    """Checks that expressions do not grow too large when variables are replaced."""
    loop, sizes = query.loop, dict[str, int]()
    for let in loop.lets:
        sizes[let.name] = size(let.expr, sizes)
    exprs = [*[one.expr for one in enclosed(loop.result)], *[key.expr for key in loop.order]]
    exprs += [] if loop.where is None else [loop.where]
    largest = max([*sizes.values(), *[size(expr, sizes) for expr in exprs]], default=0)
    if largest * _CHARS > limits.xpath_chars:
        hint = "variables that are made of each other grow too large; use fewer"
        raise QuerySyntaxError(limits.passed("xpath_chars"), hint, xpath=query.text)


def _check_types(parsed: ParsedFlwr, query: FlwrQuery) -> None:
    loop = parsed.loop
    if mentions(loop.path):
        reason = "the path of 'for' has a variable"
        raise QuerySyntaxError(reason, xpath=parsed.text, offset=loop.offset)
    type_ = type_of(loop.path)
    if type_ is not Type.NODES:
        reason = f"'for' binds nodes, and this is a {type_.value}"
        hint = "write a path: for $x in //a"
        raise QuerySyntaxError(reason, hint, xpath=parsed.text, offset=loop.offset)
    if isinstance(loop.path, LocationPath) and not loop.path.steps:
        reason = "'for' binds the document itself, which is no node of a result"
        hint = "bind its root: for $x in /*"
        raise QuerySyntaxError(reason, hint, xpath=parsed.text, offset=loop.offset)
    if query.where is not None:
        type_ = type_of(query.where)
        if type_ not in (Type.BOOLEAN, Type.NODES):
            reason = f"'where' takes a condition, and this is a {type_.value}"
            hint = "compare it, as in $x/price > 10"
            raise QuerySyntaxError(reason, hint, xpath=parsed.text, offset=loop.where_offset)


def _check_copies(parsed: ParsedFlwr, query: FlwrQuery) -> None:
    """Checks that nothing is bound, written or a key that XQuery has no nodes for."""
    places = [(one.expr, one.offset) for one in enclosed(parsed.outer or parsed.loop.result)]
    if parsed.outer is not None:
        places += [(one.expr, one.offset) for one in enclosed(parsed.loop.result)]
    places += [(key.expr, key.offset) for key in parsed.loop.order]
    for expr, offset in [(parsed.loop.path, parsed.loop.offset), *places]:
        if _selects_namespaces(query.value(expr)):
            reason = "namespace nodes are not taken"
            hint = "write their value: string($x/namespace::p)"
            raise QuerySyntaxError(reason, hint, xpath=parsed.text, offset=offset)


def _selects_namespaces(expr: Expr) -> bool:
    """Whether there may be namespace nodes among the nodes of an expression."""
    if isinstance(expr, Union):
        return any(map(_selects_namespaces, expr.parts))
    if not isinstance(expr, (LocationPath, FilterPath)):
        return False
    for step in reversed(expr.steps):
        if not step.axis.endswith("self"):
            return step.axis == "namespace"
    return isinstance(expr, FilterPath) and _selects_namespaces(expr.primary)


def _where(path: Expr, condition: Expr) -> Expr:
    """The nodes of a path of which a condition holds."""
    if isinstance(path, Union):
        return Union(tuple([_where(part, condition) for part in path.parts]))
    if isinstance(path, LocationPath):
        steps = path.steps or (Step("self", _ANY),)
        return LocationPath(path.absolute, (*steps[:-1], steps[-1].where(condition)))
    if isinstance(path, FilterPath) and path.steps:
        steps = (*path.steps[:-1], path.steps[-1].where(condition))
        return FilterPath(path.primary, path.predicates, steps)
    if isinstance(path, FilterPath):
        return FilterPath(path.primary, (*path.predicates, condition))
    assert isinstance(path, (FunctionCall, Variable))
    return FilterPath(path, (condition,))
