"""The text of scheme.json: as its JSON schema says, the same bytes each time, replaced whole."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

from extract import Subscription, Subscriptions
from extract.preptool.prepare import prepare
from extract.scheme import Scheme
from tests.support.paths import ROOT, SCHEMAS
from tests.support.saved_scheme import QUERIES, SCHEME, TEXT, load
from tests.support.schemes import UNIVERSITY, random_scheme

# -- The text


def schema_of_the_format() -> Any:
    path = ROOT / "extract" / "scheme" / "scheme.schema.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("seed", range(10))
def test_what_is_written_is_as_the_json_schema_says(seed: int) -> None:
    validator = jsonschema.Draft202012Validator(schema_of_the_format())
    validator.check_schema(schema_of_the_format())
    validator.validate(json.loads("".join(random_scheme(Random(seed)).lines())))
    validator.validate(json.loads(TEXT))


def test_the_json_schema_describes_every_field_that_is_written() -> None:
    described = json.dumps(schema_of_the_format())
    words: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            words.update(value)
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                collect(item)

    raw = json.loads(TEXT)
    raw["settings"]["limits"] = raw["namespaces"] = {}
    collect(raw)
    assert {word for word in words if f'"{word}"' not in described} == set()


def test_metadata_is_in_the_file_and_nothing_where_there_is_none(tmp_path: Path) -> None:
    metadata = {"tags": ["b", "a"], "owner": {"name": "é", "floor": None}}
    again = [replace(one, metadata=metadata) for one in QUERIES]
    later = Subscription("later", "//name[matches(., 'x')]", version="2.0", metadata=metadata)
    scheme = prepare(UNIVERSITY, Subscriptions.of([*again, later]), 2)
    text = "".join(scheme.lines())
    assert (
        text.count('"metadata": {"owner": {"floor": null, "name": "é"}, "tags": ["b", "a"]}') == 10
    )
    jsonschema.Draft202012Validator(schema_of_the_format()).validate(json.loads(text))
    loaded = load(tmp_path, text)
    assert loaded == scheme
    assert loaded.metadata == {one.id: metadata for one in (*QUERIES, later)}
    assert "".join(loaded.lines()) == text
    assert "metadata" not in TEXT
    without = prepare(UNIVERSITY, Subscriptions.of([replace(o, metadata={}) for o in QUERIES]), 2)
    assert "".join(without.lines()) == TEXT


def test_the_contract() -> None:
    raw = json.loads(TEXT)
    assert raw["format"] == 2
    assert {"schema", "namespaces", "queries", "potpourri", "unsatisfiable", "rejected"} <= set(raw)
    for chunk in raw["chunks"]:
        assert {"id", "prefix", "filters", "queries"} <= set(chunk)
        assert all(set(want) == {"path", "need"} for want in chunk["filters"])
    assert {"id": "names", "xpath": "//student/name"}.items() <= raw["queries"][0].items()
    assert raw["unsatisfiable"] == [
        {"id": "none", "xpath": "/db/zzz", "reason": "db has no child zzz (at /db)"}
    ]


def test_one_query_more_changes_few_lines() -> None:
    queries = [f"/db/student[name = '{i}']" for i in range(200)]
    before, after = (
        "".join(prepare(UNIVERSITY, Subscriptions.of(some), 1).lines()).splitlines()
        for some in (queries[:-1], queries)
    )
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    # The query, its id in the chunk, and the commas before them.
    assert len(changed) <= 8


def test_long_lists_have_one_row_a_line() -> None:
    queries = [f"/db/student[name{'/..' * i}/name = '{i}']" for i in range(60)] * 2
    lines = "".join(prepare(UNIVERSITY, Subscriptions.of(queries), 1).lines()).splitlines()
    assert '    "7",' in lines
    assert """  {"id": "1", "xpath": "/db/student[name/name = '0']", "template": 0},""" in lines
    assert """  {"xpath": "/db/student[name/name = $string1]", "unsatisfiable": """ in "\n".join(
        lines
    )
    assert max(map(len, lines)) < 300


HASHED = """
import sys
from extract import Schema, Subscriptions
from extract.preptool.prepare import prepare
schema = Schema.load(sys.argv[1], root="db")
queries = Subscriptions.of(["//name", "/db[professor]/student[url | email]", "//*[3]", "//a[", "x"])
sys.stdout.writelines(prepare(schema, queries, 3).lines())
"""


def test_the_bytes_do_not_depend_on_hashing() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", HASHED, str(SCHEMAS / "university.dtd")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "12345")
    }
    assert len(outputs) == 1
    assert b'"format"' in outputs.pop()


# -- Writing


def test_a_file_is_replaced_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scheme.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)

    def broken(*_: object) -> Any:
        yield "{"
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("extract.scheme.writer.scheme_lines", broken)
        with pytest.raises(OSError, match="No space"):
            SCHEME.save(path)
    assert path.read_text(encoding="utf-8") == "old"
    SCHEME.save(path)
    assert path.read_text(encoding="utf-8") == TEXT
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["scheme.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link, target = tmp_path / "link.json", tmp_path / "target.json"
    link.symlink_to(target)
    SCHEME.save(link)
    assert link.is_symlink()
    assert Scheme.load(target) == SCHEME


def test_a_missing_folder_is_named_as_the_user_did(tmp_path: Path) -> None:
    path = tmp_path / "no" / "scheme.json"
    with pytest.raises(FileNotFoundError) as caught:
        SCHEME.save(path)
    assert caught.value.filename == str(path)
