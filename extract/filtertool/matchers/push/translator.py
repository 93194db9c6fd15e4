"""XPath into conditions of the push engine.

A query is translated into conditions that it implies. Where everything in it is of the kinds in
`conditions`, they are equivalent to it (`Translator.exact`); where something is not, such as a
position, it is left out, and a document that meets the conditions is asked in another way.

What is left out must not make a condition false that would be true. Under ``not()`` it is the other
way round, so translation knows on which side it is: *above* the truth, or *below* it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from extract.filtertool.matchers.push.conditions import (
    ANY_TEST,
    FALSE,
    TRUE,
    Always,
    Calculated,
    Calculation,
    Cell,
    Compare,
    CompareNumber,
    Condition,
    ConstantNumber,
    ConstantText,
    Count,
    DividedText,
    First,
    FixedNumber,
    FixedText,
    InReference,
    JoinedText,
    ListedNumber,
    NameNumbers,
    NameText,
    NodesComparison,
    NodesNumber,
    NormalisedText,
    Not,
    NumberComparison,
    NumberKind,
    NumberTruth,
    Operator,
    Or,
    PartOfText,
    Path,
    PathAxis,
    PathStep,
    SiblingNumber,
    Text,
    TextComparison,
    TextLength,
    TextNumber,
    There,
    TranslatedText,
    ValueText,
    both,
    either,
    opposite,
)
from extract.filtertool.matchers.push.node_sets import (
    HERE,
    NODE_SETS,
    PARENT,
    leaves_root,
    location_paths,
    path_with_ids,
)
from extract.filtertool.matchers.push.turned_paths import way_back, with_condition
from extract.xpath.ast import (
    ANY_DEPTH,
    ANY_NODE,
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    NameTest,
    Negate,
    Number,
    Parameter,
    Step,
    StringLiteral,
    Union,
)
from extract.xpath.functions import Type
from extract.xpath.numbers import to_number
from extract.xpath.reference_tables import compared_column
from extract.xpath.types import may_be_document, type_of

_OPERATORS: Final = {
    "=": Operator.EQ,
    "!=": Operator.NE,
    "<": Operator.LT,
    "<=": Operator.LE,
    ">": Operator.GT,
    ">=": Operator.GE,
}
_AXES: Final = {
    "child": PathAxis.CHILD,
    "descendant": PathAxis.DESCENDANT,
    "descendant-or-self": PathAxis.NEAR,
    "attribute": PathAxis.ATTRIBUTE,
}
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
_TURNS: Final = frozenset(_ELSEWHERE.values())
_LEAVES: Final = (PathAxis.ATTRIBUTE, PathAxis.TEXT)
_FIRST: Final = (Number("1"),)
_SWAPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_MIRRORED: Final = {_OPERATORS[one]: _OPERATORS[other] for one, other in _SWAPPED.items()}
_EMPTY: Final = FixedText("")
_ABOVE: Final = LocationPath(False, (PARENT,))
_TO_PARENT: Final = Path(False, (PathStep(PathAxis.PARENT, ANY_TEST),))
_ARITHMETIC: Final = {
    "+": NumberKind.ADD,
    "-": NumberKind.SUBTRACT,
    "*": NumberKind.MULTIPLY,
    "div": NumberKind.DIVIDE,
    "mod": NumberKind.MODULO,
}
_ROUNDING: Final = {
    "floor": NumberKind.FLOOR,
    "ceiling": NumberKind.CEILING,
    "round": NumberKind.ROUND,
}
_NOT_FROM_PARENT: Final = {PathAxis.NEAR, *_ELSEWHERE.values(), *_NEAREST.values()}
_PLACES: Final = {"position": NumberKind.POSITION, "last": NumberKind.LAST}
_LISTED: Final = {NumberKind.POSITION: NumberKind.PLACE, NumberKind.LAST: NumberKind.LISTED}
_NAMES: Final = ("name", "local-name")
_OF_NODES: Final = {"count": NumberKind.COUNT, "sum": NumberKind.SUM}
_TEXT_FUNCTIONS: Final = frozenset(
    {
        *("string", "normalize-space", "concat", "translate"),
        *("substring", "substring-before", "substring-after"),
    }
)


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


@dataclass
class Translator:
    """Translates one query. Its fields are filled in on the way.

    Attributes:
        names: Numbers names.
        empty: Parameters that are empty strings: whether a text contains one is known.
        cells: The constants that conditions compare with.
        exact: Whether nothing was left out.
        texts: Whether a path selects text nodes.
        searched: Parameters that are compared with the value of a first node, or looked for in it.
        references: Whether columns of tables are known; else what depends on them is left out.
        further: Whether to take what can only be evaluated node by node: axes that lead up or
            elsewhere, positions among all nodes of a path, and names as strings.
    """

    names: NameNumbers
    empty: frozenset[int] = frozenset()
    cells: list[Cell] = field(default_factory=list)
    exact: bool = True
    texts: bool = False
    searched: set[int] = field(default_factory=set)
    references: bool = False
    further: bool = False
    _inside: int = 0  # how many predicates are around; in none, the context is the document node
    # The siblings among which the context has its position, or the paths among whose nodes.
    _place: PathStep | tuple[Path, ...] | None = None
    _element: bool = True  # whether the context is an element, or the document node

    # -- paths

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

    def listed(self, expr: Expr) -> tuple[Path, ...] | None:
        """The paths that select the nodes of an expression, if that has positions that count all of
        them together, as ``(//a | //b)[2]/c``; None if it has no exact translation."""
        if isinstance(expr, FilterPath):
            paths = self.listed(expr.primary)
            if paths is None or any(path.steps[-1].axis in _LEAVES for path in paths):
                return None
            return self._continued(self._chosen(paths, expr.predicates), expr.steps)
        parts = expr.parts if isinstance(expr, Union) else (expr,)
        found: list[Path] = []
        for part in parts:
            if isinstance(part, FilterPath):
                more = self.listed(part)
                if more is None:
                    return None
                found += more
                continue
            if not isinstance(part, LocationPath) or (self._inside and not part.absolute):
                return None
            if self._may_be_document(part):
                return None
            path, whole, exact = self.path(part, True)
            if path is None or not whole or not exact or not path.steps:
                return None
            found.append(path)
        return tuple(found)

    def _chosen(
        self, paths: tuple[Path, ...], predicates: Sequence[Expr]
    ) -> tuple[Path, ...] | None:
        """The paths with predicates on all of their nodes together."""
        around, self._inside = (self._place, self._element), self._inside + 1
        before, self.exact, self._element = self.exact, True, True
        for predicate in predicates:
            self._place = paths
            condition = self._predicate(predicate, True)
            paths = tuple([with_condition(path, condition) for path in paths])
        exact, self.exact = self.exact, before and self.exact
        (self._place, self._element), self._inside = around, self._inside - 1
        return paths if exact else None

    def _continued(
        self, paths: tuple[Path, ...] | None, steps: tuple[Step, ...]
    ) -> tuple[Path, ...] | None:
        """The paths with further steps."""
        if paths is None or not steps:
            return paths
        before, self.exact, rest = self.exact, True, LocationPath(True, steps)
        try:
            found = [
                Path(path.absolute, self._steps(rest, True, False, path.steps)) for path in paths
            ]
        except Untranslatable:
            self.exact = False
        exact, self.exact = self.exact, before and self.exact
        return tuple(found) if exact else None

    def _steps(
        self, path: LocationPath, above: bool, result: bool, before: Sequence[PathStep] = ()
    ) -> tuple[PathStep, ...]:
        steps = list(before)
        anywhere = False
        for number, step in enumerate(path.steps):
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
            if steps and steps[-1].axis in (PathAxis.ATTRIBUTE, PathAxis.TEXT):
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
        at_document = not steps and (path.absolute or not self._inside)
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
        axis, number = self._axis_and_test(step, tuple(steps), anywhere)
        predicates = step.predicates
        if axis in _NEAREST and self._inside and predicates[:1] == _FIRST:
            axis, predicates = _NEAREST[axis], predicates[1:]
        if axis in (PathAxis.ATTRIBUTE, PathAxis.TEXT):
            if step.axis == "descendant-or-self" and not (steps or absolute):
                raise Untranslatable(())  # the context may be a text itself
            if anywhere or step.axis in ("descendant", "descendant-or-self"):
                steps.append(PathStep(PathAxis.NEAR, ANY_TEST))
        elif anywhere and axis is PathAxis.CHILD:
            axis = PathAxis.DESCENDANT
        bare = PathStep(axis, number)
        condition: Condition = TRUE
        if predicates:
            condition = self._predicates(predicates, above, bare, step.axis == "child")
        if not self._inside and axis in _TURNS:
            condition = both([condition, way_back(axis, steps)])
            steps.clear()
            bare = bare._replace(axis=PathAxis.DESCENDANT)
        steps.append(bare._replace(condition=_unless_true(condition)))

    def _axis_and_test(
        self, step: Step, before: tuple[PathStep, ...], anywhere: bool
    ) -> tuple[PathAxis, int]:
        test = step.test
        axis = _AXES.get(step.axis)
        if axis is None and not anywhere and isinstance(test, NameTest):
            others = _ELSEWHERE if self.further else _SIBLINGS if self._inside else {}
            axis = others.get(step.axis) if before or (self._inside and self._element) else None
        if axis is None:
            raise Untranslatable(before)
        if isinstance(test, NameTest):
            return axis, self.names.test(test)
        if axis is PathAxis.ATTRIBUTE and test.kind == "node":
            return axis, ANY_TEST
        if axis is not PathAxis.ATTRIBUTE and test.kind == "text":
            self.texts = True
            return PathAxis.TEXT, ANY_TEST
        raise Untranslatable(before)

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
        around, self._inside = (self._place, self._element), self._inside + 1
        self._element = step.axis not in (PathAxis.ATTRIBUTE, PathAxis.TEXT)
        counted = counted and self._element
        conditions: list[Condition] = []
        for predicate in predicates:
            before, self.exact = self.exact, True
            condition = _unless_true(both(conditions))
            self._place = PathStep(PathAxis.CHILD, step.test, condition) if counted else None
            conditions.append(self._predicate(predicate, above))
            counted &= self.exact
            self.exact &= before
        (self._place, self._element), self._inside = around, self._inside - 1
        return both(conditions)

    def _predicate(self, predicate: Expr, above: bool) -> Condition:
        if type_of(predicate) is not Type.NUMBER:
            return self.truth(predicate, above)
        number, position = self.number(predicate), self._position(NumberKind.POSITION)
        if number is None or position is None:
            return self._unknown(above)
        return NumberComparison(Operator.EQ, position, number)

    def _position(self, operation: NumberKind) -> Calculation | None:
        """The context's position, or the number of nodes among which it has one."""
        place = self._place
        if place is None or isinstance(place, PathStep):
            return None if place is None else SiblingNumber(operation, place)
        return ListedNumber(_LISTED[operation], place)

    # -- conditions

    def _unknown(self, above: bool) -> Condition:
        self.exact = False
        return Always(above)

    def truth(self, expr: Expr, above: bool) -> Condition:
        """Translates the truth of an expression; ``above`` as for `path`."""
        if isinstance(expr, NODE_SETS) or path_with_ids(expr) is not None:
            return self._over_paths(expr, above, There)
        if isinstance(expr, Binary):
            if expr.op in ("and", "or"):
                parts = [self.truth(expr.left, above), self.truth(expr.right, above)]
                return both(parts) if expr.op == "and" else either(parts)
            if expr.op in _OPERATORS:
                return self._comparison(expr, above)
        if isinstance(expr, FunctionCall) and not expr.prefix:
            return self._call(expr, above)
        if isinstance(expr, StringLiteral):
            return Always(bool(expr.value))
        return self._number_truth(expr, above)

    # -- numbers

    def number(self, expr: Expr) -> Calculation | None:
        """Translates a number, or what is made one; None if that is not possible."""
        if isinstance(expr, Number):
            return FixedNumber(to_number(expr.text.encode()))
        if isinstance(expr, Parameter):
            return ConstantNumber(self._cell(Cell(expr.index, False)))
        if isinstance(expr, Negate):
            return self._calculated(NumberKind.MINUS, (expr.operand,))
        if isinstance(expr, Binary):
            if expr.op not in _ARITHMETIC:
                return None
            return self._calculated(_ARITHMETIC[expr.op], (expr.left, expr.right))
        if isinstance(expr, FunctionCall) and not expr.prefix:
            if expr.name in _PLACES:
                return self._position(_PLACES[expr.name])
            if expr.name in _ROUNDING:
                return self._calculated(_ROUNDING[expr.name], expr.arguments)
            if expr.name in _OF_NODES:
                return self._number_of_nodes(_OF_NODES[expr.name], expr.arguments[0])
            if expr.name == "number" and expr.arguments:
                return self.number(expr.arguments[0])
            if expr.name in ("number", "string-length"):
                text = self.text(expr.arguments[0] if expr.arguments else HERE)
                operation = NumberKind.VALUE if expr.name == "number" else NumberKind.LENGTH
                return None if text is None else TextNumber(operation, text)
        text = self.text(expr)
        return None if text is None else TextNumber(NumberKind.VALUE, text)

    def _calculated(self, operation: NumberKind, operands: Sequence[Expr]) -> Calculated | None:
        parts = tuple([part for one in operands if (part := self.number(one)) is not None])
        return Calculated(operation, parts) if len(parts) == len(operands) else None

    def _number_of_nodes(self, operation: NumberKind, expr: Expr) -> NodesNumber | None:
        path = self._only_path(expr)
        if path is None or not path.steps:
            return None
        if operation is NumberKind.SUM and _selects_nested_texts(path):
            return None  # they are added in document order, which the engine's is not
        return NodesNumber(operation, path)

    def _number_truth(self, expr: Expr, above: bool) -> Condition:
        number = self.number(expr) if type_of(expr) is Type.NUMBER else None
        return self._unknown(above) if number is None else NumberTruth(number)

    def _numbers(self, operator: Operator, left: Expr, right: Expr, above: bool) -> Condition:
        """A comparison of two numbers, or of each node with a number."""
        types = (type_of(left), type_of(right))
        if types == (Type.NODES, Type.NODES):
            return self._nodes(operator, left, right, above)
        by_number = Type.NUMBER in types or operator not in (Operator.EQ, Operator.NE)
        if not by_number or Type.BOOLEAN in types:
            return self._unknown(above)
        if types[1] is Type.NODES:
            operator, left, right = _MIRRORED[operator], right, left
        second = self.number(right)
        if second is None:
            return self._unknown(above)
        if type_of(left) is Type.NODES:
            return self._over_paths(left, above, lambda path: CompareNumber(operator, second, path))
        first = self.number(left)
        return self._unknown(above) if first is None else NumberComparison(operator, first, second)

    def _nodes(self, operator: Operator, left: Expr, right: Expr, above: bool) -> Condition:
        """A comparison of each node with each of others."""
        paths = self._only_path(left), self._only_path(right)
        if paths[0] is not None and paths[1] is not None:
            return NodesComparison(operator, paths[0], paths[1])
        self.exact = False  # but there is a node on each side
        return both([self.truth(left, True), self.truth(right, True)]) if above else FALSE

    # -- texts

    def text(self, expr: Expr) -> Text | None:
        """Translates a string, or the string of a node set; None if that is not possible."""
        if isinstance(expr, StringLiteral):
            return FixedText(expr.value)
        if isinstance(expr, Parameter):
            return (
                ConstantText(self._cell(Cell(expr.index, True))) if expr.type == "string" else None
            )
        if isinstance(expr, NODE_SETS):
            return self._value_of(expr)
        if not isinstance(expr, FunctionCall) or expr.prefix:
            return None
        if expr.name in _NAMES:
            return self._name_of(expr)
        if expr.name == "substring":
            return self._part_of_text(*expr.arguments)
        parts = [self.text(argument) for argument in expr.arguments or (HERE,)]
        if None in parts or expr.name not in _TEXT_FUNCTIONS:
            return None
        texts = tuple([part for part in parts if part is not None])
        match expr.name:
            case "string":
                return texts[0]
            case "normalize-space":
                return NormalisedText(texts[0])
            case "concat":
                return JoinedText(texts)
            case "translate":
                return TranslatedText(*texts)
        return DividedText(expr.name == "substring-after", *texts)

    def _part_of_text(self, whole: Expr, start: Expr, length: Expr | None = None) -> Text | None:
        text, first = self.text(whole), self.number(start)
        count = None if length is None else self.number(length)
        if text is None or first is None or (length is not None and count is None):
            return None
        return PartOfText(text, first, count)

    def _name_of(self, call: FunctionCall) -> NameText | None:
        if not self.further:
            return None
        nodes = call.arguments[0] if call.arguments else HERE
        if nodes == _ABOVE and self._inside and self._element:
            path: Path | None = _TO_PARENT  # the document node has no name, as no node has
        else:
            path = self._only_path(nodes)
        return None if path is None else NameText(call.name == "local-name", path)

    def _value_of(self, expr: Expr) -> Text | None:
        path = self._only_path(expr)
        return None if path is None else ValueText(path)

    def _only_path(self, expr: Expr) -> Path | None:
        """The one path that selects the nodes of an expression; None if there is none."""
        paths = location_paths(expr)
        if paths is None and self.further:
            listed = self.listed(expr)
            return listed[0] if listed is not None and len(listed) == 1 else None
        if paths is None or len(paths) > 1 or self._may_be_document(paths[0]):
            return None
        path, whole, exact = self.path(paths[0], True)
        if path is None or not whole or not exact or self._is_document(path):
            return None
        return path

    def _strings(self, operator: Operator, left: Expr, right: Expr, above: bool) -> Condition:
        """A comparison of two strings."""
        texts = self.text(left), self.text(right)
        if texts[0] is None or texts[1] is None:
            return self._unknown(above)
        return TextComparison(operator, texts[0], texts[1])

    def _over_paths(self, expr: Expr, above: bool, make: Callable[[Path], Condition]) -> Condition:
        """A condition on some node of a node set."""
        parts = location_paths(expr)
        if parts is None:
            listed = self.listed(expr) if self.further else None
            if listed is not None:
                return either(list(map(make, listed)))
            with_ids = path_with_ids(expr)
            if with_ids is None or not above:
                return self._unknown(above)
            self.exact = False
            return self._over_paths(with_ids, True, There)
        conditions: list[Condition] = []
        for part in parts:
            if self._may_be_document(part):
                return self._unknown(above)
            path, whole, _ = self.path(part, above)
            if path is None:
                conditions.append(FALSE)
            elif self._is_document(path):
                return self._unknown(above)
            else:  # where the path was cut short, its nodes are not those that are compared
                conditions.append(make(path) if whole else There(path))
        return either(conditions)

    def _may_be_document(self, path: LocationPath) -> bool:
        """Whether the document node may be among the nodes of a path: no result, but it counts."""
        return (path.absolute or not self._inside) and may_be_document(path)

    def _is_document(self, path: Path) -> bool:
        """Whether a path may select the document node, of which nothing is known here."""
        return not path.steps and (path.absolute or not self._inside)

    def _call(self, call: FunctionCall, above: bool) -> Condition:
        arguments = call.arguments
        match call.name:
            case "true" | "false":
                return Always(call.name == "true")
            case "not":
                return opposite(self.truth(arguments[0], not above))
            case "boolean":
                return self.truth(arguments[0], above)
            case "count" if isinstance(arguments[0], NODE_SETS):
                return self.truth(arguments[0], above)  # a number is true unless it is 0
            case "string" if arguments and type_of(arguments[0]) is Type.NODES:
                path = self._only_path(arguments[0])
                if path is not None:  # by which the query is found
                    return both([There(path), TextComparison(Operator.NE, ValueText(path), _EMPTY)])
                if above:  # it is empty if there is no node, and perhaps if there is one
                    self.exact = False
                    return self.truth(arguments[0], True)
            case "contains" | "starts-with" if isinstance(arguments[1], Parameter):
                constant = arguments[1]
                if constant.type == "string" and type_of(arguments[0]) is Type.NODES:
                    self.searched.add(constant.index)
                    if constant.index in self.empty:
                        return TRUE
                    operator = Operator.HAS if call.name == "contains" else Operator.BEGINS
                    return self._first(operator, Cell(constant.index, True), arguments[0], above)
        if call.name in ("contains", "starts-with"):
            operator = Operator.HAS if call.name == "contains" else Operator.BEGINS
            return self._strings(operator, arguments[0], arguments[1], above)
        if call.name == "string-length":
            text = self.text(arguments[0] if arguments else HERE)
            return (
                self._unknown(above) if text is None else TextComparison(Operator.NE, text, _EMPTY)
            )
        if call.name in _TEXT_FUNCTIONS or call.name in _NAMES:
            return self._strings(Operator.NE, call, StringLiteral(""), above)
        return self._number_truth(call, above)

    def _first(self, operator: Operator, cell: Cell, expr: Expr, above: bool) -> Condition:
        paths = location_paths(expr)
        if paths is None or len(paths) > 1 or self._may_be_document(paths[0]):
            return self._unknown(above)
        path, whole, exact = self.path(paths[0], above)
        if path is None or self._is_document(path):
            return self._unknown(above)
        if exact:
            first = First(operator, self._cell(cell), path)
            if cell.is_string:
                self.searched.add(cell.parameter)
            if cell.parameter in self.empty and operator is Operator.EQ and cell.is_string:
                return Or((Not(There(path)), first))  # so that it is seen that there may be no node
            return first
        if above and operator in (Operator.HAS, Operator.BEGINS):
            # Another node may be the first, but some node has such a value: the constant is not
            # empty, or it would not be compared.
            return Compare(operator, self._cell(cell), path) if whole else There(path)
        return self._unknown(above)

    def _cell(self, cell: Cell) -> int:
        self.cells.append(cell)
        return len(self.cells) - 1

    def _comparison(self, expr: Binary, above: bool) -> Condition:
        op, left, right = expr.op, expr.left, expr.right
        reference = compared_column(expr) if self.references else None
        if reference is not None:
            path, column = reference
            return self._over_paths(path, above, lambda found: InReference(column, found))
        constant = _constant(right)
        if constant is None:
            constant, left, right, op = _constant(left), right, left, _SWAPPED[op]
        operator = _OPERATORS[op]
        if operator in (Operator.EQ, Operator.NE) and _both_strings(left, right):
            return self._strings(operator, left, right, above)
        if constant is None:
            return self._truths(operator, left, right, above)
        parameter, negative = constant
        cell = Cell(parameter.index, op in ("=", "!=") and parameter.type == "string", negative)
        if isinstance(left, NODE_SETS):
            make = _PartialCondition(self, operator, cell)
            return self._over_paths(left, above, make)
        if isinstance(left, FunctionCall) and not left.prefix and left.name == "string-length":
            text = self.text(left.arguments[0] if left.arguments else HERE)
            if text is None:
                return self._unknown(above)
            return TextLength(operator, self._cell(cell._replace(is_string=False)), text)
        if isinstance(left, FunctionCall) and not left.prefix and left.arguments:
            argument = left.arguments[0]
            if type_of(argument) is not Type.NODES:
                return self._numbers(operator, left, right, above)
            if left.name == "count":
                return self._counted(operator, cell._replace(is_string=False), argument, above)
            if left.name in ("string", "number"):
                if left.name == "number":
                    cell = cell._replace(is_string=False)
                return self._first(operator, cell, argument, above)
        return self._numbers(operator, left, right, above)

    def _counted(self, operator: Operator, cell: Cell, expr: Expr, above: bool) -> Condition:
        paths = location_paths(expr)
        if paths is None or len(paths) > 1 or self._may_be_document(paths[0]):
            return self._unknown(above)
        path, _, exact = self.path(paths[0], above)
        if path is None or not exact or not path.steps:
            return self._unknown(above)
        return Count(operator, self._cell(cell), path)

    def _truths(self, operator: Operator, left: Expr, right: Expr, above: bool) -> Condition:
        """``a = true()``: whether there is any ``a``; or a comparison of numbers."""
        nodes, other = (left, right) if isinstance(right, FunctionCall) else (right, left)
        if (
            isinstance(other, FunctionCall)
            and other.name in ("true", "false")
            and operator in (Operator.EQ, Operator.NE)
            and isinstance(nodes, NODE_SETS)
        ):
            if (other.name == "true") == (operator == Operator.EQ):
                return self.truth(nodes, above)
            return opposite(self.truth(nodes, not above))
        return self._numbers(operator, left, right, above)


class _PartialCondition:
    """Makes a `Compare` for each path of a node set, with one constant for all."""

    def __init__(self, translator: Translator, operator: Operator, cell: Cell) -> None:
        self._translator = translator
        self._operator = operator
        self._cell = cell
        self._number = -1

    def __call__(self, path: Path) -> Condition:
        if self._number < 0:
            self._number = self._translator._cell(self._cell)
        return Compare(self._operator, self._number, path)


def _both_strings(left: Expr, right: Expr) -> bool:
    """Whether two operands are strings, one of them computed.

    What is compared with a node set is compared with each of its nodes; ``string(a) = 'x'`` has a
    way of its own, by which rows are found.
    """
    types = (type_of(left), type_of(right))
    return types == (Type.STRING, Type.STRING) and (_is_computed(left) or _is_computed(right))


def _is_computed(expr: Expr) -> bool:
    if not isinstance(expr, FunctionCall):
        return False
    arguments = expr.arguments
    return expr.name != "string" or not arguments or type_of(arguments[0]) is not Type.NODES


def _selects_nested_texts(path: Path) -> bool:
    """Whether a path may select texts of elements that are in each other."""
    axes = [step.axis for step in path.steps]
    return axes[-1] is PathAxis.TEXT and not {*axes} <= {PathAxis.CHILD, PathAxis.TEXT}


def _unless_true(condition: Condition) -> Condition | None:
    return None if condition == TRUE else condition


def _constant(expr: Expr) -> tuple[Parameter, bool] | None:
    """A constant operand, and whether there is a minus before it."""
    if isinstance(expr, Parameter):
        return expr, False
    if isinstance(expr, Negate):
        inner = _constant(expr.operand)
        return None if inner is None else (inner[0], not inner[1])
    return None
