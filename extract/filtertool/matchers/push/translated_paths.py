"""Location paths into paths of the push engine, with predicates as conditions of their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from extract.filtertool.matchers.push.axis_paths import AxisPaths
from extract.filtertool.matchers.push.conditions import (
    ANY_TEST,
    FALSE,
    TRUE,
    Among,
    Calculation,
    Condition,
    HereNumber,
    NumberComparison,
    NumberKind,
    Operator,
    Path,
    PathAxis,
    PathStep,
    StepParts,
    There,
    bare_step,
    both,
    either,
)
from extract.filtertool.matchers.push.node_sets import (
    PARENT,
    leaves_root,
    location_paths,
    path_with_ids,
)
from extract.filtertool.matchers.push.translation import Kinds
from extract.filtertool.matchers.push.turned_paths import (
    way_back,
)
from extract.xpath.ast import (
    ANY_DEPTH,
    ANY_NODE,
    Expr,
    LocationPath,
    NameTest,
    Number,
    Step,
)
from extract.xpath.functions import (
    Type,
)
from extract.xpath.types import (
    is_positional,
    may_be_document,
    type_of,
)

_AXES: Final = {
    "child": PathAxis.CHILD,
    "descendant": PathAxis.DESCENDANT,
    "descendant-or-self": PathAxis.NEAR,
    "attribute": PathAxis.ATTRIBUTE,
}
_PLAIN: Final = {"child": PathAxis.CHILD, "attribute": PathAxis.ATTRIBUTE}
_SIBLINGS: Final = {
    "following-sibling": PathAxis.FOLLOWING,
    "preceding-sibling": PathAxis.PRECEDING,
}
_NEAREST: Final = {
    PathAxis.FOLLOWING: PathAxis.NEXT,
    PathAxis.PRECEDING: PathAxis.PREVIOUS,
    PathAxis.BEHIND: PathAxis.FIRST_BEHIND,
    PathAxis.BEFORE: PathAxis.LAST_BEFORE,
    PathAxis.ANCESTOR: PathAxis.NEXT_ANCESTOR,
    PathAxis.ABOVE: PathAxis.NEXT_ABOVE,
}
_ELSEWHERE: Final = {
    **_SIBLINGS,
    "following": PathAxis.BEHIND,
    "preceding": PathAxis.BEFORE,
    "ancestor": PathAxis.ANCESTOR,
    "ancestor-or-self": PathAxis.ABOVE,
    "parent": PathAxis.PARENT,
}
_MOST_TURNS: Final = 32
_TURNS: Final = frozenset(_ELSEWHERE.values())
_NUMBER: Final = Type.NUMBER  # an attribute of an enumeration takes long to find
_LEAVES: Final = (PathAxis.ATTRIBUTE, PathAxis.TEXT)
_KINDS: Final = {PathAxis.ATTRIBUTE: Kinds.ATTRIBUTE, PathAxis.TEXT: Kinds.TEXT}
_FIRST: Final = (Number("1"),)
_NOT_FROM_PARENT: Final = {PathAxis.NEAR, *_ELSEWHERE.values(), *_NEAREST.values()}
_ROOT: Final = Path(True, (PathStep(PathAxis.CHILD, ANY_TEST),))


class Untranslatable(Exception):
    """A path goes on in a way that has no equivalent; its first steps are translated."""

    def __init__(self, steps: tuple[PathStep, ...]) -> None:
        super().__init__()
        self.steps = steps


class TranslatedPath(NamedTuple):
    """A path, as far as it can be translated.

    Attributes:
        path: Its translation; None for a path that selects nothing.
        whole: Whether it ends where the original does; else only its first steps are here.
        exact: Whether it selects the same nodes as the original.
    """

    path: Path | None
    whole: bool
    exact: bool


class PathTranslation(AxisPaths):
    """Translates node sets."""

    def path(self, path: LocationPath, above: bool, result: bool = False) -> TranslatedPath:
        """Translates a path.

        Args:
            path: The path.
            above: Whether it may select more than the query does; else it may select less.
            result: Whether it selects the results of the query, of which the document node is none.
        """
        before, self.exact = self.exact, True
        try:
            translated = TranslatedPath(
                Path(path.absolute, self._steps(path, above, result)), True, self.exact
            )
        except Untranslatable as error:
            steps = Path(path.absolute, error.steps) if above else None
            translated = TranslatedPath(steps, False, False)
        self.exact = before and translated.exact
        return translated

    def _steps(self, path: LocationPath, above: bool, result: bool) -> tuple[PathStep, ...]:
        steps: list[PathStep] = []
        anywhere = False
        if len(path.steps) > _MOST_TURNS and not self.inside:
            turns = [step for step in path.steps if step.axis in _ELSEWHERE and step != PARENT]
            if len(turns) > _MOST_TURNS:
                raise Untranslatable(())  # each is a condition inside of the next one's
        for number, step in enumerate(path.steps):
            axis = _PLAIN.get(step.axis)
            if axis is not None and not (step.predicates or anywhere):
                test = step.test
                if isinstance(test, NameTest) and not (steps and steps[-1].axis in _LEAVES):
                    steps.append(bare_step(axis, self.names.test(test)))  # as nearly all are
                    continue
            if step == ANY_DEPTH:
                anywhere = True
                continue
            if step.axis == "self" and step.test == ANY_NODE and not anywhere:
                if step.predicates:
                    if not steps:
                        raise Untranslatable(())
                    last = steps.pop()
                    own = [] if last.condition is None else [last.condition]
                    more = self._predicates(step.predicates, above, last, False)
                    steps.append(last._replace(condition=_unless_true(both([*own, more]))))
                continue
            if step == PARENT and not anywhere:
                self._go_up(path, number, steps, result)
                continue
            if steps and steps[-1].axis in _LEAVES:
                raise Untranslatable(tuple(steps))  # and nothing is below these
            self._add_step(steps, step, anywhere, path.absolute, above)
            anywhere = False
        if anywhere:
            raise Untranslatable(tuple(steps))
        return tuple(steps)

    def _go_up(self, path: LocationPath, number: int, steps: list[PathStep], result: bool) -> None:
        """Takes the step ``..``: where ``a/b[c]/..`` leads, an ``a`` has a ``b[c]``."""
        before = tuple(steps)
        if not (steps and number) or steps[-1].axis in _NOT_FROM_PARENT:
            raise Untranslatable(before)
        last = steps.pop()
        at_document = not steps and (path.absolute or not self.inside)
        if last.axis is PathAxis.DESCENDANT:
            rest = path.steps[number + 1 :]
            is_lost = result if not rest else leaves_root(path.steps[number - 1], rest)
            if at_document and not is_lost:
                raise Untranslatable(before)
            steps.append(PathStep(PathAxis.NEAR, ANY_TEST))
            last = last._replace(axis=PathAxis.CHILD)
        elif not steps:
            raise Untranslatable(before)
        above = steps.pop()
        own = [] if above.condition is None else [above.condition]
        below = There(Path(False, (last,)))
        steps.append(above._replace(condition=both([*own, below])))

    def _add_step(
        self, steps: list[PathStep], step: Step, anywhere: bool, absolute: bool, above: bool
    ) -> None:
        """Adds a step, and what it has to begin with if it follows ``//``."""
        axis, number = self._axis_and_test(step, steps, anywhere)
        predicates = step.predicates
        if axis in _NEAREST and self.inside and predicates[:1] == _FIRST:
            axis, predicates = _NEAREST[axis], predicates[1:]
        if axis in _LEAVES:
            if step.axis == "descendant-or-self" and not (steps or absolute):
                raise Untranslatable(())  # the context may be a text itself
            if anywhere or step.axis in ("descendant", "descendant-or-self"):
                steps.append(PathStep(PathAxis.NEAR, ANY_TEST))
        elif anywhere and axis is PathAxis.CHILD:
            axis = PathAxis.DESCENDANT
        bare = bare_step(axis, number)
        condition: Condition = TRUE
        if predicates:
            condition = self._predicates(predicates, above, bare, step.axis == "child")
        if not self.inside and axis in _TURNS:
            condition = both([condition, way_back(axis, steps)])
            steps.clear()
            axis = PathAxis.DESCENDANT
        elif not predicates:
            steps.append(bare)
            return
        steps.append(PathStep(axis, number, _unless_true(condition)))

    def _axis_and_test(
        self, step: Step, before: Sequence[PathStep], anywhere: bool
    ) -> tuple[PathAxis, int]:
        test = step.test
        axis = _AXES.get(step.axis)
        if axis is None and not anywhere and isinstance(test, NameTest):
            others = _ELSEWHERE if self.further else _SIBLINGS if self.inside else {}
            axis = others.get(step.axis) if before or (self.inside and self.element) else None
        if axis is None:
            raise Untranslatable(tuple(before))
        if isinstance(test, NameTest):
            return axis, self.names.test(test)
        if axis is PathAxis.ATTRIBUTE and test.kind == "node":
            return axis, ANY_TEST
        if axis is not PathAxis.ATTRIBUTE and test.kind == "text":
            self.texts = True
            return PathAxis.TEXT, ANY_TEST
        raise Untranslatable(tuple(before))

    def _predicates(
        self, predicates: Sequence[Expr], above: bool, step: PathStep, counted: bool
    ) -> Condition:
        """Translates the predicates of a step.

        Args:
            predicates: The predicates.
            above: As for `path`.
            step: The step without them.
            counted: Whether its nodes have their positions among their siblings.
        """
        around, self.inside = (self.placed, self.kinds), self.inside + 1
        self.kinds = _KINDS.get(step.axis, Kinds.ELEMENT)
        self.placed = counted and self.element
        conditions: list[Condition] = []
        last, cells, used = 0, len(self.cells), 0  # behind the last predicate that counts
        for predicate in predicates:
            before, self.exact = self.exact, True
            conditions.append(self.predicate(predicate, above))
            if self.placed and is_positional(predicate):
                last, used = len(conditions), len(self.cells) - cells
            self.placed &= self.exact  # else others are left than those that count
            self.exact &= before
        (self.placed, self.kinds), self.inside = around, self.inside - 1
        if last:
            parts = StepParts(tuple(conditions[:last]))
            counted_step = PathStep(PathAxis.CHILD, step.test, parts=parts)
            conditions[:last] = [Among(counted_step, constant=not used)]
        return both(conditions)

    def predicate(self, predicate: Expr, above: bool) -> Condition:
        """Translates a predicate: a truth, or a position."""
        if type_of(predicate) is not _NUMBER:
            return self.truth(predicate, above)
        number, position = self.number(predicate), self.position(NumberKind.HERE)
        if number is None or position is None:
            return self.unknown(above)
        return NumberComparison(Operator.EQ, position, number)

    def position(self, operation: NumberKind) -> Calculation | None:
        """The context's position, or the number of nodes among which it has one."""
        return HereNumber(operation) if self.placed else None

    def only_path(
        self, expr: Expr, of: Literal["values", "names", "nodes"] = "values"
    ) -> Path | None:
        """The one path that selects the nodes of an expression; None if there is none.

        Args:
            expr: The expression.
            of: What is asked of them: for values it may select others that have the same.
        """

        def usual() -> Path | None:
            path = self._only_path(expr)
            self.exact &= path is not None
            return path

        def other() -> Path | None:
            found = self.axis_path(expr)
            if found is not None and found.kinds == Kinds.DOCUMENT and of == "values":
                return _ROOT
            if found is None or (Kinds.DOCUMENT in found.kinds and of != "nodes"):
                return None
            return found.path

        before = self.exact
        path = self.exactly(usual, other)
        self.exact = before  # whoever asks sees that there is none
        return path

    def _only_path(self, expr: Expr) -> Path | None:
        paths = location_paths(expr)
        if paths is None or len(paths) > 1 or self.may_select_document(paths[0]):
            return None
        path, whole, exact = self.path(paths[0], True)
        if path is None or not whole or not exact or self.is_document(path):
            return None
        return path

    def over_paths(self, expr: Expr, above: bool, make: Callable[[Path], Condition]) -> Condition:
        """A condition on some node of a node set."""

        def other() -> Condition | None:
            found = self.axis_path(expr)
            if found is None or (Kinds.DOCUMENT in found.kinds and make is not There):
                return None
            return make(found.path)

        return self.exactly(lambda: self._over_paths(expr, above, make), other)

    def _over_paths(self, expr: Expr, above: bool, make: Callable[[Path], Condition]) -> Condition:
        parts = location_paths(expr)
        if parts is None:
            with_ids = path_with_ids(expr)
            if with_ids is None or not above:
                return self.unknown(above)
            self.exact = False
            return self._over_paths(with_ids, True, There)
        conditions: list[Condition] = []
        for part in parts:
            if self.may_select_document(part):
                return self.unknown(above)
            path, whole, _ = self.path(part, above)
            if path is None:
                conditions.append(FALSE)
            elif self.is_document(path):
                return self.unknown(above)
            else:  # where the path was cut short, its nodes are not those that are compared
                conditions.append(make(path) if whole else There(path))
        return either(conditions)

    def may_select_document(self, path: LocationPath) -> bool:
        """Whether the document node may be among the nodes of a path: no result, but it counts."""
        return (path.absolute or not self.inside) and may_be_document(path)

    def is_document(self, path: Path) -> bool:
        """Whether a path may select the document node, of which nothing is known here."""
        return not path.steps and (path.absolute or not self.inside)


def _unless_true(condition: Condition) -> Condition | None:
    return None if condition == TRUE else condition
