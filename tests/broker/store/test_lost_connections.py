"""A server that ends connections, as one does that is started again: the broker goes on."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from extract.broker.store import feeds
from extract.broker.store.store import BrokerStore
from extract.broker.store.tables import StoreError
from tests.support.broker_server import served
from tests.support.postgres_server import PostgresServer

_END = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


def _end_connections(postgres: PostgresServer) -> None:
    with postgres.connect() as connection:
        connection.execute(_END)


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.url(schema=f"lost {uuid.uuid4().hex[:12]}")


def test_a_broker_goes_on_when_its_connections_were_ended(
    url: str, postgres: PostgresServer
) -> None:
    with served(url) as asked:
        asked.put_feed("f")
        asked.put("s", xpath="/a", select="doc")
        assert asked.post("<a/>", "before").status == 202
        assert len(asked.notifications("s")) == 1
        _end_connections(postgres)
        assert len(asked.notifications("s", wait=0)) == 1
        assert asked.post("<a/>", "after").status == 202
        (row,) = asked.notifications("s", after=1)
        assert (row["seq"], row["document"]) == (2, "after")
        assert asked.ask("GET", "/metrics").status == 200
        assert asked.ask("GET", "/health").status == 200


def test_a_broker_that_lost_its_store_to_another_writes_nothing(
    url: str, postgres: PostgresServer
) -> None:
    store = BrokerStore.open(url)
    _end_connections(postgres)
    other = BrokerStore.open(url)
    with pytest.raises(StoreError, match="another broker uses"), store.writer.transaction():
        pass
    other.close()
    with pytest.raises(StoreError, match="another broker has used"), store.writer.transaction():
        pass
    store.close()


@pytest.mark.parametrize("committed", [True, False])
def test_whether_a_commit_was_written_that_was_not_answered(
    url: str, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """Who hears of changes has not heard of it; only a new start reads it."""
    store = BrokerStore.open(url)
    writer = store.writer

    @contextlib.contextmanager
    def unanswered(connection: Any) -> Iterator[None]:
        connection.execute("BEGIN")
        yield
        connection.execute("COMMIT" if committed else "ROLLBACK")
        connection.close()
        raise psycopg.OperationalError("the server closed the connection")

    monkeypatch.setattr(psycopg.Connection, "transaction", unanswered)
    with pytest.raises(psycopg.OperationalError), writer.transaction():
        feeds.set_meta(writer, "name", "there")
    if committed:
        with pytest.raises(StoreError, match="written nonetheless"):
            feeds.meta(writer, "name")
    else:
        assert feeds.meta(writer, "name") == ""
    store.close()
