"""A scheme without its members, as rows of tables: templates, branches, chunks, the schema.

Numbers of branches, templates and wordings in a database stay the same as long as these are there;
in a `Scheme` they are places in a list. `HeadNumbers` leads from one to the other.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from extract.scheme.database.errors import DatabaseError
from extract.scheme.database.store import Store
from extract.scheme.database.tables import (
    BRANCH,
    CHUNK,
    HEAD,
    LATER,
    PART,
    REJECTED,
    TEMPLATE,
    WORDING,
)
from extract.scheme.members_file import MembersFile
from extract.scheme.model import DOCUMENT, FORMAT, POTPOURRI, Branches, Scheme
from extract.scheme.templates import RegisteredTemplates, WordingTable
from extract.scheme.writer import scheme_lines
from extract.subscriptions.wordings import BLANK
from extract.xpath.functions import Type

Row: TypeAlias = tuple[Any, ...]
HeadRows: TypeAlias = Mapping[str, Mapping[Hashable, Row]]
"""For each table its rows by their keys."""

Numbers: TypeAlias = NDArray[np.int64]

_PARTS: Final = ("schema", "namespaces", "settings", "notes", "originals", "statistics", "outputs")
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class HeadNumbers(NamedTuple):
    """The numbers in a database of what a scheme lists.

    Attributes:
        branches: For each branch its number.
        templates: For each template its number.
        wordings: For each wording its number.
        positions: The positions of queries in later versions of XPath and of rejected ones, by id.
    """

    branches: Numbers
    templates: Numbers
    wordings: Numbers
    positions: Mapping[str, int]

    @classmethod
    def of(cls, scheme: Scheme) -> HeadNumbers:
        """The numbers for a scheme that comes into a database as a whole: the places."""
        return cls(
            np.arange(len(scheme.branches)),
            np.arange(len(scheme.templates)),
            np.arange(len(scheme.wordings.texts)),
            _numbered(_others(scheme), {}),
        )

    def after(self, before: Scheme, after: Scheme) -> HeadNumbers:
        """The numbers for a revised scheme; what was there before keeps its number.

        Args:
            before: The scheme of these numbers.
            after: The revised one.
        """
        branches = _kept(before.branches.xpaths, self.branches, after.branches.xpaths)
        templates = _kept(before.templates.xpaths, self.templates, after.templates.xpaths)
        wordings = _kept(
            _wording_keys(before, self.templates), self.wordings, _wording_keys(after, templates)
        )
        others = dict(_others(before))
        same = {
            name: self.positions[name] for name, one in _others(after) if one == others.get(name)
        }
        top = max(self.positions.values(), default=-1) + 1
        return HeadNumbers(branches, templates, wordings, _numbered(_others(after), same, top))


def _kept(before: Sequence[Hashable], numbers: Numbers, after: Sequence[Hashable]) -> Numbers:
    known = dict(zip(before, numbers.tolist(), strict=True))
    fresh = max(known.values(), default=-1) + 1
    found = []
    for key in after:
        number = known.get(key, -1)
        if number < 0:
            number, fresh = fresh, fresh + 1
        found.append(number)
    return np.array(found, np.int64)


def _wording_keys(scheme: Scheme, templates: Numbers) -> list[Hashable]:
    pairs = zip(*scheme.wordings, strict=True)
    return [(int(templates[template]), text) for template, text in pairs]


def _others(scheme: Scheme) -> list[tuple[str, Any]]:
    """The queries that are no members, by id."""
    later = [(one.subscriber.id, one) for one in scheme.later]
    return [*later, *[(one.id, one) for one in scheme.rejected]]


def _numbered(
    others: Iterable[tuple[str, Any]], known: Mapping[str, int], first: int = 0
) -> dict[str, int]:
    positions = {}
    for name, _ in others:
        positions[name] = known.get(name, first)
        first += name not in known
    return positions


# -- to rows


def head_rows(scheme: Scheme, numbers: HeadNumbers) -> HeadRows:
    """Returns all rows but those of members."""
    # What may be long has rows of its own, and is not written as JSON first.
    rest = replace(
        scheme,
        branches=Branches(),
        forms=(),
        templates=RegisteredTemplates.of([]),
        wordings=WordingTable(),
    )
    head = json.loads("".join(scheme_lines(rest, MembersFile("", 0, ""))))
    chunks = [*head["chunks"], head[POTPOURRI], head[DOCUMENT]]
    texts = scheme.wordings.texts
    wordings = zip(numbers.wordings.tolist(), scheme.wordings.templates, texts, strict=True)
    branches = zip(numbers.branches.tolist(), *_columns(scheme), strict=True)
    rows: dict[str, list[Row]] = {
        PART.name: [(name, _encode(head[name])) for name in _PARTS if name in head],
        BRANCH.name: list(branches),
        TEMPLATE.name: [_template(scheme, n, numbers) for n in range(len(scheme.templates))],
        WORDING.name: [
            (number, int(numbers.templates[template]), tuple(text.split(BLANK)))
            for number, template, text in wordings
        ],
        CHUNK.name: [_chunk(one, place, numbers) for place, one in enumerate(chunks)],
        LATER.name: [_other(one, numbers, "version") for one in head.get("later", ())],
        REJECTED.name: [_other(one, numbers, "reason") for one in head["rejected"]],
    }
    return {
        table.name: {row[table.columns.get_field_index(table.key)]: row for row in rows[table.name]}
        for table in HEAD
    }


def _columns(scheme: Scheme) -> tuple[Sequence[str], Sequence[int]]:
    return scheme.branches.xpaths, scheme.branches.steps


def _template(scheme: Scheme, place: int, numbers: HeadNumbers) -> Row:
    one = scheme.templates[place]
    number = int(numbers.templates[place])
    if one.form < 0:
        return (number, one.xpath, Type.NODES.value, (), (), one.reason)
    form = scheme.forms[one.form]
    branches = tuple(numbers.branches[list(form.branches)].tolist())
    return (number, one.xpath, form.type.value, branches, one.arguments, None)


def _chunk(row: dict[str, Any], place: int, numbers: HeadNumbers) -> Row:
    own = {"id", "prefix", "branches"}
    branches = tuple(numbers.branches[row["branches"]].tolist()) if row["branches"] else ()
    detail = _encode({key: value for key, value in row.items() if key not in own})
    return (row["id"], place, row.get("prefix", ""), branches, detail)


def _other(row: dict[str, Any], numbers: HeadNumbers, second: str) -> Row:
    detail = {key: value for key, value in row.items() if key not in ("id", "xpath", second)}
    name = row["id"]
    return (name, numbers.positions[name], row["xpath"], row[second], _encode(detail))


# -- from rows


def read_head(store: Store) -> tuple[dict[str, Any], HeadNumbers]:
    """Reads a scheme without its members: as ``scheme.json`` has it, and the numbers.

    Raises:
        DatabaseError: A row refers to another that is not there, or is no JSON.
    """

    def rows(table: Any, order: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = store.fetch(
            table.name, table.columns, order=order
        ).to_pylist()
        return found

    def wrong(what: str) -> DatabaseError:
        hint = "the tables were changed by hand; prepare the queries again with `extract prep`"
        return DatabaseError(what, hint, store.location.shown)

    def places(numbers: Iterable[int], table: Mapping[int, int], name: str) -> list[int]:
        try:
            return [table[number] for number in numbers]
        except KeyError as error:
            raise wrong(f"there is no {name} {error}") from None

    def parsed(text: str, where: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            raise wrong(f"{where} is no JSON") from None

    branches, templates = rows(BRANCH, "number"), rows(TEMPLATE, "number")
    wordings, chunks = rows(WORDING, "number"), rows(CHUNK, "position")
    of_branch = {row["number"]: place for place, row in enumerate(branches)}
    of_template = {row["number"]: place for place, row in enumerate(templates)}
    head: dict[str, Any] = {"format": FORMAT}
    for row in rows(PART, "name"):
        head[row["name"]] = parsed(row["value"], f"the part {row['name']!r}")
    head["branches"] = {
        "xpaths": [row["xpath"] for row in branches],
        "steps": [row["steps"] for row in branches],
    }
    head["templates"] = [
        _template_object(row, places(row["branches"], of_branch, "branch")) for row in templates
    ]
    numbers = [row["template"] for row in wordings]
    pairs = zip(places(numbers, of_template, "template"), wordings, strict=True)
    head["wordings"] = [[template, row["parts"]] for template, row in pairs]
    cut = {
        row["id"]: parsed(row["detail"], f"the detail of chunk {row['id']!r}")
        | {"id": row["id"], "branches": places(row["branches"], of_branch, "branch")}
        | ({"prefix": row["prefix"]} if row["prefix"] else {})
        for row in chunks
    }
    for name in (POTPOURRI, DOCUMENT):
        head[name] = cut.pop(name, None)
    head["chunks"] = list(cut.values())
    positions: dict[str, int] = {}
    for table, second in ((LATER, "version"), (REJECTED, "reason")):
        some = rows(table, "position")
        positions |= {row["id"]: row["position"] for row in some}
        head[table.name] = [
            parsed(row["detail"], f"the detail of {row['id']!r}")
            | {key: row[key] for key in ("id", "xpath", second)}
            for row in some
        ]
    head["queries"] = {"file": "", "rows": 0, "digest": ""}
    own = np.array([row["number"] for row in wordings], np.int64)
    return head, HeadNumbers(
        np.array(list(of_branch), np.int64), np.array(list(of_template), np.int64), own, positions
    )


def _template_object(row: dict[str, Any], branches: list[int]) -> dict[str, Any]:
    if row["unsatisfiable"] is not None:
        return {"xpath": row["xpath"], "unsatisfiable": row["unsatisfiable"]}
    return {
        "xpath": row["xpath"],
        "type": row["type"],
        "branches": branches,
        "arguments": row["arguments"],
    }
