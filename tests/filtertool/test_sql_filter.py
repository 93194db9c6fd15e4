"""`SqlFilter`: all kinds of documents and queries, one revision, and what goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import extract
from extract.errors import MatcherError, SchemeError
from extract.filtertool.load_scheme import scheme_for
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.sql_scheme import SqlScheme
from extract.live_filter import Filter
from extract.scheme.model import Scheme
from tests.support.databases import change, execute
from tests.support.stock_subscriptions import (
    DOCUMENTS,
    QUERIES,
    STOCK,
    stock_scheme,
    table_scheme,
)

pytest.importorskip("duckdb", reason="DuckDB is not installed")

SELECTS: tuple[Select, ...] = ("doc", "count", "nodes")


def rows_of(scheme: Scheme | str, select: Select, matcher: str, **how: Any) -> tuple[Any, Any]:
    filter_ = Filter(scheme, select, matcher, **how)
    return filter_.table(DOCUMENTS).to_pylist(), filter_.rejected.to_pylist()


@pytest.mark.parametrize("policy", ["fallback", "reject"])
def test_rows_are_those_of_other_matchers(database: str, policy: Any) -> None:
    scheme = stock_scheme()
    scheme.save(database)
    for select in SELECTS:
        right = rows_of(scheme, select, "auto", on_nonconforming=policy)
        assert len(right[0]) > 20
        assert rows_of(database, select, "sql", on_nonconforming=policy) == right


def test_a_scheme_file_is_put_into_a_database() -> None:
    scheme = stock_scheme()
    assert rows_of(scheme, "doc", "sql") == rows_of(scheme, "doc", "auto")


def test_members_stay_in_the_database(database: str) -> None:
    scheme = stock_scheme()
    scheme.save(database)
    opened = scheme_for("sql", database, "doc")
    assert isinstance(opened, SqlScheme)
    assert opened.stored is not None
    assert len(opened.members) == 0
    assert opened.stored.rest.num_rows == 1  # a regular expression
    assert opened.counts() == scheme.counts()
    assert list(opened.directory.ids) == list(scheme.directory.ids)
    assert opened.registered == scheme.registered
    figures = Filter(opened, matcher="sql").figures()
    assert figures["sql_questions"] == len(QUERIES) - 1
    opened.stored.tables.close()


def test_a_filter_has_one_revision_until_it_takes_the_next(database: str) -> None:
    stock_scheme().save(database)
    filter_ = Filter(database, matcher="sql")
    before = filter_.table(DOCUMENTS).num_rows
    assert filter_.refresh() is False
    change(database, add={"new": "/stock[symbol = 'S1']"}, remove=("a1",))
    assert filter_.table(DOCUMENTS).num_rows == before
    assert filter_.refresh() is True
    assert filter_.revision == 2
    names = set(filter_.table(DOCUMENTS)["query"].to_pylist())
    assert "new" in names
    assert "a1" not in names
    assert len(filter_) == len(QUERIES)
    with pytest.raises(extract.ExtractError, match="in a database"):
        filter_.add({"x": "//a"})


def test_members_that_sql_has_removed_match_no_more(database: str) -> None:
    stock_scheme().save(database)
    filter_ = Filter(database, matcher="sql")
    gone = [
        "DELETE FROM member WHERE id <> 'all'",
        "UPDATE scheme SET revision = revision + 1",
    ]
    execute(database, *gone[: 2 if database.startswith("duckdb") else 1])
    assert filter_.refresh() is True
    assert set(filter_.table(DOCUMENTS)["query"].to_pylist()) == {"all"}


def lose_connections(postgres: Any) -> None:
    with postgres.connect() as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND application_name = 'extract'"
        )


@pytest.mark.parametrize("select", ["doc", "nodes"])
def test_a_lost_connection_is_made_again(postgres: Any, select: Select) -> None:
    url = postgres.url(schema=f"lost {select}")
    stock_scheme().save(url)
    filter_ = Filter(url, select, "sql")
    before = filter_.table(DOCUMENTS)
    lose_connections(postgres)
    assert filter_.table(DOCUMENTS).equals(before)
    change(url, add={"new": "/stock[symbol = 'S1']"})
    lose_connections(postgres)
    assert filter_.refresh() is True
    assert "new" in filter_.table(DOCUMENTS)["query"].to_pylist()


def test_a_connection_that_is_lost_after_a_change_is_told(postgres: Any) -> None:
    url = postgres.url(schema="lost and changed")
    stock_scheme().save(url)
    filter_ = Filter(url, matcher="sql")
    change(url, remove=("a1",))
    lose_connections(postgres)
    with pytest.raises(SchemeError, match="have changed since") as caught:
        filter_.table(DOCUMENTS)
    assert "refresh()" in caught.value.hint
    assert filter_.refresh() is True
    assert "a1" not in filter_.table(DOCUMENTS)["query"].to_pylist()


def forbidden(*_: Any, **__: Any) -> None:
    raise AssertionError("the whole database was read")


@pytest.mark.parametrize("select", ["doc", "nodes"])
def test_a_refresh_takes_what_has_changed(
    database: str, select: Select, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock_scheme().save(database)
    filter_ = Filter(database, select, "sql")
    monkeypatch.setattr("extract.live_filter.open_sql_scheme", forbidden)
    changes: list[dict[str, Any]] = [
        {"add": {"new": "/stock[symbol = 'S1']", "n2": "/stock[price < 100]"}},
        {"add": {"shape": "/stock[symbol = 'S1' and price > 1 and price < 1e9]"}},
        {"remove": ("a1", "new")},
        {"replace": {"n2": "/stock[symbol = 'S2']", "shape": "/stock/price[2]"}},
        {"add": {"new": "/stock[symbol = 'S3']", "later": "/stock[last()]"}, "remove": ("n2",)},
        {"remove": ("shape", "later")},
        {"add": {"shape": "//symbol[. = 'S1'] | //symbol[. = 'S3']"}, "remove": ("a2",)},
    ]
    for number, one in enumerate(changes, 2):
        change(database, **one)
        assert filter_.refresh() is True
        assert filter_.revision == number
        scheme = Scheme.load(database)
        assert len(filter_) == scheme.registered
        assert filter_.table(DOCUMENTS).to_pylist() == rows_of(scheme, select, "auto")[0]


def test_a_change_of_weights_by_sql_is_followed(postgres: Any) -> None:
    url = postgres.url(schema="weights")
    stock_scheme().save(url)
    filter_ = Filter(url, matcher="sql")
    before = filter_.table(DOCUMENTS)
    execute(url, "UPDATE member SET weight = 2 WHERE id = 'a1'")
    assert filter_.refresh() is True
    assert filter_.table(DOCUMENTS).equals(before)
    execute(url, "UPDATE member SET id = 'b1' WHERE id = 'a1'")
    assert filter_.refresh() is True
    names = filter_.table(DOCUMENTS)["query"].to_pylist()
    assert "a1" not in names
    assert names.count("b1") == before["query"].to_pylist().count("a1") > 0


def test_a_refresh_that_fails_changes_nothing(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock_scheme().save(database)
    filter_ = Filter(database, matcher="sql")
    before = filter_.table(DOCUMENTS)
    change(database, add={"new": "/stock[symbol = 'S1']"}, remove=("a1",))
    with monkeypatch.context() as patch:
        patch.setattr("extract.filtertool.matchers.sql.stored_changes.replace", forbidden)
        name = f"{type(filter_.scheme.stored.tables).__module__}.constants_query"  # type: ignore[attr-defined]
        patch.setattr(name, forbidden)
        with pytest.raises(AssertionError, match="was read"):
            filter_.refresh()
    assert filter_.revision == 1
    assert filter_.table(DOCUMENTS).equals(before)
    assert filter_.refresh() is True
    assert "new" in filter_.table(DOCUMENTS)["query"].to_pylist()


@pytest.mark.parametrize(
    ("select", "most"), [("doc", 1 << 28), ("count", 1 << 28), ("nodes", 1 << 28), ("doc", 100)]
)
def test_undecided_queries_are_read_some_at_a_time(
    database: str, select: Select, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = {f"p{n}": f"/stock[position() = 1]/price[. + 0 > {n}]" for n in range(5)}
    some: dict[str, str] = dict(list(QUERIES.items())[::4]) | later
    scheme = extract.prepare(STOCK, extract.Subscriptions.of(some))
    scheme.save(database)
    monkeypatch.setattr("extract.filtertool.matchers.sql.stored_subscriptions.PART", 4)
    monkeypatch.setattr("extract.filtertool.sql_filter.MOST_BYTES", most)
    filter_ = Filter(database, select, "sql")
    assert filter_.scheme.stored.rest.num_rows == 0  # type: ignore[attr-defined]
    assert len(filter_.scheme.stored.left) >= 5  # type: ignore[attr-defined]
    right, rejected = rows_of(scheme, select, "auto")
    assert filter_.table(DOCUMENTS).to_pylist() == right
    assert filter_.rejected.to_pylist() == rejected


def test_a_query_joins_a_table_of_its_owner(database: str) -> None:
    table_scheme(database)
    execute(database, "INSERT INTO watchlist VALUES ('S1'), ('S3'), (NULL)")
    listed = "(symbol = 'S1' or symbol = 'S3')"
    same = {
        "listed": f"/stock[{listed}]",
        "unlisted": f"/stock[not({listed}) and price > 5]",
        "ranged": f"/stock[{listed}][price < 10]/price",
        "plain": "/stock[symbol = 'S1']",
    }
    written = extract.prepare(STOCK, extract.Subscriptions.of(same))
    for select in SELECTS:
        right, _ = rows_of(written, select, "auto")
        assert {row["query"] for row in right} == set(same)
        assert rows_of(database, select, "sql")[0] == right


def test_other_matchers_refuse_tables(database: str) -> None:
    scheme = table_scheme(database)
    for matcher in ("auto", "push", "lxml", "columnar"):
        with pytest.raises(MatcherError, match="joins the table 'watchlist'") as caught:
            Filter(database, matcher=matcher)
        assert "--matcher sql" in str(caught.value)
    with pytest.raises(MatcherError, match="joins the table"):
        list(extract.match(scheme, DOCUMENTS[0][1]))


def test_a_table_that_is_not_there(database: str) -> None:
    scheme = table_scheme(database)
    execute(database, "DROP TABLE watchlist")
    with pytest.raises(SchemeError, match="no table 'watchlist' with a column 'symbol'"):
        Filter(database, matcher="sql")
    with pytest.raises(SchemeError, match="no table") as caught:
        Filter(scheme, matcher="sql")
    assert "put it into a database" in str(caught.value)


def test_a_query_that_joins_no_table_is_rejected_alone(database: str) -> None:
    table_scheme(database)
    execute(database, "CREATE TABLE other (symbol TEXT)")
    some = {
        "there": "/stock[symbol = table('other', 'symbol')]",
        "no table": "/stock[symbol = table('nothing', 'symbol')]",
        "no column": "/stock[symbol = table('other', 'name')]",
        "unjoined": "/stock",
        "flwr": "for $s in /stock where $s/symbol = table('other', 'symbol') return <a/>",
        "made": "for $s in /stock return <a>{ $s/symbol = table('other', 'symbol') }</a>",
    }
    queries = extract.Subscriptions.of(some)
    missing = {"no table", "no column", "flwr", "made"}
    for target, rejected in ((database, missing), ("", missing | {"there"})):
        scheme = extract.prepare(STOCK, queries, database=target)
        assert {one.id for one in scheme.rejected} == rejected
    change(database, add=some)
    assert {one.id for one in Scheme.load(database).rejected} == missing
    assert "there" in Scheme.load(database).directory.ids


def test_a_filter_refuses_a_query_that_joins_a_table() -> None:
    ready = Filter(stock_scheme())
    before = ready.table(DOCUMENTS)
    some = {"fine": "/stock", "listed": "/stock[symbol = table('watchlist', 'symbol')]"}
    with pytest.raises(extract.QuerySyntaxError, match="no table 'watchlist'"):
        ready.add(some)
    with pytest.raises(extract.QuerySyntaxError, match="no table 'watchlist'"):
        ready.replace({"all": some["listed"]})
    assert ready.table(DOCUMENTS).equals(before)
    assert len(ready) == len(QUERIES)


@pytest.mark.parametrize(
    "wrong",
    [
        "/stock[table('watchlist', 'symbol')]",
        "/stock[symbol != table('watchlist', 'symbol')]",
        "/stock[symbol = table('watchlist')]",
        "/stock[symbol = table(name, 'symbol')]",
        "table('watchlist', 'symbol')",
        "count(table('w', 's')) = 1",
    ],
)
def test_table_is_compared_with_a_path(wrong: str) -> None:
    scheme = extract.prepare(STOCK, extract.Subscriptions.of({"w": wrong}))
    assert "table()" in scheme.rejected[0].reason


def test_memory_can_be_limited(tmp_path: Path) -> None:
    url = f"duckdb:{tmp_path / 'subs.duckdb'}"
    stock_scheme().save(url)
    filter_ = Filter(f"{url}?memory_limit=200MB&threads=1", matcher="sql")
    assert filter_.table(DOCUMENTS).num_rows
    with pytest.raises(SchemeError, match="'colour' is no option"):
        Filter(f"{url}?colour=red", matcher="sql")
