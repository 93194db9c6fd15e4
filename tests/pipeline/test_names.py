"""Names of documents in rows: each document has one of its own, and its path can be had back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree
from pyarrow import csv, parquet

import extract
from extract.chunktool.input.find import find_inputs
from extract.pipeline import run_on_spark
from extract.subscriptions import Subscriptions
from tests.support.commands import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = [
    b"bad\xff.xml",
    b"bad\xfe.xml",
    b"bad?.xml",
    b"bad%FF.xml",
    b"bad\\xff.xml",
    "bad\ufffd.xml".encode(),
    "bad\ufffdDCFF.xml".encode(),
    "größe.xml".encode(),
    b"plain.xml",
]
FORMS = ["jsonl", "csv", "tsv", "parquet"]


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "q.tsv").write_text("b\t//b\n")
    paths = sorted(os.fsdecode(b"docs/" + name) for name in NAMES)
    for path in paths:
        try:
            Path(path).write_bytes(b"<a><b/></a>")
        except OSError:
            pytest.skip("file names are Unicode here")
    return paths


def written(
    directory: str, form: str, what: str = "matches", column: str = "document"
) -> list[str]:
    """The documents of all rows, in order."""
    found: list[str] = []
    for file in sorted(Path(directory, what).iterdir()):
        if form == "jsonl":
            found += [json.loads(line)[column] for line in file.read_text().splitlines()]
        elif form == "xml":
            root = etree.parse(file).getroot()
            found += [str(one.get("document")) for one in root.iterchildren()]
        elif form == "tsv":  # where a backslash is two
            lines = file.read_text().splitlines()[1:]
            found += [line.split("\t")[0].replace("\\\\", "\\") for line in lines]
        else:
            table: Any = parquet.read_table(file) if form == "parquet" else csv.read_csv(file)
            found += table.column(column).to_pylist()
    return found


@pytest.mark.parametrize("form", [*FORMS, "xml"])
@pytest.mark.parametrize("select", ["nodes", "doc"])
def test_each_file_has_a_name_that_leads_back_to_it(
    paths: list[str], form: str, select: str
) -> None:
    args = ["--schema", "none", "--queries", "q.tsv", "docs", "-o", "out", "--format", form]
    assert run("run", *args, "--select", select).exit_code == 0
    names = written("out", form)
    assert [extract.document_path(name) for name in names] == paths
    assert names == [extract.document_name(path) for path in paths]
    plain = [b"bad?.xml", b"bad%FF.xml", b"bad\\xff.xml", "größe.xml".encode(), b"plain.xml"]
    assert {os.fsdecode(b"docs/" + name) for name in plain} <= set(names)  # as they are


@pytest.mark.parametrize("form", [*FORMS, "xml"])
def test_rejected_files_have_the_same_names(paths: list[str], form: str) -> None:
    for path in paths:
        Path(path).write_bytes(b"<a><b></a>")
    args = ["--schema", "none", "--queries", "q.tsv", "docs", "-o", "out", "--format", form]
    assert run("run", *args).exit_code == 1
    assert [extract.document_path(name) for name in written("out", form, "rejected")] == paths


def test_control_characters_are_told_apart_in_xml(tmp_path: Path, paths: list[str]) -> None:
    for name in ("\x01.xml", "\x02.xml", "\t.xml"):
        (tmp_path / "odd").mkdir(exist_ok=True)
        (tmp_path / "odd" / name).write_bytes(b"<a><b/></a>")
    args = ["--schema", "none", "--queries", "q.tsv", "odd", "-o", "out", "--format", "xml"]
    assert run("run", *args).exit_code == 0
    found = {extract.document_path(name) for name in written("out", "xml")}
    assert found == {"odd/\x01.xml", "odd/\x02.xml", "odd/\t.xml"}
    assert len(paths) == len(NAMES)


@pytest.mark.parametrize("select", ["nodes", "count", "doc"])
def test_names_that_are_given_keep_their_halves_of_characters(select: Any) -> None:
    names = ["\ud800", "\udc80", "?", "\ufffd", "\ufffdD800", "é", "plain"]
    scheme = extract.prepare(Subscriptions.of({"b": "//b"}))
    for given in (names, [f"{name}{number}" for number in range(40) for name in names]):
        documents = [(name, b"<a><b/></a>") for name in given]
        table = extract.Filter(scheme, select=select).table(documents)
        found = table.column("document").to_pylist()
        assert [extract.document_path(name) for name in found] == given


def test_chunks_of_a_file_know_its_name(paths: list[str]) -> None:
    assert run("prep", "--schema", "none", "--queries", "q.tsv", "-o", "s.json").exit_code == 0
    assert run("chunk", "--scheme", "s.json", "docs", "-o", "chunks").exit_code == 0
    assert len(list(Path("chunks").iterdir())) == len(paths)
    done = run("filter", "--scheme", "s.json", "chunks", "-o", "out", "--format", "jsonl")
    assert done.exit_code == 0, done.output
    names = [json.loads(line)["document"] for line in Path("out").read_text().splitlines()]
    assert sorted(extract.document_path(name) for name in names) == paths


def test_lines_of_json_keep_the_names_that_they_give(tmp_path: Path, paths: list[str]) -> None:
    names = ["\ud800", "\udfff", "?", "\ufffd", "plain"]
    lines = [json.dumps({"name": name, "document": "<a><b/></a>"}) for name in names]
    (tmp_path / "lines.jsonl").write_text("".join([f"{line}\n" for line in lines]))
    args = ["--schema", "none", "--queries", "q.tsv", "lines.jsonl", "-o", "out"]
    done = run("run", *args, "--messages", "ndjson", "--format", "jsonl")
    assert done.exit_code == 0, done.output
    assert [extract.document_path(name) for name in written("out", "jsonl")] == names
    assert len(paths) == len(NAMES)


@pytest.mark.parametrize("form", FORMS)
def test_spark_gives_the_same_names(spark: SparkSession, paths: list[str], form: Any) -> None:
    assert spark.version
    scheme = extract.prepare(Subscriptions.of({"b": "//b"}))
    run_on_spark(scheme, find_inputs(["docs"]), "out", form=form)
    assert sorted(extract.document_path(name) for name in written("out", form)) == paths


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_joined_documents_have_the_same_names_on_spark_too(
    spark: SparkSession, paths: list[str], engine: str, form: str
) -> None:
    assert spark.version
    for path in paths:
        Path(path).write_bytes(b"<a><b>1</b></a>")
    Path("docs/wrong\udcff.xml").write_bytes(b"<a>")
    Path("joins.tsv").write_text("q\tS//a->x[b->i] JOIN{i=j, 50} S//a->y[b->j]\n")
    args = ["--queries", "joins.tsv", "S=docs", "--engine", engine, "-o", "out", "--format", form]
    assert run("join", *args).exit_code == 1
    left, right = [
        [extract.document_path(name) for name in written("out", form, "joined", column)]
        for column in ("left", "right")
    ]
    assert set(zip(left, right, strict=True)) == {(a, b) for a in paths for b in paths if a != b}
    (wrong,) = written("out", form, "rejected")
    assert extract.document_path(wrong) == "docs/wrong\udcff.xml"
