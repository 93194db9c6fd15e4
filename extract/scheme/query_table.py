"""All subscriptions of a scheme as one table, for other programs and for another scheme.

The columns are those that `extract.subscriptions.table_files` reads: with an export, everything can
be prepared again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extract.scheme.model import Scheme
from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.records import unpack_records
from extract.xpath.later import FIRST
from extract.xpath.parameters import divided, filled

COLUMNS: Final = pa.schema(
    [
        pa.field("id", pa.large_string()),
        pa.field("xpath", pa.large_string()),
        pa.field("weight", pa.float64()),
        pa.field("version", pa.string()),
        pa.field("namespaces", pa.string()),
        pa.field("metadata", pa.large_string()),
        pa.field("status", pa.string()),
    ]
)

_FEW: Final = 20  # members of a template that are written one by one


def query_table(scheme: Scheme) -> Any:
    """Returns all subscriptions, rejected ones included: a ``pyarrow.Table`` of `COLUMNS`.

    Queries are in canonical form, with the prefixes that they use; those that were rejected, those
    in later versions of XPath, and FLWR expressions as they are written.
    """
    later = [
        {
            "id": one.subscriber.id,
            "xpath": one.subscriber.xpath,
            "weight": one.subscriber.weight,
            "version": one.version,
            "namespaces": _json(one.namespaces),
            "metadata": _json(one.subscriber.metadata),
            "status": "satisfiable",
        }
        for one in scheme.later
    ]
    rejected = [
        {
            "id": one.id,
            "xpath": one.xpath,
            "weight": 1.0,
            "version": FIRST,
            "namespaces": None,
            "metadata": _json(one.metadata),
            "status": "rejected",
        }
        for one in scheme.rejected
    ]
    others = pa.Table.from_pylist(later + rejected, schema=COLUMNS)
    members = _with_outputs(_members(scheme), scheme)
    return pa.concat_tables([members, others]).combine_chunks()


def _with_outputs(table: Any, scheme: Scheme) -> Any:
    """A table of queries, with FLWR expressions in place of the paths that they bind."""
    if not scheme.outputs:
        return table
    ids = pa.array(scheme.outputs, pa.large_string())
    found = pc.index_in(table["id"], ids)
    for name, texts in (
        ("xpath", [one.flwr for one in scheme.outputs.values()]),
        ("namespaces", [_json(one.namespaces) for one in scheme.outputs.values()]),
    ):
        field = COLUMNS.field(name)
        own = pa.array(texts, field.type).take(found)
        column = pc.if_else(pc.is_valid(found), own, table[name])
        table = table.set_column(COLUMNS.get_field_index(name), field, column)
    return table


def _json(values: Mapping[str, Any]) -> str | None:
    return json.dumps(dict(values), ensure_ascii=False) if values else None


def _members(scheme: Scheme) -> Any:
    members, directory = scheme.members, scheme.directory
    count = len(members)
    if not count:
        return COLUMNS.empty_table()
    templates = directory.templates
    prefixes = pa.array([_prefixes(scheme, xpath) for xpath in scheme.templates.xpaths])
    metadata = pa.nulls(count, pa.large_string())
    if members.metadata is not None:
        metadata = pa.array([text or None for text in members.metadata], pa.large_string())
    status = np.where(directory.forms >= 0, 0, 1).astype(np.int8)
    words = pa.array(["satisfiable", "unsatisfiable"])
    return pa.table(
        [
            _strings(members.ids),
            _xpaths(scheme),
            pa.array(np.ones(count) if members.weights is None else members.weights),
            pa.array([FIRST]).take(pa.array(np.zeros(count, np.int8))),
            prefixes.cast(pa.string()).take(pa.array(templates)),
            metadata,
            words.take(pa.array(status)),
        ],
        schema=COLUMNS,
    )


def _prefixes(scheme: Scheme, xpath: str) -> str | None:
    return _json({p: uri for p, uri in scheme.namespaces.items() if f"{p}:" in xpath})


def _xpaths(scheme: Scheme) -> Any:
    """The queries in canonical form: those of a large template together."""
    templates = scheme.directory.templates
    order = np.argsort(templates, kind="stable")
    used, starts = np.unique(templates[order], return_index=True)
    stops = np.append(starts[1:], len(order))
    parts = [
        _of_template(scheme, scheme.templates.xpaths[template], order[start:stop])
        for template, start, stop in zip(used.tolist(), starts, stops, strict=True)
    ]
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(places))


def _of_template(scheme: Scheme, xpath: str, rows: Offsets) -> Any:
    members = scheme.members
    if len(rows) < _FEW or "$" not in xpath:
        queries = [filled(xpath, members.fields(row)[1:]) for row in rows.tolist()]
        return pa.array(queries, pa.large_string())
    texts, places = divided(xpath)
    _, constants, counts = unpack_records(members.heap, members.starts[rows])
    every, width = _strings(constants), int(counts[0])
    pieces: list[Any] = [pa.scalar(texts[0], pa.large_string())]
    for (number, kind), text in zip(places, texts[1:], strict=True):
        values = every.take(pa.array(np.arange(number, len(every), width)))
        if kind == "string":
            marks = pc.if_else(
                pc.match_substring(values, "'"),
                pa.scalar('"', pa.large_string()),
                pa.scalar("'", pa.large_string()),
            )
            values = pc.binary_join_element_wise(marks, values, marks, _NOTHING)
        pieces += (values, pa.scalar(text, pa.large_string()))
    return pc.binary_join_element_wise(*pieces, _NOTHING)


_NOTHING: Final = pa.scalar("", pa.large_string())


def _strings(column: TextColumn) -> Any:
    """A column whose strings follow each other, as an Arrow array."""
    offsets = np.append(column.starts[:1], column.stops) if len(column) else np.zeros(1, np.int64)
    return pa.LargeStringArray.from_buffers(
        len(column), pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(column.buffer)
    )
