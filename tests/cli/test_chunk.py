"""``extract chunk`` and ``extract project`` as a user calls them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from lxml import etree

import extract
from extract.chunktool import chunk_map as maps_module
from extract.chunktool import manifest as manifest_module
from extract.chunktool.chunks import chunk
from extract.chunktool.file_names import directory_name, safe_name
from extract.chunktool.manifest import ChunkMap, Manifest, write_chunks
from extract.chunktool.scan import driver as scanner_module
from extract.cli import cli
from extract.errors import DocumentError
from tests.support.chunk_documents import (
    QUERIES,
    WRONG,
    element_starts,
    university,
    use_window_scanner,
)
from tests.support.paths import SCHEMAS


def run(*args: object, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(cli, list(map(str, args)), input=stdin, prog_name="extract")


@pytest.fixture(scope="module")
def scheme_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scheme") / "scheme.json"
    schema = extract.Schema.load(SCHEMAS / "university.dtd", root="db")
    extract.prepare(schema, extract.Subscriptions.of(QUERIES), chunks=2).save(path)
    return path


@pytest.fixture(scope="module")
def scheme(scheme_file: Path) -> extract.Scheme:
    return extract.Scheme.load(scheme_file)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "b").mkdir(parents=True)
    (folder / "one.xml").write_bytes(university(20, 1))
    (folder / "b" / "one.xml").write_bytes(university(20, 2))
    (folder / "b" / "two.xml.gz").write_bytes(gzip.compress(university(20, 3)))
    return folder


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


FILES = ["1.npz", "1.xml", "2.npz", "2.xml", "manifest.json", "potpourri.npz", "potpourri.xml"]


# -- chunk


def test_a_directory_for_each_document(
    scheme_file: Path, scheme: extract.Scheme, docs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out" / "deep"
    result = run("chunk", "--scheme", scheme_file, docs, "-o", out)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert tree(out) == sorted(f"{d}/{f}" for d in ("one", "one~2", "two") for f in FILES)
    documents = {"one": docs / "one.xml", "one~2": docs / "b/one.xml", "two": docs / "b/two.xml.gz"}
    for name, document in documents.items():
        manifest = Manifest.load(out / name)
        assert manifest.document == str(document)
        assert manifest.verdict == "conforming"
        for entry, part in zip(manifest.chunks, chunk(scheme, document), strict=True):
            assert (out / name / entry.file).read_bytes() == part.xml()
            assert (entry.id, entry.queries) == (part.id, len(part.queries))
            assert (entry.bytes, entry.ranges) == (part.size, len(part.ranges))
            assert entry.elements == len(list(etree.fromstring(part.xml()).iter("*")))
            assert (ChunkMap.load(out / name / entry.map).ranges == part.ranges).all()
    rows = [line.split() for line in result.stderr.splitlines()]
    assert rows[0] == ["chunk", "queries", "elements", "bytes", "share"]
    assert [row[0] for row in rows[1:4]] == ["1", "2", "potpourri"]
    assert "3 documents" in result.stderr
    assert "3 cut, 0 whole, 0 rejected" in result.stderr


@pytest.mark.parametrize("window", [128, 1 << 22])
def test_the_map_leads_back_to_the_original(
    scheme: extract.Scheme, tmp_path: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_window_scanner(monkeypatch, window)
    monkeypatch.setattr(maps_module, "COLUMN_BYTES", 100)  # so that columns go to files
    document = university(60)
    (tmp_path / "doc.xml").write_bytes(document)
    manifest = write_chunks(scheme, tmp_path / "doc.xml", tmp_path / "out", digest="d")
    assert Manifest.load(tmp_path / "out") == manifest
    assert (manifest.scheme, manifest.bytes) == ("d", len(document))
    starts = element_starts(document)
    for entry in manifest.chunks:
        text = (tmp_path / "out" / entry.file).read_bytes()
        table = ChunkMap.load(tmp_path / "out" / entry.map)
        offsets = table.original(np.arange(len(text)))
        assert bytes(document[i] for i in offsets) == text
        assert int(table.original(np.array([len(text)]))[0]) == int(table.ranges[-1, 1])
        assert len(table.starts)
        for start, position in zip(table.starts.tolist(), table.positions.tolist(), strict=True):
            element = starts[start]
            assert position == 1 + len(list(element.itersiblings(element.tag, preceding=True)))
        assert (np.diff(table.starts) > 0).all()


def test_chunks_are_replaced_and_others_are_not(
    scheme_file: Path, docs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    args = ["chunk", "--scheme", scheme_file, "-o", out]
    assert run(*args, docs / "one.xml").exit_code == 0
    (out / "one" / "notes.txt").write_text("mine")
    result = run(*args, docs / "one.xml")
    assert result.exit_code == 2
    assert "one/notes.txt: was not written by extract" in result.stderr
    (out / "one" / "notes.txt").rename(tmp_path / "notes.txt")
    (out / "one" / "1.xml").write_text("old")
    assert run(*args, docs / "one.xml").exit_code == 0
    assert (out / "one" / "1.xml").read_text() != "old"
    assert tree(out) == [f"one/{file}" for file in FILES]
    assert run(*args, docs / "b" / "one.xml").exit_code == 0  # another document of that name
    assert sorted(path.name for path in out.iterdir()) == ["one", "one~2"]
    (out / "two").mkdir()
    (out / "two" / "mine.txt").write_text("precious")
    assert run(*args, docs / "b").exit_code == 0
    assert (out / "two" / "mine.txt").read_text() == "precious"
    assert Manifest.load(out / "two~2").document == str(docs / "b" / "two.xml.gz")


def test_output_among_the_documents_is_left_out(scheme_file: Path, docs: Path) -> None:
    for _ in range(2):
        result = run("chunk", "--scheme", scheme_file, docs, "-o", docs / "out", "--json")
        assert result.exit_code == 0
        assert len(json.loads(result.stdout)["documents"]) == 3
    assert "9 files are not read" in result.stdout


def test_a_bad_document_does_not_stop_the_others(
    scheme_file: Path, docs: Path, tmp_path: Path
) -> None:
    (docs / "bad.xml").write_bytes(university(20)[:-30])
    (docs / "cut.xml.gz").write_bytes(gzip.compress(university(20))[:-30])
    (docs / "wrong.xml").write_bytes(WRONG)
    out = tmp_path / "out"
    result = run("chunk", "--scheme", scheme_file, docs, "-o", out)
    assert result.exit_code == 1
    assert f"rejected: {docs}/bad.xml:" in result.stderr
    assert f"rejected: {docs}/cut.xml.gz: the gzip data ends too early" in result.stderr
    assert "3 cut, 1 whole, 2 rejected" in result.stderr
    assert "wrong.xml:" in result.stderr
    assert "nonconforming, so it is one chunk: /db/professor has a child pet" in result.stderr
    assert sorted(p.name for p in out.iterdir()) == ["one", "one~2", "two", "wrong"]
    assert tree(out / "wrong") == ["document.npz", "document.xml", "manifest.json"]
    assert (out / "wrong" / "document.xml").read_bytes() == WRONG
    facts = json.loads((out / "wrong" / "manifest.json").read_bytes())
    assert facts["verdict"] == "nonconforming"
    assert facts["offset"] == WRONG.index(b"<pet>")
    assert facts["chunks"][0]["fallback"] is True
    assert facts["chunks"][0]["queries"] == len(QUERIES)
    result = run(
        *["chunk", "--scheme", scheme_file, docs, "-o", tmp_path / "strict", "--json"],
        *["--on-nonconforming", "reject"],
    )
    assert result.exit_code == 1
    facts = json.loads(result.stdout)
    assert [os.path.basename(one["document"]) for one in facts["rejected"]] == [
        "bad.xml",
        "cut.xml.gz",
        "wrong.xml",
    ]
    assert facts["rejected"][2]["line"] > 1
    assert len(facts["documents"]) == 3


def test_when_all_are_rejected_nothing_is_left(
    scheme_file: Path, docs: Path, tmp_path: Path
) -> None:
    (docs / "bad.xml").write_bytes(b"<db>")
    result = run("chunk", "--scheme", scheme_file, docs / "bad.xml", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert not (tmp_path / "out").exists()


def test_standard_input(scheme_file: Path, tmp_path: Path) -> None:
    result = run("chunk", "--scheme", scheme_file, "-", "-o", tmp_path, stdin=university(5))
    assert result.exit_code == 0
    assert Manifest.load(tmp_path / "stdin").document == "<stdin>"


def test_json_has_the_same_facts(scheme_file: Path, docs: Path, tmp_path: Path) -> None:
    result = run("chunk", "--scheme", scheme_file, docs, "-o", tmp_path / "out", "--json")
    facts = json.loads(result.stdout)
    assert result.stderr == ""
    assert facts["rejected"] == facts["notes"] == []
    for one in facts["documents"]:
        path = Path(one.pop("directory"))
        assert one == json.loads((path / "manifest.json").read_bytes())
        assert len(one["scheme"]) == 64


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["none.xml", "-o", "out"], "none.xml: there is no such file"),
        (["*.none", "-o", "out"], "no file matches"),
        (["-o", "out"], "Missing argument"),
        (["doc.xml"], "Missing option '--output'"),
        (["doc.xml", "-o", "doc.xml"], "File exists"),
        (["doc.xml", "-o", "out", "--on-nonconforming", "hope"], "hope"),
        (["doc.xml", "-o", "out", "--max-depth", "0"], "--max-depth"),
        (["doc.xml", "-o", "out", "--scheme", "doc.xml"], "doc.xml"),
    ],
)
def test_nothing_done_is_exit_2(
    args: list[str],
    message: str,
    scheme_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "doc.xml").write_bytes(university(5))
    result = run("chunk", "--scheme", scheme_file, *args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_max_depth(scheme_file: Path, docs: Path, tmp_path: Path) -> None:
    args = ["chunk", "--scheme", scheme_file, docs / "one.xml", "-o", tmp_path / "out"]
    assert run(*args, "--max-depth", "2").exit_code == 1
    assert run(*args, "--max-depth", "3").exit_code == 0


class Interrupted:
    """A sink's method that is interrupted when it has seen enough."""

    def __init__(self, take: Any, error: BaseException) -> None:
        self._take, self._error, self._calls = take, error, 0

    def __call__(self, *args: Any) -> None:
        self._take(*args)
        self._calls += 1
        if self._calls == 5:
            raise self._error


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left on device"), 2)]
)
def test_nothing_is_left_behind(
    error: BaseException,
    status: int,
    scheme_file: Path,
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_window_scanner(monkeypatch, 256)
    sink = manifest_module.ChunkFileSink
    interrupted = Interrupted(sink.take, error)
    monkeypatch.setattr(sink, "take", lambda *args: interrupted(*args))
    result = run("chunk", "--scheme", scheme_file, docs, "-o", tmp_path / "out")
    assert result.exit_code == status
    assert not (tmp_path / "out").exists()


def test_a_directory_that_holds_something_else_is_kept(
    scheme: extract.Scheme, docs: Path, tmp_path: Path
) -> None:
    target = tmp_path / "precious"
    target.mkdir()
    with pytest.raises(FileExistsError):
        write_chunks(scheme, docs / "one.xml", target)
    (target / "manifest.json").write_text("{}")  # of another program
    with pytest.raises(FileExistsError):
        write_chunks(scheme, docs / "one.xml", target)
    assert (target / "manifest.json").read_text() == "{}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "precious"]


# -- names


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ("a/b/doc.xml", "doc"),
        ("../../x.xml", "x"),
        ("/etc/passwd", "passwd"),
        ("..", "unnamed"),
        ("...xml", "unnamed"),
        ("a\\..\\b.xml", "b"),
        ("\x1b[2J.xml", "_[2J".replace("[", "_")),
        ("new\nline.xml", "new_line"),
        ("ein Brief.XML.GZ", "ein_Brief"),
        ("日本.xml", "日本"),
        ("x" * 300 + ".xml", "x" * 120),
        ("\udcff.xml", "_"),
        ("dir/.xml", "xml"),
        ("-rf.xml", "-rf"),
    ],
)
def test_names_of_directories_are_harmless(document: str, name: str) -> None:
    assert directory_name(document) == name
    assert safe_name(name) == name


def test_odd_names_stay_inside(scheme_file: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    odd = (b"a b.xml", b"\xff.xml", b"new\nline.xml", b"..xml", b"...xml", b"A B.xml")
    for each in odd:
        with open(os.path.join(os.fsencode(docs), each), "wb") as stream:
            stream.write(university(5))
    (docs / "sub").mkdir()
    files = [str(path) for path in docs.iterdir() if path.is_file()]
    result = run("chunk", "--scheme", scheme_file, *files, "-o", tmp_path / "out" / "in")
    assert result.exit_code == 0, result.stderr
    made = sorted(path.name for path in (tmp_path / "out" / "in").iterdir())
    assert len(made) == 6
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["in"]
    for name in made:
        assert Manifest.load(tmp_path / "out" / "in" / name).document in files
    again = run("chunk", "--scheme", scheme_file, *files, "-o", tmp_path / "out" / "in")
    assert again.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "out" / "in").iterdir()) == made


# -- manifests


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "damaged"),
        ("[]", "damaged"),
        ("{}", "damaged"),
        ('{"format": 2}', "format 2"),
        ('{"format": 1, "verdict": "hm"}', "damaged"),
    ],
)
def test_a_manifest_that_is_none(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DocumentError, match=said) as caught:
        Manifest.load(tmp_path)
    assert "extract chunk" in caught.value.hint


def test_a_manifest_cannot_lead_elsewhere(
    scheme: extract.Scheme, docs: Path, tmp_path: Path
) -> None:
    write_chunks(scheme, docs / "one.xml", tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    path.write_text(path.read_text().replace('"1.xml"', '"../../1.xml"'))
    with pytest.raises(DocumentError, match="outside of the directory"):
        Manifest.load(tmp_path / "out")
    (tmp_path / "out" / "1.npz").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(DocumentError, match="cannot be read"):
        ChunkMap.load(tmp_path / "out" / "1.npz")


# -- project


@pytest.fixture
def small(scheme: extract.Scheme, docs: Path) -> bytes:
    return extract.Prefilter(scheme).project(docs / "one.xml")


def test_project_in_a_pipe(scheme_file: Path, docs: Path, small: bytes) -> None:
    document = (docs / "one.xml").read_bytes()
    result = run("project", "--scheme", scheme_file, "-", stdin=document)
    assert (result.exit_code, result.stdout_bytes, result.stderr) == (0, small, "")
    result = run("project", "--scheme", scheme_file, docs / "one.xml", "-o", "-")
    assert result.stdout_bytes == small
    result = run("project", "--scheme", scheme_file, "-", stdin=gzip.compress(document))
    assert result.stdout_bytes == small


def test_project_to_a_file(scheme_file: Path, docs: Path, small: bytes, tmp_path: Path) -> None:
    target = tmp_path / "small.xml"
    args = ["project", "--scheme", scheme_file, docs / "one.xml", "-o", target]
    result = run(*args)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert target.read_bytes() == small
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "small.xml"]
    facts = json.loads(run(*args, "--json").stderr)
    assert facts["written"] == len(small)
    assert facts["bytes"] == len((docs / "one.xml").read_bytes())
    assert facts["verdict"] == "conforming"


def test_project_of_a_bad_document(scheme_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "small.xml"
    target.write_bytes(b"old")
    result = run("project", "--scheme", scheme_file, "-", "-o", target, stdin=b"<db>\n<student")
    assert result.exit_code == 1
    assert result.stderr.startswith("rejected: <stdin>:2:")
    assert target.read_bytes() == b"old"
    result = run("project", "--scheme", scheme_file, "-", stdin=b"<db>")
    assert (result.exit_code, result.stdout) == (1, "")
    result = run("project", "--scheme", scheme_file, tmp_path / "none.xml")
    assert result.exit_code == 2
    assert "no such file" in result.stderr
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_bytes(b"<db/>")
    result = run("project", "--scheme", scheme_file, tmp_path)
    assert result.exit_code == 2
    assert "these are 3 documents, not one" in result.stderr


def test_project_of_a_nonconforming_document(scheme_file: Path) -> None:
    args = ["project", "--scheme", scheme_file, "-"]
    result = run(*args, stdin=WRONG)
    assert (result.exit_code, result.stdout_bytes) == (0, WRONG)
    assert "nonconforming, so it is passed on whole: /db/professor has" in result.stderr
    result = run(*args, "--on-nonconforming", "reject", stdin=WRONG)
    assert (result.exit_code, result.stdout_bytes) == (1, b"")
    assert "the document breaks the schema" in result.stderr
    assert "Hint" in result.stderr


def test_project_of_a_trusted_document(scheme_file: Path, docs: Path, small: bytes) -> None:
    args = ["project", "--scheme", scheme_file, "--assume-valid", "-"]
    document = (docs / "one.xml").read_bytes()
    assert run(*args, stdin=document).stdout_bytes == small
    assert run(*args, stdin=document[:-10]).exit_code == 1


@pytest.fixture
def command(scheme_file: Path) -> list[str]:
    return [sys.executable, "-m", "extract", "project", "--scheme", str(scheme_file), "-"]


def test_a_real_pipe_that_nobody_reads(command: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        command, input=university(20_000), stdout=write, stderr=subprocess.PIPE, timeout=60
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(shutil.which("xmllint") is None, reason="xmllint is not there")
def test_in_front_of_xmllint(command: list[str]) -> None:
    document = university(50)
    made = subprocess.run(command, input=document, capture_output=True, timeout=60, check=True)
    xpath = ["xmllint", "--xpath", "count(//student/name)", "-"]
    found = subprocess.run(xpath, input=made.stdout, capture_output=True, timeout=60, check=True)
    assert int(found.stdout) == document.count(b"<student")


def test_the_environment_is_checked(scheme_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(scanner_module.ENVIRONMENT, "perhaps")
    result = run("project", "--scheme", scheme_file, "-", stdin=b"<db/>")
    assert result.exit_code == 2
    assert "EXTRACT_KERNEL is 'perhaps'" in result.stderr
