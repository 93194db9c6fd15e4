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


def finished(target: Path, *names: str) -> None:
    """Writes results."""
    with result_directory(target) as partial:
        (partial / "report.json").write_text("1")
        for name in names:
            (partial / name).parent.mkdir(exist_ok=True)
            (partial / name).write_text("1")


@pytest.mark.parametrize("name", ["notes.txt", "matches/notes.xml", "rejected/part-00007.jsonl"])
def test_a_file_of_the_user_is_not_deleted_with_results(tmp_path: Path, name: str) -> None:
    target = tmp_path / "out"
    finished(target, "matches/q.xml", "matches/part-00000.jsonl", "rejected/part-00000.jsonl")
    (target / name).write_text("mine")
    with pytest.raises(FileExistsError, match="was not written by extract") as raised:
        finished(target)
    assert raised.value.filename == str(target / name)
    assert (target / name).read_text() == "mine"
    (target / name).unlink()
    finished(target, "matches/other.xml")
    names = sorted(path.relative_to(target).as_posix() for path in target.rglob("*"))
    assert names == [".files", "matches", "matches/other.xml", "report.json"]


def test_an_empty_directory_of_the_user_is_not_deleted_either(tmp_path: Path) -> None:
    finished(tmp_path / "out")
    (tmp_path / "out/plans").mkdir()
    with pytest.raises(FileExistsError, match="was not written by extract"):
        finished(tmp_path / "out")
    assert (tmp_path / "out/plans").is_dir()


def test_a_file_that_comes_while_results_are_written_stays_and_so_do_these(tmp_path: Path) -> None:
    target = tmp_path / "out"
    finished(target)
    results = result_directory(target)
    partial = results.__enter__()
    (partial / "report.json").write_text("2")
    (target / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="was not written by extract") as raised:
        results.__exit__(None, None, None)
    assert (target / "notes.txt").read_text() == "mine"
    assert (target / "report.json").read_text() == "1"
    (beside,) = [path for path in tmp_path.iterdir() if path != target]
    assert str(beside) in str(raised.value)
    assert (beside / "report.json").read_text() == "2"


def test_results_of_an_earlier_version_are_known_by_their_names(tmp_path: Path) -> None:
    target = tmp_path / "out"
    finished(target, "matches/part-00000.jsonl", "rejected/rejected.xml")
    (target / ".files").unlink()
    (target / "report.json").write_text('{"documents": {}, "queries": {}, "seconds": {}}')
    (target / "matches/notes.xml").write_text("mine")
    with pytest.raises(FileExistsError, match="was not written by extract"):
        finished(target)
    (target / "matches/notes.xml").unlink()
    finished(target)


@pytest.mark.parametrize("kind", ["file", "link", "directory"])
def test_what_the_user_has_put_in_place_of_something_of_ours_is_not_deleted(
    tmp_path: Path, kind: str
) -> None:
    target, others = tmp_path / "out", tmp_path / "others"
    others.mkdir()
    (others / "notes.txt").write_text("mine")
    finished(target, "matches/part-00000.jsonl")
    place = target / "matches" / "part-00000.jsonl"
    place.unlink()
    if kind == "directory":
        place.mkdir()
    else:
        place = place.parent
        place.rmdir()
        place.write_text("mine") if kind == "file" else place.symlink_to(others)
    with pytest.raises(FileExistsError, match="was not written by extract") as raised:
        finished(target)
    assert raised.value.filename == str(place)
    assert place.exists()
    assert (others / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("text", ["", "{}", '{"tests": 5}', "[1]", "no JSON"])
def test_a_report_of_another_program_is_not_deleted(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(FileExistsError, match=r"report\.json: was not|was not written by extract"):
        finished(tmp_path)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("report.json", text)]
