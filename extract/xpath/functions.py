"""The functions an XPath may call: arity and types.

The table holds the 27 functions of XPath 1.0 and two of EXSLT's regular expressions, which lxml
adds; the third, ``match()``, makes nodes that are in no document. ``table()`` is ours: the values
of a column of a table beside the subscriptions, see `extract.xpath.reference_tables`. libxml2
notices an unknown function or a wrong number of arguments only when evaluation reaches the call;
here a query that could fail so is turned away when it is registered.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

EXSLT_REGEXP: Final = "http://exslt.org/regular-expressions"


class Type(enum.Enum):
    """The four types of XPath 1.0."""

    NODES = "nodes"
    BOOLEAN = "boolean"
    NUMBER = "number"
    STRING = "string"


@dataclass(frozen=True, slots=True)
class Function:
    """What a function takes and gives.

    Attributes:
        result: Type of the value.
        low: Fewest arguments.
        high: Most arguments, None for any number.
        nodes: Positions of arguments that must be node sets; libxml2 converts all others.
        context: Without arguments the function looks at the context node.
    """

    result: Type
    low: int
    high: int | None
    nodes: tuple[int, ...] = ()
    context: bool = False


_N, _S, _B = Type.NUMBER, Type.STRING, Type.BOOLEAN

# By expanded name, as `extract.schema.model` writes them.
FUNCTIONS: Final[dict[str, Function]] = {
    "last": Function(_N, 0, 0),
    "position": Function(_N, 0, 0),
    "count": Function(_N, 1, 1, nodes=(0,)),
    "id": Function(Type.NODES, 1, 1),
    "local-name": Function(_S, 0, 1, nodes=(0,), context=True),
    "namespace-uri": Function(_S, 0, 1, nodes=(0,), context=True),
    "name": Function(_S, 0, 1, nodes=(0,), context=True),
    "string": Function(_S, 0, 1, context=True),
    "concat": Function(_S, 2, None),
    "starts-with": Function(_B, 2, 2),
    "contains": Function(_B, 2, 2),
    "substring-before": Function(_S, 2, 2),
    "substring-after": Function(_S, 2, 2),
    "substring": Function(_S, 2, 3),
    "string-length": Function(_N, 0, 1, context=True),
    "normalize-space": Function(_S, 0, 1, context=True),
    "translate": Function(_S, 3, 3),
    "boolean": Function(_B, 1, 1),
    "not": Function(_B, 1, 1),
    "true": Function(_B, 0, 0),
    "false": Function(_B, 0, 0),
    "lang": Function(_B, 1, 1, context=True),
    "number": Function(_N, 0, 1, context=True),
    "sum": Function(_N, 1, 1, nodes=(0,)),
    "floor": Function(_N, 1, 1),
    "ceiling": Function(_N, 1, 1),
    "round": Function(_N, 1, 1),
    "table": Function(Type.NODES, 2, 2),
    f"{{{EXSLT_REGEXP}}}test": Function(_B, 2, 3),
    f"{{{EXSLT_REGEXP}}}replace": Function(_S, 4, 4),
}

_XSLT: Final = """
element-available format-number function-available generate-id key system-property
unparsed-entity-uri
"""
_LATER: Final = """
QName adjust-date-to-timezone base-uri codepoint-equal codepoints-to-string current-date
current-dateTime current-time dateTime day-from-date days-from-duration deep-equal distinct-values
document-uri encode-for-uri error exactly-one for-each head hours-from-time index-of insert-before
iri-to-uri local-name-from-QName month-from-date namespace-uri-from-QName nilled normalize-unicode
one-or-more remove resolve-QName resolve-uri reverse round-half-to-even sort static-base-uri
string-join string-to-codepoints subsequence tail tokenize trace unordered year-from-date
zero-or-one
"""

# Names that people bring from elsewhere, and what to write instead.
ELSEWHERE: Final[dict[str, str]] = {
    "exists": "exists(x) is XPath 2.0; in XPath 1.0 write boolean(x), or just x in a predicate",
    "empty": "empty(x) is XPath 2.0; in XPath 1.0 write not(x)",
    "matches": f"matches() is XPath 2.0; bind a prefix, --ns re={EXSLT_REGEXP}, and use re:test()",
    "replace": "replace() is XPath 2.0; for single characters use translate(), for patterns bind a "
    f"prefix, --ns re={EXSLT_REGEXP}, and use re:replace()",
    "ends-with": "ends-with(x, y) is XPath 2.0; in XPath 1.0 write "
    "substring(x, string-length(x) - string-length(y) + 1) = y",
    "upper-case": "upper-case(x) is XPath 2.0; in XPath 1.0 write translate(x, 'abc…', 'ABC…')",
    "lower-case": "lower-case(x) is XPath 2.0; in XPath 1.0 write translate(x, 'ABC…', 'abc…')",
    "avg": "avg(x) is XPath 2.0; in XPath 1.0 write sum(x) div count(x)",
    "min": "min(x) is XPath 2.0; in XPath 1.0 write x[not(../x < .)] for siblings x",
    "max": "max(x) is XPath 2.0; in XPath 1.0 write x[not(../x > .)] for siblings x",
    "abs": "abs(x) is XPath 2.0; in XPath 1.0 write x * (1 - 2 * (x < 0))",
    "data": "data(x) is XPath 2.0; in XPath 1.0 write string(x)",
    "root": "root() is XPath 2.0; in XPath 1.0 write /",
    "node-name": "node-name() is XPath 2.0; in XPath 1.0 write name()",
    "compare": "compare(x, y) is XPath 2.0; XPath 1.0 compares with = and !=, and numbers with <",
    "if": "if … then … else is XPath 2.0; in XPath 1.0 write a[c] | b[not(c)]",
    "element": "element(x) is XPath 2.0; in XPath 1.0 write x, or * for any",
    "attribute": "attribute(x) is XPath 2.0; in XPath 1.0 write @x, or @* for any",
    "item": "item() is XPath 2.0; in XPath 1.0 write node()",
    "document-node": "document-node() is XPath 2.0; in XPath 1.0 write /",
    "current": "current() is XSLT; there is no current node here",
    "document": "document() is XSLT; only the matched document can be queried",
    "doc": "doc() is XPath 2.0; only the matched document can be queried",
    "collection": "collection() is XPath 2.0; only the matched document can be queried",
    **{name: f"{name}() is XSLT; subscriptions are XPath 1.0" for name in _XSLT.split()},
    **{name: f"{name}() is XPath 2.0; subscriptions are XPath 1.0" for name in _LATER.split()},
}
