"""Footprints: the part of a document that a query may look at.

A footprint is a set of *wants*: a path without filters, and the need for the nodes that it selects.
Because the paths have no filters, they include every node that a filter looks at or counts:
``/a/b[3]`` wants all ``/a/b``, so the third one is still the third.

Always holds (`tests.support.projector` tests it): on a document reduced to its wants, with their
ancestors, a query selects the same nodes as on the whole document. An expression that is not
understood wants the whole document, with a reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from extract.scheme.model import Need
from extract.xpath.ast import (
    ANY_NAME,
    ANY_NODE,
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    KindTest,
    LocationPath,
    NameTest,
    Negate,
    Step,
    Union,
    make_step,
    path_text,
)
from extract.xpath.functions import Type
from extract.xpath.traverse import children
from extract.xpath.types import has_positions, is_positional, type_of

Pattern = tuple[Step, ...]  # steps without filters from the document node; () is the document node


@dataclass(frozen=True, slots=True)
class Footprint:
    """The part of a document that a query may look at.

    Attributes:
        wants: Need by pattern.
        whole: Why the whole document is needed; empty if it is not.
    """

    wants: frozenset[tuple[Pattern, Need]] = frozenset()
    whole: str = ""

    def __or__(self, other: Footprint) -> Footprint:
        return Footprint(self.wants | other.wants, self.whole or other.whole)

    def needs(self) -> dict[str, Need]:
        """Returns the need of each pattern, as XPath; in canonical order."""
        out: dict[str, Need] = {}
        for pattern, need in self.wants:
            text = pattern_text(pattern)
            out[text] = out.get(text, Need(0)) | need
        return dict(sorted(out.items()))


def pattern_text(pattern: Pattern) -> str:
    """Returns a pattern as XPath.

    >>> pattern_text((make_step("child", ANY_NAME), make_step("descendant", ANY_NAME)))
    '/*/descendant::*'
    """
    return path_text(pattern, "/")


def footprint(expr: Expr) -> Footprint:
    """Returns the footprint of an absolute query (as in a normal form)."""
    tracer = _Tracer()
    try:
        tracer.value(expr, _DOCUMENT, Need.SUBTREE)
    except _WholeDocument as reason:
        return Footprint(whole=str(reason))
    return Footprint(frozenset(tracer.wants))


def filter_footprint(predicate: Expr, spine: Pattern) -> Footprint:
    """Returns the footprint of a filter at the end of a path without filters."""
    tracer, at = _Tracer(), frozenset([spine])
    try:
        if is_positional(predicate):
            tracer.want(at, Need.NODE)
        tracer.value(predicate, at, Need.NODE)
    except _WholeDocument as reason:
        return Footprint(whole=str(reason))
    return Footprint(frozenset(tracer.wants))


class _WholeDocument(Exception):
    """The expression looks at nodes that no pattern can describe."""


Contexts = frozenset[Pattern]

_DOWN: Final = frozenset({"child", "descendant", "descendant-or-self", "self", "attribute"})
_BY_NAME: Final = frozenset({"name", "local-name", "namespace-uri", "count", "lang"})
_ANYTHING: Final = make_step("descendant-or-self", ANY_NAME)
_MOST_PATTERNS: Final = 64
_TOO_MANY: Final = "it looks at too many places"
_DOCUMENT: Final[Contexts] = frozenset([()])
# An attribute of an enumeration takes longer to find than it takes to note a want.
_NODE, _CHILDREN, _STRING, _SUBTREE = Need.NODE, Need.CHILDREN, Need.STRING, Need.SUBTREE


class _Tracer:
    """Follows an expression as evaluation would, and records what it would look at."""

    def __init__(self) -> None:
        self.wants: set[tuple[Pattern, Need]] = set()
        self.beyond_elements = False  # whether texts, comments or PIs may be context nodes

    def want(self, contexts: Contexts, need: Need) -> None:
        if need is _STRING and () in contexts:
            # libxml2 counts the texts of entity declarations in the internal subset as well.
            raise _WholeDocument("the string value of the document node is asked for")
        for context in contexts:
            self.wants.add((context, need))

    def value(self, expr: Expr, contexts: Contexts, need: Need) -> Contexts:
        """Records what an expression looks at.

        Args:
            expr: The expression.
            contexts: The possible places of its context node.
            need: The need for the nodes that it selects, if it selects nodes.

        Returns:
            The possible places of the selected nodes; empty if it is not a node set.
        """
        if isinstance(expr, LocationPath):
            start = _DOCUMENT if expr.absolute else contexts
            return self.walk(expr.steps, start, need)
        if isinstance(expr, Union):
            return frozenset().union(*(self.value(p, contexts, need) for p in expr.parts))
        if isinstance(expr, FilterPath):
            selected = self.value(expr.primary, contexts, _NODE if expr.steps else need)
            if expr.predicates:
                # A filter on a node set may count its nodes, so all of them stay.
                self.want(selected, _NODE)
            self.predicates(expr.predicates, selected)
            return self.walk(expr.steps, selected, need) if expr.steps else selected
        if isinstance(expr, FunctionCall):
            self.call(expr, contexts)
        elif isinstance(expr, Binary):
            self.operands(expr, contexts)
        elif isinstance(expr, Negate):
            self.value(expr.operand, contexts, _STRING)
        return frozenset()

    def operands(self, expr: Binary, contexts: Contexts) -> None:
        exists = expr.op in ("and", "or")
        for operand, other in ((expr.left, expr.right), (expr.right, expr.left)):
            only_exists = exists or (expr.op in ("=", "!=") and type_of(other) is Type.BOOLEAN)
            self.value(operand, contexts, _NODE if only_exists else _STRING)

    def call(self, call: FunctionCall, contexts: Contexts) -> None:
        name = call.name if not call.prefix else f"{call.prefix}:{call.name}"
        if name == "id":
            raise _WholeDocument("id() may find an element anywhere")
        if not call.arguments and name in ("string", "string-length", "normalize-space", "number"):
            self.want(contexts, _STRING)
        exists = name in _BY_NAME or name in ("not", "boolean")
        for argument in call.arguments:
            self.value(argument, contexts, _NODE if exists else _STRING)

    def predicates(self, predicates: Iterable[Expr], contexts: Contexts) -> None:
        for predicate in predicates:
            self.value(predicate, contexts, _NODE)

    # -- paths

    def walk(self, steps: tuple[Step, ...], contexts: Contexts, need: Need) -> Contexts:
        end = len(steps) - 1
        plain = 0  # child steps by name up to here, which are taken together
        for i, step in enumerate(steps):
            last = i == end
            if step.axis == "child" and not step.predicates and isinstance(step.test, NameTest):
                plain += 1
                continue
            if plain:
                contexts = _below(contexts, steps[i - plain : i])
                plain = 0
            if step.axis == "namespace":
                raise _WholeDocument("the namespace axis is answered on the whole document")
            if step.axis == "attribute":
                self.want(contexts, _NODE)
                if step.predicates or not last:
                    self.beyond_leaf(steps[i:])
                return contexts
            if step.axis not in _DOWN:
                # The next step does not go below these nodes, so nothing else would keep them.
                self.want(contexts, _NODE)
            if isinstance(step.test, KindTest):
                # Only from elements does a path go down; otherwise texts and comments count as
                # well.
                down = not last and steps[i + 1].axis in ("child", "descendant", "attribute")
                selected = self.kind(step, contexts, down and not has_positions(step))
                if step.test != ANY_NODE:
                    if step.predicates or not last:
                        self.beyond_leaf(steps[i:])
                    return selected
            else:
                selected = self.elements(step, contexts)
            if len(selected) > _MOST_PATTERNS:
                raise _WholeDocument(_TOO_MANY)
            if has_positions(step) or (step.predicates and step.test == ANY_NODE):
                self.want(selected, _NODE)
            self.predicates(step.predicates, selected)
            contexts = selected
        if plain:
            contexts = _below(contexts, steps[len(steps) - plain :])
        if need is _SUBTREE:
            # The document node as a result has no row.
            self.want(contexts & _DOCUMENT, _NODE)
            self.want(contexts - _DOCUMENT, need)
        else:
            self.want(contexts, need)
        return contexts

    def beyond_leaf(self, steps: tuple[Step, ...]) -> None:
        """Allows filters on the own value of an attribute or text, and no steps from it."""
        for step in steps:
            for predicate in step.predicates:
                if not _looks_only_at_itself(predicate):
                    raise _WholeDocument(f"[{predicate}] looks around from a {steps[0]}")
        if len(steps) > 1:
            raise _WholeDocument(f"{steps[1]} is reached from a {steps[0]}")

    def elements(self, step: Step, contexts: Contexts) -> Contexts:
        """Returns the possible places of elements that a step by name selects."""
        test, axis = step.test, step.axis
        if axis in ("child", "descendant", "descendant-or-self"):
            bare = make_step(axis, test) if step.predicates else step
            return frozenset([(*context, bare) for context in contexts])
        if axis == "self":
            return contexts
        if axis == "parent":
            return _parents(contexts)
        if axis in ("following-sibling", "preceding-sibling"):
            return frozenset([(*c, make_step("child", test)) for c in _parents(contexts)])
        # Ancestors are kept anyway; following and preceding nodes may be anywhere.
        if axis == "preceding" and self.beyond_elements:
            # From a comment after the root, libxml2 finds the root or not, depending on the nodes
            # before the root.
            raise _WholeDocument("preceding:: may start from a comment after the root element")
        selected: Contexts = frozenset([(make_step("descendant", test),)])
        if axis in ("following", "preceding"):
            self.want(selected, _NODE)
        return selected

    def kind(self, step: Step, contexts: Contexts, only_elements: bool) -> Contexts:
        """Does the same for ``node()``, ``text()`` and the other node type tests."""
        axis, skip = step.axis, only_elements and step.test == ANY_NODE
        self.beyond_elements |= not skip
        if axis == "child":
            self.want(frozenset() if skip else contexts, _CHILDREN)
        elif axis in ("descendant", "descendant-or-self"):
            self.want(frozenset() if skip else contexts, _SUBTREE)
        elif axis in ("following-sibling", "preceding-sibling"):
            self.want(_parents(contexts), _CHILDREN)
        elif axis in ("following", "preceding"):
            raise _WholeDocument(f"{step} may be any node of the document")
        if step.test != ANY_NODE:
            return contexts
        selected = self.elements(make_step(axis, ANY_NAME), contexts)
        if axis in ("self", "descendant-or-self", "ancestor-or-self"):
            selected |= contexts
        return selected | _DOCUMENT if axis.startswith("ancestor") else selected


def _below(contexts: Contexts, steps: tuple[Step, ...]) -> Contexts:
    """Returns the places at the end of plain child steps."""
    if len(contexts) > _MOST_PATTERNS:
        raise _WholeDocument(_TOO_MANY)
    return frozenset([context + steps for context in contexts])


def _parents(contexts: Contexts) -> Contexts:
    """Returns the possible places of the parents of nodes in these places."""
    out: set[Pattern] = set()
    for context in contexts:
        if not context:
            continue
        above, last = context[:-1], context[-1]
        out.add(above)
        if last.axis != "child":
            out.add((*above, _ANYTHING))
        if last.axis == "descendant-or-self":
            out |= _parents(frozenset([above]))
    return frozenset(out)


@lru_cache(maxsize=4096)
def _looks_only_at_itself(expr: Expr) -> bool:
    """Whether a filter on a leaf looks only at the leaf's own value or position."""
    if isinstance(expr, LocationPath):
        return not expr.absolute and all(
            s.axis == "self" and all(map(_looks_only_at_itself, s.predicates)) for s in expr.steps
        )
    if isinstance(expr, FilterPath):
        return False
    if isinstance(expr, FunctionCall) and expr.name in ("id", "lang"):
        return False
    return all(map(_looks_only_at_itself, children(expr)))
