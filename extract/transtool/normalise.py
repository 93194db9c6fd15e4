"""TRANSTOOL's loop: turns an expression into a union of branches.

Read `Normaliser.normalise` as the recipe. The rules are in `extract.transtool.rules`.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from extract.schema.model import Schema
from extract.transtool.branch import PartialBranch, Spine
from extract.transtool.branch_syntax import BranchSyntax
from extract.transtool.context import Context
from extract.transtool.expansion import Expansion
from extract.transtool.knowledge import Knowledge
from extract.transtool.prefixes import Prefixes
from extract.transtool.rules import EXPAND, FOLD, FOLDED_AXES
from extract.transtool.rules.expand_descendant import keep_prefix
from extract.transtool.rules.make_absolute import make_absolute
from extract.transtool.rules.simplify_filter import in_text_order, simplify_value
from extract.transtool.rules.split_union import split_union
from extract.transtool.rules.tidy_residual import tidy_residual
from extract.xpath.ast import Expr, LocationPath, Union
from extract.xpath.functions import Type
from extract.xpath.parameters import filled
from extract.xpath.types import type_of

_OPAQUE: Final = "it is not a plain location path"
_MOST_FOLDED: Final = 1_000  # steps of a path that the schema-free rules are applied to


class NormalBranch(NamedTuple):
    """One branch of a normal form.

    Attributes:
        xpath: The branch as XPath.
        prefix: The names of its spine: the path of plain child steps that chunking uses.
        residual: The part after the spine; empty if there is none.
        reason: Why there is a residual; empty if there is none.
    """

    xpath: str
    prefix: tuple[str, ...]
    residual: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NormalForm:
    """A query as the union of branches that select the same nodes on every conforming document.

    Attributes:
        type: The type of the query's result.
        branches: The branches, in canonical order; none if the query selects nothing.
        rules: Names of the rules that fired, sorted.
        unsatisfiable: Why the query selects nothing; empty if it may.
    """

    type: Type
    branches: tuple[NormalBranch, ...]
    rules: tuple[str, ...] = ()
    unsatisfiable: str = ""

    @property
    def xpath(self) -> str:
        """The normal form as one XPath; empty if the query selects nothing."""
        return " | ".join([p.xpath for p in self.branches])

    def filled(self, constants: Sequence[str]) -> NormalForm:
        """The normal form of a template with the constants of one of its members."""
        if not constants:
            return self
        branches = [
            NormalBranch(
                filled(p.xpath, constants), p.prefix, *[filled(t, constants) for t in p[2:]]
            )
            for p in self.branches
        ]
        why = filled(self.unsatisfiable, constants)
        return NormalForm(self.type, tuple(branches), self.rules, why)


class Normaliser:
    """Normalises any number of queries against one schema, with shared caches.

    Attributes:
        exprs: The branches with parameters of the last normal form, as expressions.
        parts: The parts of all branches as expressions, for who would parse them again.
    """

    def __init__(
        self,
        schema: Schema,
        prefixes: Prefixes | None = None,
        limits: Expansion | None = None,
        parts: BranchSyntax | None = None,
    ) -> None:
        self.prefixes = prefixes or Prefixes(schema.prefixes)
        self.limits = limits or Expansion()
        know = Knowledge(schema.places, self.prefixes, self.limits)
        back = weakref.ref(self)  # a strong one would be a reference cycle, and this holds much

        def expand(path: LocationPath, start: Spine, most: int) -> Sequence[PartialBranch]:
            normaliser = back()
            assert normaliser is not None
            return normaliser._expand(path, start, most)

        self._context = Context(know, expand)
        self.exprs: list[Expr] = []
        self.parts = parts or BranchSyntax()

    def normalise(self, expr: Expr, constants: Sequence[str] = ()) -> NormalForm:
        """Returns the normal form of an expression with the prefixes of this normaliser's table.

        Args:
            expr: The expression.
            constants: The constants that its parameters know; empty if they know none.
        """
        context = self._context
        context.begin()
        self.exprs = []
        kind = type_of(expr)
        try:
            absolute = self._note("make_absolute", expr, make_absolute(expr))
            if "namespace::" in str(absolute):
                # Namespace nodes have no fixed order in libxml2: any rewriting might change it.
                parts = [self._value(absolute, "the namespace axis needs the whole document")]
            elif kind is Type.NODES:
                parts = self._node_set(absolute)
            else:
                simple = simplify_value(context.document, absolute, context)
                parts = [self._value(simple, f"a {kind.value} is not a set of nodes")]
        except RecursionError:
            parts = [NormalBranch(str(make_absolute(expr)), (), reason="too long to analyse")]
        unique = _in_text_order(parts, constants)
        return NormalForm(
            kind,
            tuple(unique),
            tuple(sorted(context.fired)),
            "" if unique else context.dead_end or "no branch can match",
        )

    def _node_set(self, expr: Expr) -> list[NormalBranch]:
        context, limits = self._context, self.limits
        split = self._note("split_union", expr, split_union(expr))
        pieces = split.parts if isinstance(split, Union) else (split,)
        if len(pieces) > 1:  # they share the room: their order must not depend on the spelling
            pieces = tuple(in_text_order(pieces))
        parts: list[NormalBranch] = []
        taken = sum(map(len, map(str, pieces)))  # by the branches so far, and the pieces to come
        for i, piece in enumerate(pieces):
            taken -= len(str(piece))
            before = len(parts)
            if isinstance(piece, LocationPath):
                context.room = limits.branches - before - (len(pieces) - i - 1)
                branches = self._expand(piece, context.document, limits.size - taken)
                parts.extend(map(self._part, branches))
            else:
                simple = simplify_value(context.document, piece, context)
                parts.append(self._value(simple, _OPAQUE))
            taken += sum([len(part.xpath) for part in parts[before:]])
        return parts

    def _part(self, branch: PartialBranch) -> NormalBranch:
        part = _part(branch)
        if "$" in part.xpath:
            self.exprs.append(branch.path)
        self.parts.add(branch, part.residual)
        return part

    def _value(self, expr: Expr, reason: str) -> NormalBranch:
        """Returns the branch of an expression that is no path."""
        text = str(expr)
        if "$" in text:
            self.exprs.append(expr)
        self.parts.values[text] = expr
        return NormalBranch(text, (), reason=reason)

    def _note(self, rule: str, before: Expr, after: Expr) -> Expr:
        if after != before:
            self._context.fired.add(rule)
        return after

    def _expand(self, path: LocationPath, start: Spine, most: int) -> Sequence[PartialBranch]:
        """Returns the branches of a path from the spine's start, within the present room.

        Args:
            path: The path to expand.
            start: A spine without steps.
            most: Characters that the branches may have together, unless the path itself has more.
        """
        context = self._context
        todo = [PartialBranch(start, p.steps) for p in self._fold(path, most)]
        if len(todo) == 1:  # several go step by step, for they share the room
            todo = [self._entered(todo[0])]
            if not todo[0].tail:
                return todo
        room = context.room
        done: list[PartialBranch] = []
        first = todo
        start_size = -1  # characters of the first branches; not known until it matters
        grown = 0
        while todo:
            following: list[PartialBranch] = []
            for i, branch in enumerate(todo):
                spine, tail, stop = branch
                if stop or not tail:
                    done.append(self._tidied(branch))
                    continue
                longer = spine.plain(tail[0], self.prefixes)
                if longer is not None:  # as `enter_child` would
                    following.append(PartialBranch(longer, tail[1:]))
                    continue
                waiting = len(done) + len(following) + len(todo) - i - 1
                context.room = room - waiting
                results = self._apply(branch)
                if not results and len(todo) == 1:
                    break  # it was the last one
                if len(results) > 1 or tail[0].predicates:
                    more = _growth(branch, results)
                    if more > 0 and start_size < 0:
                        start_size = sum([b.length for b in first])
                    too_long = 0 < more > most - start_size - grown
                    if too_long or not context.affords(len(results)):
                        results = (keep_prefix(branch, context),)
                        more = results[0].length - branch.length
                    grown += more
                if len(results) == 1 and len(todo) == 1 and not results[0].stop:
                    following.append(self._entered(results[0]))
                else:
                    following.extend(results)
            todo = _distinct(following) if len(following) > len(todo) else following
        context.room = room
        return done

    def _entered(self, branch: PartialBranch) -> PartialBranch:
        """Moves the first steps to the spine, as `enter_child` would, while they are plain."""
        spine, tail = branch.spine, branch.tail
        at = 0
        for step in tail:
            longer = spine.plain(step, self.prefixes)
            if longer is None:
                break
            spine = longer
            at += 1
        return PartialBranch(spine, tail[at:]) if at else branch

    def _tidied(self, branch: PartialBranch) -> PartialBranch:
        if not branch.tail:
            return branch
        tail = tidy_residual(branch.tail)
        if tail == branch.tail:
            return branch
        self._context.fired.add("tidy_residual")
        return branch._replace(tail=tail)

    def _apply(self, branch: PartialBranch) -> Sequence[PartialBranch]:
        for rule in EXPAND:
            results = rule(branch, self._context)
            if results is not None:
                if rule is not EXPAND[0] or not results:
                    self._context.fired.add(rule.__name__)
                return results
        raise AssertionError(f"no rule takes the step {branch.tail[0]}")

    def _fold(self, path: LocationPath, most: int) -> Iterable[LocationPath]:
        """Applies the schema-free rules to a path, to a fixed point."""
        if FOLDED_AXES.isdisjoint([step.axis for step in path.steps]):
            return (path,)
        if len(path.steps) > _MOST_FOLDED:
            return (path,)  # each rule makes all steps anew
        todo = [path]
        done: list[LocationPath] = []
        while todo:
            paths = len(todo) + len(done)
            if paths > 1 and (
                not self._context.affords(paths) or sum(map(len, map(str, todo + done))) > most
            ):
                return (path,)
            current = todo.pop()
            for rule in FOLD:
                results = rule(current)
                if results is not None:
                    self._context.fired.add(rule.__name__)
                    todo.extend(results)
                    break
            else:
                done.append(current)
        return done


def _growth(branch: PartialBranch, results: Sequence[PartialBranch]) -> int:
    """How many characters longer the branches are together that a branch becomes."""
    spine, tail, _ = branch
    if len(results) == 1 and tail[0].axis == "child" and results[0].tail == tail[1:]:
        # One step has moved to the spine, with other filters: what follows it is as long as before.
        slash = spine.absolute or spine.step is not None
        return len(results[0].spine.text) - len(spine.text) - slash - len(str(tail[0]))
    return sum([b.length for b in results]) - branch.length


def _distinct(branches: list[PartialBranch]) -> list[PartialBranch]:
    """Removes branches with equal text."""
    if len(branches) < 2:
        return branches
    return list({(b.spine.text, b.tail): b for b in branches}.values())


def _in_text_order(parts: list[NormalBranch], constants: Sequence[str]) -> list[NormalBranch]:
    """Returns branches in alphabetical order, each text once."""
    texts: dict[str, NormalBranch] = {}
    for part in parts:
        texts.setdefault(filled(part.xpath, constants) if constants else part.xpath, part)
    return [texts[text] for text in sorted(texts)]


def _part(branch: PartialBranch) -> NormalBranch:
    spine, residual = branch.spine, branch.residual if branch.tail else ""
    reason = "" if branch.stop == "leaf" else branch.stop
    return NormalBranch(spine.text + residual or "/", spine.names, residual, reason)
