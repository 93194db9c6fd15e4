"""``extract bench output``: FLWR subscriptions on small documents, next to SaxonC's XQuery.

The workload is that of the paper on YFilter's message broker: documents of 83 elements, and queries
that are all different. extract answers all queries in `extract.Filter`. SaxonC answers some, whose
time is extrapolated.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa

from extract.bench.output_data import ANYWHERE, ELEMENTS, KINDS
from extract.bench.table import ResultTable
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.arrow import SCHEMAS, id_column, joined_batches
from extract.filtertool.output_filter import OutputFilter
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.live_filter import Filter
from extract.preptool.prepare import prepare
from extract.schema.model import Schema
from extract.scheme.model import Scheme
from extract.subscriptions import Subscriptions

_DOCUMENTS: Final = 200
_SAXON_QUERIES: Final = 200
_SAXON_DOCUMENTS: Final = (5, 205)  # the time of the second less that of the first
_ROUNDS: Final = 3


_Table: TypeAlias = Callable[[Sequence[tuple[str, bytes]]], Any]


class OutputLoad(NamedTuple):
    """One row: the figure of the paper, the kind of documents, how many queries of which shape.

    Attributes:
        figure: What of the paper it repeats.
        kind: The kind of documents.
        queries: The number of subscriptions.
        predicates, returns: The number of predicate paths, and of return paths.
        anywhere: How often a step is ``//``.
        copies: How many subscriptions have the same query.
        texts: Whether return paths end in text nodes, whose order the schema may know.
        claims: Whether to rely on the schema for that.
    """

    figure: str
    kind: str
    queries: int
    predicates: int = 1
    returns: int = 2
    anywhere: float = ANYWHERE
    copies: int = 1
    texts: bool = False
    claims: bool = True

    @property
    def shape(self) -> tuple[str, int, int, float, bool]:
        """What a query of this load costs SaxonC depends on."""
        return self.kind, self.predicates, self.returns, self.anywhere, self.texts


_LOADS: Final = (
    *(
        OutputLoad(f"7{'' if claims else ', no claims'}", kind, 5_000, texts=True, claims=claims)
        for kind in ("Bib", "Book")
        for claims in (False, True)
    ),
    *(OutputLoad("8", kind, 20_000, n) for kind in ("Bib", "Book") for n in (1, 2, 3)),
    *(OutputLoad("9", kind, 20_000, 1, n) for kind in ("Bib", "Book") for n in (1, 3, 4)),
    *(OutputLoad("10", "Book", 10_000, anywhere=n) for n in (0.0, 0.2, 0.4)),
    *(OutputLoad("11", "Bib", count) for count in (5_000, 20_000, 40_000, 100_000)),
    *(OutputLoad("12", "Book", count) for count in (5_000, 20_000, 50_000, 100_000)),
    OutputLoad("equal", "Book", 50_000, copies=50),
)


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Makes the results of more and more queries, of more predicates, and of more return paths."""
    saxon = _saxon()
    rows: list[list[str | int | float]] = []
    known: dict[tuple[str, int, int, float, bool], _SaxonTimes] = {}
    for load in _LOADS:
        count = max(100, int(load.queries * scale))
        shape = (load.predicates, load.returns, load.anywhere, load.texts)
        queries = KINDS[load.kind].queries(max(100, count // load.copies), *shape)
        documents = KINDS[load.kind].documents(max(10, int(_DOCUMENTS * min(1, scale * 10))))
        subscribed = [queries[n % len(queries)] for n in range(count)]
        registered, ready = _registered(subscribed, load)
        seconds, outputs = _filtered(ready, documents)
        row: list[str | int | float] = [load.figure, load.kind, count, load.predicates]
        row += [load.returns, load.anywhere, registered / count * 1e6, seconds * 1e3, outputs]
        row += [seconds / max(1, outputs) * 1e6]
        if saxon is not None:
            if load.shape not in known:
                known[load.shape] = _saxon_times(saxon, load, queries)
            times = known[load.shape]
            row += [times.compiled * count * 1e3, times.compiled * count / seconds]
            row += [times.called * count / seconds]
        rows.append(row)
    columns: tuple[str, ...] = ("figure", "documents", "queries", "predicates", "returns", "//")
    columns += ("register us", "ms a document", "outputs", "us an output")
    remarks: tuple[str, ...] = (
        "figure: of the paper (004); equal: 50 subscribers have each query.",
        "7: return paths end in text nodes; no claims: they are sorted wherever there are several.",
        f"Documents of {ELEMENTS} elements; binding paths of 1 to 3 steps, others of 1 or 2;",
        "values from 1 to 100. Processor time of one core, with parsing.",
        "register us: to parse, prepare and compile a query. outputs: results of a document.",
    )
    if saxon is None:
        remarks += ("SaxonC is not installed (pip install saxonche): nothing to compare with.",)
    else:
        columns += ("SaxonC ms", "x SaxonC", "x its calls")
        remarks += (
            f"SaxonC: {_SAXON_QUERIES} queries compiled once, on parsed documents; extrapolated.",
            "its calls: a call for each query and document, in which SaxonC compiles the query.",
            "Goal at 50,000: 30 times SaxonC; aim: 100 times.",
        )
    return ResultTable("Results of FLWR subscriptions, one core", columns, rows, remarks)


def _registered(queries: Sequence[str], load: OutputLoad) -> tuple[float, _Table]:
    """Seconds to register queries; and what makes a table of documents."""
    schema = KINDS[load.kind].schema() if load.texts else Schema.none()
    started = time.process_time()
    chosen = Subscriptions.of({str(n): query for n, query in enumerate(queries)})
    scheme = prepare(schema, chosen, chunks=1)
    if load.claims:
        table: _Table = Filter(scheme, "output").table
    else:
        table = _without_claims(scheme)
    return time.process_time() - started, table


def _without_claims(scheme: Scheme) -> _Table:
    """What `Filter.table` does, where nothing is known of the order of nodes."""
    ready = OutputFilter(scheme, load_matcher(AUTO), Options("output"), claims=False)
    ids = id_column(ready.ids)

    def table(documents: Sequence[tuple[str, bytes]]) -> Any:
        rows = [(one.document, one.findings) for one in document_outcomes(ready.process(documents))]
        return pa.Table.from_batches(joined_batches(rows, ids, "output"), SCHEMAS["output"])

    return table


def _filtered(table: _Table, documents: Sequence[bytes]) -> tuple[float, float]:
    """Seconds and results of a document; the best of some rounds."""
    named = [(str(n), document) for n, document in enumerate(documents)]
    outputs = len(table(named)) / len(named)
    return _best(lambda: table(named)) / len(named), outputs


def _saxon() -> Any:
    """SaxonC's processor; None where it is not installed."""
    try:
        module = importlib.import_module("saxonche")
    except ImportError:
        return None
    return module.PySaxonProcessor(license=False)


class _SaxonTimes(NamedTuple):
    """Seconds of SaxonC for one query and document: compiled once, and by a call for each."""

    compiled: float
    called: float


def _saxon_times(saxon: Any, load: OutputLoad, queries: Sequence[str]) -> _SaxonTimes:
    step = max(1, len(queries) // _SAXON_QUERIES)
    chosen = queries[::step][:_SAXON_QUERIES]
    data = KINDS[load.kind]
    few, many = _SAXON_DOCUMENTS
    documents = [one.decode() for one in data.documents(many)]
    # Its API compiles a query at each call. So all queries are one, over documents in one tree;
    # more documents take longer by what evaluation takes.
    inner = ",".join(query.replace(f"in /{data.root}", "in $d", 1) for query in chosen)
    together = f"for $d in /all/{data.root} return <o>{{({inner})}}</o>"
    seconds = [
        _best(_saxon_call(saxon, together, f"<all>{''.join(documents[:count])}</all>"))
        for count in (few, many)
    ]
    calls = [_saxon_call(saxon, query, documents[0]) for query in chosen]
    called = _best(lambda: [call() for call in calls])
    compiled = (seconds[1] - seconds[0]) / (many - few)
    return _SaxonTimes(compiled / len(chosen), called / len(chosen))


def _saxon_call(saxon: Any, query: str, document: str) -> Callable[[], object]:
    processor = saxon.new_xquery_processor()
    processor.set_query_content(query)
    processor.set_context(xdm_item=saxon.parse_xml(xml_text=document))
    call: Callable[[], object] = processor.run_query_to_value
    return call


def _best(action: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return min(times)
