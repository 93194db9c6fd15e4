"""Hostile documents: each has its expected row, and every engine gives the same."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import extract
from extract.cli import cli
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.job import Job
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.output.directory import result_directory
from extract.filtertool.results.outcome import DocumentOutcome
from tests.support.hostile import DTD, QUERIES, SECRET, Hostile, corpus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = sorted(corpus(""))


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("secret") / "secret.txt"
    path.write_text(SECRET)
    return str(path)


@pytest.fixture(scope="module")
def hostile(secret: str) -> dict[str, Hostile]:
    return corpus(secret)


@pytest.fixture(scope="module")
def schema_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schema") / "a.dtd"
    path.write_text(DTD)
    return path


@pytest.fixture(scope="module")
def scheme(schema_file: Path) -> extract.Scheme:
    schema = extract.Schema.load(schema_file, root="a")
    return extract.prepare(schema, extract.Subscriptions.of(QUERIES), chunks=2)


@pytest.fixture(scope="module")
def docs(hostile: dict[str, Hostile], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "docs"
    folder.mkdir()
    for name, one in hostile.items():
        (folder / f"{name}.xml").write_bytes(one.data)
    return folder


def check(name: str, one: Hostile, reasons: list[str], rows: int, said: str) -> None:
    """The verdict on one document is the expected one, and nothing of other files is in it."""
    assert SECRET not in said
    if one.data and (one.rejected or not one.rows):
        assert len(reasons) == 1, f"{name} is not rejected"
        assert one.rejected in reasons[0]
        assert not rows
    elif one.rows:
        assert not reasons
        assert rows == one.rows, name


@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "reference"])
@pytest.mark.parametrize("name", NAMES)
def test_both_scanners_give_the_expected_verdict(
    name: str, kernel: bool, scheme: extract.Scheme, hostile: dict[str, Hostile]
) -> None:
    one = hostile[name]
    done = processed(scheme, one.data, kernel)
    said = repr(done.findings.described.lists())
    check(name, one, [each.reason for each in done.rejections], len(done.findings), said)
    assert all(each.query is None for each in done.rejections)


def processed(
    scheme: extract.Scheme, document: bytes, kernel: bool | None = None
) -> DocumentOutcome:
    filter_ = document_filter(scheme, load_matcher("auto"), Options(kernel=kernel))
    (done,) = filter_.process([("doc.xml", document)])
    return done


def in_order(folder: Path) -> list[dict[str, Any]]:
    """All rows of a directory of JSON lines."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl"))]
    found = [json.loads(line) for line in "".join(texts).splitlines()]
    return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.fixture(scope="module")
def local_results(scheme: extract.Scheme, docs: Path) -> Path:
    from extract.pipeline import run

    target = docs.parent / "local"
    run(scheme, sorted(map(str, docs.iterdir())), target, form="jsonl", jobs=2)
    return target


def test_the_local_engine_gives_the_expected_rows(
    local_results: Path, docs: Path, hostile: dict[str, Hostile]
) -> None:
    matches, rejected = in_order(local_results / "matches"), in_order(local_results / "rejected")
    for name, one in hostile.items():
        document = str(docs / f"{name}.xml")
        ours = [row for row in matches if row["document"] == document]
        reasons = [row["reason"] for row in rejected if row["document"] == document]
        check(name, one, reasons, len(ours), repr(ours))
    assert json.loads((local_results / "report.json").read_text())["documents"]["seen"] == len(
        NAMES
    )


def test_spark_gives_the_same_rows(
    spark: SparkSession, scheme: extract.Scheme, local_results: Path, docs: Path
) -> None:
    from extract.chunktool.input.find import find_inputs
    from extract.filtertool.spark.engine import run_into_directory

    target = docs.parent / "spark"
    with result_directory(target) as partial:
        job = Job(scheme, load_matcher(), Options())
        run_into_directory(spark.sparkContext, job, find_inputs([str(docs)]), partial, "jsonl")
    for kind in ("matches", "rejected"):
        assert in_order(target / kind) == in_order(local_results / kind)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Somebody who would hear of it if a document made us call the network."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def test_nothing_opens_a_network_connection(
    listener: socket.socket, scheme: extract.Scheme, tmp_path: Path
) -> None:
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
    for one in corpus("").values():
        if b"127.0.0.1:9" in one.data:
            document = one.data.replace(b"http://127.0.0.1:9/x", address.encode())
            for kernel in (True, False):
                processed(scheme, document, kernel)
    for suffix, text in {
        "dtd": f'<!ENTITY % p SYSTEM "{address}.dtd"> %p; <!ELEMENT a EMPTY>',
        "xsd": '<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema">'
        f'<s:import namespace="u" schemaLocation="{address}.xsd"/><s:element name="a"/></s:schema>',
    }.items():
        (tmp_path / f"a.{suffix}").write_text(text)
        with pytest.raises(extract.SchemaError):
            extract.Schema.load(tmp_path / f"a.{suffix}", root="a")
    with pytest.raises(BlockingIOError):
        listener.accept()


# -- what lies in a directory


def run_local(*args: object) -> Any:
    arguments = ["run", "--engine", "local", "--format", "jsonl", *map(str, args)]
    return CliRunner().invoke(cli, arguments, prog_name="extract")


def test_pipes_devices_and_links_out_of_the_tree_are_left_out(
    scheme: extract.Scheme, secret: str, tmp_path: Path
) -> None:
    scheme.save(tmp_path / "scheme.json")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "good.xml").write_bytes(b"<a><b/></a>")
    (docs / "link-inside.xml").symlink_to(docs / "good.xml")
    (docs / "link-outside.xml").symlink_to(secret)
    (docs / "link-to-itself.xml").symlink_to(docs / "link-to-itself.xml")
    (docs / "folder.xml").symlink_to(tmp_path)
    os.mkfifo(docs / "pipe.xml")
    (docs / "device.xml").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(docs / "socket.xml"))
        result = run_local("--scheme", tmp_path / "scheme.json", docs, "-o", tmp_path / "out")
    assert result.exit_code == 1, result.output
    documents = {row["document"] for row in in_order(tmp_path / "out/matches")}
    assert documents == {str(docs / "good.xml"), str(docs / "link-inside.xml")}
    rejected = {row["document"]: row["stage"] for row in in_order(tmp_path / "out/rejected")}
    names = ("link-outside", "link-to-itself", "folder", "pipe", "device", "socket")
    assert rejected == {str(docs / f"{name}.xml"): "find" for name in names}


def test_a_device_that_never_ends_passes_a_limit(scheme: extract.Scheme) -> None:
    with pytest.raises(extract.DocumentError):
        list(extract.match(scheme, "/dev/zero"))


# -- names that want to be elsewhere

IDS = [
    "../../escaped",
    "/tmp/absolute",
    "..",
    ".",
    "a/b",
    "a\\b",
    "\u202egnp",
    "line\nbreak",
    "\x1b[31mred",
    "bell\x07",
    "x" * 5_000,
    "CON",
    "a b",
    "-rf",
    "~",
    "$(touch x)",
    "%2e%2e",
]


def test_ids_of_queries_stay_in_the_directory(schema_file: Path, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "doc.xml").write_bytes(b"<a><b/></a>")
    lines = [json.dumps({"id": one, "xpath": "//b"}) for one in IDS]
    (inside / "queries.jsonl").write_text("\n".join(lines))
    args = ["run", "--engine", "local", "--format", "xml", "-s", schema_file, "--root", "a"]
    args += ["-q", inside / "queries.jsonl", inside / "doc.xml", "-o", inside / "out"]
    result = CliRunner().invoke(cli, list(map(str, args)), prog_name="extract")
    assert result.exit_code == 0, result.output
    assert os.listdir(tmp_path) == ["inside"]
    files = sorted((inside / "out/matches").iterdir())
    assert len(files) == len(IDS)
    assert all(stat.S_ISREG(os.lstat(path).st_mode) for path in files)
    assert all(path.name.isprintable() and not path.name.startswith(".") for path in files)
    assert "\x1b" not in result.output


def test_ids_from_strangers_do_not_speak_to_the_terminal(schema_file: Path, tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"{one}!", "xpath": "//["}) for one in IDS]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines))
    args = ["prep", "-s", schema_file, "--root", "a", "--chunks", "1"]
    args += ["-q", tmp_path / "queries.jsonl", "-o", tmp_path / "scheme.json"]
    result = CliRunner().invoke(cli, list(map(str, args)), prog_name="extract")
    assert result.exit_code == 1
    assert not {"\x1b", "\x07", "\u202e"} & set(result.output)


def test_documents_stay_in_the_directory(scheme: extract.Scheme, tmp_path: Path) -> None:
    scheme.save(tmp_path / "scheme.json")
    docs = tmp_path / "docs"
    for name in ("..xml", "...xml", "-o.xml", "a\nb.xml", "\u202eb.xml", "x" * 240 + ".xml"):
        (docs / "in").mkdir(parents=True, exist_ok=True)
        (docs / "in" / name).write_bytes(b"<a><b/></a>")
    (docs / "in" / os.fsdecode(b"\xff\xfe.xml")).write_bytes(b"<a/>")
    args = ["chunk", "--scheme", tmp_path / "scheme.json", docs, "-o", tmp_path / "out"]
    result = CliRunner().invoke(cli, list(map(str, args)), prog_name="extract")
    assert result.exit_code == 0, result.output
    assert sorted(os.listdir(tmp_path)) == ["docs", "out", "scheme.json"]
    found = os.listdir(tmp_path / "out")
    assert len(found) == len(os.listdir(docs / "in")) - 2  # names that begin with a dot are hidden
    assert all(name.isprintable() for name in found)


def test_thousands_of_ids_with_one_file_name_take_no_longer_than_others() -> None:
    from extract.chunktool.file_names import FileNames, safe_name

    names, asked = FileNames(), 0

    def free(_: str) -> bool:
        nonlocal asked
        asked += 1
        return True

    taken = {names.take(safe_name(f"{n}/same"), free) for n in range(2_000)}
    assert len(taken) == 2_000
    assert asked <= 4_000
