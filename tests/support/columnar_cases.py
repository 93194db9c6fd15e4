"""Units for tests of the columnar matcher, compared with the lxml matcher on the same units.

What both say is compared with whole documents in ``test_filter_oracle``; here the comparison is
cheap, so that there can be many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

import extract
from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.automaton.outputs import projection_output
from extract.chunktool.scan.byte_ranges import gather
from extract.chunktool.scan.node_table import NodeTable
from extract.chunktool.scan.protocol import Batch, HandOver
from extract.chunktool.scan.reference.scanner import ReferenceScanner
from extract.errors import QuerySyntaxError
from extract.filtertool.matchers.columnar import ColumnarFactory
from extract.filtertool.matchers.columnar.accept import reason_against_document
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import Answers, Question, Select, Unit
from extract.preptool.prepare import prepare
from extract.schema.model import Schema
from extract.scheme.model import Scheme
from extract.xpath.check import parse_checked
from tests.support.equivalence import LIMITS
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import between, chance, pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema

SELECTS: tuple[Select, ...] = ("doc", "count", "nodes")

ANYTHING = """
<!ELEMENT a ANY><!ELEMENT b ANY><!ELEMENT c ANY><!ELEMENT d ANY>
<!ATTLIST a x CDATA #IMPLIED y CDATA #IMPLIED>
<!ATTLIST b x CDATA #IMPLIED y CDATA #IMPLIED>
<!ATTLIST c x CDATA #IMPLIED y CDATA #IMPLIED>
"""
DOCUMENTS = (
    b"<a/>",
    b"<a><b>1</b><b>2</b><b> 3 </b><b>x</b><b/><c>2</c></a>",
    b"<a x='1' y='2'><b x='10'>1<c>2</c>3</b><b x='9'><![CDATA[]]></b><c y='1e1'/></a>",
    b"<a><b>x<!-- no -->y<?p q?>z</b><b><![CDATA[<&]]>&lt;&amp;&#65;&#x42;</b></a>",
    b"<a x='&#10;\n\t &lt;&quot;'>l1\r\nl2\rl3&#13;</a>",
    b"<!--before--><?pi one?><a><!--in--><?pi two ?><?other?></a><!--after-->",
    "<a><b>é€𝄞</b><b x='ü'>é</b><c>\u00a0</c></a>".encode(),
    b"<a><a><a x='deep'><b>1</b></a></a><b><a><b>2</b></a></b></a>",
    b"<a><b>1.14</b><b>1.1400000000000001</b><b>1e3</b><b>1000</b><b>-0</b><b>+1</b><b>.5</b></a>",
    b"<a>\n <b>NaN</b>\n <b>Infinity</b>\n</a>",
    b"<p:a xmlns:p='u'><b xmlns='u'/></p:a>",
    b"<a><b xmlns:p='u' p:x='1' x='2'/><b p:x='3' xmlns:p='v'/><b xmlns='u'>2</b></a>",
    b"<a><a><b>2</b><b>2</b><c><b x='2'>2</b></c></a><b>1</b><b x='2'><c/><c x='9'>21</c></b></a>",
)


def questions_of(scheme: Scheme) -> list[Question]:
    """All branches of each canonical query as one question."""
    return [Question(query.xpaths, query.type) for query in scheme.queries]


def automaton_of(scheme: Scheme) -> Automaton:
    """An automaton with one output for all queries."""
    return Automaton(scheme, (projection_output(scheme),))


def unit_of(document: bytes, automaton: Automaton) -> Unit | None:
    """What the first output keeps of a document; None if it is not to be cut."""
    scanner = ReferenceScanner(automaton, table=True)
    at, batches = 0, []
    while at < len(document):
        taken = scanner.feed(document[at:])
        batches.append(scanner.take())
        at += taken
        if not taken:
            break
    try:
        scanner.finish()
    except HandOver:
        return None
    batches.append(scanner.take())
    return None if scanner.violation is not None else _unit(document, automaton, batches)


def _unit(document: bytes, automaton: Automaton, batches: Sequence[Batch]) -> Unit:
    ranges = np.concatenate([batch.ranges[0] for batch in batches])
    table = NodeTable.of_batches(automaton, batches, document)
    return Unit(table, lambda: gather(memoryview(document), ranges))


def facts(answers: Answers) -> dict[str, Any]:
    """Answers as plain values."""
    pairs = zip(answers.unit.tolist(), answers.question.tolist(), strict=True)
    counts = list(zip(pairs, answers.count.tolist(), strict=True))
    values = sorted((v.unit, v.question, repr(v.value)) for v in answers.values)
    out: dict[str, Any] = {"counts": counts, "values": values}
    if answers.nodes is not None:
        nodes, refs = answers.nodes, answers.nodes.refs
        columns = (nodes.unit, nodes.question, refs.kind, refs.row, refs.number)
        out["nodes"] = list(zip(*[column.tolist() for column in columns], strict=True))
    return out


def compare(
    units: Sequence[Unit], questions: Sequence[Question], namespaces: Mapping[str, str]
) -> Counter[str]:
    """Asserts that columnar says what lxml says; how many answers were compared."""
    ours = ColumnarFactory(fallback=None).build(questions, namespaces)
    theirs = LxmlFactory().build(questions, namespaces)
    compared: Counter[str] = Counter()
    for select in SELECTS:
        found, wanted = ours.match(units, select), theirs.match(units, select)
        declined = {(one.unit, one.question): one.reason for one in found.failures}
        if select == "nodes":
            compared["declined"] += len(declined)
            compared["answered"] += len(units) * len(questions) - len(declined)
        _agree(questions, facts(found), facts(wanted), declined, units)
    return compared


def _agree(
    questions: Sequence[Question],
    found: dict[str, Any],
    wanted: dict[str, Any],
    declined: Mapping[tuple[int, int], str],
    units: Sequence[Unit],
) -> None:
    for name, rows in wanted.items():
        kept = [row for row in rows if _asked(name, row) not in declined]
        if found[name] != kept:
            ours, theirs = set(map(repr, found[name])), set(map(repr, kept))
            wrong = [row for row in found[name] if repr(row) not in theirs]
            missing = [row for row in kept if repr(row) not in ours]
            unit, question = _asked(name, (wrong + missing + kept)[0])
            data = units[unit].xml
            different = f"wrong: {wrong[:5]}\nmissing: {missing[:5]}"
            raise AssertionError(f"{name}: {questions[question]}\n{different}\n{data!r}")


def _asked(name: str, row: Any) -> tuple[int, int]:
    unit, question = row[0] if name == "counts" else row[:2]
    return unit, question


def round_of(rng: Random, queries: int, documents: int = 3) -> Counter[str]:
    """A random schema, queries and documents, all of these in one batch."""
    schema: Schema = random_schema(rng).load()
    writer = Queries(schema)
    texts: dict[str, str] = {}
    for i in range(queries):
        xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
        try:
            parse_checked(xpath, writer.namespaces)
        except QuerySyntaxError:
            continue
        texts[f"q{i}"] = xpath
    subscriptions = extract.Subscriptions.of(texts, writer.namespaces)
    scheme = prepare(schema, subscriptions, between(rng, 1, 8), expansion=pick(rng, LIMITS))
    automaton = automaton_of(scheme)
    units = random_units(rng, Documents(schema), automaton, documents)
    if not units:
        return Counter()
    return compare(units, questions_of(scheme), scheme.namespaces)


def random_units(rng: Random, maker: Documents, automaton: Automaton, documents: int) -> list[Unit]:
    """Units of random documents, without those that columnar takes nothing of."""
    units = []
    for _ in range(documents):
        options = Options(size=between(rng, 5, 60), strict=chance(rng, 50), odd=10)
        unit = unit_of(maker.document(rng, options), automaton)
        if unit is not None:
            root = int(unit.table.elements.start[0])
            if not reason_against_document(unit.table.data, root):
                units.append(unit)
    return units
