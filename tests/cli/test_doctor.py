"""``extract doctor``: libraries, Java and the kernel, as they are on this machine."""

from __future__ import annotations

import json
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from extract import __version__
from extract.cli import cli, doctor
from tests.support.commands import run, shell


def findings(result: Result) -> dict[str, dict[str, str]]:
    return {finding["name"]: finding for finding in json.loads(result.stdout)["findings"]}


def pretend_java(monkeypatch: pytest.MonkeyPatch, answer: str | OSError | None) -> None:
    """Makes ``java -version`` answer this; None: there is no Java."""

    def answering(*_args: object, **_options: object) -> SimpleNamespace:
        if isinstance(answer, OSError):
            raise answer
        return SimpleNamespace(stdout="", stderr=answer)

    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _name: None if answer is None else "/opt/java")
    monkeypatch.setattr("subprocess.run", answering)
    monkeypatch.setattr("extract.filtertool.spark.java.bundled_home", lambda: None)


def test_the_doctor_in_a_real_process() -> None:
    done = shell("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "extract is usable here." in done.stdout
    for name in ["python", "libxml2", "java", "pyspark", "native kernel", *doctor.REQUIRED]:
        assert f" {name} " in done.stdout


def test_the_doctor_tells_the_same_as_json() -> None:
    result = run("doctor", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["usable"] is True
    found = findings(result)
    assert found["extract"]["version"] == __version__
    assert found["lxml"] == {
        "name": "lxml",
        "status": "ok",
        "version": metadata.version("lxml"),
        "note": "",
    }


def test_the_doctor_needs_what_the_package_needs(repo_root: Path) -> None:
    project = tomllib.loads((repo_root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {
        f"{name}>={'.'.join(map(str, lowest))}" for name, (lowest, _) in doctor.REQUIRED.items()
    }
    # pyspark is looked at without importing it, and for a test of its own.
    lowest = {one.partition(",")[0] for one in project["dependencies"]}
    assert wanted == {one for one in lowest if not one.startswith("pyspark")}
    assert project["requires-python"] == f">={'.'.join(map(str, doctor.PYTHON))}"


def test_the_distribution_has_one_name(repo_root: Path) -> None:
    project = tomllib.loads((repo_root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == doctor.DISTRIBUTION


def test_the_doctor_warns_of_the_other_project_called_extract(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    versions = {"extract": "1.0"}
    monkeypatch.setattr(metadata, "version", lambda name: versions.get(name, "99.0"))
    one = findings(run("doctor", "--json"))["extract"]
    assert (one["status"], one["version"]) == ("warning", __version__)
    assert "pip uninstall extract" in one["note"]


def test_the_doctor_warns_of_an_old_lxml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "5.9.9" if name == "lxml" else "99.0")
    result = run("doctor", "--json")
    assert result.exit_code == 0
    assert findings(result)["lxml"]["status"] == "warning"
    assert "CVE-2026-41066" in findings(result)["lxml"]["note"]


def test_the_doctor_gives_2_when_a_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)  # importing it now fails
    result = run("doctor")
    assert result.exit_code == 2
    assert "missing  networkx" in result.stdout
    assert "NOT usable" in result.stdout


@pytest.mark.parametrize(
    ("answer", "status", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "ok", "17.0.15"),
        ('java version "21" 2023-09-19 LTS', "ok", "21"),
        ('java version "1.8.0_392"', "warning", "1.8.0_392"),
        ("Unable to locate a Java Runtime.", "warning", ""),
        (PermissionError(13, "Permission denied"), "warning", ""),
        (None, "absent", ""),
    ],
)
def test_the_doctor_looks_for_a_java_that_spark_can_use(
    monkeypatch: pytest.MonkeyPatch, answer: str | OSError | None, status: str, version: str
) -> None:
    pretend_java(monkeypatch, answer)
    result = run("doctor", "--json")
    assert result.exit_code == 0  # Spark is for scale; nothing here needs it
    java = findings(result)["java"]
    assert (java["status"], java["version"]) == (status, version)
    assert status == "ok" or "17 or 21" in java["note"]


def test_doctor_tells_a_kernel_that_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXTRACT_KERNEL", "off")
    result = CliRunner().invoke(cli, ["doctor"])
    assert "switched off by EXTRACT_KERNEL" in " ".join(result.output.split())
