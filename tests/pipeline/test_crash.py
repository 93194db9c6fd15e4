"""Files are complete or absent, whenever a process is killed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from extract.errors import ExtractError
from extract.files import entries, whole_directory, whole_file
from tests.support.crash import torture


def _all(directory: Path) -> list[str]:
    return list(entries(directory))


def test_killed_at_random_moments() -> None:
    assert sum(torture(6, seed=3, documents=3).values()) == 6


@pytest.mark.slow
def test_killed_two_hundred_times() -> None:
    assert sum(torture(200, seed=1).values()) == 200


@pytest.mark.slow
def test_a_run_on_spark_that_was_killed_is_resumed() -> None:
    assert sum(torture(10, seed=2, engine="spark", only="run").values()) == 10


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(ZeroDivisionError), whole_file(link) as stream:
        stream.write(b"%d" % (1 // 0))
    assert target.read_bytes() == b"old"
    with whole_file(link) as stream:
        stream.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert (link.is_symlink(), stat.S_IMODE(target.stat().st_mode)) == (True, 0o640)
    assert sorted(os.listdir(tmp_path)) == ["link", "target"]
    with pytest.raises(FileNotFoundError) as caught, whole_file(tmp_path / "none/file"):
        pass
    assert caught.value.filename == str(tmp_path / "none/file")


@pytest.mark.parametrize("exchange", [True, False])
def test_a_directory_is_replaced_whole(
    exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchange:
        monkeypatch.setattr("sys.platform", "another")
    target = tmp_path / "target"
    for text in ("one", "two"):
        with whole_directory(target, _all) as partial:
            (partial / "file").write_text(text)
            assert not target.exists() or (target / "file").read_text() != text
        assert (target / "file").read_text() == text
    with pytest.raises(ZeroDivisionError), whole_directory(target, _all) as partial:
        raise ZeroDivisionError
    assert (target / "file").read_text() == "two"
    assert os.listdir(tmp_path) == ["target"]


def test_results_are_as_private_as_the_user_asks(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with whole_directory(tmp_path / "target", _all):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o700


def test_notes_that_others_may_have_written_are_not_read(tmp_path: Path) -> None:
    from extract.filtertool.spark.driver.resume import finished_before

    attempts = tmp_path / "attempts"
    (attempts / "task").mkdir(parents=True)
    (attempts / "task" / "done").write_bytes(b"cos\nsystem\n(S'touch hacked'\ntR.")
    attempts.chmod(0o777)  # anybody may have written it
    with pytest.raises(ExtractError, match="only we can write to"):
        list(finished_before(attempts, "job", []))
    link = tmp_path / "link"
    link.symlink_to(attempts)
    with pytest.raises(ExtractError, match="only we can write to"):
        list(finished_before(link, "job", []))
    assert not Path("hacked").exists()
