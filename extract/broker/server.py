"""Running a broker: one process, one event loop, an end in order."""

from __future__ import annotations

import contextlib
import logging
import resource
import signal
import socket
import sys
from importlib.util import find_spec
from typing import Any, Final

import uvicorn

from extract.broker.broker import Broker
from extract.broker.feed_filters import stored_body
from extract.broker.http.app import create_app
from extract.broker.http.rehearsal import choose_protocol
from extract.broker.security.access import Access
from extract.broker.security.tokens import TokenError, TokenFile
from extract.broker.settings import LOOPBACK, BrokerSettings
from extract.broker.store.documents import last_position, matched_position
from extract.broker.store.store import BrokerStore, database_of, has_store
from extract.broker.store.subscriptions import every_present_body
from extract.broker.store.tables import VERSION
from extract.errors import ExtractError
from extract.xpath.later import FIRST

_log: Final = logging.getLogger("extract.broker")
_STOP_SECONDS: Final = 10
_MOST_FILES: Final = 65_536
_SWITCH_SECONDS: Final = 0.0005  # a thread that wants to go on waits no longer for the others


class ServeError(ExtractError):
    """A broker that cannot be started."""


def check_address(host: str, has_tokens: bool) -> None:
    """Without tokens, only this machine may reach the broker.

    Raises:
        ServeError: Others could.
    """
    if not has_tokens and host not in LOOPBACK:
        hint = "name a file of tokens with --token-file, or serve on 127.0.0.1"
        raise ServeError(f"without tokens nothing but the loopback is served, not {host}", hint)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free.

    Raises:
        ServeError: It cannot.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(1_024)
    except OSError as error:
        hint = "choose another --port"
        raise ServeError(f"{host}:{port} cannot be served: {error.strerror}", hint) from None
    opened.set_inheritable(False)
    return opened


def check_store(location: str, settings: BrokerSettings, token_file: str | None) -> dict[str, Any]:
    """Opens everything that a broker needs, and says what is there.

    A directory that has no store yet stays as it is.

    Raises:
        ExtractError: Something cannot be used.
    """
    clients = None if token_file is None else len(TokenFile.load(token_file))
    if not has_store(location):
        there = {"bytes": 0, "feeds": {}, "subscriptions": 0}
        there |= {"rejected": [], "notes": [], "blocks_to_match": 0}
        return {"store": location, "exists": False, "version": VERSION, **there, "clients": clients}
    database = database_of(location)
    database.check(thoroughly=True)
    store = BrokerStore(database)
    try:
        store.check_rows()
        broker = Broker(store, settings)
        broker.load()
        broker.matcher.check_joins()
        with store.reader() as connection:
            first, last = matched_position(connection), last_position(connection)
        return {
            "store": store.database.name,
            "exists": True,
            "version": VERSION,
            "bytes": store.database.size(),
            "feeds": {one.name: one.kind for one in broker.registry.feeds.values()},
            "subscriptions": sum([one.subscribers for one in broker.registry.feeds.values()]),
            "rejected": broker.rejected(),
            "notes": _version_notes(broker),
            "blocks_to_match": last - first,
            "clients": clients,
        }
    finally:
        store.close()


def _version_notes(broker: Broker) -> list[str]:
    """Subscriptions from when brokers took ``version`` for metadata."""
    notes = []
    with broker.store.reader() as connection:
        for key, text in every_present_body(connection):
            body = stored_body(text) if b'"version"' in text else None
            if body is not None and isinstance(body.metadata, dict) and "version" in body.metadata:
                named = f"the subscription {broker.registry.by_key[key].id!r} has metadata version"
                notes.append(f"{named}, and is XPath {FIRST}: put it again if it should be another")
    return notes


def serve_on(
    store: BrokerStore,
    settings: BrokerSettings,
    token_file: str | None,
    sockets: list[socket.socket],
) -> None:
    """Serves until a signal ends it; what is under way is answered.

    ``SIGHUP`` reads the file of tokens again.
    """
    broker = Broker(store, settings)
    app = create_app(broker, None if token_file is None else TokenFile.load(token_file))
    if token_file is not None:
        file = token_file
        signal.signal(signal.SIGHUP, lambda number, frame: _reload(app, broker, file))
    server = BrokerServer(app, broker)
    _allow_files()
    sys.setswitchinterval(_SWITCH_SECONDS)
    with contextlib.suppress(KeyboardInterrupt):  # which it raises again when all is done
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.default_int_handler)
        server.run(sockets)
    if broker.start_failure is not None:
        raise broker.start_failure


class BrokerServer(uvicorn.Server):
    """uvicorn's server, which answers those who wait for news before it closes connections.

    Args:
        app: What answers.
        broker: The broker.
    """

    def __init__(self, app: Access, broker: Broker) -> None:
        super().__init__(server_config(app, broker))
        self._broker = broker

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends in order: long polls and streams of events end, too, and not by a broken line."""
        self._broker.end_waiting()
        await super().shutdown(sockets)


def _allow_files() -> None:
    """Lets the process have as many connections as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _reload(app: Access, broker: Broker, file: str) -> None:
    try:
        app.tokens = TokenFile.load(file)
    except TokenError as error:
        _log.error("the tokens stay as they are: %s", error)
        return
    _log.info("the tokens were read again")
    broker.tokens_changed(app.tokens)


def server_config(app: Access, broker: Broker) -> uvicorn.Config:
    """How uvicorn serves a broker: with the fast event loop and parser, where they are there."""
    protocol: Any = choose_protocol(app, broker)
    return uvicorn.Config(
        app,
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=65_536,
        loop="uvloop" if find_spec("uvloop") else "asyncio",
        http=protocol,
    )
