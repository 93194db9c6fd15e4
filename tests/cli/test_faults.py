"""What goes wrong, told in the user's words: messages, exit status, and nothing half."""

from __future__ import annotations

import bz2
import json
import lzma
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from extract.cli import cli
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
    Path("docs/broken.xml").write_text("<db>")
    os.mkfifo("docs/pipe.xml")
    usual = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "secret" not in path and usual(path, mode))
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
