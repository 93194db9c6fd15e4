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
        self._renamings: list[_Names] = []
        # By the identity of bindings, which many queries share: they, and what becomes of them.
        self._known: dict[int, tuple[Mapping[str, str], _Names | None]] = {}
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
        known = self._known.get(id(namespaces))
        if known is None:
            if len(self._known) > _MOST_REMEMBERED:
                self._known.clear()
            known = self._known[id(namespaces)] = namespaces, self._names(namespaces)
        names = known[1]
        return expr if names is None else _renamed(expr, names)

    def _names(self, namespaces: Mapping[str, str]) -> _Names | None:
        """Returns the renaming for some bindings; None if every prefix is the table's own.

        Bindings that do not contradict each other have one renaming: what it knows of a part of a
        query holds in each query that has this part, for all prefixes of a query are bound.
        """
        if all(self._prefixes.get(uri) == prefix for prefix, uri in namespaces.items()):
            return None
        for names in self._renamings:
            if names.agrees(namespaces):
                return names
        self._renamings.append(_Names(self, dict(namespaces)))
        return self._renamings[-1]


class _Names:
    """Maps the prefixes of some queries to those of the table."""

    __slots__ = ("_bound", "_prefixes", "_signs", "exprs", "namespaces", "steps")

    def __init__(self, prefixes: Prefixes, namespaces: dict[str, str]) -> None:
        self.namespaces = namespaces
        self._prefixes = prefixes
        self._bound: dict[str, str] = {}
        # For prefixes that become others, or may, how they look in a text.
        self._signs = {prefix: f"{prefix}:" for prefix in namespaces}
        # As they were written, to what they became.
        self.steps: dict[Step, Step] = {}
        self.exprs: dict[Expr, Expr] = {}

    def agrees(self, namespaces: Mapping[str, str]) -> bool:
        """Whether these bindings contradict none of the others; if so, takes them in."""
        own = self.namespaces
        if "xml" in namespaces or "xml" in own:  # which is bound where no query binds it
            return own == namespaces
        if any(own.get(prefix, uri) != uri for prefix, uri in namespaces.items()):
            return False
        for prefix, uri in namespaces.items():
            if prefix not in own:
                own[prefix] = uri
                self._signs[prefix] = f"{prefix}:"
        return True

    @property
    def settled(self) -> bool:
        """Whether all prefixes have entered the table."""
        return len(self._bound) == len(self.namespaces)

    def may_change(self, text: str) -> bool:
        """Whether an expression of this text may use a prefix that becomes another."""
        for sign in self._signs.values():  # noqa: SIM110 - a generator takes longer than the search
            if sign in text:
                return True
        return False

    def of_table(self, prefix: str) -> str:
        """Returns the table's prefix for one of the query; an unbound one stays."""
        if not prefix or prefix not in self.namespaces:
            return prefix
        bound = self._bound.get(prefix)
        if bound is None:
            bound = self._prefixes.prefix(self.namespaces[prefix], prefix)
            self._bound[prefix] = bound
            if bound == prefix:
                del self._signs[prefix]
        return bound


def _rename(expr: Expr, names: _Names) -> Expr:
    if isinstance(expr, LocationPath):  # whose steps are known, so that its text is not needed
        return _renamed(expr, names)
    if not names.may_change(str(expr)):
        return expr
    known = names.exprs.get(expr)
    if known is None:
        if len(names.exprs) > _MOST_REMEMBERED:
            names.exprs.clear()
            names.steps.clear()
        known = names.exprs[expr] = _renamed(expr, names)
    return known


def _renamed(expr: Expr, names: _Names) -> Expr:
    if isinstance(expr, LocationPath):
        if not names.settled:
            for step in expr.steps:  # the prefixes of filters enter the table first
                if step.predicates and step not in names.steps:
                    for predicate in step.predicates:
                        _rename(predicate, names)
        steps = tuple([_rename_step(s, names) for s in expr.steps])
        return expr if steps == expr.steps else make_path(expr.absolute, steps)
    expr = rebuild(expr, lambda e: _rename(e, names))
    if isinstance(expr, FilterPath):
        steps = tuple([_rename_name(s, names) for s in expr.steps])
        return expr if steps == expr.steps else replace(expr, steps=steps)
    if isinstance(expr, FunctionCall):
        prefix = names.of_table(expr.prefix)
        return expr if prefix == expr.prefix else replace(expr, prefix=prefix)
    return expr


def _rename_step(step: Step, names: _Names) -> Step:
    """Renames the prefixes of a step and its filters."""
    renamed = names.steps.get(step)
    if renamed is None:
        predicates = step.predicates
        filtered = step
        if predicates:
            inner = tuple([_rename(e, names) for e in predicates])
            if inner != predicates:
                filtered = make_step(step.axis, step.test, inner)
        renamed = names.steps[step] = _rename_name(filtered, names)
    return renamed


def _rename_name(step: Step, names: _Names) -> Step:
    test = step.test
    if not isinstance(test, NameTest) or not test.prefix:
        return step
    prefix = names.of_table(test.prefix)
    if prefix == test.prefix:
        return step
    return make_step(step.axis, name_test(test.local, prefix), step.predicates)


def is_used(prefix: str, xpaths: Iterable[str]) -> bool:
    """Whether one of many expressions, in canonical form, uses a prefix."""
    sign = f"{prefix}:"  # may also occur in a string literal
    return any(sign in xpath and prefix in prefixes_in(parse(xpath)) for xpath in xpaths)
