"""What a chunk of a scheme has: records, filters, what its queries look at, and how it splits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from extract import Schema, Subscriptions
from extract.preptool.prepare import prepare
from extract.scheme import Chunk, Need, Want
from tests.support.schemes import UNIVERSITY, prefixes, prepared


def only_chunk(schema: Schema, prefix: str, *queries: str) -> Chunk:
    """The chunk at a prefix, for queries that have all their branches in it."""
    paths = [prefix, *queries]
    scheme = prepare(schema, Subscriptions.of(paths), 1)
    assert prefixes(scheme) == [prefix]
    assert not scheme.potpourri.branches
    return scheme.chunks[0]


@pytest.mark.parametrize(
    ("query", "filters"),
    [
        # Inside the subtree, above it, and the tags on the way: nothing to add.
        ("/db/student[name = 'x']/email", {}),
        ("/db[@x]/student", {}),
        ("/db/student/link[../url]", {}),
        ("/db[student/url]/student", {}),
        # Elsewhere: as much as the filter looks at.
        ("/db[professor]/student", {"/db/professor": Need.NODE}),
        ("/db[professor/name = 'x']/student", {"/db/professor/name": Need.STRING}),
        ("/db[/db/lecturer]/student/name", {"/db/lecturer": Need.NODE}),
        ("/db/student[../lecturer]/name", {"/db/lecturer": Need.NODE}),
        ("/db/student[preceding-sibling::*[1]]", {"/db/*": Need.NODE}),
        ("/db[text() = 'x']/student", {"/db": Need.CHILDREN}),
        ("/db[.//link]/student", {"/db/descendant::link": Need.NODE}),
        ("/db[. = 'x']/student", {"/db": Need.STRING}),
        ("/db[text() and . = 'x']/student", {"/db": Need.CHILDREN | Need.STRING}),
        # What is kept as a whole needs nothing below it.
        (
            "/db[professor/descendant-or-self::node() and professor/name]/student",
            {"/db/professor": Need.SUBTREE},
        ),
    ],
)
def test_a_chunk_keeps_what_its_queries_look_at_elsewhere(
    query: str, filters: dict[str, Need]
) -> None:
    chunk = only_chunk(UNIVERSITY, "/db/student", query)
    assert dict(chunk.filters) == filters


def test_records_are_counted_where_the_prefix_is_below_them() -> None:
    chunk = only_chunk(UNIVERSITY, "/db/student/name", "/db/student[3]/name")
    assert chunk.filters == (Want("/db/student", Need.NODE),)


def test_filters_of_several_queries_are_united() -> None:
    chunk = only_chunk(
        UNIVERSITY,
        "/db/student",
        "/db[professor]/student",
        "/db[professor = 'x']/student",
        "/db[lecturer/name]/student",
    )
    assert chunk.filters == (
        Want("/db/lecturer/name", Need.NODE),
        Want("/db/professor", Need.STRING),
    )


def test_the_potpourri_is_projected() -> None:
    queries = ("/db/student/name", "/db/student/name/text()", "count(//url)")
    scheme = prepared(UNIVERSITY, 1, *queries)
    kept = {"/db/url", "/db/descendant-or-self::*/url"}
    assert {path for path, _ in scheme.potpourri.filters} == kept
    assert not scheme.document.branches
    more = prepared(UNIVERSITY, 1, *queries, "id('x')", "//namespace::*")
    # What needs the whole document does not make the potpourri larger.
    assert more.potpourri == scheme.potpourri
    assert more.queries_in(more.document) == ("4", "5")
    assert more.document.whole == (
        "id() may find an element anywhere",
        "the namespace axis is answered on the whole document",
    )
    assert more.every_chunk[-2:] == (more.potpourri, more.document)
    assert more.counts()["potpourri"] == 3


def test_a_branch_that_needs_the_whole_document_draws_no_chunk() -> None:
    scheme = prepared(
        UNIVERSITY, 1, "/db/lecturer[id('x')]", "/db/lecturer[id('y')]", "/db/student/name"
    )
    assert prefixes(scheme) == ["/db/student/name"]
    assert scheme.queries_in(scheme.document) == ("1", "2")
    assert not scheme.potpourri.branches


def test_a_chunk_knows_what_its_queries_look_at_inside() -> None:
    queries = ("/db/student[name]/email", "/db/student[url = 'x']/@id")
    (chunk,) = prepared(UNIVERSITY, 1, *queries).chunks
    assert chunk.prefix == "/db/student"
    assert chunk.inside == (
        Want("/db/student", Need.NODE),
        Want("/db/student/email", Need.SUBTREE),
        Want("/db/student/name", Need.NODE),
        Want("/db/student/url", Need.STRING),
    )
    assert chunk.wants == (Want("/db/student", Need.SUBTREE),)
    assert replace(chunk, projected=True).wants == chunk.inside
    assert only_chunk(UNIVERSITY, "/db/student", "/db/student", "/db/student/name").inside == (
        Want("/db/student", Need.SUBTREE),
    )


@pytest.mark.parametrize(
    ("queries", "paths"),
    [
        (("/db/student/name", "/db/student/name/text()", "/db/zzz"), "/db/student/name /db/zzz"),
        (("/db/student[name]/url", "/db/student/@id", "/db/student"), "/db/student"),
        (("/db/*/name",), "/db"),
        (("/db/student//url", "/db/student-x/a.b"), "/db/student /db/student-x/a.b"),
        (("/db/student[name = 'a']/url[2]",), "/db/student"),
        (("//name",), "/"),
        (("/db/student[../professor]",), "/"),
        (("/db/student[/db/professor]",), "/"),
        (("/db/student[not(following-sibling::student)]",), "/"),
        (("/db/student | /db/professor",), "/"),
        (("count(/db/student)",), "/"),
        (("/db/student[id('x')]",), "/"),
        (("/*",), "/"),
    ],
)
def test_where_the_queries_look_as_they_are_written(queries: tuple[str, ...], paths: str) -> None:
    assert prepared(UNIVERSITY, 1, *queries).originals == tuple(paths.split())


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("/db/student[name]/email", ""),
        ("/db[@x]/student", ""),
        ("/db/student/email[2]", ""),
        ("/db/student[3]", "student[3] counts records in /db/student[3]"),
        ("/db/student[name][last()]/url", "student[last()] counts records"),
        ("/db/student[following-sibling::student]", "looks beyond the record"),
        ("/db[professor]/student", "db[professor] looks beyond the record"),
        ("/db/student[/db/professor]", "looks beyond the record"),
    ],
)
def test_splittable_or_why_not(query: str, reason: str) -> None:
    chunk = only_chunk(UNIVERSITY, "/db/student", query)
    assert chunk.splittable == (not reason)
    assert reason in chunk.unsplittable
    assert bool(reason) == bool(chunk.unsplittable)
