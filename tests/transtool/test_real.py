"""Oracle 1 on real data: schemas, documents and subscriptions that nobody here wrote.

Every query that libxml2 compiles is either normalised, and then selects the same nodes on every
conforming document, or declined with a reason. The fast tests take a sample of each set; those
marked slow take everything and print the account. Documents with an edge that the schema does not
have are outside of the promise (they are evaluated whole): counted, and there are none so far.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from extract.errors import QuerySyntaxError
from extract.schema.conformance import first_violation
from extract.schema.model import Schema
from extract.subscriptions import Subscription, Subscriptions
from extract.transtool.normalise import NormalForm, Normaliser
from extract.transtool.prefixes import Prefixes
from extract.xpath.check import parse_checked
from tests.support.equivalence import canonical, normal_answer
from tests.support.generate import oracle
from tests.support.real_rows import xmark_cut

UBL_INVOICE = "{urn:oasis:names:specification:ubl:schema:xsd:Invoice-2}Invoice"


@dataclass
class Account:
    """What became of the queries and documents of one set; the counts add up."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = ", ".join(f"{n:,} {what}" for what, n in sorted(self.counts.items()))
        why = "".join(f"\n    {n:4} {reason}" for reason, n in self.reasons.most_common())
        return f"{self.name}: {counts}, {len(self.differences)} differences{why}"

    def settle(self) -> None:
        """Nothing is lost: every query ended in one way, and none of them with a difference."""
        counts = self.counts
        ended = counts["normalised"] + counts["unsatisfiable"] + counts["declined"]
        assert ended + counts["not XPath 1.0"] == counts["queries"], self
        assert counts["comparisons"] > 0, self
        assert not self.differences, "\n\n".join([str(self), *self.differences[:5]])


@dataclass(frozen=True)
class Normalised:
    """A real query with its normal form."""

    query: Subscription
    form: NormalForm
    table: dict[str, str]

    def on(self, tree: oracle.Tree) -> str:
        """How the two answers differ on one document; empty if they do not."""
        expected = canonical(oracle.answer(tree, self.query.xpath, self.query.namespaces))
        found: oracle.Answer = ("nodes",)
        if self.form.branches:
            found = canonical(normal_answer(tree, self.form, self.table))
        if expected == found:
            return ""
        return f"{self.query.id}: {self.query.xpath}\n{self.form.xpath}\n{expected}\n{found}"


def load_queries(files: Iterable[Path], step: int = 1) -> list[Subscription]:
    return [query for file in files for query in list(Subscriptions.load(file))[::step]]


def normalise_all(
    schema: Schema, queries: Sequence[Subscription], account: Account
) -> Iterator[Normalised]:
    """The normal form of each query; those that have none are accounted for."""
    normaliser = Normaliser(schema, Prefixes(schema.prefixes))
    counts = account.counts
    for query in queries:
        counts["queries"] += 1
        compiles = True
        try:
            etree.XPath(query.xpath, namespaces=query.namespaces)
        except etree.XPathError:
            compiles = False
        try:
            expr = parse_checked(query.xpath, query.namespaces)
        except QuerySyntaxError as error:
            counts["declined" if compiles else "not XPath 1.0"] += 1
            account.reasons[str(error).split("\n")[0]] += 1
            continue
        assert compiles, f"libxml2 does not take {query.xpath}"
        form = normaliser.normalise(normaliser.prefixes.bind(expr, query.namespaces))
        counts["normalised" if form.branches else "unsatisfiable"] += 1
        assert form.branches or form.unsatisfiable, query.xpath
        yield Normalised(query, form, normaliser.prefixes.table)


def conforming(
    schema: Schema, documents: Iterable[bytes], account: Account
) -> Iterator[oracle.Tree]:
    """The documents within the promise; the others are counted."""
    for document in documents:
        tree = oracle.parse(document)
        if first_violation(schema, tree.tree) is None:
            account.counts["documents"] += 1
            yield tree
        else:
            account.counts["nonconforming documents"] += 1


def compare_all(
    schema: Schema, queries: Sequence[Subscription], documents: Iterable[bytes], account: Account
) -> None:
    """Every query on every document, exactly as the oracle sees them."""
    trees = list(conforming(schema, documents, account))
    for normalised in normalise_all(schema, queries, account):
        for tree in trees:
            account.counts["comparisons"] += 1
            difference = normalised.on(tree)
            if difference:
                account.differences.append(difference)
    account.settle()


def report(account: Account, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{account}")


# -- electronic invoices: an XSD of many namespaces, and queries that people wrote ----------------


@pytest.fixture(scope="module")
def ubl(shared_data: Path) -> Schema:
    return Schema.load(shared_data / "ubl/schema/maindoc/UBL-Invoice-2.1.xsd", root=UBL_INVOICE)


def ubl_account(schema: Schema, data: Path, step: int, every: int) -> Account:
    account = Account("ubl")
    documents = [p.read_bytes() for p in sorted((data / "ubl/docs").iterdir())[::every]]
    compare_all(schema, load_queries([data / "ubl/rules.jsonl"], step), documents, account)
    return account


def test_schematron_rules_on_invoices(ubl: Schema, shared_data: Path) -> None:
    account = ubl_account(ubl, shared_data, step=4, every=25)
    assert account.counts["normalised"] > 200, account


@pytest.mark.slow
def test_all_schematron_rules_on_all_invoices(
    ubl: Schema, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    account = ubl_account(ubl, shared_data, step=1, every=1)
    report(account, capsys)
    assert account.counts["documents"] + account.counts["nonconforming documents"] == 250
    # What is declined is no XPath 1.0: functions of XPath 2.0, and variables of the Schematron.
    assert all("no function" in r or "variable" in r for r in account.reasons), account


# -- WordNet: attributes and values ----------------------------------------------------------------


@pytest.fixture(scope="module")
def wordnet(shared_data: Path) -> Schema:
    return Schema.load(shared_data / "wordnet/WN-LMF-relaxed-1.1.dtd", root="LexicalResource")


def test_lookups_on_wordnet(wordnet: Schema, shared_data: Path) -> None:
    folder = shared_data / "wordnet"
    account = Account("wordnet")
    documents = [folder / "docs" / f"wn-{name}.xml" for name in ("adj.ppl", "noun.Tops")]
    queries = load_queries([folder / "queries.tsv"], 20)
    compare_all(wordnet, queries, [d.read_bytes() for d in documents], account)
    assert account.counts["documents"] == 2
    assert account.counts["normalised"] == len(queries)


@pytest.mark.slow
def test_all_lookups_on_all_of_wordnet(
    wordnet: Schema, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared_data / "wordnet"
    account = Account("wordnet")
    documents = [d.read_bytes() for d in sorted((folder / "docs").iterdir())]
    compare_all(wordnet, load_queries([folder / "queries.tsv"]), documents, account)
    report(account, capsys)


# -- XMark: one large document, all axes -----------------------------------------------------------

# On the whole document these two take libxml2 more than ten minutes each, in either form.
XMARK_QUADRATIC = frozenset({"XPM-B9", "XPM-B10"})


def test_xpathmark_on_an_auction_site(shared_data: Path) -> None:
    schema = Schema.load(shared_data / "xmark/auction.dtd", root="site")
    account = Account("xmark, cut")
    queries = load_queries([shared_data / "xmark/xpathmark.jsonl"])
    compare_all(schema, queries, [xmark_cut(shared_data, 40)], account)
    assert account.counts["normalised"] == len(queries) == 33, account


@pytest.mark.slow
def test_xpathmark_on_the_whole_auction_site(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = Schema.load(shared_data / "xmark/auction.dtd", root="site")
    account = Account("xmark")
    queries = load_queries([shared_data / "xmark/xpathmark.jsonl"])
    whole = gzip.decompress((shared_data / "xmark/xmark-f0.1.xml.gz").read_bytes())
    quick = [q for q in queries if q.id not in XMARK_QUADRATIC]
    compare_all(schema, quick, [whole], account)
    quadratic = [q for q in queries if q.id in XMARK_QUADRATIC]
    compare_all(schema, quadratic, [xmark_cut(shared_data, 200)], account)
    report(account, capsys)


# -- NITF: hundreds of thousands of generated queries ----------------------------------------------

NITF_SETS = ("linear", "nested1", "nested2")

# Names, ``*``, ``/``, ``//`` and filters of the same: such a query never looks above its document.
_DOWNWARD = re.compile(r"/([\w.*/\[\]| -]|descendant(-or-self)?::)+")
_ELSEWHERE = re.compile(r"\[\d|\.\.|\[/|\| /")


class Forest:
    """Several documents side by side in one tree, so that one evaluation answers for all of them.

    ``/forest/doc`` in front of a downward query makes it start at each document's own top. 60
    million comparisons then take minutes; one by one they would take hours.
    """

    def __init__(self, documents: Iterable[bytes]) -> None:
        forest = etree.Element("forest")
        for document in documents:
            etree.SubElement(forest, "doc").append(oracle.parse(document).tree.getroot())
        self.tree = forest.getroottree()
        self.spines: set[tuple[str, ...]] = {()}
        todo: list[tuple[Any, tuple[str, ...]]] = [(doc, ()) for doc in forest]
        while todo:
            element, path = todo.pop()
            self.spines.add(path)
            todo.extend((e, (*path, e.tag)) for e in element if isinstance(e.tag, str))

    @staticmethod
    def compiled(xpath: str) -> Any:
        assert _DOWNWARD.fullmatch(xpath), xpath
        assert not _ELSEWHERE.search(xpath), xpath
        return etree.XPath(f"/forest/doc{xpath}")


def nitf_account(data: Path, name: str, step: int) -> Account:
    """A set of queries on all 200 messages."""
    account = Account(f"nitf {name}")
    schema = Schema.load(data / "nitf/nitf.dtd", root="nitf")
    documents = [p.read_bytes() for p in sorted((data / "nitf/docs").iterdir())]
    assert len(list(conforming(schema, documents, account))) == len(documents) == 200
    forests = [Forest(documents[i : i + 4]) for i in range(0, len(documents), 4)]
    branches: dict[str, list[list[Any]]] = {}
    queries = load_queries([data / f"nitf/{name}.tsv.gz"], step)
    for normalised in normalise_all(schema, queries, account):
        original = Forest.compiled(normalised.query.xpath)
        expected = [set(original(forest.tree)) for forest in forests]
        found: list[set[Any]] = [set() for _ in forests]
        for part in normalised.form.branches:
            if part.xpath not in branches:
                if len(branches) > 100_000:
                    branches.clear()
                compiled = Forest.compiled(part.xpath)
                # No element at the end of the spine, no result: no need to evaluate the branch.
                branches[part.xpath] = [
                    compiled(forest.tree) if part.prefix in forest.spines else []
                    for forest in forests
                ]
            for nodes, more in zip(found, branches[part.xpath], strict=True):
                nodes.update(more)
        account.counts["comparisons"] += len(documents)
        account.counts["selected nodes"] += sum(map(len, expected))
        if expected != found:
            account.differences.append(f"{normalised.query.xpath}\n{normalised.form.xpath}")
    account.settle()
    return account


@pytest.mark.parametrize("name", NITF_SETS)
def test_news_queries_on_news(shared_data: Path, name: str) -> None:
    account = nitf_account(shared_data, name, step=500)
    assert account.counts["selected nodes"] > 1000, account
    assert not account.counts["declined"], account


def test_news_queries_one_document_at_a_time(shared_data: Path) -> None:
    """The same without the forest: its answers are the oracle's."""
    schema = Schema.load(shared_data / "nitf/nitf.dtd", root="nitf")
    documents = [p.read_bytes() for p in sorted((shared_data / "nitf/docs").iterdir())[::20]]
    files = [shared_data / f"nitf/{name}.tsv.gz" for name in NITF_SETS]
    compare_all(schema, load_queries(files, 1000), documents, Account("nitf, one by one"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NITF_SETS)
def test_all_news_queries_on_all_news(
    shared_data: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    account = nitf_account(shared_data, name, step=1)
    report(account, capsys)
    assert account.counts["queries"] == 100_000
