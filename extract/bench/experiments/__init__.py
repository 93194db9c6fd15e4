"""Experiments on a scenario: ``extract bench SCENARIO``.

Usage:
    ``run("university", scale=0.1)`` gives `Results`: the paper's figures 11 and 12 with today's
    tools, our own parts side by side, growth, engines, and other tools; as tables, charts and
    comparisons of the answers. `extract.bench.report` makes text and one HTML page of it.

Always holds:
    What is compared is measured in the same run, best of several. Every rival's answers are
    compared with ours. What is not installed is named, what was extrapolated says from what.

To add an experiment:
    A module here with a function that gives a `Section`, called below. To add a rival: see
    `extract.bench.experiments.rivals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from extract.bench import expected
from extract.bench.experiments import chunked
from extract.bench.experiments.compare import compare
from extract.bench.experiments.engines import engines
from extract.bench.experiments.facts import facts
from extract.bench.experiments.figures import figure_11, figure_12
from extract.bench.experiments.growth import growth
from extract.bench.experiments.paper import QUOTED
from extract.bench.experiments.parts import parts
from extract.bench.experiments.results import BarChart, Check, Results, Section, seconds, times
from extract.bench.experiments.subject import USUAL_CHUNKS, Subject

__all__ = ["Results", "run"]


def run(
    name: str,
    data: Path | None = None,
    scale: float = 1.0,
    command: str = "",
    spark: bool = True,
    progress: Callable[[str], object] = lambda _: None,
) -> Results:
    """All experiments on a scenario.

    Args:
        name: Which.
        data: A folder with real data, for scenarios that can use it.
        scale: The part of documents and queries, to get a first impression sooner.
        command: What the user typed, for the report.
        spark: Whether to start Spark.
        progress: Called with what is measured next.
    """
    subject = Subject.of(name, data, scale)
    progress(f"preparing {len(subject.queries):,} queries")
    subject.scheme()
    sections = [_about(subject)]
    progress("other tools")
    against, versions = compare(subject)
    sections.append(against)
    runs = []
    for queries in subject.sets:
        progress(f"figures 11 and 12, {queries:,} queries")
        runs.append(chunked.run(subject, queries))
    quotes = QUOTED.get(name, ()) if subject.whole else ()  # of the whole document
    sections += [figure_11(runs, quotes), figure_12(runs)]
    progress("our own parts")
    sections.append(parts(subject))
    progress("growth")
    sections.append(growth(subject))
    if spark:
        progress("engines")
        sections.append(engines(subject))
    one = subject.scenario
    headline = against.charts[0]
    assert isinstance(headline, BarChart)
    return Results(
        f"extract bench {name}",
        (one.title, *_summary(against, runs)),
        facts(command, subject.scale, versions),
        tuple(sections),
        headline,
    )


def _about(subject: Subject) -> Section:
    """What the scenario has, and whether it is what is expected."""
    one = subject.scenario
    schema = Path(one.generator.SCHEMA).name
    kind = "real data" if one.real else "made by its generator"
    words = (
        f"{len(subject.queries):,} queries and {len(subject.documents):,} "
        f"document{'s' if len(subject.documents) > 1 else ''} with "
        f"{sum(map(len, subject.documents)):,} bytes, {kind}, of {schema}. "
        f"README and expected figures: scenarios/{one.name}."
    )
    return Section("The scenario", words, checks=tuple(_expected(subject)))


def _expected(subject: Subject) -> Iterator[Check]:
    """Whether what comes out is what the scenario says must come out."""
    if not subject.whole:
        return
    for entry in subject.scenario.expected:
        ours = (len(subject.queries), len(subject.documents))
        if (entry["queries"], entry["documents"]) == ours:
            scheme = subject.scheme()
            numbers = expected.match_counts(scheme, subject.documents)
            chunks = [part.prefix for part in scheme.chunks]
            same = numbers == {key: entry[key] for key in numbers}
            same = same and chunks == entry["chunks"][str(USUAL_CHUNKS)]
            detail = ", ".join(f"{key} {value:,}" for key, value in numbers.items())
            yield Check("expected figures (expected.json)", same, detail)


def _summary(against: Section, runs: list[chunked.Run]) -> Iterator[str]:
    """The main figures in words."""
    bars = against.charts[0]
    assert isinstance(bars, BarChart)
    ours = bars.bars[0].value
    others = [f"{bar.label} {times(bar.value / ours)}" for bar in bars.bars if not bar.ours]
    yield f"{bars.title}: {seconds(ours)}. Other tools, in multiples of that: {', '.join(others)}."
    run = runs[-1]
    fixed = [cut for cut in run.cuts if cut.chunks != "auto"] or list(run.cuts)
    least = min(fixed, key=lambda cut: cut.sequential)
    yield (
        f"Chunks as in the paper, with lxml, {run.queries:,} queries: {least.chunks} chunks one "
        f"after the other take {100 * least.sequential / run.original:.0f}% of the original, in "
        f"parallel {100 * min(cut.parallel for cut in fixed) / run.original:.0f}%; extract itself "
        f"{100 * run.numbers / run.original:.1f}% for the numbers of nodes, "
        f"{100 * run.rows / run.original:.1f}% for every node."
    )
