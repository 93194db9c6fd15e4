"""The paper's figures 11 and 12 as tables and charts, with its own figures beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from extract.bench.experiments.chunked import CutTiming, Run
from extract.bench.experiments.paper import Quoted
from extract.bench.experiments.results import (
    Bar,
    BarChart,
    Check,
    Section,
    Span,
    SpanChart,
    seconds,
)
from extract.bench.table import ResultTable

_AS_PAPER = (
    "Each document is cut into chunks, each chunk is parsed, and each of its queries is evaluated "
    "by lxml as one compiled XPath; the original is parsed whole, and each query is evaluated as "
    "it was registered. Processor time on one core. In parallel means: cutting, and then the "
    "longest chunk, as the paper computes it."
)


def figure_11(runs: Sequence[Run], quotes: Sequence[Quoted] = ()) -> Section:
    """Chunking time, time of each chunk and the potpourri, their sum, and the original.

    Args:
        runs: What was measured.
        quotes: What the paper says of the same.
    """
    charts = [chart for run in runs for chart in (_stacked(run), _against_original(run))]
    tables = [_components(run) for run in runs]
    checks = [
        Check(
            f"{run.queries:,} queries, numbers of nodes, extract and lxml on the original",
            not run.wrong,
            f"{run.queries:,} queries, {run.nodes:,} nodes"
            + (f"; not {len(run.wrong):,}: {', '.join(run.wrong[:5])}" if run.wrong else ""),
        )
        for run in runs
    ]
    quoted = _against_paper(quotes, runs)
    words = (
        f"{_AS_PAPER} “Different queries once” is the original without queries that mean the same "
        "as another: what lies between it and the chunks is the gain of chunks alone. extract is "
        "what one uses: kernel and columns, no XPath engine. The shortest of several times, but "
        "what takes more than three seconds is measured once."
    )
    return Section(
        "Figure 11: time by chunk, and the original",
        words,
        tuple(charts),
        (*([quoted] if quoted is not None else ()), *tables),
        tuple(checks),
    )


def figure_12(runs: Sequence[Run]) -> Section:
    """2 to 6 chunks: all in all, and when the first and the last answers are there."""
    rows: list[list[str | int | float]] = []
    for run in runs:
        rows.extend([run.queries, *_percents(run, cut)] for cut in run.cuts)
    columns = ("queries", "chunks", "earliest %", "latest %", "one after the other %")
    table = ResultTable("Percent of the time on the original", columns, rows)
    charts = [
        SpanChart(
            f"{run.queries:,} queries",
            tuple(
                Span(
                    _label(cut),
                    100 * cut.earliest / run.original,
                    100 * cut.parallel / run.original,
                    100 * cut.sequential / run.original,
                )
                for cut in run.cuts
            ),
        )
        for run in runs
    ]
    words = (
        "What 2 to 6 chunks take in percent of the original: from the first answers (cutting and "
        "the shortest chunk) to the last ones (cutting and the longest chunk), if each chunk has a "
        "processor; and all chunks one after the other. auto is the number that extract prep "
        "--chunks auto takes for one worker, from a document of the same kind as a sample."
    )
    title = "Figure 12: 2 to 6 chunks, earliest and latest delivery"
    return Section(title, words, tuple(charts), (table,))


def _label(cut: CutTiming) -> str:
    with_prefix = sum(1 for part in cut.parts if part.name.startswith("/"))
    return f"auto: {with_prefix}" if cut.chunks == "auto" else f"{cut.chunks} chunks"


def _stacked(run: Run) -> BarChart:
    """One bar for each number of chunks, its parts in the order in which they are done."""
    # The original is in a chart of its own: it would make these too short to see their parts.
    bars = [
        Bar(
            _label(cut),
            (("cut", cut.cut_seconds), *[(part.name, part.seconds) for part in cut.parts]),
            remark=f"parallel {seconds(cut.parallel)}",
        )
        for cut in run.cuts
    ]
    title = f"{run.queries:,} queries ({run.different:,} different): cutting and each chunk"
    return BarChart(title, "s", tuple(bars))


def _against_original(run: Run) -> BarChart:
    """The best number of chunks, next to the original and to extract as it is used."""
    fixed = [cut for cut in run.cuts if cut.chunks != "auto"] or list(run.cuts)
    in_turn = min(fixed, key=lambda cut: cut.sequential)
    at_once = min(fixed, key=lambda cut: cut.parallel)
    bars = (
        Bar("original: each query as registered", (("", run.original),)),
        Bar("original: different queries once", (("", run.once),)),
        Bar(f"{_label(in_turn)}, one after the other", (("", in_turn.sequential),)),
        Bar(f"{_label(at_once)}, in parallel", (("", at_once.parallel),)),
        Bar("extract: every node", (("", run.rows),), ours=True),
        Bar("extract: numbers of nodes", (("", run.numbers),), ours=True),
    )
    return BarChart(f"{run.queries:,} queries: next to the original", "s", bars)


def _components(run: Run) -> ResultTable:
    most = max(len(cut.parts) for cut in run.cuts)
    columns = (
        "ms",
        "chunking",
        *[f"chunk {n + 1}" for n in range(most)],
        "sum",
        "parallel",
    )
    rows: list[list[str | int | float]] = []
    for cut in run.cuts:
        times: list[str | int | float] = [part.seconds * 1e3 for part in cut.parts]
        times += [""] * (most - len(times))
        rows.append(
            [_label(cut), cut.cut_seconds * 1e3, *times, cut.sequential * 1e3, cut.parallel * 1e3]
        )
    whole: list[tuple[str, float]] = [
        ("original", run.original),
        ("different once", run.once),
        ("extract, every node", run.rows),
        ("extract, numbers", run.numbers),
    ]
    rows += [[name, "", *[""] * most, value * 1e3, ""] for name, value in whole]
    last = " The potpourri is the last of them, where there is one."
    remark = f"Chunks in the order of the scheme: {_names(run.cuts)}.{last}"
    return ResultTable(f"{run.queries:,} queries", columns, rows, (remark,))


def _names(cuts: Sequence[CutTiming]) -> str:
    fixed = [cut for cut in cuts if cut.chunks != "auto"]
    return ", ".join(part.name for part in (fixed or list(cuts))[-1].parts)


def _percents(run: Run, cut: CutTiming) -> list[str | int | float]:
    times = (cut.earliest, cut.parallel, cut.sequential)
    return [_label(cut), *[100 * value / run.original for value in times]]


def _against_paper(quotes: Sequence[Quoted], runs: Sequence[Run]) -> ResultTable | None:
    """The paper's own figures, with ours for the same numbers of queries and chunks."""
    rows: list[list[str | int | float]] = []
    for quoted in quotes:
        same = _same(quoted, runs)
        if same is not None:
            run, cut = same
            here = 100 * _measure(cut, quoted.what) / run.original
            ours = 100 * run.rows / run.original
            where = f"{quoted.queries:,} queries, {quoted.chunks} chunks, {quoted.what}"
            rows.append([where, quoted.source, quoted.percent, here, ours])
    columns = ("percent of the original", "in the paper", "paper", "the same with lxml", "extract")
    remarks = (
        "paper: Java 1.3 and Jaxen on 800 MHz.",
        "extract: every node, all chunks together on one core.",
    )
    title = "What the paper says, and what comes out"
    return ResultTable(title, columns, rows, remarks) if rows else None


def _same(quoted: Quoted, runs: Sequence[Run]) -> tuple[Run, CutTiming] | None:
    for run in runs:
        for cut in run.cuts:
            if (run.queries, cut.chunks) == (quoted.queries, quoted.chunks):
                return run, cut
    return None


def _measure(cut: CutTiming, what: str) -> float:
    return {"parallel": cut.parallel, "sequential": cut.sequential, "earliest": cut.earliest}[what]
