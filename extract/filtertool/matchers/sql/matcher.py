"""`SqlMatcher`: questions on units, with a database of DuckDB that is made for them.

Where subscriptions are in a database, `extract.filtertool.sql_filter` matches whole batches there;
this is the same for whoever asks a matcher, unit by unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.answering import PartialAnswers, united
from extract.filtertool.matchers.protocol import (
    Answers,
    Matcher,
    MatcherFactory,
    MatcherReport,
    Question,
    Select,
    Unit,
    build_matcher,
    numbering,
)
from extract.filtertool.matchers.push.literals import with_parameters
from extract.filtertool.matchers.sql.duckdb_tables import DuckDbTables
from extract.filtertool.matchers.sql.joiner import SqlJoiner
from extract.filtertool.matchers.sql.plan import SqlPlan
from extract.limits import DEFAULTS
from extract.schema.model import Schema
from extract.scheme.database.duckdb_store import temporary_store
from extract.xpath.functions import Type

Indices = NDArray[np.int32]
_ROWS = pa.schema(
    [
        ("template", pa.int32()),
        ("seq", pa.int64()),
        ("constants", pa.list_(pa.string())),
        ("numbers", pa.list_(pa.float64())),
    ]
)


class SqlMatcher:
    """Answers questions; a database says which of them are worth asking of a unit.

    Args:
        questions, namespaces: As for `MatcherFactory.build`.
        fallback: Makes the matcher that answers them, and all others.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        namespaces: Mapping[str, str],
        fallback: MatcherFactory,
    ) -> None:
        self._questions = tuple(questions)
        self._namespaces = namespaces
        self._fallback = fallback
        self._starts = numbering(questions)
        self._figures: Counter[str] = Counter()
        shaped = [with_parameters(question) for question in questions]
        texts = {
            number: " | ".join(one.branches)
            for number, one in enumerate(shaped)
            if one.type is Type.NODES
        }
        plan = SqlPlan(texts, namespaces, Schema.none())
        self._left = [n for n in range(len(questions)) if n not in plan.decided]
        with temporary_store({"member": _members(shaped, plan, self._starts)}) as store:
            tables = DuckDbTables(store, plan, frozenset())
        self._joiner = SqlJoiner(plan, tables, plan.decided, DEFAULTS)
        self._figures["sql_questions"] = sum([questions[n].queries for n in plan.decided])

    def match(self, units: Sequence[Unit], select: Select) -> Answers:
        """Answers all questions on each of the units.

        Raises:
            MatcherError: A unit cannot be evaluated.
        """
        pairs = self._joiner.match([unit.xml or b"" for unit in units])
        places = np.arange(len(units), dtype=np.int32)
        shares = [self._ask(self._left, units, places, select)] if self._left else []
        odd = np.flatnonzero(pairs.done != 1).astype(np.int32)
        if len(odd):
            own = [n for n in range(len(self._questions)) if n not in set(self._left)]
            shares.append(self._ask(own, [units[n] for n in odd.tolist()], odd, select))
        self._figures["sql_units"] += len(units)
        queries = pairs.seq.astype(np.int32)
        every = np.arange(int(self._starts[-1]), dtype=np.int32)
        if select == "doc":
            found = Answers(pairs.unit, queries, np.ones(len(queries), np.int64))
            return united([*shares, PartialAnswers(found, places, every)], select, [])
        for unit in np.unique(pairs.unit).tolist():
            chosen = queries[pairs.unit == unit]
            asked = [self._one(query) for query in chosen.tolist()]
            matcher = build_matcher(self._fallback, asked, self._namespaces)
            answers = matcher.match([units[unit]], select)
            shares.append(PartialAnswers(answers, places[unit : unit + 1], chosen))
        if not shares:
            shares.append(self._ask([], units, places, select))
        return united(shares, select, [])

    def report(self) -> MatcherReport:
        """Returns the figures of the work so far."""
        return MatcherReport({**self._figures, **self._joiner.figures})

    def _one(self, query: int) -> Question:
        number = int(np.searchsorted(self._starts, query, side="right")) - 1
        return self._questions[number].one(query - int(self._starts[number]))

    def _ask(
        self, questions: Sequence[int], units: Sequence[Unit], places: Indices, select: Select
    ) -> PartialAnswers:
        """Asks the fallback some questions."""
        chosen = [self._questions[n] for n in questions]
        ranges = [np.arange(*self._starts[n : n + 2], dtype=np.int32) for n in questions]
        matcher: Matcher = build_matcher(self._fallback, chosen, self._namespaces)
        queries = np.concatenate([np.empty(0, np.int32), *ranges])
        return PartialAnswers(matcher.match(units, select), places, queries)


def _members(questions: Sequence[Question], plan: SqlPlan, starts: NDArray[np.int64]) -> Any:
    """The queries as rows of a table of members."""
    columns: dict[str, list[Any]] = {name: [] for name in _ROWS.names}
    for number in sorted(plan.decided):
        constants = questions[number].constants
        for query in range(questions[number].queries):
            row: tuple[str, ...] = () if constants is None else constants.row(query)
            doubles = [] if constants is None else constants.numbers
            columns["template"].append(number)
            columns["seq"].append(int(starts[number]) + query)
            columns["constants"].append(list(row))
            columns["numbers"].append([None if one is None else one[query] for one in doubles])
    return pa.table(columns, schema=_ROWS)
