"""Large documents piece by piece: the same rows as in one go, wherever they are cut."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extract import Schema, Scheme
from extract.chunktool.scan.driver import kernel_available
from extract.chunktool.split.divide import Division, divide
from extract.chunktool.split.survey import Survey, survey
from extract.errors import DocumentError
from extract.filtertool.document_filter import document_filter
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.pieces import PieceBytes, piece_filter
from extract.filtertool.results.findings import Findings
from extract.filtertool.spark.worker.row_numbers import RowNumbering
from extract.pipeline import prepare
from extract.scenarios import scenario
from extract.subscriptions import Subscriptions

if not kernel_available():
    pytest.skip("pieces need the kernel", allow_module_level=True)

DTD = """
<!ELEMENT db (dept|note|empty)*> <!ATTLIST db year CDATA #IMPLIED>
<!ELEMENT dept (head?, (student|prof|note)*)> <!ATTLIST dept id CDATA #IMPLIED>
<!ELEMENT head (name)> <!ELEMENT empty EMPTY>
<!ELEMENT student (name, mark*, student*)> <!ATTLIST student id CDATA #IMPLIED>
<!ELEMENT prof (name)> <!ELEMENT name (#PCDATA)> <!ELEMENT mark (#PCDATA)>
<!ELEMENT note (#PCDATA|name)*>
"""
QUERIES = {
    "students": "/db/dept/student",
    "good": "/db/dept/student[mark > 3]/name",
    "ids": "/db/dept/student/@id",
    "texts": "/db/dept/prof/name/text()",
    "deep": "/db/dept/student//mark",
    "of a": "/db/dept[@id = 'a']/student[name]",
    "in year": "/db[@year]/dept/prof",
    "two": "/db/dept/student/name | /db/dept/prof",
    "notes": "/db/note/name",
    "inner notes": "/db/dept/note",
    "third inside": "/db/dept/student/mark[2]",
    # These look beyond a record, or at what is above it.
    "third": "/db/dept/student[3]",
    "with head": "/db/dept[head]/student",
    "depts": "/db/dept",
    "many": "count(//student)",
    "names": "//name",
    "after": "/db/dept/student[following-sibling::student]",
    "same": "/db/dept/student[name = /db/dept/prof/name]",
    "ever": "/db/dept/student[not(mark) and ../head]",
}
ALONE = {"third", "with head", "depts", "many", "after", "same", "ever"}


@pytest.fixture(scope="module")
def scheme(tmp_path_factory: pytest.TempPathFactory) -> Scheme:
    file = tmp_path_factory.mktemp("schema") / "db.dtd"
    file.write_text(DTD)
    return prepare(Schema.load(str(file), root="db"), Subscriptions.of(QUERIES), 2)


def document(seed: int, depts: int = 6) -> bytes:
    chance = random.Random(seed)
    out = ['<?xml version="1.0"?>\n<!-- é --><db year="1">\n']

    def student(depth: int = 0) -> str:
        marks = "".join(f"<mark>{chance.randrange(6)}</mark>" for _ in range(chance.randrange(4)))
        inner = student(depth + 1) if depth < 2 and chance.random() < 0.3 else ""
        name = f"<name>N{chance.randrange(9)} <!-- <student> --></name>"
        return f'<student id="{chance.randrange(99)}">{name}{marks}{inner}</student>\n'

    for _ in range(depts):
        kind = chance.choice(["dept", "dept", "dept", "note", "empty"])
        if kind == "empty":
            out.append("<empty/>")
        elif kind == "note":
            out.append("<note>t<name>é</name><![CDATA[<dept>]]></note>\n text &amp;")
        else:
            out.append(f'<dept id="{chance.choice("abc")}">')
            out.append("<head><name>H</name></head>" if chance.random() < 0.5 else "")
            for _ in range(chance.randrange(8)):
                more = ["<prof><name>N1</name></prof>", "x<note>n</note>", student(), student()]
                out.append(chance.choice(more))
            out.append("</dept>\n")
    return ("".join(out) + "</db>\n<!-- end -->").encode()


def surveyed(
    scheme: Scheme, division: Division, data: bytes, size: int, quick: bool = False
) -> Survey:
    return survey(scheme, division, data, lambda a, b: data[a:b], size=size, skip_records=quick)


def reduced(scheme: Scheme, queries: Sequence[int]) -> Scheme:
    from extract.filtertool.spark.worker.query_shares import QueryShare, scheme_of_shares

    return scheme_of_shares(scheme, [QueryShare("some", tuple(queries))])


def by_pieces(
    scheme: Scheme,
    division: Division,
    data: bytes,
    size: int,
    select: Select,
    matcher: str,
    quick: bool = False,
) -> list[Any]:
    some = reduced(scheme, sorted(division.queries))
    pieces = piece_filter(some, load_matcher(matcher), Options(select), division.names)
    found: list[Findings] = []
    ids = [one.id for one in pieces.plan.subscribers]
    for piece in surveyed(scheme, division, data, size, quick).pieces:
        body = data[piece.start : piece.end]
        (done,) = pieces.process([("d", PieceBytes(piece, body))])
        assert (done.fate, done.rejections) == ("conforming", ())
        found.append(done.findings)
    joined = RowNumbering(len(ids))
    if select == "nodes":
        return sorted((m for f in found for m in joined.add(f).matches("d", ids)), key=repr)
    total = joined.sum(found, select == "count")
    return [(ids[n], c) for n, c in zip(total.subscriber, total.count, strict=True)]


@pytest.mark.parametrize("matcher", ["columnar", "lxml"])
@pytest.mark.parametrize("seed", range(8))
def test_pieces_give_the_rows_of_the_document(scheme: Scheme, seed: int, matcher: str) -> None:
    division = divide(scheme)
    data = document(seed)
    some = reduced(scheme, sorted(division.queries))
    for select in ("nodes", "count", "doc"):
        whole = document_filter(some, load_matcher(matcher), Options(select))
        (done,) = whole.process([("d", data)])
        ids = [one.id for one in whole.plan.subscribers]
        if select == "nodes":
            wanted: list[Any] = sorted(done.findings.matches("d", ids), key=repr)
            assert wanted
        else:
            numbers = done.findings.count if select == "count" else np.ones(len(done.findings), int)
            wanted = [(ids[n], c) for n, c in zip(done.findings.subscriber, numbers, strict=True)]
        for size, quick in ((1, False), (150, False), (10_000, False), (1, True), (150, True)):
            found = by_pieces(scheme, division, data, size, select, matcher, quick)
            if select == "doc":
                found = [(who, 1) for who, _ in found]
            assert found == wanted, (select, size, quick)


def test_what_looks_beyond_a_record_is_not_evaluated_on_pieces(scheme: Scheme) -> None:
    division = divide(scheme)
    apart = {scheme.queries[n].id for n in division.queries}
    assert apart == set(QUERIES) - ALONE
    assert division.upper == ("/db", "/db/dept")
    assert {local for _, local in division.names} >= {"student", "prof", "note"}


def test_pieces_are_whole_records_and_have_every_byte_once(scheme: Scheme) -> None:
    division, data = divide(scheme), document(3, 30)
    for size in (1, 200, 1_000):
        pieces = surveyed(scheme, division, data, size).pieces
        assert b"".join(data[one.start : one.end] for one in pieces) == data
        assert all(one.size >= size for one in pieces[:-1])
    assert len(pieces) > 2
    assert [one.number for one in pieces] == list(range(len(pieces)))
    for name in ("dept", "prof", "note"):  # these are nowhere but below upper elements
        place = division.names.index(("", name))
        assert sum(one.records[place] for one in pieces) == data.count(f"</{name}>".encode())


def test_windows_do_not_matter(
    scheme: Scheme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    division, data = divide(scheme), document(5, 30)
    file = tmp_path / "d.xml"
    file.write_bytes(data)
    monkeypatch.setattr("extract.chunktool.scan.driver.WINDOW", 300)
    for size in (1, 500):
        seen = survey(scheme, division, str(file), lambda a, b: data[a:b], size=size)
        assert seen == surveyed(scheme, division, data, size)


def test_what_breaks_the_schema_or_is_not_plain_is_not_cut(scheme: Scheme) -> None:
    division = divide(scheme)
    odd = b"<db><dept><student><name>x</name><zzz/></student></dept><note/></db>"
    assert not surveyed(scheme, division, odd, 1).pieces
    entity = b'<!DOCTYPE db [<!ENTITY e "<note/>">]><db>&e;<note/><note/></db>'
    assert not surveyed(scheme, division, entity, 1).pieces
    latin = '<?xml version="1.0" encoding="iso-8859-1"?><db><note>é</note><note/></db>'
    assert not surveyed(scheme, division, latin.encode("latin-1"), 1).pieces


BREAKS = (b"<", b">", b"/", b"&", b"</student>", b"<zzz/>", b"<!--", b"]]>", b"</db>", b"\0", b"")


@pytest.mark.parametrize("seed", range(10))
def test_pieces_that_nobody_has_looked_at_tell_what_the_document_is(
    scheme: Scheme, seed: int
) -> None:
    division, chance = divide(scheme), random.Random(seed)
    some = reduced(scheme, sorted(division.queries))
    pieces = piece_filter(some, load_matcher(), Options("count"), division.names)
    whole = document_filter(some, load_matcher(), Options("count"))
    told = Counter[bool]()
    for _ in range(60):
        data, at = document(seed), chance.randrange(len(document(seed)))
        data = data[:at] + chance.choice(BREAKS) + data[at + chance.randrange(3) :]
        (wanted,) = whole.process([("d", data)])
        try:
            cut = surveyed(scheme, division, data, 100, quick=True).pieces
        except DocumentError:
            cut = ()
        parts = [("d", PieceBytes(one, data[one.start : one.end])) for one in cut]
        done = pieces.process(parts)
        if cut and all(one.fate == "conforming" for one in done):
            assert wanted.fate == "conforming", data
            total = RowNumbering(len(pieces.plan.subscribers)).sum([d.findings for d in done], True)
            assert total.count.tolist() == wanted.findings.count.tolist()
        told[wanted.fate == "conforming"] += 1
    assert told[True]
    assert told[False]


def test_a_document_that_has_changed_is_not_taken_for_the_old_one(scheme: Scheme) -> None:
    division, data = divide(scheme), document(1)
    some = reduced(scheme, sorted(division.queries))
    pieces = piece_filter(some, load_matcher(), Options("count"), division.names)
    for piece in surveyed(scheme, division, data, 300).pieces:
        short = PieceBytes(piece, data[piece.start : piece.end - 1])
        (done,) = pieces.process([("d", short)])
        assert done.fate != "conforming"


def test_the_scenarios_are_evaluated_on_pieces() -> None:
    for name in ("university", "ejb"):
        given = scenario(name)
        scheme = prepare(given.schema(), given.queries(200), 4)
        division = divide(scheme)
        assert len(division.queries) == len(scheme.queries)
        data = b"".join(given.document(60_000, seed=1))
        whole = document_filter(scheme, load_matcher(), Options("count"))
        (done,) = whole.process([("d", data)])
        ids = [one.id for one in whole.plan.subscribers]
        wanted = {
            ids[n]: c for n, c in zip(done.findings.subscriber, done.findings.count, strict=True)
        }
        found = dict(by_pieces(scheme, division, data, 5_000, "count", "columnar"))
        assert found == wanted


def test_a_failed_query_has_no_rows_in_any_piece() -> None:
    def found(who: list[int]) -> Findings:
        none = Findings.none()
        ordinals = np.arange(len(who))
        nodes = np.zeros(len(who), np.int32)
        return Findings(np.array(who, np.int32), none.count, nodes, ordinals, none.described)

    joined = RowNumbering(3, np.array([5, 0, 0]), without={1})
    first = joined.add(found([0, 1]))
    second = joined.add(found([0, 1, 2]))
    assert (first.subscriber.tolist(), first.ordinal.tolist()) == ([0], [5])
    assert (second.subscriber.tolist(), second.ordinal.tolist()) == ([0, 2], [6, 2])
