"""``extract infer`` as a user calls it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lxml import etree

from extract.cli import cli
from extract.schema.model import Schema


def run(*args: object, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(cli, list(map(str, args)), input=stdin, prog_name="extract")


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "one.xml").write_bytes(b"<a><b x='1'>t</b></a>")
    (folder / "two.xml.gz").write_bytes(gzip.compress(b"<a><b/><c/></a>"))
    return folder


@pytest.mark.parametrize("name", ["s.xsd", "s.dtd"])
def test_a_schema_from_a_directory(documents: Path, tmp_path: Path, name: str) -> None:
    result = run("infer", documents, "-o", tmp_path / name)
    assert result.exit_code == 0, result.output
    assert "inferred from 2 documents: 3 elements, 2 edges, 1 attribute, root a" in result.output
    schema = Schema.load(tmp_path / name)
    assert {d.name for d in schema.declarations} == {"a", "b", "c"}


def test_several_namespaces_are_several_files(tmp_path: Path) -> None:
    document = b"<a xmlns='urn:a' xmlns:b='urn:b'><b:c/></a>"
    result = run("infer", "-", "-o", tmp_path / "s.xsd", "--json", stdin=document)
    facts = json.loads(result.stdout)
    assert facts["files"] == [str(tmp_path / "s.xsd"), str(tmp_path / "s-b.xsd")]
    assert (facts["documents"], facts["rejected"], facts["bytes"]) == (1, [], len(document))
    validator = etree.XMLSchema(etree.parse(str(tmp_path / "s.xsd")))
    assert validator.validate(etree.fromstring(document))


def test_a_broken_document_is_rejected_and_the_others_go_on(
    documents: Path, tmp_path: Path
) -> None:
    (documents / "broken.xml").write_bytes(b"<a><zzz></a>")
    result = run("infer", documents, "-o", tmp_path / "s.dtd")
    assert result.exit_code == 1
    assert "broken.xml:1" in result.output
    assert "1 rejected" in result.output
    assert "zzz" not in (tmp_path / "s.dtd").read_text()


def test_all_documents_are_broken(tmp_path: Path) -> None:
    (tmp_path / "broken.xml").write_bytes(b"<a>")
    result = run("infer", tmp_path / "broken.xml", "-o", tmp_path / "s.dtd")
    assert result.exit_code == 2
    assert "there is no document to infer a schema from" in result.output
    assert not (tmp_path / "s.dtd").exists()


def test_what_a_dtd_cannot_say_has_a_hint(tmp_path: Path) -> None:
    for number, prefix in enumerate("pq"):
        document = f"<{prefix}:a xmlns:{prefix}='urn:x'/>"
        (tmp_path / f"{number}.xml").write_text(document)
    result = run("infer", tmp_path, "-o", tmp_path / "s.dtd")
    assert result.exit_code == 2
    assert "several prefixes: p:a, q:a" in result.output
    assert "Hint: " in result.output
    assert ".xsd" in result.output
    assert run("infer", tmp_path, "-o", tmp_path / "s.xsd").exit_code == 0


def test_a_name_that_is_no_schema(documents: Path, tmp_path: Path) -> None:
    result = run("infer", documents, "-o", tmp_path / "s.rng")
    assert result.exit_code == 2
    assert "ends in .xsd or .dtd" in result.output


def test_no_document(tmp_path: Path) -> None:
    result = run("infer", tmp_path / "nowhere", "-o", tmp_path / "s.xsd")
    assert result.exit_code == 2
    assert "there is no such file" in result.output


def test_progress(documents: Path, tmp_path: Path) -> None:
    result = run("infer", documents, "-o", tmp_path / "s.xsd", "--progress")
    assert "2/2 documents" in result.output


def test_help_has_an_example() -> None:
    assert "extract infer news/" in run("infer", "--help").output
