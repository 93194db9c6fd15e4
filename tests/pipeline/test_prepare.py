"""`extract.prepare` with a schema, with documents to infer one from, and with nothing."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import extract
from extract.chunktool.inference.default_schema import default_schema

QUERIES = extract.Subscriptions.of({"b": "/a/b", "c": "/a/c"})
DOCUMENT = b"<a><b>1</b></a>"


def answers(scheme: extract.Scheme, document: bytes = DOCUMENT) -> list[tuple[str, str | None]]:
    return [(match.query, match.text) for match in extract.match(scheme, document)]


def test_a_schema_and_no_number_of_chunks(tmp_path: Path) -> None:
    (tmp_path / "a.dtd").write_text("<!ELEMENT a (b*)><!ELEMENT b (#PCDATA)>")
    scheme = extract.prepare(extract.Schema.load(tmp_path / "a.dtd"), QUERIES)
    assert scheme.settings.auto
    assert [one.subscriber.id for one in scheme.unsatisfiable] == ["c"]
    assert answers(scheme) == [("b", "1")]


@pytest.mark.parametrize("as_file", [False, True])
def test_the_schema_of_a_sample(tmp_path: Path, as_file: bool) -> None:
    file = tmp_path / "a.xml"
    file.write_bytes(DOCUMENT)
    scheme = extract.prepare(QUERIES, sample=[file if as_file else DOCUMENT])
    assert scheme.schema.notes[0].startswith("no schema given: inferred from 1 document")
    assert [one.subscriber.id for one in scheme.unsatisfiable] == ["c"]
    assert answers(scheme) == [("b", "1")]
    assert answers(scheme, b"<a><c>2</c></a>") == [("c", "2")], "also where the schema is broken"


def test_the_internal_dtd_of_a_sample() -> None:
    sample = b"<!DOCTYPE a [<!ELEMENT a (c*)><!ELEMENT c EMPTY>]><a/>"
    scheme = extract.prepare(None, QUERIES, sample=[sample])
    assert "internal DTD" in scheme.schema.notes[0]
    assert [one.subscriber.id for one in scheme.unsatisfiable] == ["b"]


@pytest.mark.parametrize("left_out", [False, True])
def test_no_schema_at_all(left_out: bool) -> None:
    scheme = extract.prepare(QUERIES) if left_out else extract.prepare(None, QUERIES, 2)
    assert (scheme.schema.kind, scheme.unsatisfiable) == ("none", ())
    assert answers(scheme) == [("b", "1")]


@pytest.mark.parametrize(
    "args", [(extract.Schema.none(),), (QUERIES, QUERIES), (None,), (QUERIES, 3)]
)
def test_what_is_no_schema_and_no_subscriptions(args: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="a schema and subscriptions, or only subscriptions"):
        extract.prepare(*args)


def test_a_stream_is_read_twice_for_its_schema() -> None:
    """Once for an internal DTD, and once for what is in it; both from where it stands."""
    stream = BytesIO(b"xx" + DOCUMENT)
    stream.seek(2)
    schema = default_schema([stream])
    assert schema.notes[0].endswith("2 elements, 1 edge, 0 attributes, root a")
