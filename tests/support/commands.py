"""Calls of ``extract`` in tests, and what a run has written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    ):  # tests/filtertool/spark/test_engine.py has the other one
        args = (*args, "--engine", "local")
    return CliRunner().invoke(cli, args, input=stdin)


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


def shell(*args: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command as a user does, in a process of its own."""
    command = [sys.executable, "-m", "extract", *args]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)
