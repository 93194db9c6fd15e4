"""The native kernel by itself: lxml's verdict, windows of any size, ranges and node table.

What both scanners must do is in ``tests/chunktool/scan/test_contract.py``.
"""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from lxml import etree

from extract.chunktool.scan.protocol import Batch, HandOver, Violation
from extract.errors import DocumentError
from extract.limits import Limits

pytest.importorskip("extract.chunktool.scan.kernel", reason="the native kernel is not built")

from extract.chunktool.scan.byte_ranges import Cutter, Window
from extract.chunktool.scan.kernel import KernelScanner, gather, namespaces
from extract.chunktool.scan.kernel.namespaces import XML, Contexts
from tests.support.fuzz.compare import (
    ALL,
    BAD,
    GOOD,
    HANDED_OVER,
    SKIP,
    Anything,
    difference,
    kernel_answer,
    lxml_verdict,
)
from tests.support.fuzz.documents import DOCUMENTS
from tests.support.fuzz.marked import OUTPUTS, Marks, kept, marked, table
from tests.support.fuzz.mutate import mutated

# -- verdicts


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 6, 7])
def test_the_verdict_is_that_of_lxml(size: int) -> None:
    for document in DOCUMENTS:
        if size and len(document) < 200:
            assert not difference(document, itertools.repeat(size)), document
        elif not size:
            assert not difference(document), document[:200]


def test_random_changes_of_documents() -> None:
    random = Random(20)
    for _ in range(4_000):
        document = mutated(random)
        windows: Iterator[int] = iter([random.randrange(1, 40) for _ in range(len(document) + 1)])
        assert not difference(document, windows), document


@pytest.mark.slow
def test_many_random_changes_of_documents() -> None:
    random = Random(21)
    for _ in range(300_000):
        document = mutated(random)
        assert not difference(document), document


_NATIVE = [
    (b"<a/>", GOOD),
    (b"<?xml version='1.0' encoding='UTF-8' standalone='no'?><!DOCTYPE a SYSTEM 's'><a/>", GOOD),
    (b"<?xml version='1.0' encoding='ISO-8859-1'?><a>x</a>", GOOD),
    (b"<a xmlns:p='urn:x'><p:b xml:id='i'/><p:b xml:id='j'/></a>", GOOD),
    ("<Ⰰ>\U0001f600</Ⰰ>".encode(), GOOD),
    (b"<a xmlns='rel'/>", GOOD),
    (b"<p:a/>", BAD),
    (b"<a xmlns:p='urn:x' q:b=''/>", BAD),
    (b"<a>&foo;</a>", BAD),
    (b"<?xml version='1.0' standalone='maybe'?><a/>", BAD),
    (b"<a xmlns='http://a b'/>", BAD),
]


@pytest.mark.parametrize(("document", "verdict"), _NATIVE)
def test_what_the_kernel_must_do_itself(document: bytes, verdict: str) -> None:
    assert kernel_answer(ALL, document).verdict == verdict == lxml_verdict(document)


_LEFT = [
    ("<a/>".encode("utf-16"), "encoding"),
    (b"<?xml version='1.0' encoding='windows-1252'?><a/>", "encoding"),
    (b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe4</a>", "encoding"),
    (b"<?xml version='1.1'?><a/>", "version of XML"),
    (b"<!DOCTYPE a [<!ENTITY e 'x'>]><a/>", "DOCTYPE with an internal subset"),
    (b"<!DOCTYPE a SYSTEM 's'><a>&e;</a>", "entity reference"),
    (b"<a xml:id='i'><b xml:id='i'/></a>", "xml:id"),
    (b"<a><p:b/><?xml-x?></a>", "namespace error"),
]


@pytest.mark.parametrize(("document", "reason"), _LEFT)
def test_what_the_kernel_hands_over(document: bytes, reason: str) -> None:
    for windows in (None, itertools.repeat(3)):
        answer = kernel_answer(ALL, document, windows)
        assert (answer.verdict, answer.reason) == (HANDED_OVER, reason)


# -- errors and limits


def _scan(document: bytes, limits: Limits | None, automaton: Any) -> None:
    scanner = KernelScanner(automaton, limits)
    scanner.feed(document)
    scanner.finish()


def _error(document: bytes, limits: Limits | None = None, automaton: Any = ALL) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        _scan(document, limits, automaton)
    return caught.value


@pytest.mark.parametrize(
    ("document", "offset"),
    [
        (b"<a>\n<b></a>", 7),
        (b"<a>x]]>y</a>", 4),
        (b"<a b='1' b='2'/>", 9),
        (b"<a b='<'/>", 6),
        (b"<a>\xff</a>", 3),
        (b"<a>&#0;</a>", 3),
        (b"<a><!-- -- --></a>", 8),
        (b"<a/><b/>", 4),
        (b"<a><b/>", 7),
        (b"<a><p:b/></a>", 3),
        (b"", 0),
    ],
)
def test_errors_say_where(document: bytes, offset: int) -> None:
    assert _error(document).offset == offset


def test_limits() -> None:
    for automaton in (ALL, SKIP):
        deep = _error(b"<a>" * 5 + b"</a>" * 5, Limits(depth=4), automaton)
        assert deep.reason == "more than 4 levels of nested elements (--max-depth)"
        assert deep.offset == 12
        many = _error(b"<a><b c='' d='' e=''/></a>", Limits(attributes=2), automaton)
        assert many.reason == "more than 2 attributes of one tag (--max-attributes)"
        for token in (b"x" * 99, b"<!--" + b"x" * 99 + b"-->", b"<b c='" + b"x" * 99 + b"'/>"):
            long = _error(b"<a>" + token + b"</a>", Limits(token_bytes=99 - 1), automaton)
            assert long.reason.startswith("more than 98 bytes")
            assert long.offset == 3


def test_a_token_that_never_ends_passes_the_limit() -> None:
    scanner = KernelScanner(ALL, Limits(token_bytes=1000))
    with pytest.raises(DocumentError, match="more than 1,000 bytes"):
        scanner.feed(b"<a>" + b"x" * 2000)


def test_after_an_error_there_is_no_going_on() -> None:
    scanner = KernelScanner(ALL)
    with pytest.raises(DocumentError):
        scanner.feed(b"<a></b>")
    with pytest.raises(RuntimeError):
        scanner.feed(b"</a>")
    with pytest.raises(RuntimeError):
        scanner.finish()


def test_too_many_states_are_handed_over() -> None:
    with pytest.raises(HandOver, match="too many states"):
        _scan(b"<n><m/><t0/><t1/></n>", None, Marks(max_states=3))


def test_too_many_contexts_are_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "MOST_CONTEXTS", 1_000)
    document = b"<a>" + b"".join(b"<a xmlns='urn:%d'/>" % n for n in range(1_100))
    with pytest.raises(HandOver, match="too many names"):
        _scan(document, None, Anything())


@pytest.mark.parametrize("count", [5_000, 25_000])
def test_many_prefixes_are_scanned_in_c(count: int) -> None:
    """There is no number of prefixes from which on a document takes another way."""
    beside = b"".join([b"<p%d:e xmlns:p%d='urn:p'/>" % (n, n) for n in range(count)])
    assert kernel_answer(Anything(), b"<a>" + beside + b"</a>").verdict == GOOD
    inside, depth = b"</a>", 1_000
    for level in range(depth):
        many = b"".join([b" xmlns:p%d-%d='u'" % (level, n) for n in range(count // depth)])
        inside = b"<a%s><p%d-0:b/>%s</a>" % (many, level, inside if level else b"")
    assert kernel_answer(Anything(), inside).verdict == GOOD


def test_assume_valid_only_looks_for_the_end_tag() -> None:
    automaton = Anything(skip=True, assume_valid=True)
    inside = b"<b>&x;<c></b><!-- </a> --><![CDATA[</a>]]><?p </a>?></c><d/></ab><ab>"
    inside += b"<a><a b='/>'>></a><a b='>'/><a/><a\n/></a ><aaaaaaaaaaaaaaaaaaaaaa></a:a>"
    assert kernel_answer(automaton, b"<a>" + inside + b"</a>").verdict == GOOD
    assert kernel_answer(automaton, b"<a>" + inside + b"</a>", itertools.repeat(1)).verdict == GOOD
    assert kernel_answer(automaton, b"<a>" + inside + b"</b>").verdict == BAD
    assert kernel_answer(automaton, b"<a>" + inside).verdict == BAD


# -- ranges and node table


def _merged(batches: list[Batch], output: int) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for batch in batches:
        within = batch.ranges[output].tolist()
        assert all(a[1] < b[0] for a, b in itertools.pairwise(within)), "neighbours not merged"
        for start, end in within:
            if ranges and ranges[-1][1] == start:
                ranges[-1] = (ranges[-1][0], end)
            else:
                ranges.append((start, end))
    return ranges


def _scanned(
    automaton: Any, document: bytes, random: Random | None
) -> tuple[list[Batch], list[bytes], Violation | None]:
    """Batches, the bytes of the outputs as they are cut out of windows, and the violation."""
    scanner = KernelScanner(automaton, table=True)
    cutter, batches = Cutter(), []
    pieces = [b""] * len(automaton.outputs)
    at = seen = 0
    while seen < len(document):
        seen = len(document) if random is None else seen + random.randrange(1, 30)
        seen = min(seen, len(document))
        data = memoryview(document)[at:seen]
        consumed = scanner.feed(data)
        if seen == len(document):
            scanner.finish()
        batches.append(scanner.take())
        if scanner.violation is None:
            cut = cutter.cut(Window(data[:consumed], at), batches[-1])
            pieces = [piece + more for piece, more in zip(pieces, cut, strict=True)]
        at += consumed
    return batches, pieces, scanner.violation


def _check(document: bytes, node: Any, automaton: Any, random: Random | None) -> None:
    batches, pieces, violation = _scanned(automaton, document, random)
    assert violation is None
    ranges = [_merged(batches, output) for output in range(OUTPUTS)]
    assert ranges == kept(document, node), document
    assert pieces == [b"".join(document[a:b] for a, b in part) for part in ranges]
    columns: dict[str, list[Any]] = {}
    for batch in batches:
        for name in ("elements", "ends", "leaves"):
            rows = getattr(batch, name)
            for slot in rows.__slots__:
                columns.setdefault(f"{name}.{slot}", []).extend(getattr(rows, slot).tolist())
    expected = table(node)
    elements = [columns[f"elements.{n}"] for n in ("parent", "start", "content", "position")]
    assert list(zip(*elements, strict=True)) == expected.elements
    ends = list(zip(columns["elements.close"], columns["elements.end"], strict=True))
    for row, *later in zip(*(columns[f"ends.{n}"] for n in ("row", "close", "end")), strict=True):
        assert ends[row] == (-1, -1)
        ends[row] = tuple(later)
    assert ends == expected.ends
    leaves = [columns[f"leaves.{n}"] for n in ("parent", "kind", "start", "end", "number")]
    assert list(zip(*leaves, strict=True)) == expected.leaves


def test_ranges_and_rows_of_random_documents() -> None:
    random = Random(5)
    automata = [Marks(), Marks(assume_valid=True)]
    for number in range(300):
        document, node = marked(random)
        _check(document, node, automata[number % 2], None)
        _check(document, node, automata[number % 2], random)


def test_keep_is_feed_finish_take_and_gather() -> None:
    random = Random(6)
    automaton: Any = Marks()
    for _ in range(100):
        document, _ = marked(random)
        _, pieces, _ = _scanned(automaton, document, None)
        assert [KernelScanner(automaton).keep(document, o) for o in range(OUTPUTS)] == pieces
    assert KernelScanner(automaton).keep(b"<n><z/></n>") is None
    for output in (-1, OUTPUTS):
        with pytest.raises(ValueError):
            KernelScanner(automaton).keep(b"<n/>", output)
    with pytest.raises(DocumentError):
        KernelScanner(automaton).keep(b"<n>")


def test_columns_have_their_types() -> None:
    batch = kernel_answer(ALL, b"<a>x</a>", table=True).batches[0]
    assert batch.ranges[0].dtype == np.int64
    assert batch.ranges[0].shape == (1, 2)
    assert batch.elements is not None
    assert batch.leaves is not None
    assert batch.elements.state.dtype == batch.elements.parent.dtype == np.int32
    assert batch.elements.start.dtype == np.int64
    assert batch.leaves.kind.dtype == np.int8


def test_the_byte_order_mark_and_the_prolog_are_in_every_output() -> None:
    prolog = b"\xef\xbb\xbf<?xml version='1.0'?>"
    doctype = b"<!DOCTYPE n [ ]>"
    _, pieces, _ = _scanned(Marks(), prolog + b"\n" + doctype + b"\n<n>x</n>", None)
    assert pieces == [prolog + doctype + b"<n></n>"] * OUTPUTS


def test_violations() -> None:
    for document, expected in [
        (b"<n><m><z/></m></n>", Violation(6, "/n/m", "z")),
        (b"<z/>", Violation(0, "", "z")),
        (b"<n xmlns:p='urn:p'><p:m><p:z/></p:m></n>", Violation(24, "/n/p:m", "p:z")),
        (b"<n><m bad=''/></n>", Violation(3, "/n/m", "@bad")),
        (b"<n><m k='' bad=''/><z/></n>", Violation(3, "/n/m", "@bad")),
        (b"<n><z bad=''/></n>", Violation(3, "/n", "z")),
        (b"<n><x><z/></x><z/></n>", Violation(14, "/n", "z")),
    ]:
        for random in (None, Random(1)):
            assert _scanned(Marks(), document, random)[2] == expected


def test_after_a_violation_the_verdict_is_still_that_of_lxml() -> None:
    random = Random(8)
    for _ in range(300):
        document, _ = marked(random, broken=0.1)
        at = random.randrange(len(document))
        document = document[:at] + document[at + 1 :]
        answer = kernel_answer(Marks(), document)
        assert answer.verdict in (lxml_verdict(document), HANDED_OVER), document


# -- many documents, many threads


def test_scanners_of_one_automaton_in_several_threads() -> None:
    documents = [marked(Random(n)) for n in range(60)]
    automaton, failures = Marks(), []

    def work(seed: int) -> None:
        random = Random(seed)
        try:
            for document, node in random.sample(documents, len(documents)):
                _check(document, node, automaton, random)
        except BaseException as error:  # an assertion in a thread would be lost
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_scanners_that_interleave_keep_apart() -> None:
    automaton: Any = Marks()
    first, second = KernelScanner(automaton, table=True), KernelScanner(automaton, table=True)
    first.feed(b"<n><t0/>")
    second.feed(b"<t1><s0/><s0/>")
    del first
    gc.collect()
    third = KernelScanner(automaton)
    third.feed(b"<n/>")
    third.finish()
    second.feed(b"</t1>")
    second.finish()
    rows = second.take().elements
    assert rows is not None
    assert rows.position.tolist() == [1, 1, 2]


# -- parts


def test_contexts() -> None:
    contexts = Contexts()
    one = contexts.declare(contexts.declare(0, b"xmlns:p='urn:p'"), b"xmlns:q='urn:q'")
    assert contexts.declare(one, b"xmlns:p='urn:&#112;'") == one != 0
    assert contexts.declare(one, b"xmlns='a b'") == Contexts.REFUSED
    assert contexts.expand(one, "p:x") == ("urn:p", "x")
    assert contexts.expand(one, "xml:x", True) == ("http://www.w3.org/XML/1998/namespace", "x")
    assert contexts.expand(one, "xmlns:x") is None
    two = contexts.declare(one, b"xmlns:p='v'")
    beside = contexts.declare(0, b"xmlns:r='w'")
    assert contexts.expand(two, "p:x") == ("v", "x")
    assert contexts.expand(beside, "p:x") is None
    assert contexts.expand(beside, "r:x") == ("w", "x")
    assert contexts.expand(one, "p:x") == ("urn:p", "x")


DECLARED = ["u", "urn:a:b", "http://a.b/c", "https://a.b/c/~d_e-f", "http://a", "HTTP://a/b"]
DECLARED += [
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
    "http://a/b c",
]
DECLARED += ["http://www.w3.org/2001/XMLSchema", "urn:", "http://", "http://a//b", "", "a:b", "-a"]


@pytest.mark.parametrize("uri", DECLARED)
@pytest.mark.parametrize("name", ["xmlns", "xmlns:p", "xmlns:xml", "xmlns:xmlns", "xmlns:xm"])
def test_declarations_are_taken_as_libxml2_does(name: str, uri: str) -> None:
    prefix = name.partition(":")[2]
    text = f'{name}="{uri}"'
    context = Contexts()
    number = context.declare(0, text.encode())
    try:
        element = etree.fromstring(f"<a {text}/>")
    except etree.XMLSyntaxError:
        assert number == Contexts.REFUSED
    else:
        assert number >= 0
        given = context.expand(number, f"{prefix}:x" if prefix else "x")
        assert given == (element.nsmap.get(prefix or None, XML if prefix == "xml" else ""), "x")


def test_gather() -> None:
    data = memoryview(b"0123456789")
    assert gather(data, np.array([[11, 13], [15, 20]]), 10) == b"1256789"
    assert gather(data, np.empty((0, 2), np.int64)) == b""
    for wrong in ([[0, 11]], [[-1, 2]], [[3, 2]], [[0, 1, 2]]):
        with pytest.raises(ValueError):
            gather(data, np.array(wrong))
