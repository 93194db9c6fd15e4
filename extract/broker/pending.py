"""What waits: documents, of which too many are refused, and notifications that are not written."""

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


class UnwrittenNotifications:
    """Counts bytes of notifications from the matcher to the disk; the matcher waits for room.

    Args:
        most: Bytes that may wait.
    """

    def __init__(self, most: int) -> None:
        self._bytes = 0
        self._most = most
        self._is_ending = False
        self._condition = threading.Condition()

    def add(self, size: int) -> None:
        """Counts some, as soon as there is room; the first always has."""
        with self._condition:
            while self._bytes and self._bytes + size > self._most and not self._is_ending:
                self._condition.wait()
            self._bytes += size

    def remove(self, size: int) -> None:
        """Counts some no longer."""
        with self._condition:
            self._bytes -= size
            self._condition.notify()

    def end(self) -> None:
        """Lets nobody wait any more."""
        with self._condition:
            self._is_ending = True
            self._condition.notify()
