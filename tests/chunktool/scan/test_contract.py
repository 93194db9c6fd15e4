"""What all scanners have in common: the same ranges, tables, verdicts and violations.

The cases at the top are to be read; the random ones below find what nobody thought of.
"""

from __future__ import annotations

import gzip
import importlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from pathlib import Path
from random import Random

import pytest

import extract
from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.automaton.outputs import Output, chunk_outputs, projection_output
from extract.chunktool.scan.protocol import HandOver, Scanner
from extract.errors import DocumentError, QuerySyntaxError
from extract.limits import Limits
from extract.preptool.prepare import prepare
from extract.schema.model import Schema, Wildcard
from extract.scheme.model import Scheme
from extract.testing.scanner_cases import (
    BROKEN,
    CUT_ANYWHERE,
    KEPT,
    KEPT_WITH_NAMESPACES,
    LETTERS,
    MALFORMED,
    SPACES,
    SUBSETS,
    output_of,
    schema_of,
    scheme_of,
)
from extract.testing.scanning import Scan, run, whole_document, windows
from extract.xpath.check import parse_checked
from tests.support.anatomy import pieces
from tests.support.chunking import MakeScanner, check_scanner
from tests.support.equivalence import LIMITS
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import between, chance, pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.simple_scanner import SimpleScanner


@dataclass(frozen=True)
class Kind:
    """A scanner, and whether it ends tokens that began in an earlier window."""

    make: MakeScanner
    consumes_all: bool = False

    def check(
        self, scheme: Scheme, outputs: Sequence[Output], document: bytes, rng: Random | None = None
    ) -> str:
        """Compares what the scanner says with what is specified; how it went, in a word."""
        return check_scanner(
            self.make, scheme, outputs, document, rng, consumes_all=self.consumes_all
        )

    def texts(self, scheme: Scheme, outputs: Sequence[Output], document: bytes) -> list[bytes]:
        """What the scanner cuts out."""
        scanner = self.make(Automaton(scheme, outputs), False)
        return run(scanner, document, len(outputs), whole_document()).texts


def _made_by(module: str, name: str) -> MakeScanner:
    made = getattr(importlib.import_module(f"extract.chunktool.{module}"), name)

    def make(automaton: Automaton, table: bool) -> Scanner:
        scanner: Scanner = made(automaton, Limits(), table)
        return scanner

    return make


@pytest.fixture(params=["simple", "reference", "kernel"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each scanner in turn; the kernel only where it is compiled."""
    if request.param == "simple":
        return Kind(SimpleScanner)
    if request.param == "reference":
        return Kind(_made_by("reference", "ReferenceScanner"), consumes_all=True)
    try:
        return Kind(_made_by("kernel", "KernelScanner"))
    except (ImportError, AttributeError):
        pytest.skip("the kernel is not compiled")


# -- what is kept


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept(kind: Kind, name: str) -> None:
    _check_kept(kind, scheme_of(schema_of(LETTERS)), *KEPT[name])


@pytest.mark.parametrize("name", KEPT_WITH_NAMESPACES)
def test_what_is_kept_with_namespaces(kind: Kind, name: str) -> None:
    _check_kept(kind, scheme_of(schema_of(SPACES)), *KEPT_WITH_NAMESPACES[name])


def _check_kept(kind: Kind, scheme: Scheme, wants: str, document: str, kept: str) -> None:
    outputs = [output_of(wants)]
    assert kind.texts(scheme, outputs, document.encode())[0].decode() == kept
    assert kind.check(scheme, outputs, document.encode()) == "same"


def test_outputs_do_not_disturb_each_other(kind: Kind) -> None:
    scheme = scheme_of(schema_of(LETTERS))
    outputs = [output_of(wants) for wants, _, _ in KEPT.values()]
    outputs.append(Output("whole", (), True))
    for _, document, _ in KEPT.values():
        for (_, original, kept), text in zip(
            KEPT.values(), kind.texts(scheme, outputs, document.encode()), strict=False
        ):
            assert original != document or text.decode() == kept
        assert kind.check(scheme, outputs, document.encode()) == "same"


def test_a_whole_output_is_the_document_as_it_is(kind: Kind) -> None:
    scheme = scheme_of(schema_of(LETTERS))
    document = b"\n<!--x--> <a>\r\n<b k = '&#65;'/></a>\n\n"
    outputs = [Output("whole", (), True), output_of("/a/b node")]
    whole, less = kind.texts(scheme, outputs, document)
    assert (whole, less) == (document, b"<a><b k = '&#65;'/></a>")
    assert kind.check(scheme, outputs, document) == "same"


@pytest.mark.parametrize("text", CUT_ANYWHERE)
def test_windows_may_end_anywhere(kind: Kind, text: str) -> None:
    scheme, document = scheme_of(schema_of(LETTERS)), text.encode()
    outputs = [
        output_of(w) for w in ("/a subtree", "/ children, /a children", "//c node, /a/b node")
    ]
    automaton = Automaton(scheme, outputs)
    parts = pieces(document) if kind.consumes_all else None

    def scan(*cuts: int) -> Scan:
        sizes = chain.from_iterable((end - start, 1) for start, end in pairwise((0, *cuts)))
        return run(kind.make(automaton, True), document, len(outputs), iter(sizes), parts)

    size = len(document)
    whole = scan(size)
    for first in range(1, size - 1):
        for second in range(first + 1, min(first + 12, size)):
            cuts = (first, second, size)
            assert scan(*cuts) == whole, [document[:first], document[first:second]]


# -- what does not conform


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_the_schema(kind: Kind, name: str) -> None:
    query, document, noticed = BROKEN[name]
    scheme = scheme_of(schema_of(LETTERS), query)
    word = kind.check(scheme, chunk_outputs(scheme), document.encode())
    assert word == ("nonconforming" if noticed else "same")


def test_open_places(kind: Kind) -> None:
    wildcard = Wildcard(frozenset(["urn:p"]), False, frozenset(["{urn:p}no"]))
    scheme = scheme_of(schema_of({"a": "b", "b": ""}, a=wildcard), "//p:x/c")
    outputs = chunk_outputs(scheme)
    for inner, word in {
        "<p:x><c/><zzz k='1'/></p:x>": "same",
        "<p:z><q xmlns='urn:q'><p:x><c>-</c></p:x></q></p:z>": "same",
        "<p:no/>": "nonconforming",
        "<z/>": "nonconforming",
        "<b><p:x/></b>": "nonconforming",
    }.items():
        document = f"<a xmlns:p='urn:p'>{inner}</a>".encode()
        assert kind.check(scheme, outputs, document) == word, inner


def test_too_many_states_are_handed_over(kind: Kind) -> None:
    scheme = scheme_of(schema_of(LETTERS))

    def make(_: Automaton, table: bool) -> Scanner:
        return kind.make(Automaton(scheme, [output_of("//c node")], max_states=3), table)

    few = Kind(make, kind.consumes_all)
    assert few.check(scheme, [output_of("//c node")], b"<a><b/></a>") == "same"
    assert few.check(scheme, [output_of("//c node")], b"<a><b/><d/></a>") == "handed over"


def test_a_document_that_is_trusted(kind: Kind) -> None:
    scheme = scheme_of(schema_of(LETTERS), "//c", "/a[d]/b")
    document = b"<a>1<b>2<b><c>3</c></b></b><d>4</d><m>5<m><c/></m></m></a>"
    for outputs in (chunk_outputs(scheme), [output_of("/a/b/c node"), output_of("/a/d children")]):
        word = check_scanner(kind.make, scheme, outputs, document, None, True, kind.consumes_all)
        assert word == "same"


# -- what is not well-formed


@pytest.mark.parametrize("document", MALFORMED)
def test_what_is_not_well_formed(kind: Kind, document: str) -> None:
    scheme = scheme_of(schema_of(LETTERS), "//c")
    outputs = chunk_outputs(scheme)
    word = kind.check(scheme, outputs, document.encode("utf-8", "surrogatepass"))
    assert word == "malformed" or (word == "handed over" and "<!" in document)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("<a>\n<b></a>", "</a> closes <b>"),
        ("<a><b></bc></b></a>", "</bc> closes <b>"),
        ("<a><bc></b></bc></a>", "</b> closes <bc>"),
        ("<a></\u00e9>", "</\u00e9> closes <a>"),
        (f"<a></{'n' * 40} >", f"</{'n' * 40}> closes <a>"),
        ("<a></>", "an end tag that has not just a name"),
    ],
)
def test_a_wrong_end_tag_names_both_elements(kind: Kind, document: str, reason: str) -> None:
    if kind.make is SimpleScanner:
        pytest.skip("it only says that something is wrong")
    scheme = scheme_of(schema_of(LETTERS), "//c")
    for cuts in (whole_document(), windows(Random(1), 3)):
        scanner = kind.make(Automaton(scheme, chunk_outputs(scheme)), False)
        with pytest.raises(DocumentError) as caught:
            run(scanner, document.encode(), len(chunk_outputs(scheme)), cuts)
        assert caught.value.reason == reason


def test_an_error_says_where(kind: Kind) -> None:
    if kind.make is SimpleScanner:
        pytest.skip("it is simple")
    scheme = scheme_of(schema_of(LETTERS), "//c")
    document = b"<a>" + b"<b>x</b>" * 100 + b"<b></c>" + b"<b>x</b>" * 100 + b"</a>"
    for cuts in (whole_document(), windows(Random(1), 50)):
        scanner = kind.make(Automaton(scheme, chunk_outputs(scheme)), False)
        with pytest.raises(DocumentError) as caught:
            run(scanner, document, len(chunk_outputs(scheme)), cuts)
        assert 803 <= caught.value.offset <= 810


@pytest.mark.parametrize(
    "document",
    [
        b"<a>\xff</a>",
        b"<a>\xc0\x80</a>",
        b"<a>\xed\xa0\x80</a>",
        b"<a>\xf4\x90\x80\x80</a>",
        b"<a>\xc3",
    ],
)
def test_what_is_not_utf_8(kind: Kind, document: bytes) -> None:
    scheme = scheme_of(schema_of(LETTERS), "//c")
    assert kind.check(scheme, chunk_outputs(scheme), document) == "malformed"


@pytest.mark.parametrize(
    "encoding", ["utf-16", "iso-8859-1", "us-ascii", "windows-1252", "shift_jis", "gbk", "utf-32"]
)
def test_encodings(kind: Kind, encoding: str) -> None:
    schema = random_schema(Random(3)).load()
    scheme = random_scheme(Random(3), schema)
    options = Options(size=20, encoding=encoding, doctype=False)
    for seed in range(5):
        document = Documents(schema).document(Random(seed), options)
        assert kind.check(scheme, chunk_outputs(scheme), document) in ("same", "handed over")


# -- the internal subset


@pytest.mark.parametrize("document", SUBSETS)
def test_the_internal_subset(kind: Kind, document: str) -> None:
    scheme = scheme_of(schema_of(LETTERS), "/a/b[c]", "string(/a/b)", "//c", "/a/text()")
    kind.check(scheme, chunk_outputs(scheme), document.encode())


def test_entities_that_grow(kind: Kind) -> None:
    if kind.make is SimpleScanner:
        pytest.skip("libxml2 alone takes long")
    lines = ["<!ENTITY e0 'xxxxxxxxxx'>"]
    for number in range(9):
        lines.append(f"<!ENTITY e{number + 1} '{f'&e{number};' * 10}'>")
    document = f"<!DOCTYPE a [{''.join(lines)}]><a><b>&e9;</b></a>".encode()
    scheme = scheme_of(schema_of(LETTERS), "//b")
    outputs = chunk_outputs(scheme)
    scanner = kind.make(Automaton(scheme, outputs), False)
    with pytest.raises((DocumentError, HandOver)):
        run(scanner, document, len(outputs), whole_document())


# -- at random


def random_scheme(rng: Random, schema: Schema) -> Scheme:
    """A scheme for random queries, perhaps with projected chunks."""
    writer = Queries(schema)
    texts: dict[str, str] = {}
    for number in range(between(rng, 1, 12)):
        xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
        try:
            parse_checked(xpath, writer.namespaces)
        except QuerySyntaxError:
            continue
        texts[f"q{number}"] = xpath
    subscriptions = extract.Subscriptions.of(texts, writer.namespaces)
    scheme = prepare(schema, subscriptions, between(rng, 1, 6), expansion=pick(rng, LIMITS))
    projected = chance(rng, 50)
    chunks = [replace(chunk, projected=projected) for chunk in scheme.chunks]
    return replace(scheme, chunks=tuple(chunks))


def mutated(rng: Random, document: bytes) -> bytes:
    """The document with a few bytes lost, doubled or changed; most are no longer well-formed."""
    data = bytearray(document)
    for _ in range(between(rng, 1, 3)):
        at = rng.randrange(len(data) or 1)
        size = between(rng, 1, 4)
        piece = pick(rng, [b"", b"<", b">", b"&", b"/", b"'", b'"', b"x", b"]]>", b" ", b"=", b":"])
        data[at : at + pick(rng, [0, 0, 1, size])] = piece or data[at : at + size]
    return bytes(data)


def round_of(kind: Kind, rng: Random) -> Counter[str]:
    """A random schema, scheme and documents of all sorts."""
    schema = random_schema(rng).load()
    documents = Documents(schema)
    scheme = random_scheme(rng, schema)
    outputs = chunk_outputs(scheme) if chance(rng, 75) else (projection_output(scheme),)
    words: Counter[str] = Counter()
    for _ in range(4):
        sort = pick(rng, ["plain", "plain", "plain", "doctype", "wrong", "broken", "entities"])
        options = Options(
            size=between(rng, 3, 40),
            strict=chance(rng, 50),
            odd=pick(rng, (0, 10, 30)),
            doctype=sort == "doctype",
            markup_entities=sort == "entities",
        )
        make = documents.wrong if sort == "wrong" else documents.document
        document = make(rng, options)
        if sort == "broken":
            document = mutated(rng, document)
        try:
            words[f"{sort}: {kind.check(scheme, outputs, document, rng)}"] += 1
        except AssertionError as error:
            error.add_note(f"document: {document!r}\noutputs: {outputs}\n{scheme.originals}")
            raise
    return words


@pytest.mark.parametrize("seed", range(20))
def test_random_documents(kind: Kind, seed: int) -> None:
    words = sum((round_of(kind, Random(10 * seed + n)) for n in range(4)), Counter[str]())
    assert words["plain: handed over"] == 0


@pytest.mark.slow
def test_random_documents_at_length(kind: Kind) -> None:
    words = sum((round_of(kind, Random(seed)) for seed in range(1_000, 5_000)), Counter[str]())
    print(f"no difference: {dict(sorted(words.items()))}")
    assert words["plain: handed over"] == 0


# -- real documents


def _queries(path: Path, count: int) -> dict[str, str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split("\t", 1) for line in islice(lines, count))


def _schemes(schema: Schema, queries: Mapping[str, str]) -> Iterator[tuple[Scheme, list[Output]]]:
    scheme = prepare(schema, extract.Subscriptions.of(queries), 5)
    yield scheme, list(chunk_outputs(scheme))
    projected = [replace(chunk, projected=True) for chunk in scheme.chunks]
    yield scheme, list(chunk_outputs(replace(scheme, chunks=tuple(projected))))
    yield scheme, [projection_output(scheme)]


@pytest.mark.slow
def test_news(kind: Kind, shared_data: Path) -> None:
    schema = extract.Schema.load(shared_data / "nitf" / "nitf.dtd", root="nitf")
    documents = sorted((shared_data / "nitf" / "docs").glob("*.xml"))
    words: Counter[str] = Counter()
    for name in ("linear", "nested2"):
        queries = _queries(shared_data / "nitf" / f"{name}.tsv.gz", 60)
        for scheme, outputs in _schemes(schema, queries):
            for path in documents[:12]:
                words[kind.check(scheme, outputs, path.read_bytes())] += 1
    assert set(words) == {"same"}


@pytest.mark.slow
def test_an_auction(kind: Kind, shared_data: Path) -> None:
    if kind.make is SimpleScanner:
        pytest.skip("it is slow")
    schema = extract.Schema.load(shared_data / "xmark" / "auction.dtd", root="site")
    document = gzip.decompress((shared_data / "xmark" / "xmark-f0.1.xml.gz").read_bytes())
    queries = {
        "1": "/site/people/person[address]/name",
        "2": "//item[location='United States']/mailbox/mail/from",
        "3": "/site/open_auctions/open_auction[bidder[2]]/itemref/@item",
        "4": "count(//keyword)",
    }
    for scheme, outputs in _schemes(schema, queries):
        word = check_scanner(
            kind.make, scheme, outputs, document, None, False, kind.consumes_all, (1 << 20,)
        )
        assert word == "same"
