"""The version of XPath of a subscription: it holds, or is refused."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from extract.broker.server import check_store
from extract.broker.settings import BrokerSettings
from extract.broker.store.sealed import unsealed
from extract.broker.store.sqlite_database import FILE
from extract.cli.broker_subs import as_line
from extract.client.client import Client
from extract.subscriptions import Subscription
from tests.support.broker_server import served

# True in one version of XPath alone: strings are compared as numbers, or as strings.
FIRST_ONLY = "//k[a < '5']"
LATER_ONLY = "//k[matches(a, '^1.$')]"
DOCUMENT = "<k><a>10</a></k>"


def test_a_query_is_answered_in_its_version(tmp_path: Path) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        for version in ("1.0", "2.0", "3.0", "3.1"):
            for select in ("nodes", "count", "doc"):
                name = f"{select}{version}"
                answer = asked.put(name, xpath=FIRST_ONLY, version=version, select=select)
                assert (answer.status, answer.json["version"]) == (201, version)
        asked.put("flwr_like", xpath="for $k in //k return string($k/a)", version="3.1")
        asked.put("matches", xpath=LATER_ONLY, version="2.0", select="doc")
        assert asked.put("early", xpath=LATER_ONLY).status == 422
        asked.post(DOCUMENT, "later")
        asked.post("<k><a>1</a></k>", "both")
        for select in ("nodes", "count", "doc"):
            for version in ("2.0", "3.0", "3.1"):
                told = asked.all_notifications(f"{select}{version}", 2)
                assert [one["document"] for one in told] == ["later", "both"]
            told = asked.all_notifications(f"{select}1.0", 1)
            assert [one["document"] for one in told] == ["both"]
        assert asked.all_notifications("matches", 1)[0]["document"] == "later"
        first, _ = asked.all_notifications("flwr_like", 2)
        assert [one["value"] for one in first["matches"]] == ["10"]
        view = asked.ask("GET", "/feeds/f/subscriptions/doc3.1").json
        assert view["version"] == "3.1"
        tried = asked.ask(
            "POST",
            "/feeds/f/try",
            {"xpath": FIRST_ONLY, "version": "3.1", "document": DOCUMENT},
        )
        assert (tried.status, tried.json["total"]) == (200, 1)
    with served(tmp_path) as asked:
        asked.post(DOCUMENT, "again")
        assert asked.all_notifications("doc3.1", 3)[-1]["document"] == "again"


@pytest.mark.parametrize(
    "body",
    [
        {"xpath": "//k", "version": "9"},
        {"xpath": "//k", "version": 2.0},
        {"xpath": "//k", "version": None},
        {"xpath": "//k", "metadata": {"version": "3.1"}},
        {"flwr": "for $k in //k return <a/>", "version": "3.1"},
        {"xscl": "f//k->x JOIN{x=y, 9} f//k->y", "version": "2.0"},
        {"xpath": "//k[", "version": "3.1"},
    ],
)
def test_a_version_that_does_not_hold_is_refused(tmp_path: Path, body: dict[str, object]) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        assert asked.ask("PUT", "/feeds/f/subscriptions/s", body).status == 422
        line = json.dumps({"id": "s", **body})
        assert asked.ask("POST", "/feeds/f/subscriptions", line).status == 422
        if "metadata" not in body:
            tried = {**body, "document": DOCUMENT}
            assert asked.ask("POST", "/feeds/f/try", tried).status == 422


def test_a_stored_version_that_was_metadata_keeps_its_meaning(tmp_path: Path) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        asked.put("old", xpath=FIRST_ONLY, select="doc", metadata={"team": "x"})
    with sqlite3.connect(tmp_path / FILE) as connection:
        ((key, stored),) = connection.execute("SELECT key, body FROM subscription")
        body = unsealed(stored, "", key)
        told = body.replace(b'{"team":"x"}', b'{"version":"3.1"}')
        assert told != body
        connection.execute("UPDATE subscription SET body = ?", (told,))
    connection.close()
    (note,) = check_store(str(tmp_path), BrokerSettings(), None)["notes"]
    assert "'old'" in note
    assert "XPath 1.0" in note
    with served(tmp_path) as asked:
        asked.post(DOCUMENT, "later")
        asked.post("<k><a>1</a></k>", "both")
        assert asked.all_notifications("old", 1)[0]["document"] == "both"
        with Client(f"http://127.0.0.1:{asked.port}") as client:
            line = as_line(client.subscription("f", "old"))
            assert line["version"] == "1.0"  # as a file of queries would read it


def test_clients_send_the_version(tmp_path: Path) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        with Client(f"http://127.0.0.1:{asked.port}") as client:
            client.add("f", [Subscription("q", FIRST_ONLY, version="3.1")])
            one = client.subscription("f", "q")
            assert (one.version, as_line(one)["version"]) == ("3.1", "3.1")
        asked.post(DOCUMENT, "later")
        assert asked.all_notifications("q", 1)[0]["document"] == "later"
