"""Results as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from extract.bench.experiments.results import Chart, Check, Results, Section
from extract.bench.report.charts import draw
from extract.bench.report.style import COLOURS, PAGE, SHAPES
from extract.bench.table import ResultTable, shown


def page(results: Results) -> str:
    """The page as text; save it as UTF-8."""
    return "\n".join(_page(results)) + "\n"


def _page(results: Results) -> Iterator[str]:
    title = escape(results.title)
    yield (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title>\n<style>{COLOURS}{PAGE}{SHAPES}</style></head>\n<body><main>"
    )
    yield f"<h1>{title}</h1>"
    for number, sentence in enumerate(results.summary):
        lead = "" if number else ' class="lead"'
        yield f"<p{lead}>{escape(sentence)}</p>"
    wrong = sum(1 for check in results.checks if check.decisive and not check.holds)
    said = f"All {len(results.checks)} comparisons of answers: none found extract wrong."
    kind = "equal"
    if wrong:
        said, kind = f"{wrong} comparisons found extract WRONG; see below.", "wrong"
    yield f'<p class="{kind}">{escape(said)}</p>'
    yield "<dl>"
    for name, what in results.facts.items():
        value = f"<code>{escape(what)}</code>" if name == "command" else escape(what)
        yield f"<dt>{escape(name)}</dt><dd>{value}</dd>"
    yield "</dl>"
    for section in results.sections:
        yield from _section(section)
    yield "</main></body></html>"


def _section(section: Section) -> Iterator[str]:
    yield f"<section><h2>{escape(section.title)}</h2>\n<p>{escape(section.words)}</p>"
    if section.charts:
        yield '<div class="charts">'
        yield from map(_figure, section.charts)
        yield "</div>"
    for table in section.tables:
        yield from _table(table)
    if section.checks:
        yield "<h3>Compared in this run</h3><ul>"
        yield from map(_check, section.checks)
        yield "</ul>"
    yield "</section>"


def _figure(chart: Chart) -> str:
    return f"<figure><h3>{escape(chart.title)}</h3>\n{draw(chart)!s}</figure>"


def _table(table: ResultTable) -> Iterator[str]:
    yield f'<div class="wide"><table><caption>{escape(table.title)}</caption>'
    heads = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for row in table.rows:
        cells = "".join(f"<td>{escape(shown(cell))}</td>" for cell in row)
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table></div>"
    if table.remarks:
        yield f'<p class="remark">{escape(" ".join(table.remarks))}</p>'


def _check(check: Check) -> str:
    kind = "equal" if check.holds else "wrong" if check.decisive else "other"
    return f'<li class="{kind}">{escape(str(check))}</li>'
