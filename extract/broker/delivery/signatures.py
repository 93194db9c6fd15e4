"""Signatures of what webhooks get, as in the Standard Webhooks specification.

The headers ``webhook-id``, ``webhook-timestamp`` and ``webhook-signature`` let the receiver check
who sent a notification, drop one that comes twice, and refuse one that is old.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

_PREFIX = "whsec_"


def sign(secret: str, identifier: str, timestamp: int, body: bytes) -> str:
    """The value of ``webhook-signature``.

    >>> sign("whsec_" + base64.b64encode(b"key").decode(), "a", 1, b"{}")
    'v1,bL1jQXV9xdvhtjVTxMVmcec+7wicDeM5+UJZVhyrJw0='
    """
    content = f"{identifier}.{timestamp}.".encode() + body
    digest = hmac.new(_key(secret), content, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _key(secret: str) -> bytes:
    if secret.startswith(_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            pass  # a secret of the client's own, which happens to start so
    return secret.encode()
