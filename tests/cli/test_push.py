"""The push engine from the command line: which documents and queries it takes, and what is said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from extract.filtertool.matchers.push.native import native_available
from tests.support.commands import report, rows, run, shell

compiled = pytest.mark.skipif(not native_available(), reason="the engine is not compiled")

QUERIES = "ibm\t/stock[symbol = 'IBM']\neight\t//price[. = 8 and not(lang('en'))]\n"
IBM = "<stock><symbol>IBM</symbol><price>9</price><price>8</price></stock>"
ENTITY = f"<!DOCTYPE stock [<!ENTITY e '&#38;x'>]>{IBM}"
LARGE = IBM.replace("<symbol>", "<price/>" * 50_000 + "<symbol>")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.tsv").write_text(QUERIES)
    Path("docs").mkdir()
    for name, text in {"a": IBM, "entity": ENTITY, "large": LARGE, "other": "<x/>"}.items():
        Path("docs", f"{name}.xml").write_text(text)
    Path("docs", "b.xml.gz").write_bytes(gzip.compress(IBM.encode()))


def run_with(matcher: str, *options: str) -> Any:
    args = ["--queries", "q.tsv", "--schema", "none", "docs", "-o", "out", "--select", "count"]
    return run("run", *args, "--matcher", matcher, *options)


@compiled
def test_the_report_counts_what_the_engine_did() -> None:
    assert run_with("push").exit_code == 0
    facts = report()
    figures = facts["figures"]
    assert facts["matcher"] == "push"
    assert figures["push_questions"] == 1
    assert figures["push_refused_questions"] == 1
    assert figures["push_documents"] == 4  # a, b, large and other
    assert figures["push_refused_documents"] == 1
    assert figures["push_large_documents"] == 0
    assert figures["push_elements"] == 4 + 4 + 50_004 + 1
    assert figures["push_matches"] == 3
    assert figures["push_candidates"] >= 2
    assert figures["push_checks"] == 0  # the value alone decides
    assert figures["push_states"] > 0
    assert figures["push_state_bytes"] > 0
    assert facts["documents"]["conforming"] == 5


@compiled
def test_all_matchers_write_the_same_rows() -> None:
    written = {}
    for matcher in ("auto", "push", "columnar", "lxml"):
        assert run_with(matcher).exit_code == 0
        written[matcher] = sorted(rows(), key=str)
    assert len(written["lxml"]) == 8
    assert all(one == written["lxml"] for one in written.values())


@compiled
def test_auto_names_the_engine_where_it_ran() -> None:
    assert run_with("auto").exit_code == 0
    assert "push" in report()["matcher"].split(" and ")


@compiled
def test_verbose_tells_how_much_did_not_go_through_the_engine() -> None:
    shown = " ".join(run_with("push", "--verbose").output.split())
    assert (
        "push 4 documents: 6 candidates, 0 checks; other matchers: documents 1, queries 1" in shown
    )
    assert "a large part did not go through the push engine" in shown
    assert "push engine" not in run_with("push").output


def test_without_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXTRACT_KERNEL", "off")
    for command in ("match", "run"):
        options = ["-o", "out"] if command == "run" else []
        args = ["--queries", "q.tsv", "--schema", "none", "docs", "--matcher", "push", *options]
        result = run(command, *args)
        assert result.exit_code == 2
        assert "Error: the matcher push is not compiled\nHint: install a C" in result.stderr
    assert not Path("out").exists()
    assert run_with("auto").exit_code == 0
    findings = json.loads(run("doctor", "--json").output)["findings"]
    (engine,) = [one for one in findings if one["name"] == "push engine"]
    assert engine["status"] == "absent"
    assert "switched off by EXTRACT_KERNEL" in engine["note"]


@compiled
def test_the_doctor_knows_the_engine() -> None:
    findings = json.loads(run("doctor", "--json").output)["findings"]
    assert {one["name"]: one["status"] for one in findings}["push engine"] == "ok"


@pytest.mark.parametrize("text", [IBM, ENTITY, LARGE], ids=["small", "entity", "large"])
def test_standard_input_is_there_for_whoever_matches_it(text: str) -> None:
    """The engine reads it first; what it does not take is read again."""
    args = ["--queries", "q.tsv", "--schema", "none", "--select", "doc"]
    done = shell("match", *args, "-", stdin=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line)["query"] for line in done.stdout.splitlines()] == ["ibm", "eight"]
