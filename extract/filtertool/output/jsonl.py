"""Rows as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from extract.chunktool.file_names import document_name
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.joined import NO_COLUMNS, JoinedColumns
from extract.filtertool.output.row_streams import RowStreams
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection


class JsonWriter:
    """Writes each row and each rejection as a line with a JSON object.

    Args:
        streams: Where rows and rejections go.
        ids: The ids of all subscribers.
        select: What was asked for.
        joined: Columns of metadata.
    """

    def __init__(
        self,
        streams: RowStreams,
        ids: Sequence[str],
        select: Select,
        joined: JoinedColumns = NO_COLUMNS,
    ) -> None:
        self._streams = streams
        self._matches, self._rejected = streams.matches, streams.rejected
        self._ids = [_json(one) for one in ids]
        self._select = select
        # What ends the rows of each subscriber.
        self._ends = [f"{members}}}\n" for members in joined.json_members(ids)]

    def write(self, document: str, findings: Findings) -> None:
        """Adds the findings of a document."""
        head, ids, ends = (
            f'{{"document": {_json(document_name(document))}, "query": ',
            self._ids,
            self._ends,
        )
        who = findings.subscriber.tolist()
        if self._select == "doc":
            self._matches.writelines([f"{head}{ids[n]}{ends[n]}" for n in who])
            return
        if self._select == "count":
            pairs = zip(who, findings.count.tolist(), strict=True)
            lines = [f'{head}{ids[n]}, "count": {count}{ends[n]}' for n, count in pairs]
            self._matches.writelines(lines)
            return
        if self._select == "output":
            made = [(n, _json(text)) for n, text in findings.outputs()]
            self._matches.writelines(f'{head}{ids[n]}, "output": {out}{ends[n]}' for n, out in made)
            return
        d = findings.described.lists()
        # A node is written out once, however many rows it is in.
        before = [
            f'"node": "{node}", "name": {_json(name)}, "start": {_json(start)}, "end": {_json(end)}'
            for node, name, start, end in zip(d.node, d.name, d.start, d.end, strict=True)
        ]
        after = [
            f'"path": {_json(path)}, "value": {_json(value)}, "text": {_json(text)}'
            for path, value, text in zip(d.path, d.value, d.text, strict=True)
        ]
        rows = zip(who, findings.node.tolist(), findings.ordinal.tolist(), strict=True)
        self._matches.writelines(
            f'{head}{ids[n]}, {before[node]}, "ordinal": {ordinal}, {after[node]}{ends[n]}'
            for n, node, ordinal in rows
        )

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds rejections."""
        if self._rejected is not None:
            self._rejected.writelines(f"{_json(one.in_rows()._asdict())}\n" for one in rejections)

    def close(self) -> None:
        """Closes the streams, if they are ours."""
        self._streams.close()


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
