"""When tokens change, all subscriptions are looked at in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from extract.broker.registry import Registry
from extract.broker.rights import without_right
from extract.broker.security.tokens import TokenFile
from extract.broker.store import feeds
from extract.broker.store import subscriptions as subs
from extract.broker.store.rows import FeedRow, SubscriberRow
from extract.broker.store.store import BrokerStore
from extract.limits import Limits

_JOIN = b'{"xscl":"f//a->x1[b->x2] JOIN{x2=x4, 60} g//c->x3[d->x4]"}'


class _Counted:
    """A connection that counts what it is asked."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.queries = 0

    def query(self, statement: str, values: Sequence[Any] = ()) -> Any:
        self.queries += 1
        return self._connection.query(statement, values)


def test_all_subscriptions_in_one_pass(tmp_path: Path) -> None:
    store = BrokerStore.open(str(tmp_path / "store"), synchronous=False)
    writer = store.writer
    owners = {key: ("ann" if key % 2 else "bob") for key in range(1, 301)} | {
        301: "eve",
        302: "ann",
    }
    with writer.transaction():
        for key, name in ((1, "f"), (2, "g")):
            feeds.add_feed(writer, FeedRow(key, name, b"{}", 7))
        rows = [SubscriberRow(key, f"s{key}", 1, owner, 0, 0) for key, owner in owners.items()]
        subs.add_subscribers(writer, rows)
        bodies = dict.fromkeys(owners, b'{"xpath":"//a"}') | {300: _JOIN, 302: _JOIN}
        subs.start_versions(writer, 1, 1, bodies.items())
    (tmp_path / "tokens").write_text(
        "ann token-of-ann-0000001 subscribe f\nbob token-of-bob-0000001 subscribe f,g\n"
    )
    (tmp_path / "tokens").chmod(0o600)
    connection: Any = _Counted(writer)
    tokens = TokenFile.load(tmp_path / "tokens")
    barred = without_right(connection, Registry(writer), tokens, Limits())
    store.close()
    assert barred == {301, 302}  # no such client; and one who may not read all that is joined
    assert connection.queries <= 2
