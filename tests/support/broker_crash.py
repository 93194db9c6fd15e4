"""Kills a broker while documents come, again and again, and compares with lxml what it tells.

``python -m tests.support.broker_crash --rounds 200`` does it as often as one likes. Each round
starts ``extract serve`` on the same store, sends documents over several connections, changes
subscriptions, kills the process at a random moment, and notes what was answered with 2xx. At the
end, every document that was answered must be told to every subscription that held when it was
written: at least once, in the order of the log, with numbers that rise by one. One subscription is
deleted and made again in each life; it is told the documents of that life, with new numbers.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lxml import etree

from tests.support.broker_server import AskedBroker

_QUERIES = {
    "cheap": "/q[p < 30]",
    "dear": "/q[p >= 70]",
    "x": "//s[. = 'X']",
    "both": "/q[s = 'Y' and p > 50]",
}


_LATE = "/q[p < 50]"
_EVERY = 10  # rounds, of which the last one brings a subscription
_PASSING = "/q[p >= 40]"


@dataclass
class Sent:
    """What a broker has taken.

    Attributes:
        documents: By name; only those that were answered with 2xx.
        unknown: Names of documents that were sent, but not answered.
        last_seq: The last number of the subscription that is made again in each life.
    """

    documents: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    last_seq: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextlib.contextmanager
def broker_process(
    store: str, *options: str, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[AskedBroker, subprocess.Popen[bytes]]]:
    """A broker in a process of its own, killed at the end if it still runs."""
    command = [sys.executable, "-m", "extract", "serve", "--store", store, "--port", "0"]
    process = subprocess.Popen(
        [*command, "--max-delay-ms", "1", *options],
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    reader: threading.Thread | None = None
    try:
        assert process.stderr is not None
        line = process.stderr.readline().decode()
        assert "http://" in line, line + process.stderr.read().decode()
        port = int(line.split("http://127.0.0.1:")[1].split(",")[0])
        reader = threading.Thread(target=process.stderr.read, daemon=True)
        reader.start()
        asked = AskedBroker(port)
        while True:  # the socket listens before the broker is ready: the first answer says so
            assert process.poll() is None
            with contextlib.suppress(OSError):
                if asked.ask("GET", "/health").status == 200:
                    break
        yield asked, process
    finally:
        process.kill()
        process.wait(30)
        if reader is not None:
            reader.join(10)
        if process.stderr is not None:
            process.stderr.close()


def _document(rng: random.Random, number: int) -> str:
    symbol, price = rng.choice("XYZ"), rng.randrange(100)
    return f'<q n="{number}"><s>{symbol}</s><p>{price}</p></q>'


def send_documents(
    asked: AskedBroker, sent: Sent, worker: str, seed: float, stop: threading.Event
) -> None:
    """Sends documents, single and in bulk, until the broker is gone."""
    rng = random.Random(seed)
    number = 0
    while not stop.is_set():
        count = rng.choice((1, 1, 1, 20))
        some = []
        for _ in range(count):
            number += 1
            some.append((f"{worker}-{number}", _document(rng, number)))
        with sent.lock:
            sent.unknown.update(some)
        try:
            if count == 1:
                is_taken = asked.post(some[0][1], some[0][0]).status == 202
            else:
                is_taken = asked.post_lines(some).json["accepted"] == count
        except (OSError, http.client.HTTPException, ValueError):
            return  # it is gone
        if is_taken:
            with sent.lock:
                sent.documents.update(some)
                for name, _ in some:
                    del sent.unknown[name]


def run_round(store: str, sent: Sent, number: int, rng: random.Random, options: list[str]) -> None:
    """One life of a broker, from its start to a kill at a random moment."""
    stop = threading.Event()
    with broker_process(store, *options) as (asked, process):
        if number == 0:
            assert asked.put_feed("f").status == 201
            for name, xpath in _QUERIES.items():
                assert asked.put(name, xpath=xpath, select="doc").status == 201
        else:
            _check_passing(asked, sent, number - 1)
            assert asked.ask("DELETE", "/feeds/f/subscriptions/passing").status == 204
        assert asked.put("passing", xpath=_PASSING, select="doc").status == 201
        if number % _EVERY == _EVERY - 1:  # it holds for the documents of this round and later ones
            assert asked.put(f"since{number}", xpath=_LATE, select="doc").status == 201
        workers = [
            threading.Thread(
                target=send_documents,
                args=(asked, sent, f"{number}.{n}", rng.random(), stop),
                daemon=True,
            )
            for n in range(4)
        ]
        for worker in workers:
            worker.start()
        time.sleep(rng.uniform(0.01, 0.5))
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        stop.set()
        for worker in workers:
            worker.join(30)


def _check_passing(asked: AskedBroker, sent: Sent, number: int) -> None:
    """Whether the subscription of a life was told all of that life, and with new numbers."""
    _wait_until_matched(asked)
    rows = _all_rows(asked, "passing")
    numbers = [row["seq"] for row in rows]
    first = sent.last_seq + 1
    assert numbers == list(range(first, first + len(rows))), "numbers are used again, or missing"
    sent.last_seq += len(rows)
    told = {row["document"] for row in rows}
    query = etree.XPath(_PASSING)
    expected, maybe = (
        {
            name
            for name, text in some.items()
            if _round(name) == number and query(etree.fromstring(text))
        }
        for some in (sent.documents, sent.unknown)
    )
    assert expected <= told <= expected | maybe, "the passing subscription was told otherwise"


def check_told(
    asked: AskedBroker, sent: Sent, queries: Mapping[str, str] = _QUERIES
) -> dict[str, int]:
    """Compares what subscriptions are told with what lxml says of the documents.

    Returns:
        How many notifications each subscription has.
    """
    _wait_until_matched(asked)
    counts = {}
    for name, xpath in queries.items():
        rows = _all_rows(asked, name)
        numbers = [row["seq"] for row in rows]
        assert numbers == list(range(1, len(rows) + 1)), f"{name}: numbers are missing"
        log = [row["number"] for row in rows]
        assert log == sorted(log), f"{name}: out of order"
        told = [row["document"] for row in rows]
        assert len(told) == len(set(told)), f"{name}: told twice"
        query = etree.XPath(xpath)
        expected, maybe = (
            {
                one
                for one, text in some.items()
                if _round(one) >= _since(name) and query(etree.fromstring(text))
            }
            for some in (sent.documents, sent.unknown)
        )
        assert not expected - set(told), f"{name}: {len(expected - set(told))} are lost"
        assert set(told) <= expected | maybe, f"{name}: told what does not match"
        counts[name] = len(rows)
    return counts


def _round(document: str) -> int:
    """The round in which a document was sent: its name begins with it."""
    number = document.partition(".")[0]
    return int(number) if number.isdecimal() else 0


def _since(name: str) -> int:
    """The first round in which a subscription held."""
    return int(name.removeprefix("since")) if name.startswith("since") else 0


def _wait_until_matched(asked: AskedBroker) -> None:
    while "\nextract_pending_documents 0.0" not in asked.ask("GET", "/metrics").body.decode():
        time.sleep(0.01)


def _all_rows(asked: AskedBroker, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while True:
        page = asked.notifications(name, rows[-1]["seq"] if rows else 0, wait=0)
        if not page:
            return rows
        rows += page


def crash_rounds(store: str, rounds: int, seed: int = 1, *options: str) -> dict[str, int]:
    """Kills so often, then looks; raises `AssertionError` if something is lost."""
    rng = random.Random(seed)
    sent = Sent()
    for number in range(rounds):
        run_round(store, sent, number, rng, list(options))
    late = {f"since{number}": _LATE for number in range(_EVERY - 1, rounds, _EVERY)}
    with broker_process(store, *options) as (asked, _):
        _check_passing(asked, sent, rounds - 1)
        counts = check_told(asked, sent, {**_QUERIES, **late})
    counts["passing"] = sent.last_seq
    counts["documents"] = len(sent.documents)
    return counts


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = arguments.store or str(Path(folder, "store"))
        print(json.dumps(crash_rounds(store, arguments.rounds, arguments.seed)))


if __name__ == "__main__":
    main()
