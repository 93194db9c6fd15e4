"""``extract completion``: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script with which a shell completes extract's commands, options and files.

    \b
    Example:
      eval "$(extract completion bash)"       here and now; in ~/.bashrc for always
      eval "$(extract completion zsh)"        the same in ~/.zshrc
      extract completion fish > ~/.config/fish/completions/extract.fish
    """
    from extract.cli import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "extract", "_EXTRACT_COMPLETE").source())
