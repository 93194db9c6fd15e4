"""Sizes of documents: counted in samples, guessed from a schema, and what chunks keep of them."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree

from extract import DocumentError, Schema, Scheme, Subscriptions, prepare
from extract.preptool.costing.estimate import Estimator
from extract.preptool.costing.expected import expected_statistics
from extract.preptool.costing.paths import MOST_PATHS, REST
from extract.preptool.costing.statistics import Sample, sample_statistics
from extract.scenarios import scenario
from extract.scenarios.queries import random_queries
from extract.schema.model import Declaration
from extract.scheme.model import Chunk
from extract.scheme.statistics import Statistics
from tests.support.paths import SCHEMAS
from tests.support.projector import Projection
from tests.support.scheme_answers import kept_by

UNIVERSITY = Schema.load(SCHEMAS / "university.dtd", root="db")
FIGURE_4 = Schema.load(SCHEMAS / "figure4.dtd", root="a")
ORDERS = Schema.load(SCHEMAS / "orders.xsd", root="order")


def table(statistics: Statistics) -> dict[str, tuple[int, int, int, int, int, int]]:
    """The counts by path."""
    paths: list[str] = []
    found = {}
    for row in statistics.rows:
        paths.append(f"{paths[row.parent] if row.parent >= 0 else ''}/{row.name}")
        found[paths[-1]] = row[2:8]
    return found


# -- Samples


def test_elements_owners_tags_texts_and_subtrees_of_a_tiny_document() -> None:
    document = (
        b'<?xml version="1.0"?>\n'
        b'<db><student id="s1"><name>Ada</name></student>\n'
        b'<student id="s2"><name>Alan</name><email/></student></db>'
    )
    found = sample_statistics([document], UNIVERSITY)
    assert (found.source, found.documents, found.document_bytes) == ("samples", 1, len(document))
    assert table(found) == {
        #                   elements, owners, tags, text, elements and bytes of the subtree
        "/db": (1, 1, 9, 1, 6, 105),
        "/db/student": (2, 1, 2 * 27, 0, 5, 95),
        "/db/student/email": (1, 1, 7, 1, 1, 8),
        "/db/student/name": (2, 2, 2 * 13, 7, 2, 33),
    }


def test_samples_may_be_compressed() -> None:
    document = b"<db><student><name>x</name></student></db>"
    plain = sample_statistics([document], UNIVERSITY)
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        assert sample_statistics([pack(document)], UNIVERSITY) == plain
    with pytest.raises(DocumentError, match=r"a sample cannot be zip data\nHint: unpack it first"):
        sample_statistics([b"PK\x03\x04 and so on"], UNIVERSITY)


def test_samples_add_up_and_may_be_files_or_gzipped(tmp_path: Path) -> None:
    document = b"<db><student id='s'><name>Ada</name></student></db>"
    (tmp_path / "plain.xml").write_bytes(document)
    (tmp_path / "packed.xml.gz").write_bytes(gzip.compress(document))
    samples: list[Sample] = [
        document,
        gzip.compress(document),
        tmp_path / "plain.xml",
        str(tmp_path / "packed.xml.gz"),
    ]
    found = sample_statistics(samples, UNIVERSITY)
    assert (found.documents, found.document_bytes) == (4, 4 * len(document))
    assert table(found)["/db/student/name"] == (4, 4, 4 * 13, 4 * 3, 4, 4 * 16)


def test_recursion_counts_at_one_path() -> None:
    # a, b and m contain each other: the inner ones count where the outer ones do.
    document = b"<a><b><m><c/><a><b><m><c/></m></b></a></m></b></a>"
    found = sample_statistics([document], FIGURE_4)
    counts = table(found)
    assert set(counts) == {"/a", "/a/b", "/a/b/m", "/a/b/m/c"}
    assert [counts[path][0] for path in ("/a", "/a/b", "/a/b/m", "/a/b/m/c")] == [2, 2, 2, 2]
    # Of nested subtrees only the outer ones have a size; the whole document is in /a.
    assert counts["/a"][4:] == (8, len(document))
    assert counts["/a/b"][4:] == (7, len(document) - len(b"<a></a>"))
    assert [row.recursive for row in found.rows] == [True, False, False, False]


def test_namespaces_are_names_and_their_declarations_are_bytes_of_the_tag() -> None:
    document = b'<o:order xmlns:o="urn:x"><o:line o:no="1">2</o:line></o:order>'
    found = sample_statistics([document], ORDERS)
    assert set(table(found)) == {"/{urn:x}order", "/{urn:x}order/{urn:x}line"}
    assert found.rows[0].tag_bytes == len(b'<o:order xmlns:o="urn:x"></o:order>')
    assert found.rows[0].subtree_bytes == len(document)


def test_no_document_makes_more_than_so_many_paths() -> None:
    names = "".join(f"<x{n}><y{n}/></x{n}>" for n in range(MOST_PATHS))
    found = sample_statistics([f"<db>{names}</db>".encode()], UNIVERSITY)
    assert len(found.rows) <= 2 * MOST_PATHS
    assert sum(row.elements for row in found.rows) == 1 + 2 * MOST_PATHS
    assert any(row.name == REST for row in found.rows)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"<db>", "no element found"),
        (b"<db></bd>", "mismatched tag"),
        (b"", "no element found"),
        (b"<a:db/>", "unbound prefix"),
        (b'<?xml version="1.0" encoding="no-such"?><db/>', "encoding"),
        (gzip.compress(b"<db/>", mtime=0)[:-9], "the compressed data is damaged"),
    ],
)
def test_a_sample_that_cannot_be_read_is_an_error(
    document: bytes, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(DocumentError, match=reason):
        sample_statistics([document], UNIVERSITY)
    path = tmp_path / "bad.xml"
    path.write_bytes(document)
    with pytest.raises(DocumentError, match=r"bad\.xml"):
        sample_statistics([path], UNIVERSITY)


def test_a_missing_sample_is_an_error_with_its_name() -> None:
    with pytest.raises(DocumentError, match=r"nowhere\.xml.*No such file"):
        sample_statistics(["nowhere.xml"], UNIVERSITY)


# -- The schema alone


def test_expected_statistics_follow_the_content_model() -> None:
    found = table(expected_statistics(UNIVERSITY))
    people, names, mails = (found[f"/db/student{part}"][0] for part in ("", "/name", "/email"))
    assert names == people
    assert mails == pytest.approx(people / 2, rel=0.01)
    assert found["/db/lecturer"][0] == people
    assert found["/db"][5] == pytest.approx(100 * 100_000, rel=0.01)


@pytest.mark.parametrize(
    "name", ["figure4.dtd", "ejb-jar.dtd", "orders.xsd", "bib.dtd", "book.dtd"]
)
def test_expectations_are_finite_and_consistent(name: str) -> None:
    roots = {"figure4.dtd": "a", "ejb-jar.dtd": "ejb-jar", "orders.xsd": "order"}
    schema = Schema.load(SCHEMAS / name, roots.get(name, name.split(".")[0]))
    found = expected_statistics(schema)
    assert 0 < len(found.rows) <= 1_000
    assert found == expected_statistics(schema)
    for row in found.rows:
        assert row.subtree_bytes <= found.document_bytes * 1.01
        if row.parent >= 0:
            assert row.parent < len(found.rows)
            assert row.subtree_elements <= found.rows[row.parent].subtree_elements + 1


def test_a_schema_without_content_models_has_expectations_too() -> None:
    # As DTD's ANY, and as the schema inside of a scheme has it.
    a, b = Declaration(0, "a", children=(0, 1)), Declaration(1, "b")
    found = expected_statistics(Schema("memory", "dtd", (a, b), roots=(0,)))
    assert set(table(found)) == {"/a", "/a/b"}


# -- What a chunk keeps


def real_size(chunk: Chunk, tree: etree._ElementTree, namespaces: Mapping[str, str]) -> int:
    """Bytes of the chunk that the reference projector makes."""
    return len(etree.tostring(Projection(tree, kept_by(chunk), namespaces).tree))


def compare(scheme: Scheme, documents: list[bytes], factor: float) -> None:
    """Estimates against real sizes of all chunks, whole and projected."""
    estimator = Estimator(scheme.statistics, scheme.namespaces)
    trees = [etree.fromstring(document).getroottree() for document in documents]
    for chunk in scheme.every_chunk:
        sizes = []
        for projected in (False, True):
            one = replace(chunk, projected=projected and bool(chunk.prefix))
            estimated = estimator.of_chunk(one).size_bytes
            real = sum(real_size(one, tree, scheme.namespaces) for tree in trees) / len(trees)
            assert real / factor - 100 < estimated < real * factor + 100, one
            sizes.append(estimated)
        assert sizes[1] <= sizes[0] * 1.001, chunk
        assert sizes[0] <= estimator.document_bytes


@pytest.mark.parametrize("name", ["university", "ejb"])
@pytest.mark.parametrize("chunks", [1, 3, 6])
def test_estimates_are_near_the_real_sizes(name: str, chunks: int) -> None:
    one = scenario(name)
    document = b"".join(one.document(100_000))
    scheme = prepare(one.schema(), one.queries(200), chunks, sample=[document])
    compare(scheme, [document], 1.05)


def test_estimates_are_near_the_real_sizes_of_messages(shared_data: Path) -> None:
    folder = shared_data / "nitf"
    queries = Subscriptions.of(list(Subscriptions.load(folder / "nested1.tsv.gz"))[:300])
    documents = [file.read_bytes() for file in sorted((folder / "docs").iterdir())[:8]]
    schema = Schema.load(folder / "nitf.dtd", root="nitf")
    # lxml writes <a></a> as <a/>, and leaves out the DOCTYPE: that is what the factor is for.
    compare(prepare(schema, queries, 5, sample=documents), documents, 1.5)


@pytest.mark.slow
def test_estimates_are_near_the_real_sizes_of_an_auction_site(shared_data: Path) -> None:
    folder = shared_data / "xmark"
    schema = Schema.load(folder / "auction.dtd", root="site")
    document = gzip.decompress((folder / "xmark-f0.1.xml.gz").read_bytes())
    queries = Subscriptions.of(random_queries(schema, 40, 1))
    compare(prepare(schema, queries, 3, sample=[document]), [document], 1.2)


def test_a_chunk_that_no_sample_has_is_just_the_document_element() -> None:
    samples = [b"<db><student id='s'><name>Ada</name></student></db>"]
    scheme = prepare(UNIVERSITY, Subscriptions.of(["/db/lecturer/name"]), 1, sample=samples)
    kept = Estimator(scheme.statistics, scheme.namespaces).of_chunk(scheme.chunks[0])
    assert (kept.elements, kept.size_bytes) == (1, len(b"<db></db>"))
