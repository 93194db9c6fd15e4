"""Questions with constants from random schemas, compared with their queries one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import extract
from extract.errors import QuerySyntaxError
from extract.filtertool.matchers.columnar import ColumnarFactory
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import MatcherFactory, Question, Unit
from extract.preptool.prepare import prepare
from extract.schema.model import Schema
from extract.scheme.model import Scheme
from extract.subscriptions.constants import Constants
from extract.xpath.ast import Expr, ParameterType
from extract.xpath.check import parse_checked
from extract.xpath.parameters import has_parameters, parameter_types, shape_of
from extract.xpath.parser import parse
from tests.support.columnar_cases import SELECTS, automaton_of, facts, random_units
from tests.support.equivalence import LIMITS
from tests.support.generate.documents import Documents
from tests.support.generate.draw import between, pick
from tests.support.generate.queries import Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.generate.vocabulary import VALUES

STRINGS = (*VALUES, "", " ", "NaN", "1e0", "00", "no such text")
NUMERALS = (
    "1",
    "2",
    "10",
    "1.5",
    "0",
    "0.0",
    "7",
    ".5",
    "2.0",
    "1e1",
    "1e",
    "99999999999",
    "1e999",
)

# Evaluates questions with constants for all their queries together, however few they are.
TOGETHER = ColumnarFactory(fallback=None, together=1)


def compare_templates(
    units: Sequence[Unit],
    questions: Sequence[Question],
    namespaces: Mapping[str, str],
    factory: MatcherFactory = TOGETHER,
) -> Counter[str]:
    """Asserts that a matcher answers as lxml does query by query; how much was compared."""
    ours = factory.build(questions, namespaces)
    each = [query for question in questions for query in question.each()]
    theirs = LxmlFactory().build(each, namespaces)
    counts: Counter[str] = Counter()
    for select in SELECTS:
        found, wanted = ours.match(units, select), theirs.match(units, select)
        declined = {(one.unit, one.question) for one in found.failures}
        answered, expected = facts(found), facts(wanted)
        for name, rows in expected.items():
            kept = [row for row in rows if _pair(name, row) not in declined]
            if answered[name] != kept:
                wrong = [row for row in answered[name] if row not in kept]
                missing = [row for row in kept if row not in answered[name]]
                unit, query = _pair(name, (wrong + missing)[0])
                where = f"{select} {name}: {each[query]} of {_template(questions, query)}"
                different = f"wrong: {wrong[:5]}\nmissing: {missing[:5]}"
                raise AssertionError(f"{where}\n{different}\n{units[unit].xml!r}")
        counts["declined"] += len(declined)
        counts["selected"] += len(expected["counts"]) + len(expected["values"])
        counts["queries"] += len(each)
    return counts


def _pair(name: str, row: Any) -> tuple[int, int]:
    unit, query = row[0] if name == "counts" else row[:2]
    return unit, query


def _template(questions: Sequence[Question], query: int) -> tuple[str, ...]:
    for question in questions:
        query -= question.queries
        if query < 0:
            return question.branches
    raise IndexError(query)


def random_constants(
    rng: Random, types: Sequence[ParameterType], queries: int, values: Sequence[str]
) -> Constants:
    """Constants of many queries; ``values`` are those that documents have, or queries ask for."""
    strings, numerals = [*values, *STRINGS], [*filter(_is_numeral, values), *NUMERALS]
    rows = [
        [pick(rng, strings if kind == "string" else numerals) for kind in types]
        for _ in range(queries)
    ]
    return Constants.of(types, rows)


def _is_numeral(text: str) -> bool:
    return text.replace(".", "", 1).isdigit() and text.isascii()


def random_templates(rng: Random, scheme: Scheme, queries: int) -> list[Question]:
    """The queries of a scheme as questions with constants; some branches are put together."""
    questions: list[Question] = []
    literals: list[str] = []
    for query in scheme.queries:
        shapes = [shape_of(parse(xpath)) for xpath in query.xpaths]
        groups: dict[tuple[ParameterType, ...], list[Expr]] = {}
        for shape in shapes:
            literals += [value for value in shape.values if "'" not in value or '"' not in value]
            if has_parameters(shape.expression):
                groups.setdefault(parameter_types(shape.expression), []).append(shape.expression)
        for types, branches in groups.items():
            count = between(rng, 1, 2 * queries)
            constants = random_constants(rng, types, count, literals[-20:])
            texts = tuple([str(branch) for branch in branches[:3]])
            questions.append(Question(texts, query.type, constants=constants))
    return questions


def template_round(rng: Random, queries: int, members: int = 6, documents: int = 3) -> Counter[str]:
    """A random schema, templates and documents, all of these in one batch."""
    schema: Schema = random_schema(rng).load()
    writer = Queries(schema)
    texts: dict[str, str] = {}
    for number in range(queries):
        xpath = writer.query(rng, pick(rng, ("filtered", "axes", "wild")))
        try:
            parse_checked(xpath, writer.namespaces)
        except QuerySyntaxError:
            continue
        if any(mark in xpath for mark in "'\"=<>"):
            texts[f"q{number}"] = xpath
    if not texts:
        return Counter()
    subscriptions = extract.Subscriptions.of(texts, writer.namespaces)
    scheme = prepare(schema, subscriptions, between(rng, 1, 8), expansion=pick(rng, LIMITS))
    automaton = automaton_of(scheme)
    units = random_units(rng, Documents(schema), automaton, documents)
    questions = random_templates(rng, scheme, members)
    if not units or not questions:
        return Counter()
    return compare_templates(units, questions, scheme.namespaces)
