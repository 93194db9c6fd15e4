"""``extract demo``: a scenario from its schema to its results."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from extract.cli import cli


def test_the_demo_without_spark(tmp_path: Path) -> None:
    for arguments in (["figure4"], []):  # the second one replaces the first
        result = CliRunner().invoke(
            cli, ["demo", *arguments, "--engine", "local", "-o", str(tmp_path / "demo")]
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
