"""Requests to a broker: sent again where that is harmless, and refusals as errors."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from extract.errors import BrokerError, DocumentError, ExtractError, QuerySyntaxError

if TYPE_CHECKING:
    import httpx
    from httpx import Client as HttpClient

_BUSY: Final = frozenset({429, 502, 503, 504})  # worth another try
_DOCUMENT: Final = frozenset({400, 413})  # for a document, with its line
_FIRST_PAUSE: Final = 0.2  # seconds; doubled each time
_LONGEST_PAUSE: Final = 30.0
_LONGEST_ERROR: Final = 1 << 20  # bytes of a refusal that are read


class Transport:
    """A connection to one broker, kept open between requests. Several threads may use it.

    Args:
        url: Of the broker: ``http://host:port``, with a path if it is behind a proxy.
        token: Sent with each request; empty for none.
        timeout: Seconds to wait for an answer, besides what a request itself waits for.
        retries: How often a request is sent again when the broker is busy or cannot be reached.
        sleep: Waits between two tries.

    Raises:
        BrokerError: The URL cannot be one of a broker.
    """

    def __init__(
        self,
        url: str,
        token: str,
        timeout: float,
        retries: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = _checked(url)
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._http: HttpClient = _httpx().Client(
            base_url=f"{self.url}/",
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=timeout,
            trust_env=False,  # no proxy, and no .netrc, may see the token
            follow_redirects=False,
        )

    def close(self) -> None:
        """Closes the connection."""
        self._http.close()

    def json(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        wait: float = 0,
        repeat: bool = True,
    ) -> Any:
        """The JSON that a request is answered with; None for an answer without a body.

        Args:
            method: Of HTTP.
            path: From the broker's URL on, with its query.
            content: The body.
            headers: More headers.
            wait: Seconds that the broker may take on purpose, as for a long poll.
            repeat: Whether it may be sent again.

        Raises:
            BrokerError: The broker cannot be reached, or refuses.
            QuerySyntaxError: It refuses a query.
            DocumentError: It refuses a document.
        """
        for attempt in range(self._retries + 1):
            last = attempt == self._retries or not repeat
            try:
                answer = self._http.request(
                    method, path, content=content, headers=headers, timeout=self._timeout + wait
                )
            except _httpx().TransportError as error:
                if last:
                    raise self._unreachable(error) from error
                self._sleep(_pause(attempt))
                continue
            if answer.is_success:
                return _decoded(answer) if answer.content else None
            if answer.status_code not in _BUSY or last:
                raise _refusal(answer)
            self._sleep(_retry_after(answer, _pause(attempt)))
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def lines(self, path: str, headers: Mapping[str, str]) -> Iterator[Iterator[str]]:
        """The lines of an answer that goes on for ever; for one connection, without retries.

        Raises:
            BrokerError: The broker refuses, cannot be reached, or goes away in between.
        """
        httpx = _httpx()
        # Between two events there may be long silence, but comments keep the connection alive.
        timeout = httpx.Timeout(self._timeout, read=max(self._timeout, 60.0))
        try:
            with self._http.stream("GET", path, headers=headers, timeout=timeout) as answer:
                if not answer.is_success:
                    answer.read()
                    raise _refusal(answer)
                yield answer.iter_lines()
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    def pause(self, attempt: int, error: BrokerError) -> bool:
        """Waits before a stream is opened again; returns False if that is no use."""
        if attempt >= self._retries or error.status not in (0, *_BUSY):
            return False
        self._sleep(_pause(attempt))
        return True

    def _unreachable(self, error: Exception) -> BrokerError:
        hint = "is `extract serve` running there?"
        return BrokerError(
            f"{self.url} does not answer: {str(error) or type(error).__name__}", hint
        )


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        hint = "pip install 'extract-xpath[broker]'"
        raise ExtractError("a client of a broker needs httpx", hint) from None
    return httpx


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        hint = "write it as in http://127.0.0.1:8080"
        raise BrokerError(f"{parts.scheme or url!r} is no URL of a broker", hint)
    if parts.username or parts.password or parts.query or parts.fragment:
        hint = "a token goes into EXTRACT_TOKEN or --token-file"
        raise BrokerError("the URL of a broker has a host, a port and a path, nothing else", hint)
    return url.rstrip("/")


def _pause(attempt: int) -> float:
    """Doubles each time; random, so that many clients do not come back together."""
    return random.uniform(0.5, 1.0) * min(_FIRST_PAUSE * float(2**attempt), _LONGEST_PAUSE)


def _retry_after(answer: httpx.Response, otherwise: float) -> float:
    try:
        seconds = float(answer.headers.get("Retry-After", ""))
    except ValueError:
        return otherwise
    return min(max(seconds, 0.0), _LONGEST_PAUSE)


def _decoded(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        reason = f"{answer.url} does not answer as a broker does"
        raise BrokerError(reason, "is this the address of `extract serve`?") from None


def refusal_of(body: Mapping[str, Any], status: int) -> ExtractError:
    """The error that a refusal is: by what the broker says it is about."""
    reason = str(body.get("reason") or f"the broker answered {status}")
    hint = str(body.get("hint") or "")
    line, column, offset = (_number(body.get(key)) for key in ("line", "column", "offset"))
    query = body.get("query")
    if isinstance(query, str) and "offset" in body:
        return QuerySyntaxError(reason, hint, "", 0, 0, query, offset)
    if status in _DOCUMENT and "line" in body:
        return DocumentError(reason, hint, str(body.get("document") or ""), line, column, offset)
    if status == 401:
        hint = "give a token: EXTRACT_TOKEN, EXTRACT_TOKEN_FILE or --token-file"
    return BrokerError(reason, hint, status=status, body=dict(body))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _refusal(answer: httpx.Response) -> ExtractError:
    try:
        body = json.loads(answer.content[:_LONGEST_ERROR])
    except ValueError:
        body = None
    return refusal_of(body if isinstance(body, dict) else {}, answer.status_code)
