"""Where a webhook may go: no address of this machine or of a private network, unless allowed.

The address that is checked is the one that is connected to: a name is resolved once for each
connection, by `resolve`, and nobody resolves it again in between.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit

from extract.broker.problems import Problem

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Networks whose addresses hold an IPv4 address that a translator would connect to.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class ForbiddenAddress(Exception):
    """A webhook names an address that it may not have."""


def is_public(address: _Address) -> bool:
    """Whether an address is one of the public internet.

    >>> is_public(ipaddress.ip_address("93.184.215.14")), is_public(ipaddress.ip_address("::1"))
    (True, False)
    >>> is_public(ipaddress.ip_address("::ffff:127.0.0.1"))
    False
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.teredo is not None or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def check_url(url: str, allow_private: bool) -> None:
    """Checks the URL of a webhook as far as that goes without the network.

    Raises:
        Problem: It cannot be one.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise Problem(422, "the webhook is no URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise Problem(422, "a webhook is an http or https URL")
    if parts.username is not None or parts.password is not None:
        raise Problem(422, "a webhook's URL has no user and password")
    if parts.fragment or any(ord(one) <= 32 or ord(one) >= 127 for one in url) or port == 0:
        raise Problem(422, "the webhook's URL has characters that it cannot have")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if (host == "localhost" or host.endswith(".localhost")) and not allow_private:
            raise Problem(422, "a webhook may not go to this machine") from None
        return
    if not allow_private and not is_public(address):
        hint = "who runs the broker can allow addresses of private networks"
        raise Problem(422, "a webhook may not go to a private address", hint)


async def resolve(host: str, port: int, allow_private: bool) -> str:
    """The address to connect to.

    Raises:
        ForbiddenAddress: One of the addresses of the name is private.
        OSError: The name has no address.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(one[4][0]) for one in found]
    if not addresses:
        raise OSError(f"{host} has no address")
    for one in addresses:
        address = ipaddress.ip_address(one.partition("%")[0])
        if not allow_private and not is_public(address):
            raise ForbiddenAddress(f"{host} is {address}, which is no public address")
    return addresses[0]
