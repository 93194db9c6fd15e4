"""Results of FLWR queries on trees, with limits on what a query may cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lxml import etree

from extract.filtertool.flwr.tree_outputs import BindingPath, OutputError, TreeOutput
from extract.filtertool.matchers.cost_bound import Bound
from extract.filtertool.matchers.lxml.parsed_unit import local_names
from extract.filtertool.processes.sandbox import Before, NoAnswer, shared_sandbox
from extract.flwr.query import FlwrQuery
from extract.flwr.variables import replaced
from extract.limits import Limits
from extract.markup.lxml_parser import parse_tree
from extract.xpath.ast import Expr, LocationPath, make_path


class _SlowOutput:
    """One query, and a bound of what it costs."""

    def __init__(self, query: FlwrQuery, limits: Limits, binding: BindingPath | None) -> None:
        self.query = query
        self.binding = binding
        self.output = TreeOutput(query, limits, binding)
        rest = [] if query.rest is None else [query.rest]
        anywhere = make_path(True, ())
        exprs = [query.binding, *[_anywhere(one, query.loop.name, anywhere) for one in query.bound]]
        exprs += [_anywhere(one, query.loop.name, anywhere) for one in rest]
        self.bounds = [Bound(str(one)) for one in exprs]


def _anywhere(expr: Expr, variable: str, document: Expr) -> Expr:
    """An expression without the variable that costs no less: it starts at the document."""
    expr = replaced(expr, {variable: document})
    if isinstance(expr, LocationPath) and not expr.absolute:
        return make_path(True, expr.steps)
    return expr


class SlowOutputs:
    """Makes results of queries on documents that are parsed; for each query that matches.

    Args:
        queries: The queries, by the numbers of their subscribers.
        limits: What a query may take, and how long its result may be.
        bindings: XPaths that select what queries bind on these documents, if not their own do.
        namespaces: What prefixes in these stand for.
    """

    def __init__(
        self,
        queries: Mapping[int, FlwrQuery],
        limits: Limits,
        bindings: Mapping[int, str] | None = None,
        namespaces: Mapping[str, str] | None = None,
    ) -> None:
        self._queries = queries
        self._limits = limits
        self._bindings = bindings or {}
        self._namespaces = namespaces or {}
        self._compiled: dict[int, _SlowOutput] = {}

    def make(self, data: bytes, numbers: Iterable[int]) -> Iterator[tuple[int, str | None, str]]:
        """Yields for each query its number, its result if it binds any node, and why it failed."""
        tree = parse_tree(data)
        elements = sum(1 for _ in tree.getroot().iter("*"))
        names: dict[str, int] = {}
        opening = Before(object(), _open_in_child, (data,))

        def named() -> Mapping[str, int]:
            names.update({} if names else local_names(tree))
            return names

        for number in numbers:
            one = self._query(number)
            try:
                if all(bound.affords(elements, named) for bound in one.bounds):
                    yield number, one.output.output(tree), ""
                else:
                    yield number, self._in_child(one, opening), ""
            except OutputError as error:
                yield number, None, error.reason
            except NoAnswer as error:
                yield number, None, error.reason(self._limits)
            except etree.XPathError as error:
                yield number, None, f"libxml2 cannot evaluate it: {error}"

    def forget(self, numbers: Iterable[int]) -> None:
        """Removes what was compiled for queries."""
        for number in numbers:
            self._compiled.pop(number, None)

    def _query(self, number: int) -> _SlowOutput:
        one = self._compiled.get(number)
        if one is None:
            xpath = self._bindings.get(number)
            binding = None if xpath is None else BindingPath(xpath, self._namespaces)
            one = _SlowOutput(self._queries[number], self._limits, binding)
            self._compiled[number] = one
        return one

    def _in_child(self, one: _SlowOutput, opening: Before) -> str | None:
        """Makes a result in a process that can be killed."""
        result: str | None = shared_sandbox().call(
            _make_in_child,
            one.query,
            self._limits,
            one.binding,
            seconds=self._limits.query_seconds,
            memory=self._limits.query_memory,
            before=opening,
        )
        return result


_tree: Any = None  # the document in this child process


def _open_in_child(data: bytes) -> None:
    global _tree
    _tree = None
    _tree = parse_tree(data)


def _make_in_child(query: FlwrQuery, limits: Limits, binding: BindingPath | None) -> str | None:
    return TreeOutput(query, limits, binding).output(_tree)
