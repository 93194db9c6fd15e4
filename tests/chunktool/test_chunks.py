"""`extract.chunk`: the chunks of a document, and the errors of bad documents."""

from __future__ import annotations

import gzip
import io
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import extract
from extract.chunktool import chunks as chunks_module
from extract.chunktool.chunks import DocumentChunk, chunk
from extract.chunktool.input.source import Document
from extract.chunktool.input.spill import Piles
from extract.chunktool.scan import driver as scanner_module
from extract.chunktool.scan.driver import Verdict, kernel_available
from extract.chunktool.scan.protocol import Elements
from extract.errors import DocumentError, ExtractError
from extract.limits import Limits
from extract.scheme import Scheme
from tests.support.chunk_documents import (
    QUERIES,
    WRONG,
    handing_over,
    university,
    use_window_scanner,
)
from tests.support.paths import SCHEMAS
from tests.support.window_scanner import WindowScanner


@pytest.fixture(params=["window", "real"])
def scanners(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test with a scanner that leaves bytes over, and with the ones that are there."""
    if request.param == "window":
        use_window_scanner(monkeypatch)


def selected(scheme: Scheme, part: DocumentChunk) -> list[list[str]]:
    """What the branches of a chunk select in it."""
    tree = etree.fromstring(part.xml()).getroottree()
    return [
        [etree.tostring(n).decode() if hasattr(n, "tag") else str(n) for n in found]
        for found in (np.atleast_1d(tree.xpath(scheme.branches[b].xpath)) for b in part.branches)
    ]


# -- chunks


@pytest.mark.usefixtures("scanners")
def test_chunks_answer_their_queries(scheme: Scheme) -> None:
    document = university(100)
    parts = chunk(scheme, document)
    assert [part.id for part in parts] == [one.id for one in scheme.every_chunk]
    assert parts.outcome.verdict is Verdict.CONFORMING
    assert parts.outcome.size == len(document)
    for part in parts:
        whole = DocumentChunk("", (), part.branches, part.ranges, _content(document))
        assert selected(scheme, part) == selected(scheme, whole)
        assert 0 < part.size < len(document)
        assert part.queries
        assert not part.fallback


def _content(data: bytes) -> Any:
    piles = Piles(1)
    piles.add(0, data)
    return piles[0]


@pytest.mark.usefixtures("scanners")
def test_a_chunk_is_ranges_of_the_original(scheme: Scheme) -> None:
    document = university(30)
    for part in chunk(scheme, document):
        text = part.xml()
        flat = part.ranges.reshape(-1)
        assert (np.diff(flat) > 0).all()  # in order, not empty, not touching
        assert b"".join(document[a:b] for a, b in part.ranges.tolist()) == text
        for place in (0, 1, len(text) // 2, len(text) - 1):
            original = part.original(place)
            assert document[original : original + 1] == text[place : place + 1]
        with part.open() as stream:
            assert stream.read(7) + stream.read() == text


@pytest.mark.parametrize("size", [64, 257, 4_096])
def test_windows_change_nothing(scheme: Scheme, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    document = university(60, size)
    use_window_scanner(monkeypatch, size)
    at_once = chunk(scheme, document, nodes=True)
    windowed = chunk(scheme, io.BytesIO(document), nodes=True)
    assert windowed.outcome == at_once.outcome
    assert windowed.nodes is not None
    assert at_once.nodes is not None
    for name in Elements.__slots__:
        same = getattr(windowed.nodes.elements, name) == getattr(at_once.nodes.elements, name)
        assert same.all()
    for one, other in zip(windowed, at_once, strict=True):
        assert one.xml() == other.xml()
        assert (one.ranges == other.ranges).all()
        assert (one.rows == other.rows).all()


@pytest.mark.usefixtures("scanners")
def test_every_kind_of_document(scheme: Scheme, tmp_path: Path) -> None:
    document = university(20)
    path = tmp_path / "doc.xml.gz"
    path.write_bytes(gzip.compress(document))
    wanted = [part.xml() for part in chunk(scheme, document)]
    assert [part.xml() for part in chunk(scheme, path)] == wanted
    assert [part.xml() for part in chunk(scheme, str(path))] == wanted
    with path.open("rb") as stream:
        parts = chunk(scheme, stream)
    assert [part.xml() for part in parts] == wanted


def test_the_node_table_knows_the_rows_of_each_chunk(
    scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_window_scanner(monkeypatch)
    document = university(20)
    parts = chunk(scheme, document, nodes=True)
    table = parts.nodes
    assert table is not None
    for part in parts:
        names = [etree.QName(e).localname for e in etree.fromstring(part.xml()).iter("*")]
        rows = part.rows.tolist()
        tags = [document[table.elements.start[r] : table.elements.content[r]] for r in rows]
        assert [tag[1:].split()[0].strip(b"/>").decode() for tag in tags] == names
        assert (table.elements.end[rows] >= table.elements.close[rows]).all()
        assert (table.elements.close[rows] >= table.elements.content[rows]).all()
        assert part.nodes is table


# -- bad documents

BROKEN = [
    (b"<db><student id='1'><name>x</name></db>", "closed|mismatch|name", 1),
    (b"<db>\n\n<student", "", 3),
    (b"", "", 1),
    (b"<db/><db/>", "", 1),
]


@pytest.mark.usefixtures("scanners")
@pytest.mark.parametrize(("document", "said", "line"), BROKEN)
def test_an_ill_formed_document_has_a_place(
    scheme: Scheme, document: bytes, said: str, line: int, tmp_path: Path
) -> None:
    path = tmp_path / "bad.xml"
    path.write_bytes(document)
    for given in (document, path, io.BytesIO(document)):
        with pytest.raises(DocumentError) as caught:
            chunk(scheme, given)
        assert caught.value.line == line
        assert caught.value.column > 0
        assert caught.value.offset >= 0
        if given is path:
            assert str(caught.value).startswith(f"{path}:{line}:")


@pytest.mark.usefixtures("scanners")
@pytest.mark.parametrize("kind", ["bytes", "path", "stream"])
def test_a_nonconforming_document_is_one_chunk(scheme: Scheme, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.xml"
    path.write_bytes(WRONG)
    with path.open("rb") as stream:
        given: dict[str, Document] = {"bytes": WRONG, "path": path, "stream": stream}
        parts = chunk(scheme, given[kind])
    assert parts.outcome.verdict is Verdict.NONCONFORMING
    assert parts.nodes is None
    (part,) = parts
    assert part.id == "document"
    assert part.fallback
    assert part.branches == ()
    assert sorted(part.queries) == sorted(QUERIES)  # the unsatisfiable too: now it may match
    assert part.xml() == part.xml() == WRONG
    assert part.ranges.tolist() == [[0, len(WRONG)]]
    assert part.open().read() == WRONG


@pytest.mark.usefixtures("scanners")
def test_a_nonconforming_document_can_be_rejected(scheme: Scheme) -> None:
    with pytest.raises(DocumentError) as caught:
        chunk(scheme, WRONG, on_nonconforming="reject", name="wrong.xml")
    error = caught.value
    assert error.offset == WRONG.index(b"<pet>")
    assert (error.line, error.file) == (WRONG[: error.offset].count(b"\n") + 1, "wrong.xml")
    assert "/db/professor has a child pet, which the schema does not know" in error.reason
    assert "fallback" in error.hint


@pytest.mark.usefixtures("scanners")
def test_another_root_is_nonconforming(scheme: Scheme) -> None:
    outcome = chunk(scheme, b"<university/>").outcome
    assert outcome.reason == (
        "the document element is university, which is none of the schema's roots"
    )


@pytest.mark.usefixtures("scanners")
def test_nonconforming_and_ill_formed_is_ill_formed(scheme: Scheme) -> None:
    with pytest.raises(DocumentError):
        chunk(scheme, WRONG[:-10])


@pytest.mark.usefixtures("scanners")
def test_limits(scheme: Scheme) -> None:
    assert chunk(scheme, university(5), limits=Limits(depth=4)).outcome.conforming
    with pytest.raises(DocumentError, match=r"deep|nest"):
        chunk(scheme, university(5), limits=Limits(depth=2))


def test_a_token_that_no_window_holds(scheme: Scheme, monkeypatch: pytest.MonkeyPatch) -> None:
    use_window_scanner(monkeypatch, 64)
    name = b"<name>" + b"x" * 5_000 + b"</name>"
    document = b"<db><student id='1'>" + name + b"</student></db>"
    parts = chunk(scheme, io.BytesIO(document))
    assert name in parts[1].xml()
    with pytest.raises(DocumentError, match="more than 1,000 bytes"):
        chunk(scheme, io.BytesIO(document), limits=Limits(token_bytes=1_000))


def test_the_next_scanner_starts_again(scheme: Scheme, monkeypatch: pytest.MonkeyPatch) -> None:
    use_window_scanner(monkeypatch, 100)
    chain = [("kernel", handing_over("no UTF-8")), ("reference", WindowScanner)]
    monkeypatch.setattr(scanner_module, "scanners", lambda _: iter(chain))
    document = university(20)
    for given in (document, io.BytesIO(document), _once(document)):
        parts = chunk(scheme, given)
        assert parts.outcome.conforming
        assert parts.outcome.scanner == "reference"
        assert parts.outcome.handed_over == ("no UTF-8",)
        assert [part.id for part in parts] == ["1", "2", "potpourri"]
        for part in parts:
            assert b"".join(document[a:b] for a, b in part.ranges.tolist()) == part.xml()


def _once(data: bytes) -> Any:
    class Once(io.BytesIO):
        def seekable(self) -> bool:
            return False

    return Once(data)


def test_a_document_that_no_scanner_reads_is_evaluated_whole(
    scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = [("kernel", handing_over("no UTF-8")), ("reference", handing_over("markup"))]
    monkeypatch.setattr(scanner_module, "scanners", lambda _: iter(chain))
    document = university(5)
    for given in (document, _once(document)):
        parts = chunk(scheme, given, on_nonconforming="reject")  # for it may conform, who knows
        assert parts.outcome.verdict is Verdict.WHOLE
        assert parts.outcome.handed_over == ("no UTF-8", "markup")
        assert parts.outcome.reason == "markup"
        assert parts[0].fallback
        assert parts[0].xml() == document


def test_the_environment_chooses(scheme: Scheme, monkeypatch: pytest.MonkeyPatch) -> None:
    document = university(5)
    use_window_scanner(monkeypatch)
    assert kernel_available()
    assert chunk(scheme, document).outcome.scanner == "kernel"
    monkeypatch.setenv("EXTRACT_KERNEL", "off")
    assert not kernel_available()
    assert chunk(scheme, document).outcome.scanner == "reference"
    monkeypatch.setattr(scanner_module, "load_kernel", lambda: None)
    monkeypatch.setenv("EXTRACT_KERNEL", "on")
    with pytest.raises(ExtractError, match="not built"):
        chunk(scheme, document)
    monkeypatch.setenv("EXTRACT_KERNEL", "maybe")
    with pytest.raises(ExtractError, match="maybe"):
        chunk(scheme, document)


# -- automata


def test_automata_are_kept_with_their_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    use_window_scanner(monkeypatch)
    schema = extract.Schema.load(SCHEMAS / "university.dtd", root="db")
    scheme = extract.prepare(schema, extract.Subscriptions.of(QUERIES), chunks=2)
    chunk(scheme, university(5))
    with chunks_module.borrowed_automaton(scheme, "chunks", False) as first:
        known = weakref.ref(first)
        with chunks_module.borrowed_automaton(scheme, "chunks", False) as second:
            assert second is not first  # nobody uses one while another does
    with chunks_module.borrowed_automaton(scheme, "chunks", True) as trusting:
        assert trusting is not first
    del first, second, trusting, scheme
    assert known() is None


def test_threads_do_not_disturb_each_other(scheme: Scheme, monkeypatch: pytest.MonkeyPatch) -> None:
    use_window_scanner(monkeypatch)
    documents = [university(20, seed) for seed in range(8)]
    wanted = [[part.xml() for part in chunk(scheme, document)] for document in documents]
    found: dict[int, list[bytes]] = {}

    def work(number: int) -> None:
        found[number] = [part.xml() for part in chunk(scheme, documents[number])]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[number] for number in range(8)] == wanted
