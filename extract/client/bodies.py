"""Subscriptions and documents as the broker reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

from extract.flwr.parser import is_flwr
from extract.subscriptions import Subscription, Subscriptions
from extract.xpath.later import FIRST

Publishable: TypeAlias = bytes | str | Path | BinaryIO
Queries: TypeAlias = (
    Subscription | Mapping[str, str] | Iterable[str | tuple[str, str] | Subscription]
)

BLOCK_BYTES: Final = 4 << 20  # of one request with many documents
BLOCK_LINES: Final = 10_000

_DELIVERY: Final = ("webhook", "webhook_secret", "select")
_XSCL: Final = re.compile(r"(?:FOLLOWED\s+BY|JOIN)\s*\{")
_LITERAL: Final = re.compile(r"\"[^\"]*\"|(?<![\w'])'[^']*'")  # a variable may end in '
_ENCODING: Final = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)")


def kind_of(text: str) -> str:
    """What a query is written in: ``xpath``, ``flwr`` or ``xscl``.

    >>> [kind_of(one) for one in ("//a[b = 'JOIN{']", "for $a in //a return <b/>")]
    ['xpath', 'flwr']
    >>> kind_of("S//a->x[b->y] JOIN{y=w, 5} S//c->z[d->w]")
    'xscl'
    """
    bare = _LITERAL.sub("", text)
    if "->" in bare and _XSCL.search(bare):
        return "xscl"
    return "flwr" if is_flwr(text) else "xpath"


def subscription_body(one: Subscription, webhook: str = "") -> dict[str, Any]:
    """The body that puts a subscription.

    What its metadata says of delivery (``webhook``, ``webhook_secret``, ``select``) is the
    broker's, so that a file of subscriptions can say it as well. Its weight, which is about
    chunks, is not sent.
    """
    metadata = dict(one.metadata)
    is_first = one.version == FIRST
    body: dict[str, Any] = {kind_of(one.xpath) if is_first else "xpath": one.xpath}
    if not is_first:
        body["version"] = one.version
    body |= {key: metadata.pop(key) for key in _DELIVERY if key in metadata}
    if one.namespaces:
        body["namespaces"] = dict(one.namespaces)
    if webhook:
        body["webhook"] = webhook
    if metadata:
        body["metadata"] = metadata
    return body


def subscription_lines(queries: Iterable[Subscription], webhook: str = "") -> bytes:
    """Many subscriptions, one a line."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    lines = (encode({"id": one.id, **subscription_body(one, webhook)}) for one in queries)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def as_subscriptions(queries: Queries) -> Subscriptions:
    """Queries in any of the ways that `extract.Filter.add` takes."""
    if isinstance(queries, Subscriptions):
        return queries
    return Subscriptions.of([queries] if isinstance(queries, Subscription) else queries)


def content_of(document: Publishable) -> bytes:
    """The bytes of a document; a string is a path.

    Raises:
        TypeError: It is no document.
    """
    if isinstance(document, bytes | bytearray | memoryview):
        return bytes(document)
    if isinstance(document, str | Path):
        return Path(document).read_bytes()
    if hasattr(document, "read"):
        return bytes(document.read())
    raise TypeError(f"a document is bytes, a path or a file, not {type(document).__name__}")


def document_line(name: str, content: bytes) -> str | None:
    """A document as a line of a request with many; None if it can only be sent alone.

    A line is Unicode: a document in another encoding than UTF-8 would no longer be what it says.

    >>> document_line("a", b"<a/>")
    '{"name": "a", "document": "<a/>"}\\n'
    >>> document_line("a", b"<?xml version='1.0' encoding='latin1'?><a/>")
    """
    declared = _ENCODING.match(content)
    if declared is not None and declared[1].lower() not in (b"utf-8", b"utf8", b"us-ascii"):
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if text.startswith("\ufeff"):
        return None
    return json.dumps({"name": name, "document": text}, ensure_ascii=False) + "\n"


def document_blocks(
    documents: Iterable[tuple[str, Publishable]],
) -> Iterator[list[tuple[str, bytes, str | None]]]:
    """Documents in blocks for one request each: name, content, and its line; alone without one."""
    block: list[tuple[str, bytes, str | None]] = []
    size = 0
    for name, document in documents:
        content = content_of(document)
        line = document_line(name, content)
        alone = line is None
        if block and (alone or size + len(content) > BLOCK_BYTES or len(block) >= BLOCK_LINES):
            yield block
            block, size = [], 0
        block.append((name, content, line))
        size += len(content)
        if alone:
            yield block
            block, size = [], 0
    if block:
        yield block
