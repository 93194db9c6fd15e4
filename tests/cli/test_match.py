"""``extract match`` and ``extract run -o -`` as a user calls them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from lxml import etree

from extract.cli import cli
from tests.support.paths import ROOT

QUERIES = "names\t//student/name\nids\t//@id\nmany\tcount(//student)\n"
DOCUMENT = "<db><student id='1'><name>A,&#9;<b/>B\n</name></student><student id='2'/></db>"
SCHEMA = ["--schema", str(ROOT / "schemas" / "university.dtd"), "--root", "db"]


def run(*args: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(cli, args, input=stdin)


def rows(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with queries and documents, where the user stands."""
    monkeypatch.chdir(tmp_path)
    Path("q.tsv").write_text(QUERIES, encoding="utf-8")
    Path("1.xml").write_text(DOCUMENT, encoding="utf-8")
    Path("2.xml").write_text("<db><student id='3'/></db>", encoding="utf-8")
    Path("bad.xml").write_text("<db><student></db>", encoding="utf-8")
    return tmp_path


def test_one_document_without_a_schema() -> None:
    result = run("match", "--queries", "q.tsv", "1.xml")
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "Note: no schema given: inferred from 1 document: 4 elements, 3 edges, 1 attribute, "
        "root db\n"
    )
    found = rows(result)
    assert found[0] == {
        "document": "1.xml",
        "query": "names",
        "node": "element",
        "name": "name",
        "start": 20,
        "end": 45,
        "ordinal": 0,
        "path": "/db[1]/student[1]/name[1]",
        "value": "<name>A,&#9;<b/>B\n</name>",
        "text": "A,\tB\n",
    }
    assert [(row["query"], row["text"]) for row in found[1:]] == [
        ("ids", "1"),
        ("ids", "2"),
        ("many", "2"),
    ]


def test_the_schema_is_the_internal_dtd() -> None:
    declared = "<!DOCTYPE a [<!ELEMENT a (b*)><!ELEMENT b EMPTY>]><a/>"
    Path("a.xml").write_text(declared, encoding="utf-8")
    Path("b.tsv").write_text("b\t//b\nc\t//c\n", encoding="utf-8")
    result = run("match", "-q", "b.tsv", "a.xml")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no schema given: taken from the internal DTD of a.xml" in result.stderr
    assert "query 'c' cannot match" in result.stderr


def test_no_schema_at_all() -> None:
    result = run("match", "-q", "q.tsv", "--schema", "none", "2.xml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [row["value"] for row in rows(result)] == ["3", "1"]


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(packed: bool) -> None:
    data = DOCUMENT.encode()
    result = run(
        "match", "-q", "q.tsv", "-", "--select", "count", stdin=gzip.compress(data) * packed or data
    )
    assert result.exit_code == 0, result.output
    assert rows(result) == [
        {"document": "<stdin>", "query": "names", "count": 1},
        {"document": "<stdin>", "query": "ids", "count": 2},
        {"document": "<stdin>", "query": "many", "count": 1},
    ]


@pytest.mark.parametrize("command", [("match",), ("run", "-o", "-", "-j", "1", "--quiet")])
def test_a_pipe_is_read_for_the_schema_and_for_the_matches(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "extract", *command, "-q", "q.tsv", "-", "--select", "doc"],
        input=DOCUMENT.encode(),
        capture_output=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"<stdin>") == 3


def test_csv_keeps_every_character() -> None:
    result = run("match", "-q", "q.tsv", "1.xml", "--format", "csv", "--quiet")
    found = list(csv.DictReader(io.StringIO(result.stdout, newline="")))
    assert [(row["query"], row["ordinal"], row["text"]) for row in found] == [
        ("names", "0", "A,\tB\n"),
        ("ids", "0", "1"),
        ("ids", "1", "2"),
        ("many", "0", "2"),
    ]
    assert found[3]["path"] == ""
    assert result.stderr == ""


def test_csv_tells_an_empty_text_from_none() -> None:
    Path("q.tsv").write_text("1\t//student\n2\tstring(/db/x)\n", encoding="utf-8")
    result = run("match", "-q", "q.tsv", "2.xml", "--format", "csv", "--quiet")
    assert result.stdout.splitlines()[1:] == [
        "2.xml,1,element,student,4,21,0,/db[1]/student[1],<student id='3'/>,\"\"",
        '2.xml,2,string,,,,0,,"",""',
    ]


def test_tsv_has_one_line_for_each_row() -> None:
    result = run("match", "-q", "q.tsv", "1.xml", "--format", "tsv")
    lines = [line.split("\t") for line in result.stdout.split("\n")[:-1]]
    assert [len(line) for line in lines] == [10] * 5
    assert lines[0][-1] == "text"
    assert lines[1][-1] == r"A,\tB\n"


def test_xml_is_one_document() -> None:
    result = run("match", "-q", "q.tsv", "1.xml", "2.xml", "--format", "xml")
    root = etree.fromstring(result.stdout.encode())
    assert root.xpath("/results/matches/@query") == ["names", "ids", "many", "ids", "many"]
    assert root.xpath("string(//name)") == "A,\tB\n"
    assert root.xpath("//match[@document = '2.xml']/text()") == ["3", "1"]


@pytest.mark.parametrize("select", ["doc", "count"])
@pytest.mark.parametrize("form", ["csv", "tsv", "xml"])
def test_other_formats_of_less(select: str, form: str) -> None:
    args = ["--select", select, "--format", form]
    result = run("match", "-q", "q.tsv", "1.xml", *args)
    assert result.exit_code == 0
    assert result.stdout.count("1.xml") == 3


def test_a_broken_document_does_not_stop_the_others() -> None:
    result = run("match", "-q", "q.tsv", "bad.xml", "2.xml", "--select", "doc", "--quiet")
    assert result.exit_code == 1
    assert "rejected: bad.xml:1:14: </db> closes <student>" in result.stderr
    assert {row["document"] for row in rows(result)} == {"2.xml"}


def test_only_a_broken_document() -> None:
    result = run("match", "-q", "q.tsv", *SCHEMA, "bad.xml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "bad.xml" in result.stderr


@pytest.mark.parametrize("command", ["match", "run"])
def test_only_some_queries(command: str) -> None:
    output = ["-o", "-"] if command == "run" else []
    result = run(command, "-q", "q.tsv", "1.xml", *output, "--query", "many", "--query", "names")
    assert result.exit_code == 0, result.output
    assert [row["query"] for row in rows(result)] == ["names", "many"]


@pytest.mark.parametrize("command", ["match", "run"])
@pytest.mark.parametrize("prepared", [False, True])
def test_a_query_that_is_not_there(command: str, prepared: bool) -> None:
    run("prep", "-q", "q.tsv", "--schema", "none", "-o", "scheme.json")
    source = ["--scheme", "scheme.json"] if prepared else ["-q", "q.tsv"]
    output = ["-o", "-"] if command == "run" else []
    result = run(command, *source, "1.xml", *output, "--query", "name")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no query with the id 'name'" in result.stderr
    assert "did you mean 'names'?" in result.stderr


def test_only_some_queries_of_a_scheme() -> None:
    """Each query gives alone what it gives among the others."""
    queries = (
        "a\t//student\nb\t/db/student/name\nc\t//name[1]\nd\t//name | //zzz\ne\t//zzz\nf\t1 +\n"
    )
    Path("q.tsv").write_text(queries + "g\tcount(//*)\n", encoding="utf-8")
    Path("1.xml").write_text(DOCUMENT.replace("<b/>", ""), encoding="utf-8")  # keeps the schema
    run("prep", "-q", "q.tsv", *SCHEMA, "-o", "scheme.json", "--chunks", "2")
    everything = rows(run("match", "--scheme", "scheme.json", "1.xml"))
    assert {row["query"] for row in everything} == set("abcdg")
    for one in "abcdefg":
        result = run("match", "--scheme", "scheme.json", "1.xml", "--query", one)
        assert rows(result) == [row for row in everything if row["query"] == one]
        assert result.exit_code == (1 if one == "f" else 0)


def test_only_some_queries_of_chunks() -> None:
    run("prep", "-q", "q.tsv", *SCHEMA, "-o", "scheme.json", "--chunks", "2")
    run("chunk", "--scheme", "scheme.json", "2.xml", "-o", "chunks")
    result = run("filter", "--scheme", "scheme.json", "chunks", "--query", "ids", "--format", "csv")
    assert result.exit_code == 0, result.output
    assert [line.split(",")[1] for line in result.stdout.splitlines()] == ["query", "ids"]


def test_how_much_is_said() -> None:
    Path("q.tsv").write_text("".join(f"{n}\t/db/z{n}\n" for n in range(9)), encoding="utf-8")
    said = {
        option: run("match", "-q", "q.tsv", *SCHEMA, "2.xml", *option.split()).stderr
        for option in ("", "--quiet", "--verbose")
    }
    assert [text.count("cannot match:") for text in said.values()] == [5, 0, 9]
    assert said["--quiet"] == ""
    assert "1 document in " in said["--verbose"]
    result = run("match", "-q", "q.tsv", "2.xml", "--quiet", "--verbose")
    assert (result.exit_code, "not both" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "Give one of --queries FILE, -e XPATH and --scheme FILE"),
        (["--scheme", "s.json", "-q", "q.tsv"], "Give one of"),
        (["-e", "//a", "-q", "q.tsv"], "Give one of"),
        (["-e", "//a", "--scheme", "s.json"], "Give one of"),
        (["-e", "//a", "--query", "1"], "--query chooses among"),
        (["-q", "q.tsv", "--root", "db"], "give --schema FILE"),
    ],
)
def test_bad_usage(args: list[str], said: str) -> None:
    result = run("match", "1.xml", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_queries_on_the_command_line() -> None:
    result = run("match", "-e", "//name", "-e", " p:x | //@id", "--ns", "p=urn:p", "1.xml", "2.xml")
    assert result.exit_code == 0, result.output
    assert [(one["document"], one["query"], one["name"]) for one in rows(result)] == [
        ("1.xml", "1", "name"),
        ("1.xml", "2", "id"),
        ("1.xml", "2", "id"),
        ("2.xml", "2", "id"),
    ]
    result = run("match", "-e", "//name[", "-e", "//@id", "--select", "count", "2.xml")
    assert (result.exit_code, rows(result)) == (
        1,
        [{"document": "2.xml", "query": "2", "count": 1}],
    )
    assert "query '1' rejected: expected an expression before the end\n  //name[\n" in result.stderr
    flwr = "for $s in //student return <s>{$s/@id}</s>"
    result = run("match", "-e", flwr, "--select", "output", "2.xml")
    assert rows(result)[0]["output"] == '<s id="3"/>'
    result = run("match", "-e", "for-each(//a, name#1)", "--xpath-version", "3.1", "2.xml")
    assert result.exit_code == 0


def test_rows_go_to_a_file_that_is_whole_or_not_there(here: Path) -> None:
    shown = run("match", "-q", "q.tsv", "1.xml", "--format", "csv")
    result = run("match", "-q", "q.tsv", "1.xml", "--format", "csv", "-o", "rows.csv")
    assert (result.exit_code, result.stdout) == (0, "")
    assert (here / "rows.csv").read_text(encoding="utf-8") == shown.stdout
    result = run("match", "-q", "nothing.tsv", "1.xml", "-o", "rows.csv")
    assert result.exit_code == 2
    assert (here / "rows.csv").read_text(encoding="utf-8") == shown.stdout


def test_queries_and_document_from_one_standard_input() -> None:
    result = run("match", "-q", "-", "-")
    assert (result.exit_code, "both be standard input" in result.stderr) == (2, True)


def test_nothing_large_is_imported_for_a_small_document() -> None:
    """Each of these takes longer to import than the document takes to filter."""
    code = """if True:
        import sys
        from extract.cli import main
        try:
            main(["match", "-q", "q.tsv", "1.xml", "--quiet"])
        except SystemExit as end:
            assert end.code == 0
        large = ["pyarrow", "pandas", "pyspark", "xmlschema", "networkx", "elementpath", "rich"]
        large += ["multiprocessing", "urllib.request", "importlib.metadata"]
        print([name for name in large if name in sys.modules], file=sys.stderr)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.stderr.decode().strip() == "[]"
    assert done.stdout.count(b"\n") == 4


# -- extract run -o -


def test_run_streams_rows() -> None:
    result = run("run", "-q", "q.tsv", "1.xml", "2.xml", "bad.xml", "-o", "-", "--select", "doc")
    assert result.exit_code == 1
    assert [(row["document"], row["query"]) for row in rows(result)] == [
        ("1.xml", "names"),
        ("1.xml", "ids"),
        ("1.xml", "many"),
        ("2.xml", "ids"),
        ("2.xml", "many"),
    ]
    assert "rejected: bad.xml:1: </db> closes <student>" in result.stderr
    assert "documents" in result.stderr
    assert not Path("-").exists()


def test_run_gives_the_rows_of_match() -> None:
    for form in ("jsonl", "csv", "tsv"):
        args = ("-q", "q.tsv", "1.xml", "2.xml", "--format", form, "--quiet")
        assert run("run", *args, "-o", "-").stdout == run("match", *args).stdout


def test_run_prints_the_report_beside_the_rows() -> None:
    result = run("run", "-q", "q.tsv", "2.xml", "-o", "-", "--json", "--quiet")
    facts = json.loads(result.stderr)
    assert facts["engine"] == "local"
    assert facts["schema"]["kind"] == "inferred"
    assert facts["schema"]["notes"][0].startswith("no schema given: inferred from 1 document")
    assert len(rows(result)) == 2


@pytest.mark.parametrize("args", [["--engine", "spark"], ["--format", "parquet"]])
def test_what_needs_a_directory(args: list[str]) -> None:
    result = run("run", "-q", "q.tsv", "1.xml", "-o", "-", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "directory" in result.stderr


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_run_writes_delimited_rows_to_a_directory(form: str) -> None:
    args = ("--engine", "local", "--format", form, "-o", "out")
    assert run("run", "-q", "q.tsv", "1.xml", "bad.xml", *args).exit_code == 1
    text = Path(f"out/matches/part-00000.{form}").read_text(encoding="utf-8")
    assert text == run("match", "-q", "q.tsv", "1.xml", "--format", form).stdout
    rejected = Path(f"out/rejected/part-00000.{form}").read_text(encoding="utf-8")
    head, line = rejected.replace("\t", ",").splitlines()
    assert head == "document,query,stage,reason,line,offset"
    assert line.startswith("bad.xml,,chunk,")


# -- prep and trans without a schema


@pytest.mark.parametrize("command", ["prep", "trans"])
def test_a_schema_of_samples(command: str) -> None:
    result = run(command, "-q", "q.tsv", "--sample", "1.xml", "--sample", "2.xml")
    assert result.exit_code == 0, result.output
    assert "no schema given: inferred from 2 documents" in result.stderr
    assert "/db/student/name" in result.stdout
    quiet = run(command, "-q", "q.tsv", "--sample", "1.xml", "--quiet")
    assert (quiet.exit_code, quiet.stderr) == (0, "")


@pytest.mark.parametrize("command", ["prep", "trans"])
def test_neither_schema_nor_sample(command: str) -> None:
    result = run(command, "-q", "q.tsv")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--sample DOC" in result.stderr
    assert "--schema none" in result.stderr
    assert run(command, "-q", "q.tsv", "--schema", "none").exit_code == 0


def test_files_that_are_not_read_are_rejected() -> None:
    Path("docs").mkdir()
    Path("docs/2.xml").write_text("<db><student id='3'/></db>", encoding="utf-8")
    Path("docs/gone.xml").symlink_to("nowhere.xml")
    result = run("match", "-q", "q.tsv", *SCHEMA, "docs", "--json")
    assert result.exit_code == 1
    assert "rejected: docs/gone.xml: " in result.stderr
    facts = json.loads(result.stderr.splitlines()[-1])["documents"]
    assert (facts["seen"], facts["processed"], facts["rejected"]) == (2, 1, 1)


def test_a_schema_that_the_document_does_not_keep() -> None:
    result = run("match", "-q", "q.tsv", *SCHEMA, "1.xml")
    assert result.exit_code == 1
    assert rows(result)
    assert "the document does not keep the schema" in result.stderr
    assert "it may be the wrong schema" in result.stderr
