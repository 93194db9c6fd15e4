"""A broker from outside: feeds, subscriptions, documents in, notifications out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from extract.broker.store import notifications as notification_rows
from tests.support.broker_server import LINES, XML, AskedBroker, served


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedBroker]:
    with served(tmp_path_factory.mktemp("broker")) as asked:
        yield asked


@pytest.fixture
def asked(shared: AskedBroker, request: pytest.FixtureRequest) -> AskedBroker:
    for feed in shared.ask("GET", "/feeds").json["feeds"]:
        assert shared.ask("DELETE", f"/feeds/{feed['name']}").status == 204
    assert shared.put_feed("f").status == 201
    return shared


def test_a_subscription_holds_for_the_next_document(asked: AskedBroker) -> None:
    assert asked.post("<a><b>9</b></a>", "before").status == 202
    assert asked.put("dear", xpath="//b[. > 5]", team="x").status == 201
    assert asked.post("<a><b>7</b><b>8</b></a>", "after").status == 202
    assert asked.post("<a><b>1</b></a>", "cheap").status == 202
    assert asked.post("<a><b>6</b></a>", "last").status == 202
    first, second = asked.all_notifications("dear", 2)
    assert (first["document"], second["document"]) == ("after", "last")
    assert second["seq"] == first["seq"] + 1
    assert [(one["path"], one["text"]) for one in first["matches"]] == [
        ("/a[1]/b[1]", "7"),
        ("/a[1]/b[2]", "8"),
    ]
    view = asked.ask("GET", "/feeds/f/subscriptions/dear").json
    assert (view["xpath"], view["metadata"]) == ("//b[. > 5]", {"team": "x"})


def test_the_three_kinds_of_subscriptions(asked: AskedBroker) -> None:
    asked.put_feed("g")
    asked.put("count", xpath="//b", select="count")
    asked.put("made", flwr="for $b in //b where $b > 1 return <x>{ $b/text() }</x>")
    joined = "f//order->x1[id->x2] FOLLOWED BY{x2=x4, 60} g//bill->x3[order->x4]"
    assert asked.put("join", xscl=joined).status == 201
    asked.post("<a><b>1</b><b>2</b></a>", "d1")
    asked.post("<order><id>7</id></order>", "o7")
    asked.post("<bill><order>8</order></bill>", "b8", feed="g")
    asked.post("<bill><order>7</order></bill>", "b7", feed="g")
    assert asked.all_notifications("count", 1)[0]["count"] == 2
    assert asked.all_notifications("made", 1)[0]["output"] == "<x>2</x>"
    (row,) = asked.all_notifications("join", 1)
    assert (row["left"]["document"], row["right"]["document"]) == ("o7", "b7")
    assert row["bindings"]["x2"] == "/order[1]/id[1]"
    assert row["output"].startswith("<join><order>")


def test_a_bad_document_is_refused_with_its_place(asked: AskedBroker) -> None:
    answer = asked.post("<a>\n  <b></a>", "bad")
    assert answer.status == 400
    assert (answer.json["line"], answer.json["column"]) == (2, 6)
    assert "closes" in answer.json["reason"]
    assert asked.post("<a/>").status == 202


def test_bulk_has_a_result_for_each_line(asked: AskedBroker) -> None:
    asked.put("all", xpath="/a", select="doc")
    body = b'{"name": "x", "document": "<a/>"}\n{"name": "y", "document": "<a>"}\n{}\n'
    answer = asked.ask("POST", "/feeds/f/documents", body, LINES)
    assert [one["status"] for one in answer.json["results"]] == [202, 400, 400]
    assert [one["name"] for one in answer.json["results"]] == ["x", "y", ""]
    assert (answer.json["accepted"], answer.json["rejected"]) == (1, 2)
    assert [one["document"] for one in asked.all_notifications("all", 1)] == ["x"]


def test_many_documents_as_multipart(asked: AskedBroker) -> None:
    asked.put("all", xpath="/a", select="doc")
    parts = "".join(
        f'--cut\r\nContent-Disposition: form-data; name="f"; filename="{name}"\r\n\r\n<a/>\r\n'
        for name in ("m1", "m2")
    )
    kind = {"Content-Type": "multipart/form-data; boundary=cut"}
    answer = asked.ask("POST", "/feeds/f/documents", f"{parts}--cut--\r\n", kind)
    assert [one["status"] for one in answer.json["results"]] == [202, 202]
    assert [one["document"] for one in asked.all_notifications("all", 2)] == ["m1", "m2"]
    assert asked.ask("POST", "/feeds/f/documents", parts, kind).status == 400


def test_a_repeated_request_with_its_key_is_harmless(asked: AskedBroker) -> None:
    asked.put("all", xpath="/a", select="doc")
    key = {"Idempotency-Key": "k1", **XML}
    first = asked.ask("POST", "/feeds/f/documents?name=d", "<a/>", key)
    again = asked.ask("POST", "/feeds/f/documents?name=d", "<a/>", key)
    assert (first.status, first.json) == (again.status, again.json)
    assert asked.ask("POST", "/feeds/f/documents?name=d", "<a>1</a>", key).status == 422
    assert asked.ask("POST", "/feeds/f/documents?name=d&time=9", "<a/>", key).status == 422
    asked.post("<a/>", "last")
    assert [one["document"] for one in asked.all_notifications("all", 2)] == ["d", "last"]


def test_numbers_go_on_when_a_subscription_is_made_again(asked: AskedBroker) -> None:
    asked.put("s", xpath="/a", select="doc")
    asked.post("<a/>", "d0")
    asked.post("<a/>", "d1")
    *_, before = asked.all_notifications("s", 2)
    assert asked.ask("DELETE", "/feeds/f/subscriptions/s").status == 204
    assert asked.ask("GET", "/subscriptions/s/notifications").status == 404
    asked.put("s", xpath="/a", select="doc")
    asked.post("<a/>", "d2")
    (after,) = asked.all_notifications("s", 1)
    assert (after["document"], after["seq"]) == ("d2", before["seq"] + 1)
    behind = asked.ask("GET", f"/subscriptions/s/notifications?after={before['seq'] - 1}")
    assert (behind.status, behind.json["oldest"]) == (410, after["seq"])
    assert asked.notifications("s", before["seq"])[0]["seq"] == after["seq"]


def test_a_query_that_is_wrong_says_where(asked: AskedBroker) -> None:
    answer = asked.put("s", xpath="//a[")
    assert (answer.status, answer.json["column"]) == (422, 5)
    assert asked.put("s", flwr="for $a in //a retrun <b/>").json["column"] == 15
    assert asked.put("s", xscl="f//a->x JOIN{").status == 422
    assert asked.put("s", xpath="//a", flwr="x").status == 422
    assert asked.put("s").status == 422
    assert asked.put("s", xpath="//p:a").status == 422
    assert asked.put("s", xpath="//p:a", namespaces={"p": "urn:p"}).status == 201


def test_an_id_is_unique_in_the_broker(asked: AskedBroker) -> None:
    asked.put_feed("g")
    assert asked.put("s", xpath="/a").status == 201
    assert asked.put("s", feed="g", xpath="/a").status == 409
    assert asked.put("s", xpath="/b").status == 200


def test_expressions_that_are_no_nodes_notify_when_they_hold(asked: AskedBroker) -> None:
    asked.put("many", xpath="count(//b) > 1")
    asked.post("<a><b/></a>", "one")
    asked.post("<a><b/><b/></a>", "two")
    assert [one["document"] for one in asked.all_notifications("many", 1)] == ["two"]


def test_many_subscriptions_in_one_request(asked: AskedBroker) -> None:
    lines = "\n".join(json.dumps({"id": f"s{n}", "xpath": f"/a[b = {n}]"}) for n in range(50))
    answer = asked.ask("POST", "/feeds/f/subscriptions", lines)
    assert answer.json == {"created": 50, "changed": 0}
    asked.post("<a><b>17</b></a>", "d17")
    assert asked.all_notifications("s17", 1)[0]["document"] == "d17"
    page = asked.ask("GET", "/feeds/f/subscriptions?search=s1&limit=3").json
    assert [one["id"] for one in page["subscriptions"]] == ["s1", "s10", "s11"]
    assert page["next"] == "s11"
    bad = lines + '\n{"id": "s99", "xpath": "]"}'
    assert asked.ask("POST", "/feeds/f/subscriptions", bad).status == 422
    assert asked.ask("GET", "/feeds/f/subscriptions/s99").status == 404


def test_what_selects_too_much_is_told_without_it(asked: AskedBroker) -> None:
    """One document of 100 kB with elements in each other would be a notification of 48 MB."""
    asked.put("all", xpath="//a")
    asked.put("inner", xpath="//a[not(a)]")
    asked.put("few", xpath="//a[count(.//a) >= 220]")
    depth, text = 240, "x" * 100_000
    asked.post("<a>" * depth + text + "</a>" * depth, "deep")
    asked.post("<a>next</a>", "small")
    first, second = asked.all_notifications("all", 2)
    assert (first["document"], first["matches"], first["truncated"]) == ("deep", [], True)
    assert first["count"] == depth
    assert (second["document"], second["matches"][0]["text"]) == ("small", "next")
    assert asked.all_notifications("inner", 2)[0]["matches"][0]["text"] == text
    (some,) = asked.all_notifications("few", 1)
    assert (some["count"], some["truncated"], len(some["matches"])) == (20, True, 5)
    (rejection,) = asked.ask("GET", "/feeds/f/rejections").json["rejections"]
    assert (rejection["document"], rejection["query"]) == ("deep", "all")


def test_a_page_is_read_without_what_is_behind_it(asked: AskedBroker) -> None:
    asked.put("every", xpath="/a", select="doc")
    asked.post_lines([(f"d{number}", "<a/>") for number in range(12_000)])
    assert asked.all_notifications("every", 12_000)[-1]["document"] == "d11999"
    key = asked.broker.subscriber("every").key
    with asked.broker.store.reader() as connection:
        first = notification_rows.last_number(connection, key) - 12_000
        for after, most in ((0, 10), (1, 1_000), (11_999, 10)):
            rows = notification_rows.notifications_after(
                connection, key, first + after, most, 1 << 24
            )
            assert rows[0].last > first + after
            assert len(rows) <= 2
            assert sum(row.amount for row in rows) < 12_000


def test_events_are_the_notifications(asked: AskedBroker) -> None:
    import http.client

    asked.put("s", xpath="/a", select="doc")
    connection = http.client.HTTPConnection("127.0.0.1", asked.port, timeout=20)
    headers = {"Accept": "text/event-stream", "Last-Event-ID": "0"}
    connection.request("GET", "/subscriptions/s/notifications", headers=headers)
    answer = connection.getresponse()
    assert answer.getheader("Content-Type", "").startswith("text/event-stream")
    asked.post("<a/>", "d1")
    lines = [answer.readline() for _ in range(4)]
    while not any(line.startswith(b"data:") for line in lines):
        lines.append(answer.readline())
    (number,) = [line for line in lines if line.startswith(b"id:")]
    (data,) = [line for line in lines if line.startswith(b"data:")]
    event = json.loads(data[5:])
    assert event["document"] == "d1"
    assert int(number[3:]) == event["seq"]
    connection.close()


def test_what_is_there_after_a_restart(tmp_path: Path) -> None:
    joined = "f//order->x1[id->x2] FOLLOWED BY{x2=x4, 60} f//bill->x3[order->x4]"
    with served(tmp_path) as asked:
        asked.put_feed("f", dtd="<!ELEMENT a (b*)><!ELEMENT b (#PCDATA)>", root="a")
        asked.put("s", xpath="//b[. > 5]")
        asked.put("j", xscl=joined)
        asked.post("<a><b>7</b></a>", "d1")
        asked.post("<order><id>7</id></order>", "o7")
        asked.all_notifications("s", 1)
    with served(tmp_path) as asked:
        asked.post("<a><b>8</b></a>", "d2")
        asked.post("<bill><order>7</order></bill>", "b7")
        assert [one["document"] for one in asked.all_notifications("s", 2)] == ["d1", "d2"]
        (row,) = asked.all_notifications("j", 1)
        assert (row["left"]["document"], row["right"]["document"]) == ("o7", "b7")
        numbers = [
            one["number"] for one in asked.ask("GET", "/feeds/f/documents").json["documents"]
        ]
        assert numbers == [1, 2, 3, 4]


def test_a_string_notifies_unless_it_is_empty(asked: AskedBroker) -> None:
    """XPath's boolean() of "0" and "false" is true."""
    asked.put("text", xpath="string(//b)")
    for name, text in (("zero", "0"), ("empty", ""), ("false", "false"), ("some", "x")):
        asked.post(f"<a><b>{text}</b></a>", name)
    told = [one["document"] for one in asked.all_notifications("text", 3)]
    assert told == ["zero", "false", "some"]
