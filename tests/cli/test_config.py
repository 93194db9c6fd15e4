"""``extract.toml``: the options of a run in a file, and what goes wrong in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from extract.cli import COMMANDS, cli
from extract.cli.config import CONFIG_FILE, dropped
from extract.cli.config_file import name_in_file, options_in_file, read_config
from extract.cli.run import run as run_command
from extract.cli.run_options import GIVES_WAY
from tests.support.paths import ROOT

GOOD = """\
schema = "university.dtd"
root = "db"
queries = "q.tsv"
docs = ["docs"]
output = "out"
engine = "local"
select = "count"
format = "jsonl"
chunks = 2
max-value-bytes = 1000
"""


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["run", *args])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with all that a run needs, below the one where the user stands."""
    monkeypatch.chdir(tmp_path)
    job = tmp_path / "job"
    (job / "docs").mkdir(parents=True)
    (job / "university.dtd").write_bytes((ROOT / "schemas" / "university.dtd").read_bytes())
    (job / "q.tsv").write_text("names\t//student/name\n", encoding="utf-8")
    (job / "docs/1.xml").write_text("<db><student><name>n</name></student></db>")
    (job / CONFIG_FILE).write_text(GOOD, encoding="utf-8")
    return job


def rows(out: Path) -> list[Any]:
    text = (out / "matches/part-00000.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_a_file_that_is_named_and_names_that_start_at_it(here: Path) -> None:
    result = run("--config", "job/extract.toml")
    assert result.exit_code == 0, result.stderr
    assert rows(here / "out") == [{"document": "job/docs/1.xml", "query": "names", "count": 1}]
    assert "Note" not in result.stderr


def test_a_file_that_is_found_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    result = run()
    assert result.exit_code == 0, result.stderr
    assert "Note: options are taken from extract.toml" in result.stderr
    assert rows(Path("out"))[0]["document"] == "docs/1.xml"
    result = run("--no-config")
    assert result.exit_code == 2
    assert "DOCS" in result.stderr


def test_the_command_line_wins(here: Path) -> None:
    (here.parent / "2.xml").write_text("<db/>")
    result = run("--config", "job/extract.toml", "--select", "nodes", "2.xml", "-o", "mine")
    assert result.exit_code == 0, result.stderr
    assert rows(Path("mine")) == []
    assert not (here / "out").exists()


def test_what_the_command_line_gives_replaces_what_it_excludes(here: Path) -> None:
    schema = ["--schema", "job/university.dtd", "--root", "db", "--queries", "job/q.tsv"]
    prepared = CliRunner().invoke(cli, ["prep", *schema, "--chunks", "1", "-o", "s.json"])
    assert prepared.exit_code == 0, prepared.stderr
    assert run("--config", "job/extract.toml", "--scheme", "s.json").exit_code == 0
    text = GOOD.replace('engine = "local"', 'master = "spark://nowhere:1"\nresume = true')
    (here / CONFIG_FILE).write_text(f'{text}[conf]\n"spark.x" = "1"\n', encoding="utf-8")
    assert run("--config", "job/extract.toml", "--engine", "local").exit_code == 0


def test_prefixes_are_a_table(here: Path) -> None:
    (here / "q.tsv").write_text("names\t//u:student\n", encoding="utf-8")
    (here / CONFIG_FILE).write_text(f'{GOOD}[ns]\nu = "urn:none"\n', encoding="utf-8")
    result = run("--config", "job/extract.toml")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("max-vlaue-bytes = 3", "there is no option 'max-vlaue-bytes'\nHint: did you mean max-va"),
        ("max_value_bytes = 3", "there is no option 'max_value_bytes'\nHint: did you mean max-va"),
        ("documents = 'x'", "there is no option 'documents'\nHint: "),
        ("zzz = 3", "there is no option 'zzz'\nHint: there are: "),
        ("config = 'x'", "there is no option 'config'"),
        ("matcher = 3", "matcher takes a text in quotes, not 3"),
        ("assume-valid = 'x'", "assume-valid takes true or false, not 'x'"),
        ("jobs = 'x'", "jobs takes a number, not 'x'"),
        ("jobs = true", "jobs takes a number, not True"),
        ("jobs = -1", "jobs: -1 is not in the range"),
        ("on-nonconforming = 'x'", "on-nonconforming: 'x' is not one of 'fallback', 'reject'"),
        ("ns = 3", "ns takes a list of texts"),
        ("ns = {'1' = 'x'}", "ns: "),
        ("jobs", "is not TOML: "),
    ],
)
def test_a_wrong_line_is_pointed_at(here: Path, line: str, message: str) -> None:
    (here / CONFIG_FILE).write_text(f"# mine\n{line}\n{GOOD}", encoding="utf-8")
    result = run("--config", "job/extract.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: job/extract.toml:2:")
    assert message in result.stderr
    assert not (here / "out").exists()


def test_a_file_that_cannot_be_read(here: Path) -> None:
    result = run("--config", "none.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: none.toml: cannot read the configuration")
    (here / CONFIG_FILE).write_bytes(b"\xff\xff")
    assert "is not UTF-8" in run("--config", "job/extract.toml").stderr


# -- Sections, and commands other than `run`


def prepare(*args: str) -> Result:
    return CliRunner().invoke(cli, ["prep", *args])


def test_one_file_serves_every_command(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`output` and `format` at the top are those of `run`; the others have sections."""
    monkeypatch.chdir(here)
    sections = '[prep]\noutput = "s.json"\n[project]\nscheme = "s.json"\n[explain]\njson = true\n'
    Path(CONFIG_FILE).write_text(f'{GOOD}{sections}scheme = "s.json"\n', encoding="utf-8")
    result = prepare()
    assert result.exit_code == 0, result.stderr
    assert "Note: options are taken from extract.toml" in result.stderr
    assert json.loads(Path("s.json").read_text())["chunks"]
    result = CliRunner().invoke(cli, ["project", "docs/1.xml"])
    assert (result.exit_code, result.stdout) == (0, Path("docs/1.xml").read_text()), result.stderr
    assert not Path("out").exists()
    result = CliRunner().invoke(cli, ["explain", "names"])
    assert json.loads(result.stdout)["id"] == "names", result.stderr
    assert run().exit_code == 0
    assert Path("out/report.json").exists()


def test_a_section_wins_over_the_top_and_the_command_line_over_both(here: Path) -> None:
    (here / CONFIG_FILE).write_text(f"{GOOD}[prep]\nchunks = 1\n", encoding="utf-8")
    for args, chunks in (([], 1), (["--chunks", "3"], 3)):
        result = prepare("--config", "job/extract.toml", *args)
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["settings"]["chunks"] == chunks
    (here / CONFIG_FILE).write_text(GOOD, encoding="utf-8")
    result = prepare("--config", "job/extract.toml")
    assert json.loads(result.stdout)["settings"]["chunks"] == 2


def test_a_group_and_its_commands_share_the_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert prepare("--config", "job/extract.toml", "-o", "job/s.json").exit_code == 0
    text = f'{GOOD}scheme = "s.json"\n[subs]\nweight = 3\n[subs.list]\njson = true\n'
    (here / CONFIG_FILE).write_text(text, encoding="utf-8")
    subs = ["subs", "--config", "job/extract.toml"]
    result = CliRunner().invoke(cli, [*subs, "add", "all", "//student"])
    assert result.exit_code == 0, result.stderr
    listed = CliRunner().invoke(cli, [*subs, "list"]).stdout.splitlines()
    weights = {one["id"]: one.get("weight") for one in map(json.loads, listed)}
    assert weights == {"names": None, "all": 3}  # and `queries` at the top are not those of add
    monkeypatch.chdir(here)
    result = CliRunner().invoke(cli, ["subs", "list"])
    assert result.stderr.count("Note: options are taken from extract.toml") == 1
    result = CliRunner().invoke(cli, ["subs", "--no-config", "list"])
    assert result.exit_code == 2
    assert "--scheme" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[prep]\nchuncks = 3\n",
            "2:1: [prep] has no option 'chuncks'\nHint: did you mean chunks?",
        ),
        ("chunks = 2\n[prep]\nchunks = 'x'\n", "3:1: chunks: 'x' is neither a number nor auto"),
        ("[perp]\nchunks = 3\n", "1:2: there is no option 'perp'\nHint: did you mean prep?"),
        ("enigne = 'local'\n", "1:1: there is no option 'enigne'\nHint: did you mean engine?"),
    ],
)
def test_a_wrong_name_in_a_section_is_pointed_at(here: Path, text: str, message: str) -> None:
    (here / CONFIG_FILE).write_text(text, encoding="utf-8")
    result = prepare("--config", "job/extract.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: job/extract.toml:{message}")


def test_a_name_that_each_command_understands_otherwise_needs_a_section(here: Path) -> None:
    (here / CONFIG_FILE).write_text("svg = 'x.svg'\n", encoding="utf-8")
    result = CliRunner().invoke(cli, ["explain", "--config", "job/extract.toml"])
    assert result.exit_code == 2
    assert "svg means something else for each command\nHint: write it into" in result.stderr


def test_without_a_schema_is_no_file(here: Path) -> None:
    """`--schema none` is a word, and is not looked for beside extract.toml."""

    @click.command()
    @click.option("--schema", type=click.Path())
    def command(schema: str) -> None: ...

    (here / CONFIG_FILE).write_text("schema = 'none'\n", encoding="utf-8")
    values = read_config(click.Context(command), "job/extract.toml")
    assert values == {"schema": "none"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_with_options_has_config(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for one in (command, *getattr(command, "commands", {}).values()):
        names = {param.name for param in one.params}
        assert ({"config", "no_config"} <= names) == bool(options_in_file(one))


def test_help_works_whatever_the_file_says(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    Path(CONFIG_FILE).write_text("?")
    assert run("--help").exit_code == 0


def test_an_option_has_one_name_in_python_too() -> None:
    """Dashes are underscores, and nothing else changes; these are the exceptions."""
    exceptions = {
        "docs": "documents",
        "ns": "namespaces",
        "xpath-version": "version",
        "format": "form",
        "json": "as_json",
        "with": "joined",
    }
    for param in run_command.params:
        assert len([name for name in param.opts if name.startswith("--")]) <= 1
        assert isinstance(param, click.Parameter)
        name = name_in_file(param)
        assert param.name == exceptions.get(name, name.replace("-", "_"))


@pytest.mark.parametrize(
    ("on_command_line", "kept"),
    [
        ({}, ["schema", "queries", "scheme", "master", "jobs", "resume", "conf"]),
        ({"scheme": "x"}, ["scheme", "master", "jobs", "resume", "conf"]),
        ({"queries": "x"}, ["schema", "queries", "master", "jobs", "resume", "conf"]),
        ({"engine": "local"}, ["schema", "queries", "scheme", "jobs"]),
        ({"engine": "local", "conf": "x"}, ["schema", "queries", "scheme", "jobs", "conf"]),
        ({"engine": "spark"}, ["schema", "queries", "scheme", "master", "jobs", "resume", "conf"]),
        ({"jobs": 2}, ["schema", "queries", "scheme", "jobs", "resume", "conf"]),
        ({"master": "x"}, ["schema", "queries", "scheme", "master", "resume", "conf"]),
        (
            {"master": "x", "jobs": 2},
            ["schema", "queries", "scheme", "master", "jobs", "resume", "conf"],
        ),
    ],
)
def test_options_of_the_file_give_way(on_command_line: dict[str, Any], kept: list[str]) -> None:
    names = ["schema", "queries", "scheme", "master", "jobs", "resume", "conf"]
    excluded = dropped(on_command_line, GIVES_WAY)
    assert [name for name in names if name not in excluded] == kept
