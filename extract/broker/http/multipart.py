"""Many documents in one multipart body: each part is a document, its file name the name."""

from __future__ import annotations

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from extract.broker.problems import Problem
from extract.broker.store.rows import ArrivedDocument


def multipart_documents(content_type: str, body: bytes, most: int) -> list[ArrivedDocument]:
    """The documents of a body.

    Raises:
        Problem: It is no multipart body, or has too many parts.
    """
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if not boundary:
        raise Problem(400, "the multipart body has no boundary")
    parts = _Parts(most)
    try:
        parser = MultipartParser(boundary, parts.callbacks())  # type: ignore[arg-type]
        parser.write(body)
        parser.finalize()
    except (FormParserError, ValueError) as error:
        raise Problem(400, f"the multipart body is damaged: {error}") from None
    if not parts.ended:
        raise Problem(400, "the multipart body is cut")
    return parts.documents


class _Parts:
    """Gathers parts while they are parsed."""

    def __init__(self, most: int) -> None:
        self.documents: list[ArrivedDocument] = []
        self.ended = False
        self._most = most
        self._data: list[bytes] = []
        self._field: list[bytes] = []
        self._value: list[bytes] = []
        self._headers: dict[bytes, bytes] = {}

    def callbacks(self) -> dict[str, object]:
        """For the parser."""
        return {
            "on_part_begin": self._begin,
            "on_part_data": lambda data, start, end: self._data.append(data[start:end]),
            "on_part_end": self._end,
            "on_header_field": lambda data, start, end: self._field.append(data[start:end]),
            "on_header_value": lambda data, start, end: self._value.append(data[start:end]),
            "on_header_end": self._header,
            "on_end": self._finish,
        }

    def _begin(self) -> None:
        if len(self.documents) >= self._most:
            raise Problem(413, f"more than {self._most:,} parts", "send several requests")
        self._data, self._headers = [], {}

    def _header(self) -> None:
        self._headers[b"".join(self._field).lower()] = b"".join(self._value)
        self._field, self._value = [], []

    def _end(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        name = options.get(b"filename") or options.get(b"name") or b""
        try:
            text = name.decode()[:1_000]
        except UnicodeDecodeError:
            raise Problem(422, "the file name of a part is not UTF-8") from None
        self.documents.append(ArrivedDocument(text, None, b"".join(self._data)))

    def _finish(self) -> None:
        self.ended = True
