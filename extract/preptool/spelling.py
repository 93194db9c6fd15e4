"""Names in a query that the schema does not have at all: slips of the pen, and lost namespaces.

A query with such a name is rarely what somebody meant. It is not rejected, for a document may break
the schema; but whoever asks is told.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from extract.schema.model import Schema, local_of, namespace_of
from extract.xpath.ast import Expr, FilterPath, LocationPath, NameTest
from extract.xpath.parser import parse
from extract.xpath.traverse import children


class Spelling:
    """Knows the names of a schema.

    Args:
        schema: The schema.
        namespaces: What the prefixes of queries stand for.

    >>> from extract.schema.model import Declaration
    >>> order = Declaration(0, "{urn:o}order")
    >>> schema = Schema("memory", "xsd", (order,), roots=(0,), prefixes={"po": "urn:o"})
    >>> Spelling(schema, {}).of("/order")
    'order is in the namespace urn:o: write po:order, and bind it with --ns po=urn:o'
    >>> Spelling(schema, {"po": "urn:o"}).of("/po:odrer")
    'did you mean po:order instead of po:odrer?'
    """

    def __init__(self, schema: Schema, namespaces: Mapping[str, str]) -> None:
        self._elements = {one.name for one in schema.declarations}
        self._attributes = {one.name for each in schema.declarations for one in each.attributes}
        self._prefixes = {uri: prefix for prefix, uri in schema.prefixes.items() if prefix}
        self._prefixes |= {uri: prefix for prefix, uri in namespaces.items()}
        self._namespaces = namespaces

    def of(self, xpath: str) -> str:
        """What to write instead of names that are much like those of the schema; or nothing.

        Args:
            xpath: A query in canonical form.
        """
        hints: dict[str, None] = {}
        for axis, test in _names(parse(xpath)):
            known = self._attributes if axis == "attribute" else self._elements
            uri = self._namespaces.get(test.prefix, "") if test.prefix else ""
            name = f"{{{uri}}}{test.local}" if uri else test.local
            if name not in known and test.prefix != "xml":
                hints[self._instead(test, known)] = None
        return "; ".join(filter(None, hints))

    def _instead(self, test: NameTest, known: set[str]) -> str:
        same = sorted(name for name in known if local_of(name) == test.local)
        if same:
            uri = namespace_of(same[0])
            if not uri:
                return f"{test.local} is in no namespace: write it without a prefix"
            prefix = self._prefixes.get(uri, "p")
            instead = f"write {prefix}:{test.local}, and bind it with --ns {prefix}={uri}"
            return f"{test} is in the namespace {uri}: {instead}"
        near = difflib.get_close_matches(test.local, sorted({local_of(name) for name in known}), 1)
        if not near:
            return ""
        name = next(name for name in sorted(known) if local_of(name) == near[0])
        prefix = self._prefixes.get(namespace_of(name), "")
        return f"did you mean {f'{prefix}:' if prefix else ''}{near[0]} instead of {test}?"


def _names(expr: Expr) -> Iterator[tuple[str, NameTest]]:
    if isinstance(expr, LocationPath | FilterPath):
        for step in expr.steps:
            if isinstance(step.test, NameTest) and step.test.local != "*":
                yield step.axis, step.test
    for one in children(expr):
        yield from _names(one)
