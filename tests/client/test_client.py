"""`extract.Client` on a broker that runs: feeds, subscriptions, documents, notifications."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import extract
from extract.errors import BrokerError, DocumentError, QuerySyntaxError
from tests.support.running_broker import running_broker

IBM = b"<stock><symbol>IBM</symbol><price>99</price></stock>"
SUN = b"<stock><symbol>SUN</symbol><price>7</price></stock>"


def test_from_a_subscription_to_its_notification(client: extract.Client, feed: str) -> None:
    assert client.add(feed, {f"{feed}-ibm": "/stock[symbol = 'IBM']/price"}) == 1
    receipt = client.publish(feed, IBM, "m1")
    assert (receipt.name, receipt.number, receipt.accepted) == ("m1", 1, True)
    client.publish(feed, SUN, "m2")
    (one,) = client.notifications(f"{feed}-ibm", wait=10)
    assert (one.seq, one.feed, one.document) == (1, feed, "m1")
    assert [(match["path"], match["value"]) for match in one.matches] == [
        ("/stock[1]/price[1]", "<price>99</price>")
    ]
    assert client.notifications(f"{feed}-ibm", after=1) == []
    assert client.feed(feed).documents == 2
    assert client.health()["status"] == "ok"


def test_queries_make_xml_to_order(client: extract.Client, feed: str) -> None:
    query = "for $s in /stock where $s/price > 50 return <dear>{ $s/symbol }</dear>"
    client.add(feed, [extract.Subscription(f"{feed}-dear", query, metadata={"owner": "ada"})])
    client.publish(feed, IBM)
    (one,) = client.notifications(f"{feed}-dear", wait=10)
    assert one.output == "<dear><symbol>IBM</symbol></dear>"
    told = client.subscription(feed, f"{feed}-dear")
    assert (told.kind, told.query, told.metadata) == ("flwr", query, {"owner": "ada"})


def test_subscriptions_come_change_and_go(client: extract.Client, feed: str) -> None:
    some = {f"{feed}-{n:02}": f"//a[b = {n}]" for n in range(30)}
    assert client.add(feed, some) == 30
    assert [one.id for one in client.subscriptions(feed)] == sorted(some)
    assert [one.id for one in client.subscriptions(feed, search="= 7]")] == [f"{feed}-07"]
    assert client.replace(feed, {f"{feed}-07": "//c"}) == 1
    assert client.subscription(feed, f"{feed}-07").query == "//c"
    assert client.remove(feed, [f"{feed}-01", f"{feed}-02"]) == 2
    assert client.feed(feed).subscriptions == 28


@pytest.mark.parametrize(
    ("change", "status"),
    [("add", 409), ("replace", 404), ("remove", 404)],
)
def test_a_change_that_cannot_be_made_changes_nothing(
    client: extract.Client, feed: str, change: str, status: int
) -> None:
    client.add(feed, {f"{feed}-a": "//a"})
    a, b = f"{feed}-a", f"{feed}-b"
    changes = {
        "add": lambda: client.add(feed, {b: "//b", a: "//b"}),
        "replace": lambda: client.replace(feed, {a: "//b", b: "//b"}),
        "remove": lambda: client.remove(feed, [a, b]),
    }
    with pytest.raises(BrokerError) as caught:
        changes[change]()
    assert caught.value.status == status
    assert [(one.id, one.query) for one in client.subscriptions(feed)] == [(f"{feed}-a", "//a")]


def test_a_query_that_does_not_parse_has_its_caret(client: extract.Client, feed: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        client.add(feed, {f"{feed}-good": "//a", f"{feed}-bad": "//a[b = ]"})
    assert "\n  //a[b = ]\n          ^" in str(caught.value)
    assert caught.value.hint
    assert list(client.subscriptions(feed)) == []


def test_a_document_that_is_not_well_formed(client: extract.Client, feed: str) -> None:
    with pytest.raises(DocumentError) as caught:
        client.publish(feed, b"<a>\n<b></a>")
    assert (caught.value.line, caught.value.column > 0) == (2, True)


def test_documents_in_bulk_are_answered_in_order(client: extract.Client, feed: str) -> None:
    client.add(feed, {f"{feed}-all": "//symbol"})
    latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><stock><symbol>\xc4</symbol></stock>"
    some = [("1", IBM), ("2", b"<a>"), ("3", latin), ("4", SUN), ("5", b"<b")]
    receipts = list(client.publish_all(feed, some))
    assert [(one.name, one.accepted) for one in receipts] == [
        ("1", True),
        ("2", False),
        ("3", True),
        ("4", True),
        ("5", False),
    ]
    assert [type(one.error) for one in receipts if not one.accepted] == [DocumentError] * 2
    texts = []
    for one in client.poll(f"{feed}-all"):
        texts += [match["text"] for match in one.matches]
        if one.document == "4":
            break
    assert texts == ["IBM", "Ä", "SUN"]


def test_documents_of_a_feed_as_they_were_published(client: extract.Client, feed: str) -> None:
    latin = "<?xml version='1.0' encoding='latin1'?><a>\u00e9</a>".encode("latin-1")
    given = [("a", IBM), ("b", latin), ("", b"\xef\xbb\xbf<a/>"), ("d", SUN)]
    assert all(one.accepted for one in client.publish_all(feed, given))
    documents = list(client.documents(feed))
    assert [(one.name, one.content) for one in documents] == given
    assert [one.number for one in documents] == [1, 2, 3, 4]
    assert [one.number for one in client.documents(feed, 1, 3)] == [2, 3]
    assert list(client.documents(feed, 4)) == []


def test_documents_with_a_key_are_published_once(client: extract.Client, feed: str) -> None:
    given = [("a", IBM), ("b", b"<?xml version='1.0' encoding='latin1'?><a/>")]
    first = list(client.publish_all(feed, given, "batch-1"))
    assert list(client.publish_all(feed, given, "batch-1")) == first
    assert client.feed(feed).documents == 2


def test_a_stream_goes_on_where_it_stopped(client: extract.Client, feed: str) -> None:
    client.add(feed, {f"{feed}-all": "/stock"})
    names = [f"m{n}" for n in range(20)]
    list(client.publish_all(feed, [(name, IBM) for name in names[:10]]))
    first = list(itertools.islice(client.follow(f"{feed}-all"), 5))
    last = threading.Timer(
        0, lambda: list(client.publish_all(feed, [(n, IBM) for n in names[10:]]))
    )
    last.start()
    rest = list(itertools.islice(client.follow(f"{feed}-all", first[-1].seq), 15))
    last.join()
    assert [one.document for one in first + rest] == names
    assert [one.seq for one in first + rest] == list(range(1, 21))


def test_what_is_not_there(client: extract.Client, feed: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: client.feed("nowhere"),
        lambda: client.publish("nowhere", IBM),
        lambda: client.subscription(feed, "nothing"),
        lambda: client.notifications("nothing"),
        lambda: next(client.follow("nothing")),
        lambda: client.feed(".."),
    ]
    for call in calls:
        with pytest.raises(BrokerError) as caught:
            call()
        assert caught.value.status in (0, 404)
        assert str(caught.value)


def test_a_feed_with_a_schema(client: extract.Client) -> None:
    made = client.put_feed("typed", dtd="<!ELEMENT a (b*)><!ELEMENT b EMPTY>", root="a")
    assert (made.name, made.schema) == ("typed", "dtd")
    client.add("typed", {"typed-c": "//c", "typed-b": "//b"})
    told = {one.id: one.unsatisfiable for one in client.subscriptions("typed")}
    assert told["typed-b"] == ""
    with pytest.raises(extract.ExtractError):
        client.put_feed("typed2", dtd="<!ELEMENT a (b")
    client.remove_feed("typed")
    assert "typed" not in {one.name for one in client.feeds()}


def test_a_broker_that_wants_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("desk 0123456789abcdef subscribe,publish\nops fedcba9876543210 admin\n")
    tokens.chmod(0o600)
    with running_broker(tmp_path / "store", tokens) as url:
        with extract.Client(url) as stranger, pytest.raises(BrokerError) as caught:
            stranger.feeds()
        assert caught.value.status == 401
        assert "EXTRACT_TOKEN" in caught.value.hint or "Bearer" in caught.value.hint
        with extract.Client(url, "fedcba9876543210") as admin:
            admin.put_feed("f")
        monkeypatch.setenv("EXTRACT_TOKEN", "0123456789abcdef")
        with extract.Client(url) as desk:
            assert [one.name for one in desk.feeds()] == ["f"]
            with pytest.raises(BrokerError) as caught:
                desk.put_feed("g")
            assert caught.value.status in (403, 404)
