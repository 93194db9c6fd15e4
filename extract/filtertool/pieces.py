"""Filters pieces of a document: each has the rows of the document in its range."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.driver import Outcome, Verdict
from extract.chunktool.scan.node_table import NodeTable
from extract.chunktool.split.survey import Piece
from extract.filtertool.document_cutter import DocumentCutter
from extract.filtertool.document_filter import DocumentFilter
from extract.filtertool.matchers.protocol import MatcherFactory, Unit
from extract.filtertool.options import Options
from extract.filtertool.query_plan import QueryPlan
from extract.filtertool.units import DocumentUnits, Origin
from extract.scheme.model import Scheme

_CHANGED: Final = "the document has changed since it was surveyed"


class PieceBytes(NamedTuple):
    """A piece with its bytes, without head and tail."""

    piece: Piece
    body: bytes


def piece_filter(
    scheme: Scheme,
    factory: MatcherFactory,
    options: Options,
    names: tuple[tuple[str, str], ...],
) -> DocumentFilter[PieceBytes]:
    """Makes a filter for pieces of documents.

    A piece whose fate is not ``conforming`` no longer fits its document, and none of its rows
    count.

    Args:
        scheme: The scheme, with only the queries that can be evaluated on pieces.
        factory: Makes the matchers.
        options: How to filter. After a survey that checked the document, pieces may be assumed to
            be valid.
        names: The names of records, `Division.names`.
    """
    together = factory.consumes == "table" and not options.priority
    plan = QueryPlan.of(scheme, together, options.priority)
    cutter = PieceCutter(DocumentCutter.of(plan, options), names)
    return DocumentFilter(plan, cutter, factory, options)


class PieceCutter:
    """Makes units of pieces, with positions and offsets in the document.

    Args:
        cutter: Cuts a piece as if it were a document.
        names: The names of records, `Division.names`.
    """

    def __init__(self, cutter: DocumentCutter, names: tuple[tuple[str, str], ...]) -> None:
        self._cutter = cutter
        self._names = names

    def cut(self, name: str, document: PieceBytes) -> DocumentUnits:
        """Scans one piece, enclosed in the tags that are open around it.

        Args:
            name: The name of the piece's document.
            document: The piece.

        Raises:
            DocumentError: The piece is not well-formed, or exceeds a limit.
        """
        piece, body = document
        if len(body) != piece.size:
            whole = Outcome(Verdict.WHOLE)
            return DocumentUnits(name, len(body), whole, lambda: body, reason=_CHANGED)
        cut = self._cutter.cut(name, piece.head + body + piece.tail)
        units = [self._placed(unit, piece) for unit in cut.units]
        origin = _origin(piece)
        return replace(cut, size=len(body), units=units, origins=[origin] * len(units))

    def _placed(self, unit: Unit, piece: Piece) -> Unit:
        """Returns the unit with the positions of its elements in the document."""
        table = unit.table
        if not piece.above:
            return unit
        starts = np.array([element.start for element in piece.above], np.int64)
        rows = np.flatnonzero(table.elements.start < len(piece.head))
        which = np.searchsorted(starts, table.elements.start[rows], "right") - 1
        position = table.elements.position.copy()
        position[rows] = np.array([element.position for element in piece.above], np.int32)[which]
        self._add_before(table, rows, which, piece, position)
        return Unit(table.with_positions(position), lambda: unit.xml or b"")

    def _add_before(
        self,
        table: NodeTable,
        rows: NDArray[np.int64],
        which: NDArray[np.int64],
        piece: Piece,
        position: NDArray[np.int32],
    ) -> None:
        """Adds the siblings before the piece to the positions of the open elements' children."""
        symbols = [table.automaton.symbol(*name) for name in self._names]
        before = np.zeros((len(piece.above), table.automaton.symbols), np.int32)
        before[:, symbols] = [element.before for element in piece.above]
        above = np.full(len(table) + 1, -1, np.int64)  # the last item is for the parent -1
        above[rows] = which
        parent = above[table.elements.parent]
        children = np.flatnonzero((parent >= 0) & (table.elements.start >= len(piece.head)))
        position[children] += before[parent[children], table.elements.symbol[children]]


def _origin(piece: Piece) -> Origin | None:
    shift = piece.start - len(piece.head)
    return None if not shift else lambda offsets: offsets + shift
