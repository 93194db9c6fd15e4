"""Running a broker: one process, one event loop, an end in order."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn

from extract.broker.broker import Broker
from extract.broker.http.app import create_app
from extract.broker.security.tokens import Tokens
from extract.broker.settings import LOOPBACK
from extract.errors import ExtractError

_STOP_SECONDS = 10


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


def serve(broker: Broker, tokens: Tokens | None, sockets: list[socket.socket]) -> None:
    """Serves until a signal ends it; what is under way is answered."""
    config = uvicorn.Config(
        create_app(broker, tokens),
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=65_536,
        **_fast(),
    )
    uvicorn.Server(config).run(sockets)


def _fast() -> dict[str, Any]:
    """The fast event loop and parser, where they are installed."""
    from importlib.util import find_spec

    return {
        "loop": "uvloop" if find_spec("uvloop") else "asyncio",
        "http": "httptools" if find_spec("httptools") else "h11",
    }
