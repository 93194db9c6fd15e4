"""The client of ``extract bench serve``, in a process of its own: as fast as Python allows.

``python -m extract.bench.serve_client`` reads a plan as JSON from standard input and writes what it
measured. Requests are bytes that are made before the clock starts; answers are only counted.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from random import Random
from typing import Any, Final

_HOST: Final = b"Host: 127.0.0.1\r\n"
_PROBE_EVERY: Final = 200  # documents, of which one is looked for by its subscriber
PROBE: Final = "probe"
AFTERWARDS_SECONDS: Final = 0.5  # for the last notifications
_AGAIN_SECONDS: Final = 0.1


def message(number: int, symbol: str) -> str:
    """A quote of some 200 bytes."""
    price = 100 + number % 300
    return (
        f'<stock id="m{number}" market="xetra"><symbol>{symbol}</symbol><name>{symbol} Inc.</name>'
        f"<price>{price}.25</price><volume>{number % 900_000}</volume><high>{price + 3}.50</high>"
        f"<low>{price - 4}.75</low><change>1.70</change></stock>"
    )


def symbols(subscriptions: int, per_document: float, seed: int) -> Iterator[str]:
    """The symbols of messages, of which such a part has a subscriber."""
    rng = Random(seed)
    while True:
        if rng.random() < per_document:
            yield f"A{rng.randrange(subscriptions)}"
        else:
            yield f"Z{rng.randrange(1_000_000)}"


class _Connection(asyncio.Protocol):
    """Sends one request after the other, as long as there are some."""

    def __init__(self, load: _Load) -> None:
        self._load = load
        self._buffer = b""
        self._request = b""
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._next()

    def _next(self) -> None:
        request = self._load.request()
        if request is None:
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._request = request
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._buffer[:end].lower()
        at = head.find(b"content-length: ")
        length = int(head[at + 16 :].split(b"\r\n", 1)[0])
        if len(self._buffer) < end + 4 + length:
            return
        if self._buffer[9:12] == b"429":  # too many wait: the same again, a little later
            self._buffer = b""
            self._load.refused += 1
            self._load.loop.call_later(_AGAIN_SECONDS, self._transport.write, self._request)
            return
        if self._buffer[9:10] != b"2":
            self._load.failed.append(self._buffer[:300].decode("latin-1"))
        self._buffer = b""
        self._load.seconds.append(time.perf_counter() - self._sent)
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.ended()


class _Load:
    """So many requests over so many connections."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._left = plan["requests"]
        self._number = plan["first"]
        self._symbols = symbols(plan["subscriptions"], plan["per_document"], plan["first"])
        self._until = time.perf_counter() + plan["seconds"]
        self._open = plan["connections"]
        self.loop = asyncio.get_running_loop()
        self.done = self.loop.create_future()
        self.refused = 0
        self.seconds: list[float] = []
        self.failed: list[str] = []
        self._bulk = [self._made_bulk() for _ in range(20)] if plan["kind"] == "bulk" else []

    def request(self) -> bytes | None:
        if not self._left or time.perf_counter() > self._until or self.failed:
            return None
        self._left -= 1
        match self._plan["kind"]:
            case "hello":
                return b"GET /hello HTTP/1.1\r\n" + _HOST + b"\r\n"
            case "bulk":
                return self._with_probe(self._bulk[self._left % len(self._bulk)])
            case _:
                return self._single()

    def _document(self) -> tuple[str, str]:
        self._number += 1
        return f"m{self._number}", message(self._number, next(self._symbols))

    def _single(self) -> bytes:
        name, text = self._document()
        if self._number % _PROBE_EVERY == 0:
            name, text = str(time.time_ns()), message(self._number, PROBE)
        body = text.encode()
        path = f"POST /feeds/quotes/documents?name={name} HTTP/1.1\r\n".encode()
        kind = b"Content-Type: application/xml\r\n"
        return b"%s%s%sContent-Length: %d\r\n\r\n%s" % (path, _HOST, kind, len(body), body)

    def _made_bulk(self) -> bytes:
        lines = []
        for _ in range(self._plan["lines"]):
            name, text = self._document()
            lines.append(json.dumps({"name": name, "document": text}))
        return "\n".join(lines).encode()

    def _with_probe(self, body: bytes) -> bytes:
        probe = {"name": str(time.time_ns()), "document": message(0, PROBE)}
        body = body + b"\n" + json.dumps(probe).encode()
        path = b"POST /feeds/quotes/documents HTTP/1.1\r\n"
        kind = b"Content-Type: application/x-ndjson\r\n"
        return b"%s%s%sContent-Length: %d\r\n\r\n%s" % (path, _HOST, kind, len(body), body)

    def ended(self) -> None:
        self._open -= 1
        if not self._open and not self.done.done():
            self.done.set_result(None)


async def _follow(port: int, latencies: list[float], ready: asyncio.Event) -> None:
    """Reads the events of the probe, and how long each took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    path = f"GET /subscriptions/{PROBE}/notifications?after=0 HTTP/1.1\r\n".encode()
    writer.write(path + _HOST + b"Accept: text/event-stream\r\n\r\n")
    first = time.time_ns()
    async for line in reader:
        ready.set()
        at = line.find(b'"document":"')
        if at < 0:
            continue
        sent = int(line[at + 12 :].split(b'"', 1)[0])
        if sent > first:
            latencies.append((time.time_ns() - sent) / 1e6)
    raise RuntimeError("the stream of events has ended")


async def _main(plan: dict[str, Any]) -> dict[str, Any]:
    latencies: list[float] = []
    loop = asyncio.get_running_loop()
    follower = None
    if plan["kind"] != "hello":
        ready = asyncio.Event()
        follower = loop.create_task(_follow(plan["port"], latencies, ready))
        await ready.wait()
    load = _Load(plan)
    begun, cpu = time.perf_counter(), time.process_time()
    for _ in range(plan["connections"]):
        await loop.create_connection(lambda: _Connection(load), "127.0.0.1", plan["port"])
    await load.done
    seconds = time.perf_counter() - begun
    cpu = time.process_time() - cpu
    if follower is not None:
        await asyncio.sleep(AFTERWARDS_SECONDS)
        follower.cancel()
    requests = len(load.seconds)
    size = plan["lines"] + 1 if plan["kind"] == "bulk" else 1
    return {
        "documents": requests * size,
        "seconds": seconds,
        "client_cpu": cpu,
        "request_ms": _quantiles([one * 1e3 for one in load.seconds]),
        "notified_ms": _quantiles(latencies),
        "probes": len(latencies),
        "refused": load.refused,
        "failed": load.failed[:3],
    }


def _quantiles(values: list[float]) -> list[float]:
    """The median and the 99th of a hundred."""
    ordered = sorted(values) or [0.0]
    return [ordered[len(ordered) // 2], ordered[min(len(ordered) * 99 // 100, len(ordered) - 1)]]


def main() -> None:
    """Does what the plan says."""
    import uvloop

    result = uvloop.run(_main(json.load(sys.stdin)))
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
