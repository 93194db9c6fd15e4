"""Reads ``extract.toml``: the options of commands, and errors that point at a line.

An option has the same name in the file as on the command line, without its dashes; documents are
``docs``. At the top of the file it is for all commands that have it; in a section that is named
like a command, for that command alone:

    engine = "local"

    [prep]
    output = "scheme.json"

Some names mean something else for each command (`TOP_LEVEL`). Names of files start at the directory
of the file that has them.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from extract.errors import ExtractError

_NEVER: Final = ("config", "no-config", "help", "debug", "version")
_DOCUMENTS: Final = "documents"  # the only argument that can be in a file

# At the top of the file these names are for these commands alone. Other commands mean something
# else by them, and have them in their sections.
_PREPARING: Final = ("run", "match", "prep", "trans")
TOP_LEVEL: Final[Mapping[str, tuple[str, ...]]] = {
    "output": ("run",),
    "format": ("run",),
    "schema": _PREPARING,
    "root": _PREPARING,
    "queries": _PREPARING,
    "ids": (),
    "svg": (),
}


class ConfigError(ExtractError):
    """A configuration file that cannot be used."""


def options_in_file(command: click.Command) -> dict[str, click.Parameter]:
    """The parameters of a command that can be in a file, by their names there."""
    params = {name_in_file(param): param for param in command.params}
    return {name: one for name, one in params.items() if name and name not in _NEVER}


def name_in_file(param: click.Parameter) -> str:
    """What a parameter is called in a file: its long option, or ``docs``; empty if nothing."""
    if isinstance(param, click.Argument):
        return "docs" if param.name == _DOCUMENTS else ""
    return max(param.opts, key=len).lstrip("-")


def read_config(ctx: click.Context, path: str) -> dict[str, Any]:
    """Reads a file; returns values for the parameters of a command, by their names in Python.

    Args:
        ctx: The context of the command; those of its groups are its parents.
        path: The file.

    Raises:
        ConfigError: It cannot be read, is not TOML, or has a name or a value that no option has.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = f"cannot read the configuration: {error.strerror or error}"
        raise ConfigError(reason, "check the name of the file", path) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8: {error.reason}", "save it as UTF-8", path) from None
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, line, column = _place_of(str(error), text)
        hint = 'write name = value; texts in quotes, as in select = "count"'
        raise ConfigError(f"is not TOML: {reason}", hint, path, line, column) from None
    return dict(entry.take() for entry in _entries(ctx, path, text, entries))


def _entries(
    ctx: click.Context, path: str, text: str, table: Mapping[str, Any]
) -> Iterator[_Entry]:
    """The lines that are for a command: those of its groups first, then those of its section."""
    contexts = _nested(ctx)
    ours = options_in_file(ctx.command)
    section = ""
    for depth, each in enumerate(contexts):
        inner = contexts[depth + 1].info_name if depth + 1 < len(contexts) else None
        below: Mapping[str, Any] = {}
        for key, value in table.items():
            entry = _Entry(ctx, path, text, section, key, value)
            if isinstance(value, dict) and key in _command_names(each):
                below = value if key == inner else below
            elif key in ours:
                if depth > 0 or entry.holds_at_top(contexts):
                    yield entry
            elif key not in _option_names(each):
                raise entry.unknown(list(ours), [*_option_names(each), *_command_names(each)])
        table, section = below, f"{section}.{inner}".lstrip(".")


def _nested(ctx: click.Context) -> list[click.Context]:
    """A context with those around it, the outermost first."""
    contexts = [ctx]
    while (parent := contexts[0].parent) is not None:
        contexts.insert(0, parent)
    return contexts


def _command_names(ctx: click.Context) -> list[str]:
    return ctx.command.list_commands(ctx) if isinstance(ctx.command, click.Group) else []


def _option_names(ctx: click.Context) -> Iterator[str]:
    """The options of a command; of a group, those of its commands too, imported one by one."""
    yield from options_in_file(ctx.command)
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, name)
            assert command is not None
            yield from _option_names(click.Context(command, parent=ctx, info_name=name))


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of a file.

    Attributes:
        ctx: The context of the command that reads it.
        path, text: The file.
        section: The section that the line is in; empty at the top.
        key, value: What the line says.
    """

    ctx: click.Context
    path: str
    text: str
    section: str
    key: str
    value: Any

    def take(self) -> tuple[str, Any]:
        """Returns the parameter's name and its value."""
        param = options_in_file(self.ctx.command)[self.key]
        value = self._shaped(param)
        if isinstance(param.type, click.Path):
            value = [self._beside(one) for one in value] if _many(param) else self._beside(value)
        try:
            param.process_value(self.ctx, value)
        except click.BadParameter as error:
            raise self._error(f"{self.key}: {error.message}", "") from None
        assert param.name is not None
        return param.name, value

    def holds_at_top(self, contexts: list[click.Context]) -> bool:
        """Whether the line, which is at the top of the file, is for the command that reads it.

        Raises:
            ConfigError: At the top it can be for no command.
        """
        commands = TOP_LEVEL.get(self.key)
        if commands is None or len(contexts) == 1:
            return True
        if not commands:
            hint = f"write it into a section, as in [{contexts[1].info_name}]"
            raise self._error(f"{self.key} means something else for each command", hint)
        return contexts[1].info_name in commands

    def unknown(self, ours: list[str], others: list[str]) -> ConfigError:
        """The error for a name that no option has.

        Args:
            ours: The names of the command's options.
            others: Those of other commands, and of the commands themselves.
        """
        key = self.key.replace("_", "-").lstrip("-")
        near = difflib.get_close_matches(key, ours, 1) or difflib.get_close_matches(key, others, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(ours))}"
        what = f"[{self.section}] has" if self.section else "there is"
        return self._error(f"{what} no option {self.key!r}", hint)

    def _shaped(self, param: click.Parameter) -> Any:
        """The value as the option takes it, if it is of the right kind."""
        value = self.value
        if isinstance(value, dict) and isinstance(param, click.Option) and param.multiple:
            return [f"{name}={one}" for name, one in value.items()]  # as --ns and --conf take it
        if _many(param):
            value = [value] if isinstance(value, str) else value
            if isinstance(value, list) and all(isinstance(one, str) for one in value):
                return value
            raise self._error(f"{self.key} takes a list of texts", f'as in {self.key} = ["a"]')
        wanted: tuple[str, tuple[type, ...]] = ("a text in quotes", (str,))
        if isinstance(param, click.Option) and param.is_flag:
            wanted = ("true or false", (bool,))
        elif isinstance(param.type, click.types.FloatParamType | click.types.IntParamType):
            wanted = ("a number", (int, float))
        elif self.key == "chunks":
            wanted = ('a number or "auto"', (int, str))
        what, kinds = wanted
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self._error(f"{self.key} takes {what}, not {value!r}", "")
        return value if isinstance(value, bool) else str(value)

    def _beside(self, name: str) -> str:
        if name == "-" or "://" in name or (self.key, name) == ("schema", "none"):
            return name
        return os.path.join(os.path.dirname(self.path), name)

    def _error(self, reason: str, hint: str) -> ConfigError:
        """An error with the line that the name is in."""
        begin = 0
        if self.section:
            header = re.search(rf"^[ \t]*\[\s*{re.escape(self.section)}\s*\]", self.text, re.M)
            begin = header.end() if header else 0
        name = re.compile(rf"^[ \t]*(?:\[\s*)?[\"']?({re.escape(self.key)})\b", re.M)
        place = name.search(self.text, begin)
        line = self.text.count("\n", 0, place.start(1)) + 1 if place else 0
        column = place.start(1) - self.text.rfind("\n", 0, place.start(1)) if place else 0
        return ConfigError(reason, hint, self.path, line, column)


def _many(param: click.Parameter) -> bool:
    return param.multiple or param.nargs == -1


def _place_of(message: str, text: str) -> tuple[str, int, int]:
    """What tomllib says, taken apart.

    >>> _place_of("Invalid value (at line 3, column 8)", "")
    ('Invalid value', 3, 8)
    >>> _place_of("Expected '=' (at end of document)", "a")
    ("Expected '='", 1, 2)
    """
    parts = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if parts:
        return parts[1], int(parts[2]), int(parts[3])
    lines = text.split("\n")
    return message.removesuffix(" (at end of document)"), len(lines), len(lines[-1]) + 1
