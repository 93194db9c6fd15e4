"""What a rival is."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar


class Absent(Exception):
    """The tool is not installed; the message says what would install it."""


class Rival(ABC):
    """A tool that evaluates XPath, one query after the other.

    Args:
        namespaces: What the prefixes of all queries mean.

    Raises:
        Absent: It is not installed.

    Attributes:
        name: What it is called.
        how: How it is used, in a few words.
        version: Which it is.
        judge: Whether it is libxml2, so that a difference is our mistake.
    """

    name: ClassVar[str]
    how: ClassVar[str]
    judge: ClassVar[bool] = False
    version: str

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        self.namespaces = dict(namespaces)
        self._left = ExitStack()  # what is to be removed in the end

    def clock(self) -> float:
        """Seconds of processor time that it has taken so far."""
        return time.process_time()

    def close(self) -> None:
        """Leaves nothing behind."""
        self._left.close()

    @abstractmethod
    def parse(self, document: bytes) -> Any:
        """A document as it wants it."""

    @abstractmethod
    def compile(self, xpath: str) -> Any:
        """A query as it wants it; not counted, where it can be done beforehand."""

    @abstractmethod
    def count(self, document: Any, query: Any) -> int:
        """How many nodes a query selects: what is measured."""

    def values(self, document: Any, xpath: str) -> list[str] | None:
        """The string values of the nodes in document order; None if it gives only numbers."""
        return None
