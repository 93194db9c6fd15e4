"""``extract bench``: measure, side by side, in one run."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from pathlib import Path

import click

from extract.bench import BENCHMARKS
from extract.cli.options import json_option
from extract.cli.output import open_output
from extract.cli.scenarios import SHARED, scenario_list, shared_data
from extract.cli.terminal import is_terminal
from extract.errors import ExtractError
from extract.scenarios import scenario_names

_PARTS = "\n".join([f"  {name:<10} {what}" for name, what in BENCHMARKS.items()])
_FILE = click.Path(dir_okay=False)


@click.command(
    epilog=f"\b\nA scenario, and everything on it:\n{scenario_list()}\n\n"
    f"\b\nOr one part of extract:\n{_PARTS}"
)
@click.argument("name", metavar="NAME", type=click.Choice([*scenario_names(), *BENCHMARKS]))
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help=f"Folder with real data.  [default: {SHARED} if it is there]",
)
@click.option(
    "--scale",
    default=1.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Part of the work to do, to get a first impression sooner.",
)
@click.option("--output", "-o", type=_FILE, metavar="FILE", help="Write the facts as JSON, too.")
@click.option("--html", type=_FILE, metavar="FILE", help="Write a report with charts: one page.")
@click.option("--svg", type=_FILE, metavar="FILE", help="Write the chart of other tools.")
@click.option("--spark/--no-spark", default=True, help="Measure Spark as well.  [default: spark]")
@json_option
def bench(
    name: str,
    data: Path | None,
    scale: float,
    output: str | None,
    html: str | None,
    svg: str | None,
    spark: bool,
    as_json: bool,
) -> int:
    """Measure extract against what one would do without it.

    For a scenario: the paper's experiments (time by chunk, 2 to 6 chunks, first and last answers),
    other tools, growth, and engines; in less than five minutes. All answers are compared, and the
    exit status is 1 if some of ours are wrong.

    \b
    Examples:
      extract bench university --html report.html
      extract bench stock --scale 0.1 --no-spark
      extract bench chunk
    """
    data = data or shared_data()
    if name in BENCHMARKS:
        if html or svg:
            hint = f"charts are there for scenarios: {', '.join(scenario_names())}"
            raise ExtractError(f"{name} gives a table only", hint)
        table = importlib.import_module(f"extract.bench.{name}").run(data, scale)
        facts, shown, right = table.to_json(), str(table), True
    else:
        from extract.bench.experiments import run
        from extract.bench.report import page, picture, text

        command = shlex.join(["extract", *sys.argv[1:]])
        progress = _show_progress if is_terminal(err=True) else (lambda _: None)
        results = run(name, data, scale, command, spark, progress)
        facts, shown, right = results.to_json(), text(results), results.right
        if html is not None:
            _write(html, page(results))
        if svg is not None and results.headline is not None:
            facts_of = results.facts
            caption = f"{facts_of['machine']}; {facts_of['date']}; {results.title}"
            _write(svg, picture(results.headline, caption))
    if output is not None:
        _write(output, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    click.echo(json.dumps(facts) if as_json else shown)
    return 0 if right else 1


def _show_progress(what: str) -> None:
    click.echo(f"measuring: {what}", err=True)


def _write(path: str, text: str) -> None:
    with open_output(path) as stream:
        stream.write(text)
