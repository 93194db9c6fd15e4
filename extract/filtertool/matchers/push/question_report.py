"""Says of a question by what the push engine finds its queries, or why it does not take it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.clauses import Atom, AtomKind, Cover, Names
from extract.filtertool.matchers.push.conditions import (
    ANY_TEST,
    Cell,
    PathAxis,
)
from extract.filtertool.matchers.push.program import compile_question
from extract.filtertool.matchers.push.translator import Translator
from extract.xpath.ast import (
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    NameTest,
    Step,
    Union,
    make_path,
    make_step,
    name_test,
    quote,
)
from extract.xpath.functions import Type
from extract.xpath.parameters import parse_shape
from extract.xpath.types import is_positional

_SIGNS: Final = {
    AtomKind.EQUAL_STRING: "=",
    AtomKind.EQUAL_NUMBER: "=",
    AtomKind.GREATER: ">",
    AtomKind.GREATER_EQUAL: ">=",
    AtomKind.LESS: "<",
    AtomKind.LESS_EQUAL: "<=",
}
_COMPARED: Final = ("count", "string", "number")  # functions whose values may be compared
EVERY_DOCUMENT: Final = "every document"
_FUNCTIONS: Final = {AtomKind.CONTAINS: "contains", AtomKind.STARTS: "starts-with"}


@dataclass(frozen=True, slots=True)
class AccessPredicate:
    """By what the queries of one alternative of a question are found.

    Attributes:
        found_by: What a document must have, for the queries to be looked at.
        or_by: What the engine chooses instead if documents show that it is rarer; the most
            promising first.
    """

    found_by: str
    or_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """Whether the push engine takes a question, and how it finds its queries.

    Attributes:
        refused: Why the engine does not take it; empty if it does.
        access: The access predicate of each alternative; empty if it is not taken.
    """

    refused: str
    access: tuple[AccessPredicate, ...]


def explain_question(question: Question) -> QuestionReport:
    """Reports on a question; constants are those of its first query."""
    constants = question.constants.row(0) if question.constants is not None else ()
    empty = frozenset([number for number, text in enumerate(constants) if not text])
    names = _WrittenNames()
    template = compile_question(question, names, empty)
    if not template.exact and question.type not in (Type.NODES, Type.BOOLEAN):
        return QuestionReport(f"its value is a {question.type.value}", ())
    if not template.exact:
        texts = (question.original,) if question.original else question.branches
        expressions = [parse_shape(text) for text in texts]
        return QuestionReport(_why_refused(expressions, question.type), ())
    words = _InWords(names, template.cells, constants)
    covers = [dict.fromkeys(map(words.cover, clause.covers)) for clause in template.clauses]
    return QuestionReport(
        "", tuple([AccessPredicate(first, tuple(others)) for first, *others in covers])
    )


class _WrittenNames:
    """Numbers names, and knows how they are written."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def test(self, test: NameTest) -> int:
        """The number of a name test."""
        written = str(test)
        return ANY_TEST if written == "*" else self._numbers.setdefault(written, len(self._numbers))

    def written(self, number: int) -> str:
        """The name test with a number."""
        return "*" if number == ANY_TEST else list(self._numbers)[number]


class _InWords:
    """Writes what the engine looks for as XPath."""

    def __init__(
        self, names: _WrittenNames, cells: Sequence[Cell], constants: Sequence[str]
    ) -> None:
        self._names = names
        self._cells = cells
        self._constants = constants

    def cover(self, cover: Cover) -> str:
        return " or ".join(dict.fromkeys(map(self._atom, cover)))

    def _atom(self, atom: Atom) -> str:
        path = self._path((*atom.slot.anchor, *atom.slot.steps)) or EVERY_DOCUMENT
        if atom.kind in _SIGNS:
            return f"{path} {_SIGNS[atom.kind]} {self._constant(atom.cell)}"
        if atom.kind in _FUNCTIONS:
            return f"{_FUNCTIONS[atom.kind]}({path}, {self._constant(atom.cell)})"
        return path

    def _path(self, steps: Names) -> str:
        text = ""
        for axis, test in steps:
            name = self._names.written(test)
            slash = "" if text.endswith("/") else "/"
            if axis == PathAxis.NEAR:
                text += "//" if test == ANY_TEST else f"/descendant-or-self::{name}"
            elif axis == PathAxis.ATTRIBUTE:
                text += f"{slash}@{name}"
            elif axis == PathAxis.TEXT:
                text += f"{slash}text()"
            else:
                text += f"{'//' if axis == PathAxis.DESCENDANT else slash}{name}"
        return text

    def _constant(self, number: int) -> str:
        cell = self._cells[number]
        text = self._constants[cell.parameter]
        return quote(text) if cell.is_string else f"{'-' * cell.negative}{text}"


# -- what is not taken


def _why_refused(expressions: Sequence[Expr], type_: Type) -> str:
    """The first part of a query that has no equivalent in the engine."""
    for expression in expressions:
        parts = _refused_paths(expression) if type_ is Type.NODES else _refused_truth(expression)
        for reason in parts:
            return reason
    return "it selects the document node"


def _is_taken(predicate: Expr) -> bool:
    """Whether the engine takes a predicate."""
    step = make_step("child", name_test("*"), (predicate,))
    return _is_taken_path(make_path(True, (step,)))


def _is_taken_path(path: LocationPath) -> bool:
    translator = Translator(_WrittenNames(), further=True, general=True)
    return translator.path(path, True, result=True).exact or translator.axis_path(path) is not None


def _refused_paths(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Union):
        for part in expr.parts:
            yield from _refused_paths(part)
    elif isinstance(expr, LocationPath):
        yield from _refused_steps(expr)
    elif isinstance(expr, FunctionCall):
        yield f"the function {expr.name}()"
    elif isinstance(expr, FilterPath):
        if isinstance(expr.primary, FunctionCall):
            yield f"the function {expr.primary.name}()"
        else:
            yield f"the expression in parentheses ({expr.primary})"
    else:
        yield f"the expression {expr}"


def _refused_steps(path: LocationPath) -> Iterator[str]:
    if _is_taken_path(path):
        return
    steps: list[Step] = []
    for step in path.steps:
        steps.append(make_step(step.axis, step.test))
        bare = make_path(True, tuple(steps))
        # A path that ends with // is taken with its next step.
        if not _is_taken_path(bare) and not str(bare).endswith("descendant-or-self::node()"):
            yield _refused_step(step)
            return
        for predicate in step.predicates:
            counted = step.axis == "child" and isinstance(step.test, NameTest)
            if is_positional(predicate) and not (counted and _is_taken(predicate)):
                yield f"the position [{predicate}]"
            elif not _is_taken(predicate):
                yield from _refused_truth(predicate)
    yield f"the path {path}"


def _refused_step(step: Step) -> str:
    if isinstance(step.test, NameTest) or step.test.kind == "node":
        return f"the step {step.axis}::{step.test}"
    return f"the node test {step.test}"


def _refused_truth(expr: Expr) -> Iterator[str]:
    """The parts of a condition that the engine does not take."""
    if isinstance(expr, (LocationPath, Union, FilterPath)):
        yield from _refused_paths(expr)
    elif isinstance(expr, Binary) and expr.op in ("and", "or"):
        for part in (expr.left, expr.right):
            if not _is_taken(part):
                yield from _refused_truth(part)
    elif isinstance(expr, FunctionCall) and expr.name in ("not", "boolean") and not expr.prefix:
        yield from _refused_truth(expr.arguments[0])
    elif isinstance(expr, FunctionCall):
        yield from _refused_operands(expr.arguments)
        yield f"the function {expr.name}()"
    elif isinstance(expr, Binary):
        yield from _refused_operands((expr.left, expr.right))
        yield f"the comparison {expr}"
    else:
        yield f"the expression {expr}"


def _refused_operands(operands: Sequence[Expr]) -> Iterator[str]:
    for operand in operands:
        if isinstance(operand, LocationPath) and not _is_taken_path(operand):
            yield from _refused_steps(operand)
        elif isinstance(operand, FunctionCall) and operand.name not in _COMPARED:
            yield f"the function {operand.name}()"
