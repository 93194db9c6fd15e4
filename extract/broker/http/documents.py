"""Documents: ``/feeds/{feed}/documents``."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from extract.broker.bodies import BulkReceipt, DocumentLine, DocumentReceipt
from extract.broker.broker import Broker
from extract.broker.http.multipart import multipart_documents
from extract.broker.http.requests import (
    broker_of,
    client_of,
    feed_name,
    json_response,
    number_parameter,
    read_body,
)
from extract.broker.http.traffic import account_of
from extract.broker.problems import Problem
from extract.broker.settings import BrokerLimits
from extract.broker.store import documents as document_rows
from extract.broker.store import feeds as feed_rows
from extract.broker.store.database import Connection
from extract.broker.store.rows import ArrivedDocument
from extract.broker.times import iso_time, now_us, read_time

_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
_XML = ("application/xml", "text/xml", "application/octet-stream", "")
_line = msgspec.json.Decoder(DocumentLine)
_MOST_NAME = 1_000
_COPIES = 2  # of a body with many documents: as lines, and as documents


async def post_documents(request: Request) -> Response:
    """Takes one document, or many; when it answers, they are on disk."""
    feed = feed_name(request, "publish")
    broker = broker_of(request)
    broker.feed(feed)
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    key = request.headers.get("idempotency-key", "")
    if len(key) > 255:
        raise Problem(422, "an Idempotency-Key has up to 255 characters")
    if kind in _LINES or kind == "multipart/form-data" or kind == "multipart/mixed":
        return await _post_many(request, broker, feed, kind, key)
    if kind not in _XML and not kind.endswith("+xml"):
        hint = "application/xml for one document, application/x-ndjson for many"
        raise Problem(415, f"documents do not come as {kind[:80]!r}", hint)
    content = await read_body(request, broker.settings.limits.document_bytes)
    name = _query_name(request)
    future = broker.settings.limits.future_seconds
    time = _time(request.query_params.get("time"), future)
    schema = int(number_parameter(request, "schema", 0, 1e9))
    document = ArrivedDocument(checked_name(name), time, content, schema)
    fingerprint = _fingerprint(feed, f"{name}\0{time}\0{schema}", content) if key else b""
    owner = client_of(request).name
    (receipt,) = await broker.submit(feed, [document], owner, key, fingerprint)
    if receipt.status != 202:
        raise refused(receipt)
    return json_response(receipt, 202)


def refused(receipt: DocumentReceipt) -> Problem:
    """The answer to one document that cannot be taken."""
    return Problem(receipt.status, str(receipt.reason), line=receipt.line, column=receipt.column)


async def _post_many(request: Request, broker: Broker, feed: str, kind: str, key: str) -> Response:
    limits = broker.settings.limits
    content = await read_body(request, limits.body_bytes)
    account_of(request).arrived(_COPIES * len(content))
    if kind in _LINES:
        documents, refusals = await broker.in_thread(read_lines, content, limits)
    else:
        content_type = request.headers.get("content-type", "")
        documents = await broker.in_thread(
            multipart_documents, content_type, content, limits.bulk_lines
        )
        refusals = {}
    fingerprint = _fingerprint(feed, "", content) if key else b""
    owner = client_of(request).name
    receipts = await broker.submit(feed, documents, owner, key, fingerprint, refusals)
    accepted = sum([one.status == 202 for one in receipts])
    return json_response(BulkReceipt(accepted, len(receipts) - accepted, receipts))


def read_lines(
    content: bytes, limits: BrokerLimits
) -> tuple[list[ArrivedDocument], dict[int, DocumentReceipt]]:
    """The documents of JSON lines, and refusals of lines that are none.

    Raises:
        Problem: There are too many lines.
    """
    most, most_bytes = limits.bulk_lines, limits.document_bytes
    check_line_count(content, most)
    documents: list[ArrivedDocument] = []
    refusals: dict[int, DocumentReceipt] = {}
    try:  # all at once, where all lines are right
        lines: Sequence[Any] = _line.decode_lines(content)
    except (msgspec.MsgspecError, RecursionError):
        lines = [line for line in content.split(b"\n") if line.strip()]
    if len(lines) > most:
        raise Problem(413, f"more than {most:,} lines", "send several requests")
    for place, line in enumerate(lines):
        name, time, text, schema = "", None, b"", 0
        try:
            one = _line.decode(line) if isinstance(line, bytes) else line
            name = checked_name(one.name)
            time = None if one.time is None else _time(one.time, limits.future_seconds)
            text = one.document.encode()
            schema = one.schema
            if len(text) > most_bytes:
                raise Problem(413, f"the document has more than {most_bytes:,} bytes")
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
            refusals[place] = DocumentReceipt(name, 400, reason=str(error), line=1, column=1)
        except Problem as problem:
            refusals[place] = DocumentReceipt(name, problem.status, reason=problem.reason)
        documents.append(ArrivedDocument(name, time, text, schema))
    return documents, refusals


def check_line_count(content: bytes, most: int) -> None:
    """Looks before memory is spent on lines; some may be empty.

    Raises:
        Problem: There are far too many.
    """
    if content.count(b"\n") + content.count(b"\r") > 4 * most + 1_000:
        raise Problem(413, f"more than {most:,} lines", "send several requests")


def _query_name(request: Request) -> str:
    """The name of a document in the query string.

    Raises:
        Problem: It is not UTF-8: several such names would be one.
    """
    try:
        fields = parse_qsl(request.url.query, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise Problem(422, "the name is not UTF-8", "encode it in UTF-8, then as %XX") from None
    return dict(fields).get("name", "")


def checked_name(name: str) -> str:
    """The name of a document, if it is not too long.

    Raises:
        Problem: It is.
    """
    if len(name) > _MOST_NAME:
        raise Problem(422, f"the name has more than {_MOST_NAME:,} characters")
    return name


def _time(value: str | float | None, future: float) -> int | None:
    if value is None:
        return None
    try:
        time = read_time(value)
    except (ValueError, OverflowError):
        raise Problem(422, "time is neither seconds since 1970 nor ISO 8601") from None
    if time > now_us() + future * 1e6:  # joins would hold all later documents for late ones
        raise Problem(422, f"time is more than {future:g} s ahead")
    return time


def _fingerprint(feed: str, name: str, content: bytes) -> bytes:
    digest = hashlib.sha256(f"{feed}\0{name}\0".encode("utf-8", "surrogatepass"))
    digest.update(content)
    return digest.digest()


async def list_documents(request: Request) -> Response:
    """Documents of a feed by number: to take them elsewhere. A page has some megabytes."""
    feed = feed_name(request, "subscribe")
    broker = broker_of(request)
    key = broker.feed(feed).key
    after = int(number_parameter(request, "after", 0, 2**62))
    most = int(number_parameter(request, "limit", 100, 10_000))
    size = broker.settings.limits.page_bytes
    async with broker.leaving.held(size):
        page = await broker.read(_read_page, key, after, most, size)
    return json_response({"documents": page})


def _read_page(
    connection: Connection, key: int, after: int, most: int, most_bytes: int
) -> list[dict[str, Any]]:
    """Documents with numbers above one, the oldest first.

    Raises:
        Problem: Some of them are no longer kept; ``oldest`` is the first that is. Who begins, with
            0, gets what there is.
    """
    page: list[dict[str, Any]] = []
    position, size = after, 0
    while len(page) < most and size < most_bytes:
        blocks = document_rows.blocks_of_feed(connection, key, position + 1, 1)
        first = blocks[0].first if blocks else feed_rows.first_number(connection, key)
        if after and not page and first > after + 1:
            reason = f"documents up to {first - 1} are no longer kept"
            raise Problem(410, reason, f"go on with after={first - 1}", oldest=first)
        if not blocks:
            break
        block = blocks[0]
        for number, one in enumerate(block.documents, block.first):
            if number > after and len(page) < most and size < most_bytes:
                page.append(_document(number, one, block.received))
                size += len(one.content)
        position = block.first + len(block.documents) - 1
    return page


def _document(number: int, one: ArrivedDocument, received: int) -> dict[str, Any]:
    when = received if one.time is None else one.time
    facts = {"number": number, "name": one.name, "time": iso_time(when)}
    try:
        return {**facts, "document": one.content.decode()}
    except UnicodeDecodeError:  # in another encoding, which JSON has not
        return {**facts, "base64": base64.b64encode(one.content).decode("ascii")}
