"""What was answered with 2xx is never lost: kills at random moments, and outages of the machine."""

from __future__ import annotations

import random
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.support.broker_crash import (
    Sent,
    broker_process,
    check_told,
    crash_rounds,
    send_documents,
)
from tests.support.lossy_disk import build_library, environment, surviving_files
from tests.support.postgres_server import PostgresServer

QUERIES = {"cheap": "/q[p < 30]", "dear": "/q[p >= 70]"}


def test_a_few_kills_lose_nothing(tmp_path: Path) -> None:
    counts = crash_rounds(str(tmp_path / "store"), rounds=2)
    assert counts["documents"] > 0


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    assert crash_rounds(str(tmp_path / "store"), rounds=200, seed=3)["documents"] > 1_000


@pytest.mark.slow
def test_kills_lose_nothing_in_postgresql(postgres: PostgresServer) -> None:
    assert crash_rounds(postgres.url(schema="crashes"), rounds=10, seed=5)["documents"] > 0


@pytest.mark.parametrize("synced", [True, False])
def test_an_outage_loses_nothing_that_was_answered(tmp_path: Path, synced: bool) -> None:
    """With a disk that drops what was not synced; without syncs, the test sees the loss."""
    library = build_library(tmp_path)
    root, log = tmp_path / "store", tmp_path / "log"
    root.mkdir()
    sent = Sent()
    stop = threading.Event()
    options = [] if synced else ["--no-sync"]
    with broker_process(str(root), *options, environment=environment(library, root, log)) as (
        asked,
        process,
    ):
        assert asked.put_feed("f").status == 201
        for name, xpath in QUERIES.items():
            assert asked.put(name, xpath=xpath, select="doc").status == 201
        arguments = (asked, sent, "w", 1, stop)
        worker = threading.Thread(target=send_documents, args=arguments, daemon=True)
        worker.start()
        until = time.monotonic() + 30
        while len(sent.documents) < 60 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(random.Random(2).uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        stop.set()
        worker.join(30)
    survived = tmp_path / "survived"
    surviving_files(log, root, survived)
    assert len(sent.documents) >= 60
    if not synced:
        assert not (survived / "broker.sqlite").exists() or _loses(survived, sent)
        return
    with broker_process(str(survived)) as (asked, _):
        counts = check_told(asked, sent, QUERIES)
    assert counts["cheap"] > 0


def _loses(survived: Path, sent: Sent) -> bool:
    with broker_process(str(survived)) as (asked, _):
        if not asked.ask("GET", "/feeds").json["feeds"]:
            return True
        with pytest.raises(AssertionError):
            check_told(asked, sent, QUERIES)
    return True
