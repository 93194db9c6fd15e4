"""Finds names in a query that the schema does not declare: misspelt, or in a wrong namespace.

Such a name is rarely intended. The query is not rejected, because a document may break the schema;
reports suggest the name that was probably meant.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from extract.schema.model import Schema, local_of, namespace_of
from extract.xpath.ast import Expr, FilterPath, LocationPath, NameTest
from extract.xpath.parser import parse
from extract.xpath.traverse import children


class Spelling:
    """Compares names with those of a schema.

    Args:
        schema: The schema.
        namespaces: The namespaces of the queries' prefixes.

    >>> from extract.schema.model import Declaration
    >>> order = Declaration(0, "{urn:o}order")
    >>> schema = Schema("memory", "xsd", (order,), roots=(0,), prefixes={"po": "urn:o"})
    >>> Spelling(schema, {}).of("/order")
    'order is in the namespace urn:o: write po:order, with --ns po=urn:o'
    >>> Spelling(schema, {"po": "urn:o"}).of("/po:odrer")
    'did you mean po:order instead of po:odrer?'
    """

    def __init__(self, schema: Schema, namespaces: Mapping[str, str]) -> None:
        declarations = schema.declarations
        self._elements = {declaration.name for declaration in declarations}
        self._attributes = {
            item.name for declaration in declarations for item in declaration.attributes
        }
        self._prefixes = {uri: prefix for prefix, uri in schema.prefixes.items() if prefix}
        self._prefixes |= {uri: prefix for prefix, uri in namespaces.items()}
        self._namespaces = namespaces

    def of(self, xpath: str) -> str:
        """Returns corrections for names that resemble those of the schema; empty if there are none.

        Args:
            xpath: A query in canonical form.
        """
        near: dict[str, None] = {}
        lost: dict[str, list[NameTest]] = {}
        for axis, test in _names(parse(xpath)):
            names = self._attributes if axis == "attribute" else self._elements
            uri = self._namespaces.get(test.prefix, "") if test.prefix else ""
            name = f"{{{uri}}}{test.local}" if uri else test.local
            if name in names or test.prefix == "xml":
                continue
            same = sorted(name for name in names if local_of(name) == test.local)
            if not same:
                near[self._near(test, names)] = None
            elif test not in lost.setdefault(namespace_of(same[0]), []):
                lost[namespace_of(same[0])].append(test)
        return "; ".join(filter(None, [*(self._lost(*item) for item in lost.items()), *near]))

    def _lost(self, uri: str, tests: list[NameTest]) -> str:
        """Returns a hint for names that exist in another namespace."""
        names, are = " and ".join(map(str, tests)), "is" if len(tests) == 1 else "are"
        if not uri:
            return f"{names} {are} in no namespace: write it without a prefix"
        bound = next(
            (prefix for prefix, bound_to in self._namespaces.items() if bound_to == uri), ""
        )
        if tests[0].prefix and not bound:
            return f"{names} {are} in the namespace {uri}: bind --ns {tests[0].prefix}={uri}"
        prefix = bound or self._prefixes.get(uri, "p")
        instead = " and ".join(f"{prefix}:{test.local}" for test in tests)
        return f"{names} {are} in the namespace {uri}: write {instead}, with --ns {prefix}={uri}"

    def _near(self, test: NameTest, names: set[str]) -> str:
        """Returns a hint with the most similar name."""
        near = difflib.get_close_matches(test.local, sorted({local_of(name) for name in names}), 1)
        if not near:
            return ""
        name = next(name for name in sorted(names) if local_of(name) == near[0])
        prefix = self._prefixes.get(namespace_of(name), "")
        return f"did you mean {f'{prefix}:' if prefix else ''}{near[0]} instead of {test}?"


def _names(expr: Expr) -> Iterator[tuple[str, NameTest]]:
    if isinstance(expr, LocationPath | FilterPath):
        for step in expr.steps:
            if isinstance(step.test, NameTest) and step.test.local != "*":
                yield step.axis, step.test
    for child in children(expr):
        yield from _names(child)
