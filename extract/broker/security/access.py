"""What holds for every request: names of the host, origins, tokens, rates, headers of answers.

A browser that a stranger's page has misled shows itself by ``Host`` (DNS rebinding) or ``Origin``
(a request across sites); both are refused. There are no cookies, so there is nothing that a browser
would send along by itself.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from extract.broker.bodies import encode
from extract.broker.problems import Problem
from extract.broker.security.rates import Rates
from extract.broker.security.tokens import LOCAL, KnownClient, TokenFile

HEADERS: Final = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        # The page's explain picture is a blob, shown as an image; nothing is inline.
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        b"require-trusted-types-for 'script'; trusted-types 'none'",
    ),
]
_OPEN_PATHS: Final = frozenset({"/", "/health"})
_OPEN_PREFIX: Final = "/static/"


class Access:
    """An ASGI application that lets through what may pass.

    Args:
        app: What answers then.
        hosts: Names that the ``Host`` header may have.
        tokens: The clients; None lets everybody in, for the loopback.
        rates: What a client may send in a second.
    """

    def __init__(
        self, app: ASGIApp, hosts: Collection[str], tokens: TokenFile | None, rates: Rates
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self.tokens = tokens
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        try:
            self.admit(scope)
        except Problem as problem:
            await send_problem(problem, send)
            return
        await self._app(scope, receive, send)

    def admit(self, scope: Scope) -> KnownClient:
        """Lets a request pass, with its client in the scope, too.

        Raises:
            Problem: It may not.
        """
        host = origin = authorization = b""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
            elif name == b"authorization":
                authorization = value
        authority = host.decode("latin-1").lower()
        if host_name(authority) not in self._hosts:
            hint = "who runs the broker says which names it answers for"
            raise Problem(421, "this broker does not answer for that host", hint)
        if origin and origin.decode("latin-1").lower().partition("://")[2] != authority:
            raise Problem(403, "requests from pages of other sites are refused")
        path = scope["path"]
        is_open = path in _OPEN_PATHS or path.startswith(_OPEN_PREFIX)
        client = LOCAL if self.tokens is None else self._client(authorization)
        if client is None:
            if not is_open:
                raise Problem(401, "this needs a token", "send Authorization: Bearer TOKEN")
            client = KnownClient("", frozenset())
        if not is_open:
            name = client.name
            if self.tokens is None and scope.get("client"):
                name = scope["client"][0]
            self._rates.request(name)
        scope["extract.client"] = client
        return client

    def _client(self, authorization: bytes) -> KnownClient | None:
        scheme, _, token = authorization.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or self.tokens is None:
            return None
        return self.tokens.client(token.strip())


def host_name(authority: str) -> str:
    """The name in a ``Host`` header, without its port.

    >>> host_name("localhost:8080"), host_name("[::1]:8080"), host_name("::1")
    ('localhost', '::1', '')
    """
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    name, _, port = authority.partition(":")
    return "" if port and not port.isdigit() else name


class SafeAnswers:
    """An ASGI application that tells browsers with every answer what they may do with it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        await self._app(scope, receive, send_with_headers)


def problem_answer(problem: Problem) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """The headers, without the length, and the body of an answer with an error."""
    headers = [(b"content-type", b"application/json"), *HEADERS]
    if problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if problem.retry_after:
        headers.append((b"retry-after", b"%d" % max(1, round(problem.retry_after))))
    return headers, encode(problem.body())


async def send_problem(problem: Problem, send: Send) -> None:
    """Answers with an error."""
    headers, body = problem_answer(problem)
    headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
