"""``extract bench``: measure, side by side, in one run."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import click

from extract.bench import BENCHMARKS
from extract.cli.options import json_option

_SHARED = Path("..") / "shared" / "data"


_NAMES = "\n".join([f"  {name:<7} {what}" for name, what in BENCHMARKS.items()])


@click.command(epilog=f"\b\nNAME is one of:\n{_NAMES}")
@click.argument("name", metavar="NAME", type=click.Choice(list(BENCHMARKS)))
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help=f"Folder with real data.  [default: {_SHARED} if it is there]",
)
@click.option(
    "--scale",
    default=1.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Part of the work to do, to get a first impression sooner.",
)
@json_option
def bench(name: str, data: Path | None, scale: float, as_json: bool) -> None:
    """Measure one part of extract against what one would do without it."""
    if data is None and _SHARED.is_dir():
        data = _SHARED
    table = importlib.import_module(f"extract.bench.{name}").run(data, scale)
    click.echo(json.dumps(table.to_json()) if as_json else str(table))
