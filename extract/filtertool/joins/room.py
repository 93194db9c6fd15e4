"""Room in the state: how much memory kept documents may take, and what happens beyond that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from extract.errors import JoinError
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.store import WitnessStore
from extract.filtertool.results.outcome import Rejection

STATE: Final = "state"  # the stage of rejections of documents that were dropped
_HINT: Final = (
    "raise the limit, make windows or the lateness smaller, "
    "or have the oldest dropped (--when-full drop)"
)


@dataclass(frozen=True, slots=True)
class StateLimit:
    """A limit for the state.

    Attributes:
        most: How many bytes it may take, about.
        drop: Whether the oldest documents are dropped then; otherwise there is an error.
        parts: How many states share the limit, each of which has an equal part of it.
    """

    most: int
    drop: bool
    parts: int = 1

    @property
    def own(self) -> int:
        """How many bytes one state may take."""
        return self.most // self.parts

    def make_room(self, store: WitnessStore, document: JoinDocument) -> list[JoinDocument]:
        """Makes sure that a state can take one more document.

        Returns:
            Documents that were dropped, and were still needed.

        Raises:
            JoinError: It cannot, and documents are not to be dropped.
        """
        if not document.links:
            return []
        if store and store.bytes + document.bytes > self.own:
            store.compact()
        dropped: list[JoinDocument] = []
        while store.bytes + document.bytes > self.own:
            if not self.drop:
                raise JoinError(self._full(), _HINT, document.name)
            if not store:
                break  # it is kept alone
            dropped += store.drop_oldest()
        return dropped

    def _full(self) -> str:
        if self.parts == 1:
            return f"the state would take more than {self.most:,} bytes (--max-state)"
        part = f"one of {self.parts} equal parts of --max-state"
        return f"the state of a process would take more than {self.own:,} bytes ({part})"


def dropped_document(document: JoinDocument) -> Rejection:
    """Returns the rejection of a document that was dropped."""
    reason = "dropped from the state before its windows had passed (--max-state)"
    return Rejection(document.name, None, STATE, reason)
