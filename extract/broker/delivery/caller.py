"""Calling a webhook: one request to the address that was checked, and no further.

No proxy of the environment, no redirect, no cookie; an answer is read up to a limit.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore

from extract.broker.delivery.addresses import ForbiddenAddress, resolve
from extract.broker.settings import WebhookSettings


class CallFailed(Exception):
    """A webhook did not take a notification.

    Args:
        reason: Why.
        for_good: Whether another attempt is pointless.
    """

    def __init__(self, reason: str, for_good: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.for_good = for_good


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects to the address that `resolve` has checked."""

    def __init__(self, allow_private: bool) -> None:
        self._inner = httpcore.AnyIOBackend()
        self._allow_private = allow_private

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection."""
        try:
            address = await resolve(host, port, self._allow_private)
        except OSError as error:
            raise httpcore.ConnectError(f"{host} cannot be resolved: {error}") from None
        return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """There are none."""
        raise ForbiddenAddress("a webhook is no local socket")

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await asyncio.sleep(seconds)


class WebhookCaller:
    """Calls webhooks.

    Args:
        settings: How.
        trust: The certificates to trust; None for the usual ones.
    """

    def __init__(self, settings: WebhookSettings, trust: ssl.SSLContext | None = None) -> None:
        self._settings = settings
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=trust,
            max_connections=settings.concurrency,
            max_keepalive_connections=settings.concurrency,
            keepalive_expiry=30,
            network_backend=CheckedBackend(settings.allow_private),
        )

    async def call(self, url: str, headers: dict[str, str], body: bytes) -> None:
        """Posts a body.

        Raises:
            CallFailed: It was not taken.
        """
        settings = self._settings
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), settings.timeout)
        extensions: dict[str, Any] = {"timeout": timeouts}
        try:
            async with (
                asyncio.timeout(settings.timeout),
                self._pool.stream(
                    "POST", url, headers=list(headers.items()), content=body, extensions=extensions
                ) as response,
            ):
                await self._drop(response)
                status = response.status
        except ForbiddenAddress as error:
            raise CallFailed(str(error), for_good=True) from None
        except TimeoutError:
            raise CallFailed(f"no answer within {settings.timeout:g} s") from None
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise CallFailed(f"{type(error).__name__}: {error}"[:500]) from None
        except (OSError, ssl.SSLError, httpcore.UnsupportedProtocol, ValueError) as error:
            raise CallFailed(f"{type(error).__name__}: {error}"[:500]) from None
        if status == 410:
            raise CallFailed("it answered 410: it wants no more", for_good=True)
        if not 200 <= status < 300:
            raise CallFailed(f"it answered {status}")

    async def _drop(self, response: httpcore.Response) -> None:
        """Reads an answer, up to a limit; what is longer is cut off with the connection."""
        size = 0
        async for part in response.aiter_stream():
            size += len(part)
            if size > self._settings.response_bytes:
                return

    async def close(self) -> None:
        """Closes all connections."""
        await self._pool.aclose()
