"""``extract serve --demo``: from nothing, a feed that ticks and a page to look at."""

from __future__ import annotations

import contextlib
import itertools
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

import extract
from extract.broker.demo import EXAMPLES, FEED, Ticker, messages, set_up
from extract.client.answers import Notification
from tests.support.commands import run
from tests.support.running_broker import running_broker


def test_the_feed_ticks_and_subscriptions_hear_it(tmp_path: Path) -> None:
    with running_broker(tmp_path / "store") as url, extract.Client(url) as client:
        set_up(client, 10)
        set_up(client, 10)  # again, as after a restart: nothing changes
        assert client.feed(FEED).subscriptions == 10 + len(EXAMPLES)
        with contextlib.closing(Ticker(url, per_second=500)):
            heard = list(itertools.islice(client.follow("large-volumes"), 3))
        assert {one.matches[0]["name"] for one in heard} == {"quote"}
        assert [one.seq for one in heard] == [1, 2, 3]


def test_every_example_matches_some_message_and_some_messages_are_broken() -> None:
    scheme = extract.prepare(extract.Schema.none(), extract.Subscriptions.of(EXAMPLES), chunks=1)
    some = list(itertools.islice(messages(), 200))
    ready = extract.Filter(scheme)
    matched = set(ready.table(some)["query"].to_pylist())
    assert matched == EXAMPLES.keys()
    broken = 0
    for _, content in some:
        try:
            etree.fromstring(content)
        except etree.XMLSyntaxError:
            broken += 1
    assert 0 < broken < 20
    assert ready.rejected.num_rows == broken


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "--demo"),
        (["--demo", "--token-file", "x"], "neither --token-file"),
        (["--demo", "--check"], "--check"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], text: str) -> None:
    refused = run("serve", *options)
    assert (refused.exit_code, text in refused.stderr) == (2, True), refused.output


def waited_for(client: extract.Client, subscription: str) -> list[Notification]:
    """The first notifications of a subscription that may not be there yet."""
    for _ in range(10_000):
        with contextlib.suppress(extract.BrokerError):
            return client.notifications(subscription, wait=30)
    raise AssertionError("the demo has not begun")


@pytest.mark.slow
def test_one_command_from_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "extract", "serve", "--demo", "--port", "0"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        lines = itertools.chain.from_iterable(process.stderr.readline() for _ in range(2))
        found = re.search(r"Look at (http://[\d.:]+)/ in a browser", "".join(lines))
        assert found
        with extract.Client(found[1], retries=30) as client:
            assert client.health()["status"] == "ok"
            (one, *_) = waited_for(client, "winners")
            assert one.output is not None
            assert one.output.startswith("<winners>")
    finally:
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[1]
    assert "Traceback" not in rest
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []
