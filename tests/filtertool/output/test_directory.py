"""The result directory: complete or absent, and nothing else is overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.filtertool.output.directory import result_directory


def interrupted(target: Path) -> None:
    """Begins to write results."""
    with result_directory(target) as partial:
        (partial / "report.json").write_text("2")
        raise KeyboardInterrupt


def test_results_are_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        interrupted(target)
    assert list(tmp_path.iterdir()) == []
    with result_directory(target) as partial:
        (partial / "report.json").write_text("1")
    with pytest.raises(KeyboardInterrupt):
        interrupted(target)
    assert (target / "report.json").read_text() == "1"
    with result_directory(target) as partial:
        (partial / "report.json").write_text("3")
    assert (target / "report.json").read_text() == "3"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with (
        pytest.raises(FileExistsError, match="was not written by extract"),
        result_directory(tmp_path),
    ):
        pass
    assert (tmp_path / "precious").read_text() == "mine"
