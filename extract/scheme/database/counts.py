"""Figures of a scheme in a database, and metadata, without its members in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from extract.scheme.database.head import HeadNumbers
from extract.scheme.database.location import DatabaseLocation
from extract.scheme.database.store import Store, open_store
from extract.scheme.database.tables import MEMBER
from extract.scheme.model import Scheme


def count_queries(
    location: DatabaseLocation, scheme: Scheme, numbers: HeadNumbers
) -> dict[str, int]:
    """How many queries there are of each kind, see `Scheme.counts`.

    Args:
        location: The database.
        scheme: Its scheme, without members.
        numbers: The numbers of templates in the database.
    """
    place = {number: n for n, number in enumerate(numbers.templates.tolist())}
    forms = scheme.templates.forms
    with open_store(location) as store:
        sizes = np.zeros(len(forms), np.int64)
        for number, count in store.rows("SELECT template, COUNT(*) FROM member GROUP BY template"):
            if number in place:
                sizes[place[number]] = count
        canonical = _canonical(store, scheme, numbers)
    later = len(scheme.later)
    other = {
        (one.subscriber.xpath, one.version, *sorted(one.namespaces.items())) for one in scheme.later
    }
    outside = {*scheme.potpourri.branches, *scheme.document.branches}
    in_potpourri = [not outside.isdisjoint(form.branches) for form in scheme.forms]
    potpourri = np.append(np.array(in_potpourri, np.bool_), False)[forms]
    satisfiable = int(sizes[forms >= 0].sum()) + later
    unsatisfiable = int(sizes[forms < 0].sum())
    return {
        "registered": satisfiable + unsatisfiable + len(scheme.rejected),
        "satisfiable": satisfiable,
        "canonical": canonical + len(other),
        "templates": int(np.count_nonzero(forms >= 0)),
        "potpourri": int(sizes[potpourri].sum()) + later,
        "later": later,
        "unsatisfiable": unsatisfiable,
        "rejected": len(scheme.rejected),
    }


def _canonical(store: Store, scheme: Scheme, numbers: HeadNumbers) -> int:
    """The number of different queries: normal forms with the constants that they take."""
    of_form: dict[int, list[int]] = {}
    for template, form in enumerate(scheme.templates.forms.tolist()):
        if form >= 0:
            of_form.setdefault(form, []).append(template)
    plain, total = [], 0
    for templates in of_form.values():
        first = scheme.templates[templates[0]]
        every = first.arguments == tuple(range(int(scheme.templates.parameters[templates[0]])))
        if len(templates) == 1 and every:
            plain.append(int(numbers.templates[templates[0]]))
            continue
        parts = []
        for template in templates:
            chosen = [
                f"constants[{n + 1}] AS c{k}"
                for k, n in enumerate(scheme.templates[template].arguments)
            ]
            number = int(numbers.templates[template])
            parts.append(
                f"SELECT {', '.join(chosen) or '1 AS c'} FROM member WHERE template = {number}"
            )
        text = f"SELECT COUNT(*) FROM ({' UNION '.join(parts)}) AS q"
        if len(parts) == 1:
            text = text.replace("(SELECT ", "(SELECT DISTINCT ", 1)
        ((count,),) = store.rows(text)
        total += count
    if plain:
        text = (
            "SELECT COUNT(*) FROM (SELECT DISTINCT template, constants FROM member "
            "WHERE template = ANY(:templates)) AS q"
        )
        ((count,),) = store.rows(text, templates=plain)
        total += count
    return total


def read_metadata(location: DatabaseLocation) -> dict[str, Mapping[str, Any]]:
    """The metadata of all members that have any, by id."""
    columns = pa.schema([MEMBER.columns.field(name) for name in ("id", "metadata")])
    with open_store(location) as store:
        rows = store.fetch(MEMBER.name, columns, "metadata IS NOT NULL").to_pylist()
    return {row["id"]: json.loads(row["metadata"]) for row in rows}
