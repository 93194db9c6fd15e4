"""What the push engine answers on a batch of documents: columns of rows, nodes and texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.protocol import Violation
from extract.filtertool.matchers.node_refs import NodeRefs
from extract.markup.node_kinds import NodeKind

if TYPE_CHECKING:
    from extract.filtertool.matchers.push._node_columns import NodeColumns

Indices = NDArray[np.int32]

_KINDS: Final = np.array(
    [NodeKind.ELEMENT, NodeKind.ATTRIBUTE, NodeKind.TEXT, NodeKind.COMMENT, NodeKind.PI], np.int8
)


class EngineRows(NamedTuple):
    """Rows of a batch of documents, as columns, sorted by document and query.

    Attributes:
        unit: The document.
        query: The query.
        value: For ``count`` the number of nodes. For ``nodes``, ``kind << 32 | row`` of a node: 0
            is an element, 1 an attribute, 2 a text; the row is that of the element.
        number: For ``nodes``, the number of an attribute or text in its element.
    """

    unit: Indices
    query: Indices
    value: NDArray[np.int64]
    number: Indices

    def part(self, first: int, end: int) -> EngineRows:
        """Some of the rows, with all columns."""
        rows = slice(first, end)
        return EngineRows(self.unit[rows], self.query[rows], self.value[rows], self.number[rows])

    def of_unit(self, unit: int) -> EngineRows:
        """The rows of one document, with all columns."""
        return self.part(*np.searchsorted(self.unit, [unit, unit + 1]).tolist())

    def where(self, chosen: NDArray[np.bool_]) -> EngineRows:
        """The rows for which a mask is true, with the columns that there are."""
        return EngineRows(
            self.unit[chosen],
            self.query[chosen],
            self.value[chosen] if len(self.value) else self.value,
            self.number[chosen] if len(self.number) else self.number,
        )


def node_refs(rows: EngineRows) -> NodeRefs:
    """The nodes of rows, as references to a node table with all elements."""
    return NodeRefs(
        _KINDS[rows.value >> 32], (rows.value & 0xFFFFFFFF).astype(np.int32), rows.number
    )


class EngineOutputs(NamedTuple):
    """What programs wrote, as columns: rows sorted by document and query, and texts.

    A text that several rows have is there once; no two documents have one text.

    Attributes:
        unit: The document of each row.
        query: The query.
        text: The text.
        end: Where the bytes of each text end; they start where those of the one before end.
        too_long: Whether a text was too long, and has no bytes.
        bytes: The bytes of all texts.
    """

    unit: Indices
    query: Indices
    text: Indices
    end: NDArray[np.int64]
    too_long: NDArray[np.int8]
    bytes: bytes


class EngineAnswers(NamedTuple):
    """The engine's answers on a batch of documents.

    Attributes:
        done: For each document 1 if it was matched; any other must be matched in another way. 0 if
            it is not well-formed, breaks the schema or is otherwise unusual; -1 if it takes too
            long.
        matches: The queries that match.
        candidates: Queries that may match: of those that the engine does not decide, and those that
            take too many steps on the document.
    """

    done: NDArray[np.int8]
    matches: EngineRows
    candidates: EngineRows


class EngineNodes(NamedTuple):
    """Descriptions of the nodes in rows, and of what conditions say.

    Attributes:
        query: For each row the query; ascending for each document.
        node: The node: its number among those of the document.
        ordinal: The row's number among those of its query and document.
        nodes: The nodes.
        described: For each document whether all rows of the engine are here; else none are.
        row_ends: Where the rows of each document end.
        node_ends: Where its nodes end.
    """

    query: Indices
    node: Indices
    ordinal: NDArray[np.int64]
    nodes: NodeColumns
    described: list[bool]
    row_ends: list[int]
    node_ends: list[int]


class EngineValues(NamedTuple):
    """The values of queries that are numbers or strings, as columns.

    Attributes:
        unit: The document.
        query: The query.
        value: The bits of a number, or where a string begins.
        length: -1 for a number, or how many bytes the string has.
        bytes: The bytes of all strings.
    """

    unit: Indices
    query: Indices
    value: NDArray[np.int64]
    length: Indices
    bytes: bytes

    def of_unit(self, unit: int) -> dict[int, float | str | bool]:
        """The values in one document, by query."""
        first, end = np.searchsorted(self.unit, [unit, unit + 1]).tolist()
        values: dict[int, float | str | bool] = {}
        for row in range(first, end):
            begin, length = int(self.value[row]), int(self.length[row])
            values[int(self.query[row])] = (
                float(self.value[row : row + 1].view(np.float64)[0])
                if length < 0
                else self.bytes[begin : begin + length].decode()
            )
        return values


class EngineFound(NamedTuple):
    """What an engine found in a batch of documents.

    Attributes:
        matches: The queries that match.
        candidates: Queries that may match: of those that the engine does not decide, and those that
            take too many steps on the document.
        nodes: The nodes, where they are asked for.
        values: Then also the values of queries that are numbers or strings; they are among the
            nodes of documents that are described.
    """

    matches: EngineRows
    candidates: EngineRows
    nodes: EngineNodes | None
    values: EngineValues | None

    @classmethod
    def of(cls, columns: Any) -> EngineFound:
        """The same from tuples of columns, as C returns them."""
        matches, candidates, nodes, values = columns
        return cls(
            EngineRows(*matches),
            EngineRows(*candidates),
            None if nodes is None else EngineNodes(*nodes),
            None if values is None else EngineValues(*values),
        )


class BatchAnswers(NamedTuple):
    """The answers of an engine, and of the one for documents that break the schema.

    Attributes:
        done: For each document 1 if it was matched, 2 if the other engine did it, 3 if it breaks
            the schema and is for neither; 0 and -1 as in `EngineAnswers`.
        own: What this engine found.
        other: What the other one found; None if it did nothing.
        broken: By document, the first edge that is not in the schema.
    """

    done: NDArray[np.int8]
    own: EngineFound
    other: EngineFound | None
    broken: Mapping[int, Violation]
