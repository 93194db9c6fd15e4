"""The rows of joins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from extract.chunktool.file_names import document_name


class Joined(NamedTuple):
    """Two documents, and nodes of them, that a query joins.

    ``(query, left_seq, right_seq, bindings)`` is a key: no two rows have the same, and the same
    documents in the same order give it again.

    Attributes:
        query: Id of the query.
        left, right: The names of the documents; one that a query published is called after its
            stream and its number there.
        left_seq, right_seq: Their arrival numbers, from 0: among the input documents that were
            accepted, or among those of their published stream.
        left_time, right_time: Their times, in microseconds.
        bindings: From each variable to the unique path of its node.
        output: The XML that the query makes of them.
    """

    query: str
    left: str
    right: str
    left_seq: int
    right_seq: int
    left_time: int
    right_time: int
    bindings: Mapping[str, str]
    output: str

    def in_rows(self, xml: bool = False) -> Joined:
        """Returns the row as it is written: its documents have the names of `document_name`."""
        left, right = document_name(self.left, xml), document_name(self.right, xml)
        return self._replace(left=left, right=right)


class JoinState(NamedTuple):
    """What is kept of documents that later ones may join.

    Attributes:
        documents: How many documents.
        witnesses: How many nodes of them are bound to variables.
        bytes: About how much memory that takes.
    """

    documents: int
    witnesses: int
    bytes: int
