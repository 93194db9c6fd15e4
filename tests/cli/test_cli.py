"""The command line around the commands: help, failures, exit statuses, and the doctor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace

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
from extract.cli.output import open_output
from extract.errors import NO_ROOM


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, args, prog_name="extract")


def shell(*args: str) -> subprocess.CompletedProcess[str]:
    """Runs the command as a user does, in a process of its own."""
    command = [sys.executable, "-m", "extract", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


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
        installed = metadata.version("extract")
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


# -- Output files


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


# -- The doctor


def findings(result: Result) -> dict[str, dict[str, str]]:
    return {finding["name"]: finding for finding in json.loads(result.stdout)["findings"]}


def pretend_java(monkeypatch: pytest.MonkeyPatch, answer: str | OSError | None) -> None:
    """Makes ``java -version`` answer this; None: there is no Java."""

    def answering(*_args: object, **_options: object) -> SimpleNamespace:
        if isinstance(answer, OSError):
            raise answer
        return SimpleNamespace(stdout="", stderr=answer)

    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _name: None if answer is None else "/opt/java")
    monkeypatch.setattr("subprocess.run", answering)
    monkeypatch.setattr("extract.filtertool.spark.java.bundled_home", lambda: None)


def test_the_doctor_in_a_real_process() -> None:
    done = shell("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "extract is usable here." in done.stdout
    for name in ["python", "libxml2", "java", "pyspark", "native kernel", *doctor.REQUIRED]:
        assert f" {name} " in done.stdout


def test_the_doctor_tells_the_same_as_json() -> None:
    result = run("doctor", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["usable"] is True
    found = findings(result)
    assert found["extract"]["version"] == __version__
    assert found["lxml"] == {
        "name": "lxml",
        "status": "ok",
        "version": metadata.version("lxml"),
        "note": "",
    }


def test_the_doctor_needs_what_the_package_needs(repo_root: Path) -> None:
    project = tomllib.loads((repo_root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {
        f"{name}>={'.'.join(map(str, lowest))}" for name, (lowest, _) in doctor.REQUIRED.items()
    }
    # pyspark is looked at without importing it, and for a test of its own.
    lowest = {one.partition(",")[0] for one in project["dependencies"]}
    assert wanted == {one for one in lowest if not one.startswith("pyspark")}
    assert project["requires-python"] == f">={'.'.join(map(str, doctor.PYTHON))}"


def test_the_doctor_warns_of_an_old_lxml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "5.9.9" if name == "lxml" else "99.0")
    result = run("doctor", "--json")
    assert result.exit_code == 0
    assert findings(result)["lxml"]["status"] == "warning"
    assert "CVE-2026-41066" in findings(result)["lxml"]["note"]


def test_the_doctor_gives_2_when_a_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)  # importing it now fails
    result = run("doctor")
    assert result.exit_code == 2
    assert "missing  networkx" in result.stdout
    assert "NOT usable" in result.stdout


@pytest.mark.parametrize(
    ("answer", "status", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "ok", "17.0.15"),
        ('java version "21" 2023-09-19 LTS', "ok", "21"),
        ('java version "1.8.0_392"', "warning", "1.8.0_392"),
        ("Unable to locate a Java Runtime.", "warning", ""),
        (PermissionError(13, "Permission denied"), "warning", ""),
        (None, "absent", ""),
    ],
)
def test_the_doctor_looks_for_a_java_that_spark_can_use(
    monkeypatch: pytest.MonkeyPatch, answer: str | OSError | None, status: str, version: str
) -> None:
    pretend_java(monkeypatch, answer)
    result = run("doctor", "--json")
    assert result.exit_code == 0  # Spark is for scale; nothing here needs it
    java = findings(result)["java"]
    assert (java["status"], java["version"]) == (status, version)
    assert status == "ok" or "17 or 21" in java["note"]


def test_doctor_tells_a_kernel_that_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXTRACT_KERNEL", "off")
    result = CliRunner().invoke(cli, ["doctor"])
    assert "switched off by EXTRACT_KERNEL" in " ".join(result.output.split())
