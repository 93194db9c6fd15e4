"""Who may do what: tokens, roles, feeds, hosts, origins, limits."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from extract.broker.security.tokens import TokenError, TokenFile
from extract.broker.server import ServeError, check_address
from extract.broker.settings import BrokerLimits, BrokerSettings
from tests.support.broker_crash import broker_process
from tests.support.broker_server import LINES, XML, AskedBroker, served

ROOT, DESK, NEWS, READER = (f"{name}-0123456789abcdef" for name in ("root", "desk", "news", "read"))
FILE = f"""
# name token roles feeds
root {ROOT} admin
desk {DESK} publish,subscribe stocks,open.*
news {NEWS} publish,subscribe news
read {READER} subscribe stocks
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedBroker]:
    folder = tmp_path_factory.mktemp("broker")
    file = folder / "tokens"
    file.write_text(FILE)
    file.chmod(0o600)
    with served(folder / "store", tokens=TokenFile.load(file)) as asked:
        root = asked.as_client(ROOT)
        for feed in ("stocks", "news", "open.a"):
            assert root.put_feed(feed).status == 201
        yield root


def test_what_shows_or_takes_data_wants_a_token(root: AskedBroker) -> None:
    nobody = root.as_client("")
    assert nobody.ask("GET", "/health").status == 200
    for method, path in (
        ("GET", "/feeds"),
        ("PUT", "/feeds/x"),
        ("POST", "/feeds/stocks/documents"),
        ("GET", "/subscriptions/s/notifications"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/nothing"),
    ):
        for asked in (nobody, root.as_client("wrong-0123456789abcdef")):
            answer = asked.ask(method, path, "{}")
            assert answer.status == 401, path
            assert answer.headers["www-authenticate"] == "Bearer"
    assert nobody.ask("GET", f"/feeds?token={ROOT}&access_token={ROOT}").status == 401
    assert nobody.ask("GET", "/feeds", headers={"Cookie": f"token={ROOT}"}).status == 401


def test_roles_and_feeds(root: AskedBroker) -> None:
    desk, news, reader = (root.as_client(one) for one in (DESK, NEWS, READER))
    assert desk.post("<a/>", feed="stocks").status == 202
    assert desk.post("<a/>", feed="open.a").status == 202
    assert desk.post("<a/>", feed="news").status == 404
    assert reader.post("<a/>", feed="stocks").status == 403
    assert desk.put_feed("stocks").status == 403
    assert desk.put_feed("other").status == 404
    assert [one["name"] for one in news.ask("GET", "/feeds").json["feeds"]] == ["news"]
    assert news.ask("GET", "/feeds/stocks").status == 404
    assert news.ask("GET", "/feeds/stocks/documents").status == 404


def test_ids_that_one_may_not_see_are_not_there(root: AskedBroker) -> None:
    desk, news, reader = (root.as_client(one) for one in (DESK, NEWS, READER))
    assert desk.put("mine", feed="stocks", xpath="/a").status == 201
    for other in (news, reader):
        for method, path in (
            ("GET", "/subscriptions/mine/notifications"),
            ("GET", "/subscriptions/mine/dead-letters"),
            ("GET", "/feeds/stocks/subscriptions/mine"),
            ("DELETE", "/feeds/stocks/subscriptions/mine"),
        ):
            answer = other.ask(method, path)
            there = other.ask(method, path.replace("mine", "none"))
            assert (answer.status, answer.body) == (there.status, there.body), path
            assert answer.status == 404
    assert reader.ask("GET", "/feeds/stocks/subscriptions").json["subscriptions"] == []
    assert root.ask("GET", "/feeds/stocks/subscriptions/mine").status == 200


def test_a_join_reads_only_feeds_that_its_owner_may_read(root: AskedBroker, tmp_path: Path) -> None:
    desk = root.as_client(DESK)
    joined = "{}//a->x1[b->x2] JOIN{{x2=x4, 60}} {}//a->x3[b->x4]"
    assert desk.put("j1", feed="stocks", xscl=joined.format("stocks", "open.a")).status == 201
    assert desk.put("j1", feed="stocks", xscl=joined.format("stocks", "stocks")).status == 200
    assert desk.put("j2", feed="stocks", xscl=joined.format("stocks", "news")).status == 404
    assert desk.put("j2", feed="stocks", xscl=joined.format("S", "stocks")).status == 403
    assert root.put("j3", feed="stocks", xscl=joined.format("S", "news")).status == 201
    file = tmp_path / "tokens"
    file.write_text(FILE.replace("stocks,open.*", "open.*"))
    file.chmod(0o600)
    root.broker.tokens_changed(TokenFile.load(file))
    assert root.put("behind", feed="stocks", xpath="/a").status == 201  # in the journal, behind it
    assert desk.ask("GET", "/subscriptions/j1/notifications").status == 404
    assert root.ask("GET", "/subscriptions/j3/notifications").status == 200
    root.broker.tokens_changed(root.broker.tokens.load(file.with_name("tokens")))


def test_rebinding_and_requests_across_sites_are_refused(root: AskedBroker) -> None:
    def status(**headers: str) -> int:
        return root.ask("GET", "/feeds", headers=headers).status

    port = root.port
    assert status(Host=f"127.0.0.1:{port}") == 200
    assert status(Host=f"localhost:{port}", Origin=f"http://localhost:{port}") == 200
    assert status(Host="evil.example") == 421
    assert status(Host="127.0.0.1.evil.example") == 421
    assert status(Host="") == 421
    assert status(Host=f"127.0.0.1:{port}", Origin="http://evil.example") == 403
    assert status(Host=f"127.0.0.1:{port}", Origin="null") == 403
    assert status(Host=f"127.0.0.1:{port}", Origin="http://127.0.0.1:1") == 403


def test_every_answer_tells_browsers_what_they_may_do(root: AskedBroker) -> None:
    for asked, path in ((root, "/feeds"), (root, "/nothing"), (root.as_client(""), "/feeds")):
        headers = asked.ask("GET", path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("name", ["..", "%2e%2e", "a%2Fb", ".hidden", "a%00", "a%20b", "x" * 200])
def test_names_never_become_paths(root: AskedBroker, name: str) -> None:
    assert root.ask("PUT", f"/feeds/{name}", {}).status in (404, 405, 422)


def test_without_tokens_only_the_loopback_is_served() -> None:
    with pytest.raises(ServeError, match="loopback"):
        check_address("0.0.0.0", has_tokens=False)
    check_address("0.0.0.0", has_tokens=True)
    check_address("127.0.0.1", has_tokens=False)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a b", "a name, a token and roles"),
        (f"a {ROOT} boss", "no role"),
        (f"a {ROOT} admin\nb {ROOT} admin", "twice"),
        (f"a {ROOT} admin\na {DESK} admin", "twice"),
        ("# nothing", "no token"),
    ],
)
def test_files_of_tokens_that_are_wrong(tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(line)
    file.chmod(0o600)
    with pytest.raises(TokenError, match=reason):
        TokenFile.load(file)


def test_a_file_of_tokens_that_others_may_write_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(FILE)
    file.chmod(0o666)
    with pytest.raises(TokenError, match="others may write"):
        TokenFile.load(file)


def test_short_lines_and_short_tokens(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "tokens"
    file.write_text("s3cret\nwriter publish\nreader subscribe,publish\nx t0ken subscribe f,g\n")
    file.chmod(0o600)
    tokens = TokenFile.load(file)
    found = {one: tokens.client(one) for one in ("s3cret", "writer", "reader", "t0ken", "x")}
    assert found["s3cret"] is not None
    assert found["s3cret"].is_admin
    assert found["writer"] is not None
    assert found["writer"].roles == {"publish"}
    assert found["reader"] is not None
    assert found["reader"].may("subscribe", "any")
    assert found["t0ken"] is not None
    assert not found["t0ken"].may("subscribe", "h")
    assert found["x"] is None
    assert len([one for one in caplog.messages if "can be guessed" in one]) == 4
    assert not any("s3cret" in one for one in caplog.messages)


def test_limits_of_a_client(tmp_path: Path) -> None:
    limits = BrokerLimits(
        document_bytes=1_000,
        body_bytes=5_000,
        bulk_lines=3,
        gzip_ratio=2,
        subscriptions=2,
        connections=0,
        pending_documents=2,
    )
    with served(tmp_path, BrokerSettings(limits=limits)) as asked:
        asked.put_feed("f")
        assert asked.post("<a>" + "x" * 1_000 + "</a>").status == 413
        lines = [("d", "<a/>")] * 4
        assert asked.post_lines(lines).status == 413
        assert asked.post_lines([("d", "<a>" + "x" * 1_000 + "</a>")]).json["rejected"] == 1
        assert asked.post_lines([("d", "x" * 6_000)]).status == 413
        packed = gzip.compress(b"<a>" + b" " * 900 + b"</a>")
        sent = {**XML, "Content-Encoding": "gzip"}
        assert asked.ask("POST", "/feeds/f/documents", packed, sent).status == 202
        bomb = gzip.compress(b" " * 4_000_000)
        assert asked.ask("POST", "/feeds/f/documents", bomb, sent).status == 413
        assert asked.ask("POST", "/feeds/f/documents", packed[:-9], sent).status == 400
        pieces = gzip.compress(b"<a>") + gzip.compress(b"") + gzip.compress(b"</a>")
        assert asked.ask("POST", "/feeds/f/documents", pieces, sent).status == 202
        assert (
            asked.ask(
                "POST", "/feeds/f/documents", b"<a/>", {**XML, "Content-Encoding": "br"}
            ).status
            == 415
        )
        assert asked.put("s1", xpath="/a").status == 201
        assert asked.put("s2", xpath="/a").status == 201
        assert asked.put("s3", xpath="/a").status == 403
        assert asked.put("s1", xpath="/b").status == 200
        answer = asked.ask("GET", "/subscriptions/s1/notifications?wait=5")
        assert (answer.status, answer.headers["retry-after"]) == (429, "5")


def test_a_packed_body_of_empty_pieces_is_refused_at_once(tmp_path: Path) -> None:
    """zlib copies what is behind each piece, which makes hours of some megabytes."""
    with served(tmp_path) as asked:
        asked.put_feed("f")
        packed = gzip.compress(b"") * 1_000_000  # hours, if all were looked at
        sent = {**LINES, "Content-Encoding": "gzip"}
        answer = asked.ask("POST", "/feeds/f/documents", packed, sent)
        assert (answer.status, "members" in answer.json["reason"]) == (413, True)


@pytest.mark.parametrize("end", ["%0A", "%0D", "%20", "%7F", "%C2%85"])
def test_no_name_ends_with_a_control(tmp_path: Path, end: str) -> None:
    with served(tmp_path) as asked:
        asked.put_feed("f")
        assert asked.put_feed(f"g{end}").status == 422
        assert asked.put(f"s{end}", xpath="/a").status == 422
        line = json.dumps({"id": f"t{unquote(end)}", "xpath": "/a"})
        answer = asked.ask("POST", "/feeds/f/subscriptions", line, LINES)
        assert (answer.status, answer.json["line"]) == (422, 1)
        assert [one["name"] for one in asked.ask("GET", "/feeds").json["feeds"]] == ["f"]


@pytest.mark.parametrize("dots", [".", ".."])
def test_no_id_is_a_step_in_a_path(tmp_path: Path, dots: str) -> None:
    """A client that resolves it would delete the feed, and not the subscription."""
    with served(tmp_path) as asked:
        asked.put_feed("f")
        assert asked.put(dots, xpath="/a").status == 422
        line = json.dumps({"id": dots, "xpath": "/a"})
        assert asked.ask("POST", "/feeds/f/subscriptions", line, LINES).status == 422
        assert asked.put(f"{dots}x", xpath="/a").status == 201


def test_too_many_requests_are_told_when_to_come_again(tmp_path: Path) -> None:
    limits = BrokerLimits(requests_per_second=2)
    with served(tmp_path, BrokerSettings(limits=limits)) as asked:
        answers = [asked.ask("GET", "/feeds") for _ in range(8)]
        refused = [one for one in answers if one.status == 429]
        assert refused
        assert int(refused[0].headers["retry-after"]) >= 1
        assert asked.ask("GET", "/health").status == 200


def test_too_many_bytes_are_told_when_to_come_again(tmp_path: Path) -> None:
    limits = BrokerLimits(bytes_per_second=1_000)
    with served(tmp_path, BrokerSettings(limits=limits)) as asked:
        asked.put_feed("f")
        large = "<a>" + "x" * 5_000 + "</a>"
        answers = [asked.post(large) for _ in range(2)]
        assert [one.status for one in answers] == [202, 429]
        assert int(answers[1].headers["retry-after"]) >= 3


def test_documents_are_refused_while_too_many_wait(tmp_path: Path) -> None:
    limits = replace(BrokerLimits(), pending_documents=5)
    with served(tmp_path, BrokerSettings(limits=limits)) as asked:
        asked.put_feed("f")
        asked.broker.pending.add(5, 10)
        answer = asked.post("<a/>")
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        body = json.dumps({"name": "d", "document": "<a/>"})
        assert asked.ask("POST", "/feeds/f/documents", body, LINES).status == 429
        asked.broker.pending.release(5, 10)
        assert asked.post("<a/>").status == 202


def test_tokens_are_read_again_and_a_stop_is_in_order(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"root {ROOT} admin")
    file.chmod(0o600)
    store = str(tmp_path / "store")
    with broker_process(store, "--token-file", str(file)) as (asked, process):
        assert asked.as_client(ROOT).put_feed("f").status == 201
        assert asked.as_client(DESK).ask("GET", "/feeds").status == 401
        file.write_text(f"root {ROOT} admin\ndesk {DESK} subscribe")
        os.kill(process.pid, signal.SIGHUP)
        while asked.as_client(DESK).ask("GET", "/feeds").status != 200:
            time.sleep(0.01)
        process.terminate()
        assert process.wait(30) == 0


def _tokens(folder: Path, text: str) -> TokenFile:
    file = folder / "tokens"
    file.write_text(text)
    file.chmod(0o600)
    return TokenFile.load(file)


def test_a_subscription_has_the_rights_of_its_owner_whoever_changes_it(tmp_path: Path) -> None:
    join = "a//x->x1[k->x2] JOIN{x2=x4, 60} b//y->x3[k->x4]"
    admin, ann = f"root {ROOT} admin\n", f"ann {DESK} subscribe a"
    with served(tmp_path / "store", tokens=_tokens(tmp_path, f"{admin}{ann},b")) as asked:
        root, reader = asked.as_client(ROOT), asked.as_client(DESK)
        for feed in ("a", "b"):
            root.put_feed(feed)
        assert reader.put("hers", "a", xscl=join).status == 201
        root.put("all", "a", xpath="/*")
        asked.broker.tokens_changed(_tokens(tmp_path, f"{admin}{ann}"))
        assert root.put("all", "a", xpath="/x").status == 200  # behind the change of tokens
        assert reader.ask("GET", "/feeds/a/subscriptions/hers").status == 404
        assert root.put("hers", "a", xscl=join).status == 404  # there is no b for her
        assert reader.put("hers", "a", xpath="/x").status == 200
        assert reader.ask("GET", "/feeds/a/subscriptions/hers").status == 200
        root.post("<x/>", "one", "a")
        assert [row["document"] for row in reader.notifications("hers")] == ["one"]


def test_who_loses_a_right_is_told_nothing_more(tmp_path: Path) -> None:
    admin, ann = f"root {ROOT} admin\n", f"ann {DESK} subscribe stocks\n"
    with served(tmp_path / "store", tokens=_tokens(tmp_path, admin + ann)) as asked:
        root, reader = asked.as_client(ROOT), asked.as_client(DESK)
        root.put_feed("stocks")
        reader.put("hers", "stocks", xpath="/a")
        root.put("ours", "stocks", xpath="/a")
        root.post("<a/>", "one", "stocks")
        assert len(reader.all_notifications("hers", 1)) == 1
        asked.broker.tokens_changed(_tokens(tmp_path, admin))
        root.post("<a/>", "two", "stocks")
        assert [one["document"] for one in root.all_notifications("ours", 2)] == ["one", "two"]
        rows = root.notifications("hers", wait=0)
        assert [one["document"] for one in rows] == ["one"]
        asked.broker.tokens_changed(_tokens(tmp_path, admin + ann))
        root.post("<a/>", "three", "stocks")
        root.all_notifications("ours", 3)
        rows = reader.notifications("hers")
        assert [(one["seq"], one["document"]) for one in rows] == [(1, "one"), (2, "three")]


def test_event_streams_end_when_tokens_change(root: AskedBroker) -> None:
    root.put("streamed", "stocks", xpath="/a")
    connection = http.client.HTTPConnection("127.0.0.1", root.port, timeout=20)
    headers = {"Authorization": f"Bearer {ROOT}", "Accept": "text/event-stream"}
    connection.request("GET", "/subscriptions/streamed/notifications", headers=headers)
    answer = connection.getresponse()
    assert answer.readline().startswith(b"retry")
    while not len(root.broker.readers):
        pass
    root.broker.tokens_changed(root.broker.tokens)
    assert b": ping" in answer.read()  # and that is all
    connection.close()


def test_metadata_makes_no_join(tmp_path: Path) -> None:
    """A client that names a key of its metadata so must not keep the broker from starting."""
    tokens = _tokens(tmp_path, f"root {ROOT} admin\n")
    for _ in range(2):
        with served(tmp_path / "store", tokens=tokens) as asked:
            root = asked.as_client(ROOT)
            root.put_feed("f")
            assert root.put("odd", xpath="/a", metadata={"xscl": "S//"}).status in (200, 201)
            root.post("<a/>")
            assert root.notifications("odd")


def test_lines_are_counted_before_they_are_read(root: AskedBroker) -> None:
    body = b"\n" * 500_000
    assert root.ask("POST", "/feeds/stocks/documents", body, LINES).status == 413
    assert root.ask("POST", "/feeds/stocks/subscriptions", body, LINES).status == 413
