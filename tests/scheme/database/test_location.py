"""URLs of databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.errors import SchemeError
from extract.scheme.database.location import is_database, location_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("duckdb:subs.duckdb", True),
        ("postgresql://host/db", True),
        ("postgres://host/db", True),
        ("scheme.json", False),
        ("./duckdb:x", False),
        (Path("scheme.json"), False),
    ],
)
def test_what_is_a_database(name: str | Path, expected: bool) -> None:
    assert is_database(name) is expected


def test_duckdb() -> None:
    plain, named = location_of("duckdb:/a b/x.duckdb"), location_of("duckdb:x?schema=news")
    assert (plain.engine, plain.target, plain.schema) == ("duckdb", "/a b/x.duckdb", "main")
    assert (named.target, named.schema) == ("x", "news")


@pytest.mark.parametrize(
    ("url", "target", "schema"),
    [
        ("postgresql://me@host:5/db", "postgresql://me@host:5/db", "extract"),
        ("postgresql://host/db?schema=a%20b", "postgresql://host/db", "a b"),
        ("postgres:///db?host=/tmp/x&schema=s", "postgresql:///db?host=/tmp/x", "s"),
        ("postgresql://h/db?sslmode=require&schema=s", "postgresql://h/db?sslmode=require", "s"),
        ("postgresql://h/db?options=-c%20a%3Db", "postgresql://h/db?options=-c%20a%3Db", "extract"),
        ("postgresql://a,b:1/db", "postgresql://a,b:1/db", "extract"),
    ],
)
def test_postgresql(url: str, target: str, schema: str) -> None:
    location = location_of(url)
    assert (location.engine, location.target, location.schema) == ("postgresql", target, schema)


@pytest.mark.parametrize(
    "url",
    ["postgresql://me:s3cret@host/db?schema=x", "postgresql://me@host/db?password=s3cret&schema=x"],
)
def test_a_password_is_not_shown(url: str) -> None:
    location = location_of(url)
    assert "s3cret" in location.target
    assert location.shown == "postgresql://me@host/db?schema=x"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("duckdb:", "names no file"),
        ("duckdb::memory:", "names no file"),
        ("duckdb:x?memory=1", "'memory' is no option"),
        ("duckdb:x?schema=", "must name one schema"),
        ("postgresql://h/d?schema=a&schema=b", "must name one schema"),
        ("postgresql://[h/d", "cannot read the URL"),
    ],
)
def test_a_bad_url_is_an_error_with_a_hint(url: str, reason: str) -> None:
    with pytest.raises(SchemeError, match=reason) as caught:
        location_of(url)
    assert "duckdb:FILE" in caught.value.hint
