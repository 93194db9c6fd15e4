"""Reads ``scheme.json``, and trusts it only as far as it agrees with itself."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from extract.errors import SchemeError
from extract.limits import Limits
from extract.schema.model import Schema, SchemaKind
from extract.scheme.edges import read_declaration
from extract.scheme.fields import Fields
from extract.scheme.garbage import no_collection
from extract.scheme.model import (
    DOCUMENT,
    FORMAT,
    NEEDS,
    POTPOURRI,
    Branches,
    Chunk,
    Later,
    Need,
    Query,
    Rejected,
    Scheme,
    Settings,
    Subscriber,
    Unsatisfiable,
    Uses,
    Want,
)
from extract.scheme.statistics import read_statistics
from extract.subscriptions.metadata import (
    NO_METADATA,
    Metadata,
    MetadataError,
    checked_metadata,
)
from extract.xpath.functions import Type
from extract.xpath.later import VERSIONS

_AGAIN = "prepare the queries again with `extract prep`"
_ANY_SIZE = Limits(metadata_bytes=sys.maxsize)  # it was checked when it was registered
_TYPES = {one.value: one for one in Type}


def read_scheme(path: str | Path) -> Scheme:
    """Reads a scheme file: see `Scheme.load`."""
    file = str(path)
    with no_collection():
        fields = Fields(_parsed(_text(path, file), file), "", file)
        _check_format(fields, file)
        return _scheme(fields)


def _text(path: str | Path, file: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = f"cannot read the scheme: {error.strerror or error}"
        raise SchemeError(reason, "check the name of the file", file) from error
    except UnicodeDecodeError as error:
        reason = f"is not a scheme: byte {error.start} is not UTF-8"
        raise SchemeError(reason, "a scheme is written by `extract prep`", file) from None


def _parsed(text: str, file: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        closed = text.rstrip().endswith("}") and text[error.pos :].strip()
        if text[:1] == "{" and not closed and error.msg != "Extra data":
            raise SchemeError("the scheme file is truncated", _AGAIN, file, error.lineno) from None
        hint = "a scheme is written by `extract prep`"
        reason = f"is not JSON: {error.msg}"
        raise SchemeError(reason, hint, file, error.lineno, error.colno) from None
    except (RecursionError, ValueError):  # a number of thousands of digits is a ValueError
        raise SchemeError("is not a scheme", _AGAIN, file) from None


def _check_format(fields: Fields, file: str) -> None:
    if "format" not in fields:
        hint = "a scheme is written by `extract prep`"
        raise SchemeError('is not a scheme: it does not say its "format"', hint, file)
    version = fields.whole_number("format")
    if version != FORMAT:
        reason = f"is a scheme of format {version}; this version of extract reads format {FORMAT}"
        newer = "use the version of extract that wrote it, or "
        raise SchemeError(reason, (newer if version > FORMAT else "") + _AGAIN, file)


def _scheme(fields: Fields) -> Scheme:
    branches = _branches(fields.object("branches"))
    queries = _queries(fields, len(branches))
    ids = {one.id: one.id for query in queries for one in query.subscribers}
    chunks = tuple([_chunk(one, len(branches), ids) for one in fields.objects("chunks")])
    potpourri, document = [
        _chunk(fields.object(key), len(branches), ids) for key in ("potpourri", "document")
    ]
    scheme = Scheme(
        _schema(fields.object("schema")),
        fields.table("namespaces", str, "a string"),
        _settings(fields.object("settings")),
        branches,
        queries,
        chunks,
        potpourri,
        document,
        fields.texts("originals"),
        tuple(
            [
                Unsatisfiable(_subscriber(one), one.text("reason"))
                for one in fields.objects("unsatisfiable")
            ]
        ),
        tuple([_rejected(one) for one in fields.objects("rejected")]),
        fields.texts("notes"),
        later=tuple([_later(one) for one in fields.objects("later", [])]),
    )
    if "statistics" in fields:
        read = read_statistics(fields.object("statistics"), scheme.schema)
        scheme = replace(scheme, statistics=read)
    _check_ids(fields, scheme)
    _check_homes(fields, scheme)
    return scheme


def _branches(fields: Fields) -> Branches:
    xpaths, steps = fields.texts("xpaths"), fields.indices("steps", 1 << 16, "steps")
    if len(xpaths) != len(steps):
        fields.wrong("steps", f"{len(steps)} numbers cannot go with {len(xpaths)} xpaths")
    return Branches(xpaths, steps)


def _queries(fields: Fields, branches: int) -> tuple[Query, ...]:
    """The canonical queries, each with its subscribers."""
    rows: dict[str, tuple[Type, tuple[int, ...], list[Subscriber]]] = {}
    for row in fields.objects("queries"):
        subscriber = _subscriber(row)
        if "same_as" in row:
            first = rows.get(row.text("same_as"))
            if first is None:
                row.wrong("same_as", f"there is no query {row.text('same_as')!r} above")
            first[2].append(subscriber)
            continue
        kind = Type.NODES
        if "type" in row:
            kind = _TYPES.get(row.text("type")) or row.wrong("type", "is no type of XPath")
        form = row.indices("branches", branches, "branches")
        if not form or (len(form) > 1 and kind is not Type.NODES):
            row.wrong("branches", f"{len(form)} branches cannot give {kind.value}")
        rows[subscriber.id] = (kind, form, [subscriber])
    return tuple([Query(kind, form, tuple(subs)) for kind, form, subs in rows.values()])


def _subscriber(row: Fields) -> Subscriber:
    name, xpath = row.text("id"), row.text("xpath")
    absolute = row.text("absolute") if "absolute" in row else xpath
    weight = row.weight() if "weight" in row else 1.0
    return Subscriber(name, xpath, absolute, weight, _metadata(row))


def _metadata(row: Fields) -> Metadata:
    if "metadata" not in row:
        return NO_METADATA
    try:
        return checked_metadata(row.mapping("metadata"), _ANY_SIZE)
    except MetadataError as error:
        row.wrong("metadata", error.reason)


def _later(row: Fields) -> Later:
    version = row.text("version")
    if version not in VERSIONS[1:]:
        row.wrong("version", f"{version!r} is none of {', '.join(VERSIONS[1:])}")
    namespaces = row.table("namespaces", str, "a string") if "namespaces" in row else {}
    return Later(_subscriber(row), version, namespaces)


def _rejected(row: Fields) -> Rejected:
    return Rejected(
        row.text("id"),
        row.text("xpath"),
        row.text("reason"),
        row.text("hint", ""),
        row.whole_number("line", 0),
        row.whole_number("column", 0),
        row.whole_number("offset", -1),
        _metadata(row),
    )


def _chunk(row: Fields, branches: int, ids: Mapping[str, str]) -> Chunk:
    queries = row.texts("queries")
    for number, one in enumerate(queries):
        if one not in ids:
            row.wrong(f"queries[{number}]", f"there is no query {one!r}")
    splittable, why_not = row.truth("splittable"), row.text("unsplittable", "")
    if splittable == bool(why_not):
        row.wrong("unsplittable", "must say why, if and only if it is not splittable")
    prefix = row.text("prefix", "")
    filters, inside = _wants(row, "filters"), _wants(row, "inside") if prefix else ()
    return Chunk(
        row.text("id"),
        prefix,
        filters,
        tuple([ids[one] for one in queries]),  # one string for each id, however often it is named
        row.indices("branches", branches, "branches"),
        why_not,
        row.texts("whole", []),
        inside,
        row.truth("projected") if prefix else False,
        _uses(row, (*filters, *inside)),
    )


def _wants(row: Fields, key: str) -> tuple[Want, ...]:
    wants = []
    for want in row.objects(key):
        word = want.text("need")
        need = NEEDS.get(word) or want.wrong("need", f"{word!r} is none of {', '.join(NEEDS)}")
        wants.append(Want(want.text("path"), need))
    return tuple(wants)


def _uses(row: Fields, wants: tuple[Want, ...]) -> tuple[Uses, ...]:
    """How often each want is asked for; nothing, if the file does not say."""
    counts = row.items("uses", [])
    if counts and len(counts) != len(wants):
        row.wrong("uses", f"{len(counts)} counts cannot go with {len(wants)} paths")
    for number, (count, (path, need)) in enumerate(zip(counts, wants, strict=False)):
        if not _is_use(count, need):
            row.wrong(f"uses[{number}]", f"cannot be {count} for {need.word} at {path}")
    return tuple([tuple(count) for count in counts])


def _is_use(count: Any, need: Need) -> bool:
    """Whether it says how often each of the needs is asked for that together are this one."""
    if type(count) is not list or not 0 < len(count) <= 4 or set(map(type, count)) != {int}:
        return False
    asked = sum([1 << bit for bit, times in enumerate(count) if times])
    return min(count) >= 0 < count[-1] and Need(asked).essence == need


def _settings(row: Fields) -> Settings:
    workers = row.whole_number("workers", 1)
    if workers < 1:
        row.wrong("workers", "must be at least 1")
    return Settings(
        row.whole_number("chunks"),
        row.text("weights"),
        row.table("limits", int, "a whole number"),
        row.truth("auto", False),
        workers,
    )


def _schema(row: Fields) -> Schema:
    kind = row.text("kind")
    if kind not in get_args(SchemaKind):
        row.wrong("kind", f"{kind!r} is none of {', '.join(get_args(SchemaKind))}")
    count = len(row.items("declarations"))
    rows = row.objects("declarations")
    return Schema(
        row.text("source"),
        cast(Any, kind),
        tuple([read_declaration(one, key, count) for key, one in enumerate(rows)]),
        row.indices("roots", count, "declarations"),
        row.table("prefixes", str, "a string"),
        row.text("digest"),
        row.texts("notes"),
    )


def _check_ids(fields: Fields, scheme: Scheme) -> None:
    """Two queries of one id, or two chunks, could not be told apart."""
    tables = ("queries", "unsatisfiable", "later", "rejected")
    ids = [row["id"] for table in tables for row in fields.items(table, [])]
    if len(set(ids)) < len(ids):
        twice = next(one for one, times in Counter(ids).items() if times > 1)
        fields.wrong("queries", f"two queries have the id {twice!r}")
    chunks = [chunk.id for chunk in scheme.chunks]
    for key, chunk in ((POTPOURRI, scheme.potpourri), (DOCUMENT, scheme.document)):
        if chunk.id != key:
            fields.wrong(f"{key}.id", f"must be {key!r}")
    if len({*chunks, POTPOURRI, DOCUMENT}) < len(chunks) + 2:
        fields.wrong("chunks", "two have one id")


def _check_homes(fields: Fields, scheme: Scheme) -> None:
    """A branch that belongs to no chunk would never be evaluated."""
    homes = bytearray(len(scheme.branches))
    for chunk in scheme.every_chunk:
        for branch in chunk.branches:
            homes[branch] = 1
    lost = homes.find(0)
    if lost >= 0:
        fields.wrong(f"branches.xpaths[{lost}]", "belongs to no chunk")
