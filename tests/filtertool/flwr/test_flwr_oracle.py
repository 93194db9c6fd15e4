"""Results of FLWR queries are those of libxml2 with bound variables, and those of SaxonC.

Schemas, documents and queries are random: in the long profile more than 100,000 pairs with each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any, Literal, NamedTuple
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

import extract
from extract.filtertool.flwr.tree_outputs import TreeOutput
from extract.filtertool.flwr.writer import OutputError
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output_filter import OutputFilter
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.flwr import parse_flwr
from extract.markup.lxml_parser import parse_tree
from tests.support.flwr_oracle import NotKnown, NotMade, made_of
from tests.support.generate.documents import Documents
from tests.support.generate.documents import Options as DocumentOptions
from tests.support.generate.flwr_queries import Flwr, Flwrs
from tests.support.generate.schemas import GeneratedSchema
from tests.support.generate.strategies import generated_schemas, sources

FAILED = "failed"  # in place of a result


class FlwrCase(NamedTuple):
    """A schema, documents of it, and queries."""

    schema: GeneratedSchema
    documents: list[bytes]
    queries: list[Flwr]
    namespaces: dict[str, str]

    def __repr__(self) -> str:
        parts = [self.schema.text, *[one.decode() for one in self.documents]]
        return "\n\n".join([*parts, *map(str, self.queries)])


@st.composite
def flwr_cases(
    draw: st.DrawFn,
    kind: Literal["dtd", "xsd"],
    dialects: tuple[str, ...] = ("agreed", "plain", "plain", "wild"),
    documents: int = 5,
    queries: int = 20,
    odd: bool = True,
) -> FlwrCase:
    """A schema with about so many documents and queries."""
    schema = draw(generated_schemas(kind))
    model = schema.load()
    writer, asker = Documents(model), Flwrs(model)
    texts = []
    for source in draw(some_sources(documents)):
        number = source.randrange(10)
        options = DocumentOptions(
            size=source.randrange(5, 30), strict=number > 4, odd=10, doctype=odd and number == 0
        )
        wrong = odd and number == 1
        text = writer.wrong(source, options) if wrong else writer.document(source, options)
        # An empty section is a text node to libxml2, and none to XQuery.
        texts.append(text if odd else text.replace(b"<![CDATA[]]>", b""))
    written = [
        asker.query(source, dialects[source.randrange(len(dialects))])
        for source in draw(some_sources(queries))
    ]
    return FlwrCase(schema, texts, written, asker.namespaces)


def some_sources(most: int) -> st.SearchStrategy[list[Random]]:
    """Sources of randomness: so many, or half of that."""
    return st.lists(sources(), min_size=most // 2, max_size=most)


def examples(at_least: int) -> settings:
    """So many examples in a usual run, a sixth of the profile's in the long one."""
    count = profile_examples() // 6 if is_long() else at_least
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=count, suppress_health_check=checks)


def profile_examples() -> int:
    assert settings.default is not None
    return settings.default.max_examples


def is_long() -> bool:
    return profile_examples() > 1_000


def canonical(text: str) -> bytes:
    xml: bytes = etree.tostring(etree.fromstring(f"<w>{text}</w>"), method="c14n")
    return xml


def by_oracle(query: Flwr, tree: Any, namespaces: dict[str, str]) -> bytes | str | None:
    try:
        made = made_of(query, tree, namespaces)
    except NotMade:
        return FAILED
    return None if made is None else canonical(made)


def by_tree(query: Flwr, tree: Any, namespaces: dict[str, str]) -> bytes | str | None:
    try:
        made = TreeOutput(parse_flwr(str(query), namespaces)).output(tree)
    except OutputError:
        return FAILED
    return None if made is None else canonical(made)


def by_filter(case: FlwrCase, counts: Counter[str]) -> Iterator[dict[int, bytes | str]]:
    """What the product makes of each document."""
    queries = {str(n): str(one) for n, one in enumerate(case.queries)}
    subscriptions = extract.Subscriptions.of(queries, case.namespaces)
    scheme = extract.prepare(case.schema.load(), subscriptions, chunks=2)
    assert not scheme.rejected, scheme.rejected
    ready = OutputFilter(scheme, load_matcher("auto"), Options("output"))
    counts["queries"] += len(queries)
    counts["written by the engine"] += len(ready.written)
    named = [(str(n), one) for n, one in enumerate(case.documents)]
    for done in document_outcomes(ready.process(named)):
        assert done.fate != "rejected", done.error
        made: dict[int, bytes | str] = {
            int(ready.ids[n]): canonical(text) for n, text in done.findings.outputs()
        }
        for one in done.rejections:
            assert one.query is not None
            made[int(one.query)] = FAILED
        yield made


def run_cases(compare: Callable[[FlwrCase, Counter[str]], None], cases: Any, least: int) -> None:
    """Compares cases; many results must be there, or nothing would have been compared."""
    counts: Counter[str] = Counter()

    @examples(least)
    @given(case=cases)
    def check(case: FlwrCase) -> None:
        compare(case, counts)

    check()
    print(dict(counts))
    assert counts["made"] > counts["compared"] / 5, counts
    assert counts["compared"] > (50_000 if is_long() else 300), counts


def compare_with_variables(case: FlwrCase, counts: Counter[str]) -> None:
    """The product makes what libxml2 makes with bound variables."""
    for document, made in zip(case.documents, by_filter(case, counts), strict=True):
        tree = parse_tree(document)
        for number, query in enumerate(case.queries):
            try:
                wanted = by_oracle(query, tree, case.namespaces)
            except NotKnown:
                wanted = by_tree(query, tree, case.namespaces)
                counts["by trees"] += 1
            counts["compared"] += 1
            counts["made"] += wanted is not None
            counts["failed"] += wanted == FAILED
            assert made.get(number) == wanted, (str(query), document.decode())


@pytest.mark.skipif(not native_available(), reason="the engine is not compiled")
@pytest.mark.parametrize("kind", ["dtd", "xsd"])
def test_the_filter_makes_what_libxml2_makes_with_bound_variables(kind: Any) -> None:
    run_cases(compare_with_variables, flwr_cases(kind), 12)


@pytest.fixture(scope="module")
def saxon() -> Iterator[Any]:
    saxonche = pytest.importorskip("saxonche", reason="SaxonC is not installed")
    with saxonche.PySaxonProcessor(license=False) as processor:
        yield processor


def by_saxon(saxon: Any, query: Flwr, node: Any, namespaces: dict[str, str]) -> bytes | str | None:
    """What SaxonC makes of a document, None where nothing is bound."""
    processor = saxon.new_xquery_processor()
    processor.set_property("!omit-xml-declaration", "yes")
    processor.set_context(xdm_item=node)
    for prefix, uri in namespaces.items():
        processor.declare_namespace(prefix, uri)
    processor.set_query_content(str(query))
    try:
        made = processor.run_query_to_string() or ""
    except Exception as error:
        if "XQTY0024" in str(error) or "XQDY0025" in str(error):  # attributes out of place
            return FAILED
        raise
    if query.frame is None or "<r" in made:
        return canonical(made) if made else None
    before, behind = query.frame  # XQuery writes the element around results also if there is none
    assert canonical(made) == canonical(f"<out>{escape(before.value + behind.value)}</out>")
    return None


def compare_with_saxon(saxon: Any, case: FlwrCase, counts: Counter[str]) -> None:
    """The product makes what SaxonC makes."""
    for document, made in zip(case.documents, by_filter(case, counts), strict=True):
        node = saxon.parse_xml(xml_text=document.decode("utf-8-sig"))
        for number, query in enumerate(case.queries):
            wanted = by_saxon(saxon, query, node, case.namespaces)
            counts["compared"] += 1
            counts["made"] += wanted is not None
            counts["failed"] += wanted == FAILED
            assert made.get(number) == wanted, (str(query), document.decode())


@pytest.mark.parametrize("kind", ["dtd", "xsd"])
def test_the_filter_makes_what_saxon_makes(saxon: Any, kind: Any) -> None:
    cases = flwr_cases(kind, dialects=("agreed",), odd=False)
    run_cases(partial(compare_with_saxon, saxon), cases, 12)
