"""``extract help``, and the groups of options in the help of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner, Result

from extract.cli import cli
from extract.cli.help import TOPICS, topic_text
from extract.filtertool.matchers.registry import matcher_names
from extract.filtertool.output.arrow import REJECTED, SCHEMAS
from extract.limits import limits_of, option
from tests.support.paths import ROOT


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, args, prog_name="extract")


def test_the_topics_are_listed() -> None:
    result = run("help")
    assert result.exit_code == 0
    for topic in TOPICS:
        assert re.search(rf"^  {topic} +\w.*\.$", result.stdout, re.M)
    files = (ROOT / "extract/cli/topics").glob("*.txt")
    assert {file.stem for file in files} == set(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic(topic: str) -> None:
    result = run("help", topic)
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) > 5
    for page in re.findall(r"docs/\w+\.md", result.stdout):
        assert (ROOT / page).exists(), page
    for name in re.findall(r"extract help ([a-z-]+)", result.stdout):
        assert name in TOPICS
    for name in re.findall(r"^ +extract ([a-z]+) ", result.stdout, re.M):
        assert name in cli.list_commands(click.Context(cli))


def every_command(group: click.Group, outer: click.Context) -> Iterator[list[str]]:
    """The words of each command, also of those inside of others."""
    for name in group.list_commands(outer):
        command = group.get_command(outer, name)
        yield [name]
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=outer)
            yield from ([name, *words] for words in every_command(command, inner))


@pytest.mark.parametrize("words", [*every_command(cli, click.Context(cli))], ids=" ".join)
def test_the_help_of_every_command_needs_nothing(words: list[str]) -> None:
    result = run(*words, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: extract {' '.join(words)} ")
    assert run("help", *words).stdout == result.stdout


def test_an_unknown_topic_has_a_near_one() -> None:
    result = run("help", "shema")
    assert result.exit_code == 2
    assert "There is no topic 'shema'. Did you mean 'schemas'?" in result.stderr
    assert "Did you mean 'run'?" in run("help", "rnu").stderr
    assert "There are: queries," in run("help", "zzz").stderr
    assert "There is no command 'ad'. Did you mean 'add'?" in run("help", "subs", "ad").stderr
    assert run("help", "run", "fast").exit_code == 2


def test_topics_have_the_facts_of_the_program() -> None:
    results = topic_text("results")
    for column in (*SCHEMAS["nodes"].names, *SCHEMAS["count"].names, *REJECTED.names):
        assert re.search(rf"\b{column}\b", results), column
    assert all(name in topic_text("matchers") for name in matcher_names())
    limits = topic_text("limits")
    for limit in limits_of("document", "answer", "query"):
        assert f"  {option(limit.name)} " in limits


def test_topics_have_the_facts_of_the_pages() -> None:
    operations = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([^;:(|]+)", operations, re.M)
    assert len(rows) == 5
    for status, meaning in rows:
        assert re.search(
            rf"^  {status} +{re.escape(meaning.strip())}", topic_text("exit-status"), re.M
        )


def test_limits_do_not_bury_the_other_options() -> None:
    text = run("run", "--help").stdout
    titles = re.findall(r"^(\w[^:\n]*):$", text, re.M)
    assert [title.partition(",")[0] for title in titles] == [
        *("Input", "Output", "Matching", "Engine", "Configuration and help", "Limits")
    ]
    limits = text.partition("\nLimits")[2]
    assert len(limits.splitlines()) < 15
    assert "--max-depth" in limits
    assert "--max-" not in text.partition("\nLimits")[0]
