"""What is installed, built and loaded: pinned, and nothing that others can replace."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import extract
from extract.errors import SchemeError

# Modules that may read pickles, and why that is safe.
PICKLES = {
    "extract/filtertool/joins/parallel.py": "documents between a process and its own children",
    "extract/filtertool/joins/shares.py": "documents between a process and its own children",
    "extract/filtertool/processes/sandbox.py": "pipes between a process and its own child",
    "extract/filtertool/processes/workers.py": "pipes between a process and its own children",
    "extract/filtertool/spark/driver/broadcast.py": "only writes them",
    "extract/filtertool/spark/frames.py": "tasks from a driver to its own workers",
    "extract/filtertool/spark/join_streams.py": "rows from workers to workers of one query",
    "extract/filtertool/spark/joins.py": "tasks and rejections between a driver and its workers",
    "extract/filtertool/spark/worker/join_states.py": "of a checkpoint, only plain values",
    "extract/filtertool/spark/worker/join_tasks.py": "documents from workers to workers of one run",
    "extract/filtertool/spark/worker/checkpoint.py": "a directory that only this user can write to",
    "extract/filtertool/spark/worker/findings_file.py": "files of this run's own workers",
    "extract/testing/matcher_contract.py": "a copy of the factory that a test has just made",
}
DANGEROUS = {"eval", "exec", "compile", "__import__"}
MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml"}


def script(root: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, root / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def requirements(root: Path, extra: str = "") -> dict[str, str]:
    """What pyproject.toml asks for: names, and their lower bounds."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    lines = list(project["dependencies"])
    lines += project["optional-dependencies"][extra] if extra else []
    found = (re.match(r"([A-Za-z0-9_-]+)>=([0-9.]+)", line) for line in lines)
    return {one[1].lower(): one[2] for one in found if one is not None}


def numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


def test_no_code_in_files_is_run(repo_root: Path) -> None:
    found, reading = [], set()
    for path in sorted((repo_root / "extract").rglob("*.py")):
        name = path.relative_to(repo_root).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if called and node.func.id in DANGEROUS:  # type: ignore[attr-defined] # it is a Call
                found.append(f"{name} calls {node.func.id}()")  # type: ignore[attr-defined]
            imported = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                imported = [node.module or ""]
            if MODULES & {one.partition(".")[0] for one in imported}:
                reading.add(name)
    assert not found
    assert reading == PICKLES.keys(), "say in PICKLES why that is safe"


def test_a_scheme_is_data_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.dtd").write_text("<!ELEMENT a EMPTY>")
    schema = extract.Schema.load(tmp_path / "a.dtd", root="a")
    path = tmp_path / "scheme.json"
    extract.prepare(schema, extract.Subscriptions.of({"q": "/a"}), chunks=1).save(path)
    good = json.loads(path.read_text())
    marker = tmp_path / "run"
    code = f"__import__('os').system('touch {marker}')"
    for key in good:
        for value in (code, {"__reduce__": code}, {"py/object": "os.system"}, [code], None):
            path.write_text(json.dumps(good | {key: value}))
            try:
                loaded = extract.Scheme.load(path)
                list(extract.match(loaded, b"<a/>"))
            except extract.ExtractError:
                continue
    path.write_bytes(b"cos\nsystem\n(S'touch %b'\ntR." % str(marker).encode())
    with pytest.raises(SchemeError):
        extract.Scheme.load(path)
    assert not marker.exists()


def test_the_lock_file_pins_what_the_project_asks_for(repo_root: Path) -> None:
    lines = (repo_root / "requirements-dev.lock").read_text().splitlines()[1:]
    pattern = re.compile(r"([a-z0-9._-]+)==([^ ]+) --hash=sha256:[0-9a-f]{64}")
    locked = {}
    for line in lines:
        match = pattern.fullmatch(line)
        assert match, f"not a pinned package with its digest: {line}"
        locked[match[1].replace("_", "-")] = match[2]
    for name, low in requirements(repo_root, "dev").items():
        assert numbers(locked[name]) >= numbers(low), name


def test_the_bill_of_materials_names_all_that_is_needed(repo_root: Path) -> None:
    bill = script(repo_root, "sbom").bill()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    names = {one["name"]: one["version"] for one in bill["components"]}
    for name, low in requirements(repo_root).items():
        assert numbers(names[name]) >= numbers(low)
    references = {one["bom-ref"] for one in bill["components"]}
    references.add(bill["metadata"]["component"]["bom-ref"])
    assert {one["ref"] for one in bill["dependencies"]} == references
    assert all(set(one["dependsOn"]) <= references for one in bill["dependencies"])


@pytest.mark.slow
def test_wheels_are_the_same_bytes_each_time(repo_root: Path, tmp_path: Path) -> None:
    digests = set()
    for number in ("1", "2"):
        copy = tmp_path / number / "extract"
        ignored = shutil.ignore_patterns(
            ".venv", ".git", "build", "*.so", "__pycache__", ".*_cache"
        )
        shutil.copytree(repo_root, copy, symlinks=True, ignore=ignored)
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        subprocess.run(
            [*pip, "--wheel-dir", str(copy / "dist"), str(copy)],
            check=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        )
        (wheel,) = (copy / "dist").glob("*.whl")
        digests.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert len(digests) == 1
