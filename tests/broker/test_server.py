"""The end of a broker: who waits is answered, and it does not take long."""

from __future__ import annotations

import contextlib
import http.client
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from extract.broker.server import check_store
from extract.broker.settings import BrokerSettings
from extract.broker.store.store import BrokerStore
from extract.broker.store.tables import StoreError
from tests.support.broker_crash import broker_process
from tests.support.broker_server import AskedBroker

_PATH = "/subscriptions/s/notifications?after=0"


@contextlib.contextmanager
def _asking(asked: AskedBroker, path: str, **headers: str) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", asked.port, timeout=30)
    connection.request("GET", path, headers=headers)
    yield connection
    connection.close()


def test_who_waits_is_answered_when_the_broker_stops(tmp_path: Path) -> None:
    with broker_process(str(tmp_path / "store"), "--no-sync") as (asked, process):
        asked.put_feed("f")
        asked.put("s", xpath="/a")
        with (
            _asking(asked, _PATH, Accept="text/event-stream") as follower,
            _asking(asked, f"{_PATH}&wait=30") as poll,
            follower.getresponse() as stream,
        ):
            while b"extract_waiting_readers 2.0" not in asked.ask("GET", "/metrics").body:
                pass
            process.send_signal(signal.SIGTERM)
            with poll.getresponse() as answer:
                assert (answer.status, answer.read()) == (200, b'{"notifications":[],"last_seq":0}')
            assert stream.read().startswith(b"retry: 2000\n\n")  # up to its end, and nothing broken
        assert process.wait(30) == 0


def test_a_check_makes_no_store(tmp_path: Path) -> None:
    place = tmp_path / "none" / "store"
    assert check_store(str(place), BrokerSettings(), None)["exists"] is False
    assert not place.parent.exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be made"):
        check_store(str(tmp_path / "file" / "store"), BrokerSettings(), None)
    BrokerStore.open(str(place)).close()
    found = check_store(str(place), BrokerSettings(), None)
    assert (found["exists"], found["feeds"], found["subscriptions"]) == (True, {}, 0)
