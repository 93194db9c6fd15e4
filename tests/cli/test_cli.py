"""The command line around the commands: help, failures, exit statuses, shared options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner, Result

from extract import QuerySyntaxError, SchemaError, __version__
from extract.cli import COMMANDS, cli, doctor
from extract.cli.options import (
    json_option,
    namespaces_option,
    output_option,
    queries_option,
    root_option,
    schema_option,
)
from extract.errors import NO_ROOM
from tests.support.commands import shell


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, args, prog_name="extract")


Register = Callable[[click.Command], None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Adds a command to the group for one test."""

    def register(command: click.Command) -> None:
        assert command.name
        module = ModuleType(f"extract.cli.{command.name}")
        setattr(module, command.name, command)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(COMMANDS, command.name, "Only a test.")

    return register


@pytest.fixture
def failing(register: Register) -> Callable[[BaseException], None]:
    """Registers a command ``fail`` that raises this."""

    def failing(error: BaseException) -> None:
        @click.command()
        def fail() -> None:
            click.echo("begun")
            raise error

        register(fail)

    return failing


# -- The group


def test_help_lists_the_commands_and_exit_statuses() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "Exit status" in result.stdout
    for name, summary in COMMANDS.items():
        assert name in result.stdout
        assert summary in result.stdout


def test_help_loads_no_heavy_library() -> None:
    heavy = ["elementpath", "lxml", "networkx", "pyspark", "xmlschema", "extract.transtool"]
    code = (
        "import sys; from extract.cli import main\n"
        "try: main(['--help'])\n"
        f"finally: print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_takes_debug(name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert "--debug" in result.stdout
    assert run(name, "-h").stdout == result.stdout


def test_version() -> None:
    assert run("--version").stdout == f"extract {__version__}\n"
    assert shell("--version").stdout == f"extract {__version__}\n"


def test_the_installed_version_is_that_of_the_package() -> None:
    try:
        installed = metadata.version(doctor.DISTRIBUTION)
    except metadata.PackageNotFoundError:
        pytest.skip("the package runs from its folder and is not installed")
    assert installed == __version__


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "The whole job:"),
        (["doctro"], "Did you mean 'doctor'?"),
        (["xyz"], "There are: run"),
        (["--no-such"], "No such option"),
        (["doctor", "--jsn"], "--json"),
        (["doctor", "surplus"], "unexpected extra argument"),
    ],
)
def test_bad_usage_gives_2_and_a_hint(args: list[str], message: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "--help" in result.stderr
    assert not result.stdout


# -- Failures

Failing = Callable[[BaseException], None]


def test_a_known_error_is_one_message_with_a_hint(failing: Failing) -> None:
    failing(SchemaError("the module is missing", "put it beside the DTD", "a.dtd", 3, 7))
    result = run("fail")
    assert result.exit_code == 2
    assert result.stdout == "begun\n"
    assert result.stderr == "Error: a.dtd:3:7: the module is missing\nHint: put it beside the DTD\n"


def test_a_query_error_has_a_caret(failing: Failing) -> None:
    failing(QuerySyntaxError("a step is missing", "", "q.tsv", 2, 5, "/a//", 4))
    assert run("fail").stderr.splitlines()[-2:] == ["  /a//", "      ^"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileNotFoundError(2, "No such file or directory", "x.dtd"), "x.dtd: No such file"),
        (IsADirectoryError(21, "Is a directory", "dir"), "dir: Is a directory\nHint: name a file"),
        (
            PermissionError(13, "Permission denied", b"x"),
            "x: Permission denied\nHint: check its",
        ),
        (OSError(28, "No space left on device"), "Error: No space left on device\n"),
        (ModuleNotFoundError("No module named 'lxml'"), "Hint: `extract doctor` shows"),
    ],
)
def test_an_error_of_the_system_is_readable(failing: Failing, error: OSError, message: str) -> None:
    failing(error)
    result = run("fail")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("by\nzero"), RecursionError(), OSError("odd"), EOFError("end")]
)
def test_our_own_faults_are_called_so(failing: Failing, error: Exception) -> None:
    failing(error)
    result = run("fail")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: internal error: {type(error).__name__}")
    assert "--debug" in result.stderr
    assert len(result.stderr.splitlines()) == 2


@pytest.mark.parametrize("args", [("--debug", "fail"), ("fail", "--debug")])
@pytest.mark.parametrize("error", [ZeroDivisionError("zero"), SchemaError("broken")])
def test_debug_shows_the_traceback(
    failing: Failing, args: tuple[str, ...], error: Exception
) -> None:
    failing(error)
    result = run(*args)
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert "\nError: " in result.stderr


def test_debug_does_not_outlive_its_call(failing: Failing) -> None:
    failing(SchemaError("broken"))
    assert "Traceback" in run("fail", "--debug").stderr
    assert "Traceback" not in run("fail").stderr


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_gives_130(failing: Failing, error: BaseException) -> None:
    failing(error)
    result = run("fail")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted.\n"


def test_errors_that_click_would_end_with_1_give_2(failing: Failing) -> None:
    failing(click.ClickException("odd"))
    result = run("fail")
    assert (result.exit_code, result.stderr) == (2, "Error: odd\n")


@pytest.mark.parametrize("status", [None, 0, 1, 2])
def test_a_command_returns_its_exit_status(register: Register, status: int | None) -> None:
    @click.command()
    def done() -> int | None:
        return status

    register(done)
    assert run("done").exit_code == (status or 0)


FLOOD = """
import sys, types, click
from extract.cli import COMMANDS, main
@click.command()
def flood():
    for _ in range({lines}):
        sys.stdout.write("x" * 99 + "\\n")
sys.modules["extract.cli.flood"] = types.SimpleNamespace(flood=flood)
COMMANDS["flood"] = ""
main(["flood"])
"""


@pytest.mark.parametrize("lines", [5, 100_000])  # within the buffer, and far beyond it
def test_a_closed_pipe_is_quiet(lines: int) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", FLOOD.format(lines=lines)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("lines", [5, 100_000])
def test_a_full_disk_is_one_message(lines: int) -> None:
    command = [sys.executable, "-c", FLOOD.format(lines=lines)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    said = f"Error: No space left on device\nHint: {NO_ROOM}\n"
    assert (done.returncode, done.stderr) == (2, said)


# -- Shared options


@pytest.fixture
def shown(register: Register) -> None:
    """Registers a command ``show`` with all shared options, which prints them."""

    @click.command()
    @schema_option
    @queries_option
    @root_option
    @namespaces_option
    @json_option
    @output_option
    def show(**values: object) -> None:
        click.echo(json.dumps(values))

    register(show)


@pytest.mark.usefixtures("shown")
def test_shared_options_have_sensible_values() -> None:
    args = ["show", "--schema", "s.dtd", "--queries", "-"]
    assert json.loads(run(*args).stdout) == {
        "schema": "s.dtd",
        "queries": "-",
        "root": None,
        "namespaces": {},
        "as_json": False,
        "output": "-",
    }
    result = run(*args, "--ns", "p=urn:p?a=b", "--ns", "q=urn:q", "--ns", "p=urn:p?a=b")
    assert json.loads(result.stdout)["namespaces"] == {"p": "urn:p?a=b", "q": "urn:q"}


@pytest.mark.parametrize(
    ("bindings", "message"),
    [
        (["urn:p"], "'urn:p' is not of the form prefix=uri"),
        (["=urn:p"], "no default namespace"),
        (["p="], "the namespace URI of 'p' is empty"),
        (["1=urn:p"], "'1' is no name"),
        (["p=urn:one", "p=urn:two"], "bound to both 'urn:one' and 'urn:two'"),
    ],
)
@pytest.mark.usefixtures("shown")
def test_a_wrong_binding_is_bad_usage(bindings: list[str], message: str) -> None:
    result = run("show", "-s", "s", "-q", "q", *(f"--ns={binding}" for binding in bindings))
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.usefixtures("shown")
def test_a_missing_option_is_bad_usage() -> None:
    result = run("show", "--queries", "q")
    assert result.exit_code == 2
    assert "--schema" in result.stderr
