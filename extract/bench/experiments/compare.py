"""Our time and answers next to those of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from lxml import etree

from extract.bench.experiments.clock import best
from extract.bench.experiments.ours import numbers_of, seconds_of
from extract.bench.experiments.results import Bar, BarChart, Check, Section, times
from extract.bench.experiments.rivals import RIVALS, Absent, Rival
from extract.bench.experiments.subject import Subject, described
from extract.bench.table import ResultTable
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.preptool.prepare import prepare
from extract.subscriptions import Subscription, Subscriptions

_SELECTS: Final[tuple[Select, ...]] = ("count", "nodes")
_SECONDS: Final = 6.0  # for the queries of one rival
_VALUES: Final = 40  # queries whose nodes are compared one by one
_NODES: Final = 100_000  # and how many nodes of these, about


@dataclass(frozen=True, slots=True)
class RivalResult:
    """What a rival did.

    Attributes:
        measured: How many queries it was asked; the slow ones get no further in their time.
        parse_seconds: To read the documents.
        seconds: For all queries, extrapolated from those that were measured.
        numbers: Queries whose number of nodes is ours, and those where it is not.
        values: The same for the string value of every node.
        failed: Queries that it does not take.
    """

    rival: Rival
    measured: int
    parse_seconds: float
    seconds: float
    numbers: tuple[int, list[str]]
    values: tuple[int, list[str]]
    failed: list[str]


def compare(subject: Subject) -> tuple[Section, dict[str, str]]:
    """All rivals on the documents of a subject; and their versions."""
    documents = subject.few_documents
    ours = {select: seconds_of(subject.scheme(), documents, select) for select in _SELECTS}
    seconds = ours["count"]
    queries = list(subject.queries)
    Random(1).shuffle(queries)  # a part of them is as mixed as all
    our_answers = _OurAnswers(subject, documents)
    outcomes, versions = [], {}
    for kind in RIVALS:
        try:
            rival = kind(subject.scenario.generator.NAMESPACES)
        except Absent as absent:
            versions[kind.name] = f"not installed ({absent}), so not measured"
            continue
        versions[kind.name] = rival.version
        with closing(rival):
            outcomes.append(_ask(rival, documents, queries, our_answers, subject.scale))
    rows: list[list[str | int | float]] = [
        ["extract, numbers of nodes", len(queries), 0.0, seconds * 1e3, 1.0],
        ["extract, every node", len(queries), 0.0, ours["nodes"] * 1e3, ours["nodes"] / seconds],
    ]
    rows += [
        [
            f"{one.rival.name} {one.rival.version}",
            one.measured,
            one.parse_seconds * 1e3,
            (one.parse_seconds + one.seconds) * 1e3,
            (one.parse_seconds + one.seconds) / seconds,
        ]
        for one in outcomes
    ]
    columns = ("tool", "queries measured", "parse ms", "all queries ms", "x extract")
    remarks = [f"{one.name}: {one.how}." for one in RIVALS]
    remarks += [f"{name}: {what}." for name, what in versions.items() if "not installed" in what]
    what = f"{len(queries):,} XPaths on {described(documents)}"
    table = ResultTable(f"{what}: processor time", columns, rows, tuple(remarks))
    bars = [
        Bar("extract, numbers of nodes", (("", seconds),), ours=True),
        Bar("extract, every node", (("", ours["nodes"]),), ours=True),
    ]
    for one in sorted(outcomes, key=lambda each: each.parse_seconds + each.seconds):
        total = one.parse_seconds + one.seconds
        share = "" if one.measured == len(queries) else f" (from {one.measured:,} queries)"
        remark = f"{times(total / seconds)} x{share}"
        bars.append(Bar(one.rival.name, (("", total),), remark=remark))
    words = (
        "How many nodes does each query select? Read the documents and answer, on one core. A tool "
        "that is too slow for all queries is measured with a random part of them, and its time "
        "multiplied; the table says how many it was. “Every node” also gives the path, place and "
        "value of each selected node, which the others were not asked for. Getting ready is not "
        "counted: preparing the scheme here, compiling XPaths there."
    )
    chart = BarChart(what, "s", tuple(bars), log=True)
    section = Section("Against other tools", words, (chart,), (table,), _checks(outcomes))
    return section, versions


class _OurAnswers:
    """Our answers on the first documents, to compare with."""

    def __init__(self, subject: Subject, documents: Sequence[bytes]) -> None:
        self._subject = subject
        self.numbers = numbers_of(subject.scheme(), documents)

    def values(self, queries: Sequence[Subscription], document: bytes) -> dict[str, list[str]]:
        """The string value of every node that queries select, in document order."""
        scheme = prepare(self._subject.schema, Subscriptions.of(queries), 3)
        filter_ = document_filter(scheme, load_matcher(AUTO), Options("nodes", standalone=True))
        ids = filter_.plan.ids
        (done,) = filter_.process([("", document)])
        strings: dict[str, list[str]] = {one.id: [] for one in queries}
        string = etree.XPath("string()")
        for match in done.findings.matches("", ids):
            value = match.value or ""
            strings[match.query].append(
                string(etree.fromstring(value)) if match.node == "element" else value
            )
        return strings


def _ask(
    rival: Rival,
    documents: Sequence[bytes],
    queries: Sequence[Subscription],
    ours: _OurAnswers,
    scale: float,
) -> RivalResult:
    """Asks a rival one query after the other, until its time is over."""
    parse_seconds, trees = best(lambda: [rival.parse(one) for one in documents], rival.clock, 0.0)
    spent = best_of = 0.0
    measured, same, different, failed = 0, 0, [], []
    budget = _SECONDS * max(scale, 0.02)
    for query in queries:
        if spent >= budget and measured >= 3:
            break
        measured += 1
        try:
            compiled = rival.compile(query.xpath)
            # The first time also compiles, or fills caches: the second one counts.
            warm = rival.clock()
            rival.count(trees[0], compiled)
            started = rival.clock()
            numbers = [rival.count(tree, compiled) for tree in trees]
        except Exception as error:  # whatever a strange tool may raise
            failed.append(f"{query.id}: {query.xpath}: {type(error).__name__}: {error}")
            continue
        ended = rival.clock()
        spent += ended - warm
        best_of += ended - started
        if numbers == [our_numbers.get(query.id, 0) for our_numbers in ours.numbers]:
            same += 1
        else:
            different.append(query.xpath)
    asked = max(1, measured - len(failed))
    values = _compare_values(rival, trees[0], documents[0], queries[:measured], ours)
    seconds = best_of / asked * len(queries)
    return RivalResult(rival, measured, parse_seconds, seconds, (same, different), values, failed)


def _compare_values(
    rival: Rival,
    tree: Any,
    document: bytes,
    queries: Sequence[Subscription],
    ours: _OurAnswers,
) -> tuple[int, list[str]]:
    """How many queries have the same nodes, by string value and order; and which have not."""
    some: list[Subscription] = []
    nodes = 0
    for query in queries[:_VALUES]:
        nodes += ours.numbers[0].get(query.id, 0)
        if nodes > _NODES and some:
            break
        some.append(query)
    mine = ours.values(some, document)
    same, different = 0, []
    for query in some:
        try:
            theirs = rival.values(tree, query.xpath)
        except Exception:  # it is among the failed ones already
            continue
        if theirs is None:
            return 0, []
        if theirs == mine[query.id]:
            same += 1
        else:
            different.append(query.xpath)
    return same, different


def _checks(outcomes: Sequence[RivalResult]) -> tuple[Check, ...]:
    checks = []
    for one in outcomes:
        name = f"{one.rival.name}, numbers of nodes"
        same, different = one.numbers
        detail = f"{same:,} queries"
        if different:
            detail += f"; not {len(different):,}, such as {different[0]}"
        if one.failed:
            detail += f"; {len(one.failed):,} that it does not take, such as {one.failed[0]}"
        checks.append(Check(name, not different, detail, one.rival.judge))
        same, different = one.values
        if same or different:
            detail = f"{same:,} queries" + (f"; not {different[0]}" if different else "")
            name = f"{one.rival.name}, string values of all nodes in document order"
            checks.append(Check(name, not different, detail, one.rival.judge))
    return tuple(checks)
