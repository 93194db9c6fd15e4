"""``extract bench cost``: the prices in PREPTOOL's cost model and of columns, one by one.

Each price is what is left of a measurement when those before it are taken off, on a document made
for the purpose. So they are rough, and good enough: a choice depends on their ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from math import log2
from pathlib import Path

from lxml import etree

from extract.bench.table import ResultTable
from extract.chunktool.chunks import chunk
from extract.filtertool.job import Job
from extract.filtertool.matchers.column_prices import COLUMNS, ColumnPrices
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.preptool.costing.cost import LXML, Prices
from extract.preptool.prepare import prepare
from extract.scenarios import scenario
from extract.schema.model import Schema
from extract.scheme.model import Scheme
from extract.subscriptions import Subscriptions

# A record has five elements. The few fit into the cache of a processor, the many do not.
_FEW_RECORDS, _MANY_RECORDS = 500, 32_000
_PER_RECORD = 5
_QUERIES = 5_000
_QUESTIONS = 50


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Measures the prices and shows them beside those in use."""
    repeats = max(1, int(10 * scale))
    measured, in_use = asdict(measure_prices(repeats)), asdict(LXML)
    rows = [[name, _shown(in_use[name]), _shown(value)] for name, value in measured.items()]
    columns, used = asdict(measure_column_prices(repeats)), asdict(COLUMNS)
    rows += [
        [f"columns: {name}", _shown(used[name]), _shown(value)] for name, value in columns.items()
    ]
    remarks = (
        "in use: LXML in extract/preptool/costing/cost.py. Only ratios decide; copy them after a",
        "change of lxml or of the kernel that moves a ratio by more than half. selectivity is not",
        "measured. Columns: COLUMNS in extract/filtertool/matchers/column_prices.py, with which a",
        "filter begins; what it measures itself then counts.",
    )
    return ResultTable("Prices of the cost model", ("price", "in use", "measured"), rows, remarks)


def _shown(value: float) -> str:
    return f"{value * 1e9:,.2f} ns" if value < 1e-3 else f"{value:.3g}"


def measure_prices(repeats: int = 10) -> Prices:
    """The prices with the lxml matcher, on this machine."""
    call = _call_seconds(repeats)
    few = _Records(_FEW_RECORDS, repeats)
    many = _Records(_MANY_RECORDS, max(1, repeats // 3))
    # From each b, look for a child that is not there.
    visit, far = (one.seconds("/a/b/zzz") / _PER_RECORD for one in (few, many))
    doublings = log2(_MANY_RECORDS * _PER_RECORD / LXML.small_elements)
    # To hand over what was found takes longer where it is further away in memory.
    near, near_far = (one.seconds("/a/b") for one in (few, many))
    visits = max(0.0, near_far - near) / (far - visit)
    values = [one.seconds("/a/b/c/text()") - one.seconds("/a/b/zzz") for one in (few, many)]
    near_value, value_visits = values[0], max(0.0, values[1] - values[0]) / (far - visit)
    # Large documents: there parsing matters, and takes longer, for the memory that it needs is new.
    per_byte = _best(_parse(f"<a>{'x' * 10**6}</a>".encode()), repeats) / 10**6
    parsed = many.parse_seconds() - per_byte * len(many.xml)
    per_element = parsed / (_MANY_RECORDS * _PER_RECORD)
    return replace(
        _with_scan(repeats),
        seconds_per_parsed_byte=per_byte,
        seconds_per_parsed_element=per_element,
        seconds_per_branch=call,
        seconds_per_visit=visit,
        seconds_per_descendant=few.seconds("/a//zzz") / _PER_RECORD,
        seconds_per_filtered_node=few.seconds("/a/b[c = 'zzz']") - _PER_RECORD * visit,
        seconds_per_result=near - visits * visit,
        visits_per_result=visits,
        seconds_per_value=near_value - value_visits * visit,
        visits_per_value=value_visits,
        slowdown_per_doubling=(far / visit - 1) / doublings,
    )


def measure_column_prices(repeats: int = 10) -> ColumnPrices:
    """The prices of the columnar matcher: few and many questions, on small and large documents."""
    records = {size: _Records(size, 1).xml for size in (_FEW_RECORDS // 10, _FEW_RECORDS * 10)}
    small, large = records.values()
    seconds: dict[tuple[int, int], float] = {}
    for questions in (2, _QUESTIONS):
        # No two have a common part, and each looks at all records.
        xpaths = {
            str(n): f"/a/b[c = 'some text'][{n + 2} > count({'*/' * (n % 3)}*)]/d"
            for n in range(questions)
        }
        scheme = prepare(Schema.none(), Subscriptions.of(xpaths), 1)
        ready = Job(scheme, load_matcher("columnar"), Options("count")).filter()
        for document in (small, large):
            work = partial(ready.process, [("document", document)])
            work()
            seconds[questions, len(document)] = _best(work, repeats)
    few_small, few_large = seconds[2, len(small)], seconds[2, len(large)]
    many_small, many_large = (seconds[_QUESTIONS, len(one)] for one in (small, large))
    size, more = len(large) - len(small), _QUESTIONS - 2
    per_byte = max(0.0, (few_large - few_small) / size)
    per_question = max(0.0, (many_small - few_small) / more)
    return ColumnPrices(
        seconds_per_batch=max(0.0, few_small - 2 * per_question - per_byte * len(small)),
        seconds_per_question=per_question,
        seconds_per_byte=per_byte,
        seconds_per_question_byte=max(
            0.0, (many_large - many_small - (few_large - few_small)) / more / size
        ),
    )


def _call_seconds(repeats: int) -> float:
    """What a call costs among many different ones, which do not stay in the cache."""
    tree = _parsed(b"<a/>")
    queries = [etree.XPath(f"/a/b/c{number}/d") for number in range(_QUERIES)]
    return _best(lambda: [query(tree) for query in queries], repeats) / _QUERIES


class _Records:
    """A document of many equal records, and what it costs to look at them."""

    def __init__(self, count: int, repeats: int) -> None:
        parts = "".join(f"<{part}>some text</{part}>\n" for part in "cdef")
        record = f"<b>\n{parts}</b>\n"
        self.xml = f"<a>{record * count}</a>".encode()
        self._tree = _parsed(self.xml)
        self._count = count
        self._repeats = repeats

    def seconds(self, xpath: str) -> float:
        """What a query costs for each record."""
        times = max(1, 10 * _FEW_RECORDS // self._count)
        return _best(_query(self._tree, xpath), self._repeats, times) / self._count

    def parse_seconds(self) -> float:
        """What it costs to parse the document."""
        return _best(_parse(self.xml), self._repeats)


def _with_scan(repeats: int) -> Prices:
    """The prices of CHUNKTOOL: the same document with one small chunk, and with more chunks."""
    source = scenario("university")
    scheme = prepare(source.schema(), source.queries(100), 3)
    nothing = replace(scheme.potpourri, branches=())
    one = replace(scheme, chunks=scheme.chunks[:1], potpourri=nothing)
    document, tiny = b"".join(source.document(2_000_000)), b"".join(source.document(0))
    little, much = (_best(_cut(of, document), repeats) for of in (one, scheme))
    kept = [sum(part.size for part in chunk(of, document)) for of in (one, scheme)]
    per_kept = max(0.0, (much - little) / (kept[1] - kept[0]))
    few, more = (_best(_cut(of, tiny), repeats) for of in (one, scheme))
    per_chunk = max(0.0, (more - few) / 3) + _best(_parse(b"<a/>"), repeats, 100)
    return replace(
        LXML,
        seconds_per_scanned_byte=(little - per_kept * kept[0]) / len(document),
        seconds_per_kept_byte=per_kept,
        seconds_per_chunk=per_chunk,
    )


def _cut(scheme: Scheme, document: bytes) -> Callable[[], object]:
    return lambda: [part.xml() for part in chunk(scheme, document)]


def _parsed(xml: bytes) -> etree._ElementTree:
    return etree.fromstring(xml).getroottree()


def _parse(xml: bytes) -> Callable[[], object]:
    return lambda: etree.fromstring(xml)


def _query(tree: etree._ElementTree, xpath: str) -> Callable[[], object]:
    compiled = etree.XPath(xpath)
    return lambda: compiled(tree)


def _best(work: Callable[[], object], repeats: int, times: int = 1) -> float:
    """Seconds of the quickest of several runs."""
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        for _ in range(times):
            work()
        best = min(best, time.process_time() - started)
    return best / times
