"""``extract help``: short texts on topics that concern several commands.

To add a topic: a file ``topics/NAME.txt`` with its summary as the first line, and its name in
`TOPICS`.
"""

from __future__ import annotations

import difflib
import shutil
import textwrap
from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

import click

from extract.limits import Group, limits_of, option

TOPICS: Final = (
    *("queries", "schemas", "schemes", "messages", "results", "limits", "matchers", "spark"),
    *("config", "exit-status", "python"),
)
_LIMITS: Final[dict[Group, str]] = {
    "document": "Of documents",
    "answer": "Of answers",
    "query": "Of queries, when they are prepared",
}


@click.command()
@click.argument("words", metavar="[TOPIC | COMMAND...]", nargs=-1)
@click.pass_context
def help(ctx: click.Context, words: tuple[str, ...]) -> None:  # noqa: A001 (the name of the command)
    """Explain a topic, or show the help of a command.

    Without a topic, list the topics.

    \b
    Example:
      extract help
      extract help queries
      extract help run
      extract help subs add
    """
    if not words:
        click.echo("\n".join(_contents()))
    elif len(words) == 1 and words[0] in TOPICS:
        click.echo(topic_text(words[0], min(100, shutil.get_terminal_size().columns)))
    else:
        assert ctx.parent is not None
        inner = ctx.parent
        for word in words:
            inner = _command_context(inner, word, TOPICS if inner is ctx.parent else ())
        click.echo(inner.get_help())


def _command_context(outer: click.Context, word: str, topics: tuple[str, ...]) -> click.Context:
    """Returns the context of a command inside of another one's.

    Raises:
        click.UsageError: There is no such command; the topics could have been meant, too.
    """
    group = outer.command
    commands = group.list_commands(outer) if isinstance(group, click.Group) else []
    if isinstance(group, click.Group) and word in commands:
        command = group.get_command(outer, word)
        assert command is not None
        return click.Context(command, info_name=word, parent=outer)
    names = [*topics, *commands]
    near = difflib.get_close_matches(word, names, 1)
    there = ", ".join(topics or commands)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {there}." if there else ""
    kind = "topic" if topics else "command"
    raise click.UsageError(f"There is no {kind} {word!r}. {hint}".rstrip())


def topic_text(topic: str, width: int = 80) -> str:
    """The text of a topic, with paragraphs of this width; lines that are indented stay as they are.

    Args:
        topic: One of `TOPICS`.
        width: How many characters a line has.
    """
    text = (files("extract.cli") / "topics" / f"{topic}.txt").read_text(encoding="utf-8").rstrip()
    blocks = [_wrapped(block, width) for block in text.split("\n\n")]
    if topic == "limits":
        blocks += _limits(width)
    return "\n\n".join(blocks)


def _wrapped(block: str, width: int) -> str:
    """A block of lines; those that are not indented are filled anew."""
    runs = groupby(block.splitlines(), lambda line: line.startswith(" "))
    parts = [(indented, list(lines)) for indented, lines in runs]
    return "\n".join(
        "\n".join(lines)
        if indented
        else textwrap.fill(" ".join(lines), width, break_on_hyphens=False)
        for indented, lines in parts
    )


def _contents() -> Iterator[str]:
    """The lines of the list of topics."""
    yield "Topics, as in `extract help queries`:\n"
    for topic in TOPICS:
        yield f"  {topic:<12}  {topic_text(topic).splitlines()[0].partition(': ')[2]}"
    yield "\nThe help of a command: `extract help run`, which is `extract run --help`."


def _limits(width: int) -> Iterator[str]:
    """The limits with their defaults, by what they are about."""
    for group, title in _LIMITS.items():
        formatter = click.HelpFormatter(width=width)
        with formatter.section(title):
            formatter.write_dl(
                [
                    (
                        option(one.name),
                        f"{one.metadata['about']}  [default: {_number(one.default)}]",
                    )
                    for one in limits_of(group)
                ]
            )
        yield formatter.getvalue().strip()


def _number(value: Any) -> str:
    return f"{value:,.0f} s" if isinstance(value, float) else f"{value:,}"
