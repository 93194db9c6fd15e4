"""Reads ``scheme.json``, and trusts it only as far as it agrees with itself."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast, get_args

from extract.errors import SchemeError
from extract.schema.model import Schema, SchemaKind
from extract.scheme.edges import read_declaration
from extract.scheme.fields import Fields
from extract.scheme.format_1 import read_format_1
from extract.scheme.garbage import no_collection
from extract.scheme.members_builder import MembersBuilder, QueryTables, form_of, metadata_of
from extract.scheme.members_file import MembersFile, MissingMembers, read_members
from extract.scheme.model import (
    DOCUMENT,
    FORMAT,
    NEEDS,
    POTPOURRI,
    Branches,
    Chunk,
    Need,
    Scheme,
    Settings,
    Uses,
    Want,
)
from extract.scheme.registered import CustomOutput, Later, Rejected, Subscriber
from extract.scheme.statistics import read_statistics
from extract.scheme.templates import Form, RegisteredTemplate, RegisteredTemplates, WordingTable
from extract.subscriptions.flwr_queries import FLWR
from extract.subscriptions.members import Members
from extract.subscriptions.wordings import BLANK, roles_of
from extract.xpath.later import VERSIONS
from extract.xpath.parameters import divided

MembersReader: TypeAlias = Callable[[RegisteredTemplates, WordingTable], Members]

_AGAIN = "prepare the queries again with `extract prep`"


def read_scheme(path: str | Path) -> Scheme:
    """Reads a scheme file: see `Scheme.load`."""
    text = _text(path)
    with no_collection():
        while True:
            try:
                return _read(text, Path(path))
            except MissingMembers:
                # Whoever replaces a scheme removes the old members: then there is a new scheme.
                before, text = text, _text(path)
                if text == before:
                    raise


def _read(text: str, path: Path) -> Scheme:
    file = str(path)
    fields = Fields(_parsed(text, file), "", file)
    _check_format(fields, file)
    target = Path(os.path.realpath(path))

    def beside(templates: RegisteredTemplates, wordings: WordingTable) -> Members:
        row = fields.object("queries")
        info = MembersFile(row.text("file"), row.whole_number("rows"), row.text("digest"))
        return read_members(info, target, templates, wordings)

    return scheme_of_fields(fields, beside)


def _text(path: str | Path) -> str:
    file = str(path)
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
    if not 1 <= version <= FORMAT:
        reason = f"is a scheme of format {version}; this version of extract reads 1 to {FORMAT}"
        newer = "use the version of extract that wrote it, or "
        raise SchemeError(reason, (newer if version > FORMAT else "") + _AGAIN, file)


def scheme_of_fields(fields: Fields, read_elsewhere: MembersReader) -> Scheme:
    """Reads a scheme that is a JSON object.

    Args:
        fields: The object.
        read_elsewhere: Reads the members where they are not part of the object: its ``queries``
            is an object then, not a list.

    Raises:
        SchemeError: It is damaged, or contradicts itself.
    """
    branches = _branches(fields.object("branches"))
    if fields.whole_number("format") == 1:
        tables = read_format_1(fields, len(branches))
    else:
        tables = _tables(fields, len(branches), read_elsewhere)
    chunks = tuple([_chunk(one, len(branches)) for one in fields.objects("chunks")])
    potpourri, document = [
        _chunk(fields.object(key), len(branches)) for key in ("potpourri", "document")
    ]
    scheme = Scheme(
        _schema(fields.object("schema")),
        fields.table("namespaces", str, "a string"),
        _settings(fields.object("settings")),
        branches,
        *tables,
        chunks,
        potpourri,
        document,
        fields.texts("originals"),
        tuple([_rejected(one) for one in fields.objects("rejected")]),
        fields.texts("notes"),
        later=tuple([_later(one) for one in fields.objects("later", [])]),
        outputs=dict([_output(one) for one in fields.objects("outputs", [])]),
    )
    if "statistics" in fields:
        read = read_statistics(fields.object("statistics"), scheme.schema)
        scheme = replace(scheme, statistics=read)
    _check_ids(fields, scheme)
    _check_homes(fields, scheme)
    _check_listed(fields, scheme)
    return scheme


def _tables(fields: Fields, branches: int, read: MembersReader) -> QueryTables:
    """The templates of a scheme of format 2, and their members."""
    forms: dict[Form, int] = {}
    templates: list[RegisteredTemplate] = []
    for row in fields.objects("templates"):
        xpath = row.text("xpath")
        if "unsatisfiable" in row:
            templates.append(RegisteredTemplate(xpath, -1, (), row.text("unsatisfiable")))
            continue
        form = form_of(row, branches)
        count = len(divided(xpath)[1]) if "$" in xpath else 0
        arguments = tuple(range(count))
        if "arguments" in row:
            arguments = row.indices("arguments", count, "parameters")
        templates.append(RegisteredTemplate(xpath, forms.setdefault(form, len(forms)), arguments))
    table = RegisteredTemplates.of(templates)
    if fields.is_object("queries"):
        wordings = _wordings(fields, len(table))
        members = read(table, wordings)
    else:
        members, wordings = _members(fields, table)
    return QueryTables(tuple(forms), table, wordings, members)


def _wordings(fields: Fields, templates: int) -> WordingTable:
    numbers, texts = [], []
    for number, row in enumerate(fields.items("wordings")):
        if type(row) is not list or [type(one) for one in row] != [int, list]:
            fields.wrong(f"wordings[{number}]", "is not a template and the parts of a text")
        template, parts = row
        if not 0 <= template < templates or not all(type(part) is str for part in parts):
            fields.wrong(f"wordings[{number}]", "is not a template and the parts of a text")
        numbers.append(template)
        texts.append(BLANK.join(parts))
    return WordingTable(tuple(numbers), tuple(texts))


def _members(fields: Fields, templates: RegisteredTemplates) -> tuple[Members, WordingTable]:
    """The members in the file itself."""
    builder = MembersBuilder()
    roles: dict[int, tuple[bool, ...]] = {}
    for row in fields.objects("queries"):
        number = row.whole_number("template")
        if not 0 <= number < len(templates):
            row.wrong("template", f"there is no templates[{number}]")
        canonical = templates.xpaths[number]
        xpath = row.text("xpath")
        try:
            if number not in roles:
                roles[number] = roles_of(canonical) if "$" in canonical else ()
            builder.add(row, number, canonical, xpath, roles[number])
        except ValueError:
            row.wrong("xpath", f"is no query of templates[{number}]")
    return builder.members()


def _branches(fields: Fields) -> Branches:
    xpaths, steps = fields.texts("xpaths"), fields.indices("steps", 1 << 16, "steps")
    if len(xpaths) != len(steps):
        fields.wrong("steps", f"{len(steps)} numbers cannot go with {len(xpaths)} xpaths")
    return Branches(xpaths, steps)


def _later(row: Fields) -> Later:
    xpath, version = row.text("xpath"), row.text("version")
    if version not in (*VERSIONS[1:], FLWR):
        row.wrong("version", f"{version!r} is none of {', '.join(VERSIONS[1:])}, {FLWR}")
    namespaces = row.table("namespaces", str, "a string") if "namespaces" in row else {}
    own = Subscriber(row.text("id"), xpath, xpath, row.weight(), metadata_of(row))
    return Later(own, version, namespaces)


def _output(row: Fields) -> tuple[str, CustomOutput]:
    namespaces = row.table("namespaces", str, "a string") if "namespaces" in row else {}
    return row.text("id"), CustomOutput(row.text("flwr"), namespaces)


def _rejected(row: Fields) -> Rejected:
    return Rejected(
        row.text("id"),
        row.text("xpath"),
        row.text("reason"),
        row.text("hint", ""),
        row.whole_number("line", 0),
        row.whole_number("column", 0),
        row.whole_number("offset", -1),
        metadata_of(row),
    )


def _chunk(row: Fields, branches: int) -> Chunk:
    splittable, why_not = row.truth("splittable"), row.text("unsplittable", "")
    if splittable == bool(why_not):
        row.wrong("unsplittable", "must say why, if and only if it is not splittable")
    prefix = row.text("prefix", "")
    filters, inside = _wants(row, "filters"), _wants(row, "inside") if prefix else ()
    return Chunk(
        row.text("id"),
        prefix,
        filters,
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
    twice = scheme.directory.twice()
    if twice is not None:
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


def _check_listed(fields: Fields, scheme: Scheme) -> None:
    """What a scheme lists for people must be what it says elsewhere."""
    if fields.is_object("queries"):
        return
    if fields.whole_number("format") > 1:
        listed = [row.text("id") for row in fields.objects("unsatisfiable")]
        if listed != [one.subscriber.id for one in scheme.unsatisfiable]:
            fields.wrong("unsatisfiable", "are other queries than those of such templates")
    own = [*fields.objects("chunks"), fields.object("potpourri"), fields.object("document")]
    for row, chunk in zip(own, (*scheme.chunks, scheme.potpourri, scheme.document), strict=True):
        queries = set(scheme.queries_in(chunk))
        if fields.whole_number("format") == 1:
            queries -= {one.subscriber.id for one in scheme.later}
        if set(row.texts("queries")) != queries:
            row.wrong("queries", "are other queries than those with these branches")
