"""`extract.Prefilter`: one small document that answers every query."""

from __future__ import annotations

import gzip
import io
import pickle
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import extract
from extract.chunktool.scan import driver as scanner_module
from extract.chunktool.scan.driver import Verdict
from extract.errors import DocumentError
from extract.limits import Limits
from extract.scheme import Scheme
from tests.support.chunk_documents import (
    QUERIES,
    WRONG,
    handing_over,
    university,
    use_window_scanner,
)
from tests.support.window_scanner import WindowScanner


@pytest.fixture(params=["window", "real"])
def prefilter(
    request: pytest.FixtureRequest, scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> extract.Prefilter:
    if request.param == "window":
        use_window_scanner(monkeypatch, 256)
    return extract.Prefilter(scheme)


def answers(document: bytes) -> dict[str, Any]:
    """What each query gives, as libxml2 has it."""
    tree = etree.fromstring(document).getroottree()
    found = {name: tree.xpath(xpath) for name, xpath in QUERIES.items()}
    return {
        name: [etree.tostring(n, with_tail=False) if hasattr(n, "tag") else n for n in nodes]
        if isinstance(nodes, list)
        else nodes
        for name, nodes in found.items()
    }


def test_the_projection_answers_every_query(prefilter: extract.Prefilter) -> None:
    document = university(200)
    small = prefilter.project(document)
    assert answers(small) == answers(document)
    assert len(small) < len(document) * 0.6
    assert b"\n" not in small  # white space between records is gone


def test_all_ways_to_project_give_the_same(prefilter: extract.Prefilter, tmp_path: Path) -> None:
    documents = [university(30, seed) for seed in range(3)]
    wanted = [prefilter.project(document) for document in documents]
    assert list(prefilter.project_all(documents)) == wanted
    path = tmp_path / "doc.xml.gz"
    path.write_bytes(gzip.compress(documents[0]))
    assert prefilter.project(path) == wanted[0]
    assert prefilter.project(io.BytesIO(documents[1])) == wanted[1]
    with prefilter.open(path) as stream:
        assert etree.tostring(etree.parse(stream)) == etree.tostring(etree.fromstring(wanted[0]))
    target = io.BytesIO()
    outcome = prefilter.write(path, target)
    assert target.getvalue() == wanted[0]
    assert outcome.verdict is Verdict.CONFORMING
    assert outcome.size == len(documents[0])


def test_a_prefilter_can_be_sent_to_other_processes(prefilter: extract.Prefilter) -> None:
    document = university(10)
    wanted = prefilter.project(document)
    prefilter.assume_valid = True
    other = pickle.loads(pickle.dumps(prefilter))
    assert other.assume_valid is True
    assert other.project(document) == wanted


def test_a_nonconforming_document_passes_whole(
    prefilter: extract.Prefilter, tmp_path: Path
) -> None:
    assert prefilter.project(WRONG) == WRONG
    path = tmp_path / "wrong.xml"
    path.write_bytes(WRONG)
    with path.open("rb") as stream, prefilter.open(stream) as result:
        assert result.read() == WRONG
    target = io.BytesIO()
    assert prefilter.write(path, target).verdict is Verdict.NONCONFORMING
    assert target.getvalue() == WRONG


def test_or_is_rejected(scheme: Scheme) -> None:
    prefilter = extract.Prefilter(scheme, on_nonconforming="reject")
    with pytest.raises(DocumentError, match="breaks the schema") as caught:
        prefilter.project(WRONG)
    assert caught.value.offset == WRONG.index(b"<pet>")


def test_nothing_is_written_of_a_document_that_breaks_off(prefilter: extract.Prefilter) -> None:
    target = io.BytesIO()
    with pytest.raises(DocumentError):
        prefilter.write(io.BytesIO(university(100)[:-20]), target)
    assert target.getvalue() == b""
    with pytest.raises(DocumentError):
        prefilter.open(university(100)[:-20])


def test_limits(scheme: Scheme) -> None:
    with pytest.raises(DocumentError):
        extract.Prefilter(scheme, limits=Limits(depth=2)).project(university(5))


def test_a_query_that_needs_everything_projects_the_whole_document(
    scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_window_scanner(monkeypatch)
    queries = extract.Subscriptions.of({"id": "id('x')", "n": "//name"})
    prefilter = extract.Prefilter(extract.prepare(scheme.schema, queries, chunks=1))
    document = university(10)
    assert prefilter.project(document) is document
    with pytest.raises(DocumentError):
        prefilter.project(document[:-3])


def test_real_documents(shared_data: Path) -> None:
    packed = (shared_data / "nitf" / "nested1.tsv.gz").read_bytes()
    rows = gzip.decompress(packed).decode().splitlines()
    queries = extract.Subscriptions.of(dict(row.split("\t", 1) for row in rows[::2_000]))
    schema = extract.Schema.load(shared_data / "nitf" / "nitf.dtd", root="nitf")
    scheme = extract.prepare(schema, queries, chunks=5)
    prefilter = extract.Prefilter(scheme)
    compiled = [etree.XPath(query.xpath) for query in queries]
    for path in sorted((shared_data / "nitf" / "docs").glob("*.xml"))[:20]:
        document = path.read_bytes()
        target = io.BytesIO()
        assert prefilter.write(document, target).conforming
        trees = [etree.fromstring(text) for text in (document, target.getvalue())]
        for query in compiled:
            first, second = [
                [etree.tostring(n, with_tail=False) for n in query(tree)] for tree in trees
            ]
            assert first == second, (path, query)


# -- documents that are trusted


class Counting(io.BytesIO):
    """Says how often it was written to."""

    writes = 0

    def write(self, data: Any) -> int:
        self.writes += 1
        return super().write(data)


def test_trusted_documents_are_written_at_once(
    scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_window_scanner(monkeypatch, 256)
    document = university(100)
    prefilter = extract.Prefilter(scheme, assume_valid=True)
    target = Counting()
    assert prefilter.write(io.BytesIO(document), target).conforming
    assert target.writes > 10
    assert target.getvalue() == prefilter.project(document)
    assert answers(target.getvalue()) == answers(document)
    target = Counting()
    with pytest.raises(DocumentError):
        prefilter.write(io.BytesIO(document[:-20]), target)
    assert target.getvalue()


def test_a_scanner_that_takes_over_writes_nothing_twice(
    scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_window_scanner(monkeypatch, 256)
    chain: list[Any] = [("kernel", handing_over("no UTF-8")), ("reference", WindowScanner)]
    monkeypatch.setattr(scanner_module, "scanners", lambda _: iter(chain))
    monkeypatch.setattr(scanner_module, "load_kernel", lambda: None)
    document = university(100)
    prefilter = extract.Prefilter(scheme, assume_valid=True)
    target = io.BytesIO()
    assert prefilter.write(io.BytesIO(document), target).handed_over == ("no UTF-8",)
    assert target.getvalue() == prefilter.project(document)
    chain[1] = ("reference", handing_over("markup"))
    with pytest.raises(DocumentError, match=r"evaluated whole \(markup\), but a part is written"):
        prefilter.write(io.BytesIO(document), io.BytesIO())
    target = io.BytesIO()
    assert prefilter.project(document) == document
