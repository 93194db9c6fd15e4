"""``extract run`` and ``extract filter`` as a user calls them."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from extract.cli import cli
from tests.support.paths import ROOT

SCHEMA = ["--schema", str(ROOT / "schemas" / "university.dtd"), "--root", "db"]
QUERIES = "names\t//student/name\nmail\t//*[email]\nmany\tcount(//url)\nnone\t/db/zzz\n"
GOOD = "<db><student id='{0}'><name>{0}</name></student><professor><email/></professor></db>"


def run(*args: str, stdin: str = "") -> Result:
    if (
        args[0] == "run" and "--engine" not in args
    ):  # tests/filtertool/spark/test_spark.py has the other one
        args = (*args, "--engine", "local")
    return CliRunner().invoke(cli, args, input=stdin)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with queries and documents, where the user stands."""
    monkeypatch.chdir(tmp_path)
    Path("q.tsv").write_text(QUERIES, encoding="utf-8")
    Path("docs/deep").mkdir(parents=True)
    for n in range(6):
        Path(f"docs/{n}.xml").write_text(GOOD.format(n), encoding="utf-8")
    Path("docs/deep/0.xml.gz").write_bytes(gzip.compress(GOOD.format(7).encode()))
    Path("docs/other.txt").write_text("no XML")
    return tmp_path


def rows(directory: str = "out", what: str = "matches") -> list[dict[str, Any]]:
    """The rows of a result directory, Parquet or JSON lines."""
    folder = Path(directory, what)
    if any(folder.glob("*.parquet")):
        found: list[dict[str, Any]] = parquet.read_table(folder).to_pylist()
        return found
    text = (folder / "part-00000.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def report(directory: str = "out") -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(Path(directory, "report.json").read_text(encoding="utf-8"))
    return facts


def check_account(directory: str = "out") -> None:
    """The numbers of a report add up, with each other and with the rows."""
    facts, rejected = report(directory), rows(directory, "rejected")
    documents, queries = facts["documents"], facts["queries"]
    assert documents["seen"] == documents["processed"] + documents["rejected"]
    assert documents["processed"] == documents["conforming"] + documents["whole"]
    assert queries["registered"] == (
        queries["satisfiable"] + queries["unsatisfiable"] + queries["rejected"]
    )
    assert facts["matches"] == len(rows(directory))
    by_document = [row for row in rejected if row["query"] is None]
    by_query = [row for row in rejected if row["document"] is None]
    assert len(by_document) == documents["rejected"]
    assert len(by_query) == queries["rejected"]
    rest = len(rejected) - len(by_document) - len(by_query)
    assert rest == facts["rejected_evaluations"]


def test_everything(here: Path) -> None:
    result = run("run", *SCHEMA, "--queries", "q.tsv", "docs", "-o", "out")
    assert result.exit_code == 0, result.output
    assert "Results are in out" in result.stdout
    found = rows()
    assert [row["document"] for row in found if row["query"] == "names"] == [
        *[f"docs/{n}.xml" for n in range(6)],
        "docs/deep/0.xml.gz",
    ]
    assert found[0] == {
        "document": "docs/0.xml",
        "query": "names",
        "node": "element",
        "name": "name",
        "start": 20,
        "end": 34,
        "ordinal": 0,
        "path": "/db[1]/student[1]/name[1]",
        "value": "<name>0</name>",
    }
    assert len(found) == 7 * 3
    facts = report()
    assert facts["documents"]["seen"] == 7
    assert facts["queries"]["registered"] == 4
    assert facts["queries"]["unsatisfiable"] == 1
    assert facts["engine"] == "local"
    assert facts["bytes"] == 7 * len(GOOD.format(1))
    assert {"prepare", "chunk", "match", "rows", "write"} <= set(facts["seconds"])
    check_account()
    assert sorted(path.name for path in here.iterdir()) == ["docs", "out", "q.tsv"]


@pytest.mark.parametrize("jobs", ["1", "2", "3"])
def test_rows_do_not_depend_on_how_many_processes_there_are(here: Path, jobs: str) -> None:
    args = ["--queries", "q.tsv", "docs/*.xml", "--format", "jsonl", "-o", "out"]
    result = run("run", *SCHEMA, *args, "--jobs", jobs)
    assert result.exit_code == 0
    names = [row["document"] for row in rows() if row["query"] == "mail"]
    assert names == [f"docs/{n}.xml" for n in range(6)]
    check_account()


@pytest.mark.parametrize("chunks", ["1", "2", "8", "auto"])
@pytest.mark.parametrize("select", ["doc", "count"])
def test_less_can_be_selected(here: Path, chunks: str, select: str) -> None:
    args = ["--queries", "q.tsv", "docs/1.xml", "--select", select, "--chunks", chunks]
    assert run("run", *SCHEMA, *args, "-o", "out").exit_code == 0
    wanted: list[dict[str, Any]] = [
        {"document": "docs/1.xml", "query": "names"},
        {"document": "docs/1.xml", "query": "mail"},
    ]
    assert rows() == (wanted if select == "doc" else [{**row, "count": 1} for row in wanted])
    check_account()


def test_a_scheme_can_be_prepared_before(here: Path) -> None:
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "2", "-o", "scheme.json")
    result = run("run", "--scheme", "scheme.json", "docs", "-o", "out")
    assert result.exit_code == 0
    assert len(rows()) == 21


def test_one_document_for_each_query(here: Path) -> None:
    result = run("run", *SCHEMA, "--queries", "q.tsv", "docs", "--format", "xml", "-o", "out")
    assert result.exit_code == 0
    assert sorted(path.name for path in Path("out/matches").iterdir()) == [
        "mail.xml",
        "many.xml",
        "names.xml",
        "none.xml",
    ]
    assert Path("out/matches/names.xml").read_text().count("<match ") == 7


def test_what_is_broken_is_rejected_and_the_rest_goes_on(here: Path) -> None:
    Path("q.tsv").write_text(QUERIES + "bad\t//a[\n", encoding="utf-8")
    Path("docs/broken.xml").write_text("<db>\n<student></db>")
    Path("docs/empty.xml").write_text("")
    Path("docs/wrong.xml").write_text("<db><zzz/></db>")
    for form in ("parquet", "jsonl"):
        args = ["--queries", "q.tsv", "docs", "--format", form, "-o", "out"]
        result = run("run", *SCHEMA, *args)
        assert result.exit_code == 1
        assert "docs/broken.xml:2" in result.stderr
        check_account()
        assert report()["documents"] == {
            "seen": 10,
            "processed": 8,
            "conforming": 7,
            "whole": 1,
            "nonconforming": 1,
            "rejected": 2,
        }
        found = {(row["document"], row["query"]) for row in rows()}
        assert ("docs/wrong.xml", "none") in found
        first = rows("out", "rejected")[0]
        assert (first["document"], first["query"], first["stage"]) == (None, "bad", "prepare")
        assert (first["line"], first["offset"]) == (5, 4)
        broken = next(r for r in rows("out", "rejected") if r["document"] == "docs/broken.xml")
        assert (broken["stage"], broken["line"]) == ("chunk", 2)


def test_queries_that_a_scheme_rejects_are_told_wherever_it_is_used(here: Path) -> None:
    Path("q.tsv").write_text(QUERIES + "bad\t//a[\n", encoding="utf-8")
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "2", "-o", "s.json")
    result = run("run", "--scheme", "s.json", "docs", "-o", "out", "--json")
    assert result.exit_code == 1
    assert "query 'bad' rejected: expected an expression" in result.stderr
    assert json.loads(result.stdout)["queries"]["rejected"] == 1
    run("chunk", "--scheme", "s.json", "docs", "-o", "chunks")
    result = run("filter", "--scheme", "s.json", "chunks", "-o", "m.jsonl")
    assert result.exit_code == 1
    assert "query 'bad' rejected: expected an expression" in result.stderr
    result = run("filter", "--scheme", "s.json", "chunks", "-o", "m.jsonl", "--json")
    (told,) = json.loads(result.stderr)["rejected"]
    assert (told["id"], told["line"], told["offset"]) == ("bad", 5, 4)


def test_many_rejected_documents_do_not_flood_the_screen(here: Path) -> None:
    for n in range(30):
        Path(f"docs/broken{n}.xml").write_text("<db>")
    result = run("run", *SCHEMA, "--queries", "q.tsv", "docs", "-o", "out")
    assert result.stderr.count("rejected: docs/broken") == 20
    assert "… and more of 30 rejections, all in out/rejected" in result.stderr


def test_documents_that_break_the_schema_can_be_rejected(here: Path) -> None:
    Path("docs/wrong.xml").write_text("<db><zzz/></db>")
    args = ["--queries", "q.tsv", "docs", "--on-nonconforming", "reject", "-o", "out"]
    result = run("run", *SCHEMA, *args)
    assert result.exit_code == 1
    check_account()
    assert report()["documents"]["nonconforming"] == 1
    ((row),) = rows("out", "rejected")
    assert (row["document"], row["offset"]) == ("docs/wrong.xml", 4)


def test_json_prints_the_report(here: Path) -> None:
    result = run("run", *SCHEMA, "--queries", "q.tsv", "docs", "-o", "out", "--json")
    assert json.loads(result.stdout) == report()


def test_standard_input_is_a_document(here: Path) -> None:
    args = ["--queries", "q.tsv", "-", "-o", "out"]
    assert run("run", *SCHEMA, *args, stdin=GOOD.format(1)).exit_code == 0
    assert {row["document"] for row in rows()} == {"<stdin>"}


def test_a_document_that_is_named_twice_is_filtered_once(here: Path) -> None:
    args = ["docs/1.xml", "./docs/1.xml", "docs/[1].xml", "-o", "out"]
    assert run("run", *SCHEMA, "--queries", "q.tsv", *args).exit_code == 0
    assert report()["documents"]["seen"] == 1


def test_documents_of_one_name_are_told_apart(here: Path) -> None:
    Path("docs/deep/0.xml").write_text(GOOD.format(9))
    args = ["docs/0.xml", "docs/deep/0.xml", "-o", "out"]
    assert run("run", *SCHEMA, "--queries", "q.tsv", *args).exit_code == 0
    assert {row["document"] for row in rows()} == {"docs/0.xml", "docs/deep/0.xml"}


def test_values_can_be_limited(here: Path) -> None:
    args = ["docs/1.xml", "--max-value-bytes", "5", "-o", "out"]
    assert run("run", *SCHEMA, "--queries", "q.tsv", *args).exit_code == 0
    assert [row["value"] for row in rows()] == [None, None, "0"]


def test_results_are_replaced_and_other_things_are_not(here: Path) -> None:
    args = ["run", *SCHEMA, "--queries", "q.tsv", "docs", "-o"]
    assert run(*args, "out").exit_code == 0
    assert run(*args, "out", "--select", "doc").exit_code == 0
    assert list(rows()[0]) == ["document", "query"]
    result = run(*args, "docs")
    assert result.exit_code == 2
    assert "exists and was not written by extract" in result.stderr
    assert Path("docs/0.xml").exists()


def test_results_are_no_documents(here: Path) -> None:
    """They may lie among the documents, and be found by a link."""
    Path("again").symlink_to("docs")
    args = ["run", *SCHEMA, "--queries", "q.tsv", "docs", "-o", "docs/out", "--format", "xml"]
    assert run(*args).exit_code == 0
    assert list(Path("docs/out").rglob("*.xml"))
    Path("docs/link.xml").symlink_to(next(Path("docs/out").rglob("*.xml")).relative_to("docs"))
    documents = {f"docs/{n}.xml" for n in range(6)} | {"docs/deep/0.xml.gz"}
    for top in ("docs", "again", "docs/../docs"):
        args = [*SCHEMA, "--queries", "q.tsv", top, "docs/*.xml", "-o", "again/out"]
        assert run("run", *args).exit_code == 0
        assert {os.path.realpath(row["document"]) for row in rows("docs/out")} == {
            os.path.realpath(one) for one in documents
        }
        assert run("run", *args, "--format", "xml").exit_code == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "Give --scheme, or --schema and --queries"),
        (["--scheme", "x.json", "--queries", "q.tsv"], "not both"),
        (["--scheme", "x.json"], "x.json"),
        ([*SCHEMA, "--queries", "nothing.tsv"], "nothing.tsv"),
        ([*SCHEMA, "--queries", "q.tsv", "--chunks", "many"], "'many' is neither"),
        ([*SCHEMA, "--queries", "q.tsv", "--chunks", "0"], "cannot be cut into 0 chunks"),
        ([*SCHEMA, "--queries", "q.tsv", "--master", "local"], "are for --engine spark"),
        ([*SCHEMA, "--queries", "q.tsv", "--matcher", "magic"], "there is no matcher 'magic'"),
        ([*SCHEMA, "--queries", "q.tsv", "--select", "all"], "--select"),
        ([*SCHEMA, "--queries", "q.tsv", "missing.xml"], "missing.xml"),
        ([*SCHEMA, "--queries", "q.tsv", "missing*.xml"], "no file matches"),
        (
            [*SCHEMA, "--queries", "q.tsv", "empty"],
            "there is no file named *.xml in",
        ),
    ],
)
def test_nothing_done_is_exit_2(here: Path, args: list[str], message: str) -> None:
    Path("empty").mkdir()
    result = run("run", *args, "docs", "-o", "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("out").exists()


def test_heavy_chunks_come_first_when_asked_for(here: Path) -> None:
    queries = [
        {"id": "light", "xpath": "/db/professor/email", "weight": 1},
        {"id": "heavy", "xpath": "/db/student/name", "weight": 9},
    ]
    Path("q.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in queries))
    args = ["run", *SCHEMA, "--queries", "q.jsonl", "docs", "-n", "2", "--jobs", "1", "-o", "out"]
    found = []
    for more, order in (([], ["1", "2"]), (["--priority"], ["2", "1"])):
        assert run(*args, *more, "--matcher", "lxml").exit_code == 0
        found.append(rows())
        chunks = report()["chunks"]
        assert list(chunks) == order
    assert found[0] == found[1]
    assert all(0 < one["first_answer_ms"] <= one["last_answer_ms"] for one in chunks.values())


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["-o", "out"], "Hint: for example, extract run --schema"),
        (["docs", *SCHEMA, "--queries", "//student", "-o", "out"], "echo '//student' | "),
        (["docs", *SCHEMA, "--queries", "q.tsv", "-o", "docs"], "Hint: choose another name"),
        (["nothing", *SCHEMA, "--queries", "q.tsv", "-o", "out"], "Hint: check the name"),
    ],
)
def test_a_slip_on_the_command_line_has_a_hint(here: Path, args: list[str], hint: str) -> None:
    result = run("run", *args)
    assert result.exit_code == 2
    assert hint in result.stderr
    assert not Path("out").exists()


def test_what_is_odd_about_queries_and_documents_is_told(here: Path) -> None:
    Path("q.tsv").write_text("slip\t//studnet\nbroken\t//student[\n", encoding="utf-8")
    Path("docs/odd.xml").write_text("<db><student><pet/></student></db>")
    result = run("run", *SCHEMA, "--queries", "q.tsv", "docs", "-o", "out")
    assert result.exit_code == 1
    assert "query 'broken' rejected: q.tsv:2:18: " in result.stderr
    assert "query 'slip' cannot match: " in result.stderr
    assert "Hint: did you mean student instead of studnet?" in result.stderr
    assert "Note: 1 document: /db/student has a child pet" in result.stderr


def test_progress_is_shown_when_asked_for(here: Path) -> None:
    args = ["run", *SCHEMA, "--queries", "q.tsv", "docs", "-o", "out"]
    assert "documents" not in run(*args).stderr
    assert "documents" in run(*args, "--progress").stderr


def test_a_worker_that_is_killed_takes_one_document_with_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from extract.filtertool import batching
    from extract.filtertool.document_cutter import DocumentCutter

    cut = DocumentCutter.cut

    def fatal(self: DocumentCutter, name: str, document: Any) -> Any:
        if name == "docs/3.xml":
            os.kill(os.getpid(), signal.SIGKILL)
        return cut(self, name, document)

    monkeypatch.setattr(DocumentCutter, "cut", fatal)
    monkeypatch.setattr(batching, "BATCH_DOCUMENTS", 2)
    result = run("run", *SCHEMA, "--queries", "q.tsv", "docs", "-o", "out", "--jobs", "2")
    assert result.exit_code == 1
    check_account()
    assert report()["documents"]["processed"] == 6
    ((row),) = rows("out", "rejected")
    assert row["document"] == "docs/3.xml"
    assert "was killed" in row["reason"]


def _heed_signals() -> None:
    """A shell lets its background jobs ignore Ctrl-C, as nohup does with SIGHUP; so do children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def started(*command: str, stdin: int | None = None) -> subprocess.Popen[str]:
    """A command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "extract", *command],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        preexec_fn=_heed_signals,
    )


def check_ended(child: subprocess.Popen[str], partial: str, number: int, here: Path) -> None:
    """Ends a command when it has begun to write; then there is nothing half."""
    until = time.monotonic() + 60
    while not list(here.glob(partial)) and time.monotonic() < until and child.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            child.wait(0.01)
    if number == signal.SIGINT:
        os.killpg(child.pid, number)  # as a terminal does
    else:
        os.kill(child.pid, number)
    child.wait(timeout=60)  # before its standard input ends
    _, stderr = child.communicate()
    assert child.returncode in (128 + number, -number), stderr  # a shell shows both as 128 + n
    assert ("Interrupted" if number == signal.SIGINT else "Terminated") in stderr
    assert "Traceback" not in stderr
    assert not list(here.rglob("*out*"))
    assert not list(here.rglob("*.partial"))


ENDINGS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ENDINGS)
def test_an_interrupted_run_leaves_nothing_half(here: Path, number: int) -> None:
    students = "".join(f"<student id='a{n}'><name/></student>" for n in range(4_000))
    for n in range(120):
        Path(f"docs/large{n}.xml").write_text(f"<db>{students}</db>")
    Path("q.tsv").write_text("\n".join(f"//student[name][{n}]" for n in range(2, 40)))
    args = ("run", *SCHEMA, "--queries", "q.tsv", "docs", "-o", "out", "--engine", "local")
    check_ended(started(*args, "--jobs", "2"), ".out.*", number, here)


@pytest.mark.parametrize("number", ENDINGS)
def test_an_interrupted_chunk_leaves_nothing_half(here: Path, number: int) -> None:
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "2", "-o", "scheme.json")
    child = started("chunk", "--scheme", "scheme.json", "-", "-o", "out", stdin=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write("<db>")  # and no more: it waits for the rest
    child.stdin.flush()
    check_ended(child, "out/.*", number, here)


@pytest.mark.parametrize("number", ENDINGS)
def test_an_interrupted_filter_leaves_nothing_half(here: Path, number: int) -> None:
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "2", "-o", "scheme.json")
    assert run("chunk", "--scheme", "scheme.json", "docs", "-o", "chunks").exit_code == 0
    Path("chunks/1/1.xml").unlink()
    os.mkfifo("chunks/1/1.xml")  # nobody writes: it waits
    child = started("filter", "--scheme", "scheme.json", "chunks", "-o", "out.jsonl")
    check_ended(child, ".out.jsonl.*", number, here)


# -- filter


@pytest.fixture
def chunks(here: Path) -> Path:
    """Chunks of the documents."""
    Path("docs/wrong.xml").write_text("<db><zzz/></db>")
    Path("q.tsv").write_text(QUERIES + "ns\t//name/namespace::*\n", encoding="utf-8")
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "3", "-o", "scheme.json")
    assert run("chunk", "--scheme", "scheme.json", "docs", "-o", "chunks").exit_code == 0
    return here


@pytest.mark.parametrize("select", ["nodes", "count", "doc"])
def test_filter_gives_what_run_gives(chunks: Path, select: str) -> None:
    result = run("filter", "--scheme", "scheme.json", "chunks", "--select", select)
    assert result.exit_code == 0, result.stderr
    found = [json.loads(line) for line in result.stdout.splitlines()]
    args = ["--scheme", "scheme.json", "docs", "--select", select, "--format", "jsonl"]
    assert run("run", *args, "-o", "out").exit_code == 0

    def order(row: dict[str, Any]) -> Any:
        return (row["document"], row["query"], row.get("ordinal"))

    assert sorted(found, key=order) == sorted(rows(), key=order)


def test_filter_takes_one_document_and_writes_a_file(chunks: Path) -> None:
    args = ["filter", "--scheme", "scheme.json", "chunks/1", "-o", "rows.jsonl", "--json"]
    result = run(*args)
    assert result.exit_code == 0
    assert result.stdout == ""
    found = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert {row["document"] for row in found} == {"docs/1.xml"}
    assert json.loads(result.stderr)["documents"]["seen"] == 1


@pytest.mark.parametrize(
    ("directory", "message"),
    [("nowhere", "nowhere"), ("docs", "the directory has no chunks")],
)
def test_filter_without_chunks_is_exit_2(chunks: Path, directory: str, message: str) -> None:
    result = run("filter", "--scheme", "scheme.json", directory)
    assert result.exit_code == 2
    assert message in result.stderr


def test_chunks_of_another_scheme_are_not_filtered(chunks: Path) -> None:
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "1", "-o", "other.json")
    result = run("filter", "--scheme", "other.json", "chunks", "-o", "rows.jsonl")
    assert result.exit_code == 2
    assert "cut for another scheme" in result.stderr
    assert not Path("rows.jsonl").exists()


def test_damaged_chunks_are_rejected(chunks: Path) -> None:
    Path("chunks/1/1.xml").unlink()
    Path("chunks/2/1.xml").write_text("<db/>")
    Path("chunks/3/manifest.json").write_text("{}")
    result = run("filter", "--scheme", "scheme.json", "chunks", "--json")
    assert result.exit_code == 1
    facts = json.loads(result.stderr.splitlines()[-1])
    assert facts["documents"]["rejected"] == 3
    assert "write the chunks again" in result.stderr
