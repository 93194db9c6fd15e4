"""The reference scanner: libxml2's verdict, entities, limits, and errors that help.

What it cuts out and how it fills the node table is in ``test_chunktool_contract.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from lxml import etree

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.automaton.outputs import Output
from extract.chunktool.scan.protocol import HandOver
from extract.chunktool.scan.reference.scanner import ReferenceScanner
from extract.errors import DocumentError
from extract.limits import Limits
from extract.markup.node_kinds import NodeKind
from extract.testing.scanner_cases import LETTERS, output_of, schema_of, scheme_of
from extract.testing.scanning import run, whole_document
from tests.support.generate.oracle import parse
from tests.support.paths import FIXTURES

SCHEME = scheme_of(schema_of(LETTERS), "//c")
OUTPUTS = [output_of("/a/b subtree")]


def scanner(
    wants: str = "/a/b subtree", table: bool = False, limits: Limits | None = None
) -> ReferenceScanner:
    return ReferenceScanner(Automaton(SCHEME, [output_of(wants)]), limits, table)


def scan_all(
    document: bytes, size: int = 1 << 20, table: bool = False, **limits: int
) -> ReferenceScanner:
    """Feeds a document in windows of a size."""
    made = scanner(table=table, limits=Limits(**limits))
    consumed = fed = 0
    while fed < len(document):
        fed = min(fed + size, len(document))
        consumed += made.feed(document[consumed:fed])
        assert consumed <= fed
        made.take()
    made.finish()
    return made


def verdict(document: bytes, size: int = 1 << 20) -> str:
    try:
        scan_all(document, size)
    except DocumentError:
        return "rejected"
    except HandOver:
        return "handed over"
    return "accepted"


def oracle(document: bytes) -> str:
    try:
        parse(document)
    except (etree.XMLSyntaxError, OSError):
        return "rejected"
    return "accepted"


# -- the verdict


def cases(name: str) -> list[str]:
    """The lines of a fixture."""
    path = FIXTURES / "verdicts" / f"{name}.txt"
    lines = path.read_text("utf-8").split("\n")[1:-1]
    return [re.sub(r"\\u\{(\w+)\}", lambda m: chr(int(m[1], 16)), line) for line in lines]


ENTITY_USES = ["", "&e;", "<b k='&e;'/>", "<b k='x'/><b k='x'/>", "&f;", "&lt;&e;"]


def documents() -> Iterator[str]:
    for inner in cases("content"):
        yield f"<a>{inner}</a>"
        yield f"<a>x<b>{inner}"
    for before, after in product(cases("around"), ("", " ")):
        yield f"{before}<a/>{after}"
        yield f"<a/>{after}{before}"
    for declaration in cases("declarations"):
        yield f"{declaration}<a/>"
        yield f" {declaration}<a/>"
        yield f"\ufeff{declaration}\n<a>é</a>"
    for subset, use in product(cases("subsets"), ENTITY_USES):
        yield f"{subset}<a>{use}</a>"
    for mark in ("", "\ufeff", "\ufeff\ufeff", " \ufeff"):
        yield f"{mark}<a>\ufeff</a>"
        yield mark


UNSURE = "<a><b xmlns='u'/><b xml:id='1'/></a>"  # it depends on the order: libxml2 is to say


@pytest.mark.parametrize("size", [1 << 20, 7, 1])
def test_the_verdict_is_that_of_libxml2(size: int) -> None:
    count = 0
    for text in documents():
        document = text.encode("utf-8", "surrogatepass")
        found, wanted = verdict(document, size), oracle(document)
        if found == "handed over" and (wanted == "accepted" or text == UNSURE):
            continue
        assert found == wanted, document
        count += 1
    assert count > 950


def test_what_expat_does_not_read_is_handed_over() -> None:
    for text in ("<Ⰰ/>", "<a><𐀀/></a>", "<a Ⰰ='1'/>", "<a><p:b/><c xmlns='u'/></a>"):
        assert oracle(text.encode()) == "accepted"
        assert verdict(text.encode()) == verdict(text.encode(), 1) == "handed over"
    # Nobody bounds what libxml2 expands then.
    bomb = "<!DOCTYPE a [<!ENTITY e 'x'>]><a><Ⰰ/>&e;</a>"
    assert verdict(bomb.encode()) == "rejected"


# -- entities


def texts(document: bytes, table: bool = True) -> list[tuple[int, ...]]:
    made = ReferenceScanner(Automaton(SCHEME, [output_of("/a subtree")]), Limits(), table)
    return run(made, document, 1, whole_document()).leaves


def test_references_to_text_stay_references() -> None:
    document = b"<!DOCTYPE a [<!ENTITY e 'x&f;'><!ENTITY f 'y'>]><a>1&e;2<b/>&f;</a>"
    first, second = document.index(b"1&e;2"), document.index(b"&f;</a>")
    assert texts(document) == [
        (0, NodeKind.REFERENCES, first, first + 5, 1),
        (0, NodeKind.REFERENCES, second, second + 3, 2),
    ]


@pytest.mark.parametrize(
    "subset",
    [
        "<!ENTITY e '<b/>'>",
        "<!ENTITY e 'x<!--y-->'>",
        "<!ENTITY e '&#60;b/>'>",
        "<!ENTITY e '&f;'><!ENTITY f '<b/>'>",
        "<!ENTITY e ''>",
        "<!ENTITY e '&f;&f;'><!ENTITY f ''>",
    ],
)
def test_entities_that_are_more_or_less_than_text_are_handed_over(subset: str) -> None:
    document = f"<!DOCTYPE a [{subset}]><a>&e;</a>".encode()
    assert oracle(document) == "accepted"
    assert verdict(document) == verdict(document, 1) == "handed over"


def test_declared_markup_counts_even_if_nobody_uses_it() -> None:
    assert verdict(b"<!DOCTYPE a [<!ENTITY e '<b/>'>]><a/>") == "handed over"
    assert verdict(b"<!DOCTYPE a [<!ENTITY e ''>]><a/>") == "accepted"


def test_attribute_defaults_are_as_with_libxml2() -> None:
    subset = "<!ATTLIST a z CDATA 'not there'><!ATTLIST b xmlns CDATA 'urn:z'>"
    made = scan_all(f"<!DOCTYPE a [{subset}]><a k='1'/>".encode())
    assert made.violation is None  # z is not in the schema
    made = scan_all(f"<!DOCTYPE a [{subset}]><a><b/></a>".encode())
    assert made.violation is not None
    assert (made.violation.path, made.violation.child) == ("/a", "b")  # in another namespace


def test_the_document_type_is_kept() -> None:
    document = b"\xef\xbb\xbf<?xml version='1.0'?> <!--x--><!DOCTYPE a [<!ENTITY e ']>'>] ><a>x</a>"
    made = ReferenceScanner(Automaton(SCHEME, OUTPUTS))
    text = run(made, document, 1, whole_document()).texts[0]
    wanted = b"\xef\xbb\xbf<?xml version='1.0'?><!DOCTYPE a [<!ENTITY e ']>'>] ><a></a>"
    assert text == wanted


BILLION = "<!ENTITY l0 'lol'>" + "".join(
    f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 10)
)
BOMBS = {
    "a billion laughs": f"<!DOCTYPE a [{BILLION}]><a>&l9;</a>",
    "in an attribute": f"<!DOCTYPE a [{BILLION}]><a><b k='&l9;'/></a>",
    "in a default": f"<!DOCTYPE a [{BILLION}<!ATTLIST b k CDATA '&l9;'>]><a><b/></a>",
    "with markup": f"<!DOCTYPE a [{BILLION}<!ENTITY m '<b>&l9;</b>'>]><a>&m;</a>",
    "quadratic": f"<!DOCTYPE a [<!ENTITY e '{'x' * 50_000}'>]><a>{'&e;' * 300}</a>",
    "quadratic attributes": (
        f"<!DOCTYPE a [<!ENTITY e '{'x' * 50_000}'>]><a>" + "<b k='&e;'/>" * 300 + "</a>"
    ),
    "long defaults": (f"<!DOCTYPE a [<!ATTLIST b k CDATA '{'x' * 50_000}'>]><a>{'<b/>' * 300}</a>"),
    "long namespaces": (
        f"<!DOCTYPE a [<!ATTLIST b xmlns CDATA '{'x' * 50_000}'>]><a>{'<b/>' * 300}</a>"
    ),
    "before a strange name": f"<!DOCTYPE a [{BILLION}]><a><Ⰰ/>&l9;</a>",
    "after a strange name": f"<!DOCTYPE Ⰰ [{BILLION}]><a>&l9;</a>",
    "parameter entities": (
        "<!DOCTYPE a [<!ENTITY % a '<!ENTITY x \"x\">'><!ENTITY % b '&#37;a;&#37;a;'>%b;]><a/>"
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_rejected(name: str) -> None:
    document = BOMBS[name].encode()
    for size in (1 << 20, 1_000):
        with pytest.raises(DocumentError) as caught:
            scan_all(document, size)
        assert caught.value.offset >= 0


def test_harmless_entities_are_not() -> None:
    document = f"<!DOCTYPE a [<!ENTITY e '{'x' * 1_000}'>]><a>{'&e;' * 300}</a>".encode()
    scan_all(document)
    with pytest.raises(DocumentError, match="299,999"):
        scan_all(document, entity_bytes=299_999)


# -- limits


def test_depth() -> None:
    def nested(depth: int) -> bytes:
        return b"<a>" + b"<m>" * (depth - 1) + b"</m>" * (depth - 1) + b"</a>"

    assert verdict(nested(2_048)) == oracle(nested(2_048)) == "accepted"
    assert verdict(nested(2_049)) == oracle(nested(2_049)) == "rejected"
    scan_all(nested(100), depth=100)
    for size in (1 << 20, 5):
        with pytest.raises(DocumentError, match="more than 100 levels") as caught:
            scan_all(nested(101), size, depth=100)
        assert caught.value.offset == 300
    with pytest.raises(
        DocumentError, match="more than 100 levels"
    ):  # also where nothing is looked for any more
        scan_all(b"<a><z/>" + nested(101) + b"</a>", 5, depth=100)


def test_attributes() -> None:
    attributes = b" ".join(b"k%d='1'" % n for n in range(20))
    scan_all(b"<a " + attributes + b"/>", attributes=20)
    with pytest.raises(DocumentError, match="more than 20 attributes"):
        scan_all(b"<a xmlns:p='urn:p' " + attributes + b"/>", attributes=20)
    for table in (False, True):
        with pytest.raises(DocumentError, match="more than 19 attributes"):
            scan_all(b"<a " + attributes + b"/>", table=table, attributes=19)


@pytest.mark.parametrize("size", [1 << 20, 13])
def test_long_tokens(size: int) -> None:
    for token in (b"<b k='%s'/>", b"<!--%s-->", b"<?p %s?>", b"<b %s/>"):
        fill = 1_000 - len(token) + len(b"%s")
        document = b"<a>x%sx</a>" % (token % (b" " * fill))
        scan_all(document, size, token_bytes=1_000)
        with pytest.raises(DocumentError, match="more than 999 bytes"):
            scan_all(document, size, token_bytes=999)


@pytest.mark.parametrize("size", [1 << 20, 13])
def test_long_texts(size: int) -> None:
    for before, after in ((b"<b>", b"</b>"), (b"<d>", b"<!--x--></d>"), (b"<b/>", b"<?p?>")):
        document = b"<a>" + before + b"x" * 1_000 + after + b"</a>"
        for table in (False, True):
            scan_all(document, size, table, token_bytes=1_000)
            with pytest.raises(DocumentError, match="more than 999 bytes") as caught:
                scan_all(document, size, table, token_bytes=999)
            assert caught.value.offset == 3 + len(before)
    with pytest.raises(DocumentError, match="more than 1,000 bytes"):
        scan_all(b"<a><![CDATA[" + b"x" * 1_000 + b"]]></a>", size, token_bytes=1_000)


def test_a_token_in_many_windows_takes_linear_time() -> None:
    document = b"<a k='" + b"x" * 3_000_000 + b"'/>"
    scan_all(document, 30_000)


# -- what does not conform


def test_a_violation_in_windows() -> None:
    document = b"<a><b><c k='1'/></b><m><x:y xmlns:x='urn:x'/></m></a>"
    for size in (1 << 20, 11, 1):
        made = scan_all(document, size)
        assert made.violation is not None
        assert made.violation.offset == document.index(b"<x:y")
        assert (made.violation.path, made.violation.child) == ("/a/m", "x:y")


def test_what_comes_after_a_violation_must_still_be_well_formed() -> None:
    for size in (1 << 20, 3):
        assert verdict(b"<a><z/><b></c></a>", size) == "rejected"
        assert verdict(b"<a><z/><b xml:id='1'/></a>", size) == "rejected"


# -- errors

REASONS = {
    "<a>\n<b></a></b>": ("</a> closes <b>", 2, 7),
    "<a><b>": ("the document ends before </b>; <b> begins in line 1", 1, 6),
    "<a/><b/>": ("something follows the end of the document element", 1, 4),
    "<a k='1' k='2'/>": ("the attribute k is there twice", 1, 9),
    "<a>\n\n &nope;</a>": ("the entity &nope; is not declared in the document", 3, 6),
    "<a><p:b/></a>": ("the prefix of <p:b> is not bound to a namespace", 1, 3),
    "<a>&#0;</a>": ("&#0; is no character that XML allows", 1, 3),
    "<a k='<'/>": ("an attribute's value has a <", 1, 6),
    "<a>x]]>y</a>": ("there is a ]]> in a text", 1, 6),
    "": ("the document is empty", 0, -1),
    "<a>\x01</a>": ("there is a character that XML does not allow", 1, 3),
    "<a><b xml:id='1'/></a>": ("xml:id is '1', which is no name", 1, 3),
    "<a>\n<b xml:id='x'/><c xml:id='x'/></a>": ("the ID 'x' is there twice", 2, 19),
    "x<a/>": ("there is no element where the document element should begin", 1, 0),
    "<!DOCTYPE a [%p;]><a/>": ("the internal subset refers to a parameter entity, %p;", 1, 13),
}


@pytest.mark.parametrize("document", REASONS)
def test_errors_say_what_and_where(document: str) -> None:
    reason, line, offset = REASONS[document]
    for size in (1 << 20, 2):
        with pytest.raises(DocumentError) as caught:
            scan_all(document.encode(), size)
        assert caught.value.reason == reason
        assert caught.value.line == line
        assert abs(caught.value.offset - offset) <= document.startswith("x")


# -- windows


def test_nothing_is_lost_between_windows() -> None:
    document = (
        b"<a>" + b"".join(b"<b k='%d'>text<c/></b><d>-</d>" % n for n in range(500)) + b"</a>"
    )
    whole = run(ReferenceScanner(Automaton(SCHEME, OUTPUTS)), document, 1, whole_document()).texts
    made = ReferenceScanner(Automaton(SCHEME, OUTPUTS))
    consumed, text = 0, b""
    for end in range(10, len(document) + 10, 10):
        consumed += made.feed(memoryview(document)[consumed:end])
        for start, stop in made.take().ranges[0].tolist():
            assert stop <= consumed
            text += document[start:stop]
    made.finish()
    text += b"".join(document[start:stop] for start, stop in made.take().ranges[0].tolist())
    assert [text] == whole


def test_an_empty_batch_is_a_batch() -> None:
    for table in (False, True):
        batch = scanner(table=table).take()
        assert [ranges.shape for ranges in batch.ranges] == [(0, 2)]
        assert (batch.elements is None) is not table


def test_columns_have_the_types_of_the_protocol() -> None:
    made = scanner("/a subtree", table=True)
    made.feed(b"<a>x<b/><!--y--></a>")
    made.finish()
    batch = made.take()
    assert batch.elements is not None
    assert batch.ends is not None
    assert batch.leaves is not None
    assert batch.elements.state.dtype == batch.ends.row.dtype == np.int32
    assert batch.elements.start.dtype == batch.ends.end.dtype == np.int64
    assert batch.leaves.kind.dtype == np.int8


def test_many_outputs() -> None:
    outputs = [
        Output(str(n), output_of("/a/b subtree" if n % 2 else "/a/c node").wants, n == 99)
        for n in range(150)
    ]
    document = b"<a>-<b>x</b><c>y</c></a>"
    texts = run(ReferenceScanner(Automaton(SCHEME, outputs)), document, 150, whole_document()).texts
    assert texts[99] == document
    assert set(texts[1::2]) == {b"<a><b>x</b></a>", document}
    assert set(texts[::2]) == {b"<a><c></c></a>"}
