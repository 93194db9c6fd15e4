"""A scheme whose subscribers have other numbers than their places in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from extract.filtertool.results.owners import Indices
from extract.scheme.model import Scheme


class SchemeView(NamedTuple):
    """A scheme, with a number for each of its subscribers.

    Where subscriptions come and go, a subscriber keeps its number; its place in the scheme changes.

    Attributes:
        scheme: The scheme.
        numbers: For each subscriber its number, ascending.
    """

    scheme: Scheme
    numbers: Indices

    @classmethod
    def of(cls, scheme: Scheme) -> SchemeView:
        """The view in which numbers are places."""
        count = len(scheme.members) + len(scheme.later)
        return cls(scheme, np.arange(count, dtype=np.int32))

    @property
    def later(self) -> Indices:
        """The numbers of subscribers whose queries are in later versions of XPath."""
        return self.numbers[len(self.scheme.members) :]
