"""The worked example in scenarios/deliveries: what it makes is joined, and the README shows it."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.commands import report, rows, run


@pytest.fixture(scope="module")
def example(repo_root: Path) -> ModuleType:
    path = repo_root / "scenarios" / "deliveries" / "deliveries.py"
    spec = importlib.util.spec_from_file_location("deliveries_example", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look there
    spec.loader.exec_module(module)
    monkeypatch.undo()
    return module


def test_the_readme_shows_what_comes_out(
    example: ModuleType, repo_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert example.main([]) == 0
    readme = (repo_root / "scenarios" / "deliveries" / "README.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)
    assert capsys.readouterr().out == shown


def test_the_command_finds_the_same(
    example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert example.main(["--orders", "60", "--keep", "shop"]) == 0
    streams = [f"{name}=shop/{name}" for name in ("orders", "deliveries", "invoices")]
    done = run(
        "join", "--queries", str(example.QUERIES), *streams, "--time", "/*/time", "-o", "out"
    )
    assert done.exit_code == 0, done.output
    expected = example.Counter()
    list(example.messages(60, expected))
    found = example.Counter(row["query"] for row in rows("out", "joined"))
    assert found == +expected
    assert report()["rows"] == expected.total()
