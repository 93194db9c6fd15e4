"""Results into a broker's feed: each query that matches a document is a document of that feed.

    <match document="m1" query="dear" count="2"><node ...>...</node><node ...>...</node></match>
    <rejected document="m2" stage="scan" reason="..."/>

So the broker's subscriptions, webhooks and page are those of a stream on many machines, too.
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from extract.client.address import divided
from extract.client.client import Client
from extract.errors import BrokerError
from extract.files import whole_file
from extract.filtertool.output.directory import result_directory

_ID: Final = "id"
_FACTS: Final = ("node", "name", "path", "start", "end")
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class FeedTarget:
    """A feed that gets the results of batches, each once.

    The results of a batch stay on disk until the next one begins: a repetition publishes the same
    documents under the same ``Idempotency-Key``, and the broker takes none of them twice.

    Args:
        url: Of the feed.
        spool: A directory in the checkpoint; workers and driver must see it.
    """

    def __init__(self, url: str, spool: Path) -> None:
        self._url, self._feed = divided(url)
        self._spool = spool

    def check(self) -> None:
        """Asks whether the feed is there.

        Raises:
            BrokerError: It is not, or the broker does not answer.
        """
        with Client(self._url) as client:
            client.feed(self._feed)

    def write(self, number: int, run: Callable[[Path], None]) -> None:
        """Publishes the results of a batch.

        Args:
            number: Of the batch.
            run: Writes the results as JSON lines into a directory.

        Raises:
            BrokerError: The broker does not answer, or refuses them.
        """
        directory = self._spool / f"{number:08d}"
        for other in self._spool.glob("[0-9]*"):
            if other != directory:
                shutil.rmtree(other)
        if not directory.exists():
            with result_directory(directory) as partial:
                run(partial)
        key = f"{self._stream_id()}.{number}"
        with Client(self._url) as client:
            refused = self._publish(client, result_documents(directory), key)
            wrong = self._publish(client, [rejected_document(one) for one in refused], f"{key}.r")
        if wrong:
            raise BrokerError(f"the feed {self._feed} refuses results: {wrong[0]['reason']}")

    def _publish(self, client: Client, documents: Any, key: str) -> list[dict[str, Any]]:
        """Publishes documents, and returns what was refused, as rejections."""
        receipts = client.publish_all(self._feed, documents, key)
        return [
            {"document": one.name, "stage": "publish", "reason": str(one.error)}
            for one in receipts
            if one.error is not None
        ]

    def _stream_id(self) -> str:
        """A name for this stream, as long as its checkpoint is there."""
        file = self._spool / _ID
        if not file.exists():
            self._spool.mkdir(parents=True, exist_ok=True)
            with whole_file(file) as opened:
                opened.write(uuid.uuid4().hex.encode())
        return file.read_text(encoding="ascii")


def result_documents(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the rows of a directory of results as documents, with the names of their origins."""
    for file in sorted((directory / "matches").glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            rows = (json.loads(line) for line in lines)
            for pair, some in groupby(rows, lambda row: (row["document"], row["query"])):
                yield pair[0], match_document(*pair, list(some))
    for file in sorted((directory / "rejected").glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                yield rejected_document(json.loads(line))


def match_document(document: str, query: str, rows: list[Mapping[str, Any]]) -> bytes:
    """The rows of one query on one document, as XML.

    >>> match_document("m1", "q", [{"document": "m1", "query": "q"}])
    b'<match document="m1" query="q"/>'
    >>> match_document("m1", "q", [{"count": 2}])
    b'<match document="m1" query="q" count="2"/>'
    >>> match_document("m1", "q", [{"output": "<a/>"}])
    b'<match document="m1" query="q"><a/></match>'
    >>> match_document("m1", "q", [{"node": "text", "value": "<"}])
    b'<match document="m1" query="q" count="1"><node node="text">&lt;</node></match>'
    """
    first = rows[0]
    facts: dict[str, Any] = {"document": document, "query": query}
    if "output" in first:
        return _element("match", facts, str(first["output"]))
    if "node" in first:
        inner = "".join(
            _element("node", {key: row.get(key) for key in _FACTS}, _text(row)).decode()
            for row in rows
        )
        return _element("match", {**facts, "count": len(rows)}, inner)
    return _element("match", {**facts, "count": first.get("count")})


def rejected_document(row: Mapping[str, Any]) -> tuple[str, bytes]:
    """A rejection as a document, with the name of its origin."""
    names = ("document", "query", "stage", "reason", "line", "offset")
    return row.get("document") or "", _element("rejected", {key: row.get(key) for key in names})


def _text(row: Mapping[str, Any]) -> str:
    value = row.get("value")
    return "" if value is None else escape(_NO_XML.sub("\ufffd", str(value)))


def _element(name: str, facts: Mapping[str, Any], inner: str = "") -> bytes:
    """An element with those attributes that have a value."""
    shown = [
        f" {key}={quoteattr(_NO_XML.sub(chr(0xFFFD), str(value)))}"
        for key, value in facts.items()
        if value is not None
    ]
    start = f"<{name}{''.join(shown)}"
    return (f"{start}>{inner}</{name}>" if inner else f"{start}/>").encode(errors="replace")
