"""Numbers and strings into what the push engine calculates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extract.filtertool.matchers.push.conditions import (
    ANY_TEST,
    Calculated,
    Calculation,
    Cell,
    Condition,
    ConstantNumber,
    ConstantText,
    DividedText,
    FixedNumber,
    FixedText,
    JoinedText,
    NamespaceText,
    NameText,
    NodesNumber,
    NormalisedText,
    NumberKind,
    NumberText,
    PartOfText,
    Path,
    PathAxis,
    PathStep,
    Text,
    TextNumber,
    TranslatedText,
    TruthNumber,
    TruthText,
    ValueText,
)
from extract.filtertool.matchers.push.node_sets import (
    HERE,
    NODE_SETS,
    PARENT,
)
from extract.filtertool.matchers.push.translated_paths import (
    PathTranslation,
)
from extract.xpath.ast import (
    Binary,
    Expr,
    FunctionCall,
    LocationPath,
    Negate,
    Number,
    Parameter,
    StringLiteral,
)
from extract.xpath.functions import Type
from extract.xpath.numbers import (
    to_number,
)
from extract.xpath.types import type_of

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
_PLACES: Final = {"position": NumberKind.HERE, "last": NumberKind.SIZE}
_OF_NODES: Final = {"count": NumberKind.COUNT, "sum": NumberKind.SUM}
NAME_FUNCTIONS: Final = ("name", "local-name", "namespace-uri")
TEXT_FUNCTIONS: Final = frozenset(
    {
        *("string", "normalize-space", "concat", "translate"),
        *("substring", "substring-before", "substring-after"),
    }
)


class ValueTranslation(PathTranslation):
    """Translates numbers and strings."""

    def number(self, expr: Expr) -> Calculation | None:
        """Translates a number, or what is made one; None if that is not possible."""
        if self.general and type_of(expr) is Type.BOOLEAN:
            condition = self._truth_of(expr)
            return None if condition is None else TruthNumber(condition)
        if isinstance(expr, Number):
            return FixedNumber(to_number(expr.text.encode()))
        if isinstance(expr, Parameter):
            return ConstantNumber(self.cell(Cell(expr.index, False)))
        if isinstance(expr, Negate):
            return self._calculated(NumberKind.MINUS, (expr.operand,))
        if isinstance(expr, Binary):
            if expr.op not in _ARITHMETIC:
                return None
            return self._calculated(_ARITHMETIC[expr.op], (expr.left, expr.right))
        if isinstance(expr, FunctionCall) and not expr.prefix:
            if expr.name in _PLACES:
                return self.position(_PLACES[expr.name])
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
        path = self.only_path(expr, "nodes" if operation is NumberKind.COUNT else "values")
        return None if path is None or not path.steps else NodesNumber(operation, path)

    def text(self, expr: Expr) -> Text | None:
        """Translates a string, or what is made one; None if that is not possible."""
        if self.general and type_of(expr) is Type.BOOLEAN:
            condition = self._truth_of(expr)
            return None if condition is None else TruthText(condition)
        if self.general and type_of(expr) is Type.NUMBER:
            number = self.number(expr)
            return None if number is None else NumberText(number)
        if isinstance(expr, StringLiteral):
            return FixedText(expr.value)
        if isinstance(expr, Parameter):
            return (
                ConstantText(self.cell(Cell(expr.index, True))) if expr.type == "string" else None
            )
        if isinstance(expr, NODE_SETS):
            return self._value_of(expr)
        if not isinstance(expr, FunctionCall) or expr.prefix:
            return None
        if expr.name in NAME_FUNCTIONS:
            return self._name_of(expr)
        if expr.name == "substring":
            return self._part_of_text(*expr.arguments)
        parts = [self.text(argument) for argument in expr.arguments or (HERE,)]
        if None in parts or expr.name not in TEXT_FUNCTIONS:
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

    def _name_of(self, call: FunctionCall) -> NameText | NamespaceText | None:
        if not self.further:
            return None
        nodes = call.arguments[0] if call.arguments else HERE
        if nodes == _ABOVE and self.inside and self.element:
            path: Path | None = _TO_PARENT  # the document node has no name, as no node has
        else:
            path = self.only_path(nodes, "names")
        if path is None:
            return None
        if call.name == "namespace-uri":
            return NamespaceText(path)
        return NameText(call.name == "local-name", path)

    def _truth_of(self, expr: Expr) -> Condition | None:
        """The truth of an expression; None if that has no exact translation."""
        before, self.exact = self.exact, True
        condition = self.truth(expr, True)
        exact, self.exact = self.exact, before
        return condition if exact else None

    def _value_of(self, expr: Expr) -> Text | None:
        path = self.only_path(expr)
        return None if path is None else ValueText(path)
