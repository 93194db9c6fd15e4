"""``extract.toml``: the options of a command in a file, and which value of an option holds.

Every option of the command has the same name in the file, without its dashes. Names of files start
at the directory of the file that has them. The value of an option is, in this order:

1. the one on the command line;
2. the one in the file, unless an option on the command line excludes it: `GivesWay`;
3. its default.

To give another command such a file: write a frozen dataclass with a field for each of its
parameters, and decorate the command with ``@config_option``, ``@no_config_option`` and, as the last
one, ``@options_as(ThatClass, ...)``.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from extract.errors import ExtractError

CONFIG_FILE: Final = "extract.toml"  # read if it is in the current directory
_NOT_THERE: Final = ("config", "no-config", "help", "debug")

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

OptionsT = TypeVar("OptionsT", bound="DataclassInstance")


class ConfigError(ExtractError):
    """A configuration file that cannot be used."""


def _load(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    path = value
    if path is None and not ctx.params.get("no_config") and os.path.isfile(CONFIG_FILE):
        path = CONFIG_FILE
    if path is not None:
        ctx.default_map = read_config(ctx, path)
    return path


config_option = click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    is_eager=True,
    callback=_load,
    help=f"Read options from this file; by default from {CONFIG_FILE}, if that is in the current "
    "directory. What is given here wins.",
)
no_config_option = click.option(
    "--no-config", is_flag=True, is_eager=True, help=f"Do not read {CONFIG_FILE}."
)


def read_config(ctx: click.Context, path: str) -> dict[str, Any]:
    """Reads a file; returns values for the parameters of a command, by their names in Python.

    Raises:
        ConfigError: It cannot be read, is no TOML, or has a name or a value that no option has.
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
        raise ConfigError(f"is no TOML: {reason}", hint, path, line, column) from None
    return dict(_Entry(ctx, path, text, key, value).take() for key, value in entries.items())


class GivesWay(NamedTuple):
    """Options of the file that are dropped if an option on the command line excludes them.

    Attributes:
        dropped: The options that get their default, unless they are on the command line as well.
        given: One of these has to be on the command line.
        value: The value that it has to have there; None for any.
    """

    dropped: tuple[str, ...]
    given: tuple[str, ...]
    value: str | None = None

    def holds(self, on_command_line: Mapping[str, Any]) -> bool:
        """Whether one of the excluding options is on the command line, with the right value."""
        return any(
            name in on_command_line and self.value in (None, on_command_line[name])
            for name in self.given
        )


def options_as(
    kind: type[OptionsT], *rules: GivesWay
) -> Callable[[Callable[[OptionsT], int]], Callable[..., int]]:
    """Lets a command take its parameters as one frozen value, with the precedence of this module.

    Args:
        kind: A dataclass with a field for each parameter, and a default for each that may be
            dropped.
        rules: Which options of a file give way to which on the command line.
    """

    def decorate(command: Callable[[OptionsT], int]) -> Callable[..., int]:
        @functools.wraps(command)
        def called(**values: Any) -> int:
            ctx = click.get_current_context()
            if "config" in values:
                _note_config(ctx, values["config"])
            given = {name: value for name, value in values.items() if _on_command_line(ctx, name)}
            defaults = {one.name: one.default for one in fields(kind)}
            values |= {name: defaults[name] for name in dropped(given, rules)}
            return command(kind(**{name: values[name] for name in defaults}))

        return called

    return decorate


def dropped(on_command_line: Mapping[str, Any], rules: Iterable[GivesWay]) -> set[str]:
    """The options that get their default, whatever the file says.

    Args:
        on_command_line: The options that are on the command line, with their values.
        rules: Which options give way.
    """
    names = {name for rule in rules if rule.holds(on_command_line) for name in rule.dropped}
    return names - on_command_line.keys()


def _on_command_line(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _note_config(ctx: click.Context, path: str | None) -> None:
    """Says that options come from a file, if it is not named on the command line."""
    if path is not None and not _on_command_line(ctx, "config"):
        click.echo(f"Note: options are taken from {path}", err=True)


class _Entry:
    """One line of a file."""

    def __init__(self, ctx: click.Context, path: str, text: str, key: str, value: Any) -> None:
        self.ctx = ctx
        self.path = path
        self.text = text
        self.key = key
        self.value = value

    def take(self) -> tuple[str, Any]:
        """The parameter's name, and what it gets."""
        params = {name_in_file(param): param for param in self.ctx.command.params}
        params = {name: param for name, param in params.items() if name not in _NOT_THERE}
        if self.key not in params:
            raise self._error(f"there is no option {self.key!r}", _hint(self.key, list(params)))
        param = params[self.key]
        value = self._shaped(param)
        if isinstance(param.type, click.Path):
            value = [self._beside(one) for one in value] if _many(param) else self._beside(value)
        try:
            param.process_value(self.ctx, value)
        except click.BadParameter as error:
            raise self._error(f"{self.key}: {error.message}", "") from None
        assert param.name is not None
        return param.name, value

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
        place = re.search(rf"^[ \t]*(?:\[\s*)?[\"']?({re.escape(self.key)})\b", self.text, re.M)
        line = self.text.count("\n", 0, place.start(1)) + 1 if place else 0
        column = place.start(1) - self.text.rfind("\n", 0, place.start(1)) if place else 0
        return ConfigError(reason, hint, self.path, line, column)


def _many(param: click.Parameter) -> bool:
    return param.multiple or param.nargs == -1


def name_in_file(param: click.Parameter) -> str:
    """What a parameter is called in a file: its long option; the documents are ``docs``."""
    if isinstance(param, click.Argument):
        return "docs"
    return max(param.opts, key=len).lstrip("-")


def _hint(key: str, names: list[str]) -> str:
    near = difflib.get_close_matches(key.replace("_", "-").lstrip("-"), names, 1)
    if near:
        return f"did you mean {near[0]}?"
    return f"there are: {', '.join(sorted(names))}"


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
