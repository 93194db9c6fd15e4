"""One prefix table for all queries of a set.

Each query has its own bindings, and two queries may bind one prefix to two namespaces. Normal forms
are compared, shared and printed, so all of them use one table: the schema's own prefixes first,
    then those
of the queries in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from extract.schema.model import local_of, namespace_of
from extract.xpath.ast import (
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    NameTest,
    Step,
    make_path,
    make_step,
    name_test,
)
from extract.xpath.names import XML_NAMESPACE
from extract.xpath.parser import parse
from extract.xpath.traverse import prefixes_in, rebuild

_MOST_REMEMBERED: Final = 20_000


class Prefixes:
    """Prefixes and namespaces, one to one.

    >>> table = Prefixes({"po": "urn:orders"})
    >>> table.prefix("urn:other", wish="po")
    'po2'
    >>> str(table.test("{urn:other}item"))
    'po2:item'
    """

    def __init__(self, start: Mapping[str, str] | None = None) -> None:
        self._uris: dict[str, str] = {}
        self._prefixes = {XML_NAMESPACE: "xml"}
        self._expanded: dict[NameTest, str] = {}
        self._tests: dict[str, NameTest] = {}
        self._renamings: dict[frozenset[tuple[str, str]], _Names] = {}
        self._last: tuple[Mapping[str, str], _Names] | None = None
        for wish, uri in (start or {}).items():
            self.prefix(uri, wish)

    @property
    def table(self) -> dict[str, str]:
        """Prefix to namespace URI, as ``etree.XPath`` takes it."""
        return dict(self._uris)

    def prefix(self, uri: str, wish: str = "") -> str:
        """Returns the prefix of a namespace; a new one is the wish, or the wish with a number."""
        bound = self._prefixes.get(uri)
        if bound is not None:
            return bound
        wish = wish or "ns"
        prefix, n = wish, 2
        while prefix in self._uris or prefix == "xml":
            prefix, n = f"{wish}{n}", n + 1
        self._prefixes[uri] = prefix
        self._uris[prefix] = uri
        return prefix

    def expanded(self, test: NameTest) -> str:
        """Returns the expanded name of a name test with prefixes of this table."""
        full_name = self._expanded.get(test)
        if full_name is None:
            uri = self.uri(test.prefix)
            full_name = f"{{{uri}}}{test.local}" if uri else test.local
            self._expanded[test] = full_name
        return full_name

    def uri(self, prefix: str) -> str:
        """Returns the namespace of a prefix in this table."""
        if not prefix:
            return ""
        return XML_NAMESPACE if prefix == "xml" else self._uris[prefix]

    def test(self, name: str) -> NameTest:
        """Returns the name test for an expanded name."""
        name_test = self._tests.get(name)
        if name_test is None:
            uri = namespace_of(name)
            name_test = NameTest(local_of(name), self.prefix(uri) if uri else "")
            self._tests[name] = name_test
        return name_test

    def bind(self, expr: Expr, namespaces: Mapping[str, str]) -> Expr:
        """Replaces the prefixes that ``namespaces`` binds in ``expr`` by those of this table.

        Only prefixes that ``expr`` uses enter the table, in the order of their use: so the table
        depends on the queries alone, not on other bindings in their files.
        """
        if not namespaces:
            return expr
        names = self._names(namespaces)
        return expr if names.are_those_of_table() else _rename(expr, names)

    def _names(self, namespaces: Mapping[str, str]) -> _Names:
        """Returns the renaming for some bindings; equal ones have one, and share what it knows."""
        if self._last is not None and self._last[0] is namespaces:
            return self._last[1]
        bindings = frozenset(namespaces.items())
        names = self._renamings.get(bindings)
        if names is None:
            names = self._renamings[bindings] = _Names(self, dict(namespaces))
        self._last = namespaces, names
        return names

    def knows(self, prefix: str, uri: str) -> bool:
        """Whether a prefix of this table is that of a namespace."""
        return self._prefixes.get(uri) == prefix


class _Names:
    """Maps the prefixes of one query to those of the table."""

    __slots__ = ("_bound", "_prefixes", "_same", "exprs", "namespaces", "steps")

    def __init__(self, prefixes: Prefixes, namespaces: Mapping[str, str]) -> None:
        self.namespaces = namespaces
        self._prefixes = prefixes
        self._bound: dict[str, str] = {}
        self._same = False
        # As they were written, to what they became.
        self.steps: dict[Step, Step] = {}
        self.exprs: dict[Expr, Expr] = {}

    def are_those_of_table(self) -> bool:
        """Whether every prefix is the table's own; from then on, it always is."""
        if not self._same:
            self._same = all(self._prefixes.knows(*binding) for binding in self.namespaces.items())
        return self._same

    def of_table(self, prefix: str) -> str:
        """Returns the table's prefix for one of the query; an unbound one stays."""
        if not prefix or prefix not in self.namespaces:
            return prefix
        bound = self._bound.get(prefix)
        if bound is None:
            bound = self._prefixes.prefix(self.namespaces[prefix], prefix)
            self._bound[prefix] = bound
        return bound


def _rename(expr: Expr, names: _Names) -> Expr:
    known = names.exprs.get(expr)
    if known is None:
        if len(names.exprs) > _MOST_REMEMBERED:
            names.exprs.clear()
            names.steps.clear()
        known = names.exprs[expr] = _renamed(expr, names)
    return known


def _renamed(expr: Expr, names: _Names) -> Expr:
    expr = rebuild(expr, lambda e: _rename(e, names))
    if isinstance(expr, (LocationPath, FilterPath)):
        steps = tuple([_rename_step(s, names) for s in expr.steps])
        if steps == expr.steps:
            return expr
        if isinstance(expr, LocationPath):
            return make_path(expr.absolute, steps)
        return replace(expr, steps=steps)
    if isinstance(expr, FunctionCall):
        prefix = names.of_table(expr.prefix)
        return expr if prefix == expr.prefix else replace(expr, prefix=prefix)
    return expr


def _rename_step(step: Step, names: _Names) -> Step:
    test = step.test
    if not isinstance(test, NameTest) or not test.prefix:
        return step
    renamed = names.steps.get(step)
    if renamed is None:
        prefix = names.of_table(test.prefix)
        renamed = step
        if prefix != test.prefix:
            renamed = make_step(step.axis, name_test(test.local, prefix), step.predicates)
        names.steps[step] = renamed
    return renamed


def is_used(prefix: str, xpaths: Iterable[str]) -> bool:
    """Whether one of many expressions, in canonical form, uses a prefix."""
    sign = f"{prefix}:"  # may also occur in a string literal
    return any(sign in xpath and prefix in prefixes_in(parse(xpath)) for xpath in xpaths)
