"""A broker that answers on the loopback, in a thread of the tests' process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from extract.broker.broker import Broker
from extract.broker.http.app import create_app
from extract.broker.security.tokens import TokenFile
from extract.broker.server import listen
from extract.broker.settings import BrokerSettings
from extract.broker.store.store import BrokerStore


@contextmanager
def running_broker(
    folder: Path, tokens: Path | None = None, settings: BrokerSettings | None = None
) -> Iterator[str]:
    """Serves a store in a folder; yields the URL.

    Args:
        folder: Where the store is; made if it is not there.
        tokens: A file of tokens; None lets everybody in.
        settings: Of the broker.
    """
    opened = listen("127.0.0.1", 0)
    broker = Broker(BrokerStore.open(str(folder), synchronous=False), settings)
    app = create_app(broker, None if tokens is None else TokenFile.load(tokens))
    config = uvicorn.Config(app, lifespan="on", log_config=None, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([opened],), name="broker")
    thread.start()
    try:
        yield f"http://127.0.0.1:{opened.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        opened.close()
        assert not thread.is_alive()
