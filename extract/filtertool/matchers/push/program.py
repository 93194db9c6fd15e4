"""Compiles questions for the push engine."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, TypeVar

from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.clauses import (
    Clause,
    document_clause,
    path_clause,
)
from extract.filtertool.matchers.push.conditions import (
    Always,
    Cell,
    Condition,
    NameNumbers,
    NumberValue,
    Path,
    Selected,
    TextValue,
)
from extract.filtertool.matchers.push.lifted_filters import lifted
from extract.filtertool.matchers.push.node_sets import location_paths, path_with_ids
from extract.filtertool.matchers.push.translator import Translator
from extract.filtertool.matchers.push.words import TemplateWords
from extract.xpath.ast import Expr, FilterPath, FunctionCall, LocationPath, Union
from extract.xpath.functions import Type
from extract.xpath.parameters import parse_shape
from extract.xpath.traverse import any_in

_T = TypeVar("_T")
_PREFIX: Final = attrgetter("prefix")
WORDS: Final = 256
"""How many words a program may have for each character of its query: what is written once is
translated once, or a few times. A query for which this does not hold is evaluated by libxml2."""
TRUTHS: Final = 4
"""How many truths may be translated for each character of a query, and 64 more; a query for which
this is not enough is evaluated by libxml2."""
LEVELS = 3
"""How much is taken: what has slots; also what is asked of single nodes; whatever XPath allows."""


class CompiledTemplate(NamedTuple):
    """A template for the engine.

    Attributes:
        words: The program.
        cells: How its constants are made from those of a query.
        exact: Whether the engine decides; else it only finds documents that may match.
        clauses: Its clauses.
        searched: Parameters that matter if they are empty: every text contains the empty string,
            even that of no node.
    """

    words: array[int]
    cells: tuple[Cell, ...]
    exact: bool
    clauses: tuple[Clause, ...]
    searched: tuple[int, ...]


def compile_question(
    question: Question,
    names: NameNumbers,
    empty: frozenset[int] = frozenset(),
    values: bool = False,
) -> CompiledTemplate:
    """Compiles a question: as it was written, with filters on nodes above moved up to these, or in
    its normal form; the first of these that can be expressed.

    On documents that keep the schema all select the same; the engine leaves others alone.

    What can only be evaluated node by node is taken last: nothing else leads to such queries.

    Args:
        question: The question.
        names: Numbers names.
        empty: Parameters that are empty strings.
        values: As for `compile_query`.
    """
    first: CompiledTemplate | None = None
    ways: list[list[Expr]] = []  # as many as are needed: nearly always one
    for level in range(LEVELS):
        for expressions in ways if level else _noted(_ways(question), ways):
            size = sum([len(str(one)) + 4 for one in expressions])
            translator = Translator(
                names, empty, further=level > 0, general=level > 1, truths=TRUTHS * (64 + size)
            )
            parts = _translated(expressions, question.type, translator, values)
            if translator.truths < 0:
                return _written([Always(True)], Translator(names, exact=False))
            if translator.exact or first is None:
                program = _written(parts, translator)
                if len(program.words) > WORDS * size:
                    return _written([Always(True)], Translator(names, exact=False))
                if program.exact:
                    return program
                first = program
    assert first is not None
    return first  # as it was written: what may fail there is not left out


def _noted(items: Iterable[_T], notes: list[_T]) -> Iterator[_T]:
    """The items, each of which is noted before it is used."""
    for item in items:
        notes.append(item)
        yield item


def _ways(question: Question) -> Iterator[list[Expr]]:
    """The expressions that may be compiled for a question, each list in place of the others."""
    texts = [(question.original,)] if question.original else []
    for text in [*texts, question.branches]:
        expressions = [parse_shape(one) for one in text]
        yield expressions
        moved = list(map(lifted, expressions))
        if moved != expressions:
            yield moved


def compile_query(
    expressions: Sequence[Expr], type_: Type, translator: Translator, values: bool = False
) -> CompiledTemplate:
    """Compiles a query.

    Args:
        expressions: Its branches, with parameters; a query that is no node set has one.
        type_: The type of its value.
        translator: A fresh translator.
        values: Whether all values of numbers and strings are asked for, not only those that count
            as matches.
    """
    return _written(_translated(expressions, type_, translator, values), translator)


def _translated(
    expressions: Sequence[Expr], type_: Type, translator: Translator, values: bool
) -> list[Path | Condition]:
    """Paths to nodes, and conditions on the document; as for `compile_query`."""
    parts: list[Path | Condition] = []
    for expression in expressions:
        if may_fail(expression):
            # Whether it does depends on the document: it must be evaluated to know.
            translator.exact = False
            parts.append(Always(True))
        elif type_ is Type.NODES:
            parts += translator.exactly(
                lambda: _paths(expression, translator),  # noqa: B023
                lambda: _selected(expression, translator),  # noqa: B023
            )
        elif values and type_ is not Type.BOOLEAN:
            parts.append(_value(expression, type_, translator))
        else:
            parts.append(translator.truth(expression, True))
    return parts


def _written(parts: Sequence[Path | Condition], translator: Translator) -> CompiledTemplate:
    """The program of what was translated."""
    clauses = tuple(
        [path_clause(one) if isinstance(one, Path) else document_clause(one) for one in parts]
    )
    cells = tuple(translator.cells)
    words = TemplateWords(cells, translator).template(clauses)
    searched = tuple(sorted(translator.searched))
    return CompiledTemplate(words, cells, translator.exact, clauses, searched)


def _selected(expression: Expr, translator: Translator) -> list[Path | Condition] | None:
    """What selects nodes as XPath defines it; None if that is not possible."""
    found = translator.axis_path(expression)
    return None if found is None else [Selected(found.path)]


def _value(expression: Expr, type_: Type, translator: Translator) -> Condition:
    """What asks for the value of a number or string."""
    number = translator.number(expression) if type_ is Type.NUMBER else None
    text = translator.text(expression) if type_ is Type.STRING else None
    translator.exact = number is not None or text is not None
    if number is not None:
        return NumberValue(number)
    return Always(True) if text is None else TextValue(text)


def may_fail(expression: Expr) -> bool:
    """Whether evaluation may raise an error on some documents.

    Types are known before, so functions of XPath 1.0 do not; extension functions may.

    >>> from extract.xpath.parser import parse
    >>> may_fail(parse("/a[count(b) > 1]")), may_fail(parse("/a[re:test(b, c)]"))
    (False, True)
    """
    return any_in(expression, FunctionCall, _PREFIX)


def _paths(expression: Expr, translator: Translator, result: bool = True) -> list[Path | Condition]:
    paths = location_paths(expression)
    if paths is not None:
        return [_path(path, translator, result) for path in paths]
    if isinstance(expression, Union):
        return [path for part in expression.parts for path in _paths(part, translator, result)]
    with_ids = path_with_ids(expression)
    if with_ids is not None:
        translator.exact = False
        return _paths(with_ids, translator, result)
    if isinstance(expression, FilterPath):
        translator.exact = False
        if not isinstance(expression.primary, (LocationPath, FilterPath, Union)):
            return [Path(True, ())]
        return _paths(expression.primary, translator, False)
    translator.exact = False
    return [Path(True, ())]


def _path(expression: LocationPath, translator: Translator, result: bool) -> Path:
    path, whole, _ = translator.path(expression, True, result)
    assert path is not None
    if whole and not path.steps:
        translator.exact = False  # the document node, which is no result
    return path
