"""``extract bench serve``: the broker under load, beside a bare "hello" of its framework.

The broker runs as ``extract serve`` does, in a process of its own, with 100,000 subscriptions; the
client is another process (`extract.bench.serve_client`), over the loopback. A quote has some 200
bytes. Latencies are from before the POST to the event that its subscriber reads.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from extract.bench.serve_client import AFTERWARDS_SECONDS, PROBE
from extract.bench.table import ResultTable
from extract.errors import ExtractError

_SUBSCRIPTIONS: Final = 100_000
_QUERY: Final = "/stock[symbol = '{}' and price > 1 and volume >= 0 and high < 9999 and low > {}]"
_CONNECTIONS: Final = 64
_BULK_CONNECTIONS: Final = 4
_LINES: Final = 1_000
_SECONDS: Final = 8.0
_SLICES: Final = 5
_BEHIND_SECONDS: Final = 0.2
_PER_DOCUMENT: Final = (0.01, 1.0)


@dataclass(frozen=True, slots=True)
class _Server:
    """A process that serves on a port of the loopback."""

    port: int
    process: int


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a load did, in one slice of time.

    Attributes:
        rate: Documents, or answers, a second.
        cpu: Microseconds of the server's processor time for each.
        client_cpu: Those of the client.
        request_ms: From POST to answer, median and 99th of a hundred.
        notified_ms: From before the POST to the event.
    """

    rate: float
    cpu: float
    client_cpu: float
    request_ms: tuple[float, float]
    notified_ms: tuple[float, float]


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Measures single and bulk documents, synced and not, with few and many matches."""
    rows: list[list[str | int | float]] = []
    seconds = max(1.0, _SECONDS * scale)
    subscriptions = max(100, int(_SUBSCRIPTIONS * min(scale, 1.0)))
    with _hello() as hello:
        for synced in (True, False):
            for select in ("doc", "nodes"):
                with (
                    tempfile.TemporaryDirectory(prefix="extract-bench-") as folder,
                    _broker(Path(folder), synced) as broker,
                ):
                    _register(broker.port, subscriptions, select)
                    for per_document in _PER_DOCUMENT:
                        for kind in ("single", "bulk"):
                            plan = {
                                "kind": kind,
                                "seconds": seconds / _SLICES,
                                "subscriptions": subscriptions,
                                "per_document": per_document,
                            }
                            what = kind if synced else f"{kind}, not synced"
                            rows.append(
                                [what, per_document, select, *_compared(hello, broker, plan)]
                            )
    columns = (
        "documents",
        "matches each",
        "select",
        "documents/s",
        "hello/s",
        "x hello",
        "CPU us each",
        "hello CPU us",
        "POST p50 ms",
        "p99 ms",
        "notified p50 ms",
        "p99 ms ",
        "client CPU us each",
    )
    title = f"extract serve: {subscriptions:,} subscriptions, quotes of 200 bytes, loopback"
    remarks = (
        f"Broker and hello take turns, {_SLICES} times each; rates and times are medians of these.",
        "x hello is the median of the ratios of neighbours, so that what else the machine does",
        "while it measures weighs on both.",
    )
    return ResultTable(title, columns, rows, remarks)


def _compared(hello: _Server, broker: _Server, plan: dict[str, Any]) -> list[float]:
    """A load on the broker and on the bare framework, in turns: the figures of a row."""
    bare, own = [], []
    for _ in range(_SLICES):
        bare.append(_measured(hello, {**plan, "kind": "hello"}))
        own.append(_measured(broker, plan))
    ratios = [mine.rate / other.rate for mine, other in zip(own, bare, strict=True)]

    def places(pairs: list[tuple[float, float]]) -> list[float]:
        return [round(median(some), 2) for some in zip(*pairs, strict=True)]

    return [
        round(median([one.rate for one in own])),
        round(median([one.rate for one in bare])),
        round(median(ratios), 2),
        round(median([one.cpu for one in own]), 1),
        round(median([one.cpu for one in bare]), 1),
        *places([one.request_ms for one in own]),
        *places([one.notified_ms for one in own]),
        round(median([one.client_cpu for one in own]), 1),
    ]


def _measured(server: _Server, plan: dict[str, Any]) -> _Measured:
    """A load on a server, until all that came of it is done."""
    before = _cpu(server.process)
    result = _load(server.port, **plan)
    if plan["kind"] != "hello":
        behind = _drain(server.port)
        if behind > _BEHIND_SECONDS:  # matching took longer than taking them
            result["seconds"] += behind + AFTERWARDS_SECONDS
    each = 1e6 / max(result["documents"], 1)
    return _Measured(
        result["documents"] / result["seconds"],
        (_cpu(server.process) - before) * each,
        result["client_cpu"] * each,
        tuple(result["request_ms"]),
        tuple(result["notified_ms"]),
    )


def _cpu(process: int) -> float:
    """Processor time of a process, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _load(
    port: int, kind: str, seconds: float, subscriptions: int, per_document: float
) -> dict[str, Any]:
    """Has another process send requests for so many seconds."""
    plan = {
        "port": port,
        "kind": kind,
        "seconds": seconds,
        "requests": 10_000_000,
        "first": time.time_ns() // 1_000_000 % 10**9,
        "subscriptions": subscriptions,
        "per_document": per_document,
        "connections": _BULK_CONNECTIONS if kind == "bulk" else _CONNECTIONS,
        "lines": _LINES,
    }
    done = subprocess.run(
        [sys.executable, "-m", "extract.bench.serve_client"],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ExtractError(f"the client failed: {done.stderr[-500:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    if result["failed"]:
        raise ExtractError(f"the broker refused: {result['failed'][0]}")
    return result


def _register(port: int, subscriptions: int, select: str) -> None:
    """Makes the feed and its subscriptions, one of which is the probe."""
    _request(port, "PUT", "/feeds/quotes", b'{"schema": "none"}')
    names = [PROBE, *[f"A{number}" for number in range(subscriptions)]]
    for start in range(0, len(names), 50_000):
        lines = [
            json.dumps({"id": name, "xpath": _QUERY.format(name, number % 90), "select": select})
            for number, name in enumerate(names[start : start + 50_000])
        ]
        _request(port, "POST", "/feeds/quotes/subscriptions", "\n".join(lines).encode())
    document = b"<stock/>"  # the subscriptions are compiled when it is answered
    _request(port, "POST", "/feeds/quotes/documents", document)
    _drain(port)


def _drain(port: int) -> float:
    """Waits until all documents are matched; returns how many seconds that took."""
    begun = time.perf_counter()
    while True:
        text = _request(port, "GET", "/metrics", None).decode()
        (line,) = [one for one in text.splitlines() if one.startswith("extract_pending_documents ")]
        if float(line.split()[1]) == 0:
            return time.perf_counter() - begun
        time.sleep(0.05)


def _request(port: int, method: str, path: str, body: bytes | None) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        headers = {"Content-Type": "application/xml"} if path.endswith("/documents") else {}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise ExtractError(f"{method} {path} was answered with {answer.status}: {content!r}")
        return content
    finally:
        connection.close()


@contextlib.contextmanager
def _broker(folder: Path, synced: bool) -> Iterator[_Server]:
    port = _free_port()
    options = ["--store", str(folder / "store"), "--port", str(port)]
    flags = [] if synced else ["--no-sync"]
    command = [sys.executable, "-m", "extract", "serve", *options, *flags]
    with _running(command, port) as process:
        yield _Server(port, process)


@contextlib.contextmanager
def _hello() -> Iterator[_Server]:
    port = _free_port()
    command = [sys.executable, "-m", "extract.bench.hello_server", str(port)]
    with _running(command, port) as process:
        yield _Server(port, process)


@contextlib.contextmanager
def _running(command: list[str], port: int) -> Iterator[int]:
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                if process.poll() is not None:
                    raise ExtractError(f"{command[2]} ended with status {process.returncode}")
                with contextlib.suppress(OSError, ExtractError):
                    _request(port, "GET", "/health", None)
                    break
                time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()
            process.wait(60)


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])
