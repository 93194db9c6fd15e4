"""Files that commands write: complete or absent, through links and into devices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from extract.cli.output import open_output


def test_output_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    with open_output(str(target)) as stream:
        stream.write("größer\n")
        stream.flush()
        assert not target.exists()
    assert target.read_bytes() == "größer\n".encode()
    target.chmod(0o640)
    with pytest.raises(UnicodeEncodeError), open_output(str(target)) as stream:
        stream.writelines(["half", "\ud800"])
    assert target.read_text(encoding="utf-8") == "größer\n"
    with open_output(str(target)) as stream:
        stream.write("new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_output_goes_through_links_and_into_devices(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    with open_output(str(link)) as stream:
        stream.write("x")
    assert link.is_symlink()
    assert real.read_text() == "x"
    with open_output(os.devnull) as stream:
        stream.write("x")
    assert not Path(os.devnull).is_file()


def test_output_into_a_missing_directory_names_what_the_user_named(tmp_path: Path) -> None:
    target = str(tmp_path / "none" / "out")
    with pytest.raises(FileNotFoundError) as caught, open_output(target):
        pass
    assert caught.value.filename == target
    with pytest.raises(IsADirectoryError), open_output(str(tmp_path)):
        pass


def test_standard_output_is_utf8_everywhere() -> None:
    code = "from extract.cli.output import open_output\nwith open_output('-') as s: s.write('é\\n')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment, timeout=60
    )
    assert (done.stdout, done.stderr) == ("é\n".encode(), b"")
