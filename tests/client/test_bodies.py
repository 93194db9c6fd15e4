"""What a client sends: subscriptions and documents as the broker reads them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from extract.client import bodies
from extract.client.bodies import (
    as_subscriptions,
    content_of,
    document_blocks,
    document_line,
    subscription_body,
    subscription_lines,
)
from extract.client.events import read_events
from extract.subscriptions import Subscription


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("//a[. = 'for $x in']", "xpath"),
        ("//a[. = 'x -> JOIN{y}']", "xpath"),
        ("for $a in //a return <b>{ $a }</b>", "flwr"),
        ("<r>{ for $a in //a return <b/> }</r>", "flwr"),
        ("S//a->x[b->y] FOLLOWED BY{y=w, 3600} S//c->z[d->w]", "xscl"),
        ("SELECT <p>{x}</p> FROM a//b->x[c->y'] JOIN{y'=v, 10 EVENTS} d//e->z[f->v]", "xscl"),
    ],
)
def test_the_kind_of_a_query(query: str, kind: str) -> None:
    assert subscription_body(Subscription("q", query)) == {kind: query}


def test_a_subscription_says_where_its_notifications_go() -> None:
    one = Subscription("q", "//p:a", {"p": "urn:p"}, metadata={"webhook": "http://h/", "team": "x"})
    assert subscription_body(one) == {
        "xpath": "//p:a",
        "namespaces": {"p": "urn:p"},
        "webhook": "http://h/",
        "metadata": {"team": "x"},
    }
    assert subscription_body(one, "http://other/")["webhook"] == "http://other/"


def test_a_later_xpath_is_sent_with_its_version() -> None:
    text = "for $a in //a return <b/>"
    for xpath in ("//a", text):
        body = subscription_body(Subscription("q", xpath, version="3.1"))
        assert body == {"xpath": xpath, "version": "3.1"}
    assert subscription_body(Subscription("q", text)) == {"flwr": text}


def test_many_subscriptions_are_lines() -> None:
    lines = subscription_lines(as_subscriptions({"a": "//ä", "b": "//b\n"})).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"id": "a", "xpath": "//ä"},
        {"id": "b", "xpath": "//b"},
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe<\x00a\x00/\x00>\x00",
        b'<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe4</a>',
        b'<?xml version="1.0" encoding="utf-16"?><a/>',
        b"\xef\xbb\xbf<a/>",
        b"<a>\xe4</a>",
    ],
)
def test_a_document_that_no_line_of_json_can_hold_goes_alone(content: bytes) -> None:
    assert document_line("d", content) is None
    blocks = list(document_blocks([("1", b"<a/>"), ("2", content), ("3", b"<b/>")]))
    assert [[name for name, _, _ in block] for block in blocks] == [["1"], ["2"], ["3"]]


def test_documents_come_in_blocks_of_some_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BLOCK_BYTES", 10)
    monkeypatch.setattr(bodies, "BLOCK_LINES", 3)
    some = [("1", b"<a/>"), ("2", b"<b/>"), ("3", b"<large-one/>"), *[("x", b"<c/>")] * 4]
    sizes = [len(block) for block in document_blocks(some)]
    assert sizes == [2, 1, 2, 2]


def test_a_document_is_bytes_a_path_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"<a/>")
    given = [b"<a/>", path, str(path), io.BytesIO(b"<a/>"), bytearray(b"<a/>")]
    assert [content_of(one) for one in given] == [b"<a/>"] * 5  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not int"):
        content_of(3)  # type: ignore[arg-type]


def test_events_as_the_standard_has_them() -> None:
    lines = ["retry: 2000", "", "id: 1", "data: {", "data:}", "", ": ping", "", "event: error"]
    events = list(read_events([*lines, "data: x", "", "data: cut off"]))
    assert [(one.kind, one.data, one.id) for one in events] == [
        ("message", "{\n}", "1"),
        ("error", "x", "1"),
    ]
