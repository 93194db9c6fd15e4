"""Documents in, pairs of documents and subscriptions out: values are read, the database joins."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.sql.document_values import DocumentValues
from extract.filtertool.matchers.sql.formulas import tables_in
from extract.filtertool.matchers.sql.member_tables import MemberTables
from extract.filtertool.matchers.sql.plan import SqlPlan
from extract.filtertool.matchers.sql.value_scan import ReadValues, batch_values
from extract.limits import Limits
from extract.xpath.reference_tables import TableColumn

_FIGURES = ("sql_statements", "sql_value_rows", "sql_documents", "sql_statement_seconds")


class JoinedPairs(NamedTuple):
    """The subscriptions that match documents.

    Attributes:
        done: For each document 1 if all of its pairs are here; 0 if it was not read, -1 if that
            takes too long.
        unit: For each pair the number of its document; ascending.
        seq: For each pair the sequence number of the subscription; ascending for each document.
    """

    done: NDArray[np.int8]
    unit: NDArray[np.int32]
    seq: NDArray[np.int64]


class SqlJoiner:
    """Matches documents with the subscriptions that a database decides.

    Args:
        plan: What is read, and what is asked.
        tables: The subscriptions.
        satisfiable: The templates that may match a document that keeps to the schema.
        limits: How large documents may be.

    Attributes:
        tables: The subscriptions.
        values: Reads the values of documents.
        held: For each column of an owner's table that queries mention, those of its values that the
            last documents have; only where it was asked for.
        figures: What was done so far.
    """

    def __init__(
        self, plan: SqlPlan, tables: MemberTables, satisfiable: Iterable[int], limits: Limits
    ) -> None:
        self.tables = tables
        self.values = DocumentValues(plan, satisfiable, limits)
        self.held: dict[TableColumn, set[str]] = {}
        self.figures: dict[str, float] = dict.fromkeys(_FIGURES, 0)

    def match(self, documents: Sequence[bytes], values: bool = False) -> JoinedPairs:
        """Matches documents that keep to the schema; others are not done.

        Args:
            documents: The documents.
            values: Whether values of owners' tables are asked for.
        """
        self.held = {} if values else self.held
        return self.joined(self.values.conforming(documents), values)

    def match_any(self, documents: Sequence[bytes], values: bool = False) -> JoinedPairs:
        """Matches documents of whatever kind, also with entities or in other encodings.

        Those that are not well-formed are not done (0). Arguments as for `match`, after which it is
        called.
        """
        return self.joined(self.values.any(documents), values)

    def joined(self, values: ReadValues, held: bool = False) -> JoinedPairs:
        """Matches documents whose values are read.

        Args:
            values: The values.
            held: Whether values of owners' tables are asked for.
        """
        from extract.filtertool.matchers.sql._values import ordered_pairs

        units, seqs = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for shape, batch in values.batches.items():
            for reference in tables_in(shape.formula) if held else ():
                found = self.tables.held(reference, batch_values(batch, reference.source))
                column = TableColumn(reference.table, reference.column)
                self.held.setdefault(column, set()).update(found)
            started = time.perf_counter()
            unit, seq = self.tables.join(shape, batch)
            self.figures["sql_statement_seconds"] += time.perf_counter() - started
            units.append(unit)
            seqs.append(seq)
            self.figures["sql_statements"] += 1
            self.figures["sql_value_rows"] += batch.table.num_rows
        self.figures["sql_documents"] += int(np.count_nonzero(values.done == 1))
        every = ordered_pairs(np.concatenate(units), np.concatenate(seqs), len(values.done))
        return JoinedPairs(values.done, *every)
