"""How many documents wait to be written or matched; more than a limit are refused for a while."""

from __future__ import annotations

import threading

from extract.broker.problems import Problem


class PendingDocuments:
    """Counts documents from their arrival until their notifications are written.

    Args:
        most_documents: That may wait.
        most_bytes: That they may have.

    Attributes:
        documents: That wait.
        bytes: That they have.
    """

    def __init__(self, most_documents: int, most_bytes: int) -> None:
        self.documents = 0
        self.bytes = 0
        self._most_documents = most_documents
        self._most_bytes = most_bytes
        self._lock = threading.Lock()

    def reserve(self, documents: int, size: int) -> None:
        """Counts documents that arrive, if there is room; the first always has.

        Raises:
            Problem: Too many wait.
        """
        with self._lock:
            if self.documents and (
                self.documents + documents > self._most_documents
                or self.bytes + size > self._most_bytes
            ):
                raise Problem(429, "too many documents wait to be matched", retry_after=1)
            self.documents += documents
            self.bytes += size

    def add(self, documents: int, size: int) -> None:
        """Counts documents that are there already."""
        with self._lock:
            self.documents += documents
            self.bytes += size

    def release(self, documents: int, size: int) -> None:
        """Counts documents no longer."""
        with self._lock:
            self.documents -= documents
            self.bytes -= size
