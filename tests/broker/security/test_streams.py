"""Who may read, publish into and make which stream: the matrix of docs/security.md, row by row.

A stream is a feed, or what joins publish. Each row is asked twice, once of a name that is there and
once of one that is not; who has no right to the name gets the same answer both times.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from extract.broker.security.tokens import TokenFile
from tests.support.broker_server import LINES, Answer, AskedBroker, served
from tests.support.postgres_server import PostgresServer

_TOKENS: Final = {
    "root": "admin",
    "boss": "admin b.*",  # an admin of some feeds
    "both": "publish,subscribe b.*",
    "read": "subscribe b.*",
    "send": "publish b.*",
    "wide": "publish,subscribe",
    "mate": "publish,subscribe a.*",
}


def _token(name: str) -> str:
    return f"{name}-0123456789abcdef"


def _file(folder: Path, **changed: str) -> TokenFile:
    lines = [f"{name} {_token(name)} {rest}" for name, rest in (_TOKENS | changed).items()]
    (folder / "tokens").write_text("\n".join(lines))
    (folder / "tokens").chmod(0o600)
    return TokenFile.load(folder / "tokens")


def _join(left: str, right: str, publish: str = "") -> str:
    text = f"{left}//a->x1[b->x2] JOIN{{x2=x4, 60}} {right}//a->x3[b->x4]"
    return f"{text} PUBLISH {publish}" if publish else text


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedBroker]:
    folder = tmp_path_factory.mktemp("streams")
    with served(folder / "store", tokens=_file(folder), synchronous=False) as asked:
        root = asked.as_client(_token("root"))
        for feed in ("a.feed", "b.feed", "b.source"):
            assert root.put_feed(feed).status == 201
        assert _of(root, "mate").put("made", "a.feed", xscl=_in_a("a.made")).status == 201
        body = _join("b.feed", "b.feed", "b.made")
        assert _of(root, "both").put("made2", "b.feed", xscl=body).status == 201
        yield root


def _in_a(publish: str) -> str:
    return _join("a.feed", "a.feed", publish)


def _of(asked: AskedBroker, name: str) -> AskedBroker:
    return asked.as_client(_token(name) if name else "")


# What is asked of a name: each puts things back as they were.


def _read(asked: AskedBroker, name: str) -> Answer:
    return _put_and_delete(asked, _join("b.feed", name))


def _publish(asked: AskedBroker, name: str) -> Answer:
    return _put_and_delete(asked, _join("b.source", "b.source", name))


def _put_and_delete(asked: AskedBroker, xscl: str) -> Answer:
    identifier = uuid.uuid4().hex
    answer = asked.put(identifier, "b.feed", xscl=xscl)
    if answer.status == 201:
        asked.ask("DELETE", f"/feeds/b.feed/subscriptions/{identifier}")
    return answer


def _make(asked: AskedBroker, name: str) -> Answer:
    answer = asked.put_feed(name)
    if answer.status == 201:
        asked.ask("DELETE", f"/feeds/{name}")
    return answer


def _look(asked: AskedBroker, name: str) -> Answer:
    return asked.ask("GET", f"/feeds/{name}")


def _send(asked: AskedBroker, name: str) -> Answer:
    return asked.post("<zz/>", feed=name)


def _rejections(asked: AskedBroker, name: str) -> Answer:
    return asked.ask("GET", f"/feeds/{name}/rejections")


class _Row(NamedTuple):
    """A row of the matrix.

    Attributes:
        asked: What is asked.
        client: Who asks.
        names: Of feeds that are there, of published streams, and of nothing.
        answers: To each of the three.
    """

    asked: Callable[[AskedBroker, str], Answer]
    client: str
    names: tuple[str, str, str]
    answers: tuple[int, int, int]


_A: Final = ("a.feed", "a.made", "a.none")  # names that most have no right to
_B: Final = ("b.feed", "b.made", "b.none")
_MATRIX: Final = (
    # Read a stream in a join: the role subscribe for its name.
    _Row(_read, "root", _A, (201, 201, 404)),
    _Row(_read, "wide", _A, (201, 201, 404)),
    _Row(_read, "boss", _A, (404, 404, 404)),
    _Row(_read, "both", _A, (404, 404, 404)),
    _Row(_read, "read", _A, (404, 404, 404)),
    _Row(_read, "both", _B, (201, 201, 404)),
    _Row(_read, "read", _B, (201, 201, 404)),
    _Row(_read, "send", _B, (403, 403, 403)),
    _Row(_read, "mate", _A, (404, 404, 404)),  # it may not subscribe to b.feed
    # Publish into one: the role publish for its name, and no feed has it.
    _Row(_publish, "root", _A, (409, 201, 201)),
    _Row(_publish, "wide", _A, (409, 201, 201)),
    _Row(_publish, "boss", _A, (403, 403, 403)),
    _Row(_publish, "both", _A, (403, 403, 403)),
    _Row(_publish, "read", _A, (403, 403, 403)),
    _Row(_publish, "boss", _B, (409, 201, 201)),
    _Row(_publish, "both", _B, (409, 201, 201)),
    _Row(_publish, "read", _B, (403, 403, 403)),
    # Make a feed: the role admin for its name, and no join publishes it.
    _Row(_make, "root", _A, (200, 409, 201)),
    _Row(_make, "boss", _B, (200, 409, 201)),
    _Row(_make, "boss", _A, (404, 404, 404)),
    _Row(_make, "wide", _A, (403, 403, 403)),
    _Row(_make, "both", _A, (404, 404, 404)),
    _Row(_make, "both", _B, (403, 403, 403)),
    # Look at a feed: any role for its name. Send documents: publish. Rejections: subscribe.
    _Row(_look, "both", _A, (404, 404, 404)),
    _Row(_look, "send", _B, (200, 404, 404)),
    _Row(_send, "both", _A, (404, 404, 404)),
    _Row(_send, "read", _B, (403, 403, 403)),
    _Row(_send, "send", _B, (202, 404, 404)),
    _Row(_rejections, "both", _A, (404, 404, 404)),
    _Row(_rejections, "send", _B, (403, 403, 403)),
    _Row(_rejections, "read", _B, (200, 404, 404)),
    *(
        _Row(asked, "", names, (401, 401, 401))
        for asked in (_read, _publish, _make, _look, _send, _rejections)
        for names in (_A, _B)
    ),
)


@pytest.mark.parametrize("row", _MATRIX, ids=lambda row: f"{row.asked.__name__}-{row.client}")
def test_the_matrix(root: AskedBroker, row: _Row) -> None:
    client = _of(root, row.client)
    answers = [row.asked(client, name) for name in row.names]
    assert tuple(one.status for one in answers) == row.answers, [one.body for one in answers]
    if len(set(row.answers)) == 1 and row.answers[0] > 400:
        said = {
            one.body.replace(name.encode(), b"NAME")
            for one, name in zip(answers, row.names, strict=True)
        }
        assert len(said) == 1, "the answer says whether the name is there"


def test_an_admin_of_some_feeds_gets_nothing_of_others_by_a_join(root: AskedBroker) -> None:
    """Neither by looking at it, nor by changing what it reads."""
    wide, boss = _of(root, "wide"), _of(root, "boss")
    assert wide.put("far", "b.feed", xscl=_join("a.feed", "b.feed")).status == 201
    assert wide.put("near", "b.feed", xscl=_join("b.source", "b.feed")).status == 201
    assert boss.ask("GET", "/subscriptions/near/notifications").status == 200
    for path in ("/subscriptions/far/notifications", "/feeds/b.feed/subscriptions/far"):
        assert boss.ask("GET", path).status == 404
        assert root.ask("GET", path).status == 200
    listed = boss.ask("GET", "/feeds/b.feed/subscriptions").json["subscriptions"]
    assert "far" not in {one["id"] for one in listed}
    assert boss.put("far", "b.feed", xpath="/a").status == 409
    assert boss.put("near", "b.feed", xscl=_join("a.feed", "b.feed")).status == 404
    assert boss.put("near", "b.feed", xscl=_join("b.feed", "b.feed")).status == 200
    assert root.ask("GET", "/feeds/b.feed/subscriptions/near").json["owner"] == "wide"
    for identifier in ("far", "near"):
        root.ask("DELETE", f"/feeds/b.feed/subscriptions/{identifier}")


def test_every_input_stream_is_for_tokens_of_all_feeds(root: AskedBroker) -> None:
    for client, status in (("root", 201), ("wide", 201), ("boss", 403), ("both", 403)):
        assert _read(_of(root, client), "S").status == status, client


@pytest.mark.parametrize("client", ["send", "both", "read"])
def test_what_the_page_shows_of_rejections(root: AskedBroker, client: str) -> None:
    root.post("no document", "bad", "b.feed")
    root.post("no document", "secret", "a.feed")
    some = _of(root, client).ask("GET", "/rejections").json["rejections"]
    assert {one["feed"] for one in some} == (set() if client == "send" else {"b.feed"})


def test_who_loses_a_right_publishes_no_more(tmp_path: Path) -> None:
    """Others read what a join publishes, so it ends; with the right it begins again."""

    def told(asked: AskedBroker, number: int) -> int:
        """How often the reader was told by now; the end of the matching is seen by another."""
        for name in ("one", "other"):
            assert asked.post(f"<a><b>{number}</b></a>", name, "b.feed").status == 202
        assert asked.put("seen", "b.feed", xpath=f"/a[b = {number}]").status in (200, 201)
        asked.post(f"<a><b>{number}</b></a>", "last", "b.feed")
        assert asked.notifications("seen")
        asked.ask("DELETE", "/feeds/b.feed/subscriptions/seen")
        return len(asked.ask("GET", "/subscriptions/reader/notifications").json["notifications"])

    reader = "b.made//join->x1[a->x2] JOIN{x2=x4, 60} b.feed//a->x3[b->x4]"
    with served(tmp_path / "store", tokens=_file(tmp_path), synchronous=False) as asked:
        root = _of(asked, "root")
        root.put_feed("b.feed")
        both = _join("b.feed", "b.feed", "b.made")
        assert _of(asked, "both").put("made", "b.feed", xscl=both).status == 201
        assert root.put("reader", "b.feed", xscl=reader).status == 201
        count = told(root, 1)
        assert count
        asked.broker.tokens_changed(_file(tmp_path, both="subscribe b.*"))
        assert told(root, 2) == count
    with served(
        tmp_path / "store", tokens=_file(tmp_path, both="subscribe b.*"), synchronous=False
    ) as asked:
        root = _of(asked, "root")
        assert told(root, 3) == count
        asked.broker.tokens_changed(_file(tmp_path))
        assert told(root, 4) > count


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url(schema=f"s{uuid.uuid4().hex[:12]}")


def _together(barrier: threading.Barrier, ask: Any, *args: Any, **more: Any) -> Answer:
    barrier.wait(60)
    answer: Answer = ask(*args, **more)
    return answer


def test_one_name_is_never_a_feed_and_a_stream(store: str) -> None:
    """Two at once: both checks look at what is written, in the order in which it is."""
    with served(store, synchronous=False) as asked, ThreadPoolExecutor(2) as pool:
        asked.put_feed("f")
        for number in range(20):
            name, together = f"n{number}", threading.Barrier(2)
            feed = pool.submit(_together, together, asked.put_feed, name)
            join = pool.submit(
                _together, together, asked.put, f"j{number}", xscl=_join("f", "f", name)
            )
            statuses = sorted([feed.result().status, join.result().status])
            assert statuses == [201, 409]
        assert asked.put("sure", xscl=_join("f", "f", "sure")).status == 201
        names = {one["name"] for one in asked.ask("GET", "/feeds").json["feeds"]}
        assert not names & asked.broker.registry.published()
    with served(store, synchronous=False) as asked:  # a start reads the same
        published = asked.broker.registry.published()
        assert len(published) + len(names) == 22
        for name in published:
            assert asked.put_feed(name).status == 409
        assert asked.ask("DELETE", "/feeds/f/subscriptions/sure").status == 204
        assert asked.put_feed("sure").status == 201  # the name is free
        assert asked.put("again", xscl=_join("f", "f", "sure")).status == 409
        line = json.dumps({"id": "many", "xscl": _join("f", "f", "sure")})
        assert asked.ask("POST", "/feeds/f/subscriptions", line, LINES).status == 409
