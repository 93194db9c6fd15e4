"""TokenFile: a file with a line for each client.

    # name   token                              roles               feeds
    desk     9vYk1oQ...                         publish,subscribe   stocks,news
    ops      sha256:5e884898da28047151d0e56f... admin

Roles are ``publish`` (send documents), ``subscribe`` (subscriptions and notifications) and
``admin`` (everything, feeds included). Without feeds, a token is for all of them; ``stocks.*`` is
for all feeds whose names start so. A line with nothing but a token is an admin's; one with a token
and roles is for all feeds. A short token can be guessed, and is warned of.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from extract.errors import ExtractError

Role = Literal["publish", "subscribe", "admin"]
ROLES: Final = ("publish", "subscribe", "admin")
_SHORT: Final = 16
_log: Final = logging.getLogger("extract.broker.security")
_HASHED: Final = re.compile(r"sha256:([0-9a-f]{64})", re.IGNORECASE)


class TokenError(ExtractError):
    """A file of tokens that cannot be used."""


@dataclass(frozen=True, slots=True)
class KnownClient:
    """Somebody who may do something.

    Attributes:
        name: As logs and subscriptions say it.
        roles: What it may do.
        feeds: The feeds that it may do it with; None for all.
    """

    name: str
    roles: frozenset[str]
    feeds: tuple[str, ...] | None = None

    @property
    def is_admin(self) -> bool:
        """Whether it may do everything, with its feeds."""
        return "admin" in self.roles

    def may(self, role: Role, feed: str) -> bool:
        """Whether it may do this with a feed."""
        return (role in self.roles or self.is_admin) and self.sees(feed)

    def sees(self, feed: str) -> bool:
        """Whether a feed is one of its feeds."""
        if self.feeds is None:
            return True
        return any(
            feed.startswith(name[:-1]) if name.endswith("*") else feed == name
            for name in self.feeds
        )


LOCAL: Final = KnownClient("local", frozenset(ROLES))  # without tokens, on the loopback


class TokenFile:
    """The clients of a file, by the digests of their tokens."""

    def __init__(self, clients: dict[bytes, KnownClient]) -> None:
        self._clients = clients
        self._names = {one.name: one for one in clients.values()}

    @classmethod
    def load(cls, path: str | Path) -> TokenFile:
        """Reads a file.

        Raises:
            TokenError: It cannot be read, has no token, or a line is wrong.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
            mode = Path(path).stat().st_mode
        except (OSError, UnicodeDecodeError) as error:
            raise TokenError(f"cannot be read: {error}", "", str(path)) from None
        if mode & 0o022:
            hint = f"chmod 600 {path}"
            raise TokenError("others may write to the file of tokens", hint, str(path))
        clients: dict[bytes, KnownClient] = {}
        names = set()
        for number, line in enumerate(text.splitlines(), 1):
            fields = line.split()
            if not fields or fields[0].startswith("#"):
                continue
            digest, client = _read_line(fields, str(path), number)
            if digest in clients or client.name in names:
                raise TokenError("this name or token stands there twice", "", str(path), number)
            names.add(client.name)
            clients[digest] = client
        if not clients:
            raise TokenError("the file has no token", "", str(path))
        return cls(clients)

    def __len__(self) -> int:
        return len(self._clients)

    def client(self, token: str) -> KnownClient | None:
        """The client with a token; every entry is compared, in constant time."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        chosen = None
        for other, client in self._clients.items():
            if hmac.compare_digest(digest, other):
                chosen = client
        return chosen

    def named(self, name: str) -> KnownClient | None:
        """The client with a name."""
        return self._names.get(name)


def _read_line(fields: list[str], file: str, line: int) -> tuple[bytes, KnownClient]:
    if len(fields) == 1:
        fields = [f"admin{line}", fields[0], "admin"]
    elif len(fields) == 2 and set(fields[1].split(",")) <= set(ROLES):
        fields = [f"client{line}", *fields]
    if len(fields) not in (3, 4):
        hint = "write: name, token, roles and, if it is not for all, feeds"
        raise TokenError("a line is a token, or has a name, a token and roles", hint, file, line)
    name, token, roles, *feeds = fields
    unknown = set(roles.split(",")) - set(ROLES)
    if unknown:
        hint = f"roles are {', '.join(ROLES)}"
        raise TokenError(f"there is no role {sorted(unknown)[0]!r}", hint, file, line)
    hashed = _HASHED.fullmatch(token)
    if hashed is None and len(token) < _SHORT:
        _log.warning(
            "%s, line %d: a token of %d characters can be guessed (openssl rand -base64 32)",
            file,
            line,
            len(token),
        )
    digest = bytes.fromhex(hashed[1]) if hashed else hashlib.sha256(token.encode()).digest()
    chosen = tuple(feeds[0].split(",")) if feeds and feeds[0] != "*" else None
    return digest, KnownClient(name, frozenset(roles.split(",")), chosen)
