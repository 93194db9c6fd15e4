"""FLWR subscriptions: what to make of the nodes that a query selects.

Usage:
    >>> from extract.flwr import parse_flwr
    >>> query = parse_flwr('for $s in //section where $s/p = "x" return <s>{ $s/title }</s>', {})
    >>> str(query.binding), [str(one) for one in query.bound]
    ("//section[p = 'x']", ['title'])

Which module:
    `ast` has the values, `parser` and `constructors` read the text. `query` turns a parsed query
    into XPath: its binding path with the condition of ``where``, and expressions that start at a
    bound node.

Always holds:
    Expressions are XPath 1.0, read by the same parser as all others. Constructors are XQuery's. A
    query that is outside of the subset is an error that names the construct, with its place.

To add one more clause:
    Its value in `ast`, its text in `parser`, and what it means in `query`.
"""

from extract.flwr.query import FlwrQuery, parse_flwr

__all__ = ["FlwrQuery", "parse_flwr"]
