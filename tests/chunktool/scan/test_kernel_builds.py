"""The parts in C as other machines build them (no SSE2), and with sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

KERNEL = ("tests/chunktool/scan/test_kernel.py", "tests/chunktool/scan/test_contract.py")
INFERENCE = "tests/chunktool/inference/test_infer.py"
COLUMNAR = (
    "tests/filtertool/matchers/columnar/test_columnar.py",
    "tests/filtertool/matchers/columnar/test_values.py",
)
PUSH = tuple(
    f"tests/filtertool/matchers/push/test_{name}.py"
    for name in (
        *("push_contract", "push_traps", "rounds", "bounds", "online", "shapes", "pairs"),
        *("many_anchors", "node_columns", "push_conditions", "push_document_conditions"),
    )
)
XPATH = ("tests/xpath/test_native.py", "tests/xpath/test_node.py")
TEMPLATES = (
    "tests/subscriptions/test_members.py",
    "tests/subscriptions/test_templates.py",
    "tests/subscriptions/test_subscriptions.py",
)

pytestmark = [
    pytest.mark.slow,  # it compiles
    pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc"),
]


def build(folder: Path, variable: str) -> Path:
    """Compiles the parts in C with an environment variable of setup.py set."""
    arguments = ["--build-lib", str(folder / "lib"), "--build-temp", str(folder / "temporary")]
    command = [sys.executable, "setup.py", "-q", "build_ext", *arguments]
    subprocess.run(command, cwd=ROOT, env={**os.environ, variable: "1"}, check=True)
    return folder / "lib"


def run(*arguments: str, **variables: str) -> str:
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-5_000:]
    return done.stdout


# The plug-in is imported before tests/conftest.py asks for its package to be rewritten.
PYTEST = (
    *("pytest", "-q", "-s", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *("-p", "tests.support.other_build"),
)


def test_without_sse2(tmp_path: Path) -> None:
    built = str(build(tmp_path, "EXTRACT_PLAIN"))
    out = run(*PYTEST, *KERNEL, OTHER_BUILD=built)
    assert " passed" in out


def test_with_sanitizers(tmp_path: Path) -> None:
    built = str(build(tmp_path, "EXTRACT_SANITIZE"))
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True)
    watched = {
        "OTHER_BUILD": built,
        "LD_PRELOAD": found.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python itself leaves memory behind
        "PYTHONMALLOC": "malloc",  # so that the sanitizer sees Python's memory, too
    }
    tests = (KERNEL[0], *COLUMNAR, *PUSH, INFERENCE, *XPATH, *TEMPLATES)
    out = run(*PYTEST, *tests, **watched)
    assert " passed" in out
