"""``--config`` and ``--no-config``: options of commands in a file, and which value of one holds.

Every command that has options reads ``extract.toml``, where they have the same names without dashes
(`add_config`; `extract.cli.config_file` reads it). The value of an option is, in this order:

1. the one on the command line;
2. the one in the command's section of the file;
3. the one at the top of the file;
4. its default.

Where an option on the command line excludes one of the file, the latter is dropped: `GivesWay`. A
command that has such options takes them as one frozen value, with ``@options_as(ThatClass, ...)``
as its last decorator.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from extract.cli.config_file import options_in_file, read_config

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CONFIG_FILE: Final = "extract.toml"  # read if it is in the current directory
_META: Final = "extract.config"  # key in click's context.meta, which all nested contexts share

OptionsT = TypeVar("OptionsT", bound="DataclassInstance")


class _Source(NamedTuple):
    """Which file is read, as the command line of a command or of its group says.

    Attributes:
        named: The file that was named; None for the usual one.
        none: Whether no file is to be read.
        note: Whether to say that the usual file is read; None once that was said.
    """

    named: str | None = None
    none: bool = False
    note: bool | None = False


def _source(ctx: click.Context) -> _Source:
    source: _Source = ctx.meta.setdefault(_META, _Source())
    return source


def _load(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    source = _source(ctx)
    named = value if value is not None else source.named
    if named is not None:
        ctx.meta[_META] = source._replace(named=named)
        ctx.default_map = read_config(ctx, named)
    elif not source.none and os.path.isfile(CONFIG_FILE):
        ctx.default_map = read_config(ctx, CONFIG_FILE)
        if source.note is not None and ctx.default_map:
            ctx.meta[_META] = source._replace(note=True)


def _refuse(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_META] = _source(ctx)._replace(none=True)


config_option = click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_load,
    help=f"Read options from this file; by default from {CONFIG_FILE}, if that is in the current "
    "directory. What is given on the command line wins. See `extract help config`.",
)
no_config_option = click.option(
    "--no-config",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_refuse,
    help=f"Do not read {CONFIG_FILE}.",
)


def add_config(command: click.Command) -> None:
    """Lets a command read its options from a file, unless it has none that can be there."""
    if any(param.name == "config" for param in command.params) or not options_in_file(command):
        return
    no_config_option(config_option(command))
    if command.callback is not None:
        command.callback = _with_note(command.callback)


def _with_note(callback: Callable[..., Any]) -> Callable[..., Any]:
    """A command that first says that options come from a file that the user did not name."""

    @functools.wraps(callback)
    def called(*args: Any, **kwargs: Any) -> Any:
        ctx = click.get_current_context()
        source = _source(ctx)
        if source.note:
            ctx.meta[_META] = source._replace(note=None)
            if not ctx.params.get("quiet"):
                click.echo(f"Note: options are taken from {CONFIG_FILE}", err=True)
        return callback(*args, **kwargs)

    return called


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
