"""XPath into conditions of the push engine.

A query is translated into conditions that it implies. Where everything in it is of the kinds in
`conditions`, they are equivalent to it (`Translator.exact`); where something is not, such as a
position, it is left out, and a document that meets the conditions is asked in another way.

What is left out must not make a condition false that would be true. Under ``not()`` it is the other
way round, so translation knows on which side it is: *above* the truth, or *below* it.
"""

from __future__ import annotations

from typing import Final

from extract.filtertool.matchers.push.conditions import (
    EMPTY,
    FALSE,
    TRUE,
    Always,
    Cell,
    Compare,
    CompareNumber,
    CompareText,
    Condition,
    Count,
    First,
    InReference,
    NodesComparison,
    NumberComparison,
    NumberTruth,
    Operator,
    Path,
    TextComparison,
    TextLength,
    There,
    TruthNumber,
    ValueText,
    both,
    either,
    opposite,
)
from extract.filtertool.matchers.push.node_sets import (
    HERE,
    NODE_SETS,
    location_paths,
    path_with_ids,
)
from extract.filtertool.matchers.push.translated_values import (
    NAME_FUNCTIONS,
    TEXT_FUNCTIONS,
    ValueTranslation,
)
from extract.xpath.ast import (
    Binary,
    Expr,
    FunctionCall,
    Negate,
    Parameter,
    StringLiteral,
)
from extract.xpath.functions import (
    Type,
)
from extract.xpath.reference_tables import (
    compared_column,
)
from extract.xpath.traverse import (
    any_in,
)
from extract.xpath.types import (
    type_of,
)

_OPERATORS: Final = {
    "=": Operator.EQ,
    "!=": Operator.NE,
    "<": Operator.LT,
    "<=": Operator.LE,
    ">": Operator.GT,
    ">=": Operator.GE,
}
_EQUALITY: Final = (Operator.EQ, Operator.NE)
# An attribute of an enumeration takes long to find.
_NODES, _BOOLEAN, _NUMBER, _STRING = Type.NODES, Type.BOOLEAN, Type.NUMBER, Type.STRING
_SWAPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_MIRRORED: Final = {_OPERATORS[one]: _OPERATORS[other] for one, other in _SWAPPED.items()}


def _compares_truths(*sides: Expr) -> bool:
    """Whether some expressions compare truths anywhere: what has each of them twice would have
    these four times, and so on."""
    return any(any_in(side, Binary, _is_of_truths) for side in sides)


def _is_of_truths(expr: Binary) -> bool:
    return _OPERATORS.get(expr.op) in _EQUALITY and _BOOLEAN in (
        type_of(expr.left),
        type_of(expr.right),
    )


class Translator(ValueTranslation):
    """Translates one query: its truth, the nodes that it selects (`path`), or its `number`."""

    def truth(self, expr: Expr, above: bool) -> Condition:
        """Translates the truth of an expression; ``above`` as for `path`."""
        self.truths -= 1
        if self.truths < 0:
            return self.unknown(above)
        if isinstance(expr, NODE_SETS):
            return self.over_paths(expr, above, There)
        if isinstance(expr, Binary):
            if expr.op in ("and", "or"):
                parts = [self.truth(expr.left, above), self.truth(expr.right, above)]
                return both(parts) if expr.op == "and" else either(parts)
            if expr.op in _OPERATORS:
                return self._comparison(expr, above)
        if isinstance(expr, FunctionCall) and not expr.prefix:
            if path_with_ids(expr) is not None:
                return self.over_paths(expr, above, There)
            return self._call(expr, above)
        if isinstance(expr, StringLiteral):
            return Always(bool(expr.value))
        return self._number_truth(expr, above)

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
            case "string" if arguments and type_of(arguments[0]) is _NODES:
                path = self.only_path(arguments[0])
                if path is not None:
                    return TextComparison(Operator.NE, ValueText(path), EMPTY)
                if above:  # it is empty if there is no node, and perhaps if there is one
                    self.exact = False
                    return self.truth(arguments[0], True)
            case "contains" | "starts-with" if isinstance(arguments[1], Parameter):
                constant = arguments[1]
                if constant.type == "string" and type_of(arguments[0]) is _NODES:
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
            return self.unknown(above) if text is None else TextComparison(Operator.NE, text, EMPTY)
        if call.name in TEXT_FUNCTIONS or call.name in NAME_FUNCTIONS:
            return self._strings(Operator.NE, call, StringLiteral(""), above)
        return self._number_truth(call, above)

    def _comparison(self, expr: Binary, above: bool) -> Condition:
        return self.exactly(
            lambda: self._usual_comparison(expr, above), lambda: self._by_type(expr)
        )

    def _by_type(self, expr: Binary) -> Condition | None:
        """A comparison of what two expressions are, as XPath defines it."""
        operator, left, right = _OPERATORS[expr.op], expr.left, expr.right
        types = {type_of(left), type_of(right)}
        if _BOOLEAN in types and operator <= Operator.NE and not _compares_truths(left, right):
            truths = self.truth(left, True), self.truth(right, True)
            same = either([both(truths), both([*map(opposite, truths)])])
            return same if operator is Operator.EQ else opposite(same)
        if types == {_BOOLEAN, _NODES} or (_BOOLEAN in types and operator <= Operator.NE):
            one, other = [TruthNumber(self.truth(side, True)) for side in (left, right)]
            return NumberComparison(operator, one, other)
        if _NODES in types and len(types) == 2:
            if type_of(right) is _NODES:
                operator, left, right = _MIRRORED[operator], right, left
            path = self.only_path(left)
            if path is not None and _STRING in types and operator <= Operator.NE:
                text = self.text(right)
                return None if text is None else CompareText(operator, text, path)
            number = self.number(right)
            if path is None or number is None:
                return None
            return CompareNumber(operator, number, path)
        if _NODES in types:
            paths = self.only_path(left), self.only_path(right)
            if paths[0] is None or paths[1] is None:
                return None
            return NodesComparison(operator, paths[0], paths[1])
        if operator <= Operator.NE and _NUMBER not in types:
            texts = self.text(left), self.text(right)
            if texts[0] is None or texts[1] is None:
                return None
            return TextComparison(operator, texts[0], texts[1])
        numbers = self.number(left), self.number(right)
        if numbers[0] is None or numbers[1] is None:
            return None
        return NumberComparison(operator, numbers[0], numbers[1])

    def _usual_comparison(self, expr: Binary, above: bool) -> Condition:
        op, left, right = expr.op, expr.left, expr.right
        reference = compared_column(expr) if self.references else None
        if reference is not None:
            path, column = reference
            return self.over_paths(path, above, lambda found: InReference(column, found))
        constant = _constant(right)
        if constant is None:
            constant, left, right, op = _constant(left), right, left, _SWAPPED[op]
        operator = _OPERATORS[op]
        if operator in _EQUALITY and _both_strings(left, right):
            return self._strings(operator, left, right, above)
        if constant is None:
            return self._truths(operator, left, right, above)
        parameter, negative = constant
        cell = Cell(parameter.index, op in ("=", "!=") and parameter.type == "string", negative)
        if isinstance(left, NODE_SETS):
            make = _PartialCondition(self, operator, cell)
            return self.over_paths(left, above, make)
        if isinstance(left, FunctionCall) and not left.prefix and left.name == "string-length":
            text = self.text(left.arguments[0] if left.arguments else HERE)
            if text is None:
                return self.unknown(above)
            return TextLength(operator, self.cell(cell._replace(is_string=False)), text)
        if isinstance(left, FunctionCall) and not left.prefix and left.arguments:
            argument = left.arguments[0]
            if type_of(argument) is not _NODES:
                return self._numbers(operator, left, right, above)
            if left.name == "count":
                return self._counted(operator, cell._replace(is_string=False), argument, above)
            if left.name in ("string", "number"):
                if left.name == "number":
                    cell = cell._replace(is_string=False)
                return self._first(operator, cell, argument, above)
        return self._numbers(operator, left, right, above)

    def _truths(self, operator: Operator, left: Expr, right: Expr, above: bool) -> Condition:
        """``a = true()``: whether there is any ``a``; or a comparison of numbers."""
        nodes, other = (left, right) if isinstance(right, FunctionCall) else (right, left)
        if (
            isinstance(other, FunctionCall)
            and other.name in ("true", "false")
            and operator in _EQUALITY
            and isinstance(nodes, NODE_SETS)
        ):
            if (other.name == "true") == (operator == Operator.EQ):
                return self.truth(nodes, above)
            return opposite(self.truth(nodes, not above))
        return self._numbers(operator, left, right, above)

    def _number_truth(self, expr: Expr, above: bool) -> Condition:
        number = self.number(expr) if type_of(expr) is _NUMBER else None
        return self.unknown(above) if number is None else NumberTruth(number)

    def _numbers(self, operator: Operator, left: Expr, right: Expr, above: bool) -> Condition:
        """A comparison of two numbers, or of each node with a number."""
        types = (type_of(left), type_of(right))
        if types == (_NODES, _NODES):
            return self._nodes(operator, left, right, above)
        by_number = _NUMBER in types or operator not in _EQUALITY
        if not by_number or _BOOLEAN in types:
            return self.unknown(above)
        if types[1] is _NODES:
            operator, left, right = _MIRRORED[operator], right, left
        second = self.number(right)
        if second is None:
            return self.unknown(above)
        if type_of(left) is _NODES:
            return self.over_paths(left, above, lambda path: CompareNumber(operator, second, path))
        first = self.number(left)
        return self.unknown(above) if first is None else NumberComparison(operator, first, second)

    def _nodes(self, operator: Operator, left: Expr, right: Expr, above: bool) -> Condition:
        """A comparison of each node with each of others."""
        paths = self.only_path(left), self.only_path(right)
        if paths[0] is not None and paths[1] is not None:
            return NodesComparison(operator, paths[0], paths[1])
        self.exact = False  # but there is a node on each side
        return both([self.truth(left, True), self.truth(right, True)]) if above else FALSE

    def _strings(self, operator: Operator, left: Expr, right: Expr, above: bool) -> Condition:
        """A comparison of two strings."""
        texts = self.text(left), self.text(right)
        if texts[0] is None or texts[1] is None:
            return self.unknown(above)
        return TextComparison(operator, texts[0], texts[1])

    def _first(self, operator: Operator, cell: Cell, expr: Expr, above: bool) -> Condition:
        paths = location_paths(expr)
        if paths is None or len(paths) > 1 or self.may_select_document(paths[0]):
            return self.unknown(above)
        path, whole, exact = self.path(paths[0], above)
        if path is None or self.is_document(path):
            return self.unknown(above)
        if exact:
            if cell.is_string:
                self.searched.add(cell.parameter)
            empty = cell.is_string and cell.parameter in self.empty
            return First(operator, self.cell(cell), path, empty)
        if above and operator in (Operator.HAS, Operator.BEGINS):
            # Another node may be the first, but some node has such a value: the constant is not
            # empty, or it would not be compared.
            return Compare(operator, self.cell(cell), path) if whole else There(path)
        return self.unknown(above)

    def _counted(self, operator: Operator, cell: Cell, expr: Expr, above: bool) -> Condition:
        paths = location_paths(expr)
        if paths is None or len(paths) > 1 or self.may_select_document(paths[0]):
            return self.unknown(above)
        path, _, exact = self.path(paths[0], above)
        if path is None or not exact or not path.steps:
            return self.unknown(above)
        return Count(operator, self.cell(cell), path)


class _PartialCondition:
    """Makes a `Compare` for each path of a node set, with one constant for all."""

    def __init__(self, translator: Translator, operator: Operator, cell: Cell) -> None:
        self._translator = translator
        self._operator = operator
        self.cell = cell
        self._number = len(translator.cells)

    def __call__(self, path: Path) -> Condition:
        # The translation may have gone back to before it was added.
        if self._translator.cells[self._number : self._number + 1] != [self.cell]:
            self._number = self._translator.cell(self.cell)
        return Compare(self._operator, self._number, path)


def _both_strings(left: Expr, right: Expr) -> bool:
    """Whether two operands are strings, one of them computed.

    What is compared with a node set is compared with each of its nodes; ``string(a) = 'x'`` has a
    way of its own, by which rows are found.
    """
    types = (type_of(left), type_of(right))
    return types == (_STRING, _STRING) and (_is_computed(left) or _is_computed(right))


def _is_computed(expr: Expr) -> bool:
    if not isinstance(expr, FunctionCall):
        return False
    arguments = expr.arguments
    return expr.name != "string" or not arguments or type_of(arguments[0]) is not _NODES


def _constant(expr: Expr) -> tuple[Parameter, bool] | None:
    """A constant operand, and whether there is a minus before it."""
    if isinstance(expr, Parameter):
        return expr, False
    if isinstance(expr, Negate):
        inner = _constant(expr.operand)
        return None if inner is None else (inner[0], not inner[1])
    return None
