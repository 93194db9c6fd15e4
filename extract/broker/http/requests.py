"""Reading requests: parameters, bodies within limits, JSON that is checked."""

from __future__ import annotations

import math
import re
import zlib
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from extract.broker.bodies import ID_PATTERN, NAME_PATTERN, encode
from extract.broker.broker import Broker
from extract.broker.http.traffic import account_of
from extract.broker.problems import Problem, not_found
from extract.broker.rights import may_have
from extract.broker.security.tokens import KnownClient, Role
from extract.broker.store.rows import RejectionRow, SubscriberRow
from extract.filtertool.joins.publishing import PUBLISH
from extract.filtertool.joins.room import STATE

_T = TypeVar("_T")
_NAME: Final = re.compile(NAME_PATTERN)
_ID: Final = re.compile(ID_PATTERN)
JSON: Final = "application/json"
ID_HINT: Final = "up to 200 characters, without spaces, controls and / ? #"
_GZIP_MEMBERS: Final = 10_000  # that one body may consist of
_GZIP_PIECE: Final = 65_536  # bytes that are unpacked at a time


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(encode(value), status, headers, JSON)


def broker_of(request: Request) -> Broker:
    """The broker that answers."""
    broker: Broker = request.app.state.broker
    return broker


def client_of(request: Request) -> KnownClient:
    """Who asks."""
    client: KnownClient = request.scope["extract.client"]
    return client


def feed_name(request: Request, role: Role) -> str:
    """The feed of a path, if the client may do this with it.

    Raises:
        Problem: It may not: 404 for a feed that it may not see, 403 for one that it may.
    """
    name: str = request.path_params["feed"]
    if not is_feed_name(name):
        raise not_found("feed")
    check_feed(client_of(request), name, role)
    return name


def check_feed(client: KnownClient, name: str, role: Role) -> None:
    """Whether a client may do this with a feed.

    Raises:
        Problem: It may not: 404 for a feed that it may not see, 403 for one that it may.
    """
    if not client.sees(name):
        raise not_found("feed")
    if not client.may(role, name):
        raise Problem(403, f"this token has not the role {role}")


def is_feed_name(text: str) -> bool:
    """Whether a feed can have a name; ``$`` alone would allow a line's end behind it.

    >>> is_feed_name("stocks.eu"), is_feed_name("stocks\\n")
    (True, False)
    """
    return _NAME.fullmatch(text) is not None


def is_id(text: str) -> bool:
    """Whether a subscription can have an id.

    >>> is_id("dear"), is_id("dear\\n"), is_id("..")
    (True, False, False)
    """
    return _ID.fullmatch(text) is not None


def subscription_id(request: Request) -> str:
    """The id in a path.

    Raises:
        Problem: No subscription can have it.
    """
    identifier: str = request.path_params["id"]
    if not is_id(identifier):
        status = 422 if request.method == "PUT" else 404
        raise Problem(status, "no subscription has such an id", ID_HINT)
    return identifier


def own_subscriber(request: Request) -> SubscriberRow:
    """The subscription of a path, if the client may see it: its owner and admins may.

    Raises:
        Problem: There is none, or it may not.
    """
    broker, client = broker_of(request), client_of(request)
    row = broker.subscriber(subscription_id(request))
    feed = broker.registry.feed_names.get(row.feed, "")
    if not may_see(broker, client, row):
        raise not_found("subscription")
    if "feed" in request.path_params and request.path_params["feed"] != feed:
        raise not_found("subscription")
    return row


def may_see(broker: Broker, client: KnownClient, row: SubscriberRow) -> bool:
    """Whether a client may see a subscription, and all that it is told.

    Its owner and admins may, with the rights that it takes.
    """
    is_own = row.owner == client.name and row.key not in broker.barred
    return (is_own or client.is_admin) and may_have(client, broker.registry, row)


def shown_document(client: KnownClient, row: RejectionRow) -> str:
    """The document of a rejection, as a client may know it.

    A document leads to rejections of others: those that joins drop for it, and those that they
    publish. They may be of streams that the client may not read.
    """
    is_other = row.stage in (STATE, PUBLISH)
    return "" if is_other and not (client.is_admin and client.feeds is None) else row.document


def number_parameter(
    request: Request, name: str, default: float, most: float, whole: bool = True
) -> float:
    """A number of the query string.

    Raises:
        Problem: It is none, or out of range.
    """
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        value = int(text) if whole and re.fullmatch(r"[0-9]{1,19}", text) else math.nan
        if not whole:
            value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        kind = "a whole number" if whole else "a number"
        raise Problem(422, f"{name} must be {kind} from 0 to {most:g}")
    return value


async def read_json(request: Request, kind: type[_T], most: int) -> tuple[_T, Any]:
    """The body as a checked value, and as it is.

    Raises:
        Problem: It is too large, no JSON, or not what is expected.
    """
    content = await read_body(request, most)
    return decode_json(content, kind)


def decode_json(content: bytes, kind: type[_T]) -> tuple[_T, Any]:
    """JSON as a checked value, and as it is.

    Raises:
        Problem: It is no JSON, or not what is expected.
    """
    if not content:
        raise Problem(400, "the body is empty", "send a JSON object; {} has nothing but defaults")
    try:
        raw = msgspec.json.decode(content)
        return msgspec.convert(raw, kind), raw
    except msgspec.ValidationError as error:
        raise Problem(422, str(error)) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Problem(400, f"the body is no JSON: {error}") from None


async def read_body(request: Request, most: int) -> bytes:
    """The body, unpacked if it is gzipped, within limits.

    Raises:
        Problem: It is too large, damaged, or packed in another way.
    """
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise Problem(415, f"the encoding {encoding[:40]!r} is not supported", "send gzip or plain")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise too_large(most)
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise too_large(most)
        parts.append(part)
    content = parts[0] if len(parts) == 1 else b"".join(parts)
    if encoding == "gzip":
        broker = broker_of(request)
        ratio = broker.settings.limits.gzip_ratio
        content = await broker.in_thread(unpacked, content, most, ratio)
        account_of(request).arrived(len(content))
    return content


def too_large(most: int) -> Problem:
    """The body passes a limit."""
    return Problem(413, f"the body has more than {most:,} bytes")


def unpacked(content: bytes, most: int, ratio: int) -> bytes:
    """A gzipped body, within limits.

    It is read in pieces: behind each member of a body zlib copies what it was given and did not
    use, which would take hours for a body of nothing but empty members.

    Raises:
        Problem: It is damaged, or unpacks to too much.

    >>> import gzip
    >>> unpacked(gzip.compress(b"a") + gzip.compress(b"b"), 100, 100)
    b'ab'
    """
    room = min(most, max(len(content) * ratio, 65_536))
    view = memoryview(content)
    parts = []
    at = members = 0
    try:
        while at < len(content):
            members += 1
            if members > _GZIP_MEMBERS:
                raise Problem(413, f"more than {_GZIP_MEMBERS:,} gzip members", "pack it as one")
            unpacker = zlib.decompressobj(31)
            while not unpacker.eof:
                piece = view[at : at + _GZIP_PIECE]
                if not piece:
                    raise Problem(400, "the gzipped body is cut")
                part = unpacker.decompress(piece, room + 1)
                room -= len(part)
                if room < 0:
                    raise Problem(413, "the body unpacks to too much")
                parts.append(part)
                at += len(piece) - len(unpacker.unused_data)
    except zlib.error as error:
        raise Problem(400, f"the gzipped body is damaged: {error}") from None
    return b"".join(parts)
