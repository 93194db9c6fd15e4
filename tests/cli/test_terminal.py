"""What a terminal shows and a pipe does not: progress, tables, colours; and shell completion."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from extract.cli import COMMANDS, SECTIONS, cli
from extract.cli.progress import Display, progress
from extract.cli.tables import Table
from tests.support.paths import ROOT

ESCAPE = "\x1b["
COLOUR = re.compile(r"\x1b\[[0-9;]*(3[0-7]|38;|9[0-7])")
QUERIES = "names\t//student/name\nlost\t/db/student/hobby\nbroken\t//student[\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    Path("q.tsv").write_text(QUERIES, encoding="utf-8")
    Path("docs").mkdir()
    for n in range(40):
        Path(f"docs/{n}.xml").write_text("<db><student><name>n</name></student></db>")
    Path("docs/torn.xml").write_text("<db><student>")
    schema = ["--schema", str(ROOT / "schemas" / "university.dtd"), "--root", "db"]
    args = ["prep", *schema, "--queries", "q.tsv", "--chunks", "1", "-o", "scheme.json"]
    assert CliRunner().invoke(cli, args).exit_code == 1
    return tmp_path


def on_terminal(*args: str) -> str:
    """What somebody sees who calls extract on a terminal of 100 columns."""
    code = (
        "import fcntl, struct, sys, termios;"
        "fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0));"
        "from extract.cli import main; main()"
    )
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code, *args], stdin=theirs, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        seen = b""
        while select.select([ours], [], [], 120)[0]:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # nobody has the other end any more
                break
            if not data:
                break
            seen += data
    os.close(ours)
    return seen.decode()


RUN = ("run", "--engine", "local", "--scheme", "scheme.json", "docs", "-o", "out")


def test_progress_on_a_terminal(here: Path) -> None:
    seen = on_terminal(*RUN)
    assert re.search(r"\d+/41 documents", seen)
    assert "MB/s" in seen
    assert "40 matches" in seen
    assert "1 rejected" in seen
    assert "left" in seen
    assert seen.rstrip().endswith("figures in out/report.json")


@pytest.mark.parametrize("how", ["--no-progress", "CI", "TERM"])
def test_no_progress_on_request(here: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how != "--no-progress":
        monkeypatch.setenv(how, "dumb" if how == "TERM" else "true")
    seen = on_terminal(*RUN, *([how] if how == "--no-progress" else []))
    assert "/41 documents" not in seen
    assert "Results are in out" in seen


def test_chunk_and_prep_show_progress_too(here: Path) -> None:
    seen = on_terminal("chunk", "--scheme", "scheme.json", "docs", "-o", "chunks")
    assert "/41 documents" in seen
    assert "rejected: docs/torn.xml:1:14" in seen  # above the bar
    seen = on_terminal("filter", "--scheme", "scheme.json", "chunks", "-o", "rows.jsonl")
    assert "/40 documents" in seen
    schema = ["--schema", str(ROOT / "schemas" / "university.dtd"), "--root", "db"]
    for command in (["prep", "--chunks", "2"], ["trans"]):
        seen = on_terminal(*command, *schema, "--queries", "q.tsv", "-o", "x")
        assert "/3 queries" in seen


def test_pipes_get_neither_progress_nor_escapes(here: Path) -> None:
    for args in (RUN, ("explain", "--scheme", "scheme.json"), ("doctor",), ("run",)):
        command = [sys.executable, "-m", "extract", *args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert ESCAPE not in done.stdout + done.stderr
        assert "/41 documents" not in done.stderr


def test_colours_on_a_terminal_and_none_with_no_color(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = ("explain", "--scheme", "no.json")
    assert COLOUR.search(on_terminal(*wrong))
    assert COLOUR.search(on_terminal(*RUN))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not COLOUR.search(on_terminal(*wrong))
    assert not COLOUR.search(on_terminal(*RUN))


def test_progress_in_a_log_is_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(3, True) as shown:
        shown.advance(2, 1_000_000, 5)
        shown.advance(1, rejected=1)
    (line,) = capsys.readouterr().err.splitlines()  # it was soon done
    assert line.startswith("3/3 documents · ")
    assert line.endswith(" MB/s · 5 matches · 1 rejected")


def test_a_display_shows_not_more_often_than_it_should() -> None:
    seen: list[str] = []
    often = Display(9, "documents", lambda shown: seen.append(str(shown)), print, 0.0)
    seldom = Display(9, "documents", lambda shown: seen.append("no"), print, float("inf"))
    for display in (often, seldom):
        display.advance(4)
        display.advance(5)
    assert seen == ["4/9 documents", "9/9 documents"]


def test_subscriptions_are_a_table_on_a_terminal_and_tabs_in_a_pipe(here: Path) -> None:
    seen = re.sub(r"\x1b\[[0-9;]*m", "", on_terminal("subs", "--scheme", "scheme.json", "list"))
    lines = [line.rstrip() for line in seen.splitlines()]
    assert lines[0].split() == ["id", "chunk", "query"]
    assert lines[1].split() == ["names", "1", "//student/name"]
    piped = CliRunner().invoke(cli, ["subs", "--scheme", "scheme.json", "list"]).stdout
    assert piped.splitlines()[0] == "names\t1\t//student/name"


def test_a_cell_cannot_speak_to_the_terminal() -> None:
    assert ESCAPE not in str(Table(("a",), [("\x1b[31mred",)]))


# -- Help and completion


def test_the_help_is_a_tour_with_examples_that_are_commands() -> None:
    text = CliRunner().invoke(cli, ["--help"]).stdout
    assert all(f"{title}:" in text for title in SECTIONS)
    examples = re.findall(r"^ +extract (\w+) ", text, re.MULTILINE)
    assert len(examples) >= 5
    assert set(examples) <= set(COMMANDS)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("extract pr", ["plain,prep", "plain,project"]),
        ("extract run --on-non", ["plain,--on-nonconforming"]),
        ("extract run --select ", ["plain,nodes", "plain,count", "plain,doc", "plain,output"]),
        ("extract subs --scheme s.json re", ["plain,remove", "plain,replace"]),
        ("extract chunk do", ["file,do"]),
        ("extract completion z", ["plain,zsh"]),
    ],
)
def test_completion(words: str, expected: list[str]) -> None:
    environment = {
        "_EXTRACT_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    result = CliRunner().invoke(cli, [], env=environment, prog_name="extract")
    assert result.stdout.splitlines() == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_calls_extract(shell: str) -> None:
    if shell == "bash" and not shutil.which("bash"):
        pytest.skip("there is no bash")
    text = CliRunner().invoke(cli, ["completion", shell]).stdout
    assert f"_EXTRACT_COMPLETE={shell}_complete" in text


@pytest.mark.parametrize(("closed", "status"), [(0, 0), (1, 2), (2, 0)])
def test_a_standard_stream_may_be_closed(tmp_path: Path, closed: int, status: int) -> None:
    (tmp_path / "a.xml").write_text("<a><b/></a>")
    (tmp_path / "q.tsv").write_text("b\t//b\n")
    command = [sys.executable, "-m", "extract", "run", "--engine", "local", "--queries", "q.tsv"]
    done = subprocess.run(
        [*command, "a.xml", "-o", "out"],
        cwd=tmp_path,
        preexec_fn=lambda: os.close(closed),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert ("Bad file descriptor" in done.stderr) == (closed == 1)
    assert (tmp_path / "out" / "report.json").exists()
