"""How Spark starts: which Java, when its JVM is launched, and what its workers import."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from extract.errors import ExtractError

pytest.importorskip("pyspark", reason="Spark is not installed")


def a_program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def a_spark(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Puts a program in the place of Spark's, and lets no JVM of this process be used."""
    from pyspark import SparkContext

    from extract.filtertool.spark import jvm, session

    a_program(folder / "bin" / "spark-submit", script)
    monkeypatch.setattr(jvm, "_find_spark_home", lambda: str(folder))
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(session, "launched", [])


def test_the_version_of_a_jdk_is_read_without_starting_it(tmp_path: Path) -> None:
    from extract.filtertool.spark.java import version

    a_program(tmp_path / "bin" / "java", f"touch {tmp_path / 'started'}; exit 1")
    (tmp_path / "release").write_text('IMPLEMENTOR="X"\nJAVA_VERSION="21.0.2"\n', encoding="utf-8")
    assert version(tmp_path) == "21.0.2"
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("release", [None, "IMPLEMENTOR=X\n"])
def test_a_java_without_a_release_file_is_asked(tmp_path: Path, release: str | None) -> None:
    from extract.filtertool.spark.java import version

    a_program(tmp_path / "bin" / "java", "echo 'openjdk version \"17.0.9\"' >&2")
    if release is not None:
        (tmp_path / "release").write_text(release, encoding="utf-8")
    assert version(tmp_path) == "17.0.9"


def test_a_release_file_alone_is_no_java(tmp_path: Path) -> None:
    from extract.filtertool.spark.java import version

    (tmp_path / "release").write_text('JAVA_VERSION="21.0.2"\n', encoding="utf-8")
    assert version(tmp_path) == ""


def test_a_jvm_is_launched_without_waiting_and_ended_if_another_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from extract.filtertool.spark import session

    started = tmp_path / "started"
    a_spark(tmp_path, monkeypatch, f'echo "$$" "$@" >> {started}; [ -e {tmp_path}/end ] || cat')
    session.launch_ahead("local[1]", {"spark.x": "1"})  # returns, though the program does not end
    session.launch_ahead("local[1]", {"spark.x": "1"})  # once is enough
    (jvm,) = session.launched
    while not started.exists() or not started.read_text():
        time.sleep(0.02)
    (first,) = started.read_text().splitlines()
    assert "--conf spark.x=1" in first
    (tmp_path / "end").touch()
    with pytest.raises(ExtractError, match="Spark does not start"):
        session.local_session("local[1]", conf={"spark.x": "2"})
    assert session.launched == []
    assert jvm.process.returncode is not None  # it was ended, and not left behind
    assert len(started.read_text().splitlines()) == 2


def test_a_jvm_that_nobody_connects_to_ends_with_the_process(tmp_path: Path) -> None:
    a_program(tmp_path / "bin" / "spark-submit", f"echo $$ > {tmp_path}/pid; exec sleep 600")
    code = (
        "import time; from pathlib import Path\n"
        "from extract.filtertool.spark import jvm, session\n"
        f"jvm._find_spark_home = lambda: {str(tmp_path)!r}\n"
        "session.launch_ahead()\n"
        f"while not Path({str(tmp_path / 'pid')!r}).is_file(): time.sleep(0.02)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    while not (pid := (tmp_path / "pid").read_text().strip()):
        time.sleep(0.02)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_what_a_jvm_said_before_it_ended_is_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from extract.filtertool.spark import session

    folders = set(Path(tempfile.gettempdir()).glob("extract-jvm-*"))
    a_spark(tmp_path, monkeypatch, "echo 'Error: no room for a heap' >&2; exit 1")
    session.launch_ahead("local[1]")
    with pytest.raises(ExtractError, match="no room for a heap"):
        session.local_session("local[1]")
    assert set(Path(tempfile.gettempdir()).glob("extract-jvm-*")) == folders


@pytest.mark.parametrize(("variable", "imported"), [("1", "False"), ("", "True")])
def test_pandas_stays_out_of_workers_of_ours_alone(variable: str, imported: str) -> None:
    pytest.importorskip("pandas")
    code = (
        "import sys, pyarrow as pa\n"
        "from extract.filtertool.spark.worker.without_pandas import leave_pandas_out\n"
        "leave_pandas_out()\n"
        "assert pa.array(['a', None]).to_pylist() == ['a', None]\n"
        "print('pandas' in sys.modules)\n"
        "import pandas\n"  # those who want it get it
    )
    environment = {k: v for k, v in os.environ.items() if k != "EXTRACT_WITHOUT_PANDAS"}
    if variable:
        environment["EXTRACT_WITHOUT_PANDAS"] = variable
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (f"{imported}\n", "")


def test_workers_import_only_what_they_need() -> None:
    code = (
        "import sys, extract.filtertool.spark.worker.run_task\n"
        "unwanted = ('pyspark', 'pandas', 'xmlschema', 'rich', 'click', 'extract.preptool')\n"
        "print([name for name in unwanted if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")
