"""The broker against its own OpenAPI description: whatever is sent, it never fails itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import extract
from extract.broker.http.description import description
from tests.support.running_broker import running_broker

OPERATIONS = [
    (path, method)
    for path, item in description()["paths"].items()
    for method in item
    if method != "parameters"
]
FEED, SUBSCRIPTION = "f", "a"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_broker(tmp_path_factory.mktemp("described") / "store") as address:
        yield address


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[extract.Client]:
    with extract.Client(url) as opened:
        yield opened


def prepare(client: extract.Client) -> None:
    """Makes what paths name, which an earlier request may have removed."""
    if FEED not in {one.name for one in client.feeds()}:
        client.put_feed(FEED)
        client.publish(FEED, b"<a><b>1</b></a>", "first")
    if client.feed(FEED).subscriptions == 0:
        client.add(FEED, {SUBSCRIPTION: "//a", "b": "for $x in //a return <b>{ $x/b }</b>"})


def lines_of(value: Any) -> bytes:
    """What was generated for a body of lines: as lines of JSON, or as it is."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return json.dumps(value, default=str).encode()


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda one: str(one).strip("/"))
def test_no_request_makes_it_fail(client: extract.Client, url: str, path: str, method: str) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    for kind in ("application/x-ndjson", "application/xml"):
        schemathesis.serializer(kind)(lambda _context, value: lines_of(value))
    schema = schemathesis.openapi.from_dict(description())
    schema.config.update(base_url=url)

    @settings(
        max_examples=10 if (path, method) == ("/feeds/{feed}", "put") else 60,  # a child for each
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=schema[path][method].as_strategy(), known=st.booleans())
    def ask(case: Any, known: bool) -> None:
        prepare(client)
        if known:
            ids = {"feed": FEED, "id": SUBSCRIPTION, "seq": 1}
            case.path_parameters = {key: ids[key] for key in case.path_parameters or {}}
        if "wait" in (case.query or {}):
            case.query = {**case.query, "wait": 0}
        answer = case.call(timeout=30)
        assert answer.status_code < 500, f"{case.as_curl_command()}: {answer.text}"
        if answer.status_code >= 400:
            assert answer.json()["reason"]

    ask()


@pytest.mark.slow
def test_what_is_not_described_is_refused_as_well(url: str) -> None:
    import httpx

    with httpx.Client(base_url=url, trust_env=False) as one:
        for path, _ in OPERATIONS:
            concrete = path.format(feed=FEED, id="%00%ff", seq="x")
            for method in ("GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD"):
                for body in (b"", b"\xff\x00", b"{", b"[" * 5_000, b'{"xpath": 1e999}'):
                    if method == "DELETE" and path == "/feeds/{feed}":
                        continue
                    answer = one.request(method, concrete, content=body)
                    assert answer.status_code < 500, (method, concrete, body[:20])
