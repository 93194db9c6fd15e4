"""`extract.match` and `extract.count`, as a program calls them."""

from __future__ import annotations

import gzip
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import extract
from extract.errors import DocumentError, MatcherError
from extract.filtertool.job import Job
from extract.filtertool.last_filter import LastFilter
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.results.batch_outcome import document_outcomes
from tests.support.paths import SCHEMAS

SCHEMA = SCHEMAS / "university.dtd"
DOCUMENT = (
    b"<db><student id='1'><name>Ann</name></student><student id='2'><name>Ben</name>"
    b"<email>b@c</email></student><professor><name>Codd</name></professor></db>"
)
QUERIES = {
    "names": "//student/name",
    "mail": "//*[email]/@id",
    "many": "count(//name)",
    "third": "/db/student[3]",
    "none": "/db/zzz",
    "same": "/db/student/name",
}


@pytest.fixture(scope="module")
def scheme() -> extract.Scheme:
    schema = extract.Schema.load(SCHEMA, root="db")
    return extract.prepare(schema, extract.Subscriptions.of(QUERIES), chunks=3)


def test_match(scheme: extract.Scheme) -> None:
    found = [(m.query, m.path, m.value) for m in extract.match(scheme, DOCUMENT)]
    names = [
        ("/db[1]/student[1]/name[1]", "<name>Ann</name>"),
        ("/db[1]/student[2]/name[1]", "<name>Ben</name>"),
    ]
    assert found == [
        *[("names", *each) for each in names],
        ("mail", "/db[1]/student[2]/@id", "2"),
        ("many", None, "3"),
        *[("same", *each) for each in names],
    ]


def test_count(scheme: extract.Scheme) -> None:
    assert list(extract.count(scheme, DOCUMENT)) == [
        ("<bytes>", "names", 2),
        ("<bytes>", "mail", 1),
        ("<bytes>", "many", 1),
        ("<bytes>", "same", 2),
    ]


def test_a_document_may_be_many_things(scheme: extract.Scheme, tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.xml", tmp_path / "b.xml.gz"
    plain.write_bytes(DOCUMENT)
    packed.write_bytes(gzip.compress(DOCUMENT))
    expected = [(m.query, m.start, m.end) for m in extract.match(scheme, DOCUMENT)]
    for document in (plain, str(packed), io.BytesIO(DOCUMENT), bytearray(DOCUMENT)):
        found = list(extract.match(scheme, document))
        assert [(m.query, m.start, m.end) for m in found] == expected
        if isinstance(document, str | Path):
            assert {m.document for m in found} == {str(document)}
    assert {m.document for m in extract.match(scheme, plain, name="x")} == {"x"}


def test_every_matcher_gives_the_same(scheme: extract.Scheme) -> None:
    from extract.filtertool.matchers.registry import matcher_names

    expected = list(extract.match(scheme, DOCUMENT, matcher="lxml"))
    for name in ("auto", *matcher_names()):
        assert list(extract.match(scheme, DOCUMENT, matcher=name)) == expected
    with pytest.raises(MatcherError, match="there is no matcher 'none'"):
        extract.match(scheme, DOCUMENT, matcher="none")


def test_a_broken_document_raises_at_once(scheme: extract.Scheme, tmp_path: Path) -> None:
    for document in (b"<db>", tmp_path / "missing.xml"):
        for function in (extract.match, extract.count):
            with pytest.raises(DocumentError):
                function(scheme, document)


def test_a_document_that_breaks_the_schema(scheme: extract.Scheme) -> None:
    document = DOCUMENT.replace(b"<professor>", b"<zzz/><professor>")
    found = {(m.query, m.value) for m in extract.match(scheme, document)}
    assert ("none", "<zzz/>") in found
    with pytest.raises(DocumentError, match="breaks the schema: /db has a child zzz"):
        extract.match(scheme, document, on_nonconforming="reject")
    with pytest.raises(DocumentError):
        extract.count(scheme, document, on_nonconforming="reject")


def test_a_query_that_fails_raises_after_all_others() -> None:
    schema = extract.Schema.load(SCHEMA, root="db")
    bound = {"re": "http://exslt.org/regular-expressions"}
    queries = {"bad": "//name[re:test('x', .)]", "good": "//name"}
    scheme = extract.prepare(schema, extract.Subscriptions.of(queries, bound), chunks=1)
    rows = extract.match(scheme, DOCUMENT.replace(b"Ann", b"("))
    assert [next(rows).query for _ in range(3)] == ["good"] * 3
    with pytest.raises(MatcherError, match="query 'bad' could not be evaluated"):
        next(rows)


def test_values_can_be_limited(scheme: extract.Scheme) -> None:
    found = list(extract.match(scheme, DOCUMENT, limits=extract.Limits(value_bytes=5)))
    assert {m.value for m in found if m.query == "names"} == {None}
    assert all(m.start is not None for m in found if m.query == "names")


def test_assume_valid_gives_the_same_for_valid_documents(scheme: extract.Scheme) -> None:
    expected = list(extract.match(scheme, DOCUMENT))
    assert list(extract.match(scheme, DOCUMENT, assume_valid=True)) == expected


def test_schemes_do_not_get_mixed_up(scheme: extract.Scheme) -> None:
    other = extract.prepare(scheme.schema, extract.Subscriptions.of({"x": "//email"}), chunks=1)
    for _ in range(2):
        assert len(list(extract.count(scheme, DOCUMENT))) == 4
        assert list(extract.count(other, DOCUMENT)) == [("<bytes>", "x", 1)]


OPEN = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a">
<xs:complexType><xs:sequence><xs:any processContents="skip" namespace="##any" minOccurs="0"
maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element></xs:schema>"""


@pytest.mark.parametrize("matcher", ["lxml", "columnar"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_only_xml_white_space_separates(tmp_path: Path, matcher: str, encoding: str) -> None:
    # U+00A0 and U+1680 are white space for Python; the latter may even stand in a name.
    path = tmp_path / "open.xsd"
    path.write_text(OPEN)
    queries = {"pi": "/a/processing-instruction()", "a": "/a/*/@*", "e": "/a/*"}
    scheme = extract.prepare(extract.Schema.load(path, "a"), extract.Subscriptions.of(queries), 1)
    document = "<a><?t \xa0v\xa0?><x\u1680y k\u1680='1' j='\xa0'>z</x\u1680y></a>".encode(encoding)
    rows = extract.match(scheme, document, matcher=matcher, on_nonconforming="reject")
    assert [(m.name, m.path, m.value) for m in rows] == [
        ("t", "/a[1]/processing-instruction()[1]", "\xa0v\xa0"),
        ("k\u1680", "/a[1]/x\u1680y[1]/@k\u1680", "1"),
        ("j", "/a[1]/x\u1680y[1]/@j", "\xa0"),
        ("x\u1680y", "/a[1]/x\u1680y[1]", "<x\u1680y k\u1680='1' j='\xa0'>z</x\u1680y>"),
    ]


def test_an_option_that_there_is_not(scheme: extract.Scheme) -> None:
    for name, value in {"mather": "lxml", "priority": True, "select": "doc"}.items():
        wrong: dict[str, Any] = {name: value}
        for function in (extract.match, extract.count, extract.by_priority):
            with pytest.raises(TypeError, match=name):
                function(scheme, DOCUMENT, **wrong)


# -- the last filter


def job_of(scheme: extract.Scheme, matcher: str = "lxml") -> Job:
    return Job(scheme, load_matcher(matcher), Options())


def test_a_filter_serves_the_next_document_of_the_same_job(scheme: extract.Scheme) -> None:
    last = LastFilter()
    with last.lend(job_of(scheme)) as first:
        (done,) = document_outcomes(first.process([("d", DOCUMENT)]))
        assert len(done.findings)
    with last.lend(job_of(scheme)) as second:
        assert second is first
    with last.lend(job_of(scheme, "columnar")) as other:
        assert other is not first
    with last.lend(job_of(scheme)) as third:
        assert third is not first  # only one is kept


def test_a_filter_in_use_is_not_lent_again(scheme: extract.Scheme) -> None:
    last = LastFilter()
    with last.lend(job_of(scheme)) as one, last.lend(job_of(scheme)) as other:
        assert one is not other


def test_a_filter_that_something_went_wrong_with_is_not_kept(scheme: extract.Scheme) -> None:
    last = LastFilter()
    with pytest.raises(MemoryError), last.lend(job_of(scheme)) as broken:
        raise MemoryError
    with last.lend(job_of(scheme)) as fresh:
        assert fresh is not broken


def test_threads_that_match_at_the_same_time(scheme: extract.Scheme) -> None:
    wanted = list(extract.match(scheme, DOCUMENT))
    with ThreadPoolExecutor(4) as pool:
        every = list(pool.map(lambda _: list(extract.match(scheme, DOCUMENT)), range(40)))
    assert every == [wanted] * 40
