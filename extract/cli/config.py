"""``extract.toml``: the options of a run, in a file.

Every option of the command has the same name there, without its dashes. What is given on the
command line wins. Names of files start at the directory of the file that has them.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from extract.errors import ExtractError

FOUND: Final = "extract.toml"  # read if it is in the current directory
_NOT_THERE: Final = ("config", "no-config", "help", "debug")


class ConfigError(ExtractError):
    """A configuration file that cannot be used."""


def _load(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    path = value
    if path is None and not ctx.params.get("no_config") and os.path.isfile(FOUND):
        path = FOUND
    if path is not None:
        ctx.default_map = read_config(ctx, path)
    return path


config_option = click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    is_eager=True,
    callback=_load,
    help=f"Read options from this file; by default from {FOUND}, if that is in the current "
    "directory. What is given here wins.",
)
no_config_option = click.option(
    "--no-config", is_flag=True, is_eager=True, help=f"Do not read {FOUND}."
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
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, line, column = _place_of(str(error), text)
        hint = 'write name = value; texts in quotes, as in select = "count"'
        raise ConfigError(f"is no TOML: {reason}", hint, path, line, column) from None
    return dict(_Entry(ctx, path, text, key, value).take() for key, value in found.items())


def wins(ctx: click.Context, *names: str) -> bool:
    """Whether one of these was given on the command line, and not in a file."""
    return any(ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in names)


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
        known = {_name_of(param): param for param in self.ctx.command.params}
        known = {name: param for name, param in known.items() if name not in _NOT_THERE}
        if self.key not in known:
            raise self._error(f"there is no option {self.key!r}", _hint(self.key, list(known)))
        param = known[self.key]
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
        if name == "-" or "://" in name:
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


def _name_of(param: click.Parameter) -> str:
    """What a parameter is called in a file: its long option; the documents are ``docs``."""
    if isinstance(param, click.Argument):
        return "docs"
    return max(param.opts, key=len).lstrip("-")


def _hint(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key.replace("_", "-").lstrip("-"), known, 1)
    if near:
        return f"did you mean {near[0]}?"
    return f"there are: {', '.join(sorted(known))}"


def _place_of(message: str, text: str) -> tuple[str, int, int]:
    """What tomllib says, taken apart.

    >>> _place_of("Invalid value (at line 3, column 8)", "")
    ('Invalid value', 3, 8)
    >>> _place_of("Expected '=' (at end of document)", "a")
    ("Expected '='", 1, 2)
    """
    found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if found:
        return found[1], int(found[2]), int(found[3])
    lines = text.split("\n")
    return message.removesuffix(" (at end of document)"), len(lines), len(lines[-1]) + 1
