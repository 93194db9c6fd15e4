"""Spark in processes of its own: clusters that lose a worker, spark-submit, a killed stream."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyarrow import parquet

from extract import Scheme
from extract.chunktool.scan.driver import kernel_available
from extract.pipeline import prepare
from extract.pipeline import run as run_pipeline
from extract.scenarios import scenario
from extract.subscriptions import Subscriptions
from tests.support.paths import ROOT

pytest.importorskip("pyspark", reason="Spark is not installed")


@contextmanager
def standalone(directory: Path, *hosts: str) -> Iterator[str]:
    """A cluster with a worker of one core on each of some addresses of this machine; its URL."""
    import pyspark

    from extract.filtertool.spark.java import require_java

    starter = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    processes: list[subprocess.Popen[str]] = []

    def start(what: str, sign: str, host: str, *args: str) -> str:
        environment = {
            **os.environ,
            "JAVA_HOME": str(require_java().home),
            "SPARK_WORKER_DIR": str(directory / "work"),
            "SPARK_LOCAL_IP": host,
            "PYTHONPATH": str(ROOT),
        }
        command = [starter, f"org.apache.spark.deploy.{what}", "--host", host, *args]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        processes.append(process)
        assert process.stdout is not None
        return next(line for line in process.stdout if sign in line)

    try:
        line = start("master.Master", "Starting Spark master at", hosts[0], *PORTS, "--port", "0")
        url = re.search(r"spark://\S+", line)
        assert url is not None
        for host in hosts:
            args = [*PORTS, "--cores", "1", "--memory", "1g", url[0]]
            start("worker.Worker", "Successfully registered with master", host, *args)
        yield url[0]
    finally:
        for process in reversed(processes):
            process.kill()
            process.communicate()


PORTS = ("--webui-port", "0")


def documents(directory: Path, count: int = 6) -> Scheme:
    """Documents in ``docs``, and a scheme, also in ``scheme.json``."""
    university = scenario("university")
    scheme = prepare(university.schema(), university.queries(40), 3)
    scheme.save(directory / "scheme.json")
    (directory / "docs").mkdir()
    for n in range(count):
        data = b"".join(university.document(100_000, seed=n))
        (directory / "docs" / f"{n}.xml").write_bytes(data)
    return scheme


def check_cluster(directory: Path, master: str, fault: str, sizes: str) -> None:
    """Runs a job that something happens to; the rows are those of a job without Spark."""
    scheme = documents(directory)
    docs, out = directory / "docs", directory / "out"
    out.mkdir()
    command = [
        sys.executable,
        "-m",
        "tests.support.spark_cluster",
        master,
        str(directory / "scheme.json"),
    ]
    command += [str(docs), str(out), str(directory / "marker"), fault, sizes]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=600, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert (directory / "marker").exists()
    paths = sorted(map(str, docs.iterdir()))
    local = run_pipeline(scheme, paths, directory / "local", jobs=1)
    assert done.stdout.split() == ["6", str(local.matches)]
    found, wanted = (
        parquet.read_table(each / "matches").sort_by([(c, "ascending") for c in COLUMNS])
        for each in (out, directory / "local")
    )
    assert found.equals(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", ["small", "large"])
def test_a_cluster_that_loses_an_executor(tmp_path: Path, sizes: str) -> None:
    check_cluster(tmp_path, "local-cluster[2,1,1024]", "executor", sizes)


@pytest.mark.slow
def test_a_task_that_is_tried_twice_at_the_same_time(tmp_path: Path) -> None:
    # Spark does not try a task twice on one host: so there are two.
    with standalone(tmp_path, "127.0.0.1", "127.0.0.2") as url:
        check_cluster(tmp_path, url, "hang", "small")


@pytest.mark.slow
def test_a_standalone_cluster(tmp_path: Path) -> None:
    scheme = documents(tmp_path)
    command = [sys.executable, "-m", "extract", "run", "--scheme", str(tmp_path / "scheme.json")]
    command += [str(tmp_path / "docs"), "-o", str(tmp_path / "out")]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    with standalone(tmp_path, "127.0.0.1") as url:
        command += ["--master", url, "--conf", "spark.executor.memory=512m"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    paths = sorted(map(str, (tmp_path / "docs").iterdir()))
    local = run_pipeline(scheme, paths, tmp_path / "local", jobs=1)
    assert parquet.read_table(tmp_path / "out" / "matches").num_rows == local.matches > 0


@pytest.mark.slow
@pytest.mark.parametrize("how", ["installed", "archive", "py-files"])
def test_the_recipes_for_spark_submit(tmp_path: Path, how: str) -> None:
    """Of docs/spark.md, on executors that are processes of their own; rows as without Spark."""
    import pyspark

    from extract.filtertool.spark.java import require_java

    scheme = documents(tmp_path, 2)
    (tmp_path / "run_extract.py").write_text("from extract.cli import main\n\nmain()\n")
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "JAVA_HOME": str(require_java().home),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable if how == "installed" else bare_python(tmp_path / "bare"),
    }
    environment.pop("PYTHONPATH", None)
    command = [str(home / "bin" / "spark-submit"), "--master", "local-cluster[2,1,1024]"]
    if how == "archive":
        site = (
            tmp_path / "site"
        )  # as `pip install --no-deps --target site extract_xpath-….whl` makes it
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "extract", site / "extract", ignore=ignored)
        archive = shutil.make_archive(str(tmp_path / "packed"), "gztar", site)
        environment["PYTHONPATH"] = str(site)
        command += ["--archives", f"{archive}#site"]
        command += ["--conf", "spark.executorEnv.PYTHONPATH=site"]
    elif how == "py-files":
        archive = shutil.make_archive(str(tmp_path / "packed"), "zip", ROOT, "extract")
        command += ["--py-files", archive]
    command += ["run_extract.py", "run", "--scheme", "scheme.json", "docs", "-o", "out"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=600, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3_000:]
    paths = sorted(map(str, (tmp_path / "docs").iterdir()))
    local = run_pipeline(scheme, paths, tmp_path / "local", jobs=1)
    assert parquet.read_table(tmp_path / "out" / "matches").num_rows == local.matches > 0
    facts = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    compiled = kernel_available() and how != "py-files"
    assert facts["scanners"] == {"kernel" if compiled else "reference": 2}


def bare_python(place: Path) -> str:
    """A Python that has all that extract needs, but not extract."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    (site,) = place.glob("lib/python*/site-packages")
    lines = [one for one in sys.path if Path(one).name == "site-packages"]
    (site / "others.pth").write_text("\n".join(lines))  # and not what .pth files there name
    return str(place / "bin" / "python")


@pytest.mark.slow
def test_a_stream_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    university = scenario("university")
    scheme, docs = tmp_path / "scheme.json", tmp_path / "incoming"
    prepare(university.schema(), university.queries(40), 3).save(scheme)
    docs.mkdir()
    for n in range(6):
        (docs / f"{n}.xml").write_bytes(b"".join(university.document(20_000, seed=n)))
    command = [sys.executable, "-m", "tests.support.spark_stream", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def stream(fault: str) -> tuple[int, str]:
        done = subprocess.run(
            [*command, fault],
            capture_output=True,
            text=True,
            env=environment,
            timeout=300,
            cwd=ROOT,
        )
        return done.returncode, done.stderr[-2000:]

    assert stream("before")[0] == 9  # killed when a batch is written, before it has its name
    revised = prepare(university.schema(), Subscriptions.of({"new": "//name"}), 1)
    revised.save(scheme)  # counts for batches that have not begun
    assert stream("after")[0] == 9  # and when it has its name, before Spark has noted it
    assert stream("") == (0, "")
    folders = sorted((tmp_path / "out").glob("[0-9]*"))
    assert [folder.name for folder in folders] == [f"{n:08d}" for n in range(3)]
    found: dict[str, set[str]] = {}
    for folder in folders:
        rows = parquet.read_table(folder / "matches").to_pylist()
        for name in {row["document"] for row in rows}:
            assert name not in found  # each document is in one batch
            found[name] = {row["query"] for row in rows if row["document"] == name}
    assert len(found) == 6
    assert sorted("new" in queries for queries in found.values()) == [False] * 4 + [True] * 2


COLUMNS = ("document", "query", "ordinal")
