"""Writes ``scheme.json``: what a person looks for first, the tables of a million rows last.

One row of a table is one line, and rows come in an order that a new query does not disturb, so that
the difference between two schemes is short. What has its usual value is left out. Members are here
while they are few; many are in a file of their own (`members_file`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, starmap
from json.encoder import encode_basestring as quote
from pathlib import Path
from typing import Any

from extract.files import whole_file
from extract.schema.model import Schema
from extract.scheme.edges import declaration_row
from extract.scheme.members_file import INLINE, MembersFile, remove_others, write_members
from extract.scheme.model import FORMAT, Chunk, Scheme, Want
from extract.scheme.registered import CustomOutput, Later, Rejected, Subscriber, Unsatisfiable
from extract.scheme.statistics import statistics_rows
from extract.subscriptions.wordings import BLANK
from extract.xpath.functions import Type

_WIDE = 100  # a list that fits into so many characters stays on one line
_EXACT = 1 << 53  # below, whole floats are written as whole numbers
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def save_scheme(scheme: Scheme, path: str | Path) -> None:
    """Writes a scheme to a file, which then is whole: see `Scheme.save`.

    The file of members, if there is one, is written first: until ``scheme.json`` names it, the old
    scheme holds.
    """
    target = Path(os.path.realpath(path))
    beside = None
    if len(scheme.members) > INLINE:
        beside = write_members(scheme.members, scheme.wordings, target)
    lines = scheme_lines(scheme, beside)
    with whole_file(path) as stream:
        # Half a character, for which a query was rejected, is an escape: UTF-8 does not have it.
        stream.writelines(line.encode(errors="backslashreplace") for line in lines)
    remove_others(target, None if beside is None else beside.file)


def scheme_digest(scheme: Scheme) -> str:
    """A digest that two schemes share if they give the same answers in the same order."""
    members = scheme.members
    columns = hashlib.sha256(members.heap)
    for part in (members.codes, members.ends, members.weights):
        columns.update(b"" if part is None else part.tobytes())
    for text in members.metadata or ():
        columns.update(text.encode("utf-8", "surrogatepass") + b"\0")
    digest = hashlib.sha256()
    for line in scheme_lines(scheme, MembersFile("", len(members), columns.hexdigest())):
        digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def scheme_lines(scheme: Scheme, beside: MembersFile | None = None) -> Iterator[str]:
    """The lines of ``scheme.json``, each with its line end.

    Args:
        scheme: The scheme.
        beside: The file of members; None to write the members here.
    """
    rejected = (
        _encode({"id": one.id, "xpath": one.xpath, "reason": one.reason} | _further(one))
        for one in scheme.rejected
    )
    settings = scheme.settings
    asked = {
        "chunks": settings.chunks,
        "weights": settings.weights,
        "limits": _by_key(settings.limits),
    }
    if settings.auto:
        asked |= {"auto": True, "workers": settings.workers}
    yield "{\n"
    yield f' "format": {FORMAT},\n'
    yield from _schema(scheme.schema)
    yield f' "namespaces": {_encode(_by_key(scheme.namespaces))},\n'
    yield f' "settings": {_encode(asked)},\n'
    yield f' "notes": {_encode(scheme.notes)},\n'
    yield ' "chunks": ['
    ids = None if beside else scheme.queries_in
    for number, chunk in enumerate(scheme.chunks):
        yield ",\n  {\n" if number else "\n  {\n"
        yield from _chunk(chunk, "   ", ids)
        yield "  }"
    yield "\n ],\n" if scheme.chunks else "],\n"
    for key, chunk in (("potpourri", scheme.potpourri), ("document", scheme.document)):
        yield f' "{key}": {{\n'
        yield from _chunk(chunk, "  ", ids)
        yield " },\n"
    yield from _list("originals", list(map(quote, scheme.originals)), " ")
    yield from _statistics(scheme)
    if beside is not None:
        yield f' "queries": {_encode(beside._asdict())},\n'
        texts = zip(*scheme.wordings, strict=True)
        yield from _rows("wordings", (_encode([n, text.split(BLANK)]) for n, text in texts))
    else:
        yield from _rows("queries", _queries(scheme))
        yield from _rows("unsatisfiable", map(_unsatisfiable, scheme.unsatisfiable))
    if scheme.later:
        yield from _rows("later", map(_later, scheme.later))
    if scheme.outputs:
        yield from _rows("outputs", starmap(_output, scheme.outputs.items()))
    yield from _rows("rejected", rejected)
    yield from _rows("templates", _templates(scheme))
    yield ' "branches": {\n'
    yield from _rows("xpaths", map(quote, scheme.branches.xpaths), "  ")
    yield from _list("steps", list(_filled(map(str, scheme.branches.steps))), "  ", last=True)
    yield " }\n}\n"


def _statistics(scheme: Scheme) -> Iterator[str]:
    stats = scheme.statistics
    if not stats.rows:
        return
    yield f' "statistics": {{\n  "source": {quote(stats.source)},\n'
    yield f'  "documents": {stats.documents},\n  "document_bytes": {stats.document_bytes},\n'
    yield from _rows("rows", map(_encode, statistics_rows(stats, scheme.schema)), "  ", last=True)
    yield " },\n"


def _rows(key: str, rows: Iterable[str], indent: str = " ", last: bool = False) -> Iterator[str]:
    """A list with one line for each row."""
    yield f'{indent}"{key}": ['
    before = "\n"
    for row in rows:
        yield f"{before}{indent} {row}"
        before = ",\n"
    end = "]" if before == "\n" else f"\n{indent}]"
    yield f"{end}\n" if last else f"{end},\n"


def _filled(items: Iterable[str]) -> Iterator[str]:
    """Many short items, as many on a line as fit well."""
    items = iter(items)
    while line := list(islice(items, 30)):
        yield ", ".join(line)


def _list(key: str, rows: list[str], indent: str, last: bool = False) -> Iterator[str]:
    """A list that is on one line if it fits there."""
    line = f'{indent}"{key}": [{", ".join(rows[:_WIDE])}]'
    if len(rows) < _WIDE and len(line) <= _WIDE:
        yield f"{line}\n" if last else f"{line},\n"
    else:
        yield from _rows(key, rows, indent, last)


def _chunk(
    chunk: Chunk, indent: str, ids: Callable[[Chunk], Sequence[str]] | None
) -> Iterator[str]:
    yield f'{indent}"id": {quote(chunk.id)},\n'
    if chunk.prefix:
        yield f'{indent}"prefix": {quote(chunk.prefix)},\n'
    if chunk.whole:
        yield from _list("whole", list(map(quote, chunk.whole)), indent)
    yield f'{indent}"splittable": {_encode(chunk.splittable)},\n'
    if chunk.unsplittable:
        yield f'{indent}"unsplittable": {quote(chunk.unsplittable)},\n'
    yield from _list("filters", list(map(_want, chunk.filters)), indent)
    if chunk.prefix:
        yield from _list("inside", list(map(_want, chunk.inside)), indent)
        yield f'{indent}"projected": {_encode(chunk.projected)},\n'
    if chunk.uses:
        yield from _list("uses", list(_filled(map(_encode, chunk.uses))), indent)
    if ids is not None:
        yield from _list("queries", list(map(quote, ids(chunk))), indent)
    yield from _list("branches", list(map(str, chunk.branches)), indent, last=True)


def _want(want: Want) -> str:
    return f'{{"path": {quote(want.path)}, "need": "{want.need.word}"}}'


def _queries(scheme: Scheme) -> Iterator[str]:
    """One row for each member."""
    templates = scheme.directory.templates.tolist()
    for row, template in enumerate(templates):
        subscriber = scheme.directory.subscriber(row)
        flwr = subscriber.id in scheme.outputs
        xpath = subscriber.absolute if flwr else subscriber.xpath
        fields = {"id": subscriber.id, "xpath": xpath, "template": template}
        yield _encode(fields | _usual(subscriber))


def _unsatisfiable(one: Unsatisfiable) -> str:
    """The row of a query that is in another table as well, for people to see."""
    subscriber = one.subscriber
    return _encode({"id": subscriber.id, "xpath": subscriber.xpath, "reason": one.reason})


def _templates(scheme: Scheme) -> Iterator[str]:
    for number, template in enumerate(scheme.templates):
        row: dict[str, Any] = {"xpath": template.xpath}
        if template.form < 0:
            row["unsatisfiable"] = template.reason
        else:
            form = scheme.forms[template.form]
            if form.type is not Type.NODES:
                row["type"] = form.type.value
            row["branches"] = form.branches
            if template.arguments != tuple(range(scheme.templates.parameters[number])):
                row["arguments"] = template.arguments
        yield _encode(row)


def _usual(subscriber: Subscriber) -> dict[str, Any]:
    """What is not as usual."""
    row: dict[str, Any] = {}
    if subscriber.weight != 1:
        whole = subscriber.weight.is_integer() and subscriber.weight < _EXACT
        row["weight"] = int(subscriber.weight) if whole else subscriber.weight
    if subscriber.metadata:
        row["metadata"] = subscriber.metadata
    return row


def _later(one: Later) -> str:
    own = one.subscriber
    row = {"id": own.id, "xpath": own.xpath} | _usual(own) | {"version": one.version}
    return _encode(row | ({"namespaces": _by_key(one.namespaces)} if one.namespaces else {}))


def _output(identifier: str, one: CustomOutput) -> str:
    row: dict[str, Any] = {"id": identifier, "flwr": one.flwr}
    return _encode(row | ({"namespaces": _by_key(one.namespaces)} if one.namespaces else {}))


def _further(one: Rejected) -> dict[str, Any]:
    usual: dict[str, Any] = {"hint": "", "line": 0, "column": 0, "offset": -1, "metadata": {}}
    return {key: getattr(one, key) for key in usual if getattr(one, key) != usual[key]}


def _schema(schema: Schema) -> Iterator[str]:
    yield ' "schema": {\n'
    for key in ("source", "kind", "digest", "roots"):
        yield f'  "{key}": {_encode(getattr(schema, key))},\n'
    yield f'  "prefixes": {_encode(_by_key(schema.prefixes))},\n'
    yield f'  "notes": {_encode(schema.notes)},\n'
    rows = (_encode(declaration_row(d)) for d in schema.declarations)
    yield from _rows("declarations", rows, "  ", last=True)
    yield " },\n"


def _by_key(values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(values.items()))
