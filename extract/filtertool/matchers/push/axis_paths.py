"""Node sets of any kind, as steps that the push engine takes node by node.

`translated_paths` translates what can be found by slots, or asked of a node alone. What it leaves
is translated here as XPath defines it: axes in their order, predicates one after the other with
positions among the nodes that are left, unions in document order. It costs more, and is evaluated
only where something else has led to the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from extract.filtertool.matchers.push.conditions import (
    ANY_TEST,
    COMMENT_TEST,
    INSTRUCTION_TEST,
    NODE_TEST,
    PARENT_TEST,
    TEXT_TEST,
    TRUE,
    Condition,
    Path,
    PathAxis,
    PathStep,
    StepParts,
    both,
)
from extract.filtertool.matchers.push.translation import Kinds, Translation
from extract.xpath.ast import (
    ANY_DEPTH,
    Expr,
    FilterPath,
    LocationPath,
    NameTest,
    Step,
    Union,
)
from extract.xpath.types import is_positional


class AxisPath(NamedTuple):
    """A path that is taken node by node, and the kinds of nodes that it may select."""

    path: Path
    kinds: Kinds


_LEAVES: Final = Kinds.ATTRIBUTE | Kinds.TEXT | Kinds.OTHER
_ABOVE: Final = Kinds.ELEMENT | Kinds.DOCUMENT
_CONTENT: Final = Kinds.ELEMENT | Kinds.TEXT | Kinds.OTHER
_TESTS: Final = {
    "text": (TEXT_TEST, Kinds.TEXT),
    "comment": (COMMENT_TEST, Kinds.OTHER),
    "processing-instruction": (INSTRUCTION_TEST, Kinds.OTHER),
}
_AXES: Final = {
    "child": PathAxis.CHILD,
    "descendant": PathAxis.DESCENDANT,
    "descendant-or-self": PathAxis.NEAR,
    "attribute": PathAxis.ATTRIBUTE,
    "self": PathAxis.SELF,
    "parent": PathAxis.PARENT,
    "ancestor": PathAxis.ANCESTOR,
    "ancestor-or-self": PathAxis.ABOVE,
    "following-sibling": PathAxis.FOLLOWING,
    "preceding-sibling": PathAxis.PRECEDING,
    "following": PathAxis.BEHIND,
    "preceding": PathAxis.BEFORE,
}
_ASIDE: Final = frozenset(
    {PathAxis.FOLLOWING, PathAxis.PRECEDING, PathAxis.BEHIND, PathAxis.BEFORE}
)
_UP: Final = frozenset({PathAxis.PARENT, PathAxis.ANCESTOR, PathAxis.ABOVE})
_ANY_NODE: Final = PathStep(PathAxis.NEAR, NODE_TEST, parts=StepParts(()))
_ANY_PARENT: Final = PathStep(PathAxis.NEAR, PARENT_TEST, parts=StepParts(()))


def _leads_from_parents(step: Step) -> bool:
    """Whether a step leads nowhere from a text or a comment, which ``//`` leads to as well."""
    if step.axis == "self":
        return isinstance(step.test, NameTest)
    return step.axis in ("child", "descendant", "attribute")


class _Untaken(Exception):
    """A part has no exact translation."""


class AxisPaths(Translation):
    """Translates node sets whose steps are taken node by node."""

    def axis_path(self, expr: Expr) -> AxisPath | None:
        """Translates a node set; None if it has no exact translation."""
        before = self.mark()
        self.exact = True
        try:
            translated = self._axis_nodes(expr)
        except _Untaken:
            self.back(before)
            return None
        self.exact = before.exact
        return translated

    def _axis_nodes(self, expr: Expr) -> AxisPath:
        here = self.kinds if self.inside else Kinds.DOCUMENT
        if isinstance(expr, LocationPath):
            start = Kinds.DOCUMENT if expr.absolute else here
            return self._axis_steps(expr.absolute, [], start, expr.steps)
        if isinstance(expr, Union):
            return self._united(expr.parts, (), ())
        if isinstance(expr, FilterPath):
            return self._united((expr.primary,), expr.predicates, expr.steps)
        raise _Untaken

    def _united(
        self, parts: Sequence[Expr], predicates: Sequence[Expr], steps: Sequence[Step]
    ) -> AxisPath:
        """Several node sets as one, with predicates on all of their nodes, and further steps."""
        several = [self._axis_nodes(part) for part in parts]
        kinds = Kinds(0)
        for one in several:
            kinds |= one.kinds
        paths = tuple([one.path for one in several])
        filters = self._axis_filters(predicates, kinds)
        first = PathStep(PathAxis.UNION, 0, parts=StepParts(filters, paths))
        absolute = all(path.absolute for path in paths)  # then it is the same from any node
        return self._axis_steps(absolute, [first], kinds, steps)

    def _axis_steps(
        self, absolute: bool, before: list[PathStep], kinds: Kinds, steps: Sequence[Step]
    ) -> AxisPath:
        taken, anywhere = before, False
        for step in steps:
            if step == ANY_DEPTH and not anywhere:
                anywhere = True
                continue
            axis = _AXES.get(step.axis)
            if axis is None:
                raise _Untaken
            if anywhere:
                counted = any(map(is_positional, step.predicates))
                if axis is PathAxis.CHILD and not counted and not kinds & _LEAVES:
                    axis = PathAxis.DESCENDANT  # from all nodes at once
                else:
                    kinds = self._go_anywhere(step, kinds, taken)
                anywhere = False
            test, found = self._axis_test(step, axis, kinds)
            taken.append(self._axis_step(step, axis, test, kinds, found))
            kinds = found
        if anywhere:
            kinds = self._go_anywhere(None, kinds, taken)
        return AxisPath(Path(absolute, tuple(taken)), kinds)

    def _go_anywhere(self, step: Step | None, kinds: Kinds, taken: list[PathStep]) -> Kinds:
        """Takes the step ``//`` before another one, if there is one."""
        if step is not None and _leads_from_parents(step) and not kinds & _LEAVES:
            taken.append(_ANY_PARENT)
            return kinds | Kinds.ELEMENT
        self.texts = True
        taken.append(_ANY_NODE)
        return kinds | _CONTENT

    def _axis_test(self, step: Step, axis: PathAxis, kinds: Kinds) -> tuple[int, Kinds]:
        """The test of a step, and the kinds of nodes that pass it."""
        test = step.test
        if axis in _ASIDE and Kinds.ATTRIBUTE in kinds:
            raise _Untaken
        if axis is PathAxis.BEFORE and Kinds.OTHER in kinds:
            raise _Untaken  # from behind the root, libxml2 passes over the first node
        if isinstance(test, NameTest):
            found = Kinds.ATTRIBUTE if axis is PathAxis.ATTRIBUTE else Kinds.ELEMENT
            return self.names.test(test), found
        if test.kind != "node":
            if axis in _UP or axis is PathAxis.ATTRIBUTE or test.target is not None:
                raise _Untaken
            self.texts = True
            return _TESTS[test.kind]
        if axis is PathAxis.ATTRIBUTE:
            return ANY_TEST, Kinds.ATTRIBUTE
        if axis is PathAxis.SELF:
            return NODE_TEST, kinds
        if axis in _UP:
            return NODE_TEST, _ABOVE | (kinds if axis is PathAxis.ABOVE else Kinds(0))
        self.texts = True
        return NODE_TEST, _CONTENT | (kinds if axis is PathAxis.NEAR else Kinds(0))

    def _axis_step(
        self, step: Step, axis: PathAxis, test: int, kinds: Kinds, found: Kinds
    ) -> PathStep:
        filters = self._axis_filters(step.predicates, found)
        is_name = isinstance(step.test, NameTest) and axis is not PathAxis.SELF
        if is_name and not kinds & _LEAVES and not any(map(is_positional, step.predicates)):
            condition = both(filters)  # of any node: all are taken at once
            return PathStep(axis, test, None if condition == TRUE else condition)
        return PathStep(axis, test, parts=StepParts(filters))

    def _axis_filters(self, predicates: Sequence[Expr], kinds: Kinds) -> tuple[Condition, ...]:
        """The predicates on nodes of some kinds."""
        if predicates and kinds & Kinds.DOCUMENT:
            raise _Untaken  # it has no value of its own here
        around = (self.placed, self.kinds)
        self.inside += 1
        self.kinds = kinds
        filters = []
        for predicate in predicates:
            self.placed = True
            filters.append(self.predicate(predicate, True))
        self.placed, self.kinds = around
        self.inside -= 1
        if not self.exact:
            raise _Untaken
        return tuple(filters)
