"""A connection that is lost: what has committed nothing is done again, all else is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from extract import Scheme, Subscriptions
from extract.cli.revising import revise_scheme
from extract.cli.revision import Revision
from extract.preptool.prepare import prepare
from extract.preptool.revise import Reviser
from extract.scheme.database import retry
from extract.scheme.database.errors import LostConnection, NoConnection, UncertainCommit
from extract.scheme.database.head import read_head
from extract.scheme.database.read import load_stored
from extract.scheme.database.store import Store
from extract.subscriptions import Subscription
from tests.support.databases import query
from tests.support.postgres_server import PostgresServer
from tests.support.schemes import UNIVERSITY

LOSE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() AND application_name = 'extract'"
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "PAUSES", (0, 0, 0))


@pytest.fixture
def filled(postgres: PostgresServer) -> str:
    url = postgres.url(schema="retry")
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)
    return url


def losing(postgres: PostgresServer, times: int) -> Callable[[], None]:
    """Ends all connections of `extract`, the first times that it is called."""
    left = [None] * times

    def lose() -> None:
        if left:
            left.pop()
            with postgres.connect() as other:
                other.execute(LOSE)

    return lose


def test_a_change_is_made_again_and_once(postgres: PostgresServer, filled: str) -> None:
    lose = losing(postgres, 2)

    def change(reviser: Reviser, revision: Revision) -> None:
        reviser.add(Subscription("second", "//email"))
        revision.added += 1
        lose()

    before = query(filled, "SELECT revision FROM scheme")
    assert revise_scheme(filled, None, False, "add", change) == 0
    ((revision,),) = query(filled, "SELECT revision FROM scheme")
    assert revision == before[0][0] + 1
    assert [one.id for one in Scheme.load(filled).subscribers] == ["first", "second"]


def test_a_server_that_does_not_come_back_is_told(postgres: PostgresServer, filled: str) -> None:
    lose = losing(postgres, 99)

    def change(reviser: Reviser, revision: Revision) -> None:
        reviser.add(Subscription("second", "//email"))
        lose()

    with pytest.raises(LostConnection, match="lost") as caught:
        revise_scheme(filled, None, False, "add", change)
    assert "nothing was written" in caught.value.hint
    assert [one.id for one in Scheme.load(filled).subscribers] == ["first"]


def test_a_scheme_is_read_again(
    postgres: PostgresServer, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose = losing(postgres, 1)

    def losing_head(store: Store) -> object:
        lose()
        return read_head(store)

    monkeypatch.setattr("extract.scheme.database.read.read_head", losing_head)
    assert [one.id for one in load_stored(filled).scheme.subscribers] == ["first"]


@pytest.mark.parametrize("kind", [NoConnection, UncertainCommit])
def test_what_must_not_be_done_again(kind: type[LostConnection]) -> None:
    calls = []

    def work() -> None:
        calls.append(1)
        raise kind("reason", "hint", "where")

    with pytest.raises(kind):
        retry.again_when_lost(work)
    assert len(calls) == 1


def test_a_server_that_starts_again_is_waited_for() -> None:
    errors: list[LostConnection] = [
        NoConnection("starts", "", ""),
        LostConnection("lost", "", ""),
    ]

    def work() -> str:
        if errors:
            raise errors.pop()
        return "done"

    assert retry.again_when_lost(work) == "done"


def test_a_server_that_was_never_there(tmp_path: Path) -> None:
    with pytest.raises(NoConnection, match="cannot connect"):
        Scheme.load(f"postgresql:///db?host={tmp_path}")
