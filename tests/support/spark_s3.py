"""A small S3 in this process: as much of it as reading documents needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@contextmanager
def s3(objects: Mapping[str, bytes]) -> Iterator[str]:
    """Serves objects, by bucket and key, such as ``bucket/docs/a.xml``.

    Yields:
        What is to be added to a URI so that pyarrow finds them here.
    """

    class Handler(_Handler):
        stored = objects

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        place = f"127.0.0.1:{server.server_port}"
        yield f"?endpoint_override={place}&scheme=http&region=us-east-1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stored: Mapping[str, bytes] = {}

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing."""

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def _serve(self) -> None:
        url = urlsplit(self.path)
        path = unquote(url.path).strip("/")
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        if "list-type" in asked:
            self._send(200, self._listing(path, asked).encode())
        elif path in self.stored:
            data, wanted = self.stored[path], self.headers.get("Range")
            span = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted or "")
            if span is None:
                self._send(200, data)
            else:
                start, end = int(span[1]), int(span[2] or len(data)) + 1
                self._send(206, data[start:end], f"bytes {start}-{end - 1}/{len(data)}")
        elif any(key.startswith(f"{path}/") for key in self.stored) and "/" not in path:
            self._send(200, b"")
        else:
            self._send(404, b"")

    def _listing(self, bucket: str, asked: Mapping[str, str]) -> str:
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        found, folders = [], set()
        for name in sorted(self.stored):
            key = name.removeprefix(f"{bucket}/")
            if key == name or not key.startswith(prefix):
                continue
            inside = key[len(prefix) :]
            if delimiter and delimiter in inside:
                folders.add(prefix + inside.split(delimiter)[0] + delimiter)
            else:
                found.append((key, len(self.stored[name])))
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key, size in found
        )
        common = "".join(
            f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>"
            for one in sorted(folders)
        )
        many = len(found) + len(folders)
        return (
            '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{many}</KeyCount>"
            f"<IsTruncated>false</IsTruncated>{contents}{common}</ListBucketResult>"
        )

    def _send(self, status: int, data: bytes, span: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Last-Modified", formatdate(1.7e9, usegmt=True))
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
