"""``extract run`` as a user calls it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import GOOD, QUERIES, SCHEMA, check_account, report, rows, run


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
        "text": "0",
    }
    assert len(found) == 7 * 3
    facts = report()
    assert facts["documents"]["seen"] == 7
    assert facts["queries"]["registered"] == 4
    assert facts["queries"]["unsatisfiable"] == 1
    assert facts["engine"] == "local"
    assert facts["bytes"] == 7 * len(GOOD.format(1))
    assert {"prepare", "chunk", "match", "write"} <= set(facts["seconds"])
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
    Path("out/notes.txt").write_text("mine")
    result = run(*args, "out")
    assert result.exit_code == 2
    assert "out/notes.txt: was not written by extract; move it, or choose another" in result.stderr
    assert Path("out/notes.txt").read_text() == "mine"


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
        ([], "Give --scheme; or --queries"),
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
        ([*SCHEMA, "--queries", "q.tsv", "empty"], "there is no file named *.xml in"),
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
    assert all(0 <= one["first_answer_ms"] <= one["last_answer_ms"] for one in chunks.values())


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
    args = ["--queries", "q.tsv", "docs", "-o", "out", "--jobs", "2", "--matcher", "columnar"]
    result = run("run", *SCHEMA, *args)
    assert result.exit_code == 1
    check_account()
    assert report()["documents"]["processed"] == 6
    ((row),) = rows("out", "rejected")
    assert row["document"] == "docs/3.xml"
    assert "was killed" in row["reason"]


# -- metadata


def test_with_metadata(here: Path) -> None:
    lines = [
        {"id": "names", "xpath": "//student/name", "owner": "sales", "name": "Names"},
        {"id": "mail", "xpath": "//*[email]", "tags": ["x"]},
    ]
    Path("q.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    common = ("run", *SCHEMA, "--queries", "q.jsonl", "docs/1.xml", "-o", "out")
    result = run(*common, "--with", "owner", "--with", "label=name", "--with", "tags")
    assert result.exit_code == 0, result.output
    assert [(row["query"], row["owner"], row["label"], row["tags"]) for row in rows()] == [
        ("names", "sales", "Names", None),
        ("mail", None, None, ["x"]),
    ]
    Path("extract.toml").write_text('with = ["owner"]\nformat = "jsonl"\n', encoding="utf-8")
    assert run(*common).exit_code == 0
    assert [row["owner"] for row in rows()] == ["sales", None]
    Path("extract.toml").unlink()
    before = rows()
    for args, message in (
        (
            ("--with", "ownr"),
            "no subscription has the metadata 'ownr'\nHint: did you mean 'owner'?",
        ),
        (("--with", "name"), "rows already have a column 'name'"),
        (("--with", "owner", "--format", "xml"), "--with adds columns, and --format xml has none"),
    ):
        result = run(*common, *args)
        assert result.exit_code == 2
        assert message in result.stderr
        assert "Traceback" not in result.stderr
        assert rows() == before
