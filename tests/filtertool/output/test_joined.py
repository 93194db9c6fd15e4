"""Metadata of subscriptions as columns of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import extract
from extract.errors import SubscriptionsError
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.options import Options
from extract.filtertool.output.arrow import SCHEMAS
from extract.filtertool.output.joined import ROW_COLUMNS, joined_columns
from extract.filtertool.output.writers import Format
from extract.pipeline import run
from tests.support.schemes import UNIVERSITY

DOCUMENT = "<db><student id='1'><name>A</name></student><professor><email/></professor></db>"
METADATA: dict[str, dict[str, Any]] = {
    "names": {"owner": "é", "tags": ["a", "b"], "floor": 3, "on": True, "mixed": "x", "name": "N"},
    "mail": {"owner": "it", "tags": [], "floor": 2.5, "mixed": {"b": [1, None]}, "big": 1 << 62},
    "number": {"team": {"name": "T"}, "mixed": 7, "big": -1, "huge": 1 << 80, "owner": None},
    "plain": {},
    "bad": {"only": "rejected"},
}
QUERIES = {
    "names": "//student/name",
    "mail": "//*[email]",
    "number": "count(//name)",
    "plain": "//name",
    "bad": "//a[",
}
ASKED = (
    *("owner", "tags", "floor", "on", "mixed", "big", "huge", "only"),
    *("team.name", "label=name"),
)


def scheme_of(metadata: dict[str, dict[str, Any]]) -> extract.Scheme:
    some = [
        extract.Subscription(name, QUERIES[name], metadata=values)
        for name, values in metadata.items()
    ]
    return extract.prepare(UNIVERSITY, extract.Subscriptions.of(some), 2)


SCHEME = scheme_of(METADATA)


def results(folder: Path, form: Format, select: Select, asked: tuple[str, ...]) -> Path:
    (folder / "a.xml").write_text(DOCUMENT, encoding="utf-8")
    options = Options(select=select, joined=asked)
    run(SCHEME, [str(folder / "a.xml")], folder / "out", options=options, form=form, jobs=1)
    return folder / "out" / "matches"


@pytest.mark.parametrize("select", ["nodes", "count", "doc"])
def test_parquet(tmp_path: Path, select: Select) -> None:
    table = parquet.read_table(results(tmp_path, "parquet", select, ASKED))
    own = SCHEMAS[select]
    assert table.schema.names == [*own.names, *ASKED[:-1], "label"]
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    assert {name: types[name] for name in types if name not in own.names} == {
        "owner": pa.string(),
        "tags": pa.list_(pa.field("element", pa.string())),
        "floor": pa.float64(),
        "on": pa.bool_(),
        "mixed": pa.string(),
        "big": pa.int64(),
        "huge": pa.string(),
        "only": pa.string(),
        "team.name": pa.string(),
        "label": pa.string(),
    }
    rows = {row["query"]: row for row in table.to_pylist()}
    nothing = dict.fromkeys([*ASKED[:-1], "label"])
    assert {k: rows["names"][k] for k in nothing} == nothing | {
        "owner": "é",
        "tags": ["a", "b"],
        "floor": 3.0,
        "on": True,
        "mixed": "x",
        "label": "N",
    }
    assert {k: rows["mail"][k] for k in nothing} == nothing | {
        "owner": "it",
        "tags": [],
        "floor": 2.5,
        "mixed": '{"b": [1, null]}',
        "big": 1 << 62,
    }
    assert {k: rows["number"][k] for k in nothing} == nothing | {
        "mixed": "7",
        "big": -1,
        "huge": str(1 << 80),
        "team.name": "T",
    }
    assert {k: rows["plain"][k] for k in nothing} == nothing


@pytest.mark.parametrize("select", ["nodes", "count", "doc"])
def test_json_lines_have_the_values_themselves(tmp_path: Path, select: Select) -> None:
    folder = results(tmp_path, "jsonl", select, ASKED)
    lines = (folder / "part-00000.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        own = METADATA[row["query"]]
        assert list(row) == [*SCHEMAS[select].names, *ASKED[:-1], "label"]
        assert row["label"] == own.get("name")
        assert row["team.name"] == own.get("team", {}).get("name")
        for key in ASKED[:-2]:
            assert row[key] == own.get(key)
    assert {json.loads(line)["query"] for line in lines} == {"names", "mail", "number", "plain"}


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_rows_are_as_ever_without_it(tmp_path: Path, form: Format) -> None:
    texts = []
    for name, scheme in (("with", SCHEME), ("bare", scheme_of({name: {} for name in METADATA}))):
        (tmp_path / "a.xml").write_text(DOCUMENT, encoding="utf-8")
        run(scheme, [str(tmp_path / "a.xml")], tmp_path / name, form=form, jobs=1)
        (file,) = (tmp_path / name / "matches").iterdir()
        texts.append(file.read_bytes())
    assert texts[0] == texts[1]


def test_text_for_formats_that_have_nothing_else() -> None:
    joined = joined_columns(SCHEME, ASKED)
    texts = {one.name: joined.texts(one, ["mail", "nobody"]) for one in joined.columns}
    assert all(second is None for _, second in texts.values())
    assert {name: first for name, (first, _) in texts.items() if first is not None} == {
        "owner": "it",
        "tags": "[]",
        "floor": "2.5",
        "mixed": '{"b": [1, null]}',
        "big": str(1 << 62),
    }


@pytest.mark.parametrize(
    ("asked", "reason", "hint"),
    [
        (["ownr"], "no subscription has the metadata 'ownr'", "did you mean 'owner'"),
        (["team.nam"], "no subscription has the metadata 'team.nam'", "'team.name'"),
        ([""], "no subscription has the metadata ''", "there are: big, floor, huge"),
        (["name"], "rows already have a column 'name'", "subscription_name=name"),
        (["NODE=owner"], "rows already have a column 'NODE'", "name the column otherwise"),
        (["owner", "owner"], "rows already have a column 'owner'", "name the column otherwise"),
        (["owner", "Owner=on"], "rows already have a column 'Owner'", "name the column otherwise"),
        (["=owner"], "the name '' of a column is empty", "name the column otherwise"),
        (["a\x07=owner"], "control characters", "name the column otherwise"),
    ],
)
def test_a_column_that_cannot_be(tmp_path: Path, asked: list[str], reason: str, hint: str) -> None:
    with pytest.raises(SubscriptionsError) as caught:
        run(SCHEME, ["a.xml"], tmp_path / "out", options=Options(joined=tuple(asked)))
    assert reason in caught.value.reason
    assert hint in caught.value.hint
    assert not (tmp_path / "out").exists()


def test_a_scheme_without_metadata_says_so() -> None:
    with pytest.raises(SubscriptionsError, match="no subscription has metadata"):
        joined_columns(scheme_of({"names": {}}), ["owner"])


def test_all_our_columns_are_known() -> None:
    assert {name for schema in SCHEMAS.values() for name in schema.names} <= ROW_COLUMNS
