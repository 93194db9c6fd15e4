"""XPath 2.0 and later: what elementpath parses, checked when a query is registered.

Such queries are not normalised: they are evaluated as they are written, on whole documents. Our
parsers do not know the functions that would read anything but the document.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from extract.errors import QuerySyntaxError
from extract.limits import DEFAULTS, Limits

FIRST: Final = "1.0"  # what a query is in unless it says so
VERSIONS: Final = (FIRST, "2.0", "3.0", "3.1")
# Prefixes that these versions bind themselves.
PREDEFINED: Final = frozenset({"xml", "xs", "fn", "err", "math", "map", "array"})

_ELSEWHERE: Final = frozenset(
    {
        "available-environment-variables",
        "collection",
        "doc",
        "doc-available",
        "environment-variable",
        "json-doc",
        "load-xquery-module",
        "transform",
        "unparsed-text",
        "unparsed-text-available",
        "unparsed-text-lines",
        "uri-collection",
    }
)
_SPLIT: Final = "split it into several subscriptions"
_BINDING: Final = frozenset({"for", "let", "some", "every"})
_BY_CODEPOINT: Final = "http://www.w3.org/2005/xpath-functions/collation/codepoint"


def parse_later(
    xpath: str, version: str, namespaces: Mapping[str, str], limits: Limits | None = None
) -> Any:
    """The token tree of an expression in XPath 2.0 or later, ready to be evaluated.

    Raises:
        QuerySyntaxError: It does not parse, or it can only fail: an unknown function, a wrong
            number of arguments, a prefix without a namespace, a variable that nothing binds, or a
            function that reads other files; or it passes a limit.

    >>> str(parse_later("//a[matches(., '^x')]", "2.0", {}).symbol)
    '//'
    """
    from elementpath.exceptions import ElementPathError
    from elementpath.tdop import Parser

    limits = limits or DEFAULTS
    if version not in VERSIONS:
        hint = f"there are: {', '.join(VERSIONS)}"
        raise QuerySyntaxError(f"there is no XPath {version!r} here", hint, xpath=xpath)
    if len(xpath) > limits.xpath_chars:
        reason = limits.passed("xpath_chars")
        raise QuerySyntaxError(reason, _SPLIT, xpath=xpath, offset=limits.xpath_chars)
    # Strings compare the same everywhere, whatever the locale of a machine says.
    parser = _parser_class(version)(namespaces=dict(namespaces), default_collation=_BY_CODEPOINT)
    if parser.tokenizer is None:
        parser.tokenizer = parser.create_tokenizer(parser.symbol_table)
    try:
        # Not its own `parse`: that also evaluates what is constant, which may take for ever.
        root = Parser.parse(parser, xpath)
    except ElementPathError as error:
        raise _refused(error, xpath, version) from None
    except RecursionError:
        reason = "it is nested too deeply for elementpath"
        raise QuerySyntaxError(reason, _SPLIT, xpath=xpath) from None
    except (ValueError, TypeError, KeyError, AttributeError, LookupError) as error:
        # What elementpath lets through of its own insides, for broken expressions.
        reason = f"elementpath cannot parse it: {error}"
        raise QuerySyntaxError(reason, _hint("", "", "", version), xpath=xpath) from None
    if root.label in ("sequence type", "function test"):
        raise QuerySyntaxError("this is a type, not an expression", "", xpath=xpath, offset=0)
    _check_variables(root, xpath)
    return root


@cache
def _parser_class(version: str) -> Any:
    """elementpath's parser, without the functions that look elsewhere, by whatever name."""
    from elementpath import XPath2Parser
    from elementpath.xpath3 import XPath30Parser, XPath31Parser

    parser: Any = {"2.0": XPath2Parser, "3.0": XPath30Parser, "3.1": XPath31Parser}[version]
    symbols = {
        symbol: token
        for symbol, token in parser.symbol_table.items()
        if symbol.rpartition("}")[2] not in _ELSEWHERE
    }
    return type(parser)(f"Closed{parser.__name__}", (parser,), {"symbol_table": symbols})


def _check_variables(root: Any, xpath: str) -> None:
    tokens = list(_walk(root))
    bound = {name for token in tokens for name in _bound(token)}
    for token in tokens:
        if token.symbol == "$" and token.value not in bound:
            reason = f"there is no value for the variable ${token.value}"
            hint = "subscriptions have no variables; write the value itself, or bind it with for"
            raise QuerySyntaxError(reason, hint, xpath=xpath, offset=_offset(token, xpath))


def _walk(token: Any) -> Iterator[Any]:
    """All tokens, also those in the bodies of functions."""
    todo = [token]
    while todo:
        one = todo.pop()
        yield one
        todo.extend([each for each in one if each is not one])
        body = getattr(one, "body", None)
        if body is not None:
            todo.append(body)


def _bound(token: Any) -> Iterator[str]:
    """The variables that a token binds."""
    if token.symbol in _BINDING:
        yield from (one.value for one in token[:-1:2] if one.symbol == "$")
    elif token.symbol == "function":
        yield from (one.value for one in token if one.symbol == "$")


def _offset(token: Any, xpath: str) -> int:
    start = int(token.span[0])
    return start if 0 <= start <= len(xpath) else -1


def _refused(error: Any, xpath: str, version: str) -> QuerySyntaxError:
    """What elementpath says, in our words where it is common."""
    code = (error.code or "").rpartition(":")[2]
    token, said = error.token, error.message
    offset = _offset(token, xpath) if token is not None else -1
    if token is not None and token.symbol == "(end)":
        offset = len(xpath)
    name = said.partition("'")[2].partition("'")[0]
    local = name.rpartition(":")[2].rpartition("}")[2]
    if code == "XPST0017" and local in _ELSEWHERE:
        reason = f"{local}() would read something else than the document"
        hint = "a query sees the document that it is evaluated on, and nothing more"
        return QuerySyntaxError(reason, hint, xpath=xpath, offset=offset)
    return QuerySyntaxError(said, _hint(code, name, said, version), xpath=xpath, offset=offset)


def _hint(code: str, name: str, said: str, version: str) -> str:
    if code == "XPST0081" and name:
        return f"bind it with --ns {name}=URI or a line '#! ns {name}=URI'"
    if code == "XPST0017" and said.startswith("unknown function"):
        names = [key for key in _parser_class(version).symbol_table if key.isidentifier()]
        close = difflib.get_close_matches(name, names, 1)
        return f"did you mean {close[0]}()?" if close else f"XPath {version} has no such function"
    if said == "unexpected end of source":
        return "it ends too early: something is not closed, or missing"
    if version != VERSIONS[-1]:
        return f"it is read as XPath {version}; does it need a later version?"
    return f"it is read as XPath {version}"
