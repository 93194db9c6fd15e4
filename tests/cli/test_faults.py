"""What goes wrong, told in the user's words: messages, exit status, and nothing half."""

from __future__ import annotations

import bz2
import errno
import json
import lzma
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from extract import Schema
from extract.cli import cli
from extract.errors import NO_ROOM
from tests.support.full_disk import disk
from tests.support.paths import ROOT

SCHEMA = ["--schema", str(ROOT / "schemas" / "university.dtd"), "--root", "db"]
QUERIES = "names\t//student/name\nmail\t//*[email]\n"
GOOD = "<db><student id='{0}'><name>{0}</name></student></db>"


def call(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, args, input=stdin)


def run(*args: str, engine: str = "local", out: str = "out") -> Result:
    options = ["--engine", engine, "--queries", "q.tsv", "--no-progress", "-o", out]
    return call("run", *SCHEMA, *options, *args)


def report() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(Path("out/report.json").read_text(encoding="utf-8"))
    return facts


def rejected() -> dict[str, tuple[str, str]]:
    rows = parquet.read_table("out/rejected").to_pylist()
    return {row["document"]: (row["stage"], row["reason"]) for row in rows}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with queries and documents, where the user stands."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    Path("q.tsv").write_text(QUERIES, encoding="utf-8")
    Path("docs").mkdir()
    for n in range(3):
        Path(f"docs/{n}.xml").write_text(GOOD.format(n), encoding="utf-8")
    return here


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest) -> str:
    """Both engines, one after the other."""
    if request.param == "spark":
        pytest.importorskip("pyspark", reason="Spark is not installed")
        request.getfixturevalue("spark")
    return str(request.param)


# -- documents that cannot be read, and those that are compressed


def test_files_that_are_not_read_are_in_the_account(
    here: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here.parent / "away.xml").write_text(GOOD.format(9))
    Path("docs/away.xml").symlink_to(here.parent / "away.xml")
    Path("docs/gone.xml").symlink_to("nowhere.xml")
    Path("docs/folder").symlink_to(here.parent)
    Path("docs/secret.xml").write_text(GOOD.format(8))
    Path("docs/secret.xml").chmod(0o600)  # what everybody may read is not asked for
    Path("docs/broken.xml").write_text("<db>")
    os.mkfifo("docs/pipe.xml")
    usual = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: "secret" not in str(path) and usual(path, mode)
    )
    result = run("docs", engine=engine)
    assert result.exit_code == 1, result.output
    documents = report()["documents"]
    assert documents["seen"] == documents["processed"] + documents["rejected"] == 9
    assert documents["processed"] == documents["conforming"] + documents["whole"] == 3
    reasons = rejected()
    assert reasons.pop("docs/broken.xml")[0] == "chunk"
    assert reasons == {
        "docs/away.xml": ("find", "a link to a file outside docs"),
        "docs/folder": ("find", "a link to a directory outside docs"),
        "docs/gone.xml": ("find", "a link to nowhere.xml, which does not exist"),
        "docs/pipe.xml": ("find", "a pipe or a device"),
        "docs/secret.xml": ("find", "Permission denied"),
    }
    assert "rejected: docs/pipe.xml: a pipe or a device" in result.stderr


def test_every_compression_is_read(engine: str) -> None:
    data = Path("docs/0.xml").read_bytes()
    Path("docs/a.xml.bz2").write_bytes(bz2.compress(data))
    Path("docs/b.xml.xz").write_bytes(lzma.compress(data))
    with zipfile.ZipFile("more.zip", "w") as archive:
        archive.writestr("x/c.xml", data)
        archive.writestr("d.xml", data)
    result = run("docs", "more.zip", engine=engine)
    assert result.exit_code == 0, result.output
    rows = parquet.read_table("out/matches").to_pylist()
    names = {row["document"] for row in rows if row["value"] == "<name>0</name>"}
    packed = {"docs/a.xml.bz2", "docs/b.xml.xz", "more.zip!d.xml", "more.zip!x/c.xml"}
    assert names == {"docs/0.xml", *packed}


# -- the wrong schema


def test_a_schema_that_no_document_keeps(engine: str) -> None:
    Path("shop").mkdir()
    for n in range(3):
        Path(f"shop/{n}.xml").write_text("<shop><item/></shop>", encoding="utf-8")
    Path("shop/a.xml").write_text("<db><zzz/></db>", encoding="utf-8")
    result = run("shop", engine=engine)
    assert result.exit_code == 1
    assert "warning: none of the 4 documents keeps the schema; 3 documents: " in result.stderr
    assert "the document element is shop" in result.stderr
    assert "Hint: it may be the wrong schema, or the wrong --root; `extract infer" in result.stderr
    Path("shop/good.xml").write_text(GOOD.format(1), encoding="utf-8")
    result = run("shop", engine=engine)
    assert result.exit_code == 0
    assert "warning" not in result.stderr


def test_one_document_that_breaks_the_schema_and_documents_that_are_rejected() -> None:
    Path("a.xml").write_text("<shop/>", encoding="utf-8")
    result = run("a.xml")
    assert result.exit_code == 1
    assert (
        "the document does not keep the schema; 1 document: the document element" in result.stderr
    )
    result = run("a.xml", "--on-nonconforming", "reject")
    assert result.exit_code == 1
    assert "the document does not keep the schema" in result.stderr


# -- places that cannot be written


@pytest.mark.parametrize("form", ["parquet", "jsonl", "xml"])
def test_a_full_disk_is_told_in_the_same_words_by_both_engines(
    here: Path, engine: str, form: str
) -> None:
    if engine == "spark" and form != "parquet":
        pytest.skip("tests/filtertool/spark/test_disk.py has the other formats")
    words = random.Random(5)
    Path("big").mkdir()
    for n in range(8):  # more rows than one row group takes
        student = "<student id='s'><name>{}</name></student>"
        rows = [student.format(words.randbytes(4).hex()) for _ in range(20_000)]
        Path(f"big/{n}.xml").write_text(f"<db>{''.join(rows)}</db>", encoding="utf-8")
    for size in ("64k", "512k"):
        with disk(here / "disk", size):
            result = run("big", "--format", form, engine=engine, out="disk/out")
            assert result.exit_code == 2
            lines = ["Error: disk/out: No space left on device", f"Hint: {NO_ROOM}"]
            assert result.stderr.splitlines()[-2:] == lines
            assert os.listdir("disk") == []


def test_a_file_that_grows_too_large(here: Path) -> None:
    script = f"ulimit -f 8; {sys.executable} -m extract run --engine local --no-progress"
    schema = " ".join(SCHEMA)
    Path("big.xml").write_text("<db>" + GOOD.format("n" * 99)[4:-5] * 9999 + "</db>")
    command = f"{script} {schema} --queries q.tsv big.xml --format jsonl -o out"
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # else it is cut off as well
    done = subprocess.run(
        ["bash", "-c", command], cwd=here, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (2, f"Error: out: File too large\nHint: {NO_ROOM}\n")
    assert not Path("out").exists()


def writing_commands() -> list[list[str]]:
    """Commands that write a file or a directory, without its name."""
    scheme = ["--scheme", "scheme.json"]
    return [
        ["trans", *SCHEMA, "--queries", "q.tsv", "-o"],
        ["prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "2", "-o"],
        ["infer", "docs", "-o"],
        ["chunk", *scheme, "docs", "-o"],
        ["project", *scheme, "docs/0.xml", "-o"],
        ["filter", *scheme, "chunks", "-o"],
        ["explain", *scheme, "--svg"],
        ["run", "--engine", "local", *scheme, "docs", "-o"],
    ]


@pytest.fixture
def prepared(here: Path) -> Path:
    """A scheme, and chunks of documents."""
    done = call("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "2", "-o", "scheme.json")
    assert done.exit_code == 0, done.output
    assert call("chunk", "--scheme", "scheme.json", "docs", "-o", "chunks").exit_code == 0
    return here


@pytest.mark.parametrize("command", writing_commands(), ids=lambda command: command[0])
def test_no_message_has_the_hidden_name_of_a_file(
    prepared: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").write_text("not ours")
    Path("folder.xsd").mkdir()
    Path("folder.xsd/mine.txt").write_text("not ours")
    usual_open, usual_mkdir = Path.open, Path.mkdir

    def refuse(path: Path) -> None:
        if "locked" in str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    def refusing_open(self: Path, *args: Any, **kwargs: Any) -> Any:
        refuse(self)
        return usual_open(self, *args, **kwargs)

    def refusing_mkdir(self: Path, *args: Any, **kwargs: Any) -> None:
        refuse(self)
        usual_mkdir(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refusing_open)
    monkeypatch.setattr(Path, "mkdir", refusing_mkdir)
    before = sorted(prepared.rglob("*"))
    names = ["file/out.xsd", "locked.xsd", f"{'n' * 300}.xsd"]
    if command[0] != "chunk":  # which adds to a directory
        names.append("folder.xsd")
    for name in names:
        result = call(*command, name)
        assert result.exit_code == 2, (name, result.output)
        assert f"{name}: " in result.stderr
        assert ".partial" not in result.output
        assert "internal error" not in result.output
        assert sorted(prepared.rglob("*")) == before


# -- standard output


def test_a_directory_cannot_go_to_standard_output(prepared: Path) -> None:
    for command in (["chunk", "--scheme", "scheme.json", "docs"], ["demo", "--engine", "local"]):
        result = call(*command, "-o", "-")
        assert result.exit_code == 2
        assert "-o takes a directory here; it cannot be standard output (-)" in result.stderr
        assert not Path("-").exists()


def test_an_inferred_schema_can_go_to_standard_output() -> None:
    result = call("infer", "docs", "-o", "-", "--no-progress")
    assert result.exit_code == 0
    Path("s.xsd").write_text(result.stdout, encoding="utf-8")
    assert Schema.load("s.xsd").roots
    Path("docs/3.xml").write_text("<a xmlns='urn:a'><b xmlns='urn:b'/></a>", encoding="utf-8")
    result = call("infer", "docs", "-o", "-", "--no-progress")
    assert result.exit_code == 2
    assert "takes as many files\nHint: write it to a file" in result.stderr


@pytest.mark.parametrize("name", ["infer", "chunk"])
def test_other_commands_reject_files_that_are_not_read(prepared: Path, name: str) -> None:
    scheme = ["--scheme", "scheme.json"] if name == "chunk" else []
    command = [name, *scheme, "docs", "-o", "s.xsd"]
    Path("docs/gone.xml").symlink_to("nowhere.xml")
    result = call(*command, "--no-progress")
    assert result.exit_code == 1
    assert "rejected: docs/gone.xml: a link to nowhere.xml, which does not exist" in result.stderr
    facts = json.loads(call(*command, "--json").stdout)
    assert [one["document"] for one in facts["rejected"]] == ["docs/gone.xml"]
