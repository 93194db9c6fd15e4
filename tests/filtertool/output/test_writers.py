"""Rows in files: Parquet and JSON lines have the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.output import arrow
from extract.filtertool.output.arrow import SCHEMAS
from extract.filtertool.output.directory import result_directory
from extract.filtertool.output.writers import Format, open_writer
from tests.support.small_results import process, scheme_of, write


def test_parquet_and_json_lines_have_the_same_rows(tmp_path: Path) -> None:
    document = "<a><b x='1'>é\n\"</b><b/><c/></a>".encode()
    queries = ("//b", "//@x", "//b/text()", "count(//c)", "/a/b")
    table = parquet.read_table(write(tmp_path, "parquet", document, *queries) / "matches")
    assert table.schema == SCHEMAS["nodes"]
    other = tmp_path / "json"
    other.mkdir()
    lines = (write(other, "jsonl", document, *queries) / "matches" / "part-00000.jsonl").read_text()
    found = [json.loads(line) for line in lines.splitlines()]
    assert found == table.to_pylist()
    assert len(found) == 7
    assert list(found[0]) == [field.name for field in SCHEMAS["nodes"]]


@pytest.mark.parametrize("select", ["nodes", "count", "doc"])
@pytest.mark.parametrize("largest", [1 << 25, 50])
def test_rows_of_documents_that_are_written_together(
    tmp_path: Path, select: Any, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has its own, whatever is written before and after, and the order stays."""
    monkeypatch.setattr(arrow, "RECORD_BATCH_BYTES", largest)
    scheme = scheme_of(tmp_path, "//b", "//@x", "count(//c)", "//c")
    filter_ = document_filter(scheme, load_matcher("auto"), Options(select=select))
    texts = [b"<b x='%d'>one</b><b/>" % n + b"<c>%d</c>" % n * (n % 4) for n in range(7)]
    every = filter_.process([(f"{n}.xml", b"<a>%b</a>" % text) for n, text in enumerate(texts)])
    empty = filter_.process([("empty.xml", b"<a/>")])
    every = [*every[:3], *empty, *every[3:]]
    ids = filter_.plan.ids
    forms: tuple[Format, ...] = ("parquet", "jsonl")
    for form in forms:
        (tmp_path / form).mkdir()
        writer = open_writer(tmp_path / form, form, ids, select)
        for done in every:
            writer.write(done.document, done.findings)
        writer.close()
    lines = (tmp_path / "jsonl" / "matches" / "part-00000.jsonl").read_text().splitlines()
    found = parquet.read_table(tmp_path / "parquet" / "matches").to_pylist()
    assert found == [json.loads(line) for line in lines]
    assert {row["document"] for row in found} >= {f"{n}.xml" for n in range(7)}


@pytest.mark.parametrize(
    ("select", "row"),
    [
        ("doc", {"document": "doc.xml", "query": "0"}),
        ("count", {"document": "doc.xml", "query": "0", "count": 2}),
    ],
)
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_less_can_be_selected(tmp_path: Path, form: str, select: str, row: Any) -> None:
    out = write(tmp_path, form, b"<a><b/><b/></a>", "//b", "//c", select=select)
    if form == "parquet":
        assert parquet.read_table(out / "matches").to_pylist() == [row]
    else:
        assert json.loads((out / "matches" / "part-00000.jsonl").read_text()) == row


def test_nothing_found_is_a_file_without_rows(tmp_path: Path) -> None:
    out = write(tmp_path, "parquet", b"<a/>", "//b")
    table = parquet.read_table(out / "matches")
    assert (table.num_rows, table.schema) == (0, SCHEMAS["nodes"])
    assert parquet.read_table(out / "rejected").num_rows == 0


def test_names_that_are_no_text_can_be_written(tmp_path: Path) -> None:
    scheme = scheme_of(tmp_path, "//b")
    done, ids = process(scheme, b"<a><b/></a>")
    for form in ("parquet", "jsonl", "xml"):
        with result_directory(tmp_path / form) as partial:
            writer = open_writer(partial, form, ids, "nodes")
            writer.write("a\udcff.xml", done.findings)
            writer.close()
    table = parquet.read_table(tmp_path / "parquet" / "matches")
    assert table["document"].to_pylist() == ["a\ufffdDCFF.xml"]
    assert table.schema.field("document").type == pa.string()
