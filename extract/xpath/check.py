"""What libxml2 would only find out during evaluation, found when a query is registered.

``etree.XPath`` compiles ``foo(1)``, ``$x``, ``p:a`` without a binding for ``p``, and
``count('x')``; each fails on the first document that makes evaluation get there. A subscription
that can only fail, some day, is an error of that subscription now.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from extract.errors import QuerySyntaxError
from extract.limits import DEFAULTS, Limits
from extract.xpath.ast import Binary, Expr, FunctionCall, StringLiteral, Union
from extract.xpath.functions import ELSEWHERE, EXSLT_REGEXP, FUNCTIONS, Function, Type
from extract.xpath.mentions import Mention, Parsed
from extract.xpath.names import XML_NAMESPACE
from extract.xpath.parser import SPLIT, parse_with_mentions
from extract.xpath.reference_tables import KnownTables, check_tables, no_tables
from extract.xpath.traverse import children
from extract.xpath.types import type_of

_FN: Final = "http://www.w3.org/2005/xpath-functions"
_XS: Final = "http://www.w3.org/2001/XMLSchema"


def parse_checked(
    xpath: str,
    namespaces: Mapping[str, str],
    limits: Limits | None = None,
    tables: KnownTables = no_tables,
) -> Expr:
    """The AST of an expression that can be evaluated with these namespaces, and these tables.

    Raises:
        QuerySyntaxError: It does not parse, or it can only fail: an unknown function, a wrong
            number or type of arguments, a prefix without a namespace, a variable, a broken pattern,
            a table that is not there; or it passes a limit.
    """
    limits = limits or DEFAULTS
    parsed = parse_with_mentions(xpath, limits)
    if xpath.count("|") >= limits.xpath_branches and united(parsed.expr) > limits.xpath_branches:
        raise QuerySyntaxError(limits.passed("xpath_branches"), SPLIT, xpath=xpath)
    for mention in parsed.variables:
        raise _error(
            parsed.xpath,
            mention.offset - 1,
            f"there is no value for the variable ${mention.name}",
            "subscriptions have no variables; write the value itself",
        )
    check_mentions(parsed, namespaces, tables=tables)
    return parsed.expr


def check_mentions(
    parsed: Parsed,
    namespaces: Mapping[str, str],
    value_of: Callable[[Expr], Expr] = lambda expr: expr,
    tables: KnownTables = no_tables,
) -> None:
    """Checks all names that a parsed text mentions, but for variables.

    Args:
        parsed: What was parsed.
        namespaces: Prefix to namespace URI.
        value_of: Replaces variables by what they stand for.
        tables: The tables that `table()` may name.

    Raises:
        QuerySyntaxError: As for `parse_checked`.
    """
    for mention in parsed.prefixes.values():
        if mention.prefix not in namespaces and mention.prefix != "xml":
            raise unbound_prefix(parsed.xpath, mention)
    for mention in parsed.unplaced:
        example = "position() = 1" if mention.local == "position" else "last()"
        raise _error(
            parsed.xpath,
            mention.offset,
            f"{mention.local}() has no meaning outside of a predicate",
            f"write it in brackets, as in //a[{example}]",
        )
    for mention, call in parsed.functions:
        _check_call(parsed.xpath, mention, call, [*map(value_of, call.arguments)], namespaces)
    for offset, expr in parsed.node_sets:
        type_ = type_of(value_of(expr))
        if type_ is not Type.NODES:
            raise _error(
                parsed.xpath,
                offset,
                f"this is a {type_.value}, where a node set is needed",
                "to take either, write '|'"
                if isinstance(expr, Binary) and expr.op == "or"
                else "only node sets can be filtered, walked from, or united with '|'",
            )
    check_tables(parsed, tables)


def unbound_prefix(text: str, mention: Mention) -> QuerySyntaxError:
    """The error for a prefix without a namespace."""
    prefix = mention.prefix
    return _error(
        text,
        mention.offset,
        f"the prefix '{prefix}' is not bound to a namespace",
        f"bind it with --ns {prefix}=URI or a line '#! ns {prefix}=URI'",
    )


def _check_call(
    xpath: str,
    mention: Mention,
    call: FunctionCall,
    arguments: Sequence[Expr],
    namespaces: Mapping[str, str],
) -> None:
    uri = XML_NAMESPACE if call.prefix == "xml" else namespaces.get(call.prefix, "")
    name = f"{{{uri}}}{call.name}" if call.prefix else call.name
    function = FUNCTIONS.get(name)
    if function is None:
        if call.prefix and not uri:
            reason = f"the prefix '{call.prefix}' is not bound to a namespace"
        else:
            reason = f"there is no function {mention.name}()"
        raise _error(xpath, mention.offset, reason, _function_hint(call, uri))
    given = len(call.arguments)
    if given < function.low or (function.high is not None and given > function.high):
        reason = f"{mention.name}() takes {_arity(function)}, not {given}"
        raise _error(xpath, mention.offset, reason, "")
    for i in function.nodes:
        if i < given and type_of(arguments[i]) is not Type.NODES:
            argument = arguments[i]
            reason = f"{call.name}() needs a node set, not a {type_of(argument).value}"
            quoted = isinstance(argument, StringLiteral)
            hint = "quotes make a string; write the path without them" if quoted else ""
            raise _error(xpath, mention.offset, reason, hint)
    if uri == EXSLT_REGEXP:
        _check_pattern(xpath, mention, call.arguments[1])


def _arity(function: Function) -> str:
    low, high = function.low, function.high
    if high is None:
        return f"{low} or more arguments"
    if high == 0:
        return "no arguments"
    counts = f"{low}" if low == high else f"{low} {'or' if high == low + 1 else 'to'} {high}"
    return f"{counts} argument{'' if high == 1 else 's'}"


def _check_pattern(xpath: str, mention: Mention, pattern: Expr) -> None:
    if isinstance(pattern, StringLiteral):
        try:
            re.compile(pattern.value)  # as lxml does, but that only on the first document
        except re.error as error:
            reason = f"the pattern of {mention.name}() is broken: {error}"
            raise _error(
                xpath, mention.offset, reason, "patterns are those of Python's re"
            ) from None


def _function_hint(call: FunctionCall, uri: str) -> str:
    if uri == _FN or (call.prefix == "fn" and not uri):
        return "the functions of XPath have no prefix here: drop it"
    if uri == _XS or (call.prefix == "xs" and not uri):
        return "constructor functions are XPath 2.0; in XPath 1.0 write number(x) or string(x)"
    if call.prefix and not uri:
        return f"for regular expressions bind it with --ns {call.prefix}={EXSLT_REGEXP}"
    if call.prefix:
        return f"with a prefix there are only test() and replace() of {EXSLT_REGEXP}"
    if call.name in ELSEWHERE:
        return ELSEWHERE[call.name]
    return _similar_function(call.name)


@lru_cache(maxsize=1 << 10)  # a rule set written for XPath 2.0 has the same function in every rule
def _similar_function(name: str) -> str:
    plain = [one for one in FUNCTIONS if not one.startswith("{")]
    close = difflib.get_close_matches(name, plain, 1)
    return f"did you mean {close[0]}()?" if close else "the functions are those of XPath 1.0"


def _error(xpath: str, offset: int, reason: str, hint: str) -> QuerySyntaxError:
    return QuerySyntaxError(reason, hint, xpath=xpath, offset=offset)


def united(expr: Expr) -> int:
    """How many paths an expression unites with ``|``, in filters too.

    >>> from extract.xpath.parser import parse
    >>> united(parse("a[b | c] | d")), united(parse("'|'"))
    (4, 0)
    """
    here = len(expr.parts) if isinstance(expr, Union) else 0
    return here + sum([united(one) for one in children(expr)])
