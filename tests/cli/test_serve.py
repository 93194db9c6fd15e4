"""``extract serve``: what it says without serving."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from extract.broker.store.store import BrokerStore
from extract.cli import cli
from tests.support.postgres_server import PostgresServer


def _run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["serve", *arguments])
    return done.exit_code, done.output


def test_check_says_what_is_there(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    status, text = _run("--store", store, "--check")
    assert status == 0
    assert json.loads(text)["subscriptions"] == 0


def test_a_backup_can_be_served(tmp_path: Path) -> None:
    store, copy = str(tmp_path / "store"), str(tmp_path / "copy")
    BrokerStore.open(store).close()
    assert _run("--store", store, "--backup", copy)[0] == 0
    assert _run("--store", copy, "--check")[0] == 0
    status, text = _run("--store", store, "--backup", copy)
    assert status == 2
    assert "already" in text


def test_what_cannot_be_served(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    assert "loopback" in _run("--store", store, "--host", "0.0.0.0")[1]
    assert "no limit" in _run("--store", store, "--limit", "x=1", "--check")[1]
    assert "is a number" in _run("--store", store, "--limit", "connections=x", "--check")[1]
    assert "cannot be read" in _run("--store", store, "--token-file", f"{store}/none", "--check")[1]
    assert "bulk_lines=" in _run("--store", store, "--limit", "help")[1]
    opened = BrokerStore.open(store)
    status, text = _run("--store", store, "--check")
    served = _run("--store", store, "--port", "0")
    opened.close()
    assert status == 2
    assert "another broker" in text
    assert served == (2, text)  # it does not say where it serves before it does


def test_a_backup_does_not_show_the_password(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.url(schema="shown").replace("postgres@", "postgres:hidden@")
    BrokerStore.open(url).close()
    status, text = _run("--store", url, "--backup", str(tmp_path / "copy"))
    assert (status, "is a copy of" in text, "hidden" in text) == (0, True, False)
