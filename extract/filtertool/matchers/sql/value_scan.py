"""Reads the values of documents, and makes tables of them: one for each shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extract.filtertool.matchers.push.automaton import EngineAutomaton, EngineNames
from extract.filtertool.matchers.sql.formulas import Flag, MatchShape, Role
from extract.filtertool.matchers.sql.frames import Frame
from extract.filtertool.matchers.sql.statements import ALTERNATIVES, several_name, source_name
from extract.filtertool.matchers.sql.value_columns import ValueLists, batch_column, exploded
from extract.limits import Limits
from extract.schema.model import Schema

_BUDGET: Final = 200_000_000  # nodes that may be looked at, and bytes copied, in one document
_LIST_TYPES: Final = (pa.types.is_list, pa.types.is_large_list)


class ShapeBatch(NamedTuple):
    """The values of a batch of documents for one shape.

    Attributes:
        table: A ``pyarrow.Table``: ``document``, ``frame``, and the columns of the sources.
        lists: Sources whose columns have lists.
    """

    table: Any
    lists: frozenset[int]


class ReadValues(NamedTuple):
    """The values of a batch of documents.

    Attributes:
        done: For each document 1 if it was read, 0 if the scan does not take it, -1 if it takes too
            long.
        batches: For each shape that has any rows its values.
    """

    done: NDArray[np.int8]
    batches: Mapping[MatchShape, ShapeBatch]


@dataclass(frozen=True, slots=True)
class TemplateFrame:
    """A frame of a template: one of its alternatives.

    Attributes:
        template: The number of the template, as members have it.
        alternative: Which of the template's frames it is.
        frame: The frame.
    """

    template: int
    alternative: int
    frame: Frame

    @property
    def number(self) -> int:
        """What rows of values and of members have for it."""
        return self.template * ALTERNATIVES + self.alternative


class ValueScan:
    """Reads the values that templates compare out of documents.

    Args:
        schema: The schema whose edges documents are checked for.
        names: The names that templates mention, all of them.
        frames: The frames of all templates.
        limits: How large documents may be.
    """

    def __init__(
        self, schema: Schema, names: EngineNames, frames: Sequence[TemplateFrame], limits: Limits
    ) -> None:
        from extract.filtertool.matchers.sql._values import ValueMachine

        self._frames = frames
        automaton = EngineAutomaton(schema, names)
        texts = any(one.frame.texts for one in frames)
        self._machine = ValueMachine(automaton, names.namespaces(), limits, texts, _BUDGET)
        for one in frames:
            words = np.array(one.frame.words, np.int32)
            self._machine.add_frame(words, one.frame.levels, one.frame.width)

    def read(self, documents: Sequence[bytes]) -> ReadValues:
        """Reads the values of documents."""
        done, found = self._machine.read(tuple(documents))
        by_shape: dict[MatchShape, list[tuple[TemplateFrame, Any, list[ValueLists]]]] = {}
        for one, (unit, columns) in zip(self._frames, found, strict=True):
            lists = [ValueLists(*column) for column in columns]
            if len(unit):
                by_shape.setdefault(one.frame.shape, []).append((one, unit, lists))
        batches = {}
        for shape, parts in by_shape.items():
            batch = _shape_batch(shape, parts)
            if batch.table.num_rows:
                batches[shape] = batch
        return ReadValues(done, batches)


def batch_values(batch: ShapeBatch, source: int) -> Any:
    """The values of a source in a batch, each once: an Arrow array of strings."""
    column = batch.table.column(source_name(source)).combine_chunks()
    column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_list(column.type):
        column = column.flatten()
    return column.cast(pa.large_string()).drop_null().unique()


def _shape_batch(
    shape: MatchShape, parts: Sequence[tuple[TemplateFrame, Any, list[ValueLists]]]
) -> ShapeBatch:
    """The values of all templates of one shape; columns have lists for all, or for none."""
    tables = [_frame_table(shape, *part) for part in parts]
    names = tables[0].column_names
    for place, name in enumerate(names):
        kinds = [table.schema.field(place).type for table in tables]
        if any(map(pa.types.is_list, kinds)):
            for number, table in enumerate(tables):
                if not pa.types.is_list(kinds[number]):
                    tables[number] = table.set_column(place, name, _as_lists(table.column(place)))
    table = pa.concat_tables(tables)
    lists = frozenset(
        [
            number
            for number in range(len(shape.sources))
            if pa.types.is_list(table.schema.field(source_name(number)).type)
        ]
    )
    return ShapeBatch(table, lists)


def _as_lists(column: Any) -> Any:
    """Values as lists of one; null as an empty list."""
    array = column.combine_chunks()
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_large_string(array.type):
        array = array.cast(pa.string())
    valid = np.asarray(array.is_valid())
    ends = np.append(0, np.cumsum(valid)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), array.drop_null())


def _frame_table(
    shape: MatchShape, one: TemplateFrame, unit: Any, columns: list[ValueLists]
) -> Any:
    """The rows of one frame that may match."""
    frame, key = one.frame, shape.key
    made: dict[str, Any] = {"document": pa.array(unit)}
    made["frame"] = pa.array(np.full(len(unit), one.number, np.int64))
    keep = np.ones(len(unit), np.bool_)
    rows = values = None
    for number, source in enumerate(frame.sources):
        if key is not None and number == key.source:
            rows, values = exploded(columns[source.column], source.is_string)
            continue
        first, *more = batch_column(columns[source.column], source)
        made[source_name(number)] = first
        if more:
            made[several_name(number)] = more[0]
        if source.role is Role.FLAG and Flag(number) in shape.formula.parts:
            keep &= np.asarray(first)
    table = pa.table(made)
    if rows is not None:
        assert key is not None
        table = table.take(pa.array(rows)).append_column(source_name(key.source), values)
        keep = keep[rows]
    return table if keep.all() else table.filter(pa.array(keep))
